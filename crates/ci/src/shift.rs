//! Moving the times of a saved run, so that it can be sent as if it were of today.
//!
//! The text is edited where its times stand and nowhere else: order, spacing and every other value
//! stay as they are. What is null, or no time, stays too.

use crate::model::Nanos;
use crate::text;
use crate::times::{Moment, parse, write};

/// Names whose values are times of a run.
const NAMES: [&str; 10] = [
    "created_at",
    "started_at",
    "completed_at",
    "updated_at",
    "run_started_at",
    "createdAt",
    "startedAt",
    "completedAt",
    "updatedAt",
    "runStartedAt",
];
/// The name whose first value becomes the asked moment.
const FIRST: [&str; 2] = ["created_at", "createdAt"];

/// A document whose times were moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shifted {
    /// The document.
    pub text: String,
    /// How many times were moved.
    pub count: usize,
    /// By how many nanoseconds.
    pub by_nanos: i128,
}

/// Moves all times so that the first `created_at` is at `to`; if there is none, so that the earliest
/// time is. An error if there are no times.
pub fn shift(bytes: &[u8], to: Nanos) -> Result<Shifted, String> {
    let text = text::decode(bytes);
    let times = find(&text);
    let first = times.iter().find(|time| FIRST.contains(&time.name));
    let anchor = first.map(|time| time.nanos).or_else(|| times.iter().map(|time| time.nanos).min());
    let Some(anchor) = anchor else {
        return Err("there are no times in it: expected jobs of a run as GitHub tells them".into());
    };
    let by_nanos = i128::from(to) - i128::from(anchor);
    let mut shifted = String::with_capacity(text.len());
    let mut copied = 0;
    for time in &times {
        let moved = u64::try_from(i128::from(time.nanos) + by_nanos).map_err(|_| {
            format!("{} would lie outside of the time that can be written", time.name)
        })?;
        shifted.push_str(&text[copied..time.start]);
        shifted.push_str(&write(moved));
        copied = time.end;
    }
    shifted.push_str(&text[copied..]);
    Ok(Shifted { text: shifted, count: times.len(), by_nanos })
}

/// A time, and where in the text it stands.
struct Time {
    name: &'static str,
    nanos: Nanos,
    start: usize,
    end: usize,
}

/// All times of a text, in order: strings behind one of the names and a colon.
fn find(text: &str) -> Vec<Time> {
    let mut times = Vec::new();
    let mut name: Option<&'static str> = None;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                let Some(end) = string_end(bytes, start) else { return times };
                let content = &text[start..end];
                match (name.take(), parse(content)) {
                    (Some(name), Moment::At(nanos)) => times.push(Time { name, nanos, start, end }),
                    _ => name = named(content, &bytes[end + 1..]),
                }
                at = end + 1;
            }
            byte => {
                if byte != b':' && !byte.is_ascii_whitespace() {
                    name = None;
                }
                at += 1;
            }
        }
    }
    times
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// The name that a string is, if it is one of ours and a colon follows.
fn named(content: &str, after: &[u8]) -> Option<&'static str> {
    let next = after.iter().find(|byte| !byte.is_ascii_whitespace());
    NAMES.into_iter().find(|name| *name == content).filter(|_| next == Some(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: Nanos = 1_800_000_000_000_000_000;

    #[test]
    fn the_first_created_at_is_where_it_was_asked_for_and_the_rest_stays() {
        let document = r#"[ {"name": "created_at", "started_at" : "2026-01-01T00:00:05Z", "n": 1.50,
            "created_at":"2026-01-01T00:00:00Z","completed_at":null, "odd": "2026-01-01T00:00:00Z",
            "steps": [{"completed_at": "later \" \\", "started_at": "0001-01-01T00:00:00Z"}]},
            {"created_at": "2026-01-01T00:01:00Z"} ]"#;
        let shifted = shift(document.as_bytes(), TO).unwrap();
        let expected = document
            .replace(
                "\"started_at\" : \"2026-01-01T00:00:05Z\"",
                "\"started_at\" : \"2027-01-15T08:00:05Z\"",
            )
            .replace(
                "\"created_at\":\"2026-01-01T00:00:00Z\"",
                "\"created_at\":\"2027-01-15T08:00:00Z\"",
            )
            .replace("2026-01-01T00:01:00Z", "2027-01-15T08:01:00Z");
        assert_eq!(shifted.text, expected);
        assert_eq!(shifted.count, 3);
    }

    #[test]
    fn without_created_at_the_earliest_time_counts() {
        let document = r#"{"jobs":[{"startedAt":"2026-01-01T00:00:05Z"},{"startedAt":"2026-01-01T00:00:04Z"}]}"#;
        let shifted = shift(document.as_bytes(), TO).unwrap();
        assert!(
            shifted.text.contains("2027-01-15T08:00:01Z")
                && shifted.text.contains("2027-01-15T08:00:00Z")
        );
    }

    #[test]
    fn no_times_are_an_error_and_cut_documents_are_no_panic() {
        assert!(shift(b"[]", TO).unwrap_err().contains("no times"));
        let document = r#"{"created_at": "2026-01-01T00:00:00Z", "x": "\"#;
        for end in 0..document.len() {
            let _ = shift(&document.as_bytes()[..end], TO);
        }
        assert!(shift(br#"{"created_at": "2026-01-01T00:00:00Z", "completed_at": "1970-01-01T00:00:00Z"}"#, 5).is_err());
    }
}
