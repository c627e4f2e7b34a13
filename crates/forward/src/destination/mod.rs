//! Destinations: who gets what is received, each at its own pace.
//!
//! ```text
//!            ┌─ cursor forward/hub ──> worker ──> OTLP over gRPC or HTTP
//!  journal ──┼─ cursor forward/prom ─> worker ──> Prometheus' remote-write
//!            └─ cursor forward/file ─> worker ──> file, console
//! ```
//!
//! Promised: a request that was acknowledged is sent at least once, requests of one destination in
//! the order of the journal (with a concurrency of one), and bytes that no rule changes stay as they
//! came. A destination that is slow or away holds up nobody; it may lag by its budget, and what is
//! lost beyond that is counted. What a server refuses for good is set aside in a file and counted.
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | the list `destinations:` |
//! | [`mod@check`] | what is wrong with it |
//! | [`status`] | what each has done and how it is |
//! | `worker` | the thread of one |
//! | `prepare`, `selection`, `ratio` | what goes of a record, and in which format |
//! | `tail` | whole traces, chosen when they are complete |
//! | `outgoing`, `progress` | requests on their way, and how far the cursor may move |
//! | `deliver`, `verdict` | one request until it is taken; what answers mean |
//! | `http`, `connect`, `body` | one try; the client for it; its bytes |
//! | `credentials`, `tls` | who we are, and whom we trust |
//! | `redact` | what servers say, without our credentials |
//! | `lines`, `file` | the console, and files that are put aside when they are full |
//! | `prometheus` | OTLP's metrics as remote-write, and back |
//! | `refused` | what a server did not want |
//! | `pack` | packing and unpacking |
//! | `stop` | the end |

mod body;
pub mod check;
mod connect;
mod credentials;
mod deliver;
mod file;
mod http;
mod lines;
mod outgoing;
mod pack;
mod prepare;
mod progress;
mod prometheus;
mod ratio;
mod redact;
mod refused;
mod selection;
pub mod settings;
pub mod status;
mod stop;
mod tail;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tls;
mod verdict;
mod worker;

pub use check::{DestinationProblem, check};
pub use lines::Console;
pub use settings::{BasicSettings, DestinationProtocol, DestinationSettings};
pub use status::{DestinationState, DestinationStatus, LastError, SignalStatus};

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kymo_journal::{CursorOptions, Journal};
use kymo_wire::remote_write::Version;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::limits::STOP_WAIT;
use deliver::Courier;
use http::HttpSender;
use lines::LineWriter;
use prepare::Preparer;
use prometheus::Translator;
use refused::RefusedFile;
use selection::Selection;
use status::Meter;
use stop::Stop;
use tail::Tail;
use worker::{Parts, Target, Worker};

