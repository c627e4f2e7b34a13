//! Times and trace ids of a request, changed where they are.
//!
//! Both have a length of their own in protobuf, so that nothing around them changes: a request is
//! moved to another time, or becomes part of another trace, in place and without being written
//! again. All times of OTLP are found, wherever they are: of spans and their events, of log records,
//! of data points and their exemplars.
//!
//! Attributes are not looked into. A time of zero means that there is none, and an id of another
//! length than that of a trace id is none: both stay.

use crate::Signal;
use crate::limits::TRACE_ID_BYTES;
use crate::proto::{FIXED64, LEN, Reader, WireError};
use crate::schema::{self, Kind, Message};

/// A trace id.
pub type TraceIdBytes = [u8; TRACE_ID_BYTES];

/// Shows every time of a request, in nanoseconds since 1970.
pub fn each_time(signal: Signal, body: &[u8], mut show: impl FnMut(u64)) -> Result<(), WireError> {
    walk(Reader::new(body), schema::request(signal), &mut |found| {
        if let Found::Time { nanos, .. } = found {
            show(nanos);
        }
    })
}

/// Changes every time and every trace id of a request. Nothing is changed if there is an error.
pub fn change(
    signal: Signal,
    body: &mut [u8],
    mut time: impl FnMut(u64) -> u64,
    mut trace_id: impl FnMut(TraceIdBytes) -> TraceIdBytes,
) -> Result<(), WireError> {
    let mut changes = Vec::new();
    walk(Reader::new(body), schema::request(signal), &mut |found| changes.push(found))?;
    for found in changes {
        match found {
            Found::Time { at, nanos } => put(body, at, &time(nanos).to_le_bytes()),
            Found::TraceId { at, id } => put(body, at, &trace_id(id)),
        }
    }
    Ok(())
}

/// Something that was found, and at which byte.
enum Found {
    Time { at: usize, nanos: u64 },
    TraceId { at: usize, id: TraceIdBytes },
}

fn put(body: &mut [u8], at: usize, bytes: &[u8]) {
    // The walk found as many bytes there.
    if let Some(place) = body.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn walk(
    mut reader: Reader<'_>,
    message: &'static Message,
    show: &mut impl FnMut(Found),
) -> Result<(), WireError> {
    while let Some(tag) = reader.tag()? {
        let field = message.index_of(tag >> 3).map(|index| &message.fields[index]);
        match (field.map(|field| field.kind), tag & 7) {
            (Some(Kind::Time), FIXED64) => {
                let at = reader.offset();
                let nanos = reader.fixed64()?;
                if nanos != 0 {
                    show(Found::Time { at, nanos });
                }
            }
            (Some(Kind::TraceId), LEN) => {
                let bytes = reader.bytes()?;
                if let Ok(id) = TraceIdBytes::try_from(bytes) {
                    show(Found::TraceId { at: reader.offset() - bytes.len(), id });
                }
            }
            (Some(Kind::Message(inner)), LEN) if !is_attribute(inner) => {
                walk(reader.message()?, inner, show)?;
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok(())
}

/// Whether a message is an attribute: values nest in values, and there is nothing to find.
fn is_attribute(message: &'static Message) -> bool {
    std::ptr::eq(message, &raw const schema::KEY_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Requests with every time that OTLP has; `T` stands for times, each of another value.
    const REQUESTS: [(Signal, &str); 3] = [
        (
            Signal::Traces,
            r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"arrayValue":{"values":[{"intValue":"7"}]}}}]},"scopeSpans":[{"spans":[{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202","name":"n","startTimeUnixNano":"T","endTimeUnixNano":"T","events":[{"timeUnixNano":"T","name":"e"}],"links":[{"traceId":"01010101010101010101010101010101","spanId":"0303030303030303"}]}]}]}]}"#,
        ),
        (
            Signal::Logs,
            r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"T","observedTimeUnixNano":"T","traceId":"01010101010101010101010101010101","spanId":"0202020202020202"},{"body":{"stringValue":"no time"}}]}]}]}"#,
        ),
        (
            Signal::Metrics,
            r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"T","asInt":"1000000"}]}},{"name":"s","sum":{"dataPoints":[{"startTimeUnixNano":"T","timeUnixNano":"T","asDouble":1.5,"exemplars":[{"timeUnixNano":"T","asInt":"1","traceId":"01010101010101010101010101010101"}]}]}},{"name":"h","histogram":{"dataPoints":[{"startTimeUnixNano":"T","timeUnixNano":"T","count":"1000001"}]}},{"name":"e","exponentialHistogram":{"dataPoints":[{"startTimeUnixNano":"T","timeUnixNano":"T","count":"1000002"}]}},{"name":"u","summary":{"dataPoints":[{"startTimeUnixNano":"T","timeUnixNano":"T","count":"1000003"}]}}]}]}]}"#,
        ),
    ];

    /// The request with times from `first` on, and how many it has.
    fn written(text: &str, first: u64) -> (String, u64) {
        let mut parts = text.split("\"T\"");
        let mut out = parts.next().unwrap_or_default().to_owned();
        let mut count = 0;
        for part in parts {
            out.push_str(&format!("\"{}\"{part}", first + count));
            count += 1;
        }
        (out, count)
    }

    #[test]
    fn every_time_and_trace_id_is_found_and_nothing_else_is_changed() {
        for (signal, text) in REQUESTS {
            let (before, count) = written(text, 1_000_000);
            let (after, _) = written(text, 1_000_500);
            let after = after.replace(&"01".repeat(16), &"09".repeat(16));
            let mut body = json::decode(signal, before.as_bytes()).unwrap();
            let mut times = Vec::new();
            each_time(signal, &body, |time| times.push(time)).unwrap();
            times.sort_unstable();
            assert_eq!(times, (1_000_000..1_000_000 + count).collect::<Vec<_>>(), "{signal}");
            change(signal, &mut body, |time| time + 500, |id| id.map(|byte| byte + 8)).unwrap();
            assert_eq!(body, json::decode(signal, after.as_bytes()).unwrap(), "{signal}");
        }
    }

    #[test]
    fn what_is_no_request_is_an_error_and_stays() {
        let mut body = vec![0x0a, 0x05, 0x12, 0x09, 1, 2, 3];
        let before = body.clone();
        assert!(change(Signal::Traces, &mut body, |time| time, |id| id).is_err());
        assert_eq!(body, before);
        assert!(each_time(Signal::Logs, &[0xff; 12], |_| ()).is_err());
    }
}
