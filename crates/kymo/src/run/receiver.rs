//! What programs below the command send: taken in on a port of this machine, kept or sent on.
//!
//! ```text
//!  OTLP ─> inlet (bounded) ─┬─> keeper ─> Session::add_request ─> file
//!                           └─> forward ─> server
//! ```
//!
//! A program is answered as soon as its request is read and checked. If the file does not keep up,
//! programs are asked to try again, which their exporters do beside their work. A server that does
//! not keep up costs what it misses, not the file. What the file does not take in time at the end is
//! left out, counted, and said.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Receiving, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_server::inlet::{Inlet, Received};
use kymo_service::ExportSettings;
use kymo_session::Session;
use kymo_wire::Signal;
use tokio::runtime::Runtime;

use super::forward::Forward;
use super::limits::{KEEP_BYTES, KEEP_STEP, KEEP_TIMEOUT, LAST_KEEP_BYTES, STRAGGLERS};

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
                (Some((keep, keeper.state.clone())), Some(keeper))
            }
            None => (None, None),
        };
        let forward = sink.forward.clone();
        let deliver = move |received: Received| {
            if let Some(forward) = &forward {
                forward.send(received.signal, received.request.clone());
            }
            if let Some((keep, state)) = &keep {
                state.waiting.fetch_add(1, Ordering::SeqCst);
                // What comes after the end stays counted.
                let _ = keep.send(received);
            }
        };
        let inlet = runtime.block_on(Inlet::listen(deliver))?;
        Ok(Self { runtime, inlet, keeper })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.inlet.address()
    }

    /// Takes in what is still on its way, for [`STRAGGLERS`] at most and then no more; and gives it
    /// to the session, for [`KEEP_TIMEOUT`] at most. How many requests were left out.
    pub(super) fn end(self) -> u64 {
        let until = Instant::now() + STRAGGLERS;
        self.runtime.block_on(self.inlet.drain(STRAGGLERS));
        // With the last connection goes the way to the keeper.
        self.runtime.shutdown_timeout(until.saturating_duration_since(Instant::now()));
        self.keeper.map_or(0, Keeper::end)
    }
}

/// A thread that gives requests to the session, no faster than its file takes them.
struct Keeper {
    state: Arc<Keeping>,
    /// Closed when it has given all of them, or there is no time left.
    done: Receiving<()>,
}

#[derive(Debug, Default)]
struct Keeping {
    /// Requests that are not given to the session yet.
    waiting: AtomicU64,
    /// When it has to be done, once the command has ended.
    until: OnceLock<Instant>,
}

impl Keeper {
    fn start(session: Session) -> io::Result<(Sender<Received>, Self)> {
        let (sender, receiver) = channel::<Received>();
        let (working, done) = channel::<()>();
        let state = Arc::<Keeping>::default();
        let mut pace = Pace { store: session, state: state.clone(), open_bytes: 0 };
        let work = move || {
            let _working = working;
            while let Ok(received) = receiver.recv() {
                if !pace.give(received.signal, &received.request) {
                    return;
                }
                pace.state.waiting.fetch_sub(1, Ordering::SeqCst);
            }
        };
        std::thread::Builder::new().name("kymo-keep".to_owned()).spawn(work)?;
        Ok((sender, Self { state, done }))
    }

    /// Lets it give what it has, but waits for that no longer than [`KEEP_TIMEOUT`]. How many
    /// requests were left out.
    fn end(self) -> u64 {
        // Nobody else sets it.
        let _ = self.state.until.set(Instant::now() + KEEP_TIMEOUT);
        // Nothing is ever sent: it is closed, or that takes too long.
        let _ = self.done.recv_timeout(KEEP_TIMEOUT);
        self.state.waiting.load(Ordering::SeqCst)
    }
}

/// Where requests are kept: a session with a file.
trait Store {
    /// Takes a request in; it is lost if there is no room.
    fn add(&self, signal: Signal, request: &Bytes);
    /// Waits until all is in the file. False if that takes longer; or at once, if there is none.
    fn flush(&self, timeout: Duration) -> bool;
}

impl Store for Session {
    fn add(&self, signal: Signal, request: &Bytes) {
        self.add_request(signal, request.to_vec());
    }

    fn flush(&self, timeout: Duration) -> bool {
        self.flush_file(timeout)
    }
}

