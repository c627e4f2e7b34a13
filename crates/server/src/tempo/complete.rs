//! A trace as Tempo's clients expect it: `resource`, `scope` and `status` are always there, if
//! only empty. Grafana reads them without looking whether they are.

use kymo_wire::encode::Writer;
use kymo_wire::{Reader, WireError};

/// Tags of the fields that are looked into: field number and wire type.
const fn message(field: u32) -> u32 {
    field << 3 | 2
}

/// `resource` of a `ResourceSpans`, `scope` of a `ScopeSpans`, and the lists at the top.
const FIRST: u32 = 1;
/// `scope_spans` of a `ResourceSpans`, `spans` of a `ScopeSpans`.
const INNER: u32 = 2;
/// `status` of a span.
const STATUS: u32 = 15;

/// Adds what is missing to an encoded `TracesData`.
pub(super) fn complete(body: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Writer::with_capacity(body.len() + body.len() / 16 + 16);
    let mut reader = Reader::new(body);
    while let Some(tag) = reader.tag()? {
        if tag == message(FIRST) {
            let group = reader.message()?;
            out.message(FIRST, |out| nest(group, out, |scope, out| nest(scope, out, span)))?;
        } else {
            reader.skip(tag)?;
        }
    }
    Ok(out.into_bytes())
}

/// Copies a message, with an empty first field if that is missing, and `inner` for each message in
/// the second.
fn nest(
    mut reader: Reader<'_>,
    out: &mut Writer,
    inner: impl Fn(Reader<'_>, &mut Writer) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut has_first = false;
    loop {
        let before = reader;
        let Some(tag) = reader.tag()? else { break };
        if tag == message(INNER) {
            let nested = reader.message()?;
            out.message(INNER, |out| inner(nested, out))?;
            continue;
        }
        has_first |= tag == message(FIRST);
        reader.skip(tag)?;
        out.raw(between(before, reader));
    }
    if !has_first {
        out.bytes_field(FIRST, &[]);
    }
    Ok(())
}

fn span(mut reader: Reader<'_>, out: &mut Writer) -> Result<(), WireError> {
    out.raw(reader.rest());
    while let Some(tag) = reader.tag()? {
        if tag == message(STATUS) {
            return Ok(());
        }
        reader.skip(tag)?;
    }
    out.bytes_field(STATUS, &[]);
    Ok(())
}

/// The bytes that were read between two places of one message.
pub(super) fn between<'a>(before: Reader<'a>, after: Reader<'a>) -> &'a [u8] {
    let (whole, rest) = (before.rest(), after.rest());
    &whole[..whole.len() - rest.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
    use prost::Message;

    fn request(spans: Vec<Span>, scope: Option<InstrumentationScope>) -> ExportTraceServiceRequest {
        let scope_spans = ScopeSpans { scope, spans, schema_url: "s".to_owned() };
        let group = ResourceSpans { scope_spans: vec![scope_spans], ..ResourceSpans::default() };
        ExportTraceServiceRequest { resource_spans: vec![group] }
    }

    #[test]
    fn what_is_missing_is_added_and_the_rest_stays() {
        let bare = Span { name: "a".to_owned(), ..Span::default() };
        let full = Span {
            name: "b".to_owned(),
            status: Some(Status { message: "m".to_owned(), code: 2 }),
            ..Span::default()
        };
        let sent = request(vec![bare, full.clone()], None);
        let body = complete(&sent.encode_to_vec()).unwrap();
        let read = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        let group = &read.resource_spans[0];
        assert!(group.resource.is_some());
        let scope = &group.scope_spans[0];
        assert_eq!(scope.scope, Some(InstrumentationScope::default()));
        assert_eq!(scope.schema_url, "s");
        assert_eq!(scope.spans[0].status, Some(Status::default()));
        assert_eq!(scope.spans[1], full);
    }

    #[test]
    fn what_is_complete_stays_as_it_is() {
        let once = complete(&request(vec![Span::default()], None).encode_to_vec()).unwrap();
        assert_eq!(complete(&once).unwrap(), once);
    }
}
