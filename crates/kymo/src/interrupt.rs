//! Ctrl-C and SIGTERM: the first asks a command to stop where that is safe, the second ends the
//! process at once. What the journal has acknowledged survives both.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// 128 and the number of SIGINT, as shells have it.
const EXIT_AT_ONCE: i32 = 130;

/// How often is looked while waiting: nobody notices a tenth of a second.
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(100);

/// Whether somebody wants the command to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag still down and only raises it.
            flag::register_conditional_shutdown(signal, EXIT_AT_ONCE, interrupt.0.clone())?;
            flag::register(signal, interrupt.0.clone())?;
        }
        Ok(interrupt)
    }

    /// Also when the terminal goes, unless that is ignored (`nohup`). It may be told twice, by the
    /// shell and by the system, so that a second time means nothing.
    pub(crate) fn with_hangup(self) -> io::Result<Self> {
        if !kymo_ci::command::is_ignored(SIGHUP) {
            flag::register(SIGHUP, self.0.clone())?;
        }
        Ok(self)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As Ctrl-C does.
    #[cfg(test)]
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Waits for some time, but not longer than until somebody wants the command to stop.
    pub(crate) fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_wanted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK_AFTER));
        }
    }
}
