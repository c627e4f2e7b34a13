//! How much all texts of an answer may grow to: each is bounded, but there may be many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::MAX_ANSWER_INTERPOLATED_BYTES;

/// What is left, shared by all clones.
#[derive(Debug, Clone)]
pub struct Room(Arc<AtomicUsize>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(MAX_ANSWER_INTERPOLATED_BYTES)))
    }
}

impl Room {
    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Takes the room of a text; the last one may be longer than what is left.
    pub(super) fn take(&self, bytes: usize) {
        let left = |left: usize| Some(left.saturating_sub(bytes));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}
