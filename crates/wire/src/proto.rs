//! The protobuf wire format, one field at a time.
//!
//! [`Reader`] walks the bytes of one message and hands out borrowed pieces. It never allocates
//! and never panics: every length is checked against what is left before it is used.
//!
//! It refuses what no OTLP sender produces: groups (removed from protobuf long before OTLP),
//! field number 0, tags beyond 32 bits, and varints that do not fit 64 bits.

use thiserror::Error;

/// Why some bytes are not the message they should be, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{kind} at byte {offset}")]
pub struct WireError {
    /// Distance in bytes from the start of the message that was handed in to be read.
    pub offset: usize,
    /// What was wrong there.
    pub kind: WireErrorKind,
}

/// What can be wrong with protobuf bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// A value or a length reaches beyond the end of its message.
    #[error("message ends inside a field")]
    Truncated,
    /// A varint longer than ten bytes, or one whose value exceeds 64 bits.
    #[error("varint does not fit 64 bits")]
    VarintOverflow,
    /// A tag that is not a 32-bit number.
    #[error("field tag does not fit 32 bits")]
    TagOverflow,
    /// Field number 0, which protobuf reserves.
    #[error("field number 0 is not allowed")]
    FieldZero,
    /// Wire types 3 and 4 (groups) and the undefined 6 and 7.
    #[error("unsupported wire type {0}")]
    WireType(u8),
    /// A field this crate knows, in a wire type its definition does not allow.
    #[error("field {0} has the wrong wire type")]
    FieldType(u32),
    /// A sub-message that may occur once was found twice.
    ///
    /// Protobuf would merge both, which borrowed views cannot do, and no known sender makes use
    /// of it.
    #[error("field {0} may occur only once")]
    Duplicate(u32),
    /// A packed list whose length is not a multiple of its element.
    #[error("packed list in field {0} has a partial element")]
    PartialElement(u32),
    /// Attribute values nested deeper than [`Limits::max_nesting`](crate::Limits::max_nesting).
    #[error("attribute values are nested more than {0} levels deep")]
    TooDeep(u32),
    /// Labels that would take more than
    /// [`MAX_REQUEST_LABELS_BYTES`](crate::limits::MAX_REQUEST_LABELS_BYTES) once written out.
    #[error("labels of all series are longer than {0} bytes: send fewer series at once")]
    LabelsTooLong(usize),
}

/// Wire type of integers of variable length.
pub(crate) const VARINT: u32 = 0;
/// Wire type of eight little-endian bytes.
pub(crate) const FIXED64: u32 = 1;
/// Wire type of a length followed by so many bytes.
pub(crate) const LEN: u32 = 2;
/// Wire type of four little-endian bytes.
pub(crate) const FIXED32: u32 = 5;

/// A varint has at most this many bytes: 64 bits in groups of seven.
const MAX_VARINT_BYTES: usize = 10;

