//! Reads the records of one segment in order, past damage.
//!
//! Used by recovery, by readers that fell behind and by read-only tools, so that all three agree on
//! what is a record. Promises never to return a record whose header is not right at its position,
//! whose sequence does not continue or that reaches over the limit; with [`Check::Full`] also none
//! whose payload is not right. It changes nothing.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::{DiskFile, read_full_at};
use crate::format::{
    Compression, Fault, Format, HeaderBytes, JournalId, Position, RECORD_MAGIC, RecordHeader,
    Signal,
};
use crate::limits::{ALIGN_BYTES, HEADER_BYTES, READ_CHUNK_BYTES};

/// A record, as a reader gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub position: Position,
    /// Where the next one is at the earliest; what a consumer gives to `advance` when done.
    pub next_position: Position,
    /// Its number.
    pub sequence: u64,
    /// When it was received, in nanoseconds since 1970.
    pub received_nanos: u64,
    /// What it carries.
    pub signal: Signal,
    /// How its body is encoded.
    pub format: Format,
    /// How its body is compressed.
    pub compression: Compression,
    /// Whose it is.
    pub tenant: Arc<str>,
    /// The admitted bytes, as they came.
    pub body: Bytes,
}

/// How much of a record is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Only headers are read.
    Headers,
    /// Tenant and body are read and must have the right CRC.
    Full,
}

/// What comes next in a segment.
#[derive(Debug)]
pub(crate) enum Found {
    /// A good record. The payload (tenant, then body) is there with [`Check::Full`].
    Record { header: RecordHeader, position: Position, payload: Option<Bytes> },
    /// Not records; a good one follows at `to`.
    Damage { from: Position, to: Position },
    /// No good record from here up to the limit.
    End { at: Position },
}

/// Why a scan cannot go on.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The disk said no.
    Io(io::Error),
    /// A record of a later format.
    Newer(u16),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

/// One attempt to read a record.
enum Attempt {
    Good(RecordHeader, Option<Bytes>),
    /// Where a search for the next one begins.
    Bad {
        resume: u64,
    },
}

/// A walk over one segment.
pub(crate) struct Scan {
    file: Arc<dyn DiskFile>,
    id: JournalId,
    start: Position,
    check: Check,
    /// File offset of the next record.
    offset: u64,
    /// File offset at which the segment's records end at the latest.
    limit: u64,
    last_sequence: u64,
    bad_bodies: Vec<Position>,
    buffer: Bytes,
    buffer_offset: u64,
}

impl Scan {
    /// Begins at `from`, a record boundary at or after the segment's first record.
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        id: JournalId,
        start: Position,
        from: Position,
        check: Check,
    ) -> Scan {
        let offset = from.saturating_sub(start).max(HEADER_BYTES);
        Scan {
            file,
            id,
            start,
            check,
            offset,
            limit: offset,
            last_sequence: 0,
            bad_bodies: Vec::new(),
            buffer: Bytes::new(),
            buffer_offset: 0,
        }
    }

    /// Records end here at the latest. May only grow: what lies below is never written again.
    pub(crate) fn set_limit(&mut self, limit: Position) {
        self.limit = self.limit.max(limit.saturating_sub(self.start));
    }

    /// Records up to this sequence are not accepted any more.
    pub(crate) fn set_last_sequence(&mut self, sequence: u64) {
        self.last_sequence = self.last_sequence.max(sequence);
    }

    /// The start of the segment.
    pub(crate) fn start(&self) -> Position {
        self.start
    }

    /// Where the next record is looked for.
    pub(crate) fn position(&self) -> Position {
        self.start + self.offset
    }

    /// Records that have a good header but not the payload it speaks of, as far as the scan has come.
    pub(crate) fn bad_bodies(&self) -> &[Position] {
        &self.bad_bodies
    }

    /// Goes to the next record.
    pub(crate) fn next(&mut self) -> Result<Found, ScanError> {
        let from = self.offset;
        if from + HEADER_BYTES > self.limit {
            return Ok(Found::End { at: self.position() });
        }
        let mut resume = match self.attempt(from)? {
            Attempt::Good(header, payload) => {
                self.offset = from + header.size_bytes();
                self.last_sequence = header.sequence;
                return Ok(Found::Record { header, position: self.start + from, payload });
            }
            Attempt::Bad { resume } => resume,
        };
        while let Some(candidate) = self.find_magic(resume)? {
            match self.attempt(candidate)? {
                // It is read once more by the next call: damage is rare.
                Attempt::Good(..) => {
                    self.offset = candidate;
                    return Ok(Found::Damage {
                        from: self.start + from,
                        to: self.start + candidate,
                    });
                }
                Attempt::Bad { resume: further } => resume = further,
            }
        }
        Ok(Found::End { at: self.start + from })
    }

    fn attempt(&mut self, offset: u64) -> Result<Attempt, ScanError> {
        let search_on = Attempt::Bad { resume: offset + ALIGN_BYTES };
        let bytes = self.read(offset, HEADER_BYTES)?;
        let Ok(bytes) = <&HeaderBytes>::try_from(&bytes[..]) else { return Ok(search_on) };
        let header = match RecordHeader::decode(bytes, &self.id, self.start + offset) {
            Ok(header) => header,
            Err(Fault::Damaged) => return Ok(search_on),
            Err(Fault::Newer(version)) => return Err(ScanError::Newer(version)),
        };
        let end = offset + header.size_bytes();
        if end > self.limit || header.sequence <= self.last_sequence {
            return Ok(search_on);
        }
        if self.check == Check::Headers {
            return Ok(Attempt::Good(header, None));
        }
        let payload = self.read(offset + HEADER_BYTES, header.payload_len())?;
        let complete = payload.len() as u64 == header.payload_len();
        if !complete || crc32c::crc32c(&payload) != header.payload_crc {
            self.bad_bodies.push(self.start + offset);
            return Ok(Attempt::Bad { resume: end });
        }
        Ok(Attempt::Good(header, Some(payload)))
    }

    /// The first place at or after `offset` that looks like a record.
    fn find_magic(&mut self, mut offset: u64) -> Result<Option<u64>, ScanError> {
        while offset + HEADER_BYTES <= self.limit {
            let chunk = self.read(offset, HEADER_BYTES)?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let available = self.buffered_from(offset);
            let found = available
                .chunks(ALIGN_BYTES as usize)
                .position(|place| place.starts_with(RECORD_MAGIC));
            match found {
                Some(index) => {
                    let candidate = offset + index as u64 * ALIGN_BYTES;
                    return Ok((candidate + HEADER_BYTES <= self.limit).then_some(candidate));
                }
                None => offset += (available.len() as u64).next_multiple_of(ALIGN_BYTES),
            }
        }
        Ok(None)
    }

    fn buffered_from(&self, offset: u64) -> &[u8] {
        let skip = offset.saturating_sub(self.buffer_offset) as usize;
        self.buffer.get(skip..).unwrap_or_default()
    }

    /// Bytes below the limit; fewer than asked for only where the file ends.
    fn read(&mut self, offset: u64, len: u64) -> Result<Bytes, ScanError> {
        let wanted = len.min(self.limit.saturating_sub(offset)) as usize;
        let skip = offset.wrapping_sub(self.buffer_offset);
        let buffered = offset >= self.buffer_offset
            && skip.saturating_add(wanted as u64) <= self.buffer.len() as u64;
        if !buffered {
            let chunk = match self.check {
                Check::Full => READ_CHUNK_BYTES,
                // The next header is often not far, and bodies need not be read.
                Check::Headers => READ_CHUNK_BYTES / 16,
            };
            let len = (chunk as u64).min(self.limit.saturating_sub(offset)).max(wanted as u64);
            let mut bytes = vec![0; len as usize];
            let filled = read_full_at(&*self.file, &mut bytes, offset)?;
            bytes.truncate(filled);
            self.buffer = Bytes::from(bytes);
            self.buffer_offset = offset;
        }
        let skip = (offset - self.buffer_offset) as usize;
        Ok(self.buffer.slice(skip..(skip + wanted).min(self.buffer.len())))
    }
}

