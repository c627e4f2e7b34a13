//! Writing protobuf.
//!
//! [`Writer`] appends fields to one buffer. A nested message is written in place: a byte is set
//! aside for its length, and if the length turns out to need more, the content is moved up. So no
//! message is built twice and none has to know its size beforehand.
//!
//! [`otlp`] has the messages of OTLP on top of it, [`records`] log records and gauges, [`metrics`]
//! metrics of many points. Bytes are written in the order of the calls; nothing is checked against a schema.

pub mod metrics;
pub mod otlp;
pub mod records;

pub use metrics::{DistributionFields, ExemplarFields, MetricFields, MetricShape, PointTimes};
pub use otlp::{EventFields, LinkFields, SpanFields};
pub use records::{LogFields, PointFields, PointValue, WriteAttribute};

use crate::proto::{FIXED32, FIXED64, LEN, VARINT};

/// Appends protobuf fields to a buffer.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with room for `size_bytes`.
    #[must_use]
    pub fn with_capacity(size_bytes: usize) -> Self {
        Self { out: Vec::with_capacity(size_bytes) }
    }

    /// What was written so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.out
    }

    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Forgets what was written and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Appends a varint without a tag.
    #[inline]
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    /// Appends bytes that are fields already, exactly as they are.
    #[inline]
    pub fn raw(&mut self, fields: &[u8]) {
        self.out.extend_from_slice(fields);
    }

    /// Appends a tag as it is on the wire: field number and wire type in one.
    #[inline]
    pub(crate) fn tag(&mut self, tag: u32) {
        self.varint(u64::from(tag));
    }

    /// Appends a varint field; signed numbers are cast to `u64`, sign extended.
    #[inline]
    pub fn varint_field(&mut self, field: u32, value: u64) {
        self.tag(field << 3 | VARINT);
        self.varint(value);
    }

    /// Appends a `sint32` field.
    #[inline]
    pub fn sint32_field(&mut self, field: u32, value: i32) {
        self.varint_field(field, u64::from((value << 1 ^ value >> 31) as u32));
    }

    /// Appends a field of four bytes.
    #[inline]
    pub fn fixed32_field(&mut self, field: u32, value: u32) {
        self.tag(field << 3 | FIXED32);
        self.raw(&value.to_le_bytes());
    }

    /// Appends a field of eight bytes.
    #[inline]
    pub fn fixed64_field(&mut self, field: u32, value: u64) {
        self.tag(field << 3 | FIXED64);
        self.raw(&value.to_le_bytes());
    }

    /// Appends a double.
    #[inline]
    pub fn double_field(&mut self, field: u32, value: f64) {
        self.fixed64_field(field, value.to_bits());
    }

    /// Appends a field of bytes or text, or a message that is encoded already.
    #[inline]
    pub fn bytes_field(&mut self, field: u32, value: &[u8]) {
        self.tag(field << 3 | LEN);
        self.varint(value.len() as u64);
        self.raw(value);
    }

    /// Appends a nested message whose fields are written by `content`.
    #[inline]
    pub fn message<R>(&mut self, field: u32, content: impl FnOnce(&mut Self) -> R) -> R {
        let length_at = self.begin_message(field);
        let result = content(self);
        self.end_message(length_at);
        result
    }

    /// Begins a nested message and gives the place of its length, for [`Writer::end_message`].
    #[inline]
    pub(crate) fn begin_message(&mut self, field: u32) -> usize {
        self.tag(field << 3 | LEN);
        self.out.push(0);
        self.out.len() - 1
    }

    /// Writes the length of everything behind `length_at` into the byte there, and moves the
    /// content up if one byte does not suffice.
    #[inline]
    pub(crate) fn end_message(&mut self, length_at: usize) {
        let start = length_at + 1;
        let length = self.out.len() - start;
        if length < 0x80 {
            self.out[length_at] = length as u8;
            return;
        }
        let mut prefix = Self::with_capacity(10);
        prefix.varint(length as u64);
        self.out.splice(length_at..start, prefix.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Reader, unzigzag};

    #[test]
    fn what_is_written_is_read_back() {
        let mut writer = Writer::new();
        writer.varint_field(1, u64::MAX);
        writer.sint32_field(2, i32::MIN);
        writer.fixed32_field(3, 7);
        writer.double_field(4, -0.5);
        writer.bytes_field(20, b"text");
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.tag(), Ok(Some(1 << 3)));
        assert_eq!(reader.varint(), Ok(u64::MAX));
        assert_eq!(reader.tag(), Ok(Some(2 << 3)));
        assert_eq!(reader.varint().map(unzigzag), Ok(i32::MIN));
        assert_eq!(reader.tag(), Ok(Some(3 << 3 | FIXED32)));
        assert_eq!(reader.fixed32(), Ok(7));
        assert_eq!(reader.tag(), Ok(Some(4 << 3 | FIXED64)));
        assert_eq!(reader.double(), Ok(-0.5));
        assert_eq!(reader.tag(), Ok(Some(20 << 3 | LEN)));
        assert_eq!(reader.bytes(), Ok(&b"text"[..]));
        assert_eq!(reader.tag(), Ok(None));
    }

    #[test]
    fn a_nested_message_has_the_right_length_at_every_size_of_the_length() {
        for length in [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_152] {
            let content = vec![b'x'; length];
            let mut writer = Writer::new();
            writer.message(1, |w| w.message(2, |w| w.raw(&content)));
            writer.varint_field(3, 1);
            let bytes = writer.into_bytes();
            let mut outer = Reader::new(&bytes);
            assert_eq!(outer.tag(), Ok(Some(0x0a)));
            let mut inner = outer.message().expect("outer message is framed");
            assert_eq!(inner.tag(), Ok(Some(0x12)));
            assert_eq!(inner.bytes(), Ok(&content[..]));
            assert!(inner.is_empty());
            assert_eq!(outer.tag(), Ok(Some(3 << 3)));
        }
    }
}
