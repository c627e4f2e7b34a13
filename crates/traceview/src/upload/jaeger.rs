//! Jaeger's JSON, as its page and its `/api/traces/{id}` give it, to OTLP.
//!
//! Tags become attributes with their types; those that say what OTLP has fields for become these:
//! `span.kind`, `error`, `otel.status_code`, `otel.status_description`. Logs become events, whose name
//! is the field `event`. The first reference to a span of the trace is the parent, others are links.

use std::collections::BTreeMap;

use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, LinkFields, SpanFields, Writer};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::parts;
use crate::error::TraceError;

#[derive(Deserialize)]
struct Document {
    data: Vec<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    processes: BTreeMap<String, Process>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    #[serde(default)]
    service_name: String,
    #[serde(default)]
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    #[serde(rename = "traceID")]
    trace_id: String,
    #[serde(rename = "spanID")]
    span_id: String,
    #[serde(rename = "parentSpanID", default)]
    parent_span_id: String,
    #[serde(default)]
    operation_name: String,
    #[serde(default)]
    references: Vec<Reference>,
    /// Since 1970.
    #[serde(default)]
    start_time: Micros,
    #[serde(default)]
    duration: Micros,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    logs: Vec<Log>,
    #[serde(rename = "processID", default)]
    process_id: String,
    #[serde(default)]
    process: Option<Process>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    ref_type: String,
    #[serde(rename = "traceID")]
    trace_id: String,
    #[serde(rename = "spanID")]
    span_id: String,
}

#[derive(Deserialize)]
struct Tag {
    key: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct Log {
    /// Since 1970.
    #[serde(default)]
    timestamp: Micros,
    #[serde(default)]
    fields: Vec<Tag>,
}

/// Microseconds. Some senders have fractions of them, and `null` where there are none.
#[derive(Default, Deserialize)]
pub(super) struct Micros(Option<Number>);

pub(super) fn read(file: &[u8]) -> Result<Vec<u8>, TraceError> {
    parts::check(file)?;
    let document: Document = serde_json::from_slice(file)
        .map_err(|error| TraceError::Format(format!("it looks like Jaeger's JSON, but {error}")))?;
    let mut writer = Writer::new();
    for trace in &document.data {
        for span in &trace.spans {
            let process = span.process.as_ref().or_else(|| trace.processes.get(&span.process_id));
            write(&mut writer, span, process);
        }
    }
    Ok(writer.into_bytes())
}

fn write(writer: &mut Writer, span: &Span, process: Option<&Process>) {
    writer.resource_group(|w| {
        w.resource(|w| {
            if let Some(process) = process {
                let name = AnyValueView::String(process.service_name.as_bytes());
                w.resource_attribute(b"service.name", &name);
                for tag in &process.tags {
                    tag.with(|value| w.resource_attribute(tag.key.as_bytes(), value));
                }
            }
        });
        w.scope_group(|w| write_span(w, span));
    });
}

fn write_span(writer: &mut Writer, span: &Span) {
    let trace_id = id::<16>(&span.trace_id);
    let parent = span.parent();
    let parent_id = parent.map(id::<8>);
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &id::<8>(&span.span_id),
        parent_span_id: parent_id.as_ref().map_or(&[], |id| &id[..]),
        name: span.operation_name.as_bytes(),
        kind: span.kind(),
        start_time_unix_nano: span.start_time.nanos(),
        end_time_unix_nano: span.start_time.nanos().saturating_add(span.duration.nanos()),
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        for tag in span.tags.iter().filter(|tag| !tag.is_field()) {
            tag.with(|value| w.span_attribute(tag.key.as_bytes(), value));
        }
        for log in &span.logs {
            write_event(w, log);
        }
        let is_parent = |reference: &Reference| Some(&*reference.span_id) == parent;
        for reference in span.references.iter().filter(|reference| !is_parent(reference)) {
            let fields = LinkFields {
                trace_id: &id::<16>(&reference.trace_id),
                span_id: &id::<8>(&reference.span_id),
                ..LinkFields::default()
            };
            w.link(&fields, |_| ());
        }
        let (code, message) = span.status();
        if code != 0 {
            w.status(code, message.as_bytes());
        }
    });
}

fn write_event(writer: &mut Writer, log: &Log) {
    let named = log.fields.iter().find(|field| field.key == "event");
    let name = named.and_then(|field| field.value.as_str()).unwrap_or("log");
    let fields = EventFields {
        time_unix_nano: log.timestamp.nanos(),
        name: name.as_bytes(),
        ..EventFields::default()
    };
    writer.event(&fields, |w| {
        for field in log.fields.iter().filter(|field| field.key != "event") {
            field.with(|value| w.event_attribute(field.key.as_bytes(), value));
        }
    });
}

/// An id of `N` bytes out of hexadecimal, which may lack leading zeros; zeros if it is none.
pub(super) fn id<const N: usize>(text: &str) -> [u8; N] {
    let mut id = [0; N];
    let number = u128::from_str_radix(text, 16).unwrap_or(0).to_be_bytes();
    id.copy_from_slice(&number[16 - N..]);
    id
}

/// The number of a kind; 0 for words that are none.
pub(super) fn kind_of(name: &str) -> i32 {
    match name {
        "internal" => 1,
        "server" => 2,
        "client" => 3,
        "producer" => 4,
        "consumer" => 5,
        _ => 0,
    }
}

