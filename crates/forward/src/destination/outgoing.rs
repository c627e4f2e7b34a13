//! A request on its way: records of the journal, and what is sent for them.
//!
//! OTLP's requests are lists: two of them, one behind the other, are one request. So records that
//! wait together are sent together, without a look into them. Remote-write 1.0 is such a list, too.

use std::sync::Arc;

use bytes::Bytes;
use kymo_journal::{Compression, Format};
use kymo_wire::Signal;

use super::progress::Ticket;
use crate::limits::{MAX_JOINED_BYTES, MAX_JOINED_RECORDS};

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) signal: Signal,
    pub(crate) tenant: Arc<str>,
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    /// How often it is tried if answers say neither yes nor no.
    pub(crate) trial: Trial,
    /// Never empty. More than one only where they are one request when joined.
    pub(crate) parts: Vec<Part>,
}

/// How often a request is tried if answers say neither yes nor no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Trial {
    /// A few times.
    #[default]
    Usual,
    /// Once: another is in doubt, and this one tells whether the server is to blame.
    Probe,
    /// Once: others were taken, so this one is to blame.
    Last,
}

/// What was one request, and the records of the journal that it is of.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) bytes: Bytes,
    pub(crate) tickets: Vec<Ticket>,
}

impl Outgoing {
    /// Whether a request with one part can be joined to this one.
    pub(crate) fn can_join(&self, other: &Self) -> bool {
        let is_list = matches!(self.format, Format::OtlpProtobuf | Format::RemoteWrite1);
        is_list
            && self.format == other.format
            && self.compression == Compression::None
            && other.compression == Compression::None
            && self.signal == other.signal
            && self.tenant == other.tenant
            && self.trial != Trial::Last
            && self.parts.len() + other.parts.len() <= MAX_JOINED_RECORDS
            && self.size_bytes() + other.size_bytes() <= MAX_JOINED_BYTES
    }

    /// Bytes of all parts.
    pub(crate) fn size_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }

    /// Records of the journal that it is of; one that is in several parts counts once for each.
    pub(crate) fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.tickets.len() as u64).sum()
    }

    /// The bytes of the parts.
    pub(crate) fn chunks(&self) -> Vec<Bytes> {
        self.parts.iter().map(|part| part.bytes.clone()).collect()
    }

    /// A request for each part, in order.
    pub(crate) fn split(&self) -> impl Iterator<Item = Self> + '_ {
        self.parts.iter().map(|part| Self { parts: vec![part.clone()], ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(size_bytes: usize, compression: Compression) -> Outgoing {
        let part = Part { bytes: vec![0; size_bytes].into(), tickets: vec![0] };
        Outgoing {
            signal: Signal::Traces,
            tenant: "a".into(),
            format: Format::OtlpProtobuf,
            compression,
            trial: Trial::Usual,
            parts: vec![part],
        }
    }

    #[test]
    fn only_plain_lists_of_one_kind_and_tenant_are_joined() {
        let one = outgoing(10, Compression::None);
        assert!(one.can_join(&one));
        assert!(!one.can_join(&outgoing(10, Compression::Gzip)));
        assert!(!outgoing(10, Compression::Gzip).can_join(&one));
        assert!(!one.can_join(&Outgoing { tenant: "b".into(), ..one.clone() }));
        assert!(!one.can_join(&Outgoing { signal: Signal::Logs, ..one.clone() }));
        let second = Outgoing { format: Format::RemoteWrite2, ..one.clone() };
        assert!(!second.can_join(&second), "its texts are numbered");
        assert!(!one.can_join(&outgoing(MAX_JOINED_BYTES, Compression::None)));
    }
}
