//! A request without some of its records, taken apart on the wire.
//!
//! A record is judged alone, in a request of its own with all that surrounds it, so that it is
//! judged by what it says and not by where it stands. What is left keeps its bytes. A resource or a
//! scope of which nothing is left goes with its records.

use hashbrown::HashSet;
use kymo_wire::remote_write::Version;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key};
use prost::encoding::{encode_varint, skip_field};

use crate::error::StoreError;
use crate::request::Protocol;
use crate::schema::Signal;

/// Numbers of the fields that lead to records, from the outside.
type Path = &'static [&'static [u32]];

/// Resource, scope, span or log record.
const RECORDS: Path = &[&[1], &[2], &[2]];
/// Resource, scope, metric, its kind, point.
const POINTS: Path = &[&[1], &[2], &[2], &[5, 7, 9, 10, 11], &[1]];
/// Series of remote-write 1.
const SERIES_ONE: Path = &[&[1]];
/// Series of remote-write 2, and its table of texts.
const SERIES_TWO: Path = &[&[SERIES_TWO_FIELD]];
const SERIES_TWO_FIELD: u32 = 5;
const SYMBOLS_TWO_FIELD: u32 = 4;

/// What is left of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pruned {
    pub(super) body: Vec<u8>,
    /// Records that were taken out.
    pub(super) removed: usize,
    /// Records that are left.
    pub(super) left: usize,
}

/// Judges a request with one record.
type IsRemoved<'f> = dyn FnMut(&[u8]) -> Result<bool, StoreError> + 'f;

/// Takes records out of a request.
pub(super) fn prune(
    signal: Signal,
    protocol: Protocol,
    body: &[u8],
    is_removed: &mut IsRemoved<'_>,
) -> Result<Pruned, StoreError> {
    let path = match (protocol, signal) {
        (Protocol::Otlp, Signal::Series) => POINTS,
        (Protocol::Otlp, _) => RECORDS,
        (Protocol::RemoteWrite(Version::One), _) => SERIES_ONE,
        (Protocol::RemoteWrite(Version::Two), _) => SERIES_TWO,
    };
    let mut pruned = level(body, path, None, is_removed)?;
    if protocol == Protocol::RemoteWrite(Version::Two) && pruned.removed > 0 {
        pruned.body = without_unused_symbols(&pruned.body)?;
    }
    Ok(pruned)
}

/// A field of a message.
struct Field<'b> {
    number: u32,
    whole: &'b [u8],
    /// What a message, text or packed list has inside.
    content: Option<&'b [u8]>,
}

fn fields(mut rest: &[u8]) -> Result<Vec<Field<'_>>, StoreError> {
    let broken = |_| StoreError::corrupt("a request that cannot be taken apart");
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let start = rest;
        let (number, wire_type) = decode_key(&mut rest).map_err(broken)?;
        let content = if wire_type == WireType::LengthDelimited {
            let len = decode_varint(&mut rest).map_err(broken)?;
            let inside = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
            let Some((content, behind)) = inside else {
                return Err(StoreError::corrupt("a request that ends in the middle"));
            };
            rest = behind;
            Some(content)
        } else {
            let context = DecodeContext::default();
            skip_field(wire_type, number, &mut rest, context).map_err(broken)?;
            None
        };
        fields.push(Field { number, whole: &start[..start.len() - rest.len()], content });
    }
    Ok(fields)
}

/// A message around others: all of it but them, and in which field they are.
struct Around<'a> {
    outer: Option<&'a Around<'a>>,
    others: &'a [u8],
    number: u32,
}

/// A message with all that is around it.
fn wrapped(mut message: Vec<u8>, mut around: Option<&Around<'_>>) -> Vec<u8> {
    while let Some(outer) = around {
        let mut bytes = outer.others.to_vec();
        put(outer.number, &message, &mut bytes);
        message = bytes;
        around = outer.outer;
    }
    message
}

