//! Traces for tests, as OTLP.

use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, SpanFields, Writer};

use crate::tree::TraceTree;

/// A span of a test.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) service: &'static str,
    pub(crate) name: String,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) is_error: bool,
    pub(crate) attributes: Vec<(&'static str, AnyValueView<'static>)>,
    pub(crate) events: Vec<(u64, &'static str)>,
}

/// A span: id, parent, service, name, from, to.
pub(crate) fn sent(
    id: u64,
    parent: u64,
    service: &'static str,
    name: &str,
    from: u64,
    to: u64,
) -> Sent {
    Sent {
        id,
        parent,
        service,
        name: name.to_owned(),
        from,
        to,
        is_error: false,
        attributes: Vec::new(),
        events: Vec::new(),
    }
}

/// Spans as OTLP, each in a group of its own.
pub(crate) fn body(spans: &[Sent]) -> Vec<u8> {
    let mut writer = Writer::new();
    for span in spans {
        writer.resource_group(|w| {
            w.resource(|w| {
                w.resource_attribute(
                    b"service.name",
                    &AnyValueView::String(span.service.as_bytes()),
                );
                w.resource_attribute(b"host.name", &AnyValueView::String(b"node1"));
            });
            w.scope_group(|w| write(w, span));
        });
    }
    writer.into_bytes()
}

fn write(writer: &mut Writer, span: &Sent) {
    let (id, parent) = (span.id.to_be_bytes(), span.parent.to_be_bytes());
    let fields = SpanFields {
        trace_id: &[7; 16],
        span_id: &id,
        parent_span_id: if span.parent == 0 { &[] } else { &parent },
        name: span.name.as_bytes(),
        kind: 1,
        start_time_unix_nano: span.from,
        end_time_unix_nano: span.to,
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        for (key, value) in &span.attributes {
            w.span_attribute(key.as_bytes(), value);
        }
        for (time_unix_nano, name) in &span.events {
            let fields = EventFields {
                time_unix_nano: *time_unix_nano,
                name: name.as_bytes(),
                ..EventFields::default()
            };
            w.event(&fields, |w| w.event_attribute(b"n", &AnyValueView::Int(3)));
        }
        if span.is_error {
            w.status(2, b"it broke");
        }
    });
}

/// Spans as a tree.
pub(crate) fn tree(spans: &[Sent]) -> TraceTree {
    TraceTree::read(body(spans)).unwrap()
}
