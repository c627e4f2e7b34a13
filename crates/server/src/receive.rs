//! One request, from bytes to acknowledgement: the same for every protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use kymo_admit::audience::Audience;
use kymo_admit::{
    Admission, Admitted, Compression, Counts, Format, PushFormat, Rates, Signal, Version,
};
use kymo_journal::{Journal, Record};
use tokio::sync::{Semaphore, oneshot};

use crate::answer::Failure;
use crate::body::{Bounds, Budget};
use crate::limits::{INLINE_CHECK_BYTES, INLINE_DECODE_BYTES};
use crate::live::{Live, Stored};
use crate::telemetry::{Protocol, Receipt, Telemetry};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Incoming<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) signal: Signal,
    pub(crate) protocol: Protocol,
    pub(crate) content: Content,
    pub(crate) compression: Compression,
    pub(crate) body: Bytes,
}

/// What a body holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A request of OTLP.
    Otlp(Format),
    /// One of Prometheus' remote-write.
    RemoteWrite(Version),
    /// What is pushed to Loki.
    Push(PushFormat),
}

/// What was accepted, durable by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Records refused, and words about that and other changes.
    pub(crate) partial: Option<(u64, String)>,
    /// What of a remote-write request was kept.
    pub(crate) written: Option<Counts>,
}

/// Takes requests in.
pub(crate) struct Receiver {
    admission: Arc<Admission>,
    /// Who is recorded, as admission knows it.
    audience: Audience,
    rates: Rates,
    journal: Journal,
    /// Whether what is admitted is kept.
    is_recording: bool,
    telemetry: Arc<Telemetry>,
    timeout: Duration,
    pub(crate) budget: Arc<Budget>,
    /// Turns at decoding large bodies: as many as there are cores to do it.
    decoding: Semaphore,
    is_stopping: AtomicBool,
    /// When something new was last stored, for those who wait for quiet.
    last_stored: Arc<LastTime>,
    /// Those who watch what is stored.
    pub(crate) live: Arc<Live>,
}

