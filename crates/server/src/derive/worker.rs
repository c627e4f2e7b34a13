//! The thread that counts spans and writes metrics of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver as Calls, TryRecvError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use kymo_admit::{Compression, Format, Signal};
use kymo_journal::{Entry, Error, Journal, Reader};
use kymo_spanmetrics::Generator;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::status::{DeriveStatus, TenantStatus};
use super::{CURSOR, Call, DeriveOptions};
use crate::answer::Failure;
use crate::limits::{DERIVE_READ_WAIT, DERIVE_REST, DERIVE_UNPACKED_BYTES, MAX_DERIVE_TENANTS};
use crate::receive::{Content, Incoming, Receiver};
use crate::telemetry::Protocol;

/// What the worker is made of.
pub(super) struct Parts {
    pub(super) options: DeriveOptions,
    pub(super) journal: Journal,
    pub(super) reader: Reader,
    pub(super) receiver: Arc<Receiver>,
    pub(super) runtime: Handle,
    pub(super) called: Calls<Call>,
    pub(super) status: Arc<DeriveStatus>,
}

/// What is counted of one tenant.
struct Tenant {
    generator: Generator,
    /// What generators before it have counted.
    ended: TenantStatus,
    /// Whether it was said that there are too many series.
    is_overflow_told: bool,
}

/// Counts and writes.
pub(super) struct Worker {
    parts: Parts,
    tenants: BTreeMap<Arc<str>, Tenant>,
    /// What was counted of tenants of whom nothing is left to write.
    ended: BTreeMap<Arc<str>, TenantStatus>,
    next_write: Instant,
    /// Whether spans have come since metrics were last stored.
    has_counted: bool,
    /// Whether the last write failed, and it was said.
    is_failing: bool,
    is_full_told: bool,
}

impl Worker {
    pub(super) fn new(parts: Parts) -> Self {
        let next_write = Instant::now() + parts.options.interval;
        Self {
            parts,
            tenants: BTreeMap::new(),
            ended: BTreeMap::new(),
            next_write,
            has_counted: false,
            is_failing: false,
            is_full_told: false,
        }
    }

