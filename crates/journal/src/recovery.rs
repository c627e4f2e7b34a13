//! Finds out what a journal directory holds, and repairs it: `docs/formats/journal.md`, "Recovery".
//!
//! [`inspect`] only reads, so that it also serves read-only tools; [`repair`] does what it found
//! necessary. Promises that nothing acknowledged is cut, that a repair which is interrupted can be
//! repeated, and that bytes are copied to quarantine before they are given up. Refuses files of a
//! newer version and of another journal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cursors::CursorFile;
use crate::dedup::{self, Dedup, Known};
use crate::disk::{Disk, DiskFile, read_all, read_full_at, write_if_absent};
use crate::format::{Fault, JournalId, Position, RECORD_MAGIC, SegmentHeader, VERSION};
use crate::limits::{HEADER_BYTES, MAX_POSITION, READ_CHUNK_BYTES};
use crate::retention::HashFile;
use crate::scan::{Check, Found, Scan, ScanError};
use crate::segment::{
    FileKind, Segment, cursors_path, file_kind, hashes_path, quarantine_dir, quarantine_path,
    segment_path,
};
use crate::stats::BySignal;
use crate::{Error, Result};

/// What was found when a journal was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Good records.
    pub records: u64,
    /// Bytes of a torn tail, never acknowledged, that were cut (or would be, read-only).
    pub cut_bytes: u64,
    /// Damaged ranges. Their bytes are in the quarantine directory; a range that was found by an
    /// earlier open as well is listed again.
    pub damaged: Vec<Damage>,
    /// Records that were in segments which are not there any more although a cursor needs them.
    pub missing_records: u64,
}

/// A range of the log that holds no good record though it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Its first position.
    pub from: Position,
    /// The position after it.
    pub to: Position,
    /// Whether it was set aside just now, not by an earlier open.
    pub is_new: bool,
}

/// What a directory holds.
pub(crate) struct Inspection {
    /// None for a directory without any valid file.
    pub(crate) id: Option<JournalId>,
    pub(crate) segments: Vec<Segment>,
    /// The files of all segments by their start, open.
    pub(crate) files: Vec<(Position, Arc<dyn DiskFile>)>,
    /// Where the records end, or are known to have ended.
    pub(crate) log_end: Position,
    /// Up to here positions were given out: `log_end` or a cursor beyond it.
    pub(crate) end: Position,
    pub(crate) lowest_start: Position,
    pub(crate) next_sequence: u64,
    pub(crate) cursors: Vec<(String, Position)>,
    pub(crate) dedup: Dedup,
    /// `.kd` files, in the order of their names.
    pub(crate) hash_files: Vec<HashFile>,
    /// Hashes below this are in `.kd` files.
    pub(crate) hashes_saved_to: Position,
    pub(crate) recovery: Recovery,
    repairs: Vec<Repair>,
}

/// One thing to put right. They are done in the order of the list.
enum Repair {
    /// Copy a range to quarantine; the number is its index in `Recovery::damaged`.
    SetAside { segment_start: Position, index: usize },
    /// Make a record's header invalid, because its payload is: later opens do not look at payloads,
    /// and would take its hash for that of a record that is there.
    Void { segment_start: Position, position: Position },
    /// Write a segment header anew.
    Header(SegmentHeader),
    /// Cut a segment to its records and make it durable. What is not known to be on disk, from an
    /// offset on, is written once more: if a sync failed and the process died, the page cache holds
    /// bytes that a further sync would not write.
    Cut { segment_start: Position, len_bytes: u64, rewrite_from: u64 },
    /// Move a segment that cannot be read to quarantine.
    MoveAside(Position),
    /// Remove a file.
    Remove(PathBuf),
}

/// A segment file, before its records are read.
struct SegmentFile {
    start: Position,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    len_bytes: u64,
    header: Option<SegmentHeader>,
}

