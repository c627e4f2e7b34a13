//! A client that tells of a session, as this library and others do.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Answer, Encoding, Server, Signal};

/// The id of a session's own span.
pub const ROOT: u64 = 1;

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn attributes(of: &[(&str, Value)]) -> Value {
    let attribute = |(key, value): &(&str, Value)| {
        let value = match value {
            Value::String(text) => json!({ "stringValue": text }),
            Value::Bool(flag) => json!({ "boolValue": flag }),
            Value::Number(number) if number.is_i64() => json!({ "intValue": number.to_string() }),
            other => json!({ "doubleValue": other }),
        };
        json!({ "key": key, "value": value })
    };
    of.iter().map(attribute).collect()
}

/// A client that tells of one session. Times are seconds after its start.
pub struct Client<'a> {
    pub server: &'a Server,
    pub tenant: &'a str,
    pub id: &'a str,
    /// The id as it is sent, an `AnyValue` of OTLP: a text unless a test wants another.
    pub id_sent: Value,
    pub trace: u128,
    pub start_nanos: u64,
}

impl<'a> Client<'a> {
    pub fn new(server: &'a Server, id: &'a str, trace: u128, started_before: Duration) -> Self {
        let start_nanos = now() - started_before.as_nanos() as u64;
        let id_sent = json!({ "stringValue": id });
        Self { server, tenant: "default", id, id_sent, trace, start_nanos }
    }

    pub fn nanos(&self, seconds: f64) -> u64 {
        self.start_nanos + (seconds * 1e9) as u64
    }

    fn resource(&self) -> Value {
        let of = [
            ("session.name", json!("train")),
            ("service.name", json!("trainer")),
            ("host.name", json!("node1")),
        ];
        let mut attributes = attributes(&of);
        let id = json!({ "key": "session_id", "value": self.id_sent });
        attributes.as_array_mut().unwrap().push(id);
        json!({ "attributes": attributes })
    }

    #[track_caller]
    fn send(&self, signal: Signal, body: &Value) {
        let request = self.server.request(signal, Encoding::Json, body.to_string());
        Answer::of(request.header("x-scope-orgid", self.tenant)).expect(200);
    }

    pub fn event(&self, name: &str, at: f64, span: u64, more: &[(&str, Value)]) -> Value {
        json!({
            "timeUnixNano": self.nanos(at).to_string(),
            "eventName": name,
            "traceId": format!("{:032x}", self.trace),
            "spanId": format!("{span:016x}"),
            "attributes": attributes(more),
        })
    }

    #[track_caller]
    pub fn events(&self, records: Vec<Value>) {
        let scopes = json!([{ "scope": { "name": "kymograph" }, "logRecords": records }]);
        let group = json!({ "resource": self.resource(), "scopeLogs": scopes });
        self.send(Signal::Logs, &json!({ "resourceLogs": [group] }));
    }

    pub fn span(
        &self,
        id: u64,
        parent: u64,
        name: &str,
        times: [f64; 2],
        more: &[(&str, Value)],
    ) -> Value {
        let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
        json!({
            "traceId": format!("{:032x}", self.trace),
            "spanId": format!("{id:016x}"),
            "parentSpanId": parent,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": self.nanos(times[0]).to_string(),
            "endTimeUnixNano": self.nanos(times[1]).to_string(),
            "attributes": attributes(more),
        })
    }

    #[track_caller]
    pub fn spans(&self, spans: Vec<Value>) {
        let group = json!({ "resource": self.resource(), "scopeSpans": [{ "spans": spans }] });
        self.send(Signal::Traces, &json!({ "resourceSpans": [group] }));
    }

    #[track_caller]
    pub fn gauge(&self, name: &str, at: f64, value: f64) {
        let point = json!({ "timeUnixNano": self.nanos(at).to_string(), "asDouble": value });
        let metric = json!({ "name": name, "gauge": { "dataPoints": [point] } });
        let group =
            json!({ "resource": self.resource(), "scopeMetrics": [{ "metrics": [metric] }] });
        self.send(Signal::Metrics, &json!({ "resourceMetrics": [group] }));
    }

    /// Events of a session with a task of each kind: one that completed, one that failed, one that
    /// runs, one that waits.
    pub fn life(&self) -> Vec<Value> {
        let of = |task: &str| vec![("task_id", json!(task)), ("backend", json!("local"))];
        let opening = |task: &str, name: &str| {
            let parent = ("parent_span_id", json!(format!("{ROOT:016x}")));
            [of(task), vec![("span_name", json!(name)), parent, ("lr", json!(0.5))]].concat()
        };
        let failed = [
            of("t2"),
            vec![
                ("error_type", json!("ValueError")),
                ("error_message", json!("no such file")),
                ("duration_seconds", json!(2.0)),
            ],
        ]
        .concat();
        let completed = [of("t1"), vec![("duration_seconds", json!(3.5))]].concat();
        let update = [("node_id", json!("node1")), ("cpu_percent", json!(55.5))];
        vec![
            self.event("SessionStarted", 0.0, ROOT, &[("span_name", json!("session"))]),
            self.event("TaskCreated", 1.0, 11, &opening("t1", "simulate")),
            self.event("TaskSubmitted", 1.5, 11, &of("t1")),
            self.event("TaskStarted", 2.0, 11, &of("t1")),
            self.event("TaskCreated", 2.0, 12, &opening("t2", "simulate")),
            self.event("TaskStarted", 3.0, 12, &of("t2")),
            self.event("TaskCreated", 4.0, 13, &opening("t3", "train")),
            self.event("TaskStarted", 5.0, 13, &of("t3")),
            self.event("ResourceUpdate", 5.0, ROOT, &update),
            self.event("TaskFailed", 5.0, 12, &failed),
            self.event("TaskCompleted", 5.5, 11, &completed),
            self.event("TaskCreated", 6.0, 14, &opening("t4", "train")),
            self.event("myapp.Score", 7.0, 13, &[("score", json!(0.9)), ("task_id", json!("t3"))]),
        ]
    }

    /// The spans of those that ended.
    pub fn ended_spans(&self) -> Vec<Value> {
        let task = |id: &str, status: &str| {
            vec![("task_id", json!(id)), ("status", json!(status)), ("node_id", json!("node1"))]
        };
        let mut failed = self.span(12, ROOT, "simulate", [2.0, 5.0], &task("t2", "failed"));
        failed["status"] = json!({ "code": 2, "message": "ValueError" });
        vec![self.span(11, ROOT, "simulate", [1.0, 5.5], &task("t1", "completed")), failed]
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        let request = self.server.client.get(self.server.url(path));
        Answer::of(request.header("x-scope-orgid", self.tenant))
    }

    #[track_caller]
    pub fn document(&self) -> Value {
        self.get(&format!("/api/sessions/{}", self.id)).expect(200).json()
    }
}
