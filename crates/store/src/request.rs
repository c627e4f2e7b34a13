//! Journal records to decompressed requests: OTLP in protobuf, or remote-write.

use std::borrow::Cow;
use std::io::Read;

use kymo_journal::{Compression, Entry, Format};
use kymo_wire::remote_write::Version;

use crate::error::StoreError;
use crate::schema::Signal;

/// Bytes of a decompressed request; admission refuses more.
const MAX_REQUEST_BYTES: u64 = 1 << 30;

/// The table that a record goes to.
pub(crate) fn signal_of(entry: &Entry) -> Signal {
    match entry.signal {
        kymo_journal::Signal::Traces => Signal::Spans,
        kymo_journal::Signal::Logs => Signal::Logs,
        kymo_journal::Signal::Metrics => Signal::Series,
    }
}

fn wire_signal(entry: &Entry) -> kymo_wire::Signal {
    match entry.signal {
        kymo_journal::Signal::Traces => kymo_wire::Signal::Traces,
        kymo_journal::Signal::Logs => kymo_wire::Signal::Logs,
        kymo_journal::Signal::Metrics => kymo_wire::Signal::Metrics,
    }
}

/// How a request's messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OTLP, in protobuf.
    Otlp,
    /// Prometheus' remote-write.
    RemoteWrite(Version),
}

/// A request, decompressed.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) body: Cow<'a, [u8]>,
}

/// The record's request.
pub(crate) fn decode(entry: &Entry) -> Result<Request<'_>, StoreError> {
    let plain = decompress(entry.compression, &entry.body)?;
    let is_metrics = entry.signal == kymo_journal::Signal::Metrics;
    let (protocol, body) = match entry.format {
        Format::OtlpProtobuf => (Protocol::Otlp, plain),
        Format::RemoteWrite1 if is_metrics => (Protocol::RemoteWrite(Version::One), plain),
        Format::RemoteWrite2 if is_metrics => (Protocol::RemoteWrite(Version::Two), plain),
        Format::OtlpJson => {
            let decoded = kymo_wire::json::decode(wire_signal(entry), &plain)
                .map_err(|e| StoreError::corrupt(format!("request in JSON: {e}")))?;
            (Protocol::Otlp, Cow::Owned(decoded))
        }
        other => {
            let problem = format!("requests of format {other:?} are not stored");
            return Err(StoreError::corrupt(problem));
        }
    };
    Ok(Request { protocol, body })
}

fn decompress(compression: Compression, body: &[u8]) -> Result<Cow<'_, [u8]>, StoreError> {
    let reader: Box<dyn Read + '_> = match compression {
        Compression::None => return Ok(Cow::Borrowed(body)),
        Compression::Zstd => Box::new(zstd::Decoder::new(body)?),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
        Compression::Deflate => Box::new(flate2::read::ZlibDecoder::new(body)),
        Compression::Snappy => return snappy(body).map(Cow::Owned),
    };
    let mut plain = Vec::new();
    reader.take(MAX_REQUEST_BYTES + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > MAX_REQUEST_BYTES {
        return Err(StoreError::corrupt("a request is larger than any that is admitted"));
    }
    Ok(Cow::Owned(plain))
}

/// Snappy says its size in front, and is read whole.
fn snappy(body: &[u8]) -> Result<Vec<u8>, StoreError> {
    let corrupt = |error: snap::Error| StoreError::corrupt(format!("request in snappy: {error}"));
    let size_bytes = snap::raw::decompress_len(body).map_err(corrupt)?;
    if size_bytes as u64 > MAX_REQUEST_BYTES {
        return Err(StoreError::corrupt("a request is larger than any that is admitted"));
    }
    snap::raw::Decoder::new().decompress_vec(body).map_err(corrupt)
}
