//! Processes below the command whose parents are gone.
//!
//! A program that becomes a daemon starts a process that starts another and ends, so that the last
//! one is nobody's child: it would leave the tree. While a command runs, this process takes such
//! orphans in (`PR_SET_CHILD_SUBREAPER`), so that they still count. Whoever takes them in must wait
//! for them when they end, which is done here; what they used is then found where everything is
//! that this process waited for.

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, WaitOptions, set_child_subreaper, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::{Handle, Signals};

/// Takes orphans in until it is ended.
#[derive(Debug)]
pub(super) struct Orphans {
    is_adopting: bool,
    signals: Mutex<Option<Signals>>,
    handle: Option<Handle>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Orphans {
    /// From now on. Where the system does not offer it, orphans are not counted.
    pub(super) fn adopt() -> Self {
        // A signal that comes before anybody listens would be missed.
        let signals = Signals::new([SIGCHLD]).ok();
        let is_adopting = signals.is_some() && set_child_subreaper(Pid::from_raw(1)).is_ok();
        let handle = signals.as_ref().map(Signals::handle);
        Self { is_adopting, signals: Mutex::new(signals), handle, thread: Mutex::new(None) }
    }

    /// Waits for all children but one, which somebody else waits for, as they end.
    pub(super) fn reap_all_but(&self, command: u32) {
        let signals = self.signals.lock().ok().and_then(|mut signals| signals.take());
        let Some(mut signals) = signals.filter(|_| self.is_adopting) else { return };
        let work = move || {
            for _ in signals.forever() {
                reap(command);
            }
            reap(command);
        };
        let spawned = thread::Builder::new().name("kymo-orphans".to_owned()).spawn(work);
        match (spawned, self.thread.lock()) {
            (Ok(spawned), Ok(mut thread)) => *thread = Some(spawned),
            (Ok(_), Err(_)) => {}
            // They stay as they ended, and go with this process.
            (Err(error), _) => tracing::debug!(%error, "nobody waits for orphans"),
        }
    }

    /// Takes no more in.
    pub(super) fn end(&self) {
        if self.is_adopting {
            let _ = set_child_subreaper(None);
        }
        if let Some(handle) = &self.handle {
            handle.close();
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Waits for children that have ended, but not for the command.
fn reap(command: u32) {
    for child in children() {
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        if child != command && pid.is_some() {
            // Fails for those that live, or that are somebody else's to wait for.
            let _ = waitpid(pid, WaitOptions::NOHANG);
        }
    }
}

/// All children of this process, as the kernel lists them for each thread.
fn children() -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let list = |thread: std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    let lists: String = threads.flatten().map(list).collect();
    lists.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
