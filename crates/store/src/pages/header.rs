//! Reading Parquet page headers (Thrift compact protocol).
//!
//! Only what the decoder needs: sizes, count and encoding. Unknown fields are
//! skipped, nested as they may be, to a bounded depth.

use super::{PageError, read_varint};

/// What a page says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PageHeader {
    /// Bytes of the header itself.
    pub(crate) header_bytes: usize,
    /// 0 is a data page (version 1), 2 a dictionary page.
    pub(crate) kind: i32,
    pub(crate) uncompressed_bytes: usize,
    pub(crate) compressed_bytes: usize,
    /// Values, or entries of a dictionary.
    pub(crate) values: usize,
    /// Parquet's number of the encoding of the values.
    pub(crate) encoding: i32,
}

pub(crate) const DATA_PAGE: i32 = 0;
pub(crate) const DICTIONARY_PAGE: i32 = 2;

/// Nesting that a header may have; Parquet's own has three levels.
const MAX_DEPTH: usize = 8;

const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, PageError> {
        let byte = *self.bytes.get(self.at).ok_or(PageError("header cut short"))?;
        self.at += 1;
        Ok(byte)
    }

    fn integer(&mut self) -> Result<i64, PageError> {
        let raw = read_varint(self.bytes, &mut self.at)?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The next field of a struct: its number and type; `None` at the end.
    fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>, PageError> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let step = i16::from(byte >> 4);
        *last = if step == 0 { self.integer()? as i16 } else { last.wrapping_add(step) };
        Ok(Some((*last, byte & 0x0f)))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), PageError> {
        if depth > MAX_DEPTH {
            return Err(PageError("header nested too deep"));
        }
        match kind {
            BOOL_TRUE | BOOL_FALSE => {}
            BYTE => self.at += 1,
            I16 | I32 | I64 => {
                self.integer()?;
            }
            DOUBLE => self.at += 8,
            BINARY => {
                let length = read_varint(self.bytes, &mut self.at)? as usize;
                self.at = self.at.checked_add(length).ok_or(PageError("header cut short"))?;
            }
            LIST | SET => {
                let head = self.byte()?;
                let short = u64::from(head >> 4);
                let count =
                    if short == 15 { read_varint(self.bytes, &mut self.at)? } else { short };
                for _ in 0..count {
                    match head & 0x0f {
                        BOOL_TRUE | BOOL_FALSE => {
                            self.byte()?;
                        }
                        element => self.skip(element, depth + 1)?,
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return Err(PageError("unknown type in header")),
        }
        if self.at > self.bytes.len() {
            return Err(PageError("header cut short"));
        }
        Ok(())
    }
}

/// Parses the header at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Result<PageHeader, PageError> {
    let mut thrift = Thrift { bytes, at: 0 };
    let mut header = PageHeader { kind: -1, encoding: -1, ..PageHeader::default() };
    let size = |n: i64| usize::try_from(n).map_err(|_| PageError("negative size"));
    let mut last = 0;
    while let Some((number, kind)) = thrift.field(&mut last)? {
        match (number, kind) {
            (1, I32) => header.kind = thrift.integer()? as i32,
            (2, I32) => header.uncompressed_bytes = size(thrift.integer()?)?,
            (3, I32) => header.compressed_bytes = size(thrift.integer()?)?,
            // DataPageHeader and DictionaryPageHeader both begin with count and encoding.
            (5 | 7, STRUCT) => {
                let mut inner_last = 0;
                while let Some((number, kind)) = thrift.field(&mut inner_last)? {
                    match (number, kind) {
                        (1, I32) => header.values = size(thrift.integer()?)?,
                        (2, I32) => header.encoding = thrift.integer()? as i32,
                        _ => thrift.skip(kind, 1)?,
                    }
                }
            }
            _ => thrift.skip(kind, 0)?,
        }
    }
    header.header_bytes = thrift.at;
    Ok(header)
}
