//! The spans of a trace, as far as they are compared, and who they are.

use std::borrow::Cow;
use std::collections::HashMap;

use kymo_wire::{
    AnyValueView, KeyValueView, Repeated, SpanView, TracesView, View, WireError, text,
};

const SERVICE_NAME: &[u8] = b"service.name";
/// What stands for a service whose spans name none.
const UNKNOWN_SERVICE: &[u8] = b"<unknown>";

/// What makes two spans the same operation. Ids and times differ between any two traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Identity<'a> {
    service: &'a [u8],
    name: &'a [u8],
    pub(super) kind: &'static str,
}

impl<'a> Identity<'a> {
    pub(super) fn service(&self) -> Cow<'a, str> {
        text(self.service)
    }

    pub(super) fn name(&self) -> Cow<'a, str> {
        text(self.name)
    }

    /// The service under which a summary counts it.
    pub(super) fn counted_service(&self) -> &'a [u8] {
        if self.service.is_empty() { UNKNOWN_SERVICE } else { self.service }
    }
}

/// Stands for an [`Identity`] of either trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct IdentityId(u32);

/// The identities of both traces, each once: comparing two spans is comparing two numbers.
#[derive(Debug, Default)]
pub(super) struct Identities<'a> {
    ids: HashMap<Identity<'a>, IdentityId>,
    all: Vec<Identity<'a>>,
}

impl<'a> Identities<'a> {
    pub(super) fn get(&self, id: IdentityId) -> &Identity<'a> {
        &self.all[id.0 as usize]
    }

    fn id_of(&mut self, identity: Identity<'a>) -> IdentityId {
        *self.ids.entry(identity).or_insert_with(|| {
            self.all.push(identity);
            IdentityId(self.all.len() as u32 - 1)
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Unset,
    Ok,
    Error,
    /// A code that OTLP does not have.
    Other,
}

impl Status {
    fn of(code: i32) -> Self {
        match code {
            0 => Self::Unset,
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Other,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Unset => "unset",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Other => "",
        }
    }
}

/// A span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) id: &'a [u8],
    pub(super) parent_id: &'a [u8],
    pub(super) identity: IdentityId,
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    pub(super) status: Status,
    pub(super) attributes: Repeated<'a, KeyValueView<'a>>,
}

impl Span<'_> {
    /// `None` if the times cannot be believed. A start of 0 was not set: with a true end it would
    /// make a span of decades.
    pub(super) fn duration_nanos(&self) -> Option<i64> {
        let has_start = self.start_nanos > 0;
        let lasts = self.end_nanos.checked_sub(self.start_nanos).filter(|_| has_start)?;
        i64::try_from(lasts).ok()
    }
}

/// A trace as it was read: its spans in no order.
#[derive(Debug, Default)]
pub(super) struct Flat<'a> {
    /// As the first span has it.
    pub(super) trace_id: &'a [u8],
    pub(super) spans: Vec<Span<'a>>,
}

impl<'a> Flat<'a> {
    /// Reads an encoded `TracesData`.
    pub(super) fn read(
        encoded: &'a [u8],
        identities: &mut Identities<'a>,
    ) -> Result<Self, WireError> {
        let mut flat = Self::default();
        for group in TracesView::parse(encoded)?.resources {
            let group = group?;
            let service = match group.resource {
                Some(resource) => service_of(resource.attributes)?,
                None => &[],
            };
            for scope in group.scopes {
                for span in scope?.items {
                    flat.push(span?, service, identities)?;
                }
            }
        }
        Ok(flat)
    }

    fn push(
        &mut self,
        span: SpanView<'a>,
        resource_service: &'a [u8],
        identities: &mut Identities<'a>,
    ) -> Result<(), WireError> {
        if self.trace_id.is_empty() {
            self.trace_id = span.trace_id;
        }
        // Some exporters put it on each span; that is nearer to the truth than the resource.
        let own_service = service_of(span.attributes)?;
        let service = if own_service.is_empty() { resource_service } else { own_service };
        let kind = kind_word(span.kind);
        self.spans.push(Span {
            id: span.span_id,
            parent_id: span.parent_span_id,
            identity: identities.id_of(Identity { service, name: span.name, kind }),
            start_nanos: span.start_time_unix_nano,
            end_nanos: span.end_time_unix_nano,
            status: Status::of(span.status.map_or(0, |status| status.code)),
            attributes: span.attributes,
        });
        Ok(())
    }
}

/// The name of the service; empty if there is none.
fn service_of<'a>(attributes: Repeated<'a, KeyValueView<'a>>) -> Result<&'a [u8], WireError> {
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.key == SERVICE_NAME {
            return Ok(match attribute.value {
                AnyValueView::String(service) => service,
                _ => &[],
            });
        }
    }
    Ok(&[])
}

fn kind_word(kind: i32) -> &'static str {
    match kind {
        0 => "unspecified",
        1 => "internal",
        2 => "server",
        3 => "client",
        4 => "producer",
        5 => "consumer",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, encoded_of, span};

    #[test]
    fn the_service_of_a_span_goes_before_that_of_its_resource() {
        let mut unnamed = span(2, 1, "", "b", 0, 1);
        unnamed.attributes.clear();
        let bytes = encoded_of("resource", vec![span(1, 0, "own", "a", 0, 1), unnamed]);
        let mut identities = Identities::default();
        let flat = Flat::read(&bytes, &mut identities).unwrap();
        let service = |nth: usize| identities.get(flat.spans[nth].identity).service();
        assert_eq!((service(0), service(1)), ("own".into(), "resource".into()));
        assert_eq!(flat.trace_id, [7; 16]);
    }

    #[test]
    fn equal_operations_have_one_identity_across_traces() {
        let (one, other) = (span(1, 0, "s", "a", 0, 1), span(9, 0, "s", "a", 5, 9));
        let mut server = other.clone();
        server.kind = 2;
        let (first, second) = (encoded(vec![one]), encoded(vec![other, server]));
        let mut identities = Identities::default();
        let base = Flat::read(&first, &mut identities).unwrap();
        let compare = Flat::read(&second, &mut identities).unwrap();
        assert_eq!(base.spans[0].identity, compare.spans[0].identity);
        assert_ne!(base.spans[0].identity, compare.spans[1].identity);
    }

    #[test]
    fn a_duration_needs_both_times_in_order() {
        const START: u64 = 1_700_000_000_000_000_000;
        let max = i64::MAX as u64;
        for (start, end, expected) in [
            (START, START + 5, Some(5)),
            (START, START, Some(0)),
            (START, START - 1, None),
            (0, START, None),
            (0, 0, None),
            (1, max + 1, Some(i64::MAX)),
            (1, max + 2, None),
        ] {
            let mut sent = span(1, 0, "s", "a", 0, 1);
            (sent.start_time_unix_nano, sent.end_time_unix_nano) = (start, end);
            let bytes = encoded(vec![sent]);
            let flat = Flat::read(&bytes, &mut Identities::default()).unwrap();
            assert_eq!(flat.spans[0].duration_nanos(), expected, "{start} to {end}");
        }
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let bytes = encoded(vec![span(1, 0, "s", "a", 0, 1)]);
        let cut = &bytes[..bytes.len() - 1];
        // Fields that reach beyond their group, and beyond their span.
        let group = [0x0a, 2, 0x12, 0x7f];
        let inner = [0x0a, 6, 0x12, 4, 0x12, 2, 0x0a, 0x7f];
        for damaged in [cut, &group, &inner] {
            assert!(Flat::read(damaged, &mut Identities::default()).is_err(), "{damaged:?}");
        }
    }
}
