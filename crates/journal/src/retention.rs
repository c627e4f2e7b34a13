//! Keeps the directory small: writes the cursors, deletes segments nobody needs, keeps their hashes as
//! long as someone may retry.
//!
//! The last segment is never deleted (J5). When everyone has passed all of it, an empty one is begun
//! after it (J7), so an idle journal is a segment header, the cursors and some hashes.
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
use crate::limits::{CURSOR_WRITE_INTERVAL, MAX_MERGED_HASHES, RETRY_WINDOW};
use crate::scan::{Check, Found, Scan};
use crate::segment::{Segment, cursors_path, hashes_path, segment_path};
use crate::state::{Skipped, count_loss};
use crate::stats::{BySignal, LossKey, LossReason};

/// A `.kd` file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashFile {
    /// What it is named by: the position of the first record in it.
    pub(crate) first: Position,
    pub(crate) entries: usize,
    /// Newest receive time in it; none if nobody needs the file.
    pub(crate) newest_nanos: Option<u64>,
    pub(crate) written: SystemTime,
}

/// What only [`Shared::tidy`] uses.
#[derive(Debug)]
pub(crate) struct Tidying {
    /// `.kd` files, in the order of their names.
    pub(crate) hash_files: Vec<HashFile>,
    /// Hashes below this are in `.kd` files.
    pub(crate) hashes_saved_to: Position,
    pub(crate) cursors_written: Option<SystemTime>,
}

impl Shared {
    /// Begins an empty segment after one that holds more than `limit_bytes` of records, all of them
    /// passed by everyone, so that it can be deleted. Not now, if that fails or someone appends.
    pub(crate) fn renew(&self, limit_bytes: u64) {
        if self.is_read_only || !lock(&self.state).is_renewable(limit_bytes) {
            return;
        }
        // Whoever moves the end holds the writer, so what is true now stays true.
        let mut writer = lock(&self.writer);
        if !lock(&self.state).is_renewable(limit_bytes) {
            return;
        }
        let renewed = writer.renew();
        let mut state = lock(&self.state);
        state.stats.syncs = writer.syncs();
        state.synced = writer.synced();
        match renewed {
            Ok(start) => {
                state.segments.push_back(Segment::empty(start));
                state.stats.renewals += 1;
            }
            Err(error) => tracing::warn!(%error, "cannot begin an empty segment"),
        }
    }

    /// Deletes what can be deleted, and writes the cursors if it is time, or `now`.
    pub(crate) fn tidy(&self, now: bool) {
        if self.is_read_only {
            return;
        }
        let mut tidying = lock(&self.tidying);
        self.renew(self.idle_bytes);
        let time = self.disk.now();
        let is_due = tidying.cursors_written.is_none_or(|written| {
            time.duration_since(written).map_or(true, |since| since >= CURSOR_WRITE_INTERVAL)
        });
        let (deletable, expired_before, file) = {
            let mut state = lock(&self.state);
            if !now && !is_due && !state.has_deletable() {
                return;
            }
            let deletable = state.take_deletable();
            let expired_before = state.dedup.expired_before();
            state.stats.deleted_segments += deletable.len() as u64;
            (deletable, expired_before, state.cursor_file(self.id))
        };
        let path = cursors_path(&self.dir);
        match write_atomically(&*self.disk, &path, &file.encode()) {
            Ok(()) => tidying.cursors_written = Some(time),
            Err(error) => tracing::warn!(%error, "cannot write the cursors"),
        }
        let saved = match deletable.last() {
            Some(last) => self.save_hashes(&mut tidying, last.end, expired_before, time),
            None => Ok(()),
        };
        self.remove_expired_hashes(&mut tidying, expired_before, time);
        if let Err(error) = saved {
            tracing::warn!(%error, "cannot keep the hashes of deleted segments");
            if error.kind() != io::ErrorKind::StorageFull {
                // The files stay, and the next open finds them and their hashes again.
                return;
            }
        }
        if deletable.is_empty() {
            return;
        }
        if let Err(error) = self.delete(&deletable) {
            tracing::warn!(%error, "cannot delete segments that nobody needs");
        }
    }

    /// Writes the hashes of records below `to` that are not in a file yet.
    pub(crate) fn save_hashes(
        &self,
        tidying: &mut Tidying,
        to: Position,
        expired_before: u64,
        time: SystemTime,
    ) -> io::Result<()> {
        let fresh_from = |from| {
            let mut known = lock(&self.state).dedup.range(from, to);
            known.retain(|one| one.received_nanos >= expired_before);
            known
        };
        let mut fresh = fresh_from(tidying.hashes_saved_to);
        let last = tidying.hash_files.last_mut();
        let mut joined = last.filter(|last| {
            last.newest_nanos.is_some() && last.entries + fresh.len() <= MAX_MERGED_HASHES
        });
        if let (Some(file), false) = (&joined, fresh.is_empty()) {
            fresh = fresh_from(file.first);
        }
        if let Some(first) = fresh.first().map(|one| one.position) {
            // Named by what is in it: a segment's start can come up twice, if its removal was lost
            // in a crash, and the second time its hashes are already in another file.
            let path = hashes_path(&self.dir, first);
            write_atomically(&*self.disk, &path, &dedup::encode(&self.id, &fresh))?;
            if let Some(file) = &mut joined {
                file.newest_nanos = None;
            }
            // The file it was joined with has the same name unless its first hashes have expired.
            tidying.hash_files.retain(|file| file.first != first);
            tidying.hash_files.push(HashFile {
                first,
                entries: fresh.len(),
                newest_nanos: fresh.iter().map(|one| one.received_nanos).max(),
                written: time,
            });
        }
        tidying.hashes_saved_to = tidying.hashes_saved_to.max(to);
        Ok(())
    }

    /// Removes the `.kd` files that nobody needs, by the records' clock or, when none come, by ours.
    fn remove_expired_hashes(&self, tidying: &mut Tidying, expired_before: u64, time: SystemTime) {
        tidying.hash_files.retain(|file| {
            let age = time.duration_since(file.written).unwrap_or_default();
            let is_recent = file.newest_nanos.is_some_and(|newest| newest >= expired_before);
            if is_recent && age <= RETRY_WINDOW {
                return true;
            }
            match self.disk.remove(&hashes_path(&self.dir, file.first)) {
                Ok(()) => false,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => {
                    tracing::warn!(%error, "cannot remove hashes that nobody needs");
                    true
                }
            }
        });
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
