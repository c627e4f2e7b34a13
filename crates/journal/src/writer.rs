//! Writes batches of records into segments: the half of the journal that only the commit leader
//! touches.
//!
//! Promises (see the invariants in `docs/formats/journal.md`): what [`Writer::write`] returns is on
//! disk, or written with [`Durability::Memory`], together with all before it (J1). After an error the
//! segment is given up at its last acknowledged record and the next write begins a new one (J2). It
//! never appends to a file it did not create (J4), nor to one after which it tried to begin another
//! (J7).

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::{Disk, DiskFile};
use crate::format::{JournalId, Position, RecordHeader, SegmentHeader};
use crate::limits::{ALIGN_BYTES, GATHER_MIN_BYTES, HEADER_BYTES};
use crate::segment::segment_path;
use crate::{Durability, Error, Result};

/// A record on its way to the disk; its sequence is set when it is written.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) header: RecordHeader,
    pub(crate) tenant: Arc<str>,
    pub(crate) body: Bytes,
}

/// Where a record went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) segment_start: Position,
    pub(crate) position: Position,
    pub(crate) next_position: Position,
    pub(crate) sequence: u64,
}

/// The end of the log.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    id: JournalId,
    durability: Durability,
    segment_bytes: u64,
    /// What is preallocated at first.
    idle_bytes: u64,
    active: Option<Active>,
    /// Where the acknowledged records end.
    end: Position,
    /// Where those of them end that are on disk.
    synced: Position,
    /// The next segment starts here at the earliest: no two share a name, not even with one that
    /// was given up and removed.
    lowest_start: Position,
    next_sequence: u64,
    syncs: u64,
    /// Reused for headers and small bodies.
    scratch: Vec<u8>,
}

/// The segment being written.
struct Active {
    start: Position,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// How far records may reach; 0 before the first.
    capacity: u64,
    /// How far the file is preallocated.
    reserved: u64,
    /// File offset of the next record; 0 before the header is written.
    offset: u64,
    /// Whether its name is on disk.
    is_named: bool,
}

/// A part of a gather write.
enum Piece {
    /// A range of the scratch buffer.
    Scratch(usize, usize),
    /// The body of a record of the batch.
    Body(usize),
}

