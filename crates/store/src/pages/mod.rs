//! Parquet pages, written and read by hand.
//!
//! The rest of the crate keeps columns as vectors of numbers and dictionary
//! codes. The Parquet crate's own writers would hash every string of every row
//! once more to find a dictionary that we already have; here the codes go
//! straight into pages. The files are ordinary Parquet all the same: data page
//! version 1, encodings that every reader knows (`PLAIN`, `RLE_DICTIONARY`,
//! `DELTA_BINARY_PACKED`, `RLE`), zstd frames with a content checksum. File
//! footer, offset index and column index are the Parquet crate's work.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rle`] | the run-length and bit-packing hybrid of levels and codes |
//! | [`delta`] | `DELTA_BINARY_PACKED` |
//! | [`header`] | reading a page header |
//! | [`encode`] | one column to pages |
//! | [`chunk_meta`] | what footer and indexes say of them |
//! | [`decode`] | pages to one column |

mod chunk_meta;
pub(crate) mod decode;
pub(crate) mod delta;
pub(crate) mod encode;
pub(crate) mod header;
pub(crate) mod rle;

/// Rows of a page of any column, and of everything that is kept per page.
pub(crate) const GRANULE_ROWS: usize = 8192;

/// Why bytes of a page could not be understood.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("damaged page: {0}")]
pub struct PageError(pub &'static str);

/// Reads an unsigned LEB128 number of at most 64 bits.
pub(crate) fn read_varint(bytes: &[u8], at: &mut usize) -> Result<u64, PageError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(PageError("number cut short"))?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(PageError("number too long"))
}

/// Appends an unsigned LEB128 number.
pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bits needed to write `max`.
pub(crate) fn bits_for(max: u64) -> u8 {
    (64 - max.leading_zeros()) as u8
}
