//! Events: log records with a name.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_wire::{AnyValueView, LogRecordView, text};

use super::add::{Recording, Source, least};
use super::sessions::Draft;
use super::task::{self, Step};
use super::values::{Texts, as_text, is_true, moment, number, readable, span_id, trace_id};
use super::{CustomEvent, Measure, Sample, Status};
use crate::limits::MAX_NUMBERS_PER_EVENT;

/// Fields of events that are no measurement of the program.
const OWN_FIELDS: [&[u8]; 3] = [b"event_time", b"emit_time", b"gpu_id"];
/// What stands for a node that is not named.
const UNKNOWN_NODE: &str = "unknown";

/// The fields of an event that have a meaning here.
#[derive(Default)]
struct Fields<'a> {
    session_id: Option<&'a [u8]>,
    task_id: Option<Cow<'a, str>>,
    backend: Option<Arc<str>>,
    node: Option<Arc<str>>,
    executable: Option<Arc<str>>,
    task_type: Option<Arc<str>>,
    error_type: Option<Arc<str>>,
    error_message: Option<Arc<str>>,
    span_name: Option<Arc<str>>,
    gpu: Option<Arc<str>>,
    duration_secs: Option<f64>,
    is_incomplete: bool,
    measures: [Option<f64>; Measure::COUNT],
    /// Those of the program's own events, all of them: their order must not tell which are kept.
    numbers: Vec<(&'a [u8], f64)>,
}

pub(super) fn add(recording: &mut Recording, source: &Source, record: &LogRecordView<'_>) {
    recording.found.records += 1;
    if record.event_name.is_empty() {
        // A line of a log: nothing that happened to a task.
        let time = moment(record.time_unix_nano).or(moment(record.observed_time_unix_nano));
        return recording.heard(source, time.unwrap_or(0));
    }
    let kind = Kind::of(record.event_name);
    let fields = fields(&mut recording.texts, kind, record);
    let trace = trace_id(record.trace_id);
    let Some(owner) = recording.owner(source, fields.session_id, trace) else { return };
    if !recording.is_new(owner, record.raw) {
        return;
    }
    let name = recording.texts.keep(&text(record.event_name));
    let draft = &mut recording.drafts[owner];
    draft.count(&name);
    let time = moment(record.time_unix_nano).or(moment(record.observed_time_unix_nano));
    let Some(time) = time else { return };
    draft.saw(time);
    // An event without a second time was emitted when it happened.
    let emitted = moment(record.observed_time_unix_nano).unwrap_or(time);
    if recording.room.emits < recording.room.limits.records {
        recording.room.emits += 1;
        draft.emit_nanos.push(emitted.cast_signed().wrapping_sub(time.cast_signed()));
    }
    match kind {
        Kind::SessionStarted => {
            if draft.started_nanos.is_none_or(|known| time < known) {
                draft.session_span = span_id(record.span_id);
                draft.backend = fields.backend;
                draft.said_trace_id = trace;
            }
            draft.started_nanos = least(draft.started_nanos, Some(time));
            draft.restarted_nanos = draft.restarted_nanos.max(Some(time));
        }
        Kind::SessionEnded => {
            if draft.ended_nanos < Some(time) {
                draft.ended_nanos = Some(time);
                draft.said_duration_secs = fields.duration_secs;
                draft.ended_span = span_id(record.span_id);
            }
        }
        Kind::Task(status) => {
            let Some(id) = &fields.task_id else { return };
            let Some(task) = draft.task(id, &mut recording.room) else { return };
            let step = step(time, span_id(record.span_id), fields);
            task.add_step(status, step, &mut recording.room);
        }
        Kind::ResourceUpdate => sample(recording, owner, time, fields),
        Kind::SpanStarted => {}
        Kind::Custom => custom(recording, owner, time, name, fields.numbers),
    }
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    SessionStarted,
    SessionEnded,
    Task(Status),
    ResourceUpdate,
    SpanStarted,
    Custom,
}