/// Reads everything there is to know about a directory. Changes nothing.
pub(crate) fn inspect(disk: &dyn Disk, dir: &Path) -> Result<Inspection> {
    // First, so that it does not speak of what a process that is writing adds to segments meanwhile.
    let cursor_file = read_cursors(disk, dir)?;
    let listed = disk.list(dir).map_err(|error| Error::io("list", dir, error))?;
    let mut found = Inspection {
        id: None,
        segments: Vec::new(),
        files: Vec::new(),
        log_end: 0,
        end: 0,
        lowest_start: 0,
        next_sequence: 1,
        cursors: Vec::new(),
        dedup: Dedup::default(),
        hash_files: Vec::new(),
        hashes_saved_to: 0,
        recovery: Recovery::default(),
        repairs: Vec::new(),
    };
    let mut files = Vec::new();
    let mut hash_files = Vec::new();
    for entry in listed.iter().filter(|entry| !entry.is_dir) {
        match file_kind(&entry.name) {
            FileKind::Segment(start) if start <= MAX_POSITION => {
                files.push(open_segment(disk, dir, start)?);
            }
            FileKind::Hashes(first) => hash_files.push(HashFile {
                first,
                entries: 0,
                newest_nanos: None,
                written: entry.modified,
            }),
            FileKind::Temporary => found.repairs.push(Repair::Remove(dir.join(&entry.name))),
            FileKind::Segment(_) | FileKind::Other => {}
        }
    }
    let in_headers = files.iter().find_map(|file| file.header).map(|header| header.id);
    found.id = in_headers.or(cursor_file.as_ref().map(|file| file.id));
    if let Some(file) = cursor_file.filter(|file| Some(file.id) == found.id) {
        found.next_sequence = file.next_sequence.max(1);
        found.log_end = file.synced.min(MAX_POSITION);
        found.cursors = file.positions;
        found.cursors.iter_mut().for_each(|(_, at)| *at = (*at).min(MAX_POSITION));
    }
    read_hashes(disk, dir, hash_files, &mut found)?;
    read_segments(&files, &mut found)?;
    found.files = files.into_iter().map(|file| (file.start, file.file)).collect();
    // Positions that were given out are never used again, whatever became of their records.
    found.end = found.cursors.iter().map(|(_, position)| *position).fold(found.log_end, u64::max);
    found.lowest_start = found.lowest_start.max(found.end);
    Ok(found)
}

/// Does what [`inspect`] found necessary.
pub(crate) fn repair(disk: &dyn Disk, dir: &Path, found: &mut Inspection) -> Result<()> {
    for repair in std::mem::take(&mut found.repairs) {
        match repair {
            Repair::SetAside { segment_start, index } => {
                let damage = &mut found.recovery.damaged[index];
                damage.is_new = set_aside(disk, dir, segment_start, damage.from, damage.to);
            }
            Repair::Void { segment_start, position } => {
                let path = segment_path(dir, segment_start);
                let zeros = [0; RECORD_MAGIC.len()];
                disk.open(&path)
                    .and_then(|file| {
                        file.write_at(&[io::IoSlice::new(&zeros)], position - segment_start)
                    })
                    .map_err(|error| Error::io("write", &path, error).in_dir(dir))?;
            }
            Repair::Header(header) => {
                let path = segment_path(dir, header.start);
                tracing::warn!(path = %path.display(), "writing a damaged segment header anew");
                let file = disk.open(&path).map_err(|error| Error::io("open", &path, error))?;
                file.write_at(&[io::IoSlice::new(&header.encode())], 0)
                    .and_then(|()| file.sync_data())
                    .map_err(|error| Error::io("write", &path, error).in_dir(dir))?;
            }
            Repair::Cut { segment_start, len_bytes, rewrite_from } => {
                let path = segment_path(dir, segment_start);
                cut(disk, &path, len_bytes, rewrite_from)
                    .map_err(|error| Error::io("repair", &path, error).in_dir(dir))?;
            }
            Repair::MoveAside(start) => move_aside(disk, dir, start)
                .map_err(|error| Error::io("move", &segment_path(dir, start), error).in_dir(dir))?,
            Repair::Remove(path) => {
                disk.remove(&path)
                    .map_err(|error| Error::io("remove", &path, error).in_dir(dir))?;
            }
        }
    }
    // Names may exist only in memory if the last process was killed.
    disk.sync_dir(dir).map_err(|error| Error::io("sync", dir, error).in_dir(dir))
}

