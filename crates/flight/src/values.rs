//! Parameters that come as a batch of one row.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use kymo_engine::Value;
use tonic::Status;

use crate::limits::PARAMETER_MAX_ROWS;

/// The values of the one row of a batch.
pub(crate) fn of(batch: &RecordBatch) -> Result<Vec<Value>, Status> {
    if batch.num_rows() > PARAMETER_MAX_ROWS {
        return Err(Status::invalid_argument(format!(
            "{} rows of parameters are given: a query takes one",
            batch.num_rows()
        )));
    }
    if batch.num_rows() == 0 {
        return Ok(Vec::new());
    }
    let columns = batch.columns().iter();
    columns.map(|column| value(column.as_ref(), 0)).collect()
}

fn value(array: &dyn Array, row: usize) -> Result<Value, Status> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    macro_rules! whole {
        ($kind:ty) => {
            Value::Int(i64::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    let list = |items: arrow_array::ArrayRef| {
        let values = (0..items.len()).map(|row| value(items.as_ref(), row));
        values.collect::<Result<Vec<_>, Status>>().map(Value::List)
    };
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => {
            let number = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(number).map_or(Value::Float(number as f64), Value::Int)
        }
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => {
            Value::Bytes(array.as_fixed_size_binary().value(row).to_vec())
        }
        DataType::Timestamp(unit, _) => Value::Time(nanos(array, row, *unit)?),
        DataType::Date32 => {
            let secs = i64::from(array.as_primitive::<Date32Type>().value(row)) * 86_400;
            Value::Time(scaled(secs, 1_000_000_000)?)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let code = dictionary.normalized_keys().get(row).copied().unwrap_or_default();
            value(dictionary.values().as_ref(), code)?
        }
        DataType::List(_) => list(array.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row))?,
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row))?,
        other => {
            let message = format!("parameters of type {other} are not taken here: send text");
            return Err(Status::invalid_argument(message));
        }
    })
}

fn nanos(array: &dyn Array, row: usize, unit: TimeUnit) -> Result<i64, Status> {
    match unit {
        TimeUnit::Second => {
            scaled(array.as_primitive::<TimestampSecondType>().value(row), 1_000_000_000)
        }
        TimeUnit::Millisecond => {
            scaled(array.as_primitive::<TimestampMillisecondType>().value(row), 1_000_000)
        }
        TimeUnit::Microsecond => {
            scaled(array.as_primitive::<TimestampMicrosecondType>().value(row), 1000)
        }
        TimeUnit::Nanosecond => Ok(array.as_primitive::<TimestampNanosecondType>().value(row)),
    }
}

fn scaled(value: i64, by: i64) -> Result<i64, Status> {
    let outside = || Status::invalid_argument("a time lies before 1677 or after 2262");
    value.checked_mul(by).ok_or_else(outside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int32Array, StringArray, TimestampMillisecondArray};
    use std::sync::Arc;

    #[test]
    fn a_row_of_values_is_read() {
        let columns: [(&str, ArrayRef); 3] = [
            ("a", Arc::new(Int32Array::from(vec![7]))),
            ("b", Arc::new(StringArray::from(vec![None::<&str>]))),
            ("c", Arc::new(TimestampMillisecondArray::from(vec![5]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        assert_eq!(of(&batch).unwrap(), [Value::Int(7), Value::Null, Value::Time(5_000_000)]);
        assert!(of(&batch.slice(0, 0)).unwrap().is_empty());
    }

    #[test]
    fn several_rows_are_refused() {
        let two: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("a", two)]).unwrap();
        assert_eq!(of(&batch).unwrap_err().code(), tonic::Code::InvalidArgument);
    }
}
