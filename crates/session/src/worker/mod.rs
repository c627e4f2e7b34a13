//! The one thread that does the work: instruments, spans, subscribers, the file.
//!
//! Messages are handled in the order in which they came, a batch at a time. The state is locked while
//! a batch is handled, so that a question sees all of a batch or nothing; subscribers are called
//! after that, and may ask.

pub(crate) mod instruments;
pub(crate) mod record;
pub(crate) mod state;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanId;
use prost::Message as _;

use crate::checkpoint::Writer;
use crate::event::{Event, EventName, Opening};
use crate::export::Exporting;
use crate::ids;
use crate::limits::{LONGEST_NAP, MAX_ATTRIBUTES, SHORTEST_NAP};
use crate::queue::Message;
use crate::session::Shared;
use crate::subscribe::Subscriber;
use crate::summary::TaskCount;
use instruments::{Instruments, seconds_between};
use kymo_wire::Signal;
use record::{Annotation, SpanRecord, TaskRecord, TaskState, annotate, keep_once};
use state::{Finished, State};

/// How often the clock is compared with the system's.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Worker {
    shared: Arc<Shared>,
    writer: Writer,
    exporting: Exporting,
    instruments: Instruments,
    subscribers: Vec<Subscriber>,
    /// Events of this batch, for subscribers; empty while there are none.
    seen: Vec<Event>,
    are_seen: bool,
    metrics_every: Duration,
    metrics_due: Instant,
    follow_due: Instant,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        writer: Writer,
        exporting: Exporting,
        instruments: Instruments,
        metrics_every: Duration,
    ) -> Self {
        let now = Instant::now();
        Self {
            shared,
            writer,
            exporting,
            instruments,
            subscribers: Vec::new(),
            seen: Vec::new(),
            are_seen: false,
            metrics_every,
            metrics_due: now + metrics_every,
            follow_due: now + FOLLOW_EVERY,
        }
    }

    /// Works until the session has ended.
    pub(crate) fn run(mut self) {
        let mut batch = Vec::new();
        let mut nap = SHORTEST_NAP;
        while self.shared.queue.take(&mut batch, self.nap(nap)) {
            nap = if batch.is_empty() { (nap * 2).min(LONGEST_NAP) } else { SHORTEST_NAP };
            self.are_seen = self.shared.subscribers.join(&mut self.subscribers);
            self.batch(&mut batch);
            self.tick();
        }
        self.finish();
    }

    /// How long there is nothing to do unless something comes.
    fn nap(&self, longest: Duration) -> Duration {
        match self.writer.due() {
            Some(due) => longest.min(due.saturating_duration_since(Instant::now())),
            None => longest,
        }
    }

    fn batch(&mut self, batch: &mut Vec<Message>) {
        if batch.is_empty() {
            return;
        }
        let shared = self.shared.clone();
        let (before, count) = (shared.queue.handled_count(), batch.len());
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_flush = false;
        for (nth, message) in batch.drain(..).enumerate() {
            is_flush |= matches!(message, Message::Flush);
            self.message(&mut state, message);
            self.writer.added(before + nth as u64 + 1);
        }
        self.instruments.settle();
        let handled = before + count as u64;
        if is_flush {
            self.writer.write(handled);
            if !self.writer.sync(handled) {
                // There is no file to wait for.
                shared.queue.stored(handled);
            }
        }
        drop(state);
        shared.subscribers.deliver(&mut self.subscribers, &self.seen);
        self.seen.clear();
        shared.queue.handled(count);
    }

    /// What is due by time.
    fn tick(&mut self) {
        let now = Instant::now();
        if now >= self.follow_due {
            self.follow_due = now + FOLLOW_EVERY;
            self.shared.clock.follow();
        }
        if now >= self.metrics_due {
            self.metrics_due = now + self.metrics_every;
            self.metrics();
        }
        self.writer.tick(self.shared.queue.handled_count());
    }

    /// Writes instruments as they stand.
    fn metrics(&mut self) {
        let shared = &self.shared;
        if let Some(read) = shared.meters.read()
            && self.writer.is_on()
        {
            self.writer.lines.request(Signal::Metrics, &read.encode_to_vec());
            self.writer.added(shared.queue.handled_count());
        }
    }

    fn message(&mut self, state: &mut State, message: Message) {
        match message {
            Message::Event(event) => {
                state.events += 1;
                self.event(state, event);
            }
            Message::EndSpan { span, time_nanos, error } => {
                if span != self.shared.span_id
                    && let Some(mut record) = state.spans.remove(&span)
                {
                    record.error = error;
                    self.end_span(state, record, time_nanos);
                }
            }
            Message::Annotate { span, time_nanos, name, attributes } => {
                let note = Annotation { name, time_nanos, attributes };
                let session = self.shared.span_id;
                if let Some(annotations) = annotations_of(state, span, session) {
                    let dropped = annotate(annotations, note);
                    state.attributes_dropped += dropped;
                }
            }
            Message::SetAttributes { span, attributes } => {
                if let Some(record) = state.spans.get_mut(&span) {
                    let dropped = set_attributes(&mut record.attributes, attributes);
                    state.attributes_dropped += dropped;
                }
            }
            Message::Fail(message) => {
                if let Some(record) = state.spans.get_mut(&self.shared.span_id) {
                    record.error = Some(message);
                }
            }
            Message::Log(log) => {
                if self.writer.is_on() {
                    self.writer.lines.log(&log);
                }
                self.exporting.log(&log);
            }
            Message::Request(signal, request) => {
                if self.writer.is_on() {
                    self.writer.lines.request(signal, &request);
                }
            }
            Message::Flush => {}
        }
    }

    fn event(&mut self, state: &mut State, mut event: Event) {
        let dropped = event.attributes.len().saturating_sub(MAX_ATTRIBUTES);
        if dropped > 0 {
            event.attributes.truncate(MAX_ATTRIBUTES);
            state.attributes_dropped += dropped as u64;
        }
        // Comes back once it is known that a span begins here, and where.
        let opens = event.opens.take();
        use EventName as Name;
        match event.name {
            Name::TaskCreated
            | Name::TaskSubmitted
            | Name::TaskQueued
            | Name::TaskStarted
            | Name::TaskCompleted
            | Name::TaskFailed
            | Name::TaskCanceled => self.task_event(state, event, opens),
            Name::SpanStarted => self.span_started(state, event, opens),
            Name::ResourceUpdate => {
                state.resource(&event);
                self.instruments.resource(&event);
                self.tell(&event, self.shared.span_id);
            }
            Name::SessionStarted => {
                let parent = self.shared.parent;
                event.opens = Some(Box::new(Opening { name: Cow::Borrowed("session"), parent }));
                self.tell(&event, self.shared.span_id);
            }
            Name::SessionEnded => self.session_ended(state, event),
            Name::Custom(_) => {
                let task = event.task_id.as_ref().and_then(|id| state.tasks.get(id));
                let span = event.span_id.or(task.map(|task| task.span_id));
                self.tell(&event, span.unwrap_or(self.shared.span_id));
            }
        }
    }

    fn task_event(&mut self, state: &mut State, mut event: Event, opens: Option<Box<Opening>>) {
        state.attributes_dropped += keep_once(&mut event);
        let Some(id) = event.task_id.clone() else {
            // Whose state that is, nobody knows.
            return self.tell(&event, self.shared.span_id);
        };
        if event.span_id.is_none() {
            state.told_by_id();
        }
        let open = match event.name.ends_task() {
            true => state.tasks.remove(&id),
            false => None,
        };
        if let Some(task) = open {
            return self.end_task(state, task, event);
        }
        if let Some(task) = state.tasks.get_mut(&id) {
            let dropped = self.task_state(&mut state.count, task, event);
            state.attributes_dropped += dropped;
            return;
        }
        if state.has_ended(&id) {
            self.shared.count_after_end();
            return;
        }
        let unnamed = || Box::new(Opening { name: Cow::Borrowed("task"), parent: None });
        let mut opens = opens.unwrap_or_else(unnamed);
        let parent = *opens.parent.get_or_insert(self.shared.span_id);
        let span = event.span_id.unwrap_or_else(ids::span_id);
        let name = opens.name.clone();
        let mut task = Box::new(TaskRecord::new(id.clone(), name, &event, parent, span));
        event.opens = Some(opens);
        state.count.created += 1;
        // A copy: an enricher may add another.
        let enrichers = self.shared.enrichers().clone();
        for enricher in &enrichers {
            match catch_unwind(AssertUnwindSafe(|| enricher(&event))) {
                Ok(more) => event.attributes.extend(more),
                Err(_) => self.shared.count_enricher_panic(),
            }
        }
        if !enrichers.is_empty() {
            state.attributes_dropped += keep_once(&mut event);
        }
        if event.name.ends_task() {
            return self.end_task(state, task, event);
        }
        let dropped = self.task_state(&mut state.count, &mut task, event);
        state.attributes_dropped += dropped;
        state.task_of_span.insert(span, id.clone());
        state.tasks.insert(id, task);
    }

    /// A task goes on. How many attributes did not fit.
    fn task_state(
        &mut self,
        count: &mut TaskCount,
        task: &mut TaskRecord,
        mut event: Event,
    ) -> u64 {
        let (was_submitted, was_started) = (task.submitted > 0, task.started > 0);
        self.tell(&event, task.span_id);
        let dropped = task.learn(&mut event);
        match event.name {
            EventName::TaskSubmitted if !was_submitted => {
                count.submitted += 1;
                self.instruments.submitted(task);
            }
            EventName::TaskStarted if !was_started => {
                count.started += 1;
                count.running += 1;
                self.instruments.started(task);
            }
            _ => {}
        }
        dropped
    }

    fn end_task(&mut self, state: &mut State, mut task: Box<TaskRecord>, mut event: Event) {
        state.task_of_span.remove(&task.span_id);
        let duration = close(&mut task, &mut event);
        self.tell(&event, task.span_id);
        state.attributes_dropped += task.learn(&mut event);
        self.instruments.ended(&mut task, duration);
        state.count_end(&task, duration);
        self.keep_task(state, task);
    }

    fn span_started(&mut self, state: &mut State, mut event: Event, opens: Option<Box<Opening>>) {
        let Some(mut opens) = opens else {
            // Of which span, nobody knows.
            return self.tell(&event, self.shared.span_id);
        };
        let span_id = event.span_id.unwrap_or_else(ids::span_id);
        let parent = *opens.parent.get_or_insert(self.shared.span_id);
        let record = SpanRecord {
            name: opens.name.clone(),
            span_id,
            parent: Some(parent),
            attributes: event.attributes.clone(),
            annotations: Vec::new(),
            begin: event.time_nanos,
            end: 0,
            error: None,
        };
        state.spans.insert(span_id, record);
        event.opens = Some(opens);
        self.tell(&event, span_id);
    }

    fn end_span(&mut self, state: &mut State, mut record: SpanRecord, time_nanos: u64) {
        record.end = time_nanos.max(record.begin);
        if self.writer.is_on() {
            self.writer.lines.span(&record);
        }
        if self.exporting.wants_spans() {
            self.exporting.span(record.to_span(self.shared.trace_id));
        }
        state.keep(Finished::Span(Box::new(record)));
    }

    fn keep_task(&mut self, state: &mut State, task: Box<TaskRecord>) {
        if self.writer.is_on() {
            self.writer.lines.task(&task);
        }
        if self.exporting.wants_spans() {
            self.exporting.span(task.to_span(self.shared.trace_id));
        }
        state.keep(Finished::Task(task));
    }

    /// Closes what is open, then the session's own span.
    fn session_ended(&mut self, state: &mut State, mut event: Event) {
        let time = event.time_nanos;
        let open: Vec<Box<TaskRecord>> = state.tasks.drain().map(|(_, task)| task).collect();
        state.task_of_span.clear();
        for mut task in open {
            task.state = TaskState::Unfinished;
            task.end = time.max(task.begin);
            task.is_incomplete = true;
            self.instruments.ended(&mut task, 0.0);
            if task.started > 0 {
                state.count.running = state.count.running.saturating_sub(1);
            }
            self.keep_task(state, task);
        }
        let session = state.spans.remove(&self.shared.span_id);
        let scopes: Vec<SpanRecord> = state.spans.drain().map(|(_, span)| span).collect();
        for mut span in scopes {
            span.attributes.push(KeyValue::new("status", "unfinished"));
            self.end_span(state, span, time);
        }
        let duration = seconds_between(self.shared.started_nanos, time);
        event.attributes.push(KeyValue::new("duration_seconds", duration));
        self.tell(&event, self.shared.span_id);
        if let Some(session) = session {
            self.end_span(state, session, time);
        }
        state.ended_nanos = Some(time);
    }

    /// Records an event, and shows it to subscribers.
    #[inline]
    fn tell(&mut self, event: &Event, span: SpanId) {
        let is_error = event.name == EventName::TaskFailed;
        if self.writer.is_on() {
            self.writer.lines.event(event, span, is_error);
        }
        self.exporting.event(event, span, is_error);
        if self.are_seen {
            let mut event = event.clone();
            event.span_id = Some(span);
            self.seen.push(event);
        }
    }

    /// The last words.
    fn finish(mut self) {
        self.metrics();
        let handled = self.shared.queue.handled_count();
        self.writer.write(handled);
        self.writer.sync(handled);
        // Waits for the sync.
        self.writer.close();
        self.shared.subscribers.end(&mut self.subscribers);
        self.shared.queue.finished();
        // The program does not wait for exporters of its own.
        self.exporting.shutdown(crate::limits::END_TIMEOUT);
    }
}