/// Makes an entry of what [`Scan`] found.
pub(crate) fn entry(header: &RecordHeader, position: Position, payload: &Bytes) -> Entry {
    let tenant_len = usize::from(header.tenant_len);
    Entry {
        position,
        next_position: position + header.size_bytes(),
        sequence: header.sequence,
        received_nanos: header.received_nanos,
        signal: header.signal,
        format: header.format,
        compression: header.compression,
        // It was text when it was written, and its CRC is right.
        tenant: Arc::from(String::from_utf8_lossy(&payload[..tenant_len])),
        body: payload.slice(tenant_len..),
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::path::Path;

    use super::*;
    use crate::disk::Disk;
    use crate::sim::SimDisk;

    const ID: JournalId = [9; 16];

    /// A segment whose records have these sequences and no payload.
    fn segment(sequences: &[u64]) -> Scan {
        let mut bytes = vec![0; HEADER_BYTES as usize];
        for &sequence in sequences {
            let header = RecordHeader {
                compression: Compression::None,
                format: Format::Loki,
                signal: Signal::Logs,
                tenant_len: 0,
                body_len: 0,
                sequence,
                received_nanos: 0,
                hash: 0,
                payload_crc: 0,
                spare_len: 0,
            };
            bytes.extend_from_slice(&header.encode(&ID, bytes.len() as u64));
        }
        let file = SimDisk::new(1).create(Path::new("/file")).unwrap();
        file.write_at(&[IoSlice::new(&bytes)], 0).unwrap();
        let mut scan = Scan::new(Arc::from(file), ID, 0, 0, Check::Full);
        scan.set_limit(bytes.len() as u64);
        scan
    }

    fn sequences(mut scan: Scan) -> (Vec<u64>, usize) {
        let (mut sequences, mut damages) = (Vec::new(), 0);
        loop {
            match scan.next().unwrap() {
                Found::Record { header, .. } => sequences.push(header.sequence),
                Found::Damage { .. } => damages += 1,
                Found::End { .. } => return (sequences, damages),
            }
        }
    }

    #[test]
    fn a_sequence_is_accepted_once_and_only_upwards() {
        assert_eq!(sequences(segment(&[1, 2, 5])), (vec![1, 2, 5], 0));
        assert_eq!(sequences(segment(&[1, 2, 2, 1, 3])), (vec![1, 2, 3], 1));
        let mut scan = segment(&[1, 2, 3]);
        scan.set_last_sequence(2);
        assert_eq!(sequences(scan), (vec![3], 1));
    }
}
