//! Packing and unpacking of requests.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::GzEncoder;
use kymo_journal::Compression;
use thiserror::Error;

use crate::limits::MAX_UNPACKED_BYTES;

/// Why a request cannot be unpacked.
#[derive(Debug, Error)]
pub(crate) enum UnpackError {
    /// The bytes are not what they are said to be.
    #[error("cannot be unpacked: {0}")]
    Damaged(String),
    /// There is too much in them.
    #[error("has more than {MAX_UNPACKED_BYTES} bytes when it is unpacked")]
    TooLarge,
}

/// A body without its compression; the same bytes if it has none.
pub(crate) fn unpack(body: &Bytes, compression: Compression) -> Result<Bytes, UnpackError> {
    let damaged = |error: io::Error| UnpackError::Damaged(error.to_string());
    match compression {
        Compression::None => Ok(body.clone()),
        Compression::Gzip => read_bounded(MultiGzDecoder::new(&body[..])),
        Compression::Deflate => read_bounded(ZlibDecoder::new(&body[..])),
        Compression::Zstd => read_bounded(zstd::Decoder::new(&body[..]).map_err(damaged)?),
        Compression::Snappy => {
            let length = snap::raw::decompress_len(body).map_err(|e| damaged(e.into()))?;
            if length > MAX_UNPACKED_BYTES {
                return Err(UnpackError::TooLarge);
            }
            let plain = snap::raw::Decoder::new().decompress_vec(body);
            Ok(plain.map_err(|error| damaged(error.into()))?.into())
        }
    }
}

fn read_bounded(packed: impl Read) -> Result<Bytes, UnpackError> {
    let mut plain = Vec::new();
    let bound = MAX_UNPACKED_BYTES as u64 + 1;
    let read = packed.take(bound).read_to_end(&mut plain);
    read.map_err(|error| UnpackError::Damaged(error.to_string()))?;
    if plain.len() > MAX_UNPACKED_BYTES {
        return Err(UnpackError::TooLarge);
    }
    Ok(plain.into())
}

/// Parts, one after the other, packed. Deflate is never asked for and left as it is.
pub(crate) fn pack(parts: &[Bytes], compression: Compression) -> io::Result<Bytes> {
    match compression {
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            parts.iter().try_for_each(|part| encoder.write_all(part))?;
            Ok(encoder.finish()?.into())
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
            parts.iter().try_for_each(|part| encoder.write_all(part))?;
            Ok(encoder.finish()?.into())
        }
        Compression::Snappy => {
            let packed = snap::raw::Encoder::new().compress_vec(&joined(parts));
            Ok(packed.map_err(io::Error::from)?.into())
        }
        Compression::None | Compression::Deflate => Ok(joined(parts)),
    }
}

/// Parts as one piece of memory; without a copy if there is only one.
pub(crate) fn joined(parts: &[Bytes]) -> Bytes {
    match parts {
        [one] => one.clone(),
        many => many.concat().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_again() {
        let parts = [Bytes::from_static(b"some"), Bytes::from(vec![b'x'; 100_000])];
        let plain = joined(&parts);
        for compression in
            [Compression::None, Compression::Gzip, Compression::Zstd, Compression::Snappy]
        {
            let packed = pack(&parts, compression).unwrap();
            assert_eq!(packed.len() < plain.len(), compression != Compression::None);
            assert_eq!(unpack(&packed, compression).unwrap(), plain, "{compression:?}");
        }
        let mut deflate =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        deflate.write_all(&plain).unwrap();
        let deflate = deflate.finish().unwrap().into();
        assert_eq!(unpack(&deflate, Compression::Deflate).unwrap(), plain);
    }

    #[test]
    fn damage_and_bombs_are_errors() {
        let garbage = Bytes::from_static(b"\xff\xff\xff\xff\xff\x0fgarbage");
        for compression in &Compression::ALL[1..] {
            assert!(unpack(&garbage, *compression).is_err(), "{compression:?}");
        }
        let bomb = pack(&[vec![0; MAX_UNPACKED_BYTES + 1].into()], Compression::Zstd).unwrap();
        assert!(matches!(unpack(&bomb, Compression::Zstd), Err(UnpackError::TooLarge)));
    }
}
