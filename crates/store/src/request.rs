//! Journal records to encoded OTLP requests.

use std::borrow::Cow;
use std::io::Read;

use kymo_journal::{Compression, Entry, Format};

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

/// The record's request as OTLP protobuf.
pub(crate) fn otlp(entry: &Entry) -> Result<Cow<'_, [u8]>, StoreError> {
    let plain = decompress(entry.compression, &entry.body)?;
    match entry.format {
        Format::OtlpProtobuf => Ok(plain),
        Format::OtlpJson => {
            let decoded = kymo_wire::json::decode(wire_signal(entry), &plain)
                .map_err(|e| StoreError::corrupt(format!("request in JSON: {e}")))?;
            Ok(Cow::Owned(decoded))
        }
        other => Err(StoreError::corrupt(format!("requests of format {other:?} are not stored"))),
    }
}

fn decompress(compression: Compression, body: &[u8]) -> Result<Cow<'_, [u8]>, StoreError> {
    let reader: Box<dyn Read + '_> = match compression {
        Compression::None => return Ok(Cow::Borrowed(body)),
        Compression::Zstd => Box::new(zstd::Decoder::new(body)?),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
        Compression::Deflate => Box::new(flate2::read::ZlibDecoder::new(body)),
        Compression::Snappy => {
            return Err(StoreError::corrupt("requests in snappy are not stored"));
        }
    };
    let mut plain = Vec::new();
    reader.take(MAX_REQUEST_BYTES + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > MAX_REQUEST_BYTES {
        return Err(StoreError::corrupt("a request is larger than any that is admitted"));
    }
    Ok(Cow::Owned(plain))
}
