//! The decision: one request, checked against the limits of its tenant.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_condition::edit::Retained;
use kymo_condition::{Record, edit};
use kymo_wire::inspect::{Inspected, RefusalReason, Refused, RepairReason, Repaired, inspect};
use kymo_wire::remote_write::{self, Version};
use kymo_wire::{Signal, json, loki};

use crate::active_series::ActiveSeries;
use crate::audience::{self, Audience};
use crate::decompress;
use crate::deduplicate::{Deduplication, LogKey};
use crate::encoding::{Compression, Format};
use crate::limits::{LimitError, Limits, MAX_BODY_BYTES};
use crate::outcome::{Admitted, Counted, Refusal, RemoteWrite, Stage};
use crate::rules::{self, Applied, ApplyError, Rules};
use crate::tenant::check_tenant;

/// Who may send what, whose records are kept, and what becomes of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    default: Limits,
    tenants: BTreeMap<String, Limits>,
    rules: Rules,
    audience: Option<Audience>,
    series: ActiveSeries,
    deduplication: Deduplication,
}

impl Admission {
    /// Limits for everybody, and for tenants that have their own.
    pub fn new(default: Limits, tenants: BTreeMap<String, Limits>) -> Result<Self, LimitError> {
        default.check()?;
        tenants.values().try_for_each(Limits::check)?;
        Ok(Self { default, tenants, ..Self::default() })
    }

