//! A session as a server tells it: the document of `GET /api/sessions/{id}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::values::cut;
use super::{CustomEvent, LeftOut, Measure, Origin, Sample, Session, Status, Task, UNNAMED};
use crate::error::ReportError;
use crate::limits::MAX_NUMBERS_PER_EVENT;
use crate::times::parse_rfc3339;

#[derive(Deserialize)]
struct Document {
    session: About,
    #[serde(default)]
    tasks: Vec<TaskRow>,
    #[serde(default)]
    resources: Vec<Map<String, Value>>,
    #[serde(default)]
    events: Vec<EventRow>,
    #[serde(default)]
    truncated: Map<String, Value>,
}

#[derive(Deserialize)]
struct About {
    id: String,
    name: Option<String>,
    service: Option<String>,
    trace_id: Option<String>,
    host: Option<String>,
    started: Option<String>,
    ended: Option<String>,
    state: Option<String>,
    duration_seconds: Option<f64>,
    last_seen: Option<String>,
    spans: Option<u64>,
    errors: Option<u64>,
    #[serde(default)]
    tasks: Map<String, Value>,
}

#[derive(Deserialize)]
struct TaskRow {
    id: String,
    name: Option<String>,
    span_id: Option<String>,
    backend: Option<String>,
    node_id: Option<String>,
    executable: Option<String>,
    task_type: Option<String>,
    status: Option<String>,
    error_type: Option<String>,
    error_message: Option<String>,
    created: Option<String>,
    submitted: Option<String>,
    queued: Option<String>,
    started: Option<String>,
    ended: Option<String>,
}

#[derive(Deserialize)]
struct EventRow {
    time: Option<String>,
    name: String,
    #[serde(default)]
    attributes: Map<String, Value>,
}

impl Session {
    /// Reads the document of `GET /api/sessions/{id}`.
    pub fn from_json(document: &[u8]) -> Result<Self, ReportError> {
        let document: Document = serde_json::from_slice(document)
            .map_err(|error| ReportError::Document(error.to_string()))?;
        let Document { session: about, tasks, resources, events, truncated } = document;
        let has_ended = about.ended.is_some() || about.state.as_deref() == Some("ended");
        let tasks: Vec<Task> = tasks.into_iter().map(task).collect();
        let mut event_counts = counts(&tasks);
        for event in &events {
            *event_counts.entry(event.name.as_str().into()).or_default() += 1;
        }
        let mut samples: Vec<Sample> = resources.iter().filter_map(sample).collect();
        samples.sort_by_key(|sample| sample.time_nanos);
        let updates = samples.len() as u64;
        if updates > 0 {
            event_counts.insert("ResourceUpdate".into(), updates);
        }
        let mut events: Vec<CustomEvent> = events.into_iter().filter_map(event).collect();
        events.sort_by_key(|event| event.time_nanos);
        let is_cut = |member: &str| truncated.get(member).and_then(Value::as_bool) == Some(true);
        let created = about.tasks.get("created").and_then(Value::as_u64).unwrap_or_default();
        let missing = created.saturating_sub(tasks.len() as u64);
        let left_out = LeftOut {
            tasks: if is_cut("tasks") { missing.max(1) } else { 0 },
            samples: u64::from(is_cut("resources")),
            events: u64::from(is_cut("events")),
            ..LeftOut::default()
        };
        let moment = |text: &Option<String>| text.as_deref().and_then(parse_rfc3339);
        Ok(Self {
            name: about.name.as_deref().unwrap_or(&about.id).into(),
            id: about.id.as_str().into(),
            origin: Origin::SessionId,
            service: shared(about.service),
            host: shared(about.host),
            backend: None,
            trace_id: about.trace_id,
            start_nanos: moment(&about.started),
            end_nanos: moment(&about.ended).or(moment(&about.last_seen)),
            said_duration_secs: about.duration_seconds.filter(|secs| secs.is_finite()),
            has_ended,
            error: None,
            tasks,
            are_tasks_spans: false,
            samples,
            events,
            event_counts,
            emit_nanos: Vec::new(),
            counters: BTreeMap::new(),
            spans: about.spans.unwrap_or_default(),
            span_errors: about.errors.unwrap_or_default(),
            repeated: 0,
            events_after_end: 0,
            left_out,
        })
    }
}

