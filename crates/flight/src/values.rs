//! Parameters that come as a batch of one row.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use kymo_engine::{Parameter, Value};
use tonic::Status;

use crate::limits::PARAMETER_MAX_ROWS;

/// A batch as bytes.
pub(crate) fn written(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()?;
    drop(writer);
    Ok(bytes)
}

/// The values of bytes that a batch was written to; none if there are no bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Parameter>, Status> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let unread = |error: ArrowError| {
        Status::invalid_argument(format!("values of a prepared statement cannot be read: {error}"))
    };
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(unread)?;
    match reader.next().transpose().map_err(unread)? {
        Some(batch) => of(&batch),
        None => Ok(Vec::new()),
    }
}

/// The values of the one row of a batch.
pub(crate) fn of(batch: &RecordBatch) -> Result<Vec<Parameter>, Status> {
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
    columns.map(|column| value(column.as_ref(), 0).map(Parameter::Value)).collect()
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
    fn a_row_of_values_survives_its_handle() {
        let columns: [(&str, ArrayRef); 3] = [
            ("a", Arc::new(Int32Array::from(vec![7]))),
            ("b", Arc::new(StringArray::from(vec![None::<&str>]))),
            ("c", Arc::new(TimestampMillisecondArray::from(vec![5]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let expected = [Value::Int(7), Value::Null, Value::Time(5_000_000)];
        let expected: Vec<Parameter> = expected.into_iter().map(Parameter::Value).collect();
        assert_eq!(read(&written(&batch).unwrap()).unwrap(), expected);
        assert_eq!(read(&[]).unwrap(), []);
        assert!(read(&[1, 2, 3]).is_err());
    }

    #[test]
    fn several_rows_are_refused() {
        let two: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("a", two)]).unwrap();
        assert_eq!(of(&batch).unwrap_err().code(), tonic::Code::InvalidArgument);
    }
}