    /// With rules that are applied to every request.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// With an audience that is asked for every record, before the rules are.
    #[must_use]
    pub fn with_audience(self, audience: Audience) -> Self {
        Self { audience: Some(audience), ..self }
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

    /// Decides on one push to Loki, as [`Admission::admit`] does on one of OTLP, which it becomes.
    /// Protobuf is compressed with [`Compression::Snappy`].
    pub fn admit_push(
        &self,
        tenant: &str,
        format: loki::Format,
        compression: Compression,
        body: Bytes,
    ) -> Result<Admitted, Refusal> {
        self.admit_as(tenant, Content::Push(format), compression, body)
    }

    /// Remembers what was admitted and is durable now, so that copies of it are known. Nothing is to
    /// be remembered unless log records are kept once.
    pub fn remember(&self, log_keys: &[LogKey]) {
        if !log_keys.is_empty() {
            self.deduplication.remember(log_keys);
        }
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
        let gate = Gate { admission: self, tenant, limits, content };
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
    admission: &'a Admission,
    tenant: &'a str,
    limits: &'a Limits,
    content: Content,
}

/// What a request is said to be.
#[derive(Debug, Clone, Copy)]
enum Content {
    Otlp(Signal, Format),
    RemoteWrite(Version),
    Push(loki::Format),
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
            Content::Push(format) => self.read_push(format, plain),
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
        self.read_protobuf(signal, plain, decoded, &self.limits.wire(), as_it_came)
    }

    /// A push becomes OTLP here, and is then treated as if it had come so.
    fn read_push(&self, format: loki::Format, plain: &[u8]) -> Result<Admitted, Refusal> {
        let max_value_bytes = self.limits.max_value_bytes;
        let bounds = loki::Bounds { max_bytes: MAX_BODY_BYTES, max_value_bytes };
        let push = loki::read(format, plain, &bounds).map_err(|error| match error {
            loki::PushError::Empty => Refusal::Empty(error.to_string()),
            loki::PushError::TooLarge(limit_bytes) => {
                Refusal::TooLarge { stage: Stage::Encoded, limit_bytes }
            }
            _ => malformed(error),
        })?;
        // Values were judged above. What is left are lines, which are kept as long as they are:
        // nobody who pushes reads of one that was cut.
        let limits = kymo_wire::Limits { max_value_bytes: usize::MAX, ..self.limits.wire() };
        let admitted = self.read_protobuf(Signal::Logs, plain, Some(push.body), &limits, None)?;
        let faults = push
            .faults
            .into_iter()
            .map(|loki::Fault { reason, message, count }| Counted { reason, message, count });
        Ok(Admitted { refused: faults.chain(admitted.refused).collect(), ..admitted })
    }

    /// Checks OTLP in protobuf: `decoded`, if it was made here, else what came.
    fn read_protobuf(
        &self,
        signal: Signal,
        plain: &[u8],
        decoded: Option<Vec<u8>>,
        limits: &kymo_wire::Limits,
        as_it_came: Option<(Compression, &Bytes)>,
    ) -> Result<Admitted, Refusal> {
        let protobuf = decoded.as_deref().unwrap_or(plain);
        let Inspected { body, items, refused, repaired } =
            inspect(signal, protobuf, limits).map_err(malformed)?;
        let applied = self.apply(signal, &body)?;
        let (encoded, items, dropped) = match applied {
            Applied::Unchanged => (rewritten(body).or(decoded), items, Vec::new()),
            Applied::Changed { body, items, dropped } => (Some(body), items, dropped),
        };
        let mut refused: Vec<Counted> =
            refused.into_iter().map(|refused| self.refused(refused)).collect();
        let limited = match self.limits.max_series {
            Some(most) if signal == Signal::Metrics => {
                self.limit_series(most, encoded.as_deref().unwrap_or(plain))?
            }
            _ => None,
        };
        let (encoded, items) = match limited {
            None => (encoded, items),
            Some((body, count)) => {
                refused.push(self.beyond_series(count));
                (Some(body), items.saturating_sub(count))
            }
        };
        let (encoded, deduplicated, log_keys) =
            if signal == Signal::Logs && self.limits.deduplicate_logs {
                let otlp = encoded.as_deref().unwrap_or(plain);
                let unique = self.admission.deduplication.apply(self.tenant, otlp);
                let unique = unique.map_err(malformed)?;
                (unique.body.or(encoded), unique.copies, unique.keys)
            } else {
                (encoded, 0, Vec::new())
            };
        let (compression, body) = kept(encoded, plain, as_it_came)?;
        Ok(Admitted {
            remote_write: None,
            compression,
            body,
            items: items.saturating_sub(deduplicated),
            dropped,
            refused,
            changed: repaired.into_iter().map(|repaired| self.changed(repaired)).collect(),
            deduplicated,
            log_keys,
            decompressed_bytes: plain.len() as u64,
        })
    }

    fn read_remote_write(
        &self,
        version: Version,
        plain: &[u8],
        as_it_came: Option<(Compression, &Bytes)>,
    ) -> Result<Admitted, Refusal> {
        let limits = self.limits.wire();
        let inspected = remote_write::inspect(version, plain, &limits).map_err(malformed)?;
        let applied = self.apply_remote_write(version, &inspected.body)?;
        let mut refused = inspected.refused;
        let (encoded, counts, dropped) = match applied {
            Applied::Unchanged => (rewritten(inspected.body), inspected.counts, Vec::new()),
            Applied::Changed { body, dropped, .. } => {
                // Rules may have made labels that cannot be kept: the same check once more.
                let again = remote_write::inspect(version, &body, &limits).map_err(malformed)?;
                refused.extend(again.refused);
                (Some(again.body.into_owned()), again.counts, dropped)
            }
        };
        let counted =
            |reason, message: &str, count| Counted { reason, message: message.to_owned(), count };
        let mut refused: Vec<Counted> =
            refused.into_iter().map(|(why, n)| counted(why.name(), why.message(), n)).collect();
        let limited = match self.limits.max_series {
            Some(most) => {
                let body = encoded.as_deref().unwrap_or(plain);
                self.limit_remote_write(most, version, body)?
            }
            None => None,
        };
        let (encoded, counts) = match limited {
            None => (encoded, counts),
            Some(body) => {
                let left =
                    remote_write::inspect(version, &body, &limits).map_err(malformed)?.counts;
                let count = counts.points().saturating_sub(left.points());
                refused.push(self.beyond_series(count));
                (Some(body), left)
            }
        };
        let (compression, body) = kept(encoded, plain, as_it_came)?;
        let repaired = inspected.repaired.into_iter();
        Ok(Admitted {
            remote_write: Some(RemoteWrite { version, counts }),
            compression,
            body,
            items: counts.points(),
            dropped,
            refused,
            changed: repaired
                .map(|(why, count)| counted(why.name(), why.message(), count))
                .collect(),
            deduplicated: 0,
            log_keys: Vec::new(),
            decompressed_bytes: plain.len() as u64,
        })
    }

    /// What is left of data points when those of too many series are refused, and how many were;
    /// nothing if none was.
    fn limit_series(&self, most: u64, protobuf: &[u8]) -> Result<Option<(Vec<u8>, u64)>, Refusal> {
        self.admission.series.with(self.tenant, most, |admits| {
            let mut refused = 0;
            let mut keep = |record: &Record<'_>| {
                let is_kept = admits(record);
                refused += u64::from(!is_kept);
                is_kept
            };
            let retained = edit::retain(Signal::Metrics, protobuf, &mut keep).map_err(malformed)?;
            Ok(match retained {
                Retained::All => None,
                Retained::None => Some((Vec::new(), refused)),
                Retained::Some(body) => Some((body, refused)),
            })
        })
    }