/// Calls `then` with a value of JSON in its type; lists and maps are text.
pub(super) fn with_value(value: &Value, then: impl FnOnce(&AnyValueView<'_>)) {
    match value {
        Value::Null => then(&AnyValueView::Empty),
        Value::Bool(flag) => then(&AnyValueView::Bool(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(number) => then(&AnyValueView::Int(number)),
            None => then(&AnyValueView::Double(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => then(&AnyValueView::String(text.as_bytes())),
        other => then(&AnyValueView::String(other.to_string().as_bytes())),
    }
}

impl Micros {
    /// In nanoseconds; 0 if there are none.
    pub(super) fn nanos(&self) -> u64 {
        let Some(micros) = &self.0 else { return 0 };
        if let Some(whole) = micros.as_u64() {
            return whole.saturating_mul(1_000);
        }
        let micros = micros.as_f64().unwrap_or(0.0);
        // A double has no room for the nanoseconds of today: the fraction is taken by itself.
        let nanos = (micros.fract() * 1_000.0).round() as u64;
        (micros.trunc() as u64).saturating_mul(1_000).saturating_add(nanos)
    }
}

impl Span {
    /// The id of the span above, if it is one of the same trace.
    fn parent(&self) -> Option<&str> {
        let of_trace = |reference: &&Reference| reference.trace_id == self.trace_id;
        let mut references = self.references.iter().filter(of_trace);
        let child_of = references.clone().find(|reference| reference.ref_type == "CHILD_OF");
        let found = child_of.or_else(|| references.next()).map(|reference| &*reference.span_id);
        found.or(Some(&*self.parent_span_id).filter(|id| !id.is_empty()))
    }

    fn tag(&self, key: &str) -> Option<&Value> {
        self.tags.iter().find(|tag| tag.key == key).map(|tag| &tag.value)
    }

    fn kind(&self) -> i32 {
        self.tag("span.kind").and_then(Value::as_str).map_or(0, kind_of)
    }

    fn status(&self) -> (i32, &str) {
        let message = self.tag("otel.status_description").and_then(Value::as_str).unwrap_or("");
        let is_error = match self.tag("error") {
            Some(Value::Bool(is_error)) => *is_error,
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        match self.tag("otel.status_code").and_then(Value::as_str) {
            Some("ERROR") => (2, message),
            _ if is_error => (2, message),
            Some("OK") => (1, message),
            _ => (0, message),
        }
    }
}

impl Tag {
    /// Whether it says what a span has a field for.
    fn is_field(&self) -> bool {
        ["span.kind", "otel.status_code", "otel.status_description"].contains(&&*self.key)
    }

    /// Calls `then` with the value in its type.
    fn with(&self, then: impl FnOnce(&AnyValueView<'_>)) {
        match (&*self.kind, &self.value) {
            ("float64", Value::Number(number)) => {
                then(&AnyValueView::Double(number.as_f64().unwrap_or(f64::NAN)));
            }
            // Whole numbers that JavaScript would round come as text.
            ("int64", Value::String(text)) if text.parse::<i64>().is_ok() => {
                then(&AnyValueView::Int(text.parse().unwrap_or(0)));
            }
            (_, value) => with_value(value, then),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Details;
    use crate::tree::TraceTree;
    use serde_json::json;

    #[test]
    fn tags_logs_and_references_become_what_otlp_has_for_them() {
        let body = read(include_bytes!("jaeger_example.json")).unwrap();
        let tree = TraceTree::read(body).unwrap();
        let details = serde_json::to_value(Details::of(&tree, &[0, 1, 2]).unwrap()).unwrap();
        let [root, query, late] = [0, 1, 2].map(|row| &details["spans"][row]);
        assert_eq!((&root["name"], &root["kind"]), (&json!("GET /cart"), &json!("server")));
        assert_eq!(root["start"], "1700000000000000000");
        assert_eq!(root["durationNanos"], 250_000);
        let attributes = json!([
            {"key": "http.status_code", "type": "int", "value": 500},
            {"key": "big", "type": "int", "value": "9007199254740993"},
            {"key": "ratio", "type": "double", "value": 2.0},
            {"key": "error", "type": "bool", "value": true},
        ]);
        assert_eq!(root["attributes"], attributes);
        assert_eq!(root["status"], json!({"code": "error", "message": "it broke"}));
        assert_eq!(root["events"][0]["name"], "retry");
        assert_eq!(query["parentId"], root["id"]);
        assert_eq!(query["links"][0]["spanId"], "00000000000000ff");
        assert_eq!(late["parentId"], query["id"]);
        let service = &details["resources"][1]["attributes"][0];
        assert_eq!(service["value"], "db");
    }

    #[test]
    fn times_may_have_fractions_and_null_is_none() {
        let file = json!({"data": [{"spans": [
            {"traceID": "1", "spanID": "1", "startTime": 1_700_000_000_000_000.5, "duration": 7.25,
             "logs": [{"timestamp": 1_700_000_000_000_001.5, "fields": []}, {"timestamp": null}]},
            {"traceID": "1", "spanID": "2", "startTime": 1_700_000_000_000_002u64, "duration": null},
        ]}]});
        let tree = TraceTree::read(read(file.to_string().as_bytes()).unwrap()).unwrap();
        let details = serde_json::to_value(Details::of(&tree, &[0, 1]).unwrap()).unwrap();
        let [first, second] = [0, 1].map(|row| &details["spans"][row]);
        assert_eq!(first["start"], "1700000000000000500");
        assert_eq!(first["durationNanos"], 7_250);
        assert_eq!(first["events"][0]["time"], "1700000000000001500");
        assert_eq!(first["events"][1]["time"], "0");
        assert_eq!(second["start"], "1700000000000002000");
        assert_eq!(second["durationNanos"], 0);
    }

    #[test]
    fn times_before_1970_and_beyond_all_are_cut() {
        for (text, nanos) in [("-3.5", 0), ("-3", 0), ("1e300", u64::MAX), ("0.0004", 0)] {
            let micros: Micros = serde_json::from_str(text).unwrap();
            assert_eq!(micros.nanos(), nanos, "{text}");
        }
    }
}