/// Ends a task: its times, and the fields of its last event. How long it ran.
fn close(task: &mut TaskRecord, event: &mut Event) -> f64 {
    task.state = match event.name {
        EventName::TaskFailed => TaskState::Failed,
        EventName::TaskCanceled => TaskState::Canceled,
        _ => TaskState::Completed,
    };
    task.end = event.time_nanos.max(task.begin);
    task.is_incomplete = task.started == 0;
    let given = event.number("duration_seconds").filter(|time| time.is_finite() && *time >= 0.0);
    let duration = match task.is_incomplete {
        true => 0.0,
        false => given.unwrap_or_else(|| seconds_between(task.started, event.time_nanos)),
    };
    if given.is_none() {
        event.attributes.retain(|attribute| attribute.key.as_str() != "duration_seconds");
        event.attributes.push(KeyValue::new("duration_seconds", duration));
    }
    if task.is_incomplete && event.attribute("incomplete_lifecycle").is_none() {
        event.attributes.push(KeyValue::new("incomplete_lifecycle", true));
    }
    if task.state == TaskState::Failed {
        let kind = event.attribute("error_type").map(|kind| kind.to_string());
        task.error_type = Some(kind.unwrap_or_else(|| "unknown".to_owned()));
    }
    duration
}

/// Where annotations of a span go: its own, its task's, else the session's.
fn annotations_of(
    state: &mut State,
    span: SpanId,
    session: SpanId,
) -> Option<&mut Vec<Annotation>> {
    if let Some(id) = state.task_of_span.get(&span) {
        return state.tasks.get_mut(id).map(|task| &mut task.annotations);
    }
    let key = if state.spans.contains_key(&span) { span } else { session };
    state.spans.get_mut(&key).map(|record| &mut record.annotations)
}

/// Sets attributes, the later ones winning; how many did not fit.
fn set_attributes(known: &mut Vec<KeyValue>, given: Vec<KeyValue>) -> u64 {
    let mut dropped = 0;
    for attribute in given {
        match known.iter().position(|known| known.key == attribute.key) {
            Some(at) => known[at] = attribute,
            None if known.len() < MAX_ATTRIBUTES => known.push(attribute),
            None => dropped += 1,
        }
    }
    dropped
}
