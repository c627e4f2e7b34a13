//! Verifying a journal: every record read whole. Takes no lock and repairs nothing.

use std::path::Path;
use std::sync::Arc;

use kymo_journal::{Journal, OsDisk};
use serde::Serialize;

use crate::failure::Failure;
use crate::progress::Progress;

/// What a journal holds.
#[derive(Debug, Serialize)]
pub(crate) struct JournalReport {
    pub(crate) records: u64,
    /// Of tenants and bodies, without headers.
    pub(crate) size_bytes: u64,
    /// Bytes of a torn tail, never acknowledged; the next start cuts them.
    pub(crate) torn_bytes: u64,
    /// Ranges that hold no good record though they should.
    pub(crate) damaged: Vec<Range>,
    /// Records whose header is right and whose body is not.
    pub(crate) damaged_records: u64,
    /// Records whose segments are gone although a consumer needs them.
    pub(crate) missing_records: u64,
}

/// Positions in the journal.
#[derive(Debug, Serialize)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl JournalReport {
    /// Whether nothing that was acknowledged is lost.
    pub(crate) fn is_good(&self) -> bool {
        self.damaged.is_empty() && self.damaged_records == 0 && self.missing_records == 0
    }
}

/// Reads a journal.
pub(crate) fn check(dir: &Path, progress: &Progress) -> Result<JournalReport, Failure> {
    progress.doing("journal");
    let (journal, recovery) = Journal::open_read_only(Arc::new(OsDisk), dir)?;
    progress.expect(journal.end().saturating_sub(journal.oldest()));
    let mut reader = journal.reader(journal.oldest());
    let mut report = JournalReport {
        records: 0,
        size_bytes: 0,
        torn_bytes: recovery.cut_bytes,
        damaged: recovery.damaged.iter().map(|d| Range { from: d.from, to: d.to }).collect(),
        damaged_records: 0,
        missing_records: recovery.missing_records,
    };
    while let Some(entry) = reader.try_next()? {
        report.records += 1;
        report.size_bytes += (entry.tenant.len() + entry.body.len()) as u64;
        progress.advance(entry.next_position - entry.position);
    }
    // Opening looks at the headers of finished segments only; reading looks at bodies as well.
    report.damaged_records = recovery.records.saturating_sub(report.records);
    Ok(report)
}