    /// The same for series of remote-write.
    fn limit_remote_write(
        &self,
        most: u64,
        version: Version,
        body: &[u8],
    ) -> Result<Option<Vec<u8>>, Refusal> {
        self.admission.series.with(self.tenant, most, |admits| {
            let applied =
                rules::process_remote_write(version, body, &Rules::default(), Some(admits));
            Ok(match applied.map_err(unprocessed)? {
                Applied::Unchanged => None,
                Applied::Changed { body, .. } => Some(body),
            })
        })
    }

    fn beyond_series(&self, count: u64) -> Counted {
        let most = self.limits.max_series.unwrap_or_default();
        let message = format!("data point of a series beyond the {most} that this tenant may have");
        Counted { reason: "series_limit", message, count }
    }

    /// Asks the audience and applies the rules, in one walk.
    fn apply(&self, signal: Signal, protobuf: &[u8]) -> Result<Applied, Refusal> {
        self.while_flags_stay(|| self.apply_once(signal, protobuf))
    }

    fn apply_once(&self, signal: Signal, protobuf: &[u8]) -> Result<Applied, Refusal> {
        let rules = &self.admission.rules;
        let applied = match &self.admission.audience {
            Some(audience) => audience.apply(self.tenant, signal, protobuf, rules),
            None => rules.apply(signal, protobuf),
        };
        applied.map_err(unprocessed)
    }

    fn apply_remote_write(&self, version: Version, body: &[u8]) -> Result<Applied, Refusal> {
        self.while_flags_stay(|| self.apply_remote_write_once(version, body))
    }

    fn apply_remote_write_once(&self, version: Version, body: &[u8]) -> Result<Applied, Refusal> {
        let rules = &self.admission.rules;
        let Some(mut gate) = self.audience().filter(|gate| gate.is_about(Signal::Metrics)) else {
            return rules::process_remote_write(version, body, rules, None).map_err(unprocessed);
        };
        let mut admit = |record: &Record<'_>| gate.records(record);
        rules::process_remote_write(version, body, rules, Some(&mut admit)).map_err(unprocessed)
    }

    /// Decides until no flag has changed meanwhile.
    fn while_flags_stay(
        &self,
        decide: impl Fn() -> Result<Applied, Refusal>,
    ) -> Result<Applied, Refusal> {
        let changes = || self.admission.audience.as_ref().map_or(0, Audience::changes);
        loop {
            let before = changes();
            let applied = decide();
            if changes() == before {
                return applied;
            }
        }
    }

    fn audience(&self) -> Option<audience::Gate> {
        self.admission.audience.as_ref()?.gate(self.tenant)
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

fn unprocessed(error: ApplyError) -> Refusal {
    match error {
        ApplyError::Wire(error) => malformed(error),
        ApplyError::TooLarge { limit_bytes } => {
            Refusal::TooLarge { stage: Stage::Encoded, limit_bytes }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audience::FlagBook;
    use std::cell::Cell;

    #[test]
    fn a_request_is_decided_anew_if_flags_change_meanwhile() {
        let audience = Audience::default();
        let admission = Admission::default().with_audience(audience.clone());
        let gate = Gate {
            admission: &admission,
            tenant: "default",
            limits: admission.limits_for("default"),
            content: Content::Otlp(Signal::Traces, Format::Protobuf),
        };
        let decided = Cell::new(0);
        let applied = gate.while_flags_stay(|| {
            decided.set(decided.get() + 1);
            if decided.get() < 3 {
                audience.replace(FlagBook::default());
            }
            Ok(Applied::Unchanged)
        });
        assert_eq!((applied, decided.get()), (Ok(Applied::Unchanged), 3));
    }
}
