//! Takes records, or parts of them, out of segments, for good (J8).
//!
//! A consumer that is behind keeps segments, and with them what is to be forgotten. So a segment that
//! has some of it is written anew without it, and takes the place of the old one in one step: after a
//! crash there is one or the other, and nothing in between that recovery would set aside. Every record
//! stays where it was, in as much space as it had, so that positions mean what they meant.
//!
//! Nothing is ever appended to such a segment: it is ended before. Refused: to make a record longer
//! than it was. It stays as it is then, and is counted, as one is of which nothing can be taken.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::Error;
use crate::disk::{DiskFile, read_full_at};
use crate::format::{Compression, Format, Position, RecordHeader, payload_crc};
use crate::journal::{Shared, lock};
use crate::limits::{HEADER_BYTES, READ_CHUNK_BYTES};
use crate::recovery::scan_error;
use crate::scan::{self, Check, Entry, Found, Scan};
use crate::segment::{FileKind, Segment, file_kind, segment_path};

/// What the name of a segment's copy ends with until it is finished; recovery removes such files.
const COPY_SUFFIX: &str = ".tmp";

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It stays as it is.
    Keep,
    /// Nothing of it stays but its place, its number and the hash that tells a retry.
    Erase,
    /// It gets another body, which is not longer than the one it had.
    Replace {
        /// How the body is encoded.
        format: Format,
        /// How it is compressed.
        compression: Compression,
        /// The body.
        body: Bytes,
    },
    /// Something of it has to go and cannot be taken out: it is counted, and stays.
    Stuck,
}

/// What was taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Records of which nothing is left.
    pub erased: u64,
    /// Records that got another body.
    pub replaced: u64,
    /// Records that still have what was to go: their new body is longer than the old one, or there
    /// is none. They stay until every cursor has passed them.
    pub stuck: u64,
    /// Segments that were written anew.
    pub segments: u64,
}

/// A record as it is to be.
struct Patch {
    position: Position,
    header: RecordHeader,
    tenant: Bytes,
    body: Bytes,
}

impl Patch {
    /// None if it takes more space than there is.
    fn new(
        header: &RecordHeader,
        position: Position,
        payload: &Bytes,
        body: Bytes,
    ) -> Option<Self> {
        let tenant = payload.slice(..usize::from(header.tenant_len));
        let body_len = u32::try_from(body.len()).ok()?;
        let spare = header.room_len().checked_sub((tenant.len() + body.len()) as u64)?;
        let payload_crc = payload_crc(&tenant, &body);
        let spare_len = u32::try_from(spare).ok()?;
        let header = RecordHeader { body_len, spare_len, payload_crc, ..*header };
        Some(Self { position, header, tenant, body })
    }
}

impl Shared {
    pub(crate) fn erase<E: From<Error>>(
        &self,
        below: Position,
        mut edit: impl FnMut(&Entry) -> std::result::Result<Edit, E>,
    ) -> std::result::Result<Erased, E> {
        if self.is_read_only {
            return Err(Error::OpenedReadOnly.into());
        }
        let _erasing = lock(&self.erasing);
        let growing = {
            // Whoever appends holds the writer: from here on no segment with such records grows.
            let mut writer = lock(&self.writer);
            writer.seal_before(below);
            lock(&self.state).synced = writer.synced();
            writer.active_start()
        };
        self.tidy(true);
        self.remove_passed().map_err(|error| Error::io("clear", &self.dir, error))?;
        let segments: Vec<Segment> = {
            let state = lock(&self.state);
            let held = state.segments.iter().filter(|segment| segment.start < below);
            held.filter(|segment| Some(segment.start) != growing).copied().collect()
        };
        let mut erased = Erased::default();
        for segment in &segments {
            let path = segment_path(&self.dir, segment.start);
            let file: Arc<dyn DiskFile> = match self.disk.open(&path) {
                Ok(file) => Arc::from(file),
                // Everyone has passed it meanwhile.
                Err(_) if !self.has_segment(segment) => continue,
                Err(error) => return Err(Error::io("open", &path, error).into()),
            };
            cut_rest(segment, &*file)
                .map_err(|error| Error::io("cut", &path, error).in_dir(&self.dir))?;
            let patches = self.patches(segment, &path, &file, below, &mut edit, &mut erased)?;
            if !patches.is_empty() {
                let replaced = self.replace_segment(segment, &path, &*file, &patches);
                replaced.map_err(|error| Error::io("rewrite", &path, error).in_dir(&self.dir))?;
                erased.segments += 1;
            }
        }
        // What was taken out may still be in memory for readers, also if its segment was deleted.
        let mut state = lock(&self.state);
        let end = state.end;
        state.recent.forget(end);
        Ok(erased)
    }

