//! Spans as requests of OTLP.

use kymo_wire::encode::{LinkFields, SpanFields, Writer};

use crate::attributes::Attributes;
use crate::limits::REQUEST_BYTES;
use crate::span::{Span, Status, Trace};

/// What a span says of its parent: that it is known whether that is in another process, and is not.
const FLAGS_PARENT_IS_LOCAL: u32 = 0x100;
const STATUS_OK: i32 = 1;
const STATUS_ERROR: i32 = 2;

/// A trace as requests, each small enough for a receiver with usual limits. A whole run is mostly
/// one.
#[must_use]
pub fn requests(trace: &Trace) -> Vec<Vec<u8>> {
    let mut requests = Vec::new();
    let mut writer = Writer::new();
    for group in &trace.groups {
        // A job may have thousands of spans, when its tests are among them.
        let mut spans = group.spans.as_slice();
        while !spans.is_empty() {
            let room = REQUEST_BYTES.saturating_sub(writer.as_slice().len());
            let written = write_group(&mut writer, trace, &group.resource, spans, room);
            spans = &spans[written..];
            if writer.as_slice().len() >= REQUEST_BYTES {
                requests.push(std::mem::take(&mut writer).into_bytes());
            }
        }
    }
    if !writer.as_slice().is_empty() {
        requests.push(writer.into_bytes());
    }
    requests
}

/// Writes spans of a resource until there is no more room; how many, at least one.
fn write_group(
    writer: &mut Writer,
    trace: &Trace,
    resource: &Attributes,
    spans: &[Span],
    room_bytes: usize,
) -> usize {
    writer.resource_group(|w| {
        w.resource(|w| {
            for (name, value) in resource.iter() {
                w.resource_attribute(name.as_bytes(), &value.view());
            }
        });
        w.scope_group(|w| {
            let (name, version) = trace.scope;
            w.scope(name.as_bytes(), version.as_bytes(), |_| ());
            let before = w.as_slice().len();
            let mut count = 0;
            for span in spans {
                write_span(w, trace, span);
                count += 1;
                if w.as_slice().len() - before >= room_bytes {
                    break;
                }
            }
            count
        })
    })
}

fn write_span(writer: &mut Writer, trace: &Trace, span: &Span) {
    let fields = SpanFields {
        trace_id: &trace.id.0,
        span_id: &span.id.0,
        parent_span_id: span.parent.as_ref().map_or(&[], |parent| &parent.0[..]),
        flags: FLAGS_PARENT_IS_LOCAL,
        name: span.name.as_bytes(),
        kind: span.kind as i32,
        start_time_unix_nano: span.start_nanos,
        end_time_unix_nano: span.end_nanos,
        dropped_attributes_count: span.dropped_attributes,
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        for (name, value) in span.attributes.iter() {
            w.span_attribute(name.as_bytes(), &value.view());
        }
        for link in &span.links {
            let fields = LinkFields {
                trace_id: &link.trace.0,
                span_id: &link.span.0,
                ..LinkFields::default()
            };
            w.link(&fields, |w| {
                for (name, value) in link.attributes.iter() {
                    w.link_attribute(name.as_bytes(), &value.view());
                }
            });
        }
        match &span.status {
            Status::Unset => w.status(0, b""),
            Status::Ok => w.status(STATUS_OK, b""),
            Status::Error(message) => w.status(STATUS_ERROR, message.as_bytes()),
        }
    });
}

#[cfg(test)]
mod tests {
    use kymo_wire::{TracesView, View};

    use super::*;
    use crate::ids::{SpanId, TraceId};
    use crate::span::Group;

    #[test]
    fn a_long_trace_is_divided_and_nothing_is_lost() {
        let span = |number: u64| {
            let mut span = Span::new(SpanId(number.to_be_bytes()), None, "test", 1);
            span.attributes.set("text", "x".repeat(1000));
            span
        };
        let group = |spans: std::ops::Range<u64>| Group {
            resource: [("service.name", "a")].into_iter().collect(),
            spans: spans.map(span).collect(),
        };
        let trace = Trace {
            id: TraceId([1; 16]),
            scope: ("s", "1"),
            groups: vec![group(1..5), group(5..10_000), group(10_000..10_003)],
        };
        let requests = requests(&trace);
        assert!(requests.len() > 2);
        let mut ids = Vec::new();
        for request in &requests {
            assert!(request.len() < REQUEST_BYTES + 4_096, "{}", request.len());
            for resource in TracesView::parse(request).unwrap().resources {
                for scope in resource.unwrap().scopes {
                    for span in scope.unwrap().items {
                        ids.push(u64::from_be_bytes(span.unwrap().span_id.try_into().unwrap()));
                    }
                }
            }
        }
        assert_eq!(ids, (1..10_003).collect::<Vec<_>>());
    }
}