impl Kind {
    fn of(name: &[u8]) -> Self {
        match name {
            b"SessionStarted" => Self::SessionStarted,
            b"SessionEnded" => Self::SessionEnded,
            b"TaskCreated" => Self::Task(Status::Created),
            b"TaskSubmitted" => Self::Task(Status::Submitted),
            b"TaskQueued" => Self::Task(Status::Queued),
            b"TaskStarted" => Self::Task(Status::Running),
            b"TaskCompleted" => Self::Task(Status::Completed),
            b"TaskFailed" => Self::Task(Status::Failed),
            b"TaskCanceled" => Self::Task(Status::Canceled),
            b"ResourceUpdate" => Self::ResourceUpdate,
            b"SpanStarted" => Self::SpanStarted,
            _ => Self::Custom,
        }
    }
}

fn fields<'a>(texts: &mut Texts, kind: Kind, record: &LogRecordView<'a>) -> Fields<'a> {
    let mut fields = Fields::default();
    for (key, value) in readable(&record.attributes) {
        match key {
            b"session_id" => {
                if let AnyValueView::String(id) = value {
                    fields.session_id = Some(id);
                }
            }
            b"task_id" => fields.task_id = as_text(&value),
            b"backend" => fields.backend = texts.value(&value),
            b"node_id" => fields.node = texts.value(&value),
            b"executable" => fields.executable = texts.value(&value),
            b"task_type" => fields.task_type = texts.value(&value),
            b"error_type" => fields.error_type = texts.value(&value),
            b"error_message" => fields.error_message = texts.value(&value),
            b"span_name" => fields.span_name = texts.value(&value),
            b"gpu_id" => fields.gpu = texts.value(&value),
            b"duration_seconds" => fields.duration_secs = number(&value),
            b"incomplete_lifecycle" => fields.is_incomplete = is_true(&value),
            _ if kind == Kind::ResourceUpdate => {
                let is_named = |measure: &Measure| measure.field().as_bytes() == key;
                if let Some(measure) = Measure::ALL.into_iter().find(is_named) {
                    fields.measures[measure as usize] = number(&value);
                }
            }
            _ => {}
        }
        if kind == Kind::Custom
            && !OWN_FIELDS.contains(&key)
            && matches!(value, AnyValueView::Int(_) | AnyValueView::Double(_))
            && let Some(number) = number(&value)
        {
            fields.numbers.push((key, number));
        }
    }
    fields
}

fn step(time_nanos: u64, span_id: Option<[u8; 8]>, fields: Fields<'_>) -> Step {
    Step {
        time_nanos,
        span_id,
        span_name: fields.span_name,
        duration_secs: fields.duration_secs,
        is_incomplete: fields.is_incomplete,
        texts: task::Texts {
            backend: fields.backend,
            node: fields.node,
            executable: fields.executable,
            task_type: fields.task_type,
            error_type: fields.error_type,
            error_message: fields.error_message,
        },
    }
}

fn sample(recording: &mut Recording, owner: usize, time_nanos: u64, fields: Fields<'_>) {
    let draft = &mut recording.drafts[owner];
    if recording.room.samples >= recording.room.limits.samples {
        draft.left_out.samples += 1;
        return;
    }
    recording.room.samples += 1;
    let node = fields.node.or_else(|| draft.host.clone());
    let node = node.unwrap_or_else(|| recording.texts.keep(UNKNOWN_NODE));
    let Fields { backend, gpu, measures: values, .. } = fields;
    draft.samples.push(Sample { time_nanos, node, backend, gpu, values });
}

fn custom(
    recording: &mut Recording,
    owner: usize,
    time_nanos: u64,
    name: Arc<str>,
    mut numbers: Vec<(&[u8], f64)>,
) {
    let draft: &mut Draft = &mut recording.drafts[owner];
    if numbers.is_empty() {
        return;
    }
    if recording.room.events >= recording.room.limits.events {
        draft.left_out.events += 1;
        return;
    }
    recording.room.events += 1;
    // Not every store keeps the order of attributes.
    numbers.sort_by(|one, other| one.0.cmp(other.0).then(one.1.total_cmp(&other.1)));
    numbers.truncate(MAX_NUMBERS_PER_EVENT);
    let texts = &mut recording.texts;
    let numbers = numbers.into_iter().map(|(key, number)| (texts.keep(&text(key)), number));
    let numbers = numbers.collect();
    draft.events.push(CustomEvent { time_nanos, name, numbers });
}
