//! Lines of RHAPSODY as records of OTLP.

use kymo_wire::encode::{LogFields, SpanFields, Writer};
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::points::NumberValue;
use kymo_wire::{AnyValueView, Signal};
use serde_json::Value;

use super::Record;
use super::line::{Members, special_number};

const SERVICE_NAME: &[u8] = b"rhapsody";
const SCOPE_NAME: &[u8] = b"rhapsody";
const SPAN_KIND_INTERNAL: i32 = 1;
const SEVERITY_ERROR: i32 = 17;
/// The event that is one of severity.
const TASK_FAILED: &str = "TaskFailed";

/// Members of an event that are fields of a log record; `name` says `event_type` again.
const EVENT_FIELDS: [&str; 9] = [
    "event_type",
    "event_time",
    "emit_time",
    "session_id",
    "trace_id",
    "span_id",
    "name",
    "section",
    "attributes",
];
/// Members of a span that are fields of one, and those that say the same times in other units.
const SPAN_FIELDS: [&str; 13] = [
    "name",
    "span_id",
    "trace_id",
    "parent_span_id",
    "start_ns",
    "end_ns",
    "start_time_s",
    "end_time_s",
    "duration_ms",
    "status_code",
    "status_description",
    "section",
    "attributes",
];

/// A request of records that are written already.
pub(super) fn request(session_id: Option<&str>, records: &[u8]) -> Vec<u8> {
    let mut writer = Writer::with_capacity(records.len() + 128);
    writer.resource_group(|w| {
        w.resource(|w| {
            w.resource_attribute(b"service.name", &AnyValueView::String(SERVICE_NAME));
            if let Some(id) = session_id {
                w.resource_attribute(b"session_id", &AnyValueView::String(id.as_bytes()));
            }
        });
        w.scope_group(|w| {
            w.scope(SCOPE_NAME, b"", |_| ());
            w.raw(records);
        });
    });
    writer.into_bytes()
}

/// The record of a line; the error says what is wrong with it.
pub(super) fn record(members: Members) -> Result<Record, String> {
    match members.get("section").and_then(Value::as_str) {
        Some("event") => event(&members),
        Some("span") => span(&members),
        Some("metric") => metrics(&members),
        _ => Err("expected a member section that is event, span or metric".to_owned()),
    }
}

fn event(members: &Members) -> Result<Record, String> {
    let name = text(members, "event_type").or_else(|| text(members, "name"));
    let name = name.ok_or("expected a member event_type")?;
    let emitted = members.get("emit_time").and_then(nanos);
    let time = members.get("event_time").and_then(nanos).or(emitted);
    let time = time.ok_or("expected event_time in seconds since 1970")?;
    let trace_id = id::<16>(members, "trace_id")?.unwrap_or_default();
    let span_id = id::<8>(members, "span_id")?.unwrap_or_default();
    let fields = LogFields {
        time_unix_nano: time,
        observed_time_unix_nano: emitted.unwrap_or(0),
        severity_number: if name == TASK_FAILED { SEVERITY_ERROR } else { 0 },
        trace_id: given(&trace_id),
        span_id: given(&span_id),
        event_name: name.as_bytes(),
    };
    let mut writer = Writer::new();
    writer.log(&fields, |w| {
        each_attribute(members, &EVENT_FIELDS, |key, value| w.log_attribute(key, value));
    });
    Ok(Record {
        signal: Signal::Logs,
        time_nanos: time,
        session_id: text(members, "session_id").map(str::to_owned),
        span_id: None,
        bytes: writer.into_bytes(),
    })
}

