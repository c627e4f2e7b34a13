//! What is known in memory about a segment, and how files of the journal are named.

use std::path::{Path, PathBuf};

use crate::format::Position;
use crate::limits::HEADER_BYTES;
use crate::stats::BySignal;

/// A segment that holds acknowledged records, or will.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) start: Position,
    /// Where its acknowledged records end; its start if there are none.
    pub(crate) end: Position,
    /// What it holds.
    pub(crate) totals: BySignal,
    /// How often its file was replaced by one with less in it (J8): who has it open looks again.
    pub(crate) edition: u32,
}

impl Segment {
    /// One without records.
    pub(crate) fn empty(start: Position) -> Segment {
        Segment { start, end: start, totals: BySignal::default(), edition: 0 }
    }

    /// Bytes of its records, and of damage between them.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.end.saturating_sub(self.start + HEADER_BYTES)
    }
}

const SEGMENT_SUFFIX: &str = ".kj";
const HASHES_SUFFIX: &str = ".kd";

pub(crate) fn segment_path(dir: &Path, start: Position) -> PathBuf {
    dir.join(format!("{start:020}{SEGMENT_SUFFIX}"))
}

pub(crate) fn hashes_path(dir: &Path, first: Position) -> PathBuf {
    dir.join(format!("{first:020}{HASHES_SUFFIX}"))
}

pub(crate) fn cursors_path(dir: &Path) -> PathBuf {
    dir.join("cursors")
}

pub(crate) fn lock_path(dir: &Path) -> PathBuf {
    dir.join("lock")
}

pub(crate) fn quarantine_dir(dir: &Path) -> PathBuf {
    dir.join("quarantine")
}

pub(crate) fn quarantine_path(dir: &Path, position: Position) -> PathBuf {
    quarantine_dir(dir).join(format!("{position:020}.bin"))
}

/// What a file in the directory is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment(Position),
    Hashes(Position),
    Temporary,
    Other,
}

pub(crate) fn file_kind(name: &str) -> FileKind {
    let position = |suffix| {
        let digits: &str = name.strip_suffix(suffix)?;
        let all_digits = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if all_digits { digits.parse().ok() } else { None }
    };
    if let Some(start) = position(SEGMENT_SUFFIX) {
        FileKind::Segment(start)
    } else if let Some(start) = position(HASHES_SUFFIX) {
        FileKind::Hashes(start)
    } else if name.ends_with(".tmp") {
        FileKind::Temporary
    } else {
        FileKind::Other
    }
}
