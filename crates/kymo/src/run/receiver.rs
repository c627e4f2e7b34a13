//! What programs below the command send: taken in on a port of this machine, kept or sent on.
//!
//! ```text
//!  OTLP ─> inlet (bounded) ─┬─> keeper ─> Session::add_request ─> file
//!                           └─> forward ─> server
//! ```
//!
//! A program is answered as soon as its request is read and checked. If the file does not keep up,
//! programs are asked to try again, which their exporters do beside their work. A server that does
//! not keep up costs what it misses, not the file.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Receiving, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use kymo_server::inlet::{Inlet, Received};
use kymo_service::ExportSettings;
use kymo_session::Session;
use tokio::runtime::Runtime;

use super::forward::Forward;
use super::limits::{KEEP_BYTES, KEEP_STEP, KEEP_TIMEOUT};

/// Where requests go.
#[derive(Debug, Clone)]
pub(super) struct Sink {
    /// The session, if it has a file.
    kept: Option<Session>,
    forward: Option<Arc<Forward>>,
}

impl Sink {
    pub(super) fn new(kept: Option<Session>, export: Option<&ExportSettings>) -> Self {
        Self { kept, forward: export.and_then(Forward::start).map(Arc::new) }
    }

    /// Everything has to be sent by then.
    pub(super) fn hurry(&self, until: Instant) {
        if let Some(forward) = &self.forward {
            forward.hurry(until);
        }
    }

    /// Waits until everything is sent, but not longer than that. Whether it was.
    pub(super) fn end(&self, until: Instant) -> bool {
        self.forward.as_ref().is_none_or(|forward| forward.end(until))
    }
}

/// The port, and the threads behind it.
pub(super) struct Receiver {
    runtime: Runtime,
    inlet: Inlet,
    keeper: Option<Keeper>,
}

impl Receiver {
    /// Listens.
    pub(super) fn start(sink: &Sink) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kymo-receive")
            .enable_all()
            .build()?;
        let (keep, keeper) = match &sink.kept {
            Some(session) => {
                let (keep, keeper) = Keeper::start(session.clone())?;
                (Some(keep), Some(keeper))
            }
            None => (None, None),
        };
        let forward = sink.forward.clone();
        let deliver = move |received: Received| {
            if let Some(forward) = &forward {
                forward.send(received.signal, received.request.clone());
            }
            if let Some(keep) = &keep {
                // Lives as long as this does.
                let _ = keep.send(received);
            }
        };
        let inlet = runtime.block_on(Inlet::listen(deliver))?;
        Ok(Self { runtime, inlet, keeper })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.inlet.address()
    }

    /// Takes in what is still on its way, for some time, and then no more.
    pub(super) fn end(self, at_most: Duration) {
        let until = Instant::now() + at_most;
        self.runtime.block_on(self.inlet.drain(at_most));
        // With the last connection goes the way to the keeper.
        self.runtime.shutdown_timeout(until.saturating_duration_since(Instant::now()));
        if let Some(keeper) = self.keeper {
            keeper.end(at_most);
        }
    }
}

/// A thread that gives requests to the session, no faster than its file takes them.
struct Keeper {
    is_ending: Arc<AtomicBool>,
    /// Closed when it has given all of them.
    done: Receiving<()>,
}

impl Keeper {
    fn start(session: Session) -> io::Result<(Sender<Received>, Self)> {
        let (sender, receiver) = channel::<Received>();
        let (working, done) = channel::<()>();
        let is_ending = Arc::new(AtomicBool::new(false));
        let is_over = is_ending.clone();
        let work = move || {
            let _working = working;
            let mut bytes = 0;
            while let Ok(received) = receiver.recv() {
                session.add_request(received.signal, received.request.to_vec());
                bytes += received.request.len();
                if bytes >= KEEP_BYTES {
                    wait_for_file(&session, &is_over);
                    bytes = 0;
                }
            }
        };
        std::thread::Builder::new().name("kymo-keep".to_owned()).spawn(work)?;
        Ok((sender, Self { is_ending, done }))
    }

    /// Lets it give what it has, but waits for that no longer than some time. From now on it does
    /// not wait for the file: the end of the session does.
    fn end(self, at_most: Duration) {
        self.is_ending.store(true, Ordering::SeqCst);
        if self.done.recv_timeout(at_most) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("not all that the command sent is in the file");
        }
    }
}

/// Waits for a session's file, in steps that are short beside the end. A flush is also one of what
/// is sent, so a server that is gone takes all the time there is.
fn wait_for_file(session: &Session, is_over: &AtomicBool) {
    let until = Instant::now() + KEEP_TIMEOUT;
    while !is_over.load(Ordering::SeqCst) && Instant::now() < until {
        if session.flush(KEEP_STEP) {
            return;
        }
    }
}