fn shared(text: Option<String>) -> Option<Arc<str>> {
    text.filter(|text| !text.is_empty()).map(|text| cut(&text).into())
}

/// A row has the states of a task and not its events: one event for each that it reached.
fn counts(tasks: &[Task]) -> BTreeMap<Arc<str>, u64> {
    let mut counts = BTreeMap::new();
    for task in tasks {
        let end = match task.status {
            Status::Completed => "TaskCompleted",
            Status::Failed => "TaskFailed",
            Status::Canceled => "TaskCanceled",
            _ => "",
        };
        let reached = [
            (task.created_nanos, "TaskCreated"),
            (task.submitted_nanos, "TaskSubmitted"),
            (task.queued_nanos, "TaskQueued"),
            (task.started_nanos, "TaskStarted"),
            (task.ended_nanos, end),
        ];
        for (at, name) in reached {
            if at.is_some() && !name.is_empty() {
                *counts.entry(name.into()).or_default() += 1;
            }
        }
    }
    counts
}

fn task(row: TaskRow) -> Task {
    let moment = |text: Option<String>| text.as_deref().and_then(parse_rfc3339);
    let name = row.name.filter(|name| !name.is_empty());
    let mut task = Task::new(row.id.into(), name.as_deref().unwrap_or(UNNAMED).into());
    task.span_id = row.span_id.as_deref().and_then(span_id);
    task.backend = shared(row.backend);
    task.node = shared(row.node_id);
    task.executable = shared(row.executable);
    task.task_type = shared(row.task_type);
    task.created_nanos = moment(row.created);
    task.submitted_nanos = moment(row.submitted);
    task.queued_nanos = moment(row.queued);
    task.started_nanos = moment(row.started);
    let status = row.status.as_deref().and_then(Status::from_name);
    task.status = status.unwrap_or(match task.started_nanos {
        Some(_) => Status::Running,
        None => Status::Created,
    });
    if task.status.is_end() {
        // An unfinished task has an end in some answers: that of its session.
        task.ended_nanos = moment(row.ended);
        task.span_nanos = task.created_nanos.zip(task.ended_nanos).filter(|(a, b)| a <= b);
    }
    if task.status == Status::Failed {
        task.error_type = shared(row.error_type);
        task.error_message = shared(row.error_message);
    }
    task
}

fn span_id(hex: &str) -> Option<[u8; 8]> {
    (hex.len() == 16).then(|| u64::from_str_radix(hex, 16).ok()).flatten().map(u64::to_be_bytes)
}

fn text_of(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::String(text) if !text.is_empty() => Some(cut(text).into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

fn sample(row: &Map<String, Value>) -> Option<Sample> {
    let text = |member: &str| row.get(member).and_then(text_of);
    let mut values = [None; Measure::COUNT];
    for measure in Measure::ALL {
        let number = row.get(measure.field()).and_then(Value::as_f64);
        values[measure as usize] = number.filter(|number| number.is_finite());
    }
    Some(Sample {
        time_nanos: row.get("time").and_then(Value::as_str).and_then(parse_rfc3339)?,
        node: text("node_id").unwrap_or_else(|| "unknown".into()),
        backend: text("backend"),
        gpu: text("gpu_id"),
        values,
    })
}

fn event(row: EventRow) -> Option<CustomEvent> {
    let numbers = row.attributes.iter().filter_map(|(key, value)| {
        let number = value.as_f64().filter(|number| number.is_finite())?;
        Some((cut(key).into(), number))
    });
    let numbers: Vec<(Arc<str>, f64)> = numbers.take(MAX_NUMBERS_PER_EVENT).collect();
    let time_nanos = row.time.as_deref().and_then(parse_rfc3339)?;
    (!numbers.is_empty()).then(|| CustomEvent { time_nanos, name: row.name.into(), numbers })
}
