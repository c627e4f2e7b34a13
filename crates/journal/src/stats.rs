//! Counters, since the journal was opened.

use std::collections::BTreeMap;

use crate::format::Signal;

/// What the journal has done since it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Records acknowledged, without duplicates.
    pub records: u64,
    /// Their bytes in the log, headers included.
    pub bytes: u64,
    /// Calls of `fdatasync` on a segment.
    pub syncs: u64,
    /// Syncs and writes that failed and made a segment be given up.
    pub failed_segments: u64,
    /// Requests recognised as a retry.
    pub duplicates: u64,
    /// Requests refused as busy.
    pub refused_busy: u64,
    /// Bytes of a torn tail cut at open.
    pub cut_bytes: u64,
    /// Damaged ranges set aside, at open and while reading.
    pub quarantined_ranges: u64,
    /// Their bytes.
    pub quarantined_bytes: u64,
    /// Segments deleted because every cursor had passed them.
    pub deleted_segments: u64,
    /// Empty segments begun because every cursor had passed everything.
    pub renewals: u64,
    /// What consumers lost.
    pub lost: BTreeMap<LossKey, Count>,
}

/// Who lost what, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LossKey {
    /// The consumer.
    pub cursor: String,
    /// The signal; none where it is not known.
    pub signal: Option<Signal>,
    /// Why.
    pub reason: LossReason,
}

/// Why a consumer did not get records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossReason {
    /// It lagged more than its budget.
    Budget,
    /// The disk gave back other bytes than were written.
    Damage,
}

/// A number of records and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Records; 0 where only bytes are known.
    pub records: u64,
    /// Bytes, headers included.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.bytes += bytes;
    }
}

/// A count per signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BySignal([Count; 3]);

impl BySignal {
    pub(crate) fn add(&mut self, signal: Signal, records: u64, bytes: u64) {
        self.0[usize::from(signal.code()) - 1].add(records, bytes);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Signal, Count)> {
        Signal::ALL.iter().copied().zip(self.0).filter(|(_, count)| count.records > 0)
    }
}
