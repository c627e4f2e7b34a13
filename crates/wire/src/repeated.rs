//! Repeated messages, strings and bytes, read lazily.
//!
//! A view does not gather the elements of a repeated field. It remembers where in its message the
//! first occurrence lies and how many there are; iterating walks on from there, steps over other
//! fields in between and stops after the last one. Senders write occurrences next to each other,
//! so in practice nothing is stepped over.

use std::fmt;
use std::marker::PhantomData;

use crate::proto::{Reader, WireError};

/// Something that can be read from the bytes of one length-delimited field.
pub trait View<'a>: Sized {
    /// Reads the fields of `raw` in one pass. Offsets in errors count from the start of `raw`.
    fn parse(raw: &'a [u8]) -> Result<Self, WireError>;
}

/// An element of a repeated string or bytes field.
impl<'a> View<'a> for &'a [u8] {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        Ok(raw)
    }
}

/// The elements of a repeated sub-message, string or bytes field.
pub struct Repeated<'a, T> {
    /// The message from the first occurrence to its end.
    tail: &'a [u8],
    tag: u32,
    count: u32,
    element: PhantomData<fn() -> T>,
}

impl<'a, T> Repeated<'a, T> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { tail: &[], tag: 0, count: 0, element: PhantomData }
    }

    /// Notes one more occurrence. `tail` is the rest of the message as it was before the tag was
    /// read; `reader` stands behind the tag and is moved behind the value.
    #[inline]
    pub(crate) fn push(
        &mut self,
        tail: &'a [u8],
        tag: u32,
        reader: &mut Reader<'a>,
    ) -> Result<(), WireError> {
        reader.bytes()?;
        if self.count == 0 {
            self.tail = tail;
            self.tag = tag;
        }
        self.count = self.count.saturating_add(1);
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

    /// The bytes of each element, unread.
    #[inline]
    #[must_use]
    pub fn raws(&self) -> RawElements<'a> {
        RawElements { reader: Reader::new(self.tail), tag: self.tag, remaining: self.count }
    }
}

impl<'a, T: View<'a>> Repeated<'a, T> {
    /// The elements in the order they were sent.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Elements<'a, T> {
        Elements { raws: self.raws(), element: PhantomData }
    }
}

impl<'a, T: View<'a>> IntoIterator for Repeated<'a, T> {
    type Item = Result<T, WireError>;
    type IntoIter = Elements<'a, T>;

    #[inline]
    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<'a, T: View<'a>> IntoIterator for &Repeated<'a, T> {
    type Item = Result<T, WireError>;
    type IntoIter = Elements<'a, T>;

    #[inline]
    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

// Derived, these would ask the same of T, which is never held.
impl<T> Clone for Repeated<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Repeated<'_, T> {}

impl<T> fmt::Debug for Repeated<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repeated({} elements)", self.count)
    }
}

/// Iterator over the bytes of the elements of a [`Repeated`] field.
#[derive(Debug, Clone)]
pub struct RawElements<'a> {
    reader: Reader<'a>,
    tag: u32,
    remaining: u32,
}

impl<'a> RawElements<'a> {
    /// The field `tag` in `message`, of which it is not known how often it occurs.
    #[inline]
    pub(crate) fn uncounted(message: &'a [u8], tag: u32) -> Self {
        Self { reader: Reader::new(message), tag, remaining: u32::MAX }
    }

    #[inline]
    fn advance(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        if self.remaining == 0 {
            return Ok(None);
        }
        while let Some(tag) = self.reader.tag()? {
            if tag == self.tag {
                self.remaining -= 1;
                return self.reader.bytes().map(Some);
            }
            self.reader.skip_other(tag, 1u64.unbounded_shl(self.tag >> 3))?;
        }
        Ok(None)
    }
}

impl<'a> Iterator for RawElements<'a> {
    type Item = Result<&'a [u8], WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let result = self.advance().transpose();
        if let Some(Err(_)) = result {
            // What follows a broken field cannot be told from noise.
            self.remaining = 0;
        }
        result
    }
}

/// Iterator over the elements of a [`Repeated`] field.
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    raws: RawElements<'a>,
    element: PhantomData<fn() -> T>,
}

impl<'a, T> Elements<'a, T> {
    #[inline]
    pub(crate) fn uncounted(message: &'a [u8], tag: u32) -> Self {
        Self { raws: RawElements::uncounted(message, tag), element: PhantomData }
    }
}

impl<'a, T: View<'a>> Iterator for Elements<'a, T> {
    type Item = Result<T, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.raws.next()?.and_then(T::parse))
    }
}
