//! A span as Jaeger UI reads it.

use kymo_wire::{EventView, LinkView, ScopeView, SpanView, StatusView, WireError, text};

use super::model::{Log, RefType, Reference, Span, Tag, Value};
use super::value::{tag, text_tag};
use crate::jaeger::ids;
use crate::jaeger::units::NANOS_PER_MICRO;

/// The bit of the flags that says that a trace is sampled.
const SAMPLED: u32 = 1;
/// Codes of a status.
const STATUS_OK: i32 = 1;
const STATUS_ERROR: i32 = 2;
/// The attribute of a link that says what it is.
const REF_TYPE: &[u8] = b"opentracing.ref_type";
/// The field of a log that has the name of the event.
const EVENT: &str = "event";

const BACKWARDS: &str = "the span ends before it starts: its duration is shown as 0";

/// A span of a process.
pub(super) fn convert<'a>(
    span: &SpanView<'a>,
    scope: Option<&ScopeView<'a>>,
    process_id: String,
) -> Result<Span<'a>, WireError> {
    let nanos = span.end_time_unix_nano.checked_sub(span.start_time_unix_nano);
    let logs: Result<Vec<Log<'a>>, WireError> =
        span.events.iter().map(|event| log(&event?)).collect();
    Ok(Span {
        trace_id: ids::trace(span.trace_id),
        span_id: ids::span(span.span_id),
        flags: span.flags & SAMPLED,
        operation_name: text(span.name),
        references: references(span)?,
        start_time: micros(span.start_time_unix_nano),
        duration: micros(nanos.unwrap_or(0)),
        tags: tags(span, scope)?,
        logs: logs?,
        process_id,
        warnings: nanos.is_none().then(|| vec![BACKWARDS]),
    })
}

fn micros(nanos: u64) -> u64 {
    nanos / NANOS_PER_MICRO.unsigned_abs()
}

/// The parent first, where clients look for it, then links. A link to the parent says how it is
/// referred to.
fn references(span: &SpanView<'_>) -> Result<Vec<Reference>, WireError> {
    let mut references = Vec::new();
    if ids::is_set(span.parent_span_id) {
        references.push(Reference {
            ref_type: RefType::ChildOf,
            trace_id: ids::trace(span.trace_id),
            span_id: ids::span(span.parent_span_id),
        });
    }
    let has_parent = !references.is_empty();
    for link in span.links {
        let link = link?;
        let ref_type = ref_type(&link)?;
        let is_parent = link.trace_id == span.trace_id && link.span_id == span.parent_span_id;
        match references.first_mut() {
            Some(parent) if has_parent && is_parent => parent.ref_type = ref_type,
            _ => references.push(Reference {
                ref_type,
                trace_id: ids::trace(link.trace_id),
                span_id: ids::span(link.span_id),
            }),
        }
    }
    Ok(references)
}

fn ref_type(link: &LinkView<'_>) -> Result<RefType, WireError> {
    for attribute in link.attributes {
        let attribute = attribute?;
        if attribute.key == REF_TYPE {
            let is_child = super::value::text_of(attribute.value)? == "child_of";
            return Ok(if is_child { RefType::ChildOf } else { RefType::FollowsFrom });
        }
    }
    Ok(RefType::FollowsFrom)
}

fn tags<'a>(span: &SpanView<'a>, scope: Option<&ScopeView<'a>>) -> Result<Vec<Tag<'a>>, WireError> {
    let mut tags = Vec::new();
    let mut add = |key, value: &'a [u8]| {
        if !value.is_empty() {
            tags.push(text_tag(key, text(value)));
        }
    };
    if let Some(scope) = scope {
        add("otel.scope.name", scope.name);
        add("otel.scope.version", scope.version);
    }
    for attribute in span.attributes {
        tags.push(tag(&attribute?)?);
    }
    tags.extend(kind(span.kind).map(|kind| text_tag("span.kind", kind)));
    if let Some(status) = &span.status {
        add_status(status, &mut tags);
    }
    if !span.trace_state.is_empty() {
        tags.push(text_tag("w3c.tracestate", text(span.trace_state)));
    }
    Ok(tags)
}

fn kind(kind: i32) -> Option<&'static str> {
    Some(match kind {
        1 => "internal",
        2 => "server",
        3 => "client",
        4 => "producer",
        5 => "consumer",
        _ => return None,
    })
}

fn add_status<'a>(status: &StatusView<'a>, tags: &mut Vec<Tag<'a>>) {
    match status.code {
        STATUS_OK => tags.push(text_tag("otel.status_code", "OK")),
        STATUS_ERROR => {
            tags.push(text_tag("otel.status_code", "ERROR"));
            tags.push(Tag { key: "error".into(), value: Value::Bool(true) });
        }
        _ => {}
    }
    if !status.message.is_empty() {
        tags.push(text_tag("otel.status_description", text(status.message)));
    }
}

/// An event, with its name as a field unless it has one of that name.
fn log<'a>(event: &EventView<'a>) -> Result<Log<'a>, WireError> {
    let attributes: Result<Vec<Tag<'a>>, WireError> =
        event.attributes.iter().map(|attribute| tag(&attribute?)).collect();
    let mut fields = attributes?;
    if !event.name.is_empty() && !fields.iter().any(|field| field.key == EVENT) {
        fields.insert(0, text_tag(EVENT, text(event.name)));
    }
    Ok(Log { timestamp: micros(event.time_unix_nano), fields })
}
