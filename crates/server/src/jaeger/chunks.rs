//! A trace in messages that clients take.
//!
//! gRPC's clients refuse messages of more than 4 MiB unless told otherwise, and traces may be much
//! larger. Each message is OTLP by itself: resource and scope are repeated where their spans are
//! divided.

use kymo_wire::encode::Writer;
use kymo_wire::{ResourceSpansView, ScopeSpansView, SpanView, TracesView, View, WireError};

use super::messages::TracesData;

/// Divides a trace into messages of about so many bytes at most. A span that is larger is alone.
pub(super) fn divide(trace: &[u8], max_bytes: usize) -> Result<Vec<TracesData>, WireError> {
    let mut dividing = Dividing { max_bytes, chunks: Vec::new(), chunk: Vec::new(), size_bytes: 0 };
    for group in TracesView::parse(trace)?.resources {
        let group = group?;
        if group.raw.len() <= max_bytes {
            dividing.push(group.raw.to_vec());
            continue;
        }
        for scope in group.scopes {
            dividing.spans_of(&group, &scope?)?;
        }
    }
    dividing.close();
    Ok(dividing.chunks)
}

struct Dividing {
    max_bytes: usize,
    chunks: Vec<TracesData>,
    /// Resource groups of the message that grows.
    chunk: Vec<Vec<u8>>,
    size_bytes: usize,
}

impl Dividing {
    fn push(&mut self, group: Vec<u8>) {
        if self.size_bytes + group.len() > self.max_bytes {
            self.close();
        }
        self.size_bytes += group.len();
        self.chunk.push(group);
    }

    fn close(&mut self) {
        self.size_bytes = 0;
        let resource_spans = std::mem::take(&mut self.chunk);
        if !resource_spans.is_empty() {
            self.chunks.push(TracesData { resource_spans });
        }
    }

    /// Spans of one scope, in groups that fit.
    fn spans_of<'a>(
        &mut self,
        group: &ResourceSpansView<'a>,
        scope: &ScopeSpansView<'a>,
    ) -> Result<(), WireError> {
        let head_bytes = group.resource.map_or(0, |resource| resource.raw.len())
            + scope.scope.map_or(0, |scope| scope.raw.len());
        let (mut spans, mut size_bytes) = (Vec::new(), head_bytes);
        for span in scope.items {
            let span = span?;
            if size_bytes + span.raw.len() > self.max_bytes && !spans.is_empty() {
                self.push(encode(group, scope, &spans));
                spans.clear();
                size_bytes = head_bytes;
            }
            size_bytes += span.raw.len();
            spans.push(span);
        }
        if !spans.is_empty() {
            self.push(encode(group, scope, &spans));
        }
        Ok(())
    }
}

/// A `ResourceSpans` of some spans of one scope.
fn encode(
    group: &ResourceSpansView<'_>,
    scope: &ScopeSpansView<'_>,
    spans: &[SpanView<'_>],
) -> Vec<u8> {
    let mut writer = Writer::new();
    if let Some(resource) = group.resource {
        writer.bytes_field(1, resource.raw);
    }
    writer.message(2, |writer| {
        if let Some(scope) = scope.scope {
            writer.bytes_field(1, scope.raw);
        }
        for span in spans {
            writer.bytes_field(2, span.raw);
        }
        text(writer, scope.schema_url);
    });
    text(&mut writer, group.schema_url);
    writer.into_bytes()
}

/// A schema's address, the third field of both.
fn text(writer: &mut Writer, schema_url: &[u8]) {
    if !schema_url.is_empty() {
        writer.bytes_field(3, schema_url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1 as otlp;
    use prost::Message;

    fn trace() -> otlp::TracesData {
        let span = |id: usize, size: usize| otlp::Span {
            span_id: id.to_be_bytes().to_vec(),
            name: "x".repeat(size),
            ..Default::default()
        };
        let scope = |name: &str, spans| otlp::ScopeSpans {
            scope: Some(InstrumentationScope { name: name.to_owned(), ..Default::default() }),
            spans,
            schema_url: "urn:scope".to_owned(),
        };
        let group = |scope_spans| otlp::ResourceSpans {
            resource: Some(Resource { dropped_attributes_count: 7, ..Default::default() }),
            scope_spans,
            schema_url: "urn:resource".to_owned(),
        };
        let many = (0..50).map(|id| span(id, 100)).collect();
        let large = vec![span(50, 10), span(51, 5000), span(52, 10)];
        otlp::TracesData {
            resource_spans: vec![
                group(vec![scope("a", vec![span(60, 5)])]),
                group(vec![scope("b", many), scope("c", large)]),
                group(vec![scope("d", vec![span(61, 5)])]),
            ],
        }
    }

    #[test]
    fn all_spans_come_with_their_resource_and_scope_in_messages_that_fit() {
        let chunks = divide(&trace().encode_to_vec(), 1000).unwrap();
        assert!(chunks.len() > 6, "{}", chunks.len());
        let mut ids = Vec::new();
        for chunk in &chunks {
            let size = chunk.encoded_len();
            let read = otlp::TracesData::decode(&*chunk.encode_to_vec()).unwrap();
            for group in &read.resource_spans {
                assert_eq!(group.resource.as_ref().unwrap().dropped_attributes_count, 7);
                assert_eq!(group.schema_url, "urn:resource");
                for scope in &group.scope_spans {
                    assert_eq!(scope.schema_url, "urn:scope");
                    assert_eq!(scope.scope.as_ref().unwrap().name.len(), 1);
                    ids.extend(scope.spans.iter().map(|span| span.span_id.clone()));
                    assert!(size < 1100 || scope.spans.len() == 1, "{size}");
                }
            }
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 55);
    }

    #[test]
    fn a_small_trace_is_one_message_as_it_was() {
        let sent = trace();
        let chunks = divide(&sent.encode_to_vec(), 1 << 20).unwrap();
        assert_eq!(chunks.len(), 1);
        assert_eq!(otlp::TracesData::decode(&*chunks[0].encode_to_vec()).unwrap(), sent);
        assert!(divide(&[], 1000).unwrap().is_empty());
    }
}
