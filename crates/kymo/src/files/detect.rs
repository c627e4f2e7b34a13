//! Which format a file has, by its first bytes, and which signal a request carries.
//!
//! | first bytes | format |
//! |---|---|
//! | white space, `{`, white space, then `}` or `"` and a character | JSON |
//! | `0x0a` (the tag of a request's first resource group) | one protobuf request |
//! | a varint, then `0x0a` | length-prefixed protobuf requests |
//! | anything else | refused |
//!
//! The cases that look like two of them are decided by what follows: `{` and line break are also
//! the length 123 and a tag, but then comes no `"` that a printable character follows; and `0x0a`
//! is also the length 10, but then the group after it has at most 8 bytes, less than any tag that
//! stands there in the other case. JSON is read by lines if the first line holds a
//! whole object, or, should that one be damaged, the second; as RHAPSODY's if that object has a
//! `section`. Where the first line is longer than what is looked at, it is RHAPSODY's if none of
//! OTLP's members is in sight: they come first, `section` comes last.

use clap::ValueEnum;
use kymo_wire::inspect::inspect;
use kymo_wire::{Limits, Signal};

use super::frames::GROUP_TAG;
use super::input::Input;
use super::limits::{LOOK_AHEAD_BYTES, MAX_REQUEST_BYTES};
use super::text::Nesting;
use super::{checkpoint, rhapsody};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// One OTLP request
    Protobuf,
    /// OTLP requests, each after its length
    ProtobufFrames,
    /// One OTLP/JSON object per line
    JsonLines,
    /// OTLP/JSON objects over several lines
    Json,
    /// What RHAPSODY writes
    Rhapsody,
}

/// Tells the format; the error says what the file may be instead.
pub(super) fn format(input: &Input) -> Result<InputFormat, String> {
    format_of(input.head())
}

fn format_of(head: &[u8]) -> Result<InputFormat, String> {
    if begins_json(head) {
        return Ok(json_format_of(head));
    }
    match head {
        [] => Ok(InputFormat::JsonLines),
        [GROUP_TAG, GROUP_TAG, 0..=8, ..] => Ok(InputFormat::ProtobufFrames),
        [GROUP_TAG, ..] => Ok(InputFormat::Protobuf),
        [0x1f, 0x8b, ..] => Err(compressed("gzip", "gzip -dc")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(compressed("zstd", "zstd -dc")),
        _ if begins_frame(head) => Ok(InputFormat::ProtobufFrames),
        _ => Err("is neither OTLP protobuf nor OTLP/JSON; if it is, say which with --input-format"
            .to_owned()),
    }
}

fn compressed(how: &str, command: &str) -> String {
    format!("is compressed with {how}: decompress it first, `{command} FILE | kymo … -`")
}

fn begins_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let Some(inside) = head.trim_ascii_start().strip_prefix(b"{") else { return false };
    match inside.trim_ascii_start() {
        [b'}', ..] => true,
        [b'"', next, ..] => *next >= b' ',
        _ => false,
    }
}

fn json_format_of(head: &[u8]) -> InputFormat {
    let mut lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    // A first line longer than what was looked at is an object on one line.
    let is_cut = second.is_none() && head.len() >= LOOK_AHEAD_BYTES;
    // Some first line may be damaged, or be all that a crash left of a checkpoint.
    let is_any = |is_it: fn(&[u8]) -> bool| is_it(first) || second.is_some_and(is_it);
    if is_any(rhapsody::is_line) || (is_cut && !names_request(first)) {
        return InputFormat::Rhapsody;
    }
    if is_cut || is_any(is_object) || checkpoint::begins_header(first) {
        return InputFormat::JsonLines;
    }
    InputFormat::Json
}

/// Whether what is there of a line has a member that only OTLP has.
fn names_request(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let members = ["\"resourceSpans\"", "\"resourceMetrics\"", "\"resourceLogs\""];
    members.iter().any(|member| line.contains(member))
}

/// Whether a line holds all of an object.
fn is_object(line: &[u8]) -> bool {
    let mut nesting = Nesting::default();
    line.iter().any(|byte| nesting.ends_with(*byte))
}

