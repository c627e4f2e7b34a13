//! Compression as senders do it, and decompression as the store does it.

use std::io::{Read, Result, Write};

use kymo_admit::Compression;

/// Compresses as a sender would.
pub(crate) fn compress(compression: Compression, plain: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match compression {
        Compression::None => plain.to_vec(),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(plain, 1).unwrap(),
        Compression::Snappy => snap::raw::Encoder::new().compress_vec(plain).unwrap(),
    }
}

/// Deflate without the zlib wrapper.
#[allow(dead_code, reason = "not every test that includes this needs it")]
pub(crate) fn deflate_raw(plain: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Decompresses with the decoders that `request.rs` of the store uses.
#[allow(dead_code, reason = "not every test that includes this needs it")]
pub(crate) fn decompress_as_the_store(compression: Compression, body: &[u8]) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    match compression {
        Compression::None => plain.extend_from_slice(body),
        Compression::Gzip => {
            flate2::read::MultiGzDecoder::new(body).read_to_end(&mut plain)?;
        }
        Compression::Deflate => {
            flate2::read::ZlibDecoder::new(body).read_to_end(&mut plain)?;
        }
        Compression::Zstd => {
            zstd::Decoder::new(body)?.read_to_end(&mut plain)?;
        }
        Compression::Snappy => plain = snap::raw::Decoder::new().decompress_vec(body)?,
    }
    Ok(plain)
}
