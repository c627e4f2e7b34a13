//! What a stored request says of one session, as messages for who watches it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_admit::Signal;
use kymo_store::scan::shown_text;
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{
    AnyValueView, KeyValueView, LogRecordView, LogsView, MetricData, MetricView, MetricsView,
    NumberValue, Repeated, RequestView, ResourceView, SpanView, TracesView, View, WireError,
    array_values, kvlist_entries, text,
};
use serde_json::{Map, Value, json};

use super::sql::SESSION_SCOPES;
use super::tasks::Attributes;
use crate::times::rfc3339_text;
use kymo_engine::table::hex;

/// Names of messages that are no events of the session.
pub(super) const SNAPSHOT: &str = "snapshot";
pub(super) const LAGGED: &str = "lagged";
pub(super) const END: &str = "end";
const SPAN: &str = "span";
const METRIC: &str = "metric";
const LOG: &str = "log";
/// The event by which a session says that it starts.
pub(super) const SESSION_STARTED: &str = "SessionStarted";
const TAKEN: [&str; 6] = [SNAPSHOT, LAGGED, END, SPAN, METRIC, LOG];

/// A message.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    pub(super) event: String,
    pub(super) data: Value,
    /// Whether it says that the session has ended, and when.
    pub(super) ends: Option<String>,
}

impl Message {
    pub(super) fn new(event: &str, data: Value) -> Self {
        Self { event: event.to_owned(), data, ends: None }
    }

    /// Appends the message as server-sent events are written. JSON has no line breaks of its own.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let event = self.event.replace(['\r', '\n'], " ");
        out.extend_from_slice(format!("event: {event}\ndata: {}\n\n", self.data).as_bytes());
    }
}

/// Messages about a session, one after another.
pub(super) type Messages<'a> = Box<dyn Iterator<Item = Message> + Send + 'a>;

/// The event that said that a session starts. What was announced so ends by another, or by the span
/// that the first opened; what was not, by a span that looks like one of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announced {
    /// The span that it opened, in hexadecimal.
    pub(super) span_id: Option<String>,
}

/// What a decompressed request says of the session `id`.
pub(super) fn messages<'a>(
    signal: Signal,
    body: &'a [u8],
    id: &'a str,
    announced: Option<&'a Announced>,
) -> Result<Messages<'a>, WireError> {
    Ok(match signal {
        Signal::Traces => {
            let spans = items(TracesView::parse(body)?, id);
            Box::new(spans.map(move |(scope, span)| of_span(scope, &span, announced)))
        }
        Signal::Logs => {
            Box::new(items(LogsView::parse(body)?, id).map(|(_, record)| of_log(&record)))
        }
        Signal::Metrics => Box::new(
            items(MetricsView::parse(body)?, id).flat_map(|(_, metric)| of_metric(&metric)),
        ),
    })
}

