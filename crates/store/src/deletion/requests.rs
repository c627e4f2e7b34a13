//! Which records of a request are to go, and what is left of the request: for the journal and the
//! archive, which have requests as they came.

use std::io::Write;

use bytes::Bytes;
use kymo_journal::{Compression, Edit, Entry, Format};
use kymo_wire::remote_write::Version;

use super::Target;
use super::prune::{Pruned, prune};
use crate::block::source::Source;
use crate::error::StoreError;
use crate::head::Batch;
use crate::request::{self, Protocol, Request};
use crate::scan::{ColumnCache, matching_rows};
use crate::schema::Signal;

/// Level of what is compressed anew. It must not be larger than what it replaces, and there is time.
const ZSTD_LEVEL: i32 = 19;

/// Judges requests by the targets of a deletion.
pub(super) struct Judge<'t> {
    targets: &'t [Target],
    /// Requests are looked at once.
    nothing: ColumnCache,
}

impl<'t> Judge<'t> {
    pub(super) fn new(targets: &'t [Target]) -> Self {
        Self { targets, nothing: ColumnCache::new(0) }
    }

    /// Whether a record of a request matches.
    fn matches(&self, signal: Signal, protocol: Protocol, body: &[u8]) -> Result<bool, StoreError> {
        if !self.targets.iter().any(|target| target.signal == signal) {
            return Ok(false);
        }
        let batch = Batch::new(signal);
        batch.append(protocol, body, 0).0?;
        for chunk in batch.finish()? {
            let source = Source::Chunk(chunk);
            for target in self.targets.iter().filter(|target| target.signal == signal) {
                let rows =
                    matching_rows(&source, signal.table(), &target.predicate, &self.nothing)?;
                if rows.contains(&true) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A request without the records that match.
    fn pruned(
        &self,
        signal: Signal,
        protocol: Protocol,
        body: &[u8],
    ) -> Result<Pruned, StoreError> {
        let mut is_removed = |alone: &[u8]| self.matches(signal, protocol, alone);
        prune(signal, protocol, body, &mut is_removed)
    }

    /// The same; `None` if no record matches.
    pub(super) fn without(
        &self,
        signal: Signal,
        protocol: Protocol,
        body: &[u8],
    ) -> Result<Option<Pruned>, StoreError> {
        if !self.matches(signal, protocol, body)? {
            return Ok(None);
        }
        Ok(Some(self.pruned(signal, protocol, body)?).filter(|left| left.removed > 0))
    }

    /// What becomes of a record of the journal.
    pub(super) fn edit(&self, entry: &Entry) -> Result<Edit, StoreError> {
        let (signal, position) = (request::signal_of(entry), entry.position);
        let judged = request::decode(entry).and_then(|request| {
            let matches = self.matches(signal, request.protocol, &request.body)?;
            Ok((request, matches))
        });
        let Request { protocol, body } = match judged {
            Ok((request, true)) => request,
            Ok((_, false)) => return Ok(Edit::Keep),
            // The store has left it out as well.
            Err(error @ (StoreError::Corrupt(_) | StoreError::Wire(_) | StoreError::Io(_))) => {
                tracing::warn!(position, %error, "a request is not looked into");
                return Ok(Edit::Keep);
            }
            Err(error) => return Err(error),
        };
        let pruned = match self.pruned(signal, protocol, &body) {
            Ok(pruned) if pruned.left == 0 => return Ok(Edit::Erase),
            Ok(pruned) => pruned,
            Err(error @ (StoreError::Corrupt(_) | StoreError::Wire(_))) => {
                tracing::warn!(position, %error, "a request cannot be taken apart");
                return Ok(Edit::Stuck);
            }
            Err(error) => return Err(error),
        };
        // It matches as a whole: what is left must not.
        if pruned.removed == 0 || self.matches(signal, protocol, &pruned.body)? {
            tracing::warn!(position, "no record of a request matches alone, but all together do");
            return Ok(Edit::Stuck);
        }
        let format = match protocol {
            Protocol::Otlp => Format::OtlpProtobuf,
            Protocol::RemoteWrite(Version::One) => Format::RemoteWrite1,
            Protocol::RemoteWrite(Version::Two) => Format::RemoteWrite2,
        };
        let (compression, body) = fitting(entry, &pruned.body)?;
        Ok(Edit::Replace { format, compression, body })
    }
}

/// A body compressed as that of a record was; or else so that it takes less than that one.
fn fitting(entry: &Entry, plain: &[u8]) -> Result<(Compression, Bytes), StoreError> {
    let same = compressed(entry.compression, plain)?;
    match same.len() <= entry.body.len() {
        true => Ok((entry.compression, same)),
        false => Ok((Compression::Zstd, compressed(Compression::Zstd, plain)?)),
    }
}

fn compressed(compression: Compression, plain: &[u8]) -> Result<Bytes, StoreError> {
    let best = flate2::Compression::best();
    Ok(Bytes::from(match compression {
        Compression::None => plain.to_vec(),
        Compression::Zstd => zstd::bulk::compress(plain, ZSTD_LEVEL)?,
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            encoder.write_all(plain)?;
            encoder.finish()?
        }
        Compression::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), best);
            encoder.write_all(plain)?;
            encoder.finish()?
        }
        Compression::Snappy => snap::raw::Encoder::new()
            .compress_vec(plain)
            .map_err(|error| StoreError::corrupt(format!("snappy: {error}")))?,
    }))
}
