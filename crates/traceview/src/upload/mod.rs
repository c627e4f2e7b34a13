//! Files that somebody wants to look at without storing them.
//!
//! | format | how it is told |
//! |---|---|
//! | OTLP/JSON, one object or one in each line | begins with `{`, has `resourceSpans` |
//! | Jaeger's JSON | begins with `{`, has `data` |
//! | Chrome's trace events | begins with `{`, has `traceEvents`; or a list whose first has `ph` |
//! | Zipkin's JSON, version 2 | any other list |
//! | OTLP protobuf | anything else; it may look like JSON behind its first byte, a line feed |
//!
//! What is read passes the admission check of the server, so that what follows can trust it, and is
//! split by trace.

mod chrome;
mod jaeger;
mod parts;
mod split;
mod zipkin;

use kymo_wire::{JsonError, Limits, Signal, WireError, inspect_traces, json, lines};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::TraceError;

/// A trace of a file.
#[derive(Debug)]
pub struct UploadedTrace {
    /// Its id.
    pub trace_id: [u8; 16],
    /// Its spans: OTLP.
    pub body: Vec<u8>,
}

/// Reads a file, and gives its traces in the order of their first spans in it.
pub fn read(file: &[u8]) -> Result<Vec<UploadedTrace>, TraceError> {
    // Some editors put a byte order mark in front.
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let bodies = match file.trim_ascii_start().first() {
        None => return Err(TraceError::NoSpans),
        Some(b'{' | b'[') if is_protobuf(file) => vec![file.to_vec()],
        Some(b'{') => json_bodies(file)?,
        Some(b'[') if chrome::is_list_of_events(file) => vec![chrome::read(file)?],
        Some(b'[') => vec![zipkin::read(file)?],
        Some(_) => vec![file.to_vec()],
    };
    let mut checked = Vec::with_capacity(bodies.len());
    for body in &bodies {
        let inspected = inspect_traces(body, &Limits::default()).map_err(not_otlp)?;
        checked.push(inspected.body);
    }
    let traces = split::by_trace(checked.iter().map(AsRef::as_ref))?;
    if traces.is_empty() {
        return Err(TraceError::NoSpans);
    }
    Ok(traces)
}

/// Whether a file that seems to begin with a line feed is protobuf: so it has the tag of its first
/// field, and behind it a length, of which some look like a brace or another line feed.
fn is_protobuf(file: &[u8]) -> bool {
    let has_spans = || inspect_traces(file, &Limits::default()).is_ok_and(|found| found.items > 0);
    file.starts_with(b"\n") && has_spans()
}

fn not_otlp(error: WireError) -> TraceError {
    TraceError::Format(format!("it begins like protobuf, but {error}"))
}

/// Members that say what an object is.
#[derive(Default, Deserialize)]
struct Members {
    data: Option<IgnoredAny>,
    #[serde(rename = "traceEvents")]
    trace_events: Option<IgnoredAny>,
}

/// What JSON holds, as protobuf.
fn json_bodies(file: &[u8]) -> Result<Vec<Vec<u8>>, TraceError> {
    // Several documents, a line each, are no object: they are neither of these.
    let members: Members = serde_json::from_slice(file).unwrap_or_default();
    if members.data.is_some() {
        return Ok(vec![jaeger::read(file)?]);
    }
    if members.trace_events.is_some() {
        return Ok(vec![chrome::read(file)?]);
    }
    let whole = match json::decode(Signal::Traces, file) {
        Ok(body) if !body.is_empty() => return Ok(vec![body]),
        whole => whole,
    };
    match whole {
        _ if is_lines(file) => bodies_of_lines(file),
        Ok(_) => Err(TraceError::NoSpans),
        Err(error) => Err(error.into()),
    }
}

/// Whether the first of several lines is a whole document: then each is one.
fn is_lines(file: &[u8]) -> bool {
    let mut lines = lines_of(file);
    let first = lines.next().map(|(_, line)| serde_json::from_slice::<IgnoredAny>(line));
    first.is_some_and(|first| first.is_ok()) && lines.next().is_some()
}

