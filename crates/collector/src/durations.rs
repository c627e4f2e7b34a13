//! Durations as Go writes them, and as this configuration does.

/// Units of Go, longest first where one begins with another, in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1000),
    ("µs", 1000),
    ("μs", 1000),
    ("ms", 1_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Nanoseconds of `1m30s`, `1.5h`, `0`.
pub(crate) fn nanos(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut sum = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let (unit, factor) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        sum = sum.checked_add(scaled(number, *factor)?)?;
        rest = &behind[unit.len()..];
    }
    (!text.is_empty()).then_some(sum)
}

/// A decimal number times a factor, without what a float would round.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let mut sum = whole.checked_mul(factor)?;
    let mut place = factor;
    for digit in fraction.chars() {
        place /= 10;
        sum = sum.checked_add(u64::from(digit.to_digit(10)?).checked_mul(place)?)?;
    }
    Some(sum)
}

/// `1m30s`. What is finer than a microsecond is cut.
pub(crate) fn shown(nanos: u64) -> String {
    const PRINTED: [(&str, u64); 5] = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1000),
    ];
    let mut text = String::new();
    let mut rest = nanos;
    for (unit, factor) in PRINTED {
        let count = rest / factor;
        rest %= factor;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read_and_written() {
        for (go, here) in [
            ("5s", "5s"),
            ("300s", "5m"),
            ("1h30m", "1h30m"),
            ("1.5s", "1s500ms"),
            ("250ms", "250ms"),
            ("10µs", "10us"),
            ("0", "0s"),
            ("90m", "1h30m"),
        ] {
            assert_eq!(nanos(go).map(shown).as_deref(), Some(here), "{go}");
        }
        for bad in ["", "5", "s", "5x", "5s3", "-1s", ".s", "1..5s", "99999999999h"] {
            assert_eq!(nanos(bad), None, "{bad}");
        }
    }
}
