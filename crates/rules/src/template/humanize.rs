//! Numbers for people: `1.5k`, `2h 5m 0s`, `12.5%`.

use super::printf::float;

const LARGE: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
const LARGE_BINARY: [&str; 8] = ["ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
const SMALL: [&str; 8] = ["m", "u", "n", "p", "f", "a", "z", "y"];

fn four_digits(number: f64) -> String {
    float('g', number, Some(4))
}

/// Divides by the base until the number is below it.
fn scaled_down(mut number: f64, base: f64, prefixes: [&'static str; 8]) -> (f64, &'static str) {
    let mut prefix = "";
    for next in prefixes {
        if number.abs() < base {
            break;
        }
        prefix = next;
        number /= base;
    }
    (number, prefix)
}

/// Multiplies by a thousand until the number is at least one.
fn scaled_up(mut number: f64) -> (f64, &'static str) {
    let mut prefix = "";
    for next in SMALL {
        if number.abs() >= 1.0 {
            break;
        }
        prefix = next;
        number *= 1000.0;
    }
    (number, prefix)
}

/// With the prefixes of the metric system.
pub(super) fn metric(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return four_digits(number);
    }
    let (number, prefix) = match number.abs() >= 1.0 {
        true => scaled_down(number, 1000.0, LARGE),
        false => scaled_up(number),
    };
    format!("{}{prefix}", four_digits(number))
}

/// With prefixes that are powers of 1024.
pub(super) fn binary(number: f64) -> String {
    if number.abs() <= 1.0 || !number.is_finite() {
        return four_digits(number);
    }
    let (number, prefix) = scaled_down(number, 1024.0, LARGE_BINARY);
    format!("{}{prefix}", four_digits(number))
}

/// Seconds as days, hours, minutes and seconds.
pub(super) fn duration(secs: f64) -> String {
    if !secs.is_finite() {
        return four_digits(secs);
    }
    if secs == 0.0 {
        return format!("{}s", four_digits(secs));
    }
    if secs.abs() < 1.0 {
        let (number, prefix) = scaled_up(secs);
        return format!("{}{prefix}s", four_digits(number));
    }
    let sign = if secs < 0.0 { "-" } else { "" };
    // What does not fit is cut off: nobody reads centuries of seconds.
    let whole = secs.abs() as i64;
    let (days, hours) = (whole / 86_400, whole / 3_600 % 24);
    let (minutes, rest) = (whole / 60 % 60, whole % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{sign}{}s", four_digits(secs.abs())),
        (0, 0, _) => format!("{sign}{minutes}m {rest}s"),
        (0, _, _) => format!("{sign}{hours}h {minutes}m {rest}s"),
        _ => format!("{sign}{days}d {hours}h {minutes}m {rest}s"),
    }
}

/// A ratio as a percentage.
pub(super) fn percentage(ratio: f64) -> String {
    format!("{}%", four_digits(ratio * 100.0))
}

/// A number that is no time.
pub(super) fn not_a_time(number: f64) -> String {
    four_digits(number)
}
