//! A condition on a label, tested on the rows of a source.
//!
//! Nearly always a key has one column of texts, and then the condition is tested
//! once for each distinct text. Otherwise (several types, other types, a row with
//! attributes outside the columns) the row's attributes are walked as they were
//! sent, and the first with that key counts.

use std::borrow::Cow;

use kymo_wire::{KeyValueView, View, kvlist_entries};

use super::columns::int_at;
use super::matcher::{Matcher, value_text};
use crate::block::attributes::{bytes_at, encode_key_value};
use crate::block::source::Source;
use crate::chunk::{REST, shape_slots};
use crate::column::{Column, Dict, Values};
use crate::error::StoreError;
use crate::schema::{AttributeKey, ValueType};
use crate::tables::series::field;

/// A column of the key in question.
#[derive(Debug)]
struct KeyColumn<'s> {
    slot: u32,
    key: AttributeKey,
    column: Cow<'s, Column>,
}

/// The condition and the columns it looks at.
#[derive(Debug)]
pub(crate) struct LabelFilter<'s, 'm> {
    key: &'m [u8],
    matcher: &'m Matcher,
    columns: Vec<KeyColumn<'s>>,
    /// For each text of the only column whether it passes.
    text_passes: Option<Vec<bool>>,
    absent_passes: bool,
    rest: Option<Cow<'s, Column>>,
    shapes: Cow<'s, Dict>,
    shape_of: Option<Cow<'s, Column>>,
}

impl<'s, 'm> LabelFilter<'s, 'm> {
    /// Reads the columns of `key` and tests their distinct texts.
    pub(crate) fn read(
        source: &'s Source,
        key: &'m [u8],
        matcher: &'m Matcher,
    ) -> Result<Self, StoreError> {
        let mut columns = Vec::new();
        for (slot, (attribute, _)) in source.attributes().into_iter().enumerate() {
            if *attribute.key == *key {
                let column = source.attribute(slot)?;
                columns.push(KeyColumn { slot: slot as u32, key: attribute, column });
            }
        }
        let text_passes = match &columns[..] {
            [only] if only.key.value_type == ValueType::String => match &only.column.values {
                Values::Bytes(_, dict) => Some(dict.iter().map(|v| matcher.matches(v)).collect()),
                _ => None,
            },
            _ => None,
        };
        Ok(Self {
            key,
            matcher,
            columns,
            text_passes,
            absent_passes: matcher.matches(b""),
            rest: source.field(field::REST)?,
            shapes: source.shapes()?,
            shape_of: source.field(field::SHAPE)?,
        })
    }

    /// Keeps the rows that pass.
    pub(crate) fn retain(&self, rows: &mut Vec<u32>) -> Result<(), StoreError> {
        let mut damaged = false;
        rows.retain(|row| {
            let passes = self.passes_by_code(*row).or_else(|| self.passes_as_sent(*row));
            damaged |= passes.is_none();
            passes.unwrap_or(false)
        });
        if damaged {
            return Err(StoreError::corrupt("a row lacks an attribute of its shape"));
        }
        Ok(())
    }

    /// The answer where the dictionary has it; `None` elsewhere.
    fn passes_by_code(&self, row: u32) -> Option<bool> {
        let has_rest = self.rest.as_deref().is_some_and(|c| c.index_of(row).is_some());
        if has_rest {
            return None;
        }
        let only = match &self.columns[..] {
            [] => return Some(self.absent_passes),
            [only] => only,
            _ => return None,
        };
        let passes = self.text_passes.as_ref()?;
        match (only.column.index_of(row), &only.column.values) {
            (None, _) => Some(self.absent_passes),
            (Some(nth), Values::Bytes(codes, _)) => passes.get(*codes.get(nth)? as usize).copied(),
            _ => None,
        }
    }

    /// The answer by the attributes as they were sent; `None` if they are damaged.
    fn passes_as_sent(&self, row: u32) -> Option<bool> {
        let shape = int_at(self.shape_of.as_deref()?, row)?;
        let rest = self.rest.as_deref().and_then(|c| bytes_at(c, row)).unwrap_or_default();
        let mut rest = kvlist_entries(rest);
        for slot in shape_slots(self.shapes.get(u32::try_from(shape).ok()?)) {
            if slot == REST {
                let entry = rest.next()?.ok()?;
                if entry.key == self.key {
                    return Some(self.matcher.matches(&value_text(&entry.value)));
                }
            } else if let Some(column) = self.columns.iter().find(|c| c.slot == slot) {
                let mut encoded = Vec::new();
                let nth = column.column.index_of(row)?;
                encode_key_value(&column.key, &column.column.values, nth, &mut encoded);
                let value = KeyValueView::parse(&encoded).ok()?.value;
                return Some(self.matcher.matches(&value_text(&value)));
            }
        }
        Some(self.absent_passes)
    }
}