impl Receiver {
    pub(crate) fn new(
        admission: Admission,
        journal: Journal,
        is_recording: bool,
        telemetry: Arc<Telemetry>,
        max_receiving_bytes: usize,
        timeout: Duration,
    ) -> Self {
        let audience = Audience::default();
        Self {
            admission: Arc::new(admission.with_audience(audience.clone())),
            audience,
            rates: Rates::default(),
            journal,
            is_recording,
            telemetry,
            timeout,
            budget: Budget::new(max_receiving_bytes),
            decoding: Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)),
            is_stopping: AtomicBool::new(false),
            last_stored: Arc::new(LastTime::new()),
            live: Arc::default(),
        }
    }

    /// Who is recorded.
    pub(crate) fn audience(&self) -> &Audience {
        &self.audience
    }

    /// From now on everything is refused, to be sent again later.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Time since something new was last stored.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.last_stored.elapsed()
    }

    /// How the body of a request of this tenant may come.
    pub(crate) fn bounds(&self, tenant: &str) -> Bounds {
        Bounds::new(self.admission.limits_for(tenant).max_request_bytes, self.timeout)
    }

    /// Counts a request that was not accepted.
    pub(crate) fn refused(&self, tenant: &str, signal: Signal, failure: &Failure) {
        self.telemetry.request_refused(tenant, signal, failure.reason);
        // The message may quote what was sent, and so somebody who is not to be recorded.
        tracing::debug!(tenant, %signal, reason = failure.reason, "a request was refused");
    }

    /// Admits a request and returns when it is durable.
    pub(crate) async fn receive(&self, incoming: Incoming<'_>) -> Result<Accepted, Failure> {
        let began = Instant::now();
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(Failure::stopping());
        }
        let Incoming { tenant, signal, protocol, .. } = incoming;
        let received_bytes = incoming.body.len() as u64;
        let limits = self.admission.limits_for(tenant);
        self.rates.take_bytes(tenant, limits, received_bytes).map_err(Failure::too_fast)?;
        let admitted = self.admit(incoming).await?;
        self.rates.take_records(tenant, limits, admitted.items).map_err(Failure::too_fast)?;
        let partial = admitted.partial_success();
        let written = admitted.remote_write.map(|request| request.counts);
        let receipt = Receipt { tenant: tenant.to_owned(), signal, protocol, received_bytes };
        self.append(receipt, admitted).await?;
        self.telemetry.acknowledged(signal, protocol, began.elapsed());
        Ok(Accepted { partial, written })
    }

    async fn admit(&self, incoming: Incoming<'_>) -> Result<Admitted, Failure> {
        let Incoming { tenant, signal, content, compression, body, .. } = incoming;
        let inline_bytes = match (content, compression) {
            (Content::Otlp(Format::Protobuf), Compression::None) => INLINE_CHECK_BYTES,
            _ => INLINE_DECODE_BYTES,
        };
        let is_inline = body.len() <= inline_bytes;
        let admit = || match content {
            Content::Otlp(format) => {
                self.admission.admit(tenant, signal, format, compression, body)
            }
            Content::RemoteWrite(version) => {
                self.admission.admit_remote_write(tenant, version, compression, body)
            }
            Content::Push(format) => self.admission.admit_push(tenant, format, compression, body),
        };
        if is_inline {
            return Ok(admit()?);
        }
        // Each may take as much memory as a decompressed body may have.
        let _turn = self.decoding.acquire().await;
        Ok(tokio::task::block_in_place(admit)?)
    }

    /// Makes a request durable, unless nothing of it is left.
    async fn append(&self, receipt: Receipt, admitted: Admitted) -> Result<(), Failure> {
        if admitted.is_empty() || !self.is_recording {
            self.telemetry.received(&receipt, &admitted, false);
            return Ok(());
        }
        let tenant = receipt.tenant.clone();
        let record = record(&tenant, receipt.signal, &admitted);
        let (sender, receiver) = oneshot::channel();
        let (telemetry, last_stored) = (self.telemetry.clone(), self.last_stored.clone());
        let (live, admission) = (self.live.clone(), self.admission.clone());
        self.journal.append_with(record, move |appended| {
            // Counted here, so that a record counts too whose sender has gone.
            if let Ok(appended) = &appended {
                telemetry.received(&receipt, &admitted, appended.duplicate);
                admission.remember(&admitted.log_keys);
                // What the server gathers itself is no sign of life.
                if !appended.duplicate && !receipt.protocol.is_gathered() {
                    last_stored.set_now();
                }
                if !appended.duplicate && admitted.remote_write.is_none() {
                    live.stored(&receipt.tenant, || Stored {
                        signal: receipt.signal,
                        compression: admitted.compression,
                        body: admitted.body.clone(),
                    });
                }
            }
            // A sender that has gone does not want to know.
            let _ = sender.send(appended);
        });
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(Ok(appended)) => Ok(appended.map(drop)?),
            Ok(Err(_)) => Err(Failure::stopping()),
            Err(_) => Err(Failure::timeout(self.timeout)),
        }
    }
}

/// What an admitted request is in the journal.
fn record<'a>(tenant: &'a str, signal: Signal, admitted: &Admitted) -> Record<'a> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Record {
        signal: match signal {
            Signal::Traces => kymo_journal::Signal::Traces,
            Signal::Metrics => kymo_journal::Signal::Metrics,
            Signal::Logs => kymo_journal::Signal::Logs,
        },
        format: match admitted.remote_write.map(|request| request.version) {
            None => kymo_journal::Format::OtlpProtobuf,
            Some(Version::One) => kymo_journal::Format::RemoteWrite1,
            Some(Version::Two) => kymo_journal::Format::RemoteWrite2,
        },
        compression: match admitted.compression {
            Compression::None => kymo_journal::Compression::None,
            Compression::Gzip => kymo_journal::Compression::Gzip,
            Compression::Deflate => kymo_journal::Compression::Deflate,
            Compression::Zstd => kymo_journal::Compression::Zstd,
            Compression::Snappy => kymo_journal::Compression::Snappy,
        },
        tenant,
        body: admitted.body.clone(),
        received_nanos: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
    }
}

/// When something last happened.
#[derive(Debug)]
struct LastTime {
    started: Instant,
    millis: AtomicU64,
}

impl LastTime {
    fn new() -> Self {
        Self { started: Instant::now(), millis: AtomicU64::new(0) }
    }

    fn set_now(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    fn elapsed(&self) -> Duration {
        let last = Duration::from_millis(self.millis.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }
}
