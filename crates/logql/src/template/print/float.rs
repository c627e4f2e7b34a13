//! Floats as Go writes them.

/// As `%v`: as few digits as tell it, with an exponent if it is very large or small.
pub(super) fn shortest(value: f64) -> String {
    float(value, 'g', None)
}

/// `verb` is one of `e`, `f`, `g` or a capital of them. Without a precision, as few digits as tell
/// the number.
pub(super) fn float(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = match verb.to_ascii_lowercase() {
        'e' => exponential(value, precision),
        'f' => match precision {
            Some(digits) => format!("{value:.digits$}"),
            None => format!("{value}"),
        },
        _ => general(value, precision),
    };
    if verb.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

fn exponential(value: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(digits) => format!("{value:.digits$e}"),
        None => format!("{value:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn general(value: f64, precision: Option<usize>) -> String {
    let digits = precision.map(|digits| digits.max(1));
    let scientific = match digits {
        Some(digits) => format!("{value:.*e}", digits - 1),
        None => format!("{value:e}"),
    };
    let (_, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    // Without a precision it is taken as six for this.
    let limit = digits.map_or(6, |digits| i64::try_from(digits).unwrap_or(i64::MAX));
    if exponent < -4 || exponent >= limit {
        let digits = digits.map(|digits| digits - 1);
        let text = exponential(value, digits);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    match digits {
        None => format!("{value}"),
        Some(digits) => {
            let places = usize::try_from(i64::try_from(digits).unwrap_or(i64::MAX) - 1 - exponent)
                .unwrap_or(0);
            without_zeros(&format!("{value:.places$}")).to_owned()
        }
    }
}

/// Without the zeros at the end of a fraction.
fn without_zeros(text: &str) -> &str {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_go_writes_them() {
        for (value, text) in [
            (1.5e6, "1.5e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (100_000.0, "100000"),
            (123_456.75, "123456.75"),
            (1_000_000.0, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.0, "0"),
            (-0.5, "-0.5"),
            (1e100, "1e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(shortest(value), text);
        }
        assert_eq!(float(1234.5678, 'e', Some(6)), "1.234568e+03");
        assert_eq!(float(1e30, 'G', None), "1E+30");
        assert_eq!(float(1234.5, 'g', Some(3)), "1.23e+03");
        assert_eq!(float(1234.5, 'g', Some(10)), "1234.5");
        assert_eq!(float(100.0, 'g', Some(3)), "100");
        assert_eq!(float(2.5, 'f', Some(3)), "2.500");
    }
}