fn put(number: u32, content: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// One level of a request; the depth is that of the path.
fn level(
    message: &[u8],
    path: &[&[u32]],
    around: Option<&Around<'_>>,
    is_removed: &mut IsRemoved<'_>,
) -> Result<Pruned, StoreError> {
    let Some((numbers, deeper)) = path.split_first() else {
        return Ok(Pruned { body: message.to_vec(), removed: 0, left: 0 });
    };
    let fields = fields(message)?;
    let is_element = |field: &Field<'_>| numbers.contains(&field.number) && field.content.is_some();
    let others: Vec<u8> = fields
        .iter()
        .filter(|field| !is_element(field))
        .flat_map(|field| field.whole)
        .copied()
        .collect();
    let mut pruned = Pruned { body: Vec::with_capacity(message.len()), removed: 0, left: 0 };
    for field in &fields {
        let Some(content) = field.content.filter(|_| is_element(field)) else {
            pruned.body.extend_from_slice(field.whole);
            continue;
        };
        if deeper.is_empty() {
            let alone = [&others[..], field.whole].concat();
            if is_removed(&wrapped(alone, around))? {
                pruned.removed += 1;
            } else {
                pruned.left += 1;
                pruned.body.extend_from_slice(field.whole);
            }
            continue;
        }
        let inside = Around { outer: around, others: &others, number: field.number };
        let inner = level(content, deeper, Some(&inside), is_removed)?;
        pruned.removed += inner.removed;
        pruned.left += inner.left;
        match (inner.removed, inner.left) {
            (0, _) => pruned.body.extend_from_slice(field.whole),
            (_, 0) => {}
            _ => put(field.number, &inner.body, &mut pruned.body),
        }
    }
    Ok(pruned)
}

/// Remote-write 2 has its texts in a table. Those that no series names any more become empty: the
/// others keep their numbers.
fn without_unused_symbols(body: &[u8]) -> Result<Vec<u8>, StoreError> {
    let fields = fields(body)?;
    let mut used: HashSet<u64> = HashSet::new();
    for series in fields.iter().filter(|field| field.number == SERIES_TWO_FIELD) {
        collect_symbols(series.content.unwrap_or_default(), &mut used)?;
    }
    let mut out = Vec::with_capacity(body.len());
    let mut nth = 0;
    for field in &fields {
        if field.number != SYMBOLS_TWO_FIELD {
            out.extend_from_slice(field.whole);
            continue;
        }
        match used.contains(&nth) {
            true => out.extend_from_slice(field.whole),
            false => put(SYMBOLS_TWO_FIELD, b"", &mut out),
        }
        nth += 1;
    }
    Ok(out)
}

/// Numbers of texts that a series names: its labels, those of its exemplars, its metadata.
fn collect_symbols(series: &[u8], used: &mut HashSet<u64>) -> Result<(), StoreError> {
    const LABELS: u32 = 1;
    const EXEMPLARS: u32 = 4;
    const METADATA: u32 = 5;
    for field in fields(series)? {
        match (field.number, field.content) {
            (LABELS, _) => collect_numbers(&field, used)?,
            (EXEMPLARS, Some(exemplar)) => {
                for field in fields(exemplar)?.iter().filter(|field| field.number == LABELS) {
                    collect_numbers(field, used)?;
                }
            }
            // Its type is a number as well; a text more that is kept does no harm.
            (METADATA, Some(metadata)) => {
                for field in fields(metadata)? {
                    collect_numbers(&field, used)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The numbers of a field, packed or not.
fn collect_numbers(field: &Field<'_>, used: &mut HashSet<u64>) -> Result<(), StoreError> {
    let broken = |_| StoreError::corrupt("a list of numbers that ends in the middle");
    let mut rest = match field.content {
        Some(content) => content,
        None => {
            let mut whole = field.whole;
            decode_key(&mut whole).map_err(broken)?;
            whole
        }
    };
    while !rest.is_empty() {
        used.insert(decode_varint(&mut rest).map_err(broken)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::remote_write::RequestWriter;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    fn spans(names: &[&[&str]]) -> ExportTraceServiceRequest {
        let span = |name: &&str| Span { name: (*name).to_owned(), ..Span::default() };
        let resource_spans = names
            .iter()
            .map(|names| ResourceSpans {
                schema_url: format!("of {}", names.len()),
                scope_spans: vec![ScopeSpans {
                    spans: names.iter().map(span).collect(),
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            })
            .collect();
        ExportTraceServiceRequest { resource_spans }
    }

    fn without(body: &[u8], name: &str) -> Pruned {
        let mut judge = |alone: &[u8]| {
            let alone = ExportTraceServiceRequest::decode(alone).unwrap();
            assert_eq!(alone.resource_spans.len(), 1);
            assert!(
                alone.resource_spans[0].schema_url.starts_with("of "),
                "with what is around it"
            );
            Ok(alone.resource_spans[0].scope_spans[0].spans[0].name == name)
        };
        prune(Signal::Spans, Protocol::Otlp, body, &mut judge).unwrap()
    }

    #[test]
    fn a_record_goes_and_a_resource_goes_with_its_last() {
        let body = spans(&[&["a", "b"], &["a"]]).encode_to_vec();
        let pruned = without(&body, "a");
        assert_eq!((pruned.removed, pruned.left), (2, 1));
        let left = ExportTraceServiceRequest::decode(&pruned.body[..]).unwrap();
        assert_eq!(left.resource_spans.len(), 1);
        assert_eq!(left.resource_spans[0].schema_url, "of 2");
        assert_eq!(left.resource_spans[0].scope_spans[0].spans[0].name, "b");
        assert_eq!(without(&body, "none"), Pruned { body: body.clone(), removed: 0, left: 3 });
        let broken = &body[..body.len() - 1];
        let mut never = |_: &[u8]| Ok(false);
        assert!(prune(Signal::Spans, Protocol::Otlp, broken, &mut never).is_err());
    }

    #[test]
    fn a_series_goes_with_the_texts_that_only_it_names() {
        let mut writer = RequestWriter::new();
        for user in ["needle", "other"] {
            writer.series([("__name__", "logins"), ("user", user)], None, |series| {
                series.sample(1.0, 1, 0);
            });
        }
        let body = writer.finish();
        let holds =
            |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|found| found == text);
        assert!(holds(&body, b"needle"));
        let protocol = Protocol::RemoteWrite(Version::Two);
        let mut nth = 0;
        let mut first = |_: &[u8]| {
            nth += 1;
            Ok(nth == 1)
        };
        let pruned = prune(Signal::Series, protocol, &body, &mut first).unwrap();
        assert_eq!((pruned.removed, pruned.left), (1, 1));
        assert!(!holds(&pruned.body, b"needle"));
        assert!(holds(&pruned.body, b"logins") && holds(&pruned.body, b"other"));
    }
}
