//! Events: log records with a name.

use std::sync::Arc;

use kymo_wire::{AnyValueView, LogRecordView, text};

use super::add::{Recording, Source, keep_first};
use super::sessions::{Draft, TaskDraft};
use super::values::{Texts, is_true, moment, number, readable, span_id, trace_id};
use super::{CustomEvent, Measure, Sample, Status};
use crate::limits::{
    MAX_CUSTOM_EVENTS, MAX_NUMBERS_PER_EVENT, MAX_REMEMBERED_RECORDS, MAX_SAMPLES,
};

/// Fields of events that are no measurement of the program.
const OWN_FIELDS: [&[u8]; 3] = [b"event_time", b"emit_time", b"gpu_id"];
/// What stands for a node that is not named.
const UNKNOWN_NODE: &str = "unknown";

/// The fields of an event that have a meaning here.
#[derive(Default)]
struct Fields<'a> {
    session_id: Option<&'a [u8]>,
    task_id: Option<Arc<str>>,
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
    numbers: Vec<(Arc<str>, f64)>,
}

pub(super) fn add(recording: &mut Recording, source: &Source, record: &LogRecordView<'_>) {
    recording.found.records += 1;
    if record.event_name.is_empty() {
        // A line of a log: nothing that happened to a task.
        return;
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
    if recording.room.emits < MAX_REMEMBERED_RECORDS {
        recording.room.emits += 1;
        draft.emit_nanos.push(emitted.cast_signed().wrapping_sub(time.cast_signed()));
    }
    match kind {
        Kind::SessionStarted => {
            draft.started_nanos.get_or_insert(time);
            draft.session_span = draft.session_span.or(span_id(record.span_id));
            keep_first(&mut draft.backend, &fields.backend);
        }
        Kind::SessionEnded => {
            draft.ended_nanos.get_or_insert(time);
            draft.said_duration_secs = draft.said_duration_secs.or(fields.duration_secs);
            draft.session_span = draft.session_span.or(span_id(record.span_id));
        }
        Kind::Task(status) => {
            let Some(id) = fields.task_id.clone() else { return };
            let Some(task) = draft.task(&id, &mut recording.room) else { return };
            if !advance(task, status, time, fields, span_id(record.span_id)) {
                draft.events_after_end += 1;
            }
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
            // Ids are as many as tasks: shared by the events of one task only.
            b"task_id" => fields.task_id = texts.value(&value),
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
            && fields.numbers.len() < MAX_NUMBERS_PER_EVENT
            && !OWN_FIELDS.contains(&key)
            && matches!(value, AnyValueView::Int(_) | AnyValueView::Double(_))
            && let Some(number) = number(&value)
        {
            fields.numbers.push((texts.keep(&text(key)), number));
        }
    }
    fields
}

/// Takes a task further. False if it had ended before.
fn advance(
    draft: &mut TaskDraft,
    status: Status,
    time: u64,
    fields: Fields<'_>,
    span: Option<[u8; 8]>,
) -> bool {
    let task = &mut draft.task;
    if let Some(ended) = task.ended_nanos
        && draft.has_events
        && (status.is_end() || time > ended)
    {
        return false;
    }
    draft.has_events = true;
    task.span_id = task.span_id.or(span);
    if let (false, Some(name)) = (draft.is_named, &fields.span_name) {
        task.name = name.clone();
        draft.is_named = true;
    }
    keep_first(&mut task.backend, &fields.backend);
    keep_first(&mut task.executable, &fields.executable);
    keep_first(&mut task.task_type, &fields.task_type);
    // Where it started is where it ran, whatever was planned.
    if status == Status::Running && fields.node.is_some() {
        task.node.clone_from(&fields.node);
    }
    keep_first(&mut task.node, &fields.node);
    draft.is_incomplete |= fields.is_incomplete;
    let slot = match status {
        Status::Created => &mut task.created_nanos,
        Status::Submitted => &mut task.submitted_nanos,
        Status::Queued => &mut task.queued_nanos,
        Status::Running => &mut task.started_nanos,
        Status::Completed | Status::Failed | Status::Canceled => {
            keep_first(&mut task.error_type, &fields.error_type);
            keep_first(&mut task.error_message, &fields.error_message);
            draft.said_duration_secs = fields.duration_secs;
            &mut task.ended_nanos
        }
    };
    slot.get_or_insert(time);
    if !task.status.is_end() {
        task.status = task.status.max(status);
    }
    true
}

fn sample(recording: &mut Recording, owner: usize, time_nanos: u64, fields: Fields<'_>) {
    let draft = &mut recording.drafts[owner];
    if recording.room.samples >= MAX_SAMPLES {
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
    numbers: Vec<(Arc<str>, f64)>,
) {
    let draft: &mut Draft = &mut recording.drafts[owner];
    if numbers.is_empty() {
        return;
    }
    if recording.room.events >= MAX_CUSTOM_EVENTS {
        draft.left_out.events += 1;
        return;
    }
    recording.room.events += 1;
    draft.events.push(CustomEvent { time_nanos, name, numbers });
}
