//! What an import did, counted.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use serde::Serialize;

use crate::table::Facts;
use crate::units;

/// The result of an import. What is counted here is in the store.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) files: u64,
    /// Requests that were read, duplicates among them.
    pub(crate) requests: u64,
    /// Requests, lines and files that could not be read.
    pub(crate) unreadable: u64,
    /// Spans, points and log records that were stored, by signal.
    pub(crate) records: BTreeMap<&'static str, u64>,
    /// Records that were refused, by reason.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// What was put right in records, by kind.
    pub(crate) repaired: BTreeMap<&'static str, u64>,
    /// Requests that had been received within the last minutes, and their records.
    pub(crate) duplicate_requests: u64,
    pub(crate) duplicate_records: u64,
    /// Spans that compaction found to be there already.
    pub(crate) duplicate_spans_dropped: u64,
    pub(crate) interrupted: bool,
    pub(crate) seconds: f64,
    pub(crate) records_per_second: f64,
    /// Bytes of the tenant's blocks, and how many of them are new.
    pub(crate) block_bytes: u64,
    pub(crate) new_block_bytes: i64,
    pub(crate) bytes_per_record: f64,
}

impl Summary {
    /// Everything that was stored.
    pub(crate) fn total_records(&self) -> u64 {
        self.records.values().sum()
    }

    /// Sets what is known at the end.
    pub(crate) fn finish(&mut self, took: Duration, bytes_before: u64, bytes_after: u64) {
        let records = self.total_records();
        self.seconds = took.as_secs_f64();
        self.records_per_second = records as f64 / self.seconds.max(1e-9);
        self.block_bytes = bytes_after;
        self.new_block_bytes = bytes_after.cast_signed() - bytes_before.cast_signed();
        if records > 0 {
            self.bytes_per_record = self.new_block_bytes as f64 / records as f64;
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = Facts::default();
        facts.add("files", units::count(self.files));
        facts.add("requests", units::count(self.requests));
        if self.unreadable > 0 {
            facts.add("not readable", units::count(self.unreadable));
        }
        facts.add("records", units::count(self.total_records()));
        for (signal, count) in &self.records {
            facts.add(format!("  {signal}"), units::count(*count));
        }
        facts.add("refused", units::count(self.refused.values().sum()));
        for (reason, count) in &self.refused {
            facts.add(format!("  {reason}"), units::count(*count));
        }
        if !self.repaired.is_empty() {
            facts.add("repaired", units::count(self.repaired.values().sum()));
        }
        for (kind, count) in &self.repaired {
            facts.add(format!("  {kind}"), units::count(*count));
        }
        let repeated = units::count(self.duplicate_requests);
        let records = units::count(self.duplicate_records);
        facts.add("duplicates", format!("{repeated} requests with {records} records"));
        if self.duplicate_spans_dropped > 0 {
            let spans = units::count(self.duplicate_spans_dropped);
            facts.add("  dropped", format!("{spans} spans that were there already"));
        }
        let rate = units::count(self.records_per_second as u64);
        facts.add("time", format!("{:.1} s, {rate} records/s", self.seconds));
        let total = units::bytes(self.block_bytes);
        let new = units::bytes(u64::try_from(self.new_block_bytes).unwrap_or(0));
        let per_record = self.bytes_per_record;
        facts.add("blocks", format!("{total}, {new} of it new, {per_record:.1} bytes per record"));
        facts.fmt(f)
    }
}