impl Writer {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: &Path,
        id: JournalId,
        options: &crate::Options,
        end: Position,
        lowest_start: Position,
        next_sequence: u64,
    ) -> Writer {
        Writer {
            disk,
            dir: dir.to_owned(),
            id,
            durability: options.durability,
            segment_bytes: options.segment_bytes,
            idle_bytes: options.idle_bytes,
            active: None,
            end,
            synced: end,
            lowest_start,
            next_sequence,
            syncs: 0,
            scratch: Vec::new(),
        }
    }

    /// Where the records that are on disk end.
    pub(crate) fn synced(&self) -> Position {
        self.synced
    }

    /// Calls of `fdatasync` so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.syncs
    }

    /// Writes as many records from the front of `batch` as one segment takes, at least one.
    ///
    /// After an error nothing of it counts as written.
    pub(crate) fn write(&mut self, batch: &[Waiting]) -> Result<Vec<Placed>> {
        let Some(first) = batch.first() else { return Ok(Vec::new()) };
        let record_bytes = first.header.size_bytes();
        let is_full = self.active.as_ref().is_some_and(|active| {
            active.capacity > 0 && active.offset + record_bytes > active.capacity
        });
        if is_full {
            self.seal();
        }
        let mut active = match self.active.take() {
            Some(active) => active,
            None => self.begin()?,
        };
        if active.capacity == 0 {
            active.capacity = self.segment_bytes.max(HEADER_BYTES + record_bytes);
        }
        match self.write_to(&mut active, batch) {
            Ok(placed) => {
                self.active = Some(active);
                Ok(placed)
            }
            Err(error) => {
                self.give_up(active);
                Err(error.in_dir(&self.dir))
            }
        }
    }

    /// Begins a segment that holds nothing but its header, and returns its start. It is on disk
    /// then, with its name, whatever the durability: what came before it may be deleted.
    ///
    /// After an error all is as before, except that the next write begins a segment.
    pub(crate) fn renew(&mut self) -> Result<Position> {
        // First of all, and for good: the new header voids whatever would follow in the old segment,
        // and can be there after a crash even if it could not be synced and was removed (J7).
        self.seal();
        let mut active = self.begin()?;
        match self.write_header(&mut active) {
            Ok(()) => {
                let start = active.start;
                self.active = Some(active);
                Ok(start)
            }
            Err(error) => {
                self.give_up(active);
                Err(error.in_dir(&self.dir))
            }
        }
    }

    /// Lets the log go on at `position`, after its end.
    pub(crate) fn skip_to(&mut self, position: Position) {
        self.seal();
        self.lowest_start = self.lowest_start.max(position);
    }

    /// Ends the segment being written if it has records before `position`.
    pub(crate) fn seal_before(&mut self, position: Position) {
        let has_records = |active: &Active| active.offset > HEADER_BYTES && active.start < position;
        if self.active.as_ref().is_some_and(has_records) {
            self.seal();
        }
    }

    /// Where the segment begins that is being written.
    pub(crate) fn active_start(&self) -> Option<Position> {
        self.active.as_ref().map(|active| active.start)
    }

    /// Ends the segment being written; the next record begins a new one.
    pub(crate) fn seal(&mut self) {
        let Some(active) = self.active.take() else { return };
        if self.durability == Durability::Memory {
            self.syncs += 1;
            let synced = active.file.sync_data().and_then(|()| self.disk.sync_dir(&self.dir));
            match synced {
                Ok(()) => self.synced = self.end,
                Err(error) => {
                    tracing::warn!(path = %active.path.display(), %error, "cannot sync segment");
                }
            }
        }
        // Gives back what was preallocated. If it fails, zeros remain, which are not records.
        if let Err(error) = active.file.set_len(active.offset) {
            tracing::warn!(path = %active.path.display(), %error, "cannot cut finished segment");
        }
        self.lowest_start = self.lowest_start.max(active.start + HEADER_BYTES);
    }

    fn begin(&mut self) -> Result<Active> {
        let start = self.end.max(self.lowest_start).next_multiple_of(ALIGN_BYTES);
        let path = segment_path(&self.dir, start);
        let file = self
            .disk
            .create(&path)
            .map_err(|error| Error::io("create", &path, error).in_dir(&self.dir))?;
        Ok(Active { start, path, file, capacity: 0, reserved: 0, offset: 0, is_named: false })
    }

    fn write_header(&mut self, active: &mut Active) -> Result<()> {
        let header = self.header(active).encode();
        active
            .file
            .write_at(&[IoSlice::new(&header)], 0)
            .map_err(|error| Error::io("write", &active.path, error))?;
        self.sync(active)?;
        active.offset = HEADER_BYTES;
        Ok(())
    }

    fn header(&self, active: &Active) -> SegmentHeader {
        SegmentHeader {
            id: self.id,
            start: active.start,
            previous_end: self.end,
            first_sequence: self.next_sequence,
        }
    }

    /// Makes what was written to a segment durable, and its name.
    fn sync(&mut self, active: &mut Active) -> Result<()> {
        self.syncs += 1;
        active.file.sync_data().map_err(|error| Error::io("sync", &active.path, error))?;
        if !active.is_named {
            self.disk.sync_dir(&self.dir).map_err(|error| Error::io("sync", &self.dir, error))?;
            active.is_named = true;
        }
        Ok(())
    }

    /// Preallocates space for records up to an offset, and for as much again: a segment that gets
    /// little stays small, and one that gets much is soon preallocated as a whole.
    fn reserve(&self, active: &mut Active, end_offset: u64) -> Result<()> {
        if end_offset <= active.reserved {
            return Ok(());
        }
        let wanted = end_offset.max(active.reserved * 2).max(self.idle_bytes);
        let len_bytes = wanted.min(active.capacity);
        active
            .file
            .preallocate(len_bytes)
            .map_err(|error| Error::io("reserve space for", &active.path, error))?;
        active.reserved = len_bytes;
        Ok(())
    }

    fn write_to(&mut self, active: &mut Active, batch: &[Waiting]) -> Result<Vec<Placed>> {
        self.scratch.clear();
        let write_offset = active.offset;
        if write_offset == 0 {
            let header = self.header(active).encode();
            self.scratch.extend_from_slice(&header);
        }
        let (placed, pieces) = self.place(active, batch);
        if let Some(last) = placed.last() {
            self.reserve(active, last.next_position - active.start)?;
        }
        let parts: Vec<IoSlice<'_>> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Scratch(from, to) => IoSlice::new(&self.scratch[*from..*to]),
                Piece::Body(index) => IoSlice::new(&batch[*index].body),
            })
            .collect();
        active
            .file
            .write_at(&parts, write_offset)
            .map_err(|error| Error::io("write", &active.path, error))?;
        if self.durability == Durability::Disk {
            self.sync(active)?;
        }
        if let Some(last) = placed.last() {
            active.offset = last.next_position - active.start;
            self.end = last.next_position;
            self.next_sequence = last.sequence + 1;
        }
        if self.durability == Durability::Disk {
            self.synced = self.end;
        }
        Ok(placed)
    }

    /// Gives records their places and lays out the bytes to write.
    fn place(&mut self, active: &Active, batch: &[Waiting]) -> (Vec<Placed>, Vec<Piece>) {
        let mut offset = active.offset.max(HEADER_BYTES);
        let mut placed = Vec::with_capacity(batch.len());
        let mut pieces = Vec::new();
        let mut piece_start = 0;
        for (index, waiting) in batch.iter().enumerate() {
            let size_bytes = waiting.header.size_bytes();
            if offset + size_bytes > active.capacity {
                break;
            }
            let position = active.start + offset;
            let sequence = self.next_sequence + index as u64;
            let header = RecordHeader { sequence, ..waiting.header };
            self.scratch.extend_from_slice(&header.encode(&self.id, position));
            self.scratch.extend_from_slice(waiting.tenant.as_bytes());
            if waiting.body.len() < GATHER_MIN_BYTES {
                self.scratch.extend_from_slice(&waiting.body);
            } else {
                pieces.push(Piece::Scratch(piece_start, self.scratch.len()));
                piece_start = self.scratch.len();
                pieces.push(Piece::Body(index));
            }
            let padding = size_bytes - HEADER_BYTES - header.payload_len();
            self.scratch.resize(self.scratch.len() + padding as usize, 0);
            offset += size_bytes;
            placed.push(Placed {
                segment_start: active.start,
                position,
                next_position: active.start + offset,
                sequence,
            });
        }
        pieces.push(Piece::Scratch(piece_start, self.scratch.len()));
        (placed, pieces)
    }

    /// Leaves a segment whose write or sync failed (J2). What follows its acknowledged records is
    /// cut off at once: the page cache may still show bytes that never reached the disk, and a
    /// recovery after a killed process must not believe them.
    fn give_up(&mut self, active: Active) {
        self.lowest_start = self.lowest_start.max(active.start + HEADER_BYTES);
        let outcome = if active.offset == 0 {
            self.disk.remove(&active.path)
        } else {
            active.file.set_len(active.offset)
        };
        if let Err(error) = outcome {
            tracing::warn!(path = %active.path.display(), %error, "cannot clean up failed segment");
        }
    }
}
