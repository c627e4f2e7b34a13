//! GPUs, asked in a thread of their own.
//!
//! NVIDIA's library may hang with its driver, for as long as the machine runs. So nobody waits for
//! this thread, not even at the end: it is woken by a poll, which takes what was answered last. While
//! polls are further apart than [`GPU_REFRESH`] it asks by itself in between, so that an answer is
//! about that old at most; one older than [`GPU_ANSWER_AGE`] is of a driver that hangs, or of before a
//! fork, and counts no more.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::Instant;

use super::{GpuProcess, GpuUsage, NodeOptions};
use crate::gpu::GpuUsages;
use crate::limits::{GPU_ANSWER_AGE, GPU_REFRESH, GPU_UNASKED};

/// What GPUs said.
#[derive(Debug, Clone, Default)]
pub(crate) struct GpuAnswer {
    pub(crate) gpus: Vec<GpuUsage>,
    pub(crate) processes: Vec<GpuProcess>,
}

/// The thread, as a probe knows it. Dropped, it ends when it can.
#[derive(Debug)]
pub(super) struct GpuThread {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug)]
struct Shared {
    began: Instant,
    /// When the last poll was, in milliseconds since `began`.
    polled_ms: AtomicU64,
    has_ended: AtomicBool,
    answer: Mutex<Option<(Instant, GpuAnswer)>>,
}

impl GpuThread {
    /// Starts it; none if the system has no thread left.
    pub(super) fn start(options: &NodeOptions) -> Option<Self> {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            polled_ms: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
            answer: Mutex::new(None),
        });
        let (library, with_processes) = (options.nvml_library.clone(), options.gpu_processes);
        let of_thread = shared.clone();
        let asking = move || ask_again_and_again(&of_thread, library, with_processes);
        let thread = thread::Builder::new().name("kymo-gpu".to_owned()).spawn(asking);
        match thread {
            Ok(thread) => Some(Self { shared, thread: thread.thread().clone() }),
            Err(error) => {
                tracing::warn!(%error, "no GPU usage, as there is no thread to ask for it");
                None
            }
        }
    }

    /// What was answered last, unless that is too long ago; and asks anew.
    pub(super) fn answer(&self) -> Option<GpuAnswer> {
        let polled_ms = u64::try_from(self.shared.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.shared.polled_ms.store(polled_ms, Ordering::Relaxed);
        self.thread.unpark();
        // The thread holds it for a moment only. After a fork it may be held forever.
        let last = self.shared.answer.try_lock().ok()?;
        let (at, answer) = last.as_ref()?;
        (at.elapsed() <= GPU_ANSWER_AGE).then(|| answer.clone())
    }
}

impl Drop for GpuThread {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Shared {
    /// Whether anybody still wants to know.
    fn is_polled(&self) -> bool {
        let polled_ms = u128::from(self.polled_ms.load(Ordering::Relaxed));
        self.began.elapsed().as_millis().saturating_sub(polled_ms) < GPU_UNASKED.as_millis()
    }
}

fn ask_again_and_again(shared: &Shared, library: Option<PathBuf>, with_processes: bool) {
    let mut usages = GpuUsages::new(library);
    while !shared.has_ended.load(Ordering::Relaxed) {
        if shared.is_polled() {
            let answer = usages.ask(with_processes);
            if let Ok(mut last) = shared.answer.lock() {
                *last = answer.map(|answer| (Instant::now(), answer));
            }
        }
        // Without a driver there is nothing to refresh; a poll wakes this all the same.
        if usages.is_absent() || !shared.is_polled() {
            thread::park();
        } else {
            thread::park_timeout(GPU_REFRESH);
        }
    }
}
