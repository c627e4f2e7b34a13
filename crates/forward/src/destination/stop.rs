//! The end of a destination, for threads and for tasks.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Told once, heard by everybody.
#[derive(Debug)]
pub(crate) struct Stop {
    told: watch::Sender<bool>,
    is_told: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn new() -> Self {
        Self {
            told: watch::Sender::new(false),
            is_told: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Tells everybody.
    pub(crate) fn tell(&self) {
        *self.is_told.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
        self.told.send_replace(true);
    }

    /// Whether it was told.
    pub(crate) fn is_told(&self) -> bool {
        *self.told.borrow()
    }

    /// Blocks for a time, or until it is told; whether it is.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let is_told = self.is_told.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_told, time, |is_told| !*is_told);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sleeps for a time, or until it is told; whether it is.
    pub(crate) async fn sleep(&self, time: Duration) -> bool {
        let mut told = self.told.subscribe();
        tokio::time::timeout(time, told.wait_for(|is_told| *is_told)).await.is_ok()
    }
}
