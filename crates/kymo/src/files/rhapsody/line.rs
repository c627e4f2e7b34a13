//! One line of RHAPSODY: JSON as Python writes it, with `NaN`, `Infinity` and `-Infinity` where a
//! number may be.
//!
//! These three become objects of one member before the text is parsed, and are numbers again in
//! [`special_number`]: a string of the same letters stays a string.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The member that stands for a number that JSON does not have. No name that a program would give.
const NUMBER_MEMBER: &str = "\u{1}number";
const SPECIAL_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
const SECTIONS: [&str; 3] = ["event", "metric", "span"];

/// The members of a line.
pub(super) type Members = Map<String, Value>;

/// Whether a line is one of RHAPSODY.
pub(in crate::files) fn is_line(line: &[u8]) -> bool {
    let members = parse(line).ok();
    let section = members.as_ref().and_then(|members| members.get("section")?.as_str());
    section.is_some_and(|section| SECTIONS.contains(&section))
}

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Result<Members, String> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
    serde_json::from_str(&standard(text)).map_err(|error| {
        // The line is named already, and its columns are those of the text that was parsed.
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        format!("is not JSON: {}", &message[..end])
    })
}

/// The text with its special numbers as standard JSON.
fn standard(text: &str) -> Cow<'_, str> {
    if !SPECIAL_NUMBERS[1..].iter().any(|number| text.contains(number)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    loop {
        // Up to the next string, and then over it.
        let (outside, from_string) = rest.split_at(rest.find('"').unwrap_or(rest.len()));
        replace_special(outside, &mut out);
        if from_string.is_empty() {
            return Cow::Owned(out);
        }
        let (string, behind) = from_string.split_at(string_end(from_string));
        out.push_str(string);
        rest = behind;
    }
}

fn replace_special(outside: &str, out: &mut String) {
    let mut rest = outside;
    while let Some(at) = rest.find(['-', 'I', 'N']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match SPECIAL_NUMBERS.iter().find(|number| rest.starts_with(**number)) {
            Some(number) => {
                out.push_str(&format!("{{\"\\u0001number\":\"{number}\"}}"));
                rest = &rest[number.len()..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

/// Where a string that begins with its quote ends.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A value that is a special number.
pub(super) fn special_number(value: &Value) -> Option<f64> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    match members.get(NUMBER_MEMBER)?.as_str()? {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have_are_read_and_texts_of_their_letters_stay() {
        let line = br#"{"a": NaN, "b":[-Infinity,Infinity,-1], "c": "NaN \" Infinity", "N": null}"#;
        let members = parse(line).unwrap();
        assert!(special_number(&members["a"]).unwrap().is_nan());
        assert_eq!(special_number(&members["b"][0]), Some(f64::NEG_INFINITY));
        assert_eq!(special_number(&members["b"][1]), Some(f64::INFINITY));
        assert_eq!(members["b"][2], -1);
        assert_eq!(members["c"], "NaN \" Infinity");
        assert!(members["N"].is_null());
    }

    #[test]
    fn what_is_not_json_is_an_error_also_with_special_numbers_in_it() {
        for wrong in ["", "{", "{\"a\": NaNaN}", "{\"a\": \"NaN}", "[Infinity]", "{\"a\" NaN}"] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse(b"{\"a\": \"\xff\"}").is_err());
    }

    #[test]
    fn a_line_is_known_by_its_section() {
        assert!(is_line(b"{\"a\": 1, \"section\": \"event\"}\n"));
        for other in ["{\"section\": \"other\"}", "{\"section\": 1}", "{\"resourceSpans\": []}", ""]
        {
            assert!(!is_line(other.as_bytes()), "{other}");
        }
    }
}
