//! The decision: one request, checked against the limits of its tenant.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_wire::inspect::{Inspected, RefusalReason, Refused, RepairReason, Repaired, inspect};
use kymo_wire::remote_write::{self, Version};
use kymo_wire::{Signal, json};

use crate::decompress;
use crate::encoding::{Compression, Format};
use crate::limits::{LimitError, Limits, MAX_BODY_BYTES};
use crate::outcome::{Admitted, Counted, Refusal, RemoteWrite, Stage};
use crate::tenant::check_tenant;

/// Who may send what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    default: Limits,
    tenants: BTreeMap<String, Limits>,
}

impl Admission {
    /// Limits for everybody, and for tenants that have their own.
    pub fn new(default: Limits, tenants: BTreeMap<String, Limits>) -> Result<Self, LimitError> {
        default.check()?;
        tenants.values().try_for_each(Limits::check)?;
        Ok(Self { default, tenants })
    }

    /// What a tenant may send.
    #[must_use]
    pub fn limits_for(&self, tenant: &str) -> &Limits {
        self.tenants.get(tenant).unwrap_or(&self.default)
    }

    /// Decides on one request of OTLP. An empty body is a request without records, however it is said to
    /// be encoded.
    ///
    /// It does its work on the calling thread and keeps some memory there for the next request.
    pub fn admit(
        &self,
        tenant: &str,
        signal: Signal,
        format: Format,
        compression: Compression,
        body: Bytes,
    ) -> Result<Admitted, Refusal> {
        self.admit_as(tenant, Content::Otlp(signal, format), compression, body)
    }

    /// Decides on one request of Prometheus' remote-write, as [`Admission::admit`] does on one of
    /// OTLP. Its senders compress with [`Compression::Snappy`].
    pub fn admit_remote_write(
        &self,
        tenant: &str,
        version: Version,
        compression: Compression,
        body: Bytes,
    ) -> Result<Admitted, Refusal> {
        self.admit_as(tenant, Content::RemoteWrite(version), compression, body)
    }

    fn admit_as(
        &self,
        tenant: &str,
        content: Content,
        compression: Compression,
        body: Bytes,
    ) -> Result<Admitted, Refusal> {
        check_tenant(tenant).map_err(Refusal::Tenant)?;
        let limits = self.limits_for(tenant);
        within(body.len(), limits.max_request_bytes, Stage::Received)?;
        let gate = Gate { limits, content };
        let max_bytes = limits.max_decompressed_bytes;
        match compression {
            Compression::None => {
                within(body.len(), max_bytes, Stage::Decompressed)?;
                gate.read(&body, Some((Compression::None, &body)))
            }
            // No compression makes nothing of nothing, but clients do.
            _ if body.is_empty() => gate.read(&[], None),
            _ => decompress::decompress(compression, &body, max_bytes, |plain| {
                gate.read(plain.bytes, plain.is_read_by_others.then_some((compression, &body)))
            }),
        }
    }
}

/// What is to be read, and how strictly.
struct Gate<'a> {
    limits: &'a Limits,
    content: Content,
}

/// What a request is said to be.
#[derive(Debug, Clone, Copy)]
enum Content {
    Otlp(Signal, Format),
    RemoteWrite(Version),
}

