//! The tasks of a session, put together from events and spans.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::asked::Failed;
use super::sql::{TASK_EVENTS, TASK_STATUSES, bit};
use super::summary::State;
use crate::times::rfc3339_text;
use kymo_engine::table::Table;

/// Attributes, as JSON has them.
pub(super) type Attributes = Map<String, Value>;

/// Attributes of tasks that have members of their own, or say what other members say.
const FIELDS: [&str; 10] = [
    "task_id",
    "backend",
    "node_id",
    "executable",
    "task_type",
    "status",
    "error_type",
    "error_message",
    "span_name",
    "parent_span_id",
];
/// How long a task ran, as its last event says.
const DURATION: &str = "duration_seconds";

/// A task.
#[derive(Debug, Default, Serialize)]
pub(super) struct Task {
    id: String,
    name: Option<String>,
    span_id: Option<String>,
    parent_span_id: Option<String>,
    backend: Option<String>,
    node_id: Option<String>,
    executable: Option<String>,
    task_type: Option<String>,
    status: &'static str,
    error_type: Option<String>,
    error_message: Option<String>,
    created: Option<String>,
    submitted: Option<String>,
    queued: Option<String>,
    started: Option<String>,
    ended: Option<String>,
    duration_seconds: Option<f64>,
    attributes: Attributes,
}

/// A task while it is put together; times in nanoseconds since 1970.
#[derive(Debug, Default)]
struct Told {
    bits: i64,
    name: Option<String>,
    span_id: Option<String>,
    parent_span_id: Option<String>,
    /// Times of what is told, by place in [`TASK_EVENTS`].
    times: [Option<i64>; TASK_EVENTS.len()],
    span: Option<(i64, i64)>,
    status_message: Option<String>,
    duration_seconds: Option<f64>,
    attributes: Attributes,
}

/// Tasks, in the order in which they began.
#[derive(Debug)]
pub(super) struct Tasks {
    order: Vec<String>,
    told: HashMap<String, Told>,
}

impl Tasks {
    /// Those of a query for tasks, of which there may be one more than `limit`; whether there is.
    pub(super) fn of(table: &Table, limit: usize) -> Result<(Self, bool), Failed> {
        let (names, bits) = (table.texts("task")?, table.integers("told")?);
        let mut order: Vec<String> = Vec::new();
        let mut told = HashMap::new();
        for (name, bits) in names.into_iter().zip(bits).take(limit) {
            let (Some(name), Some(bits)) = (name, bits) else { continue };
            told.insert(name.clone(), Told { bits, ..Told::default() });
            order.push(name);
        }
        order.reverse();
        Ok((Self { order, told }, table.len() > limit))
    }

    /// Their names.
    pub(super) fn names(&self) -> &[String] {
        &self.order
    }

    /// Whether one of these is known by its span alone.
    pub(super) fn lack_steps(&self, names: &[String]) -> bool {
        let is_span = |told: &Told| told.span.is_some() && told.times.iter().all(Option::is_none);
        names.iter().filter_map(|name| self.told.get(name)).any(is_span)
    }

    /// Adds events, in the order of time.
    pub(super) fn add_events(&mut self, table: &Table) -> Result<(), Failed> {
        let (times, events) = (table.integers("time")?, table.texts("event_name")?);
        let (spans, attributes) = (table.texts("span_id")?, table.texts("attributes")?);
        for (nth, task) in table.texts("task")?.into_iter().enumerate() {
            let told = task.and_then(|task| self.told.get_mut(&task));
            let Some(told) = told else { continue };
            let event = events[nth].as_deref().unwrap_or_default();
            told.step(event, times[nth]);
            told.span_id = told.span_id.take().or_else(|| spans[nth].clone());
            let mut attributes = attributes_of(attributes[nth].as_deref());
            if let Some(Value::String(name)) = attributes.get("span_name") {
                told.name.get_or_insert_with(|| name.clone());
            }
            if let Some(Value::String(parent)) = attributes.get("parent_span_id") {
                told.parent_span_id.get_or_insert_with(|| parent.clone());
            }
            if let Some(duration) = attributes.remove(DURATION) {
                told.duration_seconds = duration.as_f64().or(told.duration_seconds);
            }
            told.attributes.extend(attributes);
        }
        Ok(())
    }

