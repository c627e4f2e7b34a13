//! What the journal knows at this moment, under one lock: the commit queue, the readable end, what
//! is remembered of it, cursors and counters. No file access here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use crate::cursors::{CursorFile, CursorOptions, Cursors};
use crate::dedup::{Dedup, Known};
use crate::format::{JournalId, Position};
use crate::limits::{HEADER_BYTES, MAX_COMMIT_BYTES};
use crate::recent::Recent;
use crate::scan::Entry;
use crate::segment::Segment;
use crate::stats::{BySignal, LossKey, LossReason, Stats};
use crate::writer::{Placed, Waiting};
use crate::{Appended, Result};

/// Gets the outcome of one append.
pub(crate) type Callback = Box<dyn FnOnce(Result<Appended>) + Send>;

/// Someone who waits for a record to be durable.
pub(crate) enum Waiter {
    /// A thread that waits for the commit condition.
    Slot(Arc<OnceLock<Result<Appended>>>),
    /// A function to call.
    Callback(Callback),
}

/// A callback whose outcome is known; to be called without any lock held.
pub(crate) type Outcome = (Callback, Result<Appended>);

pub(crate) struct State {
    pub(crate) queue: VecDeque<Waiting>,
    /// Bytes in the queue and in the commit that is under way.
    pub(crate) waiting_bytes: u64,
    /// Who waits for which request; the first has brought it, the others repeat it.
    pub(crate) in_flight: HashMap<u128, Vec<Waiter>>,
    /// Whether some thread is the commit leader.
    pub(crate) is_committing: bool,
    pub(crate) is_closed: bool,
    /// All before is acknowledged and readable.
    pub(crate) end: Position,
    /// Where the records that are on disk end.
    pub(crate) synced: Position,
    pub(crate) next_sequence: u64,
    /// Ascending; never empty once something was written.
    pub(crate) segments: VecDeque<Segment>,
    pub(crate) recent: Recent,
    pub(crate) dedup: Dedup,
    pub(crate) cursors: Cursors,
    pub(crate) stats: Stats,
}

/// The rest of a segment that a cursor jumped over, of which records have to be counted on disk.
pub(crate) struct Skipped {
    pub(crate) cursor: String,
    pub(crate) from: Position,
    pub(crate) segment: Segment,
}

impl State {
    /// Takes the next commit's records off the queue.
    pub(crate) fn take_batch(&mut self) -> Vec<Waiting> {
        let mut size_bytes = 0;
        let mut count = 0;
        for waiting in &self.queue {
            size_bytes += waiting.header.size_bytes();
            if count > 0 && size_bytes > MAX_COMMIT_BYTES {
                break;
            }
            count += 1;
        }
        self.queue.drain(..count).collect()
    }

    /// Makes records that are durable visible and tells those who wait.
    pub(crate) fn confirm(
        &mut self,
        batch: &[Waiting],
        placed: &[Placed],
        outcomes: &mut Vec<Outcome>,
    ) {
        for (waiting, place) in batch.iter().zip(placed) {
            let header = &waiting.header;
            let size_bytes = place.next_position - place.position;
            let segment = self.segment_for(place.segment_start);
            segment.end = place.next_position;
            segment.totals.add(header.signal, 1, size_bytes);
            self.end = place.next_position;
            self.next_sequence = place.sequence + 1;
            self.stats.records += 1;
            self.stats.bytes += size_bytes;
            self.waiting_bytes -= size_bytes;
            self.dedup.insert(Known {
                hash: header.hash,
                received_nanos: header.received_nanos,
                position: place.position,
                next_position: place.next_position,
                sequence: place.sequence,
            });
            self.recent.push(Entry {
                position: place.position,
                next_position: place.next_position,
                sequence: place.sequence,
                received_nanos: header.received_nanos,
                signal: header.signal,
                format: header.format,
                compression: header.compression,
                tenant: Arc::clone(&waiting.tenant),
                body: waiting.body.clone(),
            });
            let appended = Appended {
                position: place.position,
                next_position: place.next_position,
                sequence: place.sequence,
                duplicate: false,
            };
            self.finish(header.hash, &Ok(appended), outcomes);
        }
    }

    /// Tells those who wait that their records could not be written.
    pub(crate) fn fail(
        &mut self,
        batch: &[Waiting],
        error: &crate::Error,
        outcomes: &mut Vec<Outcome>,
    ) {
        for waiting in batch {
            self.waiting_bytes -= waiting.header.size_bytes();
            self.finish(waiting.header.hash, &Err(error.clone()), outcomes);
        }
    }

