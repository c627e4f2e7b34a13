//! The attributes of rows, put together again as they were sent.

use std::borrow::Cow;

use hashbrown::HashMap;
use kymo_wire::kvlist_entries;

use super::columns::{Extent, int_at};
use crate::block::attributes::{bytes_at, encode_key_value};
use crate::block::source::Source;
use crate::chunk::{REST, push_rest, shape_slots};
use crate::column::{Column, Dict};
use crate::error::StoreError;
use crate::schema::AttributeKey;
use crate::tables::series::field;

/// The attribute columns that some rows of a source have.
#[derive(Debug)]
pub(crate) struct Labels<'s> {
    shapes: Cow<'s, Dict>,
    shape_of: Option<Cow<'s, Column>>,
    rest: Option<Cow<'s, Column>>,
    columns: HashMap<u32, (AttributeKey, Cow<'s, Column>)>,
}

impl<'s> Labels<'s> {
    /// Reads the attributes of `rows`, which lie in `extent`.
    pub(crate) fn read(
        source: &'s Source,
        extent: &Extent,
        rows: &[u32],
    ) -> Result<Self, StoreError> {
        let shapes = source.shapes()?;
        let shape_of = extent.field(source, field::SHAPE)?;
        let mut used = vec![false; shapes.len()];
        for row in rows {
            let shape = shape_of.as_deref().and_then(|c| int_at(c, extent.place(*row)));
            let shape = shape.and_then(|s| used.get_mut(usize::try_from(s).ok()?));
            *shape.ok_or_else(no_shape)? = true;
        }
        let keys = source.attributes();
        let mut columns = HashMap::new();
        for (shape, _) in shapes.iter().zip(used).filter(|(_, used)| *used) {
            for slot in shape_slots(shape) {
                if slot == REST || columns.contains_key(&slot) {
                    continue;
                }
                let (key, _) = keys
                    .get(slot as usize)
                    .ok_or_else(|| StoreError::corrupt("a shape names no attribute"))?;
                columns.insert(slot, (key.clone(), extent.attribute(source, slot as usize)?));
            }
        }
        let rest = extent.field(source, field::REST)?;
        Ok(Self { shapes, shape_of, rest, columns })
    }

    /// Appends the attributes of the row at `place` as an encoded `KeyValueList`.
    pub(crate) fn encode(&self, place: u32, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let shape = self.shape_of.as_deref().and_then(|c| int_at(c, place)).ok_or_else(no_shape)?;
        let rest = self.rest.as_deref().and_then(|c| bytes_at(c, place)).unwrap_or_default();
        let mut rest = kvlist_entries(rest);
        let mut encoded = Vec::new();
        for slot in shape_slots(self.shapes.get(shape as u32)) {
            if slot == REST {
                let entry = rest
                    .next()
                    .ok_or_else(|| StoreError::corrupt("a row lacks an attribute of its shape"))?;
                push_rest(entry?.raw, out);
            } else if let Some((key, column)) = self.columns.get(&slot) {
                let nth = column
                    .index_of(place)
                    .ok_or_else(|| StoreError::corrupt("a row lacks an attribute of its shape"))?;
                encoded.clear();
                encode_key_value(key, &column.values, nth, &mut encoded);
                push_rest(&encoded, out);
            }
        }
        Ok(())
    }
}

fn no_shape() -> StoreError {
    StoreError::corrupt("a row has no shape")
}