    /// Makes sure that segments which everyone has passed are gone, and copies that were not finished:
    /// to delete one may have failed, or may not have reached the disk.
    fn remove_passed(&self) -> io::Result<()> {
        let mut tidying = lock(&self.tidying);
        let (oldest, expired_before) = {
            let state = lock(&self.state);
            (state.segments.front().map(|segment| segment.start), state.dedup.expired_before())
        };
        let Some(oldest) = oldest else { return Ok(()) };
        for entry in self.disk.list(&self.dir)? {
            let is_passed = |start: &Position| *start < oldest;
            // Nobody else makes copies now.
            if entry.name.strip_suffix(COPY_SUFFIX).and_then(segment_start).is_some() {
                self.disk.remove(&self.dir.join(&entry.name))?;
            } else if let Some(start) = segment_start(&entry.name).filter(is_passed) {
                self.save_hashes(&mut tidying, oldest, expired_before, self.disk.now())?;
                self.disk.remove(&segment_path(&self.dir, start))?;
            }
        }
        self.disk.sync_dir(&self.dir)
    }

    fn has_segment(&self, segment: &Segment) -> bool {
        lock(&self.state).segments.iter().any(|held| held.start == segment.start)
    }

    /// What is to be changed in a segment.
    fn patches<E: From<Error>>(
        &self,
        segment: &Segment,
        path: &Path,
        file: &Arc<dyn DiskFile>,
        below: Position,
        edit: &mut impl FnMut(&Entry) -> std::result::Result<Edit, E>,
        erased: &mut Erased,
    ) -> std::result::Result<Vec<Patch>, E> {
        let file = Arc::clone(file);
        let mut scan = Scan::new(file, self.id, segment.start, segment.start, Check::Full);
        scan.set_limit(segment.end);
        let mut patches = Vec::new();
        loop {
            match scan.next().map_err(|error| scan_error(path, error))? {
                Found::Record { position, .. } if position >= below => break,
                Found::Record { header, .. } if header.is_erased() => {}
                Found::Record { header, position, payload: Some(payload) } => {
                    let entry = scan::entry(&header, position, &payload);
                    let (count, header, body) = match edit(&entry)? {
                        Edit::Keep => continue,
                        Edit::Stuck => {
                            erased.stuck += 1;
                            continue;
                        }
                        Edit::Erase => (&mut erased.erased, header, Bytes::new()),
                        Edit::Replace { format, compression, body } => {
                            let header = RecordHeader { format, compression, ..header };
                            (&mut erased.replaced, header, body)
                        }
                    };
                    match Patch::new(&header, position, &payload, body) {
                        Some(patch) => {
                            *count += 1;
                            patches.push(patch);
                        }
                        None => erased.stuck += 1,
                    }
                }
                // Damage was set aside, or is when a reader comes to it.
                Found::Record { .. } | Found::Damage { .. } => {}
                Found::End { .. } => break,
            }
        }
        Ok(patches)
    }

    /// Puts a changed copy in the place of a segment.
    fn replace_segment(
        &self,
        segment: &Segment,
        path: &Path,
        file: &dyn DiskFile,
        patches: &[Patch],
    ) -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(COPY_SUFFIX);
        let temporary = PathBuf::from(name);
        let written = self.write_copy(segment, &temporary, file, patches);
        // Nobody deletes a segment between the look at whether it is there and the rename, which
        // would bring it back.
        let _tidying = lock(&self.tidying);
        if written.is_err() || !self.has_segment(segment) {
            let removed = self.disk.remove(&temporary);
            return written.and(removed);
        }
        self.disk.rename(&temporary, path)?;
        let mut state = lock(&self.state);
        let held = state.segments.iter_mut().find(|held| held.start == segment.start);
        if let Some(held) = held {
            held.edition += 1;
        }
        drop(state);
        self.disk.sync_dir(&self.dir)
    }

    fn write_copy(
        &self,
        segment: &Segment,
        temporary: &Path,
        file: &dyn DiskFile,
        patches: &[Patch],
    ) -> io::Result<()> {
        let copy = match self.disk.create(temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.disk.remove(temporary)?;
                self.disk.create(temporary)?
            }
            other => other?,
        };
        let len_bytes = segment.end - segment.start;
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        let mut offset = 0;
        while offset < len_bytes {
            let wanted = (len_bytes - offset).min(chunk.len() as u64) as usize;
            let read = read_full_at(file, &mut chunk[..wanted], offset)?;
            if read == 0 {
                break;
            }
            copy.write_at(&[IoSlice::new(&chunk[..read])], offset)?;
            offset += read as u64;
        }
        for patch in patches {
            let header = patch.header.encode(&self.id, patch.position);
            let used = HEADER_BYTES + patch.header.payload_len();
            let rest = vec![0; (patch.header.size_bytes() - used) as usize];
            let parts = [&header[..], &patch.tenant, &patch.body, &rest].map(IoSlice::new);
            copy.write_at(&parts, patch.position - segment.start)?;
        }
        copy.sync_data()
    }
}

/// Takes away what stands behind the records: of a write that failed it may still be there, or again
/// after a crash, and nobody reads it.
fn cut_rest(segment: &Segment, file: &dyn DiskFile) -> io::Result<()> {
    let len_bytes = (segment.end - segment.start).max(HEADER_BYTES);
    if file.len()? > len_bytes {
        file.set_len(len_bytes)?;
        file.sync_data()?;
    }
    Ok(())
}

/// Where a segment starts, by the name of its file; none if it is another file.
fn segment_start(name: &str) -> Option<Position> {
    match file_kind(name) {
        FileKind::Segment(start) => Some(start),
        _ => None,
    }
}
