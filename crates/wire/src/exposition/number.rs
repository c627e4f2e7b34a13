//! Numbers as the exposition formats write them.
//!
//! The formats take over what Go's standard library reads and writes: the shortest digits that
//! give the same double back, with an exponent from a million on and below a ten-thousandth.

use std::fmt::Write;

use super::NORMAL_NAN_BITS;

/// Reads a value: decimal, `Inf`, `NaN` in any case and with a sign. `None` if it is none, or if
/// it is beyond the range of a double. Every NaN becomes the one that samples carry.
#[must_use]
pub fn parse_float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    if value.is_nan() {
        return Some(f64::from_bits(NORMAL_NAN_BITS));
    }
    // A number that is too large is not infinite, it is wrong.
    let says_infinite = || text.bytes().any(|byte| byte.eq_ignore_ascii_case(&b'i'));
    (value.is_finite() || says_infinite()).then_some(value)
}

/// A time in seconds as milliseconds. `None` if it is not a time.
pub(super) fn seconds_to_millis(seconds: f64) -> Option<i64> {
    // The cast cuts off what is below a millisecond and stops at the ends of the range.
    seconds.is_finite().then_some((seconds * 1000.0) as i64)
}

/// Appends a value as the text format writes it: `1`, `0.25`, `1e+06`, `+Inf`.
pub fn format_float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
        return;
    }
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
        return;
    }
    let start = out.len();
    // Writing into a `String` cannot fail; the result is of no use.
    let _ = write!(out, "{value:e}");
    let Some(exponent_at) = out[start..].find('e').map(|at| start + at) else { return };
    let exponent: i32 = out[exponent_at + 1..].parse().unwrap_or(0);
    if (-4..6).contains(&exponent) || exponent < 0 && value == 0.0 {
        out.truncate(start);
        let _ = write!(out, "{value}");
        return;
    }
    out.truncate(exponent_at);
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
}

/// Appends a value as OpenMetrics writes it: like [`format_float`], but never as a whole number.
pub fn format_open_metrics_float(out: &mut String, value: f64) {
    let start = out.len();
    format_float(out, value);
    if value.is_finite() && !out[start..].contains(['.', 'e']) {
        out.push_str(".0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (value, text, open_metrics) in [
            (0.0, "0", "0.0"),
            (-0.0, "-0", "-0.0"),
            (1.0, "1", "1.0"),
            (-17.5, "-17.5", "-17.5"),
            (0.0001, "0.0001", "0.0001"),
            (0.00001, "1e-05", "1e-05"),
            (123_456.0, "123456", "123456.0"),
            (1_000_000.0, "1e+06", "1e+06"),
            (123_456_789.0, "1.23456789e+08", "1.23456789e+08"),
            (1e100, "1e+100", "1e+100"),
            (f64::INFINITY, "+Inf", "+Inf"),
            (f64::NEG_INFINITY, "-Inf", "-Inf"),
            (f64::NAN, "NaN", "NaN"),
        ] {
            let mut out = String::from("x");
            format_float(&mut out, value);
            assert_eq!(&out[1..], text);
            let mut out = String::new();
            format_open_metrics_float(&mut out, value);
            assert_eq!(out, open_metrics);
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (text, value) in [
            ("1", 1.0),
            ("+1.5e3", 1500.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-inf", f64::NEG_INFINITY),
            ("+Inf", f64::INFINITY),
            ("Infinity", f64::INFINITY),
        ] {
            assert_eq!(parse_float(text), Some(value), "{text}");
        }
        assert_eq!(parse_float("nAn").map(f64::to_bits), Some(NORMAL_NAN_BITS));
        for text in ["", "x", "1e400", "-1e999", "0x10", "1_000", "1p3", "1 ", "1\r"] {
            assert_eq!(parse_float(text), None, "{text:?}");
        }
    }
}
