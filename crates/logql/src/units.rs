//! Durations and sizes as people write them, and back.
//!
//! The language knows two notations of durations: Go's (`1h2m3.5s`, also `ns`, `us`) for values of
//! labels, and Prometheus' (`1d`, `1w`, `1h30m`) for queries. Sizes are `1.5KiB`, `2kB`, `3 MB`:
//! with `i` by 1024, otherwise by 1000, in any case of letters.

const NANOS_PER_SEC: f64 = 1e9;

/// Go's units of durations, the longer name of two that start alike first.
const GO_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Prometheus' units of durations from large to small, in milliseconds, and whether a duration is
/// printed in a unit only if it has no rest.
const PROMETHEUS_UNITS: [(&str, u64, bool); 7] = [
    ("y", 365 * 86_400_000, true),
    ("w", 7 * 86_400_000, true),
    ("d", 86_400_000, false),
    ("h", 3_600_000, false),
    ("m", 60_000, false),
    ("s", 1_000, false),
    ("ms", 1, false),
];

/// Nanoseconds of a duration in Go's notation: `1h2m3.5s`, `-5ms`, `0`.
pub fn parse_go_duration(text: &str) -> Option<i64> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Some(0);
    }
    if unsigned.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (nanos, after) = go_part(rest)?;
        total = total.checked_add(nanos).filter(|total| *total <= 1 << 63)?;
        rest = after;
    }
    match is_negative {
        true => 0_i64.checked_sub_unsigned(total),
        false => i64::try_from(total).ok(),
    }
}