/// Gives requests to a session such that its queue always has room for them.
struct Pace<S> {
    store: S,
    state: Arc<Keeping>,
    /// Given, and not known to be in the file.
    open_bytes: usize,
}

impl<S: Store> Pace<S> {
    /// Gives a request; false if there is no time left for it.
    fn give(&mut self, signal: Signal, request: &Bytes) -> bool {
        while self.is_too_much(request.len()) {
            let end = self.state.until.get();
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let time = left.unwrap_or(KEEP_STEP);
            if time.is_zero() {
                return false;
            }
            let began = Instant::now();
            // One that gives up early has no file to wait for any more, and says so itself.
            if self.store.flush(time) || began.elapsed() < time {
                self.open_bytes = 0;
            }
        }
        self.store.add(signal, request);
        self.open_bytes += request.len();
        true
    }

    /// Whether the file has to be waited for first. One that is large alone has all the room there is.
    fn is_too_much(&self, bytes: usize) -> bool {
        let has_ended = self.state.until.get().is_some();
        let most = if has_ended { LAST_KEEP_BYTES } else { KEEP_BYTES };
        self.open_bytes > 0 && self.open_bytes + bytes > most
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A file that takes its time, or is none.
    #[derive(Default)]
    struct Disk {
        /// Whether it is written in time.
        is_fast: bool,
        is_lost: bool,
        added: Cell<usize>,
        flushes: Cell<usize>,
    }

    impl Store for Disk {
        fn add(&self, _: Signal, request: &Bytes) {
            self.added.set(self.added.get() + request.len());
        }

        fn flush(&self, timeout: Duration) -> bool {
            self.flushes.set(self.flushes.get() + 1);
            if !self.is_fast && !self.is_lost {
                std::thread::sleep(timeout);
            }
            self.is_fast
        }
    }

    const REQUEST_BYTES: usize = 4 << 20;

    /// Gives so many requests; how many were taken.
    fn give(pace: &mut Pace<Disk>, count: usize) -> usize {
        let request = Bytes::from(vec![0; REQUEST_BYTES]);
        (0..count).take_while(|_| pace.give(Signal::Logs, &request)).count()
    }

    fn pace(store: Disk) -> Pace<Disk> {
        Pace { store, state: Arc::default(), open_bytes: 0 }
    }

    #[test]
    fn the_file_is_waited_for_before_the_sessions_queue_is_full() {
        let mut pace = pace(Disk { is_fast: true, ..Disk::default() });
        assert_eq!(give(&mut pace, 40), 40);
        let between = KEEP_BYTES / REQUEST_BYTES;
        assert_eq!(pace.store.flushes.get(), 40 / between - 1);
        let large = Bytes::from(vec![0; LAST_KEEP_BYTES + 1]);
        assert!(pace.give(Signal::Logs, &large), "alone");
        assert_eq!(pace.store.flushes.get(), 40 / between);
    }

    #[test]
    fn a_disk_that_hangs_has_no_more_than_fits_and_the_rest_is_left_out_in_time() {
        let mut pace = pace(Disk::default());
        let began = Instant::now();
        pace.state.until.set(began + Duration::from_millis(200)).unwrap();
        let taken = give(&mut pace, 40);
        assert_eq!(taken, LAST_KEEP_BYTES / REQUEST_BYTES);
        assert_eq!(pace.store.added.get(), LAST_KEEP_BYTES);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert!(pace.store.flushes.get() < 5, "{}", pace.store.flushes.get());
    }

    #[test]
    fn a_disk_that_hangs_is_waited_for_until_the_command_has_ended() {
        let mut pace = pace(Disk::default());
        let state = pace.state.clone();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(2 * KEEP_STEP);
            state.until.set(Instant::now()).unwrap();
        });
        // What is in the queue when it ends is not more than before; then there is some room more.
        let taken = give(&mut pace, 40);
        assert_eq!(taken, LAST_KEEP_BYTES / REQUEST_BYTES);
        ending.join().unwrap();
    }

    #[test]
    fn a_file_that_is_lost_is_not_waited_for() {
        let mut pace = pace(Disk { is_lost: true, ..Disk::default() });
        let began = Instant::now();
        assert_eq!(give(&mut pace, 40), 40);
        assert!(began.elapsed() < KEEP_STEP, "{:?}", began.elapsed());
        assert!(pace.store.flushes.get() <= 40 * REQUEST_BYTES / KEEP_BYTES);
    }
}
