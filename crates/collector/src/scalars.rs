//! What a value without quotes is for a collector: a truth, a number, or a text.
//!
//! Its YAML is Go's. `yes`, `on` and `y` are texts there, though other readers take them for
//! truths; `0x1F` and `1_000` are numbers, which are written here as others read them too.

use kymo_yaml::Scalar;

/// The truth or number that a scalar is, as it is written anywhere; nothing of a text.
pub(crate) fn word(scalar: &Scalar) -> Option<String> {
    if !scalar.is_typed {
        return None;
    }
    let text = scalar.text.as_str();
    if let Some(truth) = truth(text) {
        return Some(truth.to_string());
    }
    let digits = text.replace('_', "");
    whole(&digits).map(|number| number.to_string()).or_else(|| fraction(&digits))
}

/// `true` in the spellings that Go's YAML knows.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn whole(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    // What has a sign of its own behind the first is no number.
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some(first) if first.starts_with('0') => (8, digits),
        _ => (10, digits),
    };
    let number = i64::from_str_radix(digits, radix).ok()?;
    if is_negative { number.checked_neg() } else { Some(number) }
}

fn fraction(text: &str) -> Option<String> {
    let is_decimal = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    let number = text.parse::<f64>().ok().filter(|number| is_decimal && number.is_finite())?;
    Some(format!("{number:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_a_collector_takes_them_for() {
        let typed = |text: &str| word(&Scalar { text: text.to_owned(), is_typed: true });
        for (text, expected) in [
            ("true", Some("true")),
            ("FALSE", Some("false")),
            ("yes", None),
            ("on", None),
            ("y", None),
            ("12", Some("12")),
            ("+3", Some("3")),
            ("-0x1F", Some("-31")),
            ("010", Some("8")),
            ("0", Some("0")),
            ("1_000", Some("1000")),
            ("1.50", Some("1.5")),
            ("1e3", Some("1000.0")),
            ("--5", None),
            (".inf", None),
            ("99999999999999999999", Some("1e20")),
        ] {
            assert_eq!(typed(text).as_deref(), expected, "{text}");
        }
        assert_eq!(word(&Scalar { text: "12".to_owned(), is_typed: false }), None);
    }
}