/// Copies a damaged range to quarantine; says whether it was not there yet.
///
/// A failure (a full disk) is no reason to refuse service: the bytes stay where they are, and the
/// next open tries again.
pub(crate) fn set_aside(
    disk: &dyn Disk,
    dir: &Path,
    segment_start: Position,
    from: Position,
    to: Position,
) -> bool {
    let path = quarantine_path(dir, from);
    let copy = || -> io::Result<bool> {
        if disk.open(&path).is_ok() {
            return Ok(false);
        }
        let file = disk.open(&segment_path(dir, segment_start))?;
        let mut bytes = vec![0; (to - from) as usize];
        let read = read_full_at(&*file, &mut bytes, from - segment_start)?;
        disk.create_dir_all(&quarantine_dir(dir))?;
        write_if_absent(disk, &path, &bytes[..read])
    };
    match copy() {
        Ok(false) => false,
        Ok(true) => {
            tracing::error!(from, to, path = %path.display(), "damaged journal range set aside");
            true
        }
        Err(error) => {
            tracing::error!(from, to, %error, "cannot set a damaged journal range aside");
            true
        }
    }
}

fn move_aside(disk: &dyn Disk, dir: &Path, start: Position) -> io::Result<()> {
    let to = quarantine_path(dir, start);
    tracing::error!(path = %to.display(), "segment without a readable header set aside");
    disk.create_dir_all(&quarantine_dir(dir))?;
    disk.rename(&segment_path(dir, start), &to)?;
    disk.sync_dir(&quarantine_dir(dir))
}

fn cut(disk: &dyn Disk, path: &Path, len_bytes: u64, rewrite_from: u64) -> io::Result<()> {
    let file = disk.open(path)?;
    if file.len()? > len_bytes {
        file.set_len(len_bytes)?;
    }
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut offset = rewrite_from;
    while offset < len_bytes {
        let wanted = chunk.len().min((len_bytes - offset) as usize);
        let read = read_full_at(&*file, &mut chunk[..wanted], offset)?;
        if read == 0 {
            break;
        }
        file.write_at(&[io::IoSlice::new(&chunk[..read])], offset)?;
        offset += read as u64;
    }
    file.sync_data()
}

fn open_segment(disk: &dyn Disk, dir: &Path, start: Position) -> Result<SegmentFile> {
    let path = segment_path(dir, start);
    let read = || {
        let file: Arc<dyn DiskFile> = Arc::from(disk.open(&path)?);
        let mut bytes = [0; HEADER_BYTES as usize];
        let filled = read_full_at(&*file, &mut bytes, 0)?;
        let len_bytes = file.len()?;
        Ok((file, len_bytes, (filled == bytes.len()).then_some(bytes)))
    };
    let (file, len_bytes, bytes) = read().map_err(|error| Error::io("read", &path, error))?;
    let header = match bytes.map(|bytes| SegmentHeader::decode(&bytes)) {
        Some(Ok(header)) if header.start == start && header.previous_end <= start => Some(header),
        Some(Err(Fault::Newer(version))) => return Err(newer(&path, version)),
        _ => None,
    };
    Ok(SegmentFile { start, path, file, len_bytes, header })
}

fn read_cursors(disk: &dyn Disk, dir: &Path) -> Result<Option<CursorFile>> {
    let path = cursors_path(dir);
    let bytes = match disk.open(&path).and_then(|file| read_all(&*file)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &path, error)),
    };
    match CursorFile::decode(&bytes) {
        Ok(file) => Ok(Some(file)),
        Err(Fault::Newer(version)) => Err(newer(&path, version)),
        Err(Fault::Damaged) => {
            tracing::error!(path = %path.display(), "damaged; all cursors begin at the oldest record");
            Ok(None)
        }
    }
}