/// A cursor over the bytes of one message.
///
/// Copying it is cheap and gives an independent cursor at the same place.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Offset of the end of `rest` in the outermost message, so that errors deep inside can say
    /// where they are.
    end: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `message`.
    #[inline]
    #[must_use]
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message, end: message.len() }
    }

    /// Whether everything was read.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes not yet read.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Where the next byte lies in the outermost message.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// An error at the current place.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: WireErrorKind) -> WireError {
        WireError { offset: self.offset(), kind }
    }

    /// Reads a tag: the field number shifted left by three, and the wire type. `None` at the end.
    #[inline]
    pub fn tag(&mut self) -> Result<Option<u32>, WireError> {
        match self.rest {
            // Fields 1 to 15 have a tag of one byte, and nearly all fields of OTLP are among them.
            [first @ 8..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(Some(u32::from(*first)))
            }
            [first @ 0x80..=0xff, second @ 1..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(Some(u32::from(*first & 0x7f) | u32::from(*second) << 7))
            }
            [] => Ok(None),
            _ => self.long_tag(),
        }
    }

    #[cold]
    fn long_tag(&mut self) -> Result<Option<u32>, WireError> {
        let start = *self;
        let Ok(tag) = u32::try_from(self.varint()?) else {
            return Err(start.error(WireErrorKind::TagOverflow));
        };
        if tag >> 3 == 0 {
            return Err(start.error(WireErrorKind::FieldZero));
        }
        Ok(Some(tag))
    }

    /// Reads an integer of variable length.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, WireError> {
        match self.rest {
            [first @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            [first, second @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*first & 0x7f) | u64::from(*second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().take(MAX_VARINT_BYTES).enumerate() {
            let is_last_allowed = index == MAX_VARINT_BYTES - 1;
            if is_last_allowed && *byte > 1 {
                return Err(self.error(WireErrorKind::VarintOverflow));
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(self.error(WireErrorKind::Truncated))
    }

    /// Reads four little-endian bytes.
    #[inline]
    pub fn fixed32(&mut self) -> Result<u32, WireError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error(WireErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// Reads eight little-endian bytes.
    #[inline]
    pub fn fixed64(&mut self) -> Result<u64, WireError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error(WireErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// Reads a double.
    #[inline]
    pub fn double(&mut self) -> Result<f64, WireError> {
        Ok(f64::from_bits(self.fixed64()?))
    }

    /// Reads a length and so many bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.varint()?;
        // A length beyond usize is beyond what is left, too.
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.error(WireErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads a length and gives a cursor over so many bytes, which still knows its own offset.
    #[inline]
    pub fn message(&mut self) -> Result<Reader<'a>, WireError> {
        let bytes = self.bytes()?;
        Ok(Reader { rest: bytes, end: self.offset() })
    }

    /// Steps over the value of a field whose tag was just read.
    #[inline]
    pub fn skip(&mut self, tag: u32) -> Result<(), WireError> {
        match tag & 7 {
            VARINT => self.varint().map(drop),
            FIXED64 => self.fixed64().map(drop),
            LEN => self.bytes().map(drop),
            FIXED32 => self.fixed32().map(drop),
            other => Err(self.error(WireErrorKind::WireType(other as u8))),
        }
    }

    /// Steps over a field a view has no use for.
    ///
    /// `known` has bit n set when the message defines field n: such a field got here because its
    /// wire type is wrong, and is refused.
    #[inline(never)]
    pub(crate) fn skip_other(&mut self, tag: u32, known: u64) -> Result<(), WireError> {
        let number = tag >> 3;
        if number < u64::BITS && known >> number & 1 == 1 {
            return Err(self.error(WireErrorKind::FieldType(number)));
        }
        self.skip(tag)
    }
}

/// Maps the zigzag form of a signed integer back.
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> i32 {
    let value = value as u32;
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of<T: std::fmt::Debug>(result: Result<T, WireError>) -> WireErrorKind {
        result.expect_err("must be refused").kind
    }

    #[test]
    fn a_varint_of_any_length_up_to_ten_bytes_is_read() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0x80, 0x01], 128),
            (&[0xff, 0xff, 0x03], 65_535),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], u64::MAX),
            // Not the shortest form, yet allowed.
            (&[0x80, 0x80, 0x00], 0),
        ] {
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.varint(), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_varint_beyond_64_bits_or_beyond_the_end_is_refused() {
        let eleven = [0x80; 11];
        assert_eq!(kind_of(Reader::new(&eleven).varint()), WireErrorKind::VarintOverflow);
        let overflow = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(kind_of(Reader::new(&overflow).varint()), WireErrorKind::VarintOverflow);
        assert_eq!(kind_of(Reader::new(&[0x80, 0x80]).varint()), WireErrorKind::Truncated);
        assert_eq!(kind_of(Reader::new(&[]).varint()), WireErrorKind::Truncated);
    }

    #[test]
    fn field_zero_groups_and_oversized_tags_are_refused() {
        assert_eq!(kind_of(Reader::new(&[0x02]).tag()), WireErrorKind::FieldZero);
        assert_eq!(kind_of(Reader::new(&[0x80, 0x00]).tag()), WireErrorKind::FieldZero);
        let large = [0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(kind_of(Reader::new(&large).tag()), WireErrorKind::TagOverflow);
        for group in [3, 4, 6, 7] {
            let result = Reader::new(&[1, 2, 3]).skip(8 | group);
            assert_eq!(kind_of(result), WireErrorKind::WireType(group as u8));
        }
    }

    #[test]
    fn a_length_beyond_the_end_is_refused_and_the_offset_counts_from_the_outermost_message() {
        let bytes = [0x0a, 0x03, 0x0a, 0x05, 0x00];
        let mut outer = Reader::new(&bytes);
        assert_eq!(outer.tag(), Ok(Some(0x0a)));
        let mut inner = outer.message().expect("framing of the outer field is right");
        assert_eq!(inner.tag(), Ok(Some(0x0a)));
        assert_eq!(inner.bytes(), Err(WireError { offset: 4, kind: WireErrorKind::Truncated }));
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(kind_of(Reader::new(&huge).bytes()), WireErrorKind::Truncated);
    }

    #[test]
    fn zigzag_numbers_come_back_signed() {
        for (coded, value) in [(0, 0), (1, -1), (2, 1), (3, -2), (0xffff_ffff, i32::MIN)] {
            assert_eq!(unzigzag(coded), value);
        }
    }
}
