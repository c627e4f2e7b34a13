//! Sessions for tests, as lines of OTLP/JSON.

use kymo_wire::lines::decode_line;
use serde_json::{Value, json};

use crate::{Recording, Session};

/// Second 0 of every fixture.
pub(crate) const START: u64 = 1_700_000_000;

pub(crate) fn nanos(secs: f64) -> u64 {
    START * 1_000_000_000 + (secs * 1e9).round() as u64
}

/// Attributes as OTLP/JSON has them.
pub(crate) fn attributes(values: &Value) -> Value {
    let entries = values.as_object().unwrap().iter();
    entries.map(|(key, value)| json!({ "key": key, "value": any_value(value) })).collect()
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({ "stringValue": text }),
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            json!({ "intValue": number.to_string() })
        }
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::Array(values) => {
            let values: Vec<Value> = values.iter().map(any_value).collect();
            json!({ "arrayValue": { "values": values } })
        }
        other => panic!("{other}"),
    }
}

fn resource(session: &str) -> Value {
    match session {
        "" => json!({ "attributes": attributes(&json!({"service.name": "plain"})) }),
        _ => json!({ "attributes": attributes(&json!({
            "service.name": "train", "session_id": session, "host.name": "vm",
        })) }),
    }
}

/// An event, at seconds.
pub(crate) fn event(session: &str, name: &str, at: f64, fields: Value) -> Value {
    let mut record = json!({
        "timeUnixNano": nanos(at).to_string(), "eventName": name,
        "attributes": attributes(&fields),
    });
    if let Some(late) = fields.get("late") {
        record["observedTimeUnixNano"] = nanos(at + late.as_f64().unwrap()).to_string().into();
    }
    json!({"resourceLogs": [{"resource": resource(session), "scopeLogs": [{"logRecords": [record]}]}]})
}

/// An event that names a span.
pub(crate) fn in_span(id: u64, mut event: Value) -> Value {
    let record = &mut event["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    record["spanId"] = format!("{id:016x}").into();
    event
}

/// A span, from and to seconds. Ids are small numbers; parent 0 is none.
pub(crate) fn span(
    session: &str,
    (id, parent): (u64, u64),
    name: &str,
    (from, to): (f64, f64),
    fields: Value,
) -> Value {
    let hex = |id: u64| if id == 0 { String::new() } else { format!("{id:016x}") };
    let code = if fields.get("error_type").is_some() { 2 } else { 0 };
    let mut events = Vec::new();
    for (state, key) in [("TaskQueued", "queued_at"), ("TaskStarted", "started_at")] {
        if let Some(at) = fields.get(key) {
            let at = nanos(at.as_f64().unwrap());
            events.push(json!({"name": state, "timeUnixNano": at.to_string()}));
        }
    }
    json!({"resourceSpans": [{"resource": resource(session), "scopeSpans": [{"spans": [{
        "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": hex(id), "parentSpanId": hex(parent),
        "name": name, "startTimeUnixNano": nanos(from).to_string(),
        "endTimeUnixNano": nanos(to).to_string(), "attributes": attributes(&fields),
        "events": events, "status": {"code": code},
    }]}]}]})
}

/// A counter with one series.
pub(crate) fn counter(session: &str, name: &str, at: f64, value: i64) -> Value {
    json!({"resourceMetrics": [{"resource": resource(session), "scopeMetrics": [{"metrics": [{
        "name": name, "sum": {"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
            {"timeUnixNano": nanos(at).to_string(), "asInt": value.to_string()}
        ]},
    }]}]}]})
}

/// All events of a task: submitted, queued, started, ended, with what end.
pub(crate) fn task(session: &str, id: &str, times: [f64; 4], end: &str, more: Value) -> Vec<Value> {
    let names = ["TaskSubmitted", "TaskQueued", "TaskStarted", end];
    let mut fields = more;
    fields["task_id"] = id.into();
    names
        .into_iter()
        .zip(times)
        .map(|(name, at)| event(session, name, at, fields.clone()))
        .collect()
}

/// Everything recorded.
pub(crate) fn recorded(lines: &[Value]) -> Recording {
    recorded_in(Recording::new(), lines)
}

/// The same, in a recording that is there.
pub(crate) fn recorded_in(mut recording: Recording, lines: &[Value]) -> Recording {
    for line in lines {
        let (signal, request) = decode_line(line.to_string().as_bytes()).unwrap();
        recording.add(signal, &request).unwrap();
    }
    recording
}

/// The only session of what is recorded.
pub(crate) fn only(lines: &[Value]) -> Session {
    let (mut sessions, _) = recorded(lines).finish();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

/// Ten seconds: four tasks that complete, one that fails, one that is never started; a node with
/// two GPUs.
pub(crate) fn ten_seconds() -> Vec<Value> {
    let s = "train.1";
    let mut lines = vec![event(s, "SessionStarted", 0.0, json!({}))];
    for (id, times, executable) in [
        ("t1", [0.0, 0.5, 1.0, 3.0], "sim"),
        ("t2", [0.0, 0.5, 1.0, 4.0], "sim"),
        ("t3", [0.0, 0.5, 2.0, 4.0], "sim"),
        ("t4", [1.0, 2.0, 4.0, 9.0], "fit"),
    ] {
        lines.extend(task(s, id, times, "TaskCompleted", json!({"executable": executable})));
    }
    let failed =
        json!({"executable": "fit", "error_type": "ValueError", "error_message": "no <b>data</b>"});
    lines.extend(task(s, "t5", [1.0, 2.0, 4.0, 5.0], "TaskFailed", failed));
    lines.push(event(s, "TaskSubmitted", 6.0, json!({"task_id": "t6", "executable": "fit"})));
    for at in [1.0, 3.0, 5.0] {
        let node = json!({"node_id": "n1", "cpu_percent": 20.0 * at, "memory_percent": 50,
            "disk_read_bytes": 2000, "gpu_percent": 90});
        lines.push(event(s, "ResourceUpdate", at, node));
        for gpu in [0, 1] {
            let gpu = json!({"node_id": "n1", "gpu_id": gpu, "gpu_percent": 90 * gpu});
            lines.push(event(s, "ResourceUpdate", at, gpu));
        }
    }
    lines.push(event(s, "app.Loss", 2.0, json!({"loss": 0.5, "label": "x"})));
    lines.push(event(s, "app.Loss", 3.0, json!({"loss": 0.25, "late": 0.5})));
    lines.push(event(s, "SessionEnded", 10.0, json!({"duration_seconds": 10.0})));
    lines.push(counter(s, "tasks_submitted", 5.0, 5));
    lines.push(counter(s, "tasks_submitted", 10.0, 6));
    lines.push(counter(s, "tasks_completed", 10.0, 3));
    lines
}
