//! What is derived from what is stored: metrics of spans, and of services that call each other.
//!
//! ```text
//!  journal ── cursor derive/spanmetrics ──> worker (a thread): count ──> every interval ──> Receiver
//! ```
//!
//! A consumer of the journal like the store and destinations: it never stands between a sender and
//! its answer, reads what it missed when it was slow, and sees what was acknowledged once, since
//! retries are not in the journal. What it makes is stored as any sender's metrics, under the tenant
//! of the spans, so that limits, rules and destinations see them too.
//!
//! The cursor moves when what was counted up to it has been stored, or a limit of its tenant refused
//! it: one tenant does not hold up the journal for all. Counters begin at zero with the process; what
//! a crash took with it is read again. Only a crash between the write of metrics and that of the
//! cursor, some milliseconds of each interval, counts an interval twice.
//!
//! | module | what it holds |
//! |---|---|
//! | `worker` | the thread |
//! | `status` | how it is, for people and metrics |
//! | `http` | `/api/span-metrics` |

mod http;
mod status;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use kymo_journal::{CursorOptions, Journal};
use kymo_spanmetrics::Settings;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::ServerError;
use crate::limits::{DERIVE_BUDGET_BYTES, DERIVE_STOP_TIMEOUT};
use crate::receive::Receiver;
pub(crate) use http::over_http;
pub(crate) use status::{DeriveStatus, TenantStatus};
use worker::{Parts, Worker};

/// The consumer's name in the journal.
pub(crate) const CURSOR: &str = "derive/spanmetrics";

/// What is derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeriveOptions {
    /// Whether metrics are made of spans.
    pub enabled: bool,
    /// How often they are written.
    pub interval: Duration,
    /// Which, and how they are named.
    pub settings: Settings,
}

impl Default for DeriveOptions {
    fn default() -> Self {
        let settings = Settings::default();
        Self { enabled: true, interval: Duration::from_secs(15), settings }
    }
}

/// What the worker is asked.
enum Call {
    /// To write what was acknowledged until now, and say how that went.
    Write(oneshot::Sender<Result<(), String>>),
    /// To end.
    Stop(oneshot::Sender<()>),
}

/// The way to the worker. Its thread ends with the journal, if it is not told to before.
#[derive(Clone)]
pub(crate) struct Deriving {
    calls: Sender<Call>,
    status: Arc<DeriveStatus>,
}

impl Deriving {
    /// Begins to count what is acknowledged from now on, or since a server that derived stopped.
    pub(crate) async fn start(
        options: &DeriveOptions,
        journal: &Journal,
        receiver: &Arc<Receiver>,
    ) -> Result<Self, ServerError> {
        let problems = options.settings.problems();
        if let Some((key, what)) = problems.first() {
            return Err(ServerError::Setting(format!("span_metrics.{key}: {what}")));
        }
        let owned = journal.clone();
        let registered = tokio::task::spawn_blocking(move || register(&owned));
        let failed = |error: String| ServerError::Setting(format!("{CURSOR}: {error}"));
        let registered = registered.await.map_err(|error| failed(error.to_string()))?;
        let reader = registered.map_err(|error| failed(error.to_string()))?;
        let (calls, called) = channel();
        let status = Arc::new(DeriveStatus::new(journal.clone()));
        let worker = Worker::new(Parts {
            options: options.clone(),
            journal: journal.clone(),
            reader,
            receiver: receiver.clone(),
            runtime: Handle::current(),
            called,
            status: status.clone(),
        });
        let thread = std::thread::Builder::new().name("kymo-derive".to_owned());
        thread.spawn(move || worker.run()).map_err(ServerError::Thread)?;
        Ok(Self { calls, status })
    }

    pub(crate) fn status(&self) -> &Arc<DeriveStatus> {
        &self.status
    }

    /// Counts what was acknowledged before, and returns when the metrics of it are stored.
    pub(crate) async fn write(&self) -> Result<(), String> {
        let ended = || "the server stops".to_owned();
        let (sender, receiver) = oneshot::channel();
        self.calls.send(Call::Write(sender)).map_err(|_| ended())?;
        receiver.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Counts what is left, writes for the last time, and ends.
    pub(crate) async fn stop(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.calls.send(Call::Stop(sender)).is_err() {
            return;
        }
        // A worker that is gone does not answer either.
        if tokio::time::timeout(DERIVE_STOP_TIMEOUT, receiver).await.is_err() {
            tracing::warn!(
                "span metrics take long to be written; what is missing is counted after the next start"
            );
        }
    }
}

/// Takes up the cursor. A new one begins with what comes from now on: what was there before is not
/// of this moment, and would look like a burst.
fn register(journal: &Journal) -> Result<kymo_journal::Reader, kymo_journal::Error> {
    let is_new = journal.cursors().iter().all(|cursor| cursor.name != CURSOR);
    let end = journal.end();
    let options = CursorOptions { budget_bytes: Some(DERIVE_BUDGET_BYTES), back_pressure: false };
    journal.register(CURSOR, options)?;
    if is_new {
        journal.advance_now(CURSOR, end)?;
    }
    journal.cursor_reader(CURSOR)
}
