//! A row of a window and an element of its lists: the values they have.

use super::window::Window;
use crate::column::{Column, Values};
use crate::error::StoreError;
use crate::schema::AttributeKey;

/// One of the rows asked for.
#[derive(Clone, Copy)]
pub(super) struct Row<'w> {
    pub(super) window: &'w Window<'w>,
    /// Which of the rows asked for.
    pub(super) nth: usize,
    /// Its place in the columns.
    pub(super) place: u32,
}

impl<'w> Row<'w> {
    fn column(&self, field: usize) -> Option<&'w Column> {
        self.window.column(field)
    }

    /// Text or bytes, if the row has them.
    pub(super) fn bytes(&self, field: usize) -> Option<&'w [u8]> {
        bytes(self.column(field)?, self.place)
    }

    /// An integer or time, if the row has one.
    pub(super) fn int(&self, field: usize) -> Option<i64> {
        int(self.column(field)?, self.place)
    }

    /// A span id, if the row has one.
    pub(super) fn id8(&self, field: usize) -> Option<[u8; 8]> {
        id8(self.column(field)?, self.place)
    }

    /// A trace id, if the row has one.
    pub(super) fn id16(&self, field: usize) -> Option<[u8; 16]> {
        id16(self.column(field)?, self.place)
    }

    /// Number and encoded form of the row's origin.
    pub(super) fn origin(&self) -> Result<(u32, &'w [u8]), StoreError> {
        self.window.origin(self.nth)
    }

    /// The slots of the row's shape.
    pub(super) fn shape(&self) -> Result<impl Iterator<Item = u32> + 'w, StoreError> {
        self.window.shape(self.nth)
    }

    /// Key, column and index of the value that a slot of the shape stands for.
    pub(super) fn attribute(
        &self,
        slot: u32,
    ) -> Result<(&'w AttributeKey, &'w Values, usize), StoreError> {
        let attribute = self.window.attribute(slot);
        let found = attribute
            .and_then(|(key, column)| Some((key, &column.values, column.index_of(self.place)?)));
        found.ok_or_else(|| StoreError::corrupt("a row lacks an attribute of its shape"))
    }

    /// The `rest` of the row's attributes: an encoded `KeyValueList`.
    pub(super) fn rest(&self) -> &'w [u8] {
        self.bytes(self.window.rest_field()).unwrap_or_default()
    }

    /// The elements of a list of the row.
    pub(super) fn elements(&self, list: usize) -> impl Iterator<Item = Element<'w>> + use<'w> {
        let (range, members) = self.window.elements(list, self.nth);
        range.map(move |place| Element { members, place })
    }
}

/// An element of a list column.
#[derive(Clone, Copy)]
pub(super) struct Element<'w> {
    members: &'w [Column],
    place: u32,
}

impl<'w> Element<'w> {
    /// Text or bytes, empty if there are none.
    pub(super) fn bytes(&self, member: usize) -> &'w [u8] {
        bytes(&self.members[member], self.place).unwrap_or_default()
    }

    /// An integer or time, 0 if there is none.
    pub(super) fn int(&self, member: usize) -> i64 {
        int(&self.members[member], self.place).unwrap_or_default()
    }

    /// A span id.
    pub(super) fn id8(&self, member: usize) -> Option<[u8; 8]> {
        id8(&self.members[member], self.place)
    }

    /// A trace id.
    pub(super) fn id16(&self, member: usize) -> Option<[u8; 16]> {
        id16(&self.members[member], self.place)
    }
}

fn bytes(column: &Column, row: u32) -> Option<&[u8]> {
    match &column.values {
        Values::Bytes(codes, dict) => Some(dict.get(*codes.get(column.index_of(row)?)?)),
        _ => None,
    }
}

fn int(column: &Column, row: u32) -> Option<i64> {
    match &column.values {
        Values::Int(values) => values.get(column.index_of(row)?).copied(),
        _ => None,
    }
}

pub(super) fn id8(column: &Column, row: u32) -> Option<[u8; 8]> {
    match &column.values {
        Values::Id8(values) => values.get(column.index_of(row)?).copied(),
        _ => None,
    }
}

fn id16(column: &Column, row: u32) -> Option<[u8; 16]> {
    match &column.values {
        Values::Id16(values) => values.get(column.index_of(row)?).copied(),
        _ => None,
    }
}
