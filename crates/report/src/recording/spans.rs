//! Spans: of the session, of tasks, and of everything else.

use kymo_wire::{AnyValueView, SpanView, text};

use super::add::{Recording, Source, keep_least};
use super::sessions::SpanDraft;
use super::task::{TaskSpan, Texts};
use super::values::{as_text, is_true, moment, readable, span_id, trace_id};
use super::{Process, Status};

/// OTLP's status of a span that failed.
const STATUS_ERROR: i32 = 2;

pub(super) fn add(recording: &mut Recording, source: &Source, span: &SpanView<'_>) {
    recording.found.spans += 1;
    let texts = &mut recording.texts;
    let (mut session_id, mut task_id, mut status) = (None, None, None);
    let (mut backend, mut node, mut executable, mut task_type) = (None, None, None, None);
    let (mut error_type, mut error_message, mut session_name) = (None, None, None);
    let mut is_incomplete = false;
    let mut process: Option<Box<Process>> = None;
    for (key, value) in readable(&span.attributes) {
        match key {
            b"session_id" => {
                if let AnyValueView::String(id) = value {
                    session_id = Some(id);
                }
            }
            b"session.name" => session_name = texts.value(&value),
            b"task_id" => task_id = as_text(&value),
            b"status" => status = texts.value(&value),
            b"backend" => backend = texts.value(&value),
            b"node_id" => node = texts.value(&value),
            b"executable" => executable = texts.value(&value),
            b"task_type" => task_type = texts.value(&value),
            b"error_type" | b"error.type" => error_type = texts.value(&value),
            b"error_message" => error_message = texts.value(&value),
            b"incomplete_lifecycle" => is_incomplete = is_true(&value),
            _ => Process::read(&mut process, key, &value),
        }
    }
    let Some(id) = span_id(span.span_id) else { return };
    let trace = trace_id(span.trace_id);
    let Some(owner) = recording.owner(source, session_id, trace) else { return };
    let draft = &mut recording.drafts[owner];
    if !draft.is_new_span(id, &mut recording.room) {
        return;
    }
    let texts = &mut recording.texts;
    let is_error = span.status.is_some_and(|status| status.code == STATUS_ERROR);
    let (mut submitted_nanos, mut queued_nanos, mut started_nanos) = (None, None, None);
    for event in span.events.iter().map_while(Result::ok) {
        let slot = match event.name {
            b"TaskSubmitted" => &mut submitted_nanos,
            b"TaskQueued" => &mut queued_nanos,
            b"TaskStarted" => &mut started_nanos,
            b"exception" => {
                for (key, value) in readable(&event.attributes) {
                    match key {
                        b"exception.type" => error_type = error_type.or(texts.value(&value)),
                        b"exception.message" => {
                            error_message = error_message.or(texts.value(&value));
                        }
                        _ => {}
                    }
                }
                continue;
            }
            _ => continue,
        };
        *slot = slot.or(moment(event.time_unix_nano));
    }
    if let (true, Some(said)) = (is_error, span.status)
        && !said.message.is_empty()
    {
        let message = texts.keep(&text(said.message));
        // Some write the type of the error there; that is no message.
        if error_type.as_ref() != Some(&message) {
            error_message = error_message.or(Some(message));
        }
    }
    let name = texts.keep(&text(span.name));
    if let Some(task_id) = &task_id
        && let Some(task) = draft.task(task_id, &mut recording.room)
    {
        let named = status.as_deref().and_then(Status::from_name).filter(|status| status.is_end());
        let own = TaskSpan {
            id,
            name: name.clone(),
            start_nanos: span.start_time_unix_nano,
            end_nanos: span.end_time_unix_nano,
            status: match (named, &status) {
                (Some(named), _) => Some(named),
                // `unfinished`, or something else that is no end.
                (None, Some(_)) => None,
                (None, None) if is_error => Some(Status::Failed),
                (None, None) => Some(Status::Completed),
            },
            has_status: status.is_some(),
            is_incomplete,
            submitted_nanos,
            queued_nanos,
            started_nanos,
        };
        let (error_type, error_message) = (error_type.clone(), error_message.clone());
        let texts = Texts { backend, node, executable, task_type, error_type, error_message };
        task.add_span(own, texts);
    } else {
        // The name of the session, not that of a span below it which inherited the attribute.
        keep_least(&mut draft.called, &session_name);
    }
    draft.spans.push(SpanDraft {
        id,
        parent: span_id(span.parent_span_id),
        name,
        service: source.service.clone(),
        start_nanos: span.start_time_unix_nano,
        end_nanos: span.end_time_unix_nano,
        is_error,
        error_type,
        error_message,
        // Others have some of the attributes; few are commands.
        process: process.filter(|process| process.is_command()),
    });
}