fn span(members: &Members) -> Result<Record, String> {
    let trace_id = id::<16>(members, "trace_id")?.ok_or("expected a member trace_id")?;
    let span_id = id::<8>(members, "span_id")?.ok_or("expected a member span_id")?;
    let parent = id::<8>(members, "parent_span_id")?.unwrap_or_default();
    let time = |name: &str, also: &str| {
        members.get(name).and_then(Value::as_u64).or_else(|| members.get(also).and_then(nanos))
    };
    let start = time("start_ns", "start_time_s").ok_or("expected start_ns")?;
    let end = time("end_ns", "end_time_s").ok_or("expected end_ns")?;
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &span_id,
        parent_span_id: given(&parent),
        name: text(members, "name").unwrap_or_default().as_bytes(),
        kind: SPAN_KIND_INTERNAL,
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        ..SpanFields::default()
    };
    let status = match text(members, "status_code") {
        Some("OK") => 1,
        Some("ERROR") => 2,
        _ => 0,
    };
    let mut writer = Writer::new();
    writer.span(&fields, |w| {
        each_attribute(members, &SPAN_FIELDS, |key, value| w.span_attribute(key, value));
        if status != 0 {
            w.status(status, text(members, "status_description").unwrap_or_default().as_bytes());
        }
    });
    let session = members.get("attributes").and_then(|given| given.get("session_id")?.as_str());
    Ok(Record {
        signal: Signal::Traces,
        time_nanos: end,
        session_id: session.map(str::to_owned),
        span_id: Some(u64::from_be_bytes(span_id)),
        bytes: writer.into_bytes(),
    })
}

/// Every member that is a number becomes a gauge.
fn metrics(members: &Members) -> Result<Record, String> {
    let time = members.get("checkpoint_time").and_then(nanos);
    let time = time.ok_or("expected checkpoint_time in seconds since 1970")?;
    let mut writer = Writer::new();
    for (name, value) in members {
        let value = match scalar(value) {
            Some(AnyValueView::Int(number)) => NumberValue::Int(number),
            Some(AnyValueView::Double(number)) => NumberValue::Double(number),
            _ => continue,
        };
        if name != "checkpoint_time" {
            writer.gauge(name.as_bytes(), time, value);
        }
    }
    Ok(Record {
        signal: Signal::Metrics,
        time_nanos: time,
        session_id: text(members, "session_id").map(str::to_owned),
        span_id: None,
        bytes: writer.into_bytes(),
    })
}

/// Shows the members that have no field of their own, and those of `attributes` that no member has
/// the name of. What is null is not there.
fn each_attribute(
    members: &Members,
    fields: &[&str],
    mut show: impl FnMut(&[u8], &AnyValueView<'_>),
) {
    let others = || members.iter().filter(|(name, _)| !fields.contains(&name.as_str()));
    for (name, value) in others() {
        with_value(value, 1, &mut |value| show(name.as_bytes(), value));
    }
    let Some(attributes) = members.get("attributes") else { return };
    let Some(attributes) = attributes.as_object() else {
        return with_value(attributes, 1, &mut |value| show(b"attributes", value));
    };
    for (name, value) in attributes {
        let is_member = members.get(name).is_some_and(|member| !member.is_null());
        let is_twice = is_member && !fields.contains(&name.as_str());
        if !is_twice {
            with_value(value, 1, &mut |value| show(name.as_bytes(), value));
        }
    }
}

/// Hands on a value of JSON as one of OTLP, unless it is null.
fn with_value(value: &Value, depth: u32, take: &mut dyn FnMut(&AnyValueView<'_>)) {
    if let Some(scalar) = scalar(value) {
        return take(&scalar);
    }
    if depth >= MAX_NESTING && !value.is_null() {
        // Deeper than OTLP is read anywhere: kept as text.
        return take(&AnyValueView::String(value.to_string().as_bytes()));
    }
    let mut writer = Writer::new();
    match value {
        Value::Array(values) => {
            for value in values {
                // What has no value keeps its place.
                let mut inner = Writer::new();
                with_value(value, depth + 1, &mut |value| inner.any_value(value));
                writer.bytes_field(LIST_VALUES, inner.as_slice());
            }
            take(&AnyValueView::Array(writer.as_slice()));
        }
        Value::Object(members) => {
            for (key, value) in members {
                with_value(value, depth + 1, &mut |value| {
                    writer.key_value(LIST_VALUES, key.as_bytes(), value);
                });
            }
            take(&AnyValueView::KvList(writer.as_slice()));
        }
        _ => {}
    }
}

/// The field of `ArrayValue` and of `KeyValueList`.
const LIST_VALUES: u32 = 1;

/// A value that is neither a list nor null.
fn scalar(value: &Value) -> Option<AnyValueView<'_>> {
    match value {
        Value::Bool(flag) => Some(AnyValueView::Bool(*flag)),
        Value::String(text) => Some(AnyValueView::String(text.as_bytes())),
        Value::Number(number) => {
            let whole = number.as_i64().map(AnyValueView::Int);
            whole.or_else(|| number.as_f64().map(AnyValueView::Double))
        }
        Value::Object(_) => special_number(value).map(AnyValueView::Double),
        Value::Null | Value::Array(_) => None,
    }
}

fn text<'a>(members: &'a Members, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str()
}

