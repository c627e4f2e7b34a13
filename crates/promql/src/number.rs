//! Floats as text, written as Prometheus writes them.
//!
//! All three forms write the fewest digits that read back as the same float, and
//! `NaN`, `+Inf` and `-Inf` for what is no number. They differ in when they turn
//! to an exponent: never ([`format_float`]), for very small and very large ones
//! ([`format_json_float`]), or from a million on ([`format_g`]).

/// Without an exponent, however long that is: labels and values in texts.
pub fn format_float(value: f64) -> String {
    match special(value) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// As sample values appear in JSON: with an exponent below 1e-6 and from 1e21.
pub fn format_json_float(value: f64) -> String {
    let size = value.abs();
    if value.is_finite() && size != 0.0 && !(1e-6..1e21).contains(&size) {
        return with_exponent(value);
    }
    format_float(value)
}

/// As annotations and printed histograms have it: with an exponent below 1e-4
/// and from a million.
pub fn format_g(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return format_float(value);
    }
    let scientific = format!("{value:e}");
    let exponent = exponent_of(&scientific);
    if !(-4..6).contains(&exponent) { padded_exponent(&scientific) } else { format_float(value) }
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value == f64::INFINITY {
        Some("+Inf")
    } else if value == f64::NEG_INFINITY {
        Some("-Inf")
    } else {
        None
    }
}

fn with_exponent(value: f64) -> String {
    padded_exponent(&format!("{value:e}"))
}

fn exponent_of(scientific: &str) -> i32 {
    scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// `1e-7` as `1e-07`: a sign always, two digits at least.
fn padded_exponent(scientific: &str) -> String {
    let mantissa = scientific.split_once('e').map_or(scientific, |(mantissa, _)| mantissa);
    let exponent = exponent_of(scientific);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_floats_never_have_an_exponent() {
        assert_eq!(format_float(0.1), "0.1");
        assert_eq!(format_float(1e22), "10000000000000000000000");
        assert_eq!(format_float(-2.5e-7), "-0.00000025");
        assert_eq!(format_float(-0.0), "-0");
        assert_eq!(format_float(f64::NAN), "NaN");
        assert_eq!(format_float(f64::INFINITY), "+Inf");
        assert_eq!(format_float(f64::NEG_INFINITY), "-Inf");
    }

    #[test]
    fn json_floats_have_an_exponent_only_if_very_small_or_very_large() {
        assert_eq!(format_json_float(1e-6), "0.000001");
        assert_eq!(format_json_float(9.5e-7), "9.5e-07");
        assert_eq!(format_json_float(-1e-7), "-1e-07");
        assert_eq!(format_json_float(1e20), "100000000000000000000");
        assert_eq!(format_json_float(1e21), "1e+21");
        assert_eq!(format_json_float(f64::MAX), "1.7976931348623157e+308");
        assert_eq!(format_json_float(5e-324), "5e-324");
        assert_eq!(format_json_float(0.0), "0");
        assert_eq!(format_json_float(f64::NEG_INFINITY), "-Inf");
        assert_eq!(format_json_float(f64::NAN), "NaN");
    }

    #[test]
    fn general_floats_turn_to_an_exponent_at_a_million() {
        assert_eq!(format_g(100_000.0), "100000");
        assert_eq!(format_g(1_000_000.0), "1e+06");
        assert_eq!(format_g(1_234_567.5), "1.2345675e+06");
        assert_eq!(format_g(0.0001), "0.0001");
        assert_eq!(format_g(0.000_01), "1e-05");
        assert_eq!(format_g(0.000_123), "0.000123");
        assert_eq!(format_g(-0.0), "-0");
        assert_eq!(format_g(-2.5e-7), "-2.5e-07");
        assert_eq!(format_g(f64::INFINITY), "+Inf");
    }
}
