//! The way out of a program: bounded queues that are emptied in the background.
//!
//! ```no_run
//! use std::time::Duration;
//! use kymo_service::export::{Asked, ExportSettings, Outlet, OutletOptions, process_environment};
//! # use opentelemetry_sdk::Resource;
//! # fn main() -> Result<(), kymo_service::ServiceError> {
//! let settings = ExportSettings::resolve(&Asked::default(), process_environment)?;
//! let resource = Resource::builder().with_service_name("train").build();
//! let outlet = Outlet::start(&settings, &resource, OutletOptions::default())?;
//! outlet.spans(vec![/* … */]);
//! outlet.flush(Duration::from_secs(5));
//! outlet.shutdown(Duration::from_secs(5));
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use kymo_forward::Signal;
use opentelemetry::InstrumentationScope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLogRecord;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::trace::SpanData;

use super::exporter::Exporter;
use super::items::{Items, Logs, Metrics, Spans};
use super::lane::{Lane, SignalCounts, WhenFull};
use super::notices::{NoticeHandler, Notices, Shared};
use super::runtime;
use super::settings::ExportSettings;
use crate::error::ServiceError;
use crate::limits::{
    BATCH_ITEMS, COUNTING_TIMEOUT, QUEUE_COLLECTIONS, QUEUE_ITEMS, SHUTDOWN_TIMEOUT,
};

/// A log record and the scope that it is of.
pub type ScopedLogRecord = (SdkLogRecord, InstrumentationScope);

/// How an outlet works.
#[derive(Clone)]
pub struct OutletOptions {
    /// Spans, and log records, that may wait.
    pub queue_items: usize,
    /// Who is told that an endpoint fails or works again; without one, `tracing` is.
    pub notice: Option<NoticeHandler>,
}

impl Default for OutletOptions {
    fn default() -> Self {
        Self { queue_items: QUEUE_ITEMS, notice: None }
    }
}

impl fmt::Debug for OutletOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutletOptions")
            .field("queue_items", &self.queue_items)
            .finish_non_exhaustive()
    }
}

/// What became of everything that was handed to an outlet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// Spans.
    pub spans: SignalCounts,
    /// Collections of metrics, not data points: one without some of its points counts as failed.
    pub metrics: SignalCounts,
    /// Log records.
    pub logs: SignalCounts,
    /// What went wrong last, if anything ever did.
    pub last_error: Option<String>,
}

impl ExportCounts {
    /// Spans, collections and log records that never arrived.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let lost = |counts: &SignalCounts| counts.failed + counts.dropped;
        lost(&self.spans) + lost(&self.metrics) + lost(&self.logs)
    }
}

/// The way out of a program. Clones are the same outlet.
///
/// Handing something over never waits: if the queue is full, it is dropped and counted. An endpoint
/// that is away, slow or refuses costs a bounded amount of memory and one notice.
///
/// After a fork, the child's copy is dead: it takes nothing and does not wait in
/// [`Outlet::flush`]. A new one may be started there.
#[derive(Clone)]
pub struct Outlet {
    inner: Arc<Inner>,
}

struct Inner {
    spans: Option<Arc<Lane<SpanData>>>,
    metrics: Option<Arc<Lane<ResourceMetrics>>>,
    logs: Option<Arc<Lane<ScopedLogRecord>>>,
    shared: Arc<Shared>,
    /// The process that started it.
    process: u32,
}