/// Why destinations could not be started.
#[derive(Debug, Error)]
pub enum DestinationError {
    /// Settings that do not make sense: see [`check()`].
    #[error("{0}")]
    Settings(String),
    /// The journal does not take the cursor of one.
    #[error("destination {name:?}: {source}")]
    Journal {
        /// The destination.
        name: String,
        /// What the journal said.
        source: kymo_journal::Error,
    },
    /// The system has no thread for one.
    #[error("destination {name:?}: cannot start a thread: {source}")]
    Thread {
        /// The destination.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What destinations need beside their settings.
pub struct StartOptions {
    /// Where refused requests are set aside: in `forward/<name>` below.
    pub data_dir: PathBuf,
    /// What sends.
    pub runtime: Handle,
    /// Where the lines of protocol `console` go.
    pub console: Console,
}

impl StartOptions {
    /// With the console on standard output.
    #[must_use]
    pub fn new(data_dir: &Path, runtime: Handle) -> Self {
        let console: Console = Arc::new(Mutex::new(std::io::stdout()));
        Self { data_dir: data_dir.to_owned(), runtime, console }
    }
}

/// Destinations at work. Dropping it tells them to stop, and does not wait.
pub struct Destinations {
    journal: Journal,
    running: Vec<Running>,
    stop: Arc<Stop>,
    ends: Mutex<Vec<oneshot::Receiver<()>>>,
}

struct Running {
    settings: DestinationSettings,
    meter: Arc<Meter>,
}

impl Destinations {
    /// Starts those that are on. Each has a cursor `forward/<name>`; a new one begins at the oldest
    /// record of the journal. Cursors of destinations that are off, or not there any more, are not
    /// registered: [`Journal::retire_unregistered`] drops them.
    ///
    /// # Errors
    /// Settings that [`check()`] finds wrong, files with certificates that cannot be read, or a
    /// journal that does not take a cursor. Then none is running. That nobody answers is no error.
    pub fn start(
        journal: &Journal,
        all: &[DestinationSettings],
        options: &StartOptions,
    ) -> Result<Self, DestinationError> {
        let problems: Vec<String> = check(all).iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(DestinationError::Settings(problems.join("; ")));
        }
        let stop = Arc::new(Stop::new());
        let mut this =
            Self { journal: journal.clone(), running: Vec::new(), stop, ends: Mutex::default() };
        let mut workers = Vec::new();
        for settings in all.iter().filter(|settings| settings.enabled) {
            let meter = Arc::new(Meter::default());
            let worker = worker(journal, settings, options, &meter, &this.stop)?;
            this.running.push(Running { settings: settings.clone(), meter });
            workers.push((settings, worker));
        }
        for (settings, worker) in workers {
            let (ended, end) = oneshot::channel();
            let thread = std::thread::Builder::new().name(thread_name(&settings.name));
            let started = thread.spawn(move || {
                worker.run();
                // Nobody waits if it was dropped.
                let _ = ended.send(());
            });
            // Dropping what was started so far tells it to stop.
            started.map_err(|source| {
                let name = settings.name.clone();
                DestinationError::Thread { name, source }
            })?;
            this.ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
            tracing::info!(destination = settings.name, "{}", settings.describe());
        }
        Ok(this)
    }

    /// How each is, in the order of the settings.
    #[must_use]
    pub fn status(&self) -> Vec<DestinationStatus> {
        let status = |running: &Running| running.meter.status(&running.settings, &self.journal);
        self.running.iter().map(status).collect()
    }

    /// Stops them. Requests on their way have a second to end; what was not taken is sent when
    /// destinations are started again.
    pub async fn stop(&self) {
        self.stop.tell();
        let ends: Vec<_> =
            self.ends.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        for end in ends {
            // A file system that hangs must not hang whoever stops us.
            let _ = tokio::time::timeout(STOP_WAIT * 2, end).await;
        }
    }
}

impl Drop for Destinations {
    fn drop(&mut self) {
        self.stop.tell();
    }
}

impl fmt::Debug for Destinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.running.iter().map(|running| running.settings.name.as_str());
        f.debug_list().entries(names).finish()
    }
}

/// Names of threads are cut by the system after 15 letters.
fn thread_name(name: &str) -> String {
    format!("kymo-to-{name}")
}

fn worker(
    journal: &Journal,
    settings: &DestinationSettings,
    options: &StartOptions,
    meter: &Arc<Meter>,
    stop: &Arc<Stop>,
) -> Result<Worker, DestinationError> {
    let wrong = |message: String| {
        DestinationError::Settings(format!("destination {:?}: {message}", settings.name))
    };
    let tail = settings.sampling.as_ref().and_then(|sampling| sampling.tail.as_ref());
    let tail = tail.map(Tail::new).transpose().map_err(wrong)?;
    let dir = options.data_dir.join("forward").join(&settings.name);
    let tail = tail.map(|tail| tail.with_decisions_in(&dir));
    let remote_write = (settings.protocol == DestinationProtocol::RemoteWrite).then(|| {
        let version = if settings.version == Some(2) { Version::Two } else { Version::One };
        (version, Translator::default())
    });
    let preparer = Preparer {
        selection: Selection::new(settings).map_err(wrong)?,
        remote_write,
        holds_spans: tail.is_some(),
    };
    let target = if settings.protocol.is_remote() {
        let sender = HttpSender::new(settings).map_err(wrong)?;
        let (meter, stop) = (Arc::clone(meter), Arc::clone(stop));
        let courier = Courier::new(sender, &settings.name, settings.retry, meter, stop);
        Target::Remote {
            courier: Arc::new(courier),
            runtime: options.runtime.clone(),
            concurrency: settings.concurrency,
        }
    } else {
        Target::Lines(LineWriter::new(settings, &options.console).map_err(wrong)?)
    };
    let cursor = settings.cursor();
    let cursor_options =
        CursorOptions { budget_bytes: Some(settings.budget), back_pressure: false };
    let reader =
        journal.register(&cursor, cursor_options).and_then(|_| journal.cursor_reader(&cursor));
    let reader = reader
        .map_err(|source| DestinationError::Journal { name: settings.name.clone(), source })?;
    Ok(Worker::new(Parts {
        name: settings.name.clone(),
        cursor,
        journal: journal.clone(),
        reader,
        preparer,
        tail,
        target,
        retry: settings.retry,
        refused: RefusedFile::new(dir),
        meter: Arc::clone(meter),
        stop: Arc::clone(stop),
    }))
}
