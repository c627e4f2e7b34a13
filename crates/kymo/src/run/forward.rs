//! What programs below the command send, on to a server.
//!
//! One queue for each signal, in order. A server that cannot be reached is tried again while the
//! command runs; what it does not take in time, or refuses, is left out, counted, and said once. A
//! full queue leaves out what comes last, so that neither the command nor the file waits for a
//! server.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_forward::{Client, Signal, until};
use kymo_service::ExportSettings;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::limits::{FORWARD_BYTES, FORWARD_QUEUE, FORWARD_TIMEOUT};

/// Queues to a server.
#[derive(Debug)]
pub(super) struct Forward {
    lanes: Vec<Lane>,
    runtime: Mutex<Option<Runtime>>,
}

#[derive(Debug)]
struct Lane {
    signal: Signal,
    queue: mpsc::Sender<Bytes>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that are neither sent nor left out, and their bytes.
    open: AtomicU64,
    open_bytes: AtomicUsize,
    left_out: AtomicU64,
    /// When the end is, once it is known.
    until: Mutex<Option<Instant>>,
}

impl Forward {
    /// Starts, with those signals that have a server; none if that cannot be.
    pub(super) fn start(export: &ExportSettings) -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kymo-forward")
            .enable_all()
            .build()
            .map_err(|error| tracing::warn!(%error, "what the command sends is not sent on"))
            .ok()?;
        let mut lanes = Vec::new();
        for signal in Signal::ALL {
            let Some(settings) = export.of(signal).otlp() else { continue };
            match Client::new(settings, signal) {
                Ok(client) => {
                    let (queue, waiting) = mpsc::channel(FORWARD_QUEUE);
                    let state = Arc::new(State::default());
                    runtime.spawn(send_all(client, waiting, state.clone()));
                    lanes.push(Lane { signal, queue, state });
                }
                Err(error) => tracing::warn!("{signal} of the command are not sent on: {error}"),
            }
        }
        Some(Self { lanes, runtime: Mutex::new(Some(runtime)) })
    }

    /// Puts a request into its queue, unless that is full. Does not wait.
    pub(super) fn send(&self, signal: Signal, request: Bytes) {
        let Some(lane) = self.lanes.iter().find(|lane| lane.signal == signal) else { return };
        let size_bytes = request.len();
        lane.state.add(size_bytes);
        let has_room = lane.state.open_bytes.load(Ordering::SeqCst) <= FORWARD_BYTES;
        if !has_room || lane.queue.try_send(request).is_err() {
            lane.state.left_out.fetch_add(1, Ordering::SeqCst);
            lane.state.done(size_bytes);
        }
    }

    /// All has to be sent by then.
    pub(super) fn hurry(&self, until: Instant) {
        for lane in &self.lanes {
            *lane.state.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
    }

    /// Waits until all is sent, but not longer than that, and says what was not. Whether all was.
    pub(super) fn end(&self, until: Instant) -> bool {
        let open = |lane: &Lane| lane.state.open.load(Ordering::SeqCst);
        while self.lanes.iter().any(|lane| open(lane) > 0) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let left_out = |lane: &Lane| lane.state.left_out.load(Ordering::SeqCst) + open(lane);
        let left_out: u64 = self.lanes.iter().map(left_out).sum();
        if left_out > 0 {
            tracing::warn!("requests that were not sent on, or not kept whole: {left_out}");
        }
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
        left_out == 0
    }
}

impl State {
    fn add(&self, size_bytes: usize) {
        self.open.fetch_add(1, Ordering::SeqCst);
        self.open_bytes.fetch_add(size_bytes, Ordering::SeqCst);
    }

    fn done(&self, size_bytes: usize) {
        self.open_bytes.fetch_sub(size_bytes, Ordering::SeqCst);
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn send_all(client: Client, mut waiting: mpsc::Receiver<Bytes>, state: Arc<State>) {
    let mut is_told = false;
    while let Some(request) = waiting.recv().await {
        let end = *state.until.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + FORWARD_TIMEOUT;
        let deadline = end.map_or(deadline, |end| end.min(deadline));
        let why = match until(&client, &request, deadline).await {
            Err(error) => Some(error.to_string()),
            Ok(Some(partial)) if partial.rejected > 0 => Some(partial.to_string()),
            Ok(_) => None,
        };
        if let Some(why) = why {
            state.left_out.fetch_add(1, Ordering::SeqCst);
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!("what the command sends is not all sent on: {why}");
            }
        }
        state.done(request.len());
    }
}