impl Gate<'_> {
    /// Checks decompressed bytes. `as_it_came` is the body that they are from, if it can be kept.
    fn read(
        &self,
        plain: &[u8],
        as_it_came: Option<(Compression, &Bytes)>,
    ) -> Result<Admitted, Refusal> {
        match self.content {
            Content::Otlp(signal, format) => self.read_otlp(signal, format, plain, as_it_came),
            Content::RemoteWrite(version) => self.read_remote_write(version, plain, as_it_came),
        }
    }

    fn read_otlp(
        &self,
        signal: Signal,
        format: Format,
        plain: &[u8],
        as_it_came: Option<(Compression, &Bytes)>,
    ) -> Result<Admitted, Refusal> {
        let decoded = match format {
            Format::Protobuf => None,
            Format::Json if plain.is_empty() => Some(Vec::new()),
            Format::Json => Some(json::decode(signal, plain).map_err(malformed)?),
        };
        let protobuf = decoded.as_deref().unwrap_or(plain);
        let Inspected { body, items, refused, repaired } =
            inspect(signal, protobuf, &self.limits.wire()).map_err(malformed)?;
        let encoded = rewritten(body).or(decoded);
        let (compression, body) = kept(encoded, plain, as_it_came)?;
        Ok(Admitted {
            remote_write: None,
            compression,
            body,
            items,
            refused: refused.into_iter().map(|refused| self.refused(refused)).collect(),
            changed: repaired.into_iter().map(|repaired| self.changed(repaired)).collect(),
            decompressed_bytes: plain.len() as u64,
        })
    }

    fn read_remote_write(
        &self,
        version: Version,
        plain: &[u8],
        as_it_came: Option<(Compression, &Bytes)>,
    ) -> Result<Admitted, Refusal> {
        let inspected =
            remote_write::inspect(version, plain, &self.limits.wire()).map_err(malformed)?;
        let (compression, body) = kept(rewritten(inspected.body), plain, as_it_came)?;
        let counted =
            |reason, message: &str, count| Counted { reason, message: message.to_owned(), count };
        let refused = inspected.refused.into_iter();
        let repaired = inspected.repaired.into_iter();
        Ok(Admitted {
            remote_write: Some(RemoteWrite { version, counts: inspected.counts }),
            compression,
            body,
            items: inspected.counts.points(),
            refused: refused
                .map(|(why, count)| counted(why.name(), why.message(), count))
                .collect(),
            changed: repaired
                .map(|(why, count)| counted(why.name(), why.message(), count))
                .collect(),
            decompressed_bytes: plain.len() as u64,
        })
    }

    fn refused(&self, Refused { reason, count }: Refused) -> Counted {
        let message = match reason {
            RefusalReason::PointAttributes => {
                let max = self.limits.max_attributes_per_record;
                format!("data point has more than {max} attributes")
            }
            _ => reason.message().to_owned(),
        };
        Counted { reason: reason.name(), message, count }
    }

    fn changed(&self, Repaired { reason, count }: Repaired) -> Counted {
        let message = match reason {
            RepairReason::Attribute => {
                let max = self.limits.max_attributes_per_record;
                format!("attribute beyond the first {max} was dropped")
            }
            RepairReason::Value => {
                let max = self.limits.max_value_bytes;
                format!("value longer than {max} bytes was cut")
            }
            _ => reason.message().to_owned(),
        };
        Counted { reason: reason.name(), message, count }
    }
}

fn malformed(error: impl std::fmt::Display) -> Refusal {
    Refusal::Malformed(error.to_string())
}

/// The bytes of a body that was encoded again.
fn rewritten(body: Cow<'_, [u8]>) -> Option<Vec<u8>> {
    match body {
        Cow::Owned(body) => Some(body),
        Cow::Borrowed(_) => None,
    }
}

/// What is handed on: what was encoded again, else what came.
fn kept(
    encoded: Option<Vec<u8>>,
    plain: &[u8],
    as_it_came: Option<(Compression, &Bytes)>,
) -> Result<(Compression, Bytes), Refusal> {
    match (encoded, as_it_came) {
        (Some(encoded), _) => {
            // A replacement character is longer than the byte it stands for, and a number may be
            // longer than its digits in JSON.
            within(encoded.len(), MAX_BODY_BYTES, Stage::Encoded)?;
            Ok((Compression::None, Bytes::from(encoded)))
        }
        (None, Some((compression, body))) => Ok((compression, body.clone())),
        (None, None) => Ok((Compression::None, Bytes::copy_from_slice(plain))),
    }
}

fn within(size_bytes: usize, limit_bytes: usize, stage: Stage) -> Result<(), Refusal> {
    if size_bytes > limit_bytes {
        return Err(Refusal::TooLarge { stage, limit_bytes });
    }
    Ok(())
}
