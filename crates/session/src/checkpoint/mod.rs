//! The checkpoint: what a session leaves on disk (`docs/formats/checkpoint.md`).
//!
//! Lines grow in memory until they are large enough or old enough, then a thread of its own writes
//! and syncs them. So a busy session writes few, long lines, a quiet one is in the file within half
//! the bound, and nobody waits for a disk.

pub(crate) mod file;
pub(crate) mod json;
mod lines;

pub(crate) use lines::Lines;

use std::time::{Duration, Instant};

use crate::limits::LINE_BYTES;
use file::CheckpointFile;

/// The version of the format.
pub const VERSION: u32 = 1;

/// Lines on their way into a file.
pub(crate) struct Writer {
    file: Option<CheckpointFile>,
    pub(crate) lines: Lines,
    /// Lines are written when they are so old.
    write_after: Duration,
    oldest: Option<Instant>,
    /// When a sync was last asked for, and whether something was written since.
    synced: Instant,
    is_unsynced: bool,
}

impl Writer {
    pub(crate) fn new(file: Option<CheckpointFile>, lines: Lines, flush_every: Duration) -> Self {
        // The other half is for the sync.
        let write_after = flush_every / 2;
        Self { file, lines, write_after, oldest: None, synced: Instant::now(), is_unsynced: false }
    }

    /// Whether anything is kept.
    pub(crate) fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// When something must be written or synced.
    pub(crate) fn due(&self) -> Option<Instant> {
        let write = self.oldest.map(|oldest| oldest + self.write_after);
        let sync = self.is_unsynced.then(|| self.synced + self.write_after);
        write.into_iter().chain(sync).min()
    }

    /// After something was added: writes what has grown large. `count` messages are handled.
    pub(crate) fn added(&mut self, count: u64) {
        if self.lines.is_empty() {
            return;
        }
        self.oldest.get_or_insert_with(Instant::now);
        if self.lines.bytes() >= LINE_BYTES {
            self.write(count);
        }
    }

    /// Writes and syncs what is old enough.
    pub(crate) fn tick(&mut self, count: u64) {
        if self.due().is_some_and(|due| Instant::now() >= due) {
            self.write(count);
        }
    }

    /// Hands over what waits.
    pub(crate) fn write(&mut self, count: u64) {
        self.oldest = None;
        let Some(file) = &self.file else {
            self.lines.clear();
            return;
        };
        for lines in self.lines.take(|| file.buffer()) {
            file.append(lines);
            self.is_unsynced = true;
        }
        if let Some(error) = file.error() {
            self.give_up(&error);
        } else if self.is_unsynced && self.synced.elapsed() >= self.write_after {
            self.sync(count);
        }
    }

    /// Has what was written synced; true if somebody will say when that is done.
    pub(crate) fn sync(&mut self, count: u64) -> bool {
        let Some(file) = &self.file else { return false };
        (self.synced, self.is_unsynced) = (Instant::now(), false);
        file.sync(count);
        true
    }

    /// No file any more.
    pub(crate) fn give_up(&mut self, why: &str) {
        tracing::warn!("{why}; the session goes on without");
        self.file = None;
        // Nothing is due any more.
        (self.oldest, self.is_unsynced) = (None, false);
    }

    /// Closes the file when everything is synced.
    pub(crate) fn close(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        file.close();
        if let Some(error) = file.error() {
            self.give_up(&error);
        }
    }
}
