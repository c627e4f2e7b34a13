//! Reads acknowledged records in order: from memory while it keeps up, from disk when it fell behind.
//!
//! Promises that only acknowledged records are seen, each sequence at most once, in order. Damage on
//! the way is set aside, counted and skipped, not an error. A reader does not hold segments: what is
//! deleted because every cursor has passed it is skipped, unless it is still in memory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::DiskFile;
use crate::format::Position;
use crate::journal::{Shared, lock};
use crate::limits::HEADER_BYTES;
use crate::recovery::{scan_error, set_aside};
use crate::scan::{self, Check, Entry, Found, Scan};
use crate::segment::{Segment, segment_path};
use crate::{Error, Result};

/// A walk over the journal.
pub struct Reader {
    shared: Arc<Shared>,
    position: Position,
    last_sequence: u64,
    /// A cursor whose jumps this reader follows.
    cursor: Option<String>,
    /// The segment that is being read from disk, and which edition of its file.
    scan: Option<(u32, Scan)>,
}

/// Where to look.
enum Source {
    Memory(Entry),
    Disk(Segment),
    Nothing,
}

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>, from: Position, cursor: Option<String>) -> Reader {
        Reader { shared, position: from, last_sequence: 0, cursor, scan: None }
    }

    /// Where the next record is looked for.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next record; none if there is no further one yet.
    pub fn try_next(&mut self) -> Result<Option<Entry>> {
        loop {
            let entry = match self.find()? {
                Source::Nothing => return Ok(None),
                Source::Memory(entry) => Some(entry),
                Source::Disk(segment) => self.read(&segment)?,
            };
            let Some(entry) = entry else { continue };
            self.position = entry.next_position;
            // J3. Cannot happen with the files this program writes; checked all the same.
            if entry.sequence > self.last_sequence {
                self.last_sequence = entry.sequence;
                return Ok(Some(entry));
            }
        }
    }

    /// The next record, waiting for it. None when the time is over; without a time, waits until
    /// there is one or the journal is closed, which is an error.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Entry>> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if let Some(entry) = self.try_next()? {
                return Ok(Some(entry));
            }
            let remaining = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if remaining == Some(Duration::ZERO) {
                return Ok(None);
            }
            if !self.shared.wait_readable(self.position, remaining) {
                return Err(Error::Closed);
            }
        }
    }

    fn find(&mut self) -> Result<Source> {
        let state = lock(&self.shared.state);
        if let Some(name) = &self.cursor {
            let Some(cursor) = state.cursors.by_name.get(name) else {
                return Err(Error::UnknownCursor { name: name.clone() });
            };
            self.position = self.position.max(cursor.position);
        }
        if !state.recent.covers(self.position) {
            self.position = self.position.max(state.oldest());
        }
        if state.recent.covers(self.position) {
            self.scan = None;
            let entry = state.recent.at_or_after(self.position);
            return Ok(entry.map_or(Source::Nothing, |entry| Source::Memory(entry.clone())));
        }
        Ok(state.segment_at(self.position).map_or(Source::Nothing, Source::Disk))
    }

    /// Reads one record from disk; none if the position moved on without one.
    fn read(&mut self, segment: &Segment) -> Result<Option<Entry>> {
        let path = segment_path(&self.shared.dir, segment.start);
        self.position = self.position.max(segment.start + HEADER_BYTES);
        let reusable = self.scan.take().filter(|(edition, scan)| {
            *edition == segment.edition
                && scan.start() == segment.start
                && scan.position() == self.position
        });
        let mut scan = match reusable {
            Some((_, scan)) => scan,
            None => match self.open(segment, &path) {
                Ok(file) => {
                    Scan::new(file, self.shared.id, segment.start, self.position, Check::Full)
                }
                // Deleted a moment ago: the next look begins after it.
                Err(_) if lock(&self.shared.state).oldest() > self.position => return Ok(None),
                Err(error) => return Err(Error::io("open", &path, error)),
            },
        };
        scan.set_limit(segment.end);
        scan.set_last_sequence(self.last_sequence);
        let entry = match scan.next().map_err(|error| scan_error(&path, error))? {
            Found::Record { header, position, .. } if header.is_erased() => {
                self.position = position + header.size_bytes();
                self.last_sequence = header.sequence;
                None
            }
            Found::Record { header, position, payload: Some(payload) } => {
                Some(scan::entry(&header, position, &payload))
            }
            Found::Damage { from, to } => {
                self.skip_damage(segment.start, from, to);
                None
            }
            Found::Record { .. } | Found::End { .. } => {
                self.skip_damage(segment.start, self.position, segment.end);
                return Ok(None);
            }
        };
        self.scan = Some((segment.edition, scan));
        Ok(entry)
    }

    fn open(&self, segment: &Segment, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.shared.held_files.get(&segment.start) {
            Some(file) => Ok(Arc::clone(file)),
            None => self.shared.disk.open(path).map(Arc::from),
        }
    }

    fn skip_damage(&mut self, segment_start: Position, from: Position, to: Position) {
        self.position = to;
        let shared = &self.shared;
        if !shared.is_read_only && set_aside(&*shared.disk, &shared.dir, segment_start, from, to) {
            shared.note_damage(from, to);
        }
    }
}
