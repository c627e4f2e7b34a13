//! What ought to be in the store: for each record, how often it must and may be found.

use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_store::Signal;

use crate::requests::{NAMES, Sent};

/// Two tenants, one of which needs escaping in paths.
pub const TENANTS: [&str; 2] = ["default", "team/ü"];
/// The signals that are simulated.
pub const SIGNALS: [Signal; 3] = [Signal::Spans, Signal::Logs, Signal::Series];

/// How often a record must and may be there.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Tenant and signal.
    pub place: (&'static str, Signal),
    /// Its time.
    pub time_nanos: u64,
    /// Copies that were acknowledged and must be there; for spans and points at most 1, since
    /// compaction drops exact duplicates.
    pub least: usize,
    /// Copies that were ever sent, less those that retention removed.
    pub most: usize,
    /// Nodes that must show it, as bits: the one that acknowledged it, and all once it is flushed.
    pub shown_by: u32,
    /// Whether retention took copies.
    pub was_removed: bool,
}

/// A request that was sent, and may be again.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where it was sent to.
    pub node: usize,
    /// Tenant and signal.
    pub place: (&'static str, Signal),
    /// Its bytes.
    pub body: Bytes,
    /// What is in it.
    pub records: Vec<Sent>,
    /// When it was last stored, as far as is known.
    pub stored_nanos: Option<i64>,
    /// Whether it was acknowledged since then.
    pub is_acknowledged: bool,
}

/// The model.
#[derive(Debug, Default)]
pub struct Model {
    /// By number.
    pub records: BTreeMap<u64, Expected>,
    /// All requests.
    pub requests: Vec<Request>,
    /// A full disk may cost the hashes by which retries are recognised.
    pub may_forget_hashes: bool,
}

/// How long a retry is surely recognised, and after which it surely is not.
const RETRY_NANOS: std::ops::Range<i64> = 590_000_000_000..610_000_000_000;

impl Model {
    /// A request is about to be sent: it may be stored from now on.
    pub fn sending(&mut self, request: usize, now_nanos: i64) {
        let request = &mut self.requests[request];
        let known = request.stored_nanos;
        let is_retry = known.is_some_and(|stored| now_nanos - stored < RETRY_NANOS.start);
        if is_retry && !self.may_forget_hashes {
            return;
        }
        request.stored_nanos = Some(now_nanos);
        request.is_acknowledged &= known.is_some_and(|stored| now_nanos - stored < RETRY_NANOS.end);
        for sent in &request.records {
            let place = request.place;
            let record = self.records.entry(sent.id).or_insert(Expected {
                place,
                time_nanos: sent.time_nanos,
                least: 0,
                most: 0,
                shown_by: 0,
                was_removed: false,
            });
            record.most += 1;
        }
    }

    /// It was acknowledged, as a retry or not.
    pub fn acknowledged(&mut self, request: usize, is_duplicate: bool, now_nanos: i64) {
        let request = &mut self.requests[request];
        if !is_duplicate {
            request.stored_nanos = Some(now_nanos);
        }
        let was_acknowledged = std::mem::replace(&mut request.is_acknowledged, true);
        if was_acknowledged {
            return;
        }
        for sent in &request.records {
            let Some(record) = self.records.get_mut(&sent.id) else { continue };
            // What others showed before may be lost.
            let shown_before = if record.least == 0 { 0 } else { record.shown_by };
            record.shown_by = shown_before | 1 << request.node;
            let least = match (is_duplicate, request.place.1) {
                // An earlier copy, which retention may have taken.
                (true, _) => record.least.max(usize::from(!record.was_removed)),
                (false, Signal::Spans | Signal::Series) => 1,
                (false, Signal::Logs) => record.least + 1,
            };
            record.least = least.min(record.most);
        }
    }

    /// Whether a retry that is acknowledged now must be recognised.
    pub fn must_recognise(&self, request: usize, now_nanos: i64) -> bool {
        let request = &self.requests[request];
        let stored = request.stored_nanos.is_some_and(|at| now_nanos - at < RETRY_NANOS.start);
        stored && request.is_acknowledged && !self.may_forget_hashes
    }

    /// A copy was removed by retention.
    pub fn removed(&mut self, id: u64) {
        if let Some(record) = self.records.get_mut(&id) {
            record.was_removed = true;
            record.most = record.most.saturating_sub(1);
            record.least = match record.place.1 {
                Signal::Spans | Signal::Series => 0,
                Signal::Logs => record.least.saturating_sub(1),
            };
        }
    }

    /// A copy may be lost: a disk changed a bit, or retention's answer is not known.
    pub fn may_be_lost(&mut self, id: u64) {
        if let Some(record) = self.records.get_mut(&id) {
            record.was_removed = true;
            record.least = 0;
        }
    }

    /// Records of a place with a name were deleted, all that were acknowledged; or perhaps, if the
    /// answer is not known or other nodes had some in memory.
    pub fn deleted(&mut self, place: (&'static str, Signal), number: u64, surely: bool) {
        let unanswered = self.requests.iter().filter(|request| !request.is_acknowledged);
        let mut may_come: BTreeMap<u64, usize> = BTreeMap::new();
        for sent in unanswered.flat_map(|request| &request.records) {
            *may_come.entry(sent.id).or_default() += 1;
        }
        for (id, record) in &mut self.records {
            if record.place == place && *id % NAMES == number {
                (record.least, record.was_removed) = (0, true);
                if surely {
                    record.most = record.most.min(may_come.get(id).copied().unwrap_or(0));
                }
            }
        }
    }

    /// Everything is in blocks: all nodes must show it.
    pub fn flushed(&mut self) {
        self.records.values_mut().for_each(|record| record.shown_by = u32::MAX);
    }

    /// Compares what a node shows of a tenant and signal.
    pub fn check(
        &self,
        node: usize,
        place: (&'static str, Signal),
        found: &BTreeMap<(u64, u64), usize>,
    ) {
        for (&(id, time_nanos), &count) in found {
            let Some(expected) = self.records.get(&id) else {
                panic!("record {id} at {place:?} was never sent");
            };
            let is_same = expected.place == place && expected.time_nanos == time_nanos;
            assert!(is_same, "record {id} is not what was sent: {expected:?}");
            let most = expected.most;
            assert!(count <= most, "record {id} at {place:?} is there {count} times, not {most}");
        }
        let bit = 1 << node;
        for (&id, expected) in self.records.iter().filter(|(_, record)| record.place == place) {
            let count = found.get(&(id, expected.time_nanos)).copied().unwrap_or(0);
            let least = if expected.shown_by & bit == 0 { 0 } else { expected.least };
            assert!(count >= least, "record {id} at {place:?}: {count} of {least} on node {node}");
        }
    }
}
