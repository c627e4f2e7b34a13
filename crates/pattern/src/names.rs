//! Names of labels, and texts in quotes, as queries write them.

use std::fmt::Write as _;

/// Whether a label can be written without quotes.
pub fn is_legacy_label(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

/// A text in double quotes, with what has to be escaped escaped as Go does.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            // Writing to a string cannot fail.
            letter if (letter as u32) < 0x20 || letter == '\x7f' => {
                let _ = write!(quoted, "\\x{:02x}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