    /// Works until it is told to stop, or the journal is closed.
    pub(super) fn run(mut self) {
        loop {
            match self.parts.called.try_recv() {
                Ok(Call::Write(answer)) => self.write_now(answer),
                Ok(Call::Stop(answer)) => {
                    self.finish();
                    // Who does not wait any more does not want to know.
                    let _ = answer.send(());
                    return;
                }
                // Whoever could call is gone: the journal ends next.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            if Instant::now() >= self.next_write {
                self.next_write = Instant::now() + self.parts.options.interval;
                // It has said so, and writes again later.
                let _ = self.write();
            }
            match self.parts.reader.next(Some(DERIVE_READ_WAIT)) {
                Ok(Some(entry)) => self.take(&entry),
                Ok(None) => {}
                Err(Error::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "the journal cannot be read for span metrics");
                    std::thread::sleep(DERIVE_REST);
                }
            }
        }
    }

    /// Counts the spans of a record, if it has any.
    fn take(&mut self, entry: &Entry) {
        if entry.signal != kymo_journal::Signal::Traces {
            return;
        }
        self.has_counted = true;
        if let Err(why) = self.count(entry) {
            self.parts.status.left_out.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(tenant = &*entry.tenant, why, "a request is not in span metrics");
        }
    }

    fn count(&mut self, entry: &Entry) -> Result<(), String> {
        let compression = match entry.compression {
            kymo_journal::Compression::None => Compression::None,
            kymo_journal::Compression::Gzip => Compression::Gzip,
            kymo_journal::Compression::Deflate => Compression::Deflate,
            kymo_journal::Compression::Zstd => Compression::Zstd,
            kymo_journal::Compression::Snappy => Compression::Snappy,
        };
        if entry.format != kymo_journal::Format::OtlpProtobuf {
            return Err(format!("spans in format {:?}", entry.format));
        }
        let request = kymo_admit::unpack(compression, entry.body.clone(), DERIVE_UNPACKED_BYTES);
        let request = request.map_err(|refusal| refusal.to_string())?;
        let now_nanos = now_nanos();
        let is_full = self.tenants.len() >= MAX_DERIVE_TENANTS;
        let tenant = match self.tenants.entry(Arc::clone(&entry.tenant)) {
            Place::Occupied(found) => found.into_mut(),
            Place::Vacant(_) if is_full => {
                if !std::mem::replace(&mut self.is_full_told, true) {
                    tracing::warn!(
                        "there are span metrics of {MAX_DERIVE_TENANTS} tenants, and none of others"
                    );
                }
                return Err("there are too many tenants".to_owned());
            }
            Place::Vacant(place) => {
                let ended = self.ended.remove(&entry.tenant).unwrap_or_default();
                let generator = Generator::new(&self.parts.options.settings, now_nanos);
                place.insert(Tenant { generator, ended, is_overflow_told: false })
            }
        };
        // By when it was received: however far behind this is, who came in time is met in time.
        tenant.generator.expire(entry.received_nanos);
        tenant.generator.add(&request, now_nanos).map_err(|error| error.to_string())
    }

    /// Counts what was acknowledged until now.
    fn catch_up(&mut self) -> Result<(), Error> {
        let end = self.parts.journal.end();
        while self.parts.reader.position() < end {
            match self.parts.reader.try_next()? {
                Some(entry) => self.take(&entry),
                None => break,
            }
        }
        Ok(())
    }

    fn write_now(&mut self, answer: oneshot::Sender<Result<(), String>>) {
        let written = self.write();
        // Who does not wait any more does not want to know.
        let _ = answer.send(written);
    }

    /// Counts what was acknowledged until now, stores all metrics, and moves the cursor.
    fn write(&mut self) -> Result<(), String> {
        let until_nanos = now_nanos();
        let caught_up = self.catch_up();
        let (position, now_nanos) = (self.parts.reader.position(), now_nanos());
        let (mut stored, mut is_held) = (Ok(()), false);
        for (name, tenant) in &mut self.tenants {
            // The other side may be in what could not be read.
            if caught_up.is_ok() {
                tenant.generator.expire(until_nanos);
            }
            match store(&self.parts, name, &mut tenant.generator, now_nanos) {
                Ok(()) => tenant.generator.written(),
                Err(failure) => {
                    // To be counted again after a crash. What a tenant's own limits refuse would
                    // hold up the journal, and have others counted twice.
                    is_held |= failure.is_servers_fault;
                    stored = Err(format!("tenant {name}: {}", failure.message));
                }
            }
            tenant.tell_overflow(name);
        }
        self.tell();
        self.note(&stored);
        if is_held {
            return stored;
        }
        let advanced = match std::mem::take(&mut self.has_counted) {
            true => self.parts.journal.advance_now(CURSOR, position),
            // Nothing would be counted twice.
            false => self.parts.journal.advance(CURSOR, position),
        };
        stored?;
        caught_up.and(advanced).map_err(|error| error.to_string())
    }

    /// Says how it is, and lets go of tenants of whom nothing is left to write.
    fn tell(&mut self) {
        let is_over = |tenant: &Tenant| tenant.generator.is_empty();
        let over: Vec<Arc<str>> = self
            .tenants
            .iter()
            .filter(|(_, tenant)| is_over(tenant))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in over {
            if let Some(tenant) = self.tenants.remove(&name)
                && self.ended.len() < MAX_DERIVE_TENANTS
            {
                self.ended.insert(name, tenant.status());
            }
        }
        let mut all = self.ended.clone();
        all.extend(self.tenants.iter().map(|(name, one)| (Arc::clone(name), one.status())));
        self.parts.status.set(all);
    }

    fn note(&mut self, stored: &Result<(), String>) {
        let was_failing = std::mem::replace(&mut self.is_failing, stored.is_err());
        if let Err(why) = stored {
            self.parts.status.failed_writes.fetch_add(1, Ordering::Relaxed);
            if !was_failing {
                tracing::warn!(why, "span metrics could not be stored, and are written again");
            }
        }
    }

    /// The end: what is left is counted and written, and what waits for another side does so no more.
    fn finish(&mut self) {
        // The write says if it cannot be read.
        let _ = self.catch_up();
        let now_nanos = now_nanos();
        for tenant in self.tenants.values_mut() {
            tenant.generator.expire_all(now_nanos);
        }
        if self.write().is_err() {
            return;
        }
        // Over what it wrote itself, so that the journal can let go of it.
        let mut position = None;
        while let Ok(Some(entry)) = self.parts.reader.try_next() {
            if entry.signal == kymo_journal::Signal::Traces {
                break;
            }
            position = Some(entry.next_position);
        }
        if let Some(position) = position
            && let Err(error) = self.parts.journal.advance(CURSOR, position)
        {
            tracing::debug!(%error, "the cursor of span metrics stays behind");
        }
    }
}

impl Tenant {
    fn status(&self) -> TenantStatus {
        TenantStatus::of(&self.generator).plus(self.ended)
    }

    fn tell_overflow(&mut self, name: &str) {
        let overflowed = self.generator.counts().overflowed;
        if overflowed > 0 && !std::mem::replace(&mut self.is_overflow_told, true) {
            tracing::warn!(
                tenant = name,
                series = self.generator.series(),
                "there are more span metrics than span_metrics.max_series; what comes beyond is \
                 counted without labels, as otel_metric_overflow=\"true\""
            );
        }
    }
}

/// Stores the metrics of a tenant, as a sender within the server.
fn store(
    parts: &Parts,
    tenant: &str,
    generator: &mut Generator,
    now_nanos: u64,
) -> Result<(), Failure> {
    for request in generator.requests(now_nanos) {
        let incoming = Incoming {
            tenant,
            signal: Signal::Metrics,
            protocol: Protocol::Own,
            content: Content::Otlp(Format::Protobuf),
            compression: Compression::None,
            body: Bytes::from(request),
        };
        let received = parts.runtime.block_on(parts.receiver.receive(incoming));
        if let Err(failure) = &received {
            parts.receiver.refused(tenant, Signal::Metrics, failure);
        }
        let accepted = received?;
        if let Some((count, why)) = accepted.partial.filter(|(count, _)| *count > 0) {
            tracing::debug!(tenant, count, why, "some span metrics were refused");
        }
    }
    Ok(())
}

fn now_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