/// Seconds since 1970 in nanoseconds. They are taken by their shortest decimal digits, which are
/// those that were written, so that no digits appear that nobody measured.
fn nanos(value: &Value) -> Option<u64> {
    const NANOS_DIGITS: usize = 9;
    let number = value.as_f64().filter(|seconds| *seconds >= 0.0)?;
    let digits = number.to_string();
    let (seconds, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let fraction = &fraction[..fraction.len().min(NANOS_DIGITS)];
    let seconds = seconds.parse::<u64>().ok()?;
    let nanos = format!("{fraction:0<NANOS_DIGITS$}").parse::<u64>().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// An id as Python's `hex()` writes it: `0x` and digits without leading zeros. Null is none.
fn id<const BYTES: usize>(members: &Members, name: &str) -> Result<Option<[u8; BYTES]>, String> {
    let written = match members.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(written)) => written,
        Some(other) => return Err(wrong_id(name, other, BYTES)),
    };
    let digits = written.strip_prefix("0x").unwrap_or(written);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(digits, 16).ok().filter(|_| is_hex);
    let number = number.filter(|_| digits.len() <= 2 * BYTES);
    let Some(number) = number else {
        return Err(wrong_id(name, written, BYTES));
    };
    let bytes = number.to_be_bytes();
    let mut id = [0; BYTES];
    id.copy_from_slice(&bytes[bytes.len() - BYTES..]);
    Ok(Some(id))
}

fn wrong_id(name: &str, found: impl std::fmt::Display, bytes: usize) -> String {
    format!("{name} is {found}: expected 0x and at most {} hexadecimal digits", 2 * bytes)
}

/// An id as OTLP has it: all zeros are none.
fn given(id: &[u8]) -> &[u8] {
    if id.iter().all(|byte| *byte == 0) { &[] } else { id }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_become_the_nanoseconds_that_were_written() {
        for (seconds, expected) in [
            (json!(1_794_771_464.593_636_8), Some(1_794_771_464_593_636_800)),
            (json!(1_794_771_464), Some(1_794_771_464_000_000_000)),
            (json!(0.000_000_001), Some(1)),
            (json!(-1.0), None),
            (json!(1e300), None),
            (json!("1"), None),
        ] {
            assert_eq!(nanos(&seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn ids_are_filled_up() {
        let members = |id: Value| Members::from_iter([("id".to_owned(), id)]);
        let read = |value: Value| id::<8>(&members(value), "id");
        assert_eq!(read(json!("0xabc")), Ok(Some([0, 0, 0, 0, 0, 0, 0x0a, 0xbc])));
        assert_eq!(read(json!("0102030405060708")), Ok(Some([1, 2, 3, 4, 5, 6, 7, 8])));
        assert_eq!(read(Value::Null), Ok(None));
        for wrong in [json!("0x"), json!("0x+1"), json!("0x10203040506070809"), json!(1)] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