/// Lines that are not empty, and their numbers.
fn lines_of(file: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = file.split(|byte| *byte == b'\n').zip(1..).map(|(line, number)| (number, line));
    lines.filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// What lines hold of traces. Those of other signals and other kinds are stepped over: files that
/// sessions write have both.
fn bodies_of_lines(file: &[u8]) -> Result<Vec<Vec<u8>>, TraceError> {
    let mut bodies = Vec::new();
    for (number, line) in lines_of(file) {
        match lines::decode_line(line) {
            Ok((Signal::Traces, body)) => bodies.push(body),
            Ok(_) => {}
            // It is JSON, but has no signal.
            Err(error) if error.line == 0 => {}
            Err(error) => return Err(JsonError { line: number, ..error }.into()),
        }
    }
    Ok(bodies)
}

#[cfg(test)]
mod tests {
    use kymo_wire::encode::{SpanFields, Writer};

    use super::*;
    use crate::fixture::{body, sent};
    use crate::tree::TraceTree;

    fn spans(file: &[u8]) -> Vec<(u8, usize)> {
        let traces = read(file).unwrap();
        let show = |trace: UploadedTrace| {
            let tree = TraceTree::read(trace.body).unwrap();
            assert_eq!(tree.trace_id, trace.trace_id);
            (trace.trace_id[0], tree.len())
        };
        traces.into_iter().map(show).collect()
    }

    fn otlp_json() -> String {
        let mut out = Vec::new();
        let spans = [sent(1, 0, "s", "a", 1_000, 2_000), sent(2, 1, "s", "b", 1_100, 1_200)];
        json::encode(Signal::Traces, &body(&spans), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn otlp_is_read_in_all_its_forms() {
        let spans_sent = [sent(1, 0, "s", "a", 1_000, 2_000), sent(2, 1, "s", "b", 1_100, 1_200)];
        assert_eq!(spans(&body(&spans_sent)), [(7, 2)]);
        let one = otlp_json();
        assert_eq!(spans(one.as_bytes()), [(7, 2)]);
        let other = one.replace("07070707", "08080808");
        let logs = "{\"resourceLogs\":[]}";
        let lines = format!("{{\"kymo\":1}}\n{one}\n{other}\n\n{logs}\n{one}\n");
        assert_eq!(spans(lines.as_bytes()), [(7, 4), (8, 2)]);
        let pretty: serde_json::Value = serde_json::from_str(&one).unwrap();
        assert_eq!(spans(&serde_json::to_vec_pretty(&pretty).unwrap()), [(7, 2)]);
    }

    #[test]
    fn protobuf_is_told_from_json_though_its_first_length_looks_like_a_brace() {
        let with_name = |letters: usize| {
            let name = vec![b'n'; letters];
            let fields = SpanFields {
                trace_id: &[7; 16],
                span_id: &[1; 8],
                name: &name,
                start_time_unix_nano: 1_000,
                end_time_unix_nano: 2_000,
                ..SpanFields::default()
            };
            let mut writer = Writer::new();
            writer.resource_group(|w| {
                w.scope_group(|w| {
                    w.span(&fields, |_| {});
                });
            });
            writer.into_bytes()
        };
        for beginning in [b"\n{", b"\n["] {
            let file = (1..100).map(with_name).find(|file| file.starts_with(beginning)).unwrap();
            assert_eq!(spans(&file), [(7, 1)]);
        }
        assert_eq!(spans(format!("\n{}", otlp_json()).as_bytes()), [(7, 2)]);
    }

    #[test]
    fn what_is_none_of_them_is_refused_with_a_reason() {
        for (file, word) in [
            (&b""[..], "no spans"),
            (b"{}", "no spans"),
            (b"{\"resourceSpans\":[]}", "no spans"),
            (b"{\"resourceSpans\":[{\"scopeSpans\":3}]}", "mistake"),
            (b"{\"event\":1}\n{\"event\":2}", "no spans"),
            (b"{\"resourceSpans\":[]}\n{\"resourceSpans\":3}", "at line 2"),
            (b"hello", "expected OTLP"),
            (b"\xff\xff\xff", "expected OTLP"),
        ] {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn other_formats_are_told_from_otlp_and_each_other() {
        let file = include_bytes!("jaeger_example.json");
        assert_eq!(spans(file), [(0, 3)]);
        let events = r#"[{"ph": "X", "name": "a", "ts": 5, "dur": 1, "pid": 1, "tid": 1}]"#;
        assert_eq!(spans(events.as_bytes()), [(0, 1)]);
        let whole = format!("{{\"displayTimeUnit\": \"ns\", \"traceEvents\": {events}}}");
        assert_eq!(spans(whole.as_bytes()), [(0, 1)]);
        let zipkin = r#"[{"traceId": "1", "id": "2", "timestamp": 5, "duration": 1}]"#;
        assert_eq!(spans(zipkin.as_bytes()), [(0, 1)]);
        for nothing in ["[]", r#"{"traceEvents": []}"#] {
            assert!(matches!(read(nothing.as_bytes()), Err(TraceError::NoSpans)), "{nothing}");
        }
    }
}