impl Outlet {
    /// Starts sending. Nothing is connected before there is something to send.
    ///
    /// # Errors
    /// Settings that cannot be used (a certificate that is not there, a header that is none), and a
    /// thread that cannot be started. That nobody answers is no error.
    pub fn start(
        settings: &ExportSettings,
        resource: &Resource,
        options: OutletOptions,
    ) -> Result<Self, ServiceError> {
        let shared = Shared::new(options.notice);
        let spans = Lane::new(options.queue_items, BATCH_ITEMS, WhenFull::DropNew);
        let metrics = Lane::new(QUEUE_COLLECTIONS, 1, WhenFull::DropOld);
        let logs = Lane::new(options.queue_items, BATCH_ITEMS, WhenFull::DropNew);
        let inner = Inner {
            spans: opened(spans, Spans::of(resource), settings, &shared)?,
            metrics: opened(metrics, Metrics::default(), settings, &shared)?,
            logs: opened(logs, Logs::of(resource), settings, &shared)?,
            shared,
            process: std::process::id(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Hands over spans that have ended.
    pub fn spans(&self, spans: impl IntoIterator<Item = SpanData>) {
        if let Some(lane) = self.inner.spans.as_ref().filter(|_| self.is_alive()) {
            lane.push(spans);
        }
    }

    /// Hands over a collection of metrics. It has a resource of its own.
    pub fn metrics(&self, metrics: ResourceMetrics) {
        if let Some(lane) = self.inner.metrics.as_ref().filter(|_| self.is_alive()) {
            lane.push([metrics]);
        }
    }

    /// Hands over log records.
    pub fn logs(&self, records: impl IntoIterator<Item = ScopedLogRecord>) {
        if let Some(lane) = self.inner.logs.as_ref().filter(|_| self.is_alive()) {
            lane.push(records);
        }
    }

    /// Waits until everything handed over so far has been sent; `false` if something of it was lost
    /// or the time is over.
    #[must_use]
    pub fn flush(&self, timeout: Duration) -> bool {
        self.flush_signals(&Signal::ALL, timeout)
    }

    /// [`Outlet::flush`] for some signals.
    pub(super) fn flush_signals(&self, signals: &[Signal], timeout: Duration) -> bool {
        self.ask(signals, None, timeout)
    }

    /// Waits until the lanes of signals have sent what they have; with `end`, which they are told at
    /// the same moment, within that time.
    fn ask(&self, signals: &[Signal], end: Option<Duration>, timeout: Duration) -> bool {
        if !self.is_alive() {
            return false;
        }
        let (reply, answers) = sync_channel(signals.len());
        let mut expected = 0;
        for signal in signals {
            let (inner, reply) = (&self.inner, reply.clone());
            let is_asked = match signal {
                Signal::Traces => inner.spans.as_ref().map(|lane| lane.ask(end, reply)),
                Signal::Metrics => inner.metrics.as_ref().map(|lane| lane.ask(end, reply)),
                Signal::Logs => inner.logs.as_ref().map(|lane| lane.ask(end, reply)),
            };
            expected += usize::from(is_asked.is_some());
        }
        let deadline = Instant::now() + timeout;
        let mut is_complete = true;
        for _ in 0..expected {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok(is_sent) => is_complete &= is_sent,
                Err(_) => return false,
            }
        }
        is_complete
    }

    /// Ends: sends what is queued within `timeout`, then takes and sends nothing more. `false` if
    /// something was lost, which is counted by then. To call it again changes nothing.
    pub fn shutdown(&self, timeout: Duration) -> bool {
        // What ends, answers all who wait, once it has counted what it could not send.
        self.ask(&Signal::ALL, Some(timeout), timeout.saturating_add(COUNTING_TIMEOUT))
    }

    /// What became of everything so far.
    #[must_use]
    pub fn counts(&self) -> ExportCounts {
        let Inner { spans, metrics, logs, shared, .. } = &*self.inner;
        ExportCounts {
            spans: spans.as_ref().map(|lane| lane.counts()).unwrap_or_default(),
            metrics: metrics.as_ref().map(|lane| lane.counts()).unwrap_or_default(),
            logs: logs.as_ref().map(|lane| lane.counts()).unwrap_or_default(),
            last_error: shared.last_error(),
        }
    }

    /// Counts a collection of metrics that did not go through the queue.
    pub(super) fn count_metrics(&self, is_sent: bool) {
        if let Some(lane) = &self.inner.metrics {
            lane.count(1, is_sent);
        }
    }

    pub(super) fn metric_notices(&self, settings: &ExportSettings) -> Notices {
        Notices::new(Arc::clone(&self.inner.shared), Signal::Metrics, &settings.metrics)
    }

    /// Whether this is the process that started it.
    fn is_alive(&self) -> bool {
        self.inner.process == std::process::id()
    }
}

/// A lane that is emptied to where its signal goes; none if that is nowhere.
fn opened<I: Items>(
    lane: Arc<Lane<I::Item>>,
    items: I,
    settings: &ExportSettings,
    shared: &Arc<Shared>,
) -> Result<Option<Arc<Lane<I::Item>>>, ServiceError> {
    let destination = settings.of(I::SIGNAL);
    let Some(exporter) = Exporter::new(destination, items)? else { return Ok(None) };
    let notices = Notices::new(Arc::clone(shared), I::SIGNAL, destination);
    runtime::handle()?.spawn(Arc::clone(&lane).run(exporter, notices));
    Ok(Some(lane))
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

impl Inner {
    fn stop(&self, time: Duration) {
        if let Some(lane) = &self.spans {
            lane.stop(time);
        }
        if let Some(lane) = &self.metrics {
            lane.stop(time);
        }
        if let Some(lane) = &self.logs {
            lane.stop(time);
        }
    }
}

impl Drop for Inner {
    /// What is queued is sent if the process lives long enough; nobody waits for it.
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.stop(SHUTDOWN_TIMEOUT);
        }
    }
}
