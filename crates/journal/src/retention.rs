//! Keeps the directory small: writes the cursors, deletes segments nobody needs, keeps their hashes.
//!
//! All of it is best effort and safe to lose: a cursor that was not written goes back, a segment that
//! was not deleted is deleted later. On a full disk segments are deleted although cursors and hashes
//! cannot be written, since only that makes room again; every consumer has passed them, so at worst
//! a retry is stored twice.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use crate::dedup;
use crate::disk::write_atomically;
use crate::format::Position;
use crate::journal::{Shared, lock};
use crate::limits::CURSOR_WRITE_INTERVAL;
use crate::scan::{Check, Found, Scan};
use crate::segment::{Segment, cursors_path, hashes_path, segment_path};
use crate::state::{Skipped, count_loss};
use crate::stats::{BySignal, LossKey, LossReason};

/// What only [`Shared::tidy`] uses.
#[derive(Debug)]
pub(crate) struct Tidying {
    /// `.kd` files: start and newest receive time.
    pub(crate) hash_files: Vec<(Position, u64)>,
    /// Hashes below this are in `.kd` files.
    pub(crate) hashes_saved_to: Position,
    pub(crate) cursors_written: Option<SystemTime>,
}

impl Shared {
    /// Deletes what can be deleted, and writes the cursors if it is time, or `now`.
    pub(crate) fn tidy(&self, now: bool) {
        if self.is_read_only {
            return;
        }
        let mut tidying = lock(&self.tidying);
        let time = self.disk.now();
        let is_due = tidying.cursors_written.is_none_or(|written| {
            time.duration_since(written).map_or(true, |since| since >= CURSOR_WRITE_INTERVAL)
        });
        let (deletable, known, expired_before, file) = {
            let mut state = lock(&self.state);
            if !now && !is_due && !state.has_deletable() {
                return;
            }
            let deletable = state.take_deletable();
            let to = deletable.last().map_or(0, |segment| segment.end);
            let known = state.dedup.range(tidying.hashes_saved_to, to);
            let expired_before = state.dedup.expired_before();
            state.stats.deleted_segments += deletable.len() as u64;
            (deletable, known, expired_before, state.cursor_file(self.id))
        };
        let path = cursors_path(&self.dir);
        match write_atomically(&*self.disk, &path, &file.encode()) {
            Ok(()) => tidying.cursors_written = Some(time),
            Err(error) => tracing::warn!(%error, "cannot write the cursors"),
        }
        if deletable.is_empty() {
            return;
        }
        if let Err(error) = self.save_hashes(&mut tidying, &deletable, &known, expired_before) {
            tracing::warn!(%error, "cannot keep the hashes of deleted segments");
            if error.kind() != io::ErrorKind::StorageFull {
                // The files stay, and the next open finds them and their hashes again.
                return;
            }
        }
        if let Err(error) = self.delete(&deletable) {
            tracing::warn!(%error, "cannot delete segments that nobody needs");
        }
    }

    fn save_hashes(
        &self,
        tidying: &mut Tidying,
        deletable: &[Segment],
        known: &[dedup::Known],
        expired_before: u64,
    ) -> io::Result<()> {
        let fresh: Vec<_> =
            known.iter().filter(|one| one.received_nanos >= expired_before).copied().collect();
        if let (Some(first), Some(newest)) =
            (fresh.first(), fresh.iter().map(|one| one.received_nanos).max())
        {
            // Named by what is in it: a segment's start can come up twice, if its removal was lost
            // in a crash, and the second time its hashes are already in another file.
            let path = hashes_path(&self.dir, first.position);
            write_atomically(&*self.disk, &path, &dedup::encode(&self.id, &fresh))?;
            tidying.hash_files.push((first.position, newest));
        }
        tidying.hashes_saved_to = deletable.last().map_or(0, |segment| segment.end);
        let expired = |&(_, newest): &(Position, u64)| newest < expired_before;
        for (start, _) in tidying.hash_files.iter().copied().filter(expired) {
            self.disk.remove(&hashes_path(&self.dir, start))?;
        }
        tidying.hash_files.retain(|file| !expired(file));
        Ok(())
    }

    fn delete(&self, segments: &[Segment]) -> io::Result<()> {
        for segment in segments {
            self.disk.remove(&segment_path(&self.dir, segment.start))?;
        }
        self.disk.sync_dir(&self.dir)
    }

    /// Counts the records in the parts of segments that cursors jumped over.
    pub(crate) fn count_skipped(&self, skipped: &[Skipped]) {
        for Skipped { cursor, from, segment } in skipped {
            let mut totals = BySignal::default();
            let complete = self.count_records(*from, segment, &mut totals).is_some();
            let mut state = lock(&self.state);
            count_loss(&mut state.stats, cursor, &totals);
            if !complete {
                let reason = LossReason::Budget;
                let key = LossKey { cursor: cursor.clone(), signal: None, reason };
                let counted: u64 = totals.iter().map(|(_, count)| count.bytes).sum();
                let bytes = (segment.end - from).saturating_sub(counted);
                state.stats.lost.entry(key).or_default().add(0, bytes);
            }
        }
    }

    /// None if the segment could not be read to its end.
    fn count_records(
        &self,
        from: Position,
        segment: &Segment,
        totals: &mut BySignal,
    ) -> Option<()> {
        let file = self.disk.open(&segment_path(&self.dir, segment.start)).ok()?;
        let mut scan = Scan::new(Arc::from(file), self.id, segment.start, from, Check::Headers);
        scan.set_limit(segment.end);
        loop {
            match scan.next().ok()? {
                Found::Record { header, .. } => totals.add(header.signal, 1, header.size_bytes()),
                Found::Damage { .. } => {}
                Found::End { at } => return (at == segment.end).then_some(()),
            }
        }
    }
}