fn read_hashes(
    disk: &dyn Disk,
    dir: &Path,
    files: Vec<HashFile>,
    found: &mut Inspection,
) -> Result<()> {
    for mut file in files {
        let path = hashes_path(dir, file.first);
        let bytes = disk
            .open(&path)
            .and_then(|file| read_all(&*file))
            .map_err(|error| Error::io("read", &path, error))?;
        match dedup::decode(&bytes) {
            Ok((id, known)) if found.id.is_none_or(|own| own == id) => {
                file.entries = known.len();
                file.newest_nanos = known.iter().map(|one| one.received_nanos).max();
                known.into_iter().for_each(|one| remember(found, one, true));
            }
            Err(Fault::Newer(version)) => return Err(newer(&path, version)),
            Ok(_) | Err(Fault::Damaged) => {
                tracing::warn!(path = %path.display(), "hashes of recent requests not usable");
            }
        }
        found.hash_files.push(file);
    }
    Ok(())
}

/// A removal of a segment may not have reached the disk: its hashes are then there twice.
fn remember(found: &mut Inspection, known: Known, is_saved: bool) {
    if known.position >= found.hashes_saved_to {
        found.dedup.insert(known);
        if is_saved {
            found.hashes_saved_to = known.position + 1;
        }
    }
}

fn read_segments(files: &[SegmentFile], found: &mut Inspection) -> Result<()> {
    let Some(id) = found.id else {
        // Nothing tells what their records would look like: they were being created, or all of
        // them and the cursors are damaged. Either way there is nothing to read.
        for file in files {
            give_up_segment(file, found)?;
        }
        return Ok(());
    };
    let last_valid = files.iter().rposition(|file| file.header.is_some()).unwrap_or(0);
    let mut last_sequence = 0;
    for (index, file) in files.iter().enumerate() {
        if file.header.is_some_and(|header| header.id != id) {
            return Err(Error::ForeignSegment { path: file.path.clone() });
        }
        found.lowest_start = found.lowest_start.max(file.start + HEADER_BYTES);
        let void_from = files[index + 1..]
            .iter()
            .map(|later| later.header.map_or(later.start, |header| header.previous_end))
            .min();
        let limit = void_from.unwrap_or(u64::MAX).clamp(file.start, file.start + file.len_bytes);
        note_missing(file, last_sequence, found);
        if let Some(header) = file.header {
            // A segment without records still says where the log was when it was begun (J5).
            last_sequence = last_sequence.max(header.first_sequence.saturating_sub(1));
            found.log_end = found.log_end.max(header.previous_end);
        }
        // Only what comes last may have been written without being synced.
        let may_be_torn = index >= last_valid;
        last_sequence = read_segment(file, id, limit, may_be_torn, last_sequence, found)?;
    }
    found.next_sequence = found.next_sequence.max(last_sequence + 1);
    Ok(())
}

fn read_segment(
    file: &SegmentFile,
    id: JournalId,
    limit: Position,
    may_be_torn: bool,
    mut last_sequence: u64,
    found: &mut Inspection,
) -> Result<u64> {
    let check = if may_be_torn { Check::Full } else { Check::Headers };
    let mut scan = Scan::new(Arc::clone(&file.file), id, file.start, file.start, check);
    scan.set_limit(limit);
    scan.set_last_sequence(last_sequence);
    let mut totals = BySignal::default();
    let mut first_sequence = None;
    let end = loop {
        match scan.next().map_err(|error| scan_error(&file.path, error))? {
            Found::Record { header, position, .. } => {
                let next_position = position + header.size_bytes();
                totals.add(header.signal, 1, header.size_bytes());
                found.recovery.records += 1;
                last_sequence = header.sequence;
                first_sequence.get_or_insert(header.sequence);
                let (hash, received_nanos) = (header.hash, header.received_nanos);
                let sequence = header.sequence;
                let known = Known { hash, received_nanos, position, next_position, sequence };
                remember(found, known, false);
            }
            Found::Damage { from, to } => note_damage(file, from, to, found),
            Found::End { at } => break at,
        }
    };
    let first_sequence = match (file.header, first_sequence) {
        (Some(header), _) => header.first_sequence,
        (None, Some(sequence)) => sequence,
        (None, None) if may_be_torn => {
            found.recovery.cut_bytes += torn_len(file, 0)?;
            found.repairs.push(Repair::Remove(file.path.clone()));
            return Ok(last_sequence);
        }
        (None, None) => {
            give_up_segment(file, found)?;
            return Ok(last_sequence);
        }
    };
    if file.header.is_none() {
        let previous_end = found.segments.last().map_or(file.start, |segment| segment.end);
        let start = file.start;
        found.repairs.push(Repair::Header(SegmentHeader {
            id,
            start,
            previous_end,
            first_sequence,
        }));
    }
    // Below what is known to have been on disk, nothing can be torn.
    let on_disk_to = found.log_end;
    let known_to = if may_be_torn { on_disk_to.min(limit) } else { limit };
    let end = if end < known_to {
        note_damage(file, end, known_to, found);
        known_to
    } else {
        end
    };
    if may_be_torn {
        for &position in scan.bad_bodies().iter().filter(|&&position| position < end) {
            found.repairs.push(Repair::Void { segment_start: file.start, position });
        }
        let len_bytes = end - file.start;
        found.recovery.cut_bytes += torn_len(file, len_bytes)?;
        let rewrite_from =
            if on_disk_to > file.start + HEADER_BYTES { on_disk_to - file.start } else { 0 };
        found.repairs.push(Repair::Cut { segment_start: file.start, len_bytes, rewrite_from });
    }
    if end > file.start + HEADER_BYTES {
        found.segments.push(Segment { start: file.start, end, totals, edition: 0 });
        found.log_end = found.log_end.max(end);
    } else {
        found.segments.push(Segment::empty(file.start));
    }
    Ok(last_sequence)
}