    /// Adds spans. That which events name is the task's own, else the first.
    pub(super) fn add_spans(&mut self, table: &Table) -> Result<(), Failed> {
        let (ids, parents) = (table.texts("span_id")?, table.texts("parent_span_id")?);
        let (starts, ends) = (table.integers("start_time")?, table.integers("end_time")?);
        let (names, messages) = (table.texts("name")?, table.texts("status_message")?);
        let attributes = table.texts("attributes")?;
        for (nth, task) in table.texts("task")?.into_iter().enumerate() {
            let told = task.and_then(|task| self.told.get_mut(&task));
            let Some(told) = told.filter(|told| told.span.is_none()) else { continue };
            let is_within = |known: &String| ids[nth].as_ref().is_some_and(|id| id != known);
            if told.span_id.as_ref().is_some_and(is_within) {
                continue;
            }
            told.span = starts[nth].zip(ends[nth]);
            told.name = names[nth].clone().or(told.name.take());
            told.span_id = ids[nth].clone().or(told.span_id.take());
            told.parent_span_id = parents[nth].clone().or(told.parent_span_id.take());
            told.status_message = messages[nth].clone().filter(|message| !message.is_empty());
            told.attributes.extend(attributes_of(attributes[nth].as_deref()));
        }
        Ok(())
    }

    /// Adds steps that spans tell of.
    pub(super) fn add_steps(&mut self, table: &Table) -> Result<(), Failed> {
        let (times, names) = (table.integers("time")?, table.texts("name")?);
        for (nth, task) in table.texts("task")?.into_iter().enumerate() {
            if let Some(told) = task.and_then(|task| self.told.get_mut(&task)) {
                told.step(names[nth].as_deref().unwrap_or_default(), times[nth]);
            }
        }
        Ok(())
    }

    /// The tasks of a session in this state.
    pub(super) fn finish(mut self, state: State) -> Vec<Task> {
        let tasks = self.order.into_iter().filter_map(|id| {
            let told = self.told.remove(&id)?;
            Some(told.finish(id, state))
        });
        tasks.collect()
    }
}

impl Told {
    /// Notes that something was told at a time; the first time counts.
    fn step(&mut self, event: &str, time: Option<i64>) {
        let place = TASK_EVENTS.iter().position(|(name, _)| *name == event);
        if let (Some(place), Some(time)) = (place, time) {
            self.times[place] = Some(self.times[place].map_or(time, |known| known.min(time)));
        }
    }

    fn time(&self, bit: i64) -> Option<i64> {
        let place = TASK_EVENTS.iter().position(|(_, of_event)| *of_event == bit)?;
        self.times[place]
    }

    fn finish(mut self, id: String, state: State) -> Task {
        let status = status_of(self.bits, state);
        let (created, started) = (self.time(bit::CREATED), self.time(bit::STARTED));
        let end = [bit::COMPLETED, bit::FAILED, bit::CANCELED].into_iter();
        let ended = end.filter_map(|bit| self.time(bit)).min();
        let ended = ended.or(self.span.map(|(_, end)| end).filter(|_| has_end(self.bits)));
        let begun = started.or(self.span.map(|(start, _)| start));
        let nanos = begun.zip(ended).map(|(begun, ended)| ended.saturating_sub(begun).max(0));
        let lasted = nanos.map(|nanos| nanos as f64 / 1e9);
        let [mut backend, mut node_id, mut executable, mut task_type] = [None, None, None, None];
        let [mut error_type, mut error_message] = [None, None];
        for (name, slot) in [
            ("backend", &mut backend),
            ("node_id", &mut node_id),
            ("executable", &mut executable),
            ("task_type", &mut task_type),
            ("error_type", &mut error_type),
            ("error_message", &mut error_message),
        ] {
            *slot = self.attributes.remove(name).map(text_of).filter(|text| !text.is_empty());
        }
        self.attributes.retain(|name, _| !FIELDS.contains(&name.as_str()));
        let text = |nanos: Option<i64>| nanos.map(rfc3339_text);
        Task {
            status,
            created: text(created.or(self.span.map(|(start, _)| start))),
            submitted: text(self.time(bit::SUBMITTED)),
            queued: text(self.time(bit::QUEUED)),
            started: text(started),
            ended: text(ended),
            duration_seconds: self.duration_seconds.or(lasted),
            error_message: error_message.or(self.status_message),
            id,
            name: self.name,
            span_id: self.span_id,
            parent_span_id: self.parent_span_id,
            backend,
            node_id,
            executable,
            task_type,
            error_type,
            attributes: self.attributes,
        }
    }
}

