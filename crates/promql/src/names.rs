//! Names of metrics and labels, and texts in quotes.

pub use kymo_pattern::names::{is_legacy_label, quoted};

/// Whether a metric's name can be written without quotes.
pub fn is_legacy_metric(name: &str) -> bool {
    let is_first = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_' || letter == b':';
    let mut letters = name.bytes();
    letters.next().is_some_and(is_first)
        && letters.all(|letter| letter.is_ascii_digit() || is_first(letter))
}
