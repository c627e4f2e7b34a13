//! From requests to a store: admission check, journal, store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use kymo_admit::Rules;
use kymo_admit::audience::{Audience, FlagBook};
use kymo_admit::rules::{AUDIENCE, Applied};
use kymo_journal::{Compression, Format, OsDisk, Record};
use kymo_store::Store;
use kymo_store::compact::Effort;
use kymo_store::settings::{SERVER, Setting};
use kymo_wire::inspect::inspect;
use kymo_wire::{Limits, Signal};

use super::limits::{BATCH_BYTES, BATCH_REQUESTS};
use super::summary::Summary;
use crate::failure::Failure;
use crate::files::limits::MAX_REQUEST_BYTES;
use crate::files::{Fault, Request};
use crate::source::store_options;

/// An open store and what waits to be acknowledged.
pub(crate) struct Loader {
    store: Store,
    /// Who is recorded, by the flags that the store has.
    audience: Audience,
    tenant: String,
    batch: Vec<Waiting>,
    batch_bytes: usize,
    started: Instant,
    bytes_before: u64,
    summary: Summary,
}

struct Waiting {
    signal: Signal,
    body: Bytes,
    records: u64,
}

impl Loader {
    pub(crate) fn open(data: &Path, url: Option<&str>, tenant: &str) -> Result<Self, Failure> {
        // What is appended is applied at once: no more of it need be kept for readers.
        let journal_options =
            kymo_journal::Options { recent_bytes: 2 * BATCH_BYTES, ..Default::default() };
        let options = store_options(data)?;
        let store = Store::open_dir(Arc::new(OsDisk), data, url, journal_options, options)?;
        let audience = audience(&store)?;
        let mut loader = Self {
            store,
            audience,
            tenant: tenant.to_owned(),
            batch: Vec::new(),
            batch_bytes: 0,
            started: Instant::now(),
            bytes_before: 0,
            summary: Summary::default(),
        };
        loader.bytes_before = loader.block_bytes()?;
        loader.started = Instant::now();
        Ok(loader)
    }

    /// Takes a request. The inner error is about the request, the outer one about the store.
    pub(crate) fn add(&mut self, request: Request) -> Result<Result<(), Fault>, Failure> {
        let Request { place, signal, body } = request;
        if body.is_empty() {
            self.summary.requests += 1;
            return Ok(Ok(()));
        }
        let waiting = match self.admit(signal, body) {
            Ok(waiting) => waiting,
            Err((offset, why)) => return Ok(Err(Fault::at(place.moved(offset), why))),
        };
        self.summary.requests += 1;
        if waiting.records > 0 {
            self.batch_bytes += waiting.body.len();
            self.batch.push(waiting);
        }
        if self.batch_bytes >= BATCH_BYTES || self.batch.len() >= BATCH_REQUESTS {
            self.commit()?;
        }
        Ok(Ok(()))
    }

    /// The admission check; the error is an offset and the reason.
    fn admit(&mut self, signal: Signal, body: Vec<u8>) -> Result<Waiting, (usize, String)> {
        let inspected = inspect(signal, &body, &Limits::default()).map_err(|error| {
            (error.offset, format!("is not a request of {}: {}", signal.name(), error.kind))
        })?;
        let mut records = inspected.items;
        for refused in &inspected.refused {
            add(&mut self.summary.refused, refused.reason.name(), refused.count);
        }
        for repaired in &inspected.repaired {
            add(&mut self.summary.repaired, repaired.reason.name(), repaired.count);
        }
        let rewritten = match inspected.body {
            std::borrow::Cow::Owned(body) => Some(body),
            std::borrow::Cow::Borrowed(_) => None,
        };
        let mut body = rewritten.unwrap_or(body);
        let kept = self.audience.apply(&self.tenant, signal, &body, &Rules::default());
        if let Applied::Changed { body: left, items, dropped } =
            kept.map_err(|error| (0, error.to_string()))?
        {
            for left_out in dropped {
                add(&mut self.summary.refused, AUDIENCE, left_out.count);
            }
            (body, records) = (left, items);
        }
        if body.len() > MAX_REQUEST_BYTES {
            let (size, most) = (body.len(), MAX_REQUEST_BYTES);
            return Err((0, format!("has {size} bytes, more than the {most} a request may have")));
        }
        Ok(Waiting { signal, body: body.into(), records })
    }

    /// Has what waits acknowledged, with one sync, and stored.
    fn commit(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let received_nanos = now_nanos();
        let records: Vec<Record<'_>> = batch
            .iter()
            .map(|waiting| Record {
                signal: journal_signal(waiting.signal),
                format: Format::OtlpProtobuf,
                compression: Compression::None,
                tenant: &self.tenant,
                body: waiting.body.clone(),
                received_nanos,
            })
            .collect();
        let appended = self.store.journal().append_many(&records)?;
        for (appended, waiting) in appended.iter().zip(&batch) {
            if appended.duplicate {
                self.summary.duplicate_requests += 1;
                self.summary.duplicate_records += waiting.records;
            } else {
                add(&mut self.summary.records, waiting.signal.name(), waiting.records);
            }
        }
        drop((records, batch));
        Ok(self.store.ingest()?)
    }

    /// Stores everything that waits and, if all was read, makes final blocks of it.
    pub(crate) fn finish(mut self, compact: bool) -> Result<Summary, Failure> {
        self.commit()?;
        self.store.flush()?;
        if compact {
            self.store.compact(Effort::Everything)?;
            self.store.collect_garbage()?;
        }
        let mut summary = std::mem::take(&mut self.summary);
        let bytes_after = self.block_bytes()?;
        let counters = self.store.counters();
        summary.duplicate_spans_dropped = counters.duplicates_dropped.total();
        let undecodable = counters.requests_undecodable.total();
        self.store.close()?;
        summary.finish(self.started.elapsed(), self.bytes_before, bytes_after);
        if undecodable > 0 {
            // They are in the journal and passed the admission check: this is a bug.
            let what = format!("{undecodable} acknowledged requests could not be stored");
            return Err(Failure::Other(format!("{what}: please report this, with the log above")));
        }
        Ok(summary)
    }

    /// Bytes of all blocks of the tenant.
    fn block_bytes(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        for signal in kymo_store::Signal::ALL {
            let snapshot = self.store.snapshot(&self.tenant, signal)?;
            bytes += snapshot.blocks().map(|block| block.size_bytes).sum::<u64>();
        }
        Ok(bytes)
    }
}

/// The flags of a store. Without them somebody might be recorded who is not to be.
fn audience(store: &Store) -> Result<Audience, Failure> {
    let Some(set) = store.setting(SERVER, Setting::Audience)? else {
        return Ok(Audience::default());
    };
    let book = FlagBook::from_json(&set.body).map_err(|error| {
        Failure::Other(format!("the flags of the audience cannot be read: {error}"))
    })?;
    Ok(Audience::new(book))
}

fn add(counts: &mut BTreeMap<&'static str, u64>, name: &'static str, count: u64) {
    *counts.entry(name).or_default() += count;
}

fn journal_signal(signal: Signal) -> kymo_journal::Signal {
    match signal {
        Signal::Traces => kymo_journal::Signal::Traces,
        Signal::Metrics => kymo_journal::Signal::Metrics,
        Signal::Logs => kymo_journal::Signal::Logs,
    }
}

fn now_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
