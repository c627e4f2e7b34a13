//! Repeated numbers, packed or not.
//!
//! Protobuf lets a sender write a list of numbers as one packed field or as one field each, and
//! asks every reader to understand both, even mixed. Like [`Repeated`](crate::Repeated), a list
//! remembers where it begins and how many elements it has; unlike there, every element is checked
//! when the view is parsed, since that is no more work than counting them.

use std::fmt;
use std::marker::PhantomData;

use crate::proto::{FIXED64, LEN, Reader, VARINT, WireError, WireErrorKind};

/// How one element of a repeated number field is coded.
pub trait Number: Sized {
    /// The type of the element.
    type Value;
    /// The wire type of an element that is not packed.
    const WIRE_TYPE: u32;
    /// Reads one element.
    fn read(reader: &mut Reader<'_>) -> Result<Self::Value, WireError>;
}

/// Eight bytes that are an unsigned integer.
#[derive(Debug, Clone, Copy)]
pub struct Fixed64;

/// Eight bytes that are a floating-point number.
#[derive(Debug, Clone, Copy)]
pub struct Double;

/// An unsigned integer of variable length.
#[derive(Debug, Clone, Copy)]
pub struct Varint;

impl Number for Fixed64 {
    type Value = u64;
    const WIRE_TYPE: u32 = FIXED64;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<u64, WireError> {
        reader.fixed64()
    }
}

impl Number for Double {
    type Value = f64;
    const WIRE_TYPE: u32 = FIXED64;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<f64, WireError> {
        reader.double()
    }
}

impl Number for Varint {
    type Value = u64;
    const WIRE_TYPE: u32 = VARINT;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<u64, WireError> {
        reader.varint()
    }
}

/// The elements of a repeated number field, packed, unpacked or both mixed.
///
/// Every element was checked when the view was parsed, so iterating cannot fail.
pub struct Numbers<'a, N> {
    tail: &'a [u8],
    field: u32,
    count: u32,
    element: PhantomData<fn() -> N>,
}

impl<'a, N: Number> Numbers<'a, N> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { tail: &[], field: 0, count: 0, element: PhantomData }
    }

    /// Notes one more occurrence, as [`Repeated::push`](crate::Repeated) does.
    pub(crate) fn push(
        &mut self,
        tail: &'a [u8],
        tag: u32,
        reader: &mut Reader<'a>,
    ) -> Result<(), WireError> {
        let added = if tag & 7 == LEN {
            count_packed::<N>(&mut reader.message()?, tag >> 3)?
        } else {
            N::read(reader)?;
            1
        };
        if self.count == 0 {
            self.tail = tail;
            self.field = tag >> 3;
        }
        self.count = self.count.saturating_add(added);
        Ok(())
    }

    /// How many elements there are.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements in the order they were sent.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> NumberElements<'a, N> {
        NumberElements {
            outer: Reader::new(self.tail),
            packed: Reader::new(&[]),
            field: self.field,
            remaining: self.count,
            element: PhantomData,
        }
    }
}

fn count_packed<N: Number>(packed: &mut Reader<'_>, field: u32) -> Result<u32, WireError> {
    let start = *packed;
    if N::WIRE_TYPE == FIXED64 {
        let length = packed.rest().len();
        if !length.is_multiple_of(8) {
            return Err(start.error(WireErrorKind::PartialElement(field)));
        }
        return Ok(u32::try_from(length / 8).unwrap_or(u32::MAX));
    }
    let mut count = 0u32;
    while !packed.is_empty() {
        N::read(packed)?;
        count = count.saturating_add(1);
    }
    Ok(count)
}

impl<N> Clone for Numbers<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Numbers<'_, N> {}

impl<N> fmt::Debug for Numbers<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbers({} elements)", self.count)
    }
}

/// Iterator over the elements of a [`Numbers`] field.
#[derive(Debug, Clone)]
pub struct NumberElements<'a, N> {
    outer: Reader<'a>,
    packed: Reader<'a>,
    field: u32,
    remaining: u32,
    element: PhantomData<fn() -> N>,
}

impl<N: Number> Iterator for NumberElements<'_, N> {
    type Item = N::Value;

    #[inline]
    fn next(&mut self) -> Option<N::Value> {
        if self.remaining == 0 {
            return None;
        }
        while self.packed.is_empty() {
            let tag = self.outer.tag().ok()??;
            if tag == self.field << 3 | LEN {
                self.packed = self.outer.message().ok()?;
            } else if tag == self.field << 3 | N::WIRE_TYPE {
                self.remaining -= 1;
                return N::read(&mut self.outer).ok();
            } else {
                self.outer.skip(tag).ok()?;
            }
        }
        self.remaining -= 1;
        N::read(&mut self.packed).ok()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

#[cfg(test)]
mod tests {
    use crate::encode::Writer;
    use crate::points::{BucketsView, HistogramPointView};
    use crate::proto::WireErrorKind;
    use crate::repeated::View;
    use crate::tags::{buckets, histogram_point};

    #[test]
    fn packed_and_single_elements_make_one_list() {
        let field = histogram_point::BUCKET_COUNTS >> 3;
        let mut point = Writer::new();
        point.fixed64_field(field, 1);
        point.message(field, |w| {
            w.raw(&2u64.to_le_bytes());
            w.raw(&3u64.to_le_bytes());
        });
        point.double_field(histogram_point::SUM >> 3, 0.5);
        point.bytes_field(field, b"");
        point.fixed64_field(field, 4);
        let view = HistogramPointView::parse(point.as_slice()).unwrap();
        assert_eq!(view.bucket_counts.iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(view.bucket_counts.count(), 4);
        assert!(view.explicit_bounds.is_empty());
    }

    #[test]
    fn a_partial_element_is_refused() {
        let field = histogram_point::EXPLICIT_BOUNDS >> 3;
        let mut point = Writer::new();
        point.bytes_field(field, &[0; 15]);
        let error = HistogramPointView::parse(point.as_slice()).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::PartialElement(field));
        let mut varints = Writer::new();
        varints.bytes_field(buckets::BUCKET_COUNTS >> 3, &[1, 0x80]);
        let error = BucketsView::parse(varints.as_slice()).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Truncated);
    }
}