/// One number with its unit.
fn go_part(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(end);
    let (_, scale) = GO_UNITS.iter().find(|(name, _)| *name == unit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(*scale)?;
    // Digits beyond the 18th are less than a nanosecond in any unit.
    let fraction = &fraction[..fraction.len().min(18)];
    if !fraction.is_empty() {
        let parts: u64 = fraction.parse().ok()?;
        let size = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        let part_nanos = u128::from(parts) * u128::from(*scale) / size;
        nanos = nanos.checked_add(u64::try_from(part_nanos).ok()?)?;
    }
    Some((nanos, after))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Seconds of a duration in Go's notation, as `unwrap duration(x)` and templates have them.
pub fn parse_go_duration_secs(text: &str) -> Option<f64> {
    parse_go_duration(text).map(|nanos| nanos as f64 / NANOS_PER_SEC)
}

/// Nanoseconds of a duration in Prometheus' notation: `1w`, `1h30m`, `90000ms`, `0`. Units come
/// from large to small, each at most once, with whole numbers.
pub fn parse_prometheus_duration(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut millis: u64 = 0;
    let mut units = PROMETHEUS_UNITS.iter();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (digits, after) = split_digits(rest);
        let count: u64 = digits.parse().ok()?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        // Units that were passed cannot come any more.
        let (_, scale, _) = units.find(|(name, _, _)| *name == unit)?;
        millis = millis.checked_add(count.checked_mul(*scale)?)?;
        rest = after;
    }
    i64::try_from(millis.checked_mul(1_000_000)?).ok()
}

/// A duration in Prometheus' notation, in whole milliseconds.
pub fn format_prometheus_duration(nanos: i64) -> String {
    let mut millis = (nanos / 1_000_000).unsigned_abs();
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut out = String::from(if nanos < 0 { "-" } else { "" });
    for (unit, scale, only_whole) in PROMETHEUS_UNITS {
        if only_whole && !millis.is_multiple_of(scale) {
            continue;
        }
        if millis >= scale {
            out.push_str(&format!("{}{unit}", millis / scale));
            millis %= scale;
        }
    }
    out
}

/// A duration in Go's notation: `1m3s`, `1.5s`, `900µs`.
pub fn format_go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let small = [(1_000, 1, "ns"), (1_000_000, 1_000, "µs"), (1_000_000_000, 1_000_000, "ms")];
    if nanos == 0 {
        return "0s".to_owned();
    }
    if let Some((_, scale, unit)) = small.into_iter().find(|(below, _, _)| nanos < *below) {
        return format!("{sign}{}{unit}", decimal(nanos, scale));
    }
    let (minutes, rest) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
    let seconds = decimal(rest, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// `value / scale` with as many digits as it takes; the scale is a power of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0digits$}").trim_end_matches('0'))
}

/// Bytes of a size: `1.5KiB`, `20 kB`, `1,024`, `3m`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let size = match unit.strip_suffix('b').unwrap_or(&unit) {
        "" => 1.0,
        prefix => {
            let (letter, base) = match prefix.strip_suffix('i') {
                Some(letter) => (letter, 1024_f64),
                None => (prefix, 1000_f64),
            };
            let power = ["k", "m", "g", "t", "p", "e"].iter().position(|name| *name == letter)?;
            base.powi(i32::try_from(power).ok()? + 1)
        }
    };
    let bytes = number * size;
    // Beyond it a conversion would stay at the largest number without a word.
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// A size for people, by 1000: `82 B`, `1.5 kB`, `20 MB`.
pub fn format_bytes(bytes: u64) -> String {
    if bytes < 10 {
        return format!("{bytes} B");
    }
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let power = bytes.ilog(1000) as usize;
    let value = (bytes as f64 / 1000_f64.powi(power as i32) * 10.0 + 0.5).floor() / 10.0;
    let digits = usize::from(value < 10.0);
    format!("{value:.digits$} {}", units[power.min(units.len() - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read_and_written() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("-0", 0),
            ("35ms", 35_000_000),
            ("1m3s", 63_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("900us", 900_000),
            ("900µs", 900_000),
            ("2μs", 2_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("-1.25h", -4_500_000_000_000),
            ("+3ns", 3),
            ("0.1234567890123456789s", 123_456_789),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-2562047h47m16.854775808s", i64::MIN),
        ] {
            assert_eq!(parse_go_duration(text), Some(nanos), "{text}");
        }
        for wrong in [
            "",
            "soon",
            "1",
            "1d",
            "1w",
            "s",
            ".s",
            "1s ",
            "1 s",
            "--1s",
            "1h-2m",
            "3000000h",
            "-",
            "1.2.3s",
            "9223372036854775808ns",
        ] {
            assert_eq!(parse_go_duration(wrong), None, "{wrong}");
        }
        assert_eq!(parse_go_duration_secs("250ms"), Some(0.25));
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (63_000_000_000, "1m3s"),
            (245_000_000_000, "4m5s"),
            (3_600_000_000_000, "1h0m0s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (-1_500_000_000, "-1.5s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(format_go_duration(nanos), text);
        }
    }

    #[test]
    fn prometheus_durations_are_read_and_written() {
        const SEC: i64 = 1_000_000_000;
        for (text, secs) in [
            ("0", 0),
            ("1m", 60),
            ("1h30m", 5400),
            ("1d", 86_400),
            ("1w", 604_800),
            ("1y", 31_536_000),
            ("1y2w3d4h5m6s", 31_536_000 + 2 * 604_800 + 3 * 86_400 + 4 * 3600 + 306),
        ] {
            assert_eq!(parse_prometheus_duration(text), Some(secs * SEC), "{text}");
        }
        assert_eq!(parse_prometheus_duration("90000ms"), Some(90 * SEC));
        for wrong in ["", "1", "1m1h", "1m1m", "1.5h", "-1m", "1us", "m", "1M", "300y", "1s2ms3"] {
            assert_eq!(parse_prometheus_duration(wrong), None, "{wrong}");
        }
        for (millis, text) in [
            (0, "0s"),
            (60_000, "1m"),
            (5_400_000, "1h30m"),
            (604_800_000, "1w"),
            (691_200_000, "8d"),
            (90_061_001, "1d1h1m1s1ms"),
            (-300_000, "-5m"),
            (31_536_000_000, "1y"),
        ] {
            assert_eq!(format_prometheus_duration(millis * 1_000_000), text);
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [
            ("0B", 0),
            ("120B", 120),
            ("1.5KB", 1500),
            ("1.5kb", 1500),
            ("1KiB", 1024),
            ("1.5MiB", 1_572_864),
            ("20 MB", 20_000_000),
            ("3", 3),
            ("1,024", 1024),
            ("2k", 2000),
            ("2Ki", 2048),
            ("1GiB", 1 << 30),
            ("1PB", 1_000_000_000_000_000),
            ("1eb", 1_000_000_000_000_000_000),
            ("1.9B", 1),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for wrong in
            ["", "many", "B", "-1B", "1XB", "1.2.3kB", "100EB", "1kBB", "1 2kB", "1ib", "1i"]
        {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
        for (bytes, text) in [
            (0, "0 B"),
            (9, "9 B"),
            (82, "82 B"),
            (1024, "1.0 kB"),
            (82_854_982, "83 MB"),
            (1_500, "1.5 kB"),
            (1 << 20, "1.0 MB"),
            (u64::MAX, "18 EB"),
        ] {
            assert_eq!(format_bytes(bytes), text);
        }
    }
}
