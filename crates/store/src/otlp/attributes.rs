//! Attributes of a row, in the order they were sent: its shape names them one
//! by one, a value in a column or the next entry in `rest`.

use kymo_wire::encode::Writer;
use kymo_wire::{AnyValueView, kvlist_entries};

use super::row::Row;
use crate::chunk::REST;
use crate::column::Values;
use crate::error::StoreError;
use crate::schema::ValueType;

/// Field numbers of `KeyValue`.
const KEY: u32 = 1;
const VALUE: u32 = 2;

/// Writes the row's attributes as `field` of the message under way.
pub(super) fn write(row: &Row<'_>, field: u32, writer: &mut Writer) -> Result<(), StoreError> {
    let mut rest = kvlist_entries(row.rest());
    for slot in row.shape()? {
        if slot == REST {
            let entry = rest
                .next()
                .ok_or_else(|| StoreError::corrupt("a row lacks attributes of its shape"))??;
            writer.key_value_raw(field, entry.raw);
            continue;
        }
        let (key, values, nth) = row.attribute(slot)?;
        if key.value_type == ValueType::Any {
            let raw = text(values, nth)?;
            writer.message(field, |w| {
                if !key.key.is_empty() {
                    w.bytes_field(KEY, &key.key);
                }
                w.bytes_field(VALUE, raw);
            });
        } else {
            writer.key_value(field, &key.key, &value(values, nth)?);
        }
    }
    Ok(())
}

/// Writes the attributes of an encoded `KeyValueList` as `field`.
pub(super) fn write_list(list: &[u8], field: u32, writer: &mut Writer) -> Result<(), StoreError> {
    for entry in kvlist_entries(list) {
        writer.key_value_raw(field, entry?.raw);
    }
    Ok(())
}

fn value(values: &Values, nth: usize) -> Result<AnyValueView<'_>, StoreError> {
    let value = match values {
        Values::Bytes(..) => Some(AnyValueView::String(text(values, nth)?)),
        Values::Bool(values) => values.get(nth).copied().map(AnyValueView::Bool),
        Values::Int(values) => values.get(nth).copied().map(AnyValueView::Int),
        Values::Double(values) => values.get(nth).copied().map(AnyValueView::Double),
        Values::Id8(_) | Values::Id16(_) => None,
    };
    value.ok_or_else(wrong_type)
}

fn text(values: &Values, nth: usize) -> Result<&[u8], StoreError> {
    match values {
        Values::Bytes(codes, dict) => codes.get(nth).map(|code| dict.get(*code)),
        _ => None,
    }
    .ok_or_else(wrong_type)
}

fn wrong_type() -> StoreError {
    StoreError::corrupt("an attribute column has another type")
}