/// The records of a session with the names of their scopes. They were admitted: what cannot be read
/// of them is left out.
fn items<'a, T: View<'a> + Send + 'a>(
    request: RequestView<'a, T>,
    id: &'a str,
) -> impl Iterator<Item = (&'a [u8], T)> + Send + 'a {
    let groups = request.resources.iter().flatten();
    let of_session = groups.filter(move |group| group.resource.is_some_and(|of| is_of(&of, id)));
    let scopes = of_session.flat_map(|group| group.scopes.iter().flatten());
    scopes.flat_map(|group| {
        let scope = group.scope.map_or(&b""[..], |scope| scope.name);
        group.items.iter().flatten().map(move |item| (scope, item))
    })
}

/// Whether a resource is of a session. An id that is no text counts by the text that queries have
/// for it.
fn is_of(resource: &ResourceView<'_>, id: &str) -> bool {
    let session = resource.attributes.iter().flatten().find(|of| of.key == b"session_id");
    let shown = session.and_then(|session| shown_text(&session.value));
    shown.is_some_and(|shown| *shown == *id.as_bytes())
}

fn of_log(record: &LogRecordView<'_>) -> Message {
    let sent = record.time_unix_nano;
    let nanos = if sent == 0 { record.observed_time_unix_nano } else { sent };
    let (time, name) = (time(nanos), text(record.event_name));
    let mut attributes = attributes(&record.attributes);
    let task_id = attributes.remove("task_id");
    let mut data = json!({
        "time": &time,
        "name": &name,
        "task_id": task_id,
        "trace_id": id(record.trace_id),
        "span_id": id(record.span_id),
        "attributes": attributes,
    });
    if record.severity_number != 0 {
        data["severity_number"] = record.severity_number.into();
    }
    if record.body != AnyValueView::Empty {
        data["body"] = value(&record.body, 0);
    }
    let is_event = !name.is_empty() && !TAKEN.contains(&&*name);
    let ends = (name == "SessionEnded").then_some(time);
    Message { event: if is_event { name.into_owned() } else { LOG.to_owned() }, data, ends }
}

fn of_span(scope: &[u8], span: &SpanView<'_>, announced: Option<&Announced>) -> Message {
    let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
    let mut attributes = attributes(&span.attributes);
    let task_id = attributes.remove("task_id");
    let (code, message) = span.status.map_or((0, &b""[..]), |told| (told.code, told.message));
    let status = match code {
        1 => "ok",
        2 => "error",
        _ => "unset",
    };
    let span_id = id(span.span_id);
    let is_meant = match announced {
        Some(announced) => announced.span_id.is_some() && announced.span_id == span_id,
        None => {
            let is_ours = SESSION_SCOPES.iter().any(|name| name.as_bytes() == scope);
            is_ours || span.parent_span_id.is_empty()
        }
    };
    let is_session = is_meant && span.name == b"session" && task_id.is_none();
    let data = json!({
        "name": text(span.name),
        "task_id": task_id,
        "trace_id": id(span.trace_id),
        "span_id": span_id,
        "parent_span_id": id(span.parent_span_id),
        "started": time(start),
        "ended": time(end),
        "duration_seconds": end.saturating_sub(start) as f64 / 1e9,
        "status": status,
        "status_message": text(message),
        "attributes": attributes,
    });
    Message { event: SPAN.to_owned(), data, ends: is_session.then(|| time(end)) }
}

/// A message for each point.
fn of_metric(metric: &MetricView<'_>) -> Vec<Message> {
    let (name, unit) = (text(metric.name), text(metric.unit));
    let point = |nanos: u64, of: &Repeated<'_, KeyValueView<'_>>, numbers: Value| {
        let mut data = json!({
            "time": time(nanos), "name": &name, "unit": &unit, "attributes": attributes(of),
        });
        if let (Value::Object(data), Value::Object(numbers)) = (&mut data, numbers) {
            data.extend(numbers);
        }
        Message::new(METRIC, data)
    };
    let number = |point_value: NumberValue| match point_value {
        NumberValue::Int(number) => json!({ "value": number }),
        NumberValue::Double(number) => json!({ "value": double(number) }),
        NumberValue::None => json!({ "value": null }),
    };
    match &metric.data {
        MetricData::Gauge(gauge) => {
            let points = gauge.data_points.iter().flatten();
            points.map(|of| point(of.time_unix_nano, &of.attributes, number(of.value))).collect()
        }
        MetricData::Sum(sum) => {
            let points = sum.data_points.iter().flatten();
            points.map(|of| point(of.time_unix_nano, &of.attributes, number(of.value))).collect()
        }
        MetricData::Histogram(histogram) => {
            let points = histogram.data_points.iter().flatten();
            let numbers = |count: u64, sum: Option<f64>| json!({ "count": count, "sum": sum });
            points
                .map(|of| point(of.time_unix_nano, &of.attributes, numbers(of.count, of.sum)))
                .collect()
        }
        // Buckets of other kinds are asked for in PromQL.
        _ => Vec::new(),
    }
}

fn time(nanos: u64) -> String {
    rfc3339_text(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn id(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| hex(bytes))
}

fn attributes(of: &Repeated<'_, KeyValueView<'_>>) -> Attributes {
    let entries = of.iter().flatten();
    entries.map(|entry| (text(entry.key).into_owned(), value(&entry.value, 0))).collect()
}

/// A value as JSON, as the store writes it.
fn value(of: &AnyValueView<'_>, depth: u32) -> Value {
    match *of {
        _ if depth > MAX_NESTING => Value::Null,
        AnyValueView::Empty => Value::Null,
        AnyValueView::String(bytes) => text(bytes).into(),
        AnyValueView::Bool(flag) => flag.into(),
        AnyValueView::Int(number) => number.into(),
        AnyValueView::Double(number) => double(number),
        AnyValueView::Bytes(bytes) => STANDARD.encode(bytes).into(),
        AnyValueView::StringIndex(index) => index.into(),
        AnyValueView::Array(raw) => {
            array_values(raw).flatten().map(|item| value(&item, depth + 1)).collect()
        }
        AnyValueView::KvList(raw) => {
            let entries = kvlist_entries(raw).flatten();
            let object: Map<String, Value> = entries
                .map(|entry| (text(entry.key).into_owned(), value(&entry.value, depth + 1)))
                .collect();
            object.into()
        }
    }
}

/// JSON has no numbers for what is not finite.
fn double(number: f64) -> Value {
    match number {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        number if number.is_nan() => "NaN".into(),
        number => number.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(signal: Signal, json: &str) -> Vec<Message> {
        let body = kymo_wire::json::decode(signal, json.as_bytes()).unwrap();
        messages(signal, &body, "s1", None).unwrap().collect()
    }

    #[test]
    fn a_span_that_is_merely_called_session_ends_nothing() {
        let spans = |scope: &str, parent: &str| {
            format!(
                r#"{{"resourceSpans":[{{{},"scopeSpans":[{{"scope":{{"name":"{scope}"}},"spans":[{{"name":"session","spanId":"00000000000000aa","parentSpanId":"{parent}"}}]}}]}}]}}"#,
                resource("s1")
            )
        };
        let parent = "00000000000000ff";
        let by = |span_id: Option<&str>| Some(Announced { span_id: span_id.map(str::to_owned) });
        let (its, other) = (by(Some("00000000000000aa")), by(Some("00000000000000bb")));
        for (scope, parent, announced, ends) in [
            ("web", parent, None, false),
            ("web", "", None, true),
            ("web", "", other.clone(), false),
            ("web", parent, its, true),
            ("kymograph", parent, other, false),
            ("kymograph", "", by(None), false),
            ("rhapsody", parent, None, true),
        ] {
            let body = spans(scope, parent);
            let body = kymo_wire::json::decode(Signal::Traces, body.as_bytes()).unwrap();
            let mut messages = messages(Signal::Traces, &body, "s1", announced.as_ref()).unwrap();
            let message = messages.next().unwrap();
            assert_eq!(message.ends.is_some(), ends, "{scope} {parent} {announced:?}");
        }
    }

    fn resource(id: &str) -> String {
        format!(
            r#""resource":{{"attributes":[{{"key":"session_id","value":{{"stringValue":"{id}"}}}}]}}"#
        )
    }

    #[test]
    fn records_of_other_sessions_are_not_heard() {
        let record = r#"{"timeUnixNano":"1","eventName":"TaskStarted","attributes":[{"key":"task_id","value":{"stringValue":"t"}},{"key":"lr","value":{"doubleValue":0.5}}]}"#;
        let group =
            |id: &str| format!(r#"{{{},"scopeLogs":[{{"logRecords":[{record}]}}]}}"#, resource(id));
        let request = format!(
            r#"{{"resourceLogs":[{},{},{{"scopeLogs":[{{"logRecords":[{record}]}}]}}]}}"#,
            group("s2"),
            group("s1")
        );
        let messages = heard(Signal::Logs, &request);
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].event, "TaskStarted");
        assert_eq!(messages[0].data["task_id"], "t");
        assert_eq!(messages[0].data["attributes"], json!({ "lr": 0.5 }));
        assert_eq!(messages[0].data["time"], "1970-01-01T00:00:00.000000001Z");
    }

    #[test]
    fn a_session_whose_id_is_no_text_is_heard_by_the_text_of_its_id() {
        for (value, id, is_heard) in [
            (r#"{"intValue":"42"}"#, "42", true),
            (r#"{"intValue":"42"}"#, "4", false),
            (r#"{"boolValue":true}"#, "true", true),
            (r#"{"bytesValue":"AQID"}"#, "AQID", true),
            (r#"{"arrayValue":{"values":[{"intValue":"1"}]}}"#, "[1]", true),
            ("{}", "", false),
        ] {
            let request = format!(
                r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"session_id","value":{value}}}]}},"scopeLogs":[{{"logRecords":[{{"eventName":"TaskStarted"}}]}}]}}]}}"#
            );
            let body = kymo_wire::json::decode(Signal::Logs, request.as_bytes()).unwrap();
            let heard = messages(Signal::Logs, &body, id, None).unwrap().count();
            assert_eq!(heard == 1, is_heard, "{value} as {id}");
        }
    }

    #[test]
    fn a_session_ends_with_its_event_or_its_span() {
        let request = format!(
            r#"{{"resourceLogs":[{{{},"scopeLogs":[{{"logRecords":[{{"eventName":"SessionEnded","timeUnixNano":"5"}},{{"eventName":"end"}},{{"body":{{"stringValue":"line"}}}}]}}]}}]}}"#,
            resource("s1")
        );
        let messages = heard(Signal::Logs, &request);
        assert_eq!(messages[0].ends.as_deref(), Some("1970-01-01T00:00:00.000000005Z"));
        // Names that mean something here stay ours.
        assert_eq!((&*messages[1].event, &messages[1].ends), ("log", &None));
        assert_eq!((&*messages[2].event, &messages[2].data["body"]), ("log", &json!("line")));
        let request = format!(
            r#"{{"resourceSpans":[{{{},"scopeSpans":[{{"spans":[{{"name":"task","attributes":[{{"key":"task_id","value":{{"stringValue":"t"}}}}],"status":{{"code":2,"message":"boom"}}}},{{"name":"session","startTimeUnixNano":"1","endTimeUnixNano":"1000000001"}}]}}]}}]}}"#,
            resource("s1")
        );
        let messages = heard(Signal::Traces, &request);
        assert_eq!((&messages[0].data["status"], &messages[0].ends), (&json!("error"), &None));
        assert!(messages[1].ends.is_some());
        assert_eq!(messages[1].data["duration_seconds"], 1.0);
    }

    #[test]
    fn points_are_messages_of_their_own() {
        let request = format!(
            r#"{{"resourceMetrics":[{{{},"scopeMetrics":[{{"metrics":[{{"name":"load","gauge":{{"dataPoints":[{{"asDouble":1.5,"timeUnixNano":"1"}},{{"asInt":"2","timeUnixNano":"2"}}]}}}}]}}]}}]}}"#,
            resource("s1")
        );
        let values: Vec<Value> = heard(Signal::Metrics, &request)
            .into_iter()
            .map(|message| message.data["value"].clone())
            .collect();
        assert_eq!(values, [json!(1.5), json!(2)]);
    }

    #[test]
    fn a_name_cannot_begin_a_message() {
        let mut out = Vec::new();
        Message::new("a.b\n\nevent: end", json!({ "text": "one\ntwo" })).write(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "event: a.b  event: end\ndata: {\"text\":\"one\\ntwo\"}\n\n");
    }
}
