//! Reading and writing of the small parts: bytes, varints, raw doubles.

use super::CodecError;

/// Appends `value` as LEB128: seven bits a byte, lowest first, the high bit set on all but the last.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` zigzag-mapped (0, -1, 1, -2, … become 0, 1, 2, 3, …) as LEB128.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// What is left to read of a blob. Every method fails, and none panics, when the bytes run out.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn byte(&mut self) -> Result<u8, CodecError> {
        let (&first, rest) = self.rest.split_first().ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn varint(&mut self) -> Result<u64, CodecError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(CodecError::Corrupt("a varint exceeds 64 bits"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(CodecError::Corrupt("a varint exceeds 10 bytes"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, CodecError> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// A varint that must not exceed `limit`.
    pub(super) fn count(&mut self, limit: usize) -> Result<usize, CodecError> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= limit => Ok(count),
            _ => Err(CodecError::Limit { count, limit }),
        }
    }

    pub(super) fn double(&mut self) -> Result<f64, CodecError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(f64::from_le_bytes(*bytes))
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Result<(), CodecError> {
        if self.rest.is_empty() { Ok(()) } else { Err(CodecError::Corrupt("bytes after the end")) }
    }
}