    fn finish(&mut self, hash: u128, result: &Result<Appended>, outcomes: &mut Vec<Outcome>) {
        for (index, waiter) in self.in_flight.remove(&hash).into_iter().flatten().enumerate() {
            let duplicate = index > 0;
            let result = result.clone().map(|appended| Appended { duplicate, ..appended });
            self.stats.duplicates += u64::from(duplicate && result.is_ok());
            match waiter {
                Waiter::Slot(slot) => {
                    let _ = slot.set(result);
                }
                Waiter::Callback(callback) => outcomes.push((callback, result)),
            }
        }
    }

    fn segment_for(&mut self, start: Position) -> &mut Segment {
        if self.segments.back().is_none_or(|segment| segment.start != start) {
            self.segments.push_back(Segment::empty(start));
        }
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }

    /// The oldest position that is still there; the end if there is no record.
    pub(crate) fn oldest(&self) -> Position {
        let first = self.segments.front().map(|segment| segment.start + HEADER_BYTES);
        first.map_or(self.end, |first| first.min(self.end))
    }

    /// The segment in which the first record at or after `position` is.
    pub(crate) fn segment_at(&self, position: Position) -> Option<Segment> {
        let index = self.segments.partition_point(|segment| segment.end <= position);
        self.segments.range(index..).find(|segment| segment.record_bytes() > 0).copied()
    }

    /// Lets cursors that lag more than their budget jump over whole segments, and counts the loss
    /// as far as it is known in memory; the rest is returned.
    pub(crate) fn enforce_budgets(&mut self) -> Vec<Skipped> {
        let mut skipped = Vec::new();
        for (name, cursor) in &mut self.cursors.by_name {
            let Some(CursorOptions { budget_bytes: Some(budget), back_pressure: false }) =
                cursor.options
            else {
                continue;
            };
            while self.end.saturating_sub(cursor.position) > budget {
                let index = self.segments.partition_point(|seg| seg.end <= cursor.position);
                let (Some(&segment), Some(next)) =
                    (self.segments.get(index), self.segments.get(index + 1))
                else {
                    break;
                };
                if cursor.position > segment.start + HEADER_BYTES {
                    let from = cursor.position;
                    skipped.push(Skipped { cursor: name.clone(), from, segment });
                } else {
                    count_loss(&mut self.stats, name, &segment.totals);
                }
                cursor.position = next.start + HEADER_BYTES;
                tracing::warn!(
                    cursor = name,
                    position = cursor.position,
                    "over its budget, records skipped"
                );
            }
        }
        skipped
    }

    /// Counts a damaged range as lost for every cursor that has not passed it.
    pub(crate) fn count_damage(&mut self, from: Position, to: Position, records: u64) {
        for (name, cursor) in &self.cursors.by_name {
            if cursor.position < to {
                let reason = LossReason::Damage;
                let key = LossKey { cursor: name.clone(), signal: None, reason };
                self.stats.lost.entry(key).or_default().add(records, to - from);
            }
        }
    }

    /// Whether every cursor has passed everything, nothing is about to be written, and the last
    /// segment holds more than `limit_bytes` of records.
    pub(crate) fn is_renewable(&self, limit_bytes: u64) -> bool {
        let is_quiet = self.queue.is_empty() && !self.is_committing;
        let is_passed = self.cursors.least() >= Some(self.end);
        let last = self.segments.back();
        is_quiet && is_passed && last.is_some_and(|last| last.record_bytes() > limit_bytes)
    }

    /// Whether some segment is not needed by anyone.
    pub(crate) fn has_deletable(&self) -> bool {
        let oldest_end = self.segments.front().map(|segment| segment.end);
        self.segments.len() > 1 && oldest_end <= self.cursors.least() && oldest_end.is_some()
    }

    /// Forgets the segments that are not needed by anyone, and returns them. The last stays (J5).
    pub(crate) fn take_deletable(&mut self) -> Vec<Segment> {
        let mut deletable = Vec::new();
        while self.has_deletable() {
            deletable.extend(self.segments.pop_front());
        }
        deletable
    }

    /// What the file `cursors` is to hold.
    pub(crate) fn cursor_file(&self, id: JournalId) -> CursorFile {
        let positions =
            self.cursors.by_name.iter().map(|(name, cursor)| (name.clone(), cursor.position));
        CursorFile {
            id,
            synced: self.synced,
            next_sequence: self.next_sequence,
            positions: positions.collect(),
        }
    }
}

/// Counts records that a cursor jumped over.
pub(crate) fn count_loss(stats: &mut Stats, cursor: &str, totals: &BySignal) {
    for (signal, count) in totals.iter() {
        let key =
            LossKey { cursor: cursor.to_owned(), signal: Some(signal), reason: LossReason::Budget };
        stats.lost.entry(key).or_default().add(count.records, count.bytes);
    }
}