fn note_damage(file: &SegmentFile, from: Position, to: Position, found: &mut Inspection) {
    let index = found.recovery.damaged.len();
    found.recovery.damaged.push(Damage { from, to, is_new: false });
    found.repairs.push(Repair::SetAside { segment_start: file.start, index });
}

/// A segment without header and records: what it holds is set aside, unless that is nothing.
fn give_up_segment(file: &SegmentFile, found: &mut Inspection) -> Result<()> {
    let written = written_len(file, 0)?;
    if written > 0 {
        let (from, to) = (file.start, file.start + written);
        found.recovery.damaged.push(Damage { from, to, is_new: true });
        found.repairs.push(Repair::MoveAside(file.start));
    } else {
        found.repairs.push(Repair::Remove(file.path.clone()));
    }
    found.lowest_start = found.lowest_start.max(file.start + HEADER_BYTES);
    Ok(())
}

fn note_missing(file: &SegmentFile, last_sequence: u64, found: &mut Inspection) {
    let (Some(header), Some(before)) = (file.header, found.segments.last()) else { return };
    let has_gap = header.previous_end > before.end && header.first_sequence > last_sequence + 1;
    let is_needed = found.cursors.iter().any(|(_, position)| *position < header.previous_end);
    if has_gap && is_needed {
        let records = header.first_sequence - last_sequence - 1;
        let (from, to) = (before.end, header.previous_end);
        tracing::error!(from, to, records, "segments are missing in the middle of the journal");
        found.recovery.missing_records += records;
    }
}

/// Bytes of a torn tail.
fn torn_len(file: &SegmentFile, from: u64) -> Result<u64> {
    let written = written_len(file, from)?;
    if written > 0 {
        tracing::warn!(path = %file.path.display(), bytes = written, "torn tail, never acknowledged");
    }
    Ok(written)
}

/// Bytes from an offset up to the last that is not zero: what was really written there.
fn written_len(file: &SegmentFile, from: u64) -> Result<u64> {
    let mut tail = vec![0; file.len_bytes.saturating_sub(from) as usize];
    let read = read_full_at(&*file.file, &mut tail, from)
        .map_err(|error| Error::io("read", &file.path, error))?;
    Ok(tail[..read].iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1))
}

fn newer(path: &Path, version: u16) -> Error {
    Error::NewerVersion { path: path.to_owned(), version, supported: VERSION }
}

pub(crate) fn scan_error(path: &Path, error: ScanError) -> Error {
    match error {
        ScanError::Io(error) => Error::io("read", path, error),
        ScanError::Newer(version) => newer(path, version),
    }
}