fn begins_frame(head: &[u8]) -> bool {
    let mut length = 0u64;
    for (nth, byte) in head.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * nth);
        if *byte < 0x80 {
            let begins_request = length == 0 || head.get(nth + 1) == Some(&GROUP_TAG);
            return begins_request && length <= MAX_REQUEST_BYTES as u64;
        }
    }
    false
}

/// The signal as which most records of a request would be kept; none if that is not clear.
pub(super) fn signal(body: &[u8]) -> Option<Signal> {
    let mut fits: Vec<(u64, u64, Signal)> = Vec::new();
    for signal in Signal::ALL {
        if let Ok(inspected) = inspect(signal, body, &Limits::default()) {
            let repaired: u64 = inspected.repaired.iter().map(|r| r.count).sum();
            let wrong = inspected.refused_items() + repaired;
            fits.push((inspected.items, wrong, signal));
        }
    }
    // Where nothing would be kept, what would be refused still tells what it was.
    fits.retain(|(kept, wrong, _)| kept + wrong > 0);
    fits.sort_by_key(|(kept, wrong, _)| (std::cmp::Reverse(*kept), *wrong));
    match fits[..] {
        [] => None,
        [(kept, wrong, _), (also_kept, also_wrong, _), ..]
            if (kept, wrong) == (also_kept, also_wrong) =>
        {
            None
        }
        [(_, _, signal), ..] => Some(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        use InputFormat::{Json, JsonLines, Protobuf, ProtobufFrames, Rhapsody};
        let cases: [(&[u8], InputFormat); 17] = [
            (b"{\"resourceSpans\":[]}\n{\"resourceSpans\":[]}\n", JsonLines),
            (b"\xef\xbb\xbf{\"resourceSpans\":[]}", JsonLines),
            (b"{\"resourceSpans\":[{\"cut\n{\"resourceSpans\":[]}\n", JsonLines),
            (b"{\"kymo\":\"checkpoint\",\"version\":1}\n", JsonLines),
            (b"{\"kymo\":\"check", JsonLines),
            (b"{\"event_id\": \"1\", \"loss\": NaN, \"section\": \"event\"}\n{\"cut", Rhapsody),
            (b"{\"cut\n{\"section\": \"span\"}\n", Rhapsody),
            (b"\n  {\n  \"resourceSpans\": [\n", Json),
            (b"{ \"resourceSpans\": [\n    {\n", Json),
            (b"{\n\"resourceSpans\":[\n{\n", Json),
            (b"{}", JsonLines),
            (b"", JsonLines),
            (&[0x0a, 0x80, 0x01, 0x0a, 0x10], Protobuf),
            // A group of 123 bytes whose resource has 34: line break, brace, line break, quote.
            (&[0x0a, 0x7b, 0x0a, 0x22, 0x0a, 0x20], Protobuf),
            // A frame of 123 bytes: brace, line break.
            (&[0x7b, 0x0a, 0x79, 0x0a, 0x22, 0x0a], ProtobufFrames),
            // A frame of 10 bytes.
            (&[0x0a, 0x0a, 0x08, 0x12, 0x06], ProtobufFrames),
            (&[0xf0, 0xfe, 0x0a, 0x0a, 0x9e, 0x24], ProtobufFrames),
        ];
        for (head, format) in cases {
            assert_eq!(format_of(head), Ok(format), "{head:x?}");
        }
        for head in [&b"hello world"[..], b"[1,2]", b"{no", &[0xff; 16], b"PAR1", b"\x1f\x8b\x08"] {
            assert!(format_of(head).is_err(), "{head:x?}");
        }
    }

    #[test]
    fn a_first_line_longer_than_what_is_looked_at_is_told_by_its_members() {
        let cut = |start: &str| {
            let mut head = start.as_bytes().to_vec();
            head.resize(LOOK_AHEAD_BYTES, b'x');
            format_of(&head)
        };
        let otlp = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":""#;
        assert_eq!(cut(otlp), Ok(InputFormat::JsonLines));
        let rhapsody = r#"{"event_id": "1", "event_type": "TaskFailed", "attributes": {"error": ""#;
        assert_eq!(cut(rhapsody), Ok(InputFormat::Rhapsody));
    }
}
