//! The spans of a trace as they are needed for drawing it.

use kymo_store::otlp::OPEN_ATTRIBUTE;
use kymo_wire::{
    AnyValueView, KeyValueView, Repeated, SpanView, TracesView, View, WireError, array_values,
    kvlist_entries, text,
};

/// Depth of lists in a value that is shown; admission lets no deeper ones in.
const MAX_DEPTH: u32 = kymo_wire::limits::MAX_NESTING;

/// A span.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span {
    pub(crate) id: Vec<u8>,
    /// Empty for a root.
    pub(crate) parent_id: Vec<u8>,
    pub(crate) name: String,
    pub(crate) service: String,
    pub(crate) kind: i32,
    pub(crate) start_nanos: u64,
    pub(crate) end_nanos: u64,
    /// Whether it has not ended: what is known of it comes from an event at its start.
    pub(crate) is_open: bool,
    pub(crate) is_error: bool,
    pub(crate) message: String,
    pub(crate) events: usize,
    pub(crate) links: usize,
    /// Names and values, if they are asked for.
    pub(crate) attributes: Vec<(String, String)>,
}

/// Reads all spans of an answer.
pub(crate) fn read(body: &[u8], with_attributes: bool) -> Result<Vec<Span>, WireError> {
    let mut spans = Vec::new();
    for group in TracesView::parse(body)?.resources {
        let group = group?;
        let service = match &group.resource {
            Some(resource) => service_name(resource.attributes)?,
            None => String::new(),
        };
        for scope in group.scopes {
            for span in scope?.items {
                spans.push(read_span(&span?, &service, with_attributes)?);
            }
        }
    }
    Ok(spans)
}

fn read_span(span: &SpanView<'_>, service: &str, with_attributes: bool) -> Result<Span, WireError> {
    let (mut attributes, mut is_open) = (Vec::new(), false);
    for attribute in span.attributes {
        let attribute = attribute?;
        is_open |= attribute.key == OPEN_ATTRIBUTE && attribute.value == AnyValueView::Bool(true);
        if with_attributes {
            attributes.push((text(attribute.key).into_owned(), value_text(attribute.value, 0)?));
        }
    }
    let status = span.status.as_ref();
    Ok(Span {
        id: span.span_id.to_vec(),
        parent_id: if span.parent_span_id.iter().all(|byte| *byte == 0) {
            Vec::new()
        } else {
            span.parent_span_id.to_vec()
        },
        name: text(span.name).into_owned(),
        service: service.to_owned(),
        kind: span.kind,
        start_nanos: span.start_time_unix_nano,
        end_nanos: span.end_time_unix_nano,
        is_open,
        is_error: status.is_some_and(|status| status.code == 2),
        message: status.map(|status| text(status.message).into_owned()).unwrap_or_default(),
        events: span.events.count(),
        links: span.links.count(),
        attributes,
    })
}

fn service_name(attributes: Repeated<'_, KeyValueView<'_>>) -> Result<String, WireError> {
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.key == b"service.name" {
            return value_text(attribute.value, 0);
        }
    }
    Ok(String::new())
}

/// A value on one line.
fn value_text(value: AnyValueView<'_>, depth: u32) -> Result<String, WireError> {
    if depth > MAX_DEPTH {
        return Ok("…".to_owned());
    }
    Ok(match value {
        AnyValueView::Empty => String::new(),
        AnyValueView::String(bytes) => text(bytes).into_owned(),
        AnyValueView::Bool(value) => value.to_string(),
        AnyValueView::Int(value) => value.to_string(),
        AnyValueView::Double(value) => value.to_string(),
        AnyValueView::Bytes(bytes) => super::id::hex(bytes),
        AnyValueView::StringIndex(index) => format!("#{index}"),
        AnyValueView::Array(raw) => {
            let mut items = Vec::new();
            for item in array_values(raw) {
                items.push(value_text(item?, depth + 1)?);
            }
            format!("[{}]", items.join(", "))
        }
        AnyValueView::KvList(raw) => {
            let mut items = Vec::new();
            for item in kvlist_entries(raw) {
                let item = item?;
                items.push(format!("{}: {}", text(item.key), value_text(item.value, depth + 1)?));
            }
            format!("{{{}}}", items.join(", "))
        }
    })
}
