//! Lists of numbers, as arguments and states of functions have them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_schema::{DataType, Field};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::common::ScalarValue;

/// A list of doubles.
pub(super) fn of_doubles() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

/// Whether a type is a list of numbers, or nothing.
pub(super) fn is_of_numbers(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().is_numeric() || item.data_type().is_null()
        }
        _ => false,
    }
}

/// One list of all these items.
pub(super) fn scalar(items: ArrayRef) -> ScalarValue {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([items.len()]);
    ScalarValue::List(Arc::new(ListArray::new(field, offsets, items, None)))
}

/// The doubles of a row; `None` if it is NULL or one of them is.
pub(super) fn doubles(lists: &ListArray, row: usize) -> Option<Vec<f64>> {
    if lists.is_null(row) {
        return None;
    }
    let items = lists.value(row);
    let items = items.as_primitive_opt::<Float64Type>()?;
    (items.null_count() == 0).then(|| items.values().to_vec())
}