/// Whether it is known that a task has ended: it was said, or there are spans and no events of it.
fn has_end(bits: i64) -> bool {
    bits & bit::SAID != 0
        || (bits & bit::STEPS == 0 && bits & (bit::SPAN_FAILED | bit::SPAN_ENDED) != 0)
}

/// The state of a task of which so much is known, in a session of that state.
fn status_of(bits: i64, state: State) -> &'static str {
    let ends = TASK_STATUSES.iter().find(|(_, bit)| bits & bit != 0);
    if let Some((status, _)) = ends {
        return status;
    }
    if has_end(bits) {
        return if bits & bit::SPAN_FAILED != 0 { "failed" } else { "completed" };
    }
    let steps = [(bit::STARTED, "running"), (bit::QUEUED, "queued"), (bit::SUBMITTED, "submitted")];
    let step = steps.iter().find(|(bit, _)| bits & bit != 0).map_or("created", |(_, step)| step);
    if state == State::Running { step } else { "unfinished" }
}

/// A value as text, which most are.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Attributes from the JSON text that the store makes of them.
pub(super) fn attributes_of(text: Option<&str>) -> Attributes {
    match text.map(serde_json::from_str) {
        Some(Ok(Value::Object(attributes))) => attributes,
        _ => Attributes::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_task_counts_before_what_its_span_looks_like() {
        let running = State::Running;
        assert_eq!(status_of(bit::CREATED, running), "created");
        assert_eq!(status_of(bit::CREATED | bit::SUBMITTED | bit::STARTED, running), "running");
        assert_eq!(status_of(bit::QUEUED | bit::SUBMITTED, running), "queued");
        // A span within a task that runs may name it.
        assert_eq!(status_of(bit::STARTED | bit::SPAN_FAILED, running), "running");
        assert_eq!(status_of(bit::CREATED | bit::SPAN_ENDED, State::Lost), "unfinished");
        assert_eq!(status_of(bit::SPAN_ENDED | bit::SPAN_FAILED, running), "failed");
        assert_eq!(status_of(bit::CANCELED | bit::SPAN_FAILED, running), "canceled");
        assert_eq!(status_of(bit::SPAN_ENDED, State::Ended), "completed");
    }

    #[test]
    fn a_task_without_an_end_is_unfinished_when_its_session_is_over() {
        for over in [State::Ended, State::Lost] {
            assert_eq!(status_of(bit::CREATED | bit::STARTED, over), "unfinished");
            assert_eq!(status_of(bit::COMPLETED, over), "completed");
        }
    }

    #[test]
    fn steps_count_at_their_first_time() {
        let mut told = Told { bits: bit::STARTED | bit::COMPLETED, ..Told::default() };
        told.step("TaskStarted", Some(2_000_000_000));
        told.step("TaskCompleted", Some(5_000_000_000));
        told.step("TaskCompleted", Some(9_000_000_000));
        told.step("loss", Some(1));
        told.attributes = attributes_of(Some(r#"{"task_id":"t","backend":"","lr":0.1}"#));
        let task = told.finish("t".to_owned(), State::Running);
        assert_eq!((task.status, task.duration_seconds), ("completed", Some(3.0)));
        assert_eq!((task.backend, task.attributes.len()), (None, 1));
    }
}
