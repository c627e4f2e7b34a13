//! One value as text or as JSON.

use std::io::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chrono::{DateTime, SecondsFormat, Utc};

/// The name of a type, for people and programs.
#[must_use]
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "hex".to_owned(),
        DataType::Timestamp(..) => "timestamp".to_owned(),
        DataType::Interval(_) => "interval".to_owned(),
        DataType::Duration(_) => "duration".to_owned(),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            format!("list<{}>", type_name(item.data_type()))
        }
        DataType::Struct(_) => "struct".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

/// Appends a value as JSON.
pub fn write_json(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.extend_from_slice(b"null"),
        DataType::Boolean => write_display(array.as_boolean().value(row), out),
        DataType::Int8 => write_display(array.as_primitive::<Int8Type>().value(row), out),
        DataType::Int16 => write_display(array.as_primitive::<Int16Type>().value(row), out),
        DataType::Int32 => write_display(array.as_primitive::<Int32Type>().value(row), out),
        DataType::Int64 => write_display(array.as_primitive::<Int64Type>().value(row), out),
        DataType::UInt8 => write_display(array.as_primitive::<UInt8Type>().value(row), out),
        DataType::UInt16 => write_display(array.as_primitive::<UInt16Type>().value(row), out),
        DataType::UInt32 => write_display(array.as_primitive::<UInt32Type>().value(row), out),
        DataType::UInt64 => write_display(array.as_primitive::<UInt64Type>().value(row), out),
        DataType::Float32 => {
            write_double(f64::from(array.as_primitive::<Float32Type>().value(row)), true, out);
        }
        DataType::Float64 => {
            write_double(array.as_primitive::<Float64Type>().value(row), true, out)
        }
        DataType::Dictionary(..) => {
            let (values, key) = dictionary_value(array, row)?;
            write_json(&*values, key, out)?;
        }
        DataType::List(_) => write_list(&array.as_list::<i32>().value(row), out)?,
        DataType::LargeList(_) => write_list(&array.as_list::<i64>().value(row), out)?,
        DataType::FixedSizeList(..) => {
            write_list(&array.as_fixed_size_list().value(row), out)?;
        }
        DataType::Struct(fields) => {
            out.push(b'{');
            let columns = array.as_struct().columns();
            for (nth, (field, column)) in fields.iter().zip(columns).enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                write_string(field.name(), out);
                out.push(b':');
                write_json(column, row, out)?;
            }
            out.push(b'}');
        }
        _ => {
            let mut text = Vec::new();
            write_text(array, row, &mut text)?;
            write_string(&String::from_utf8_lossy(&text), out);
        }
    }
    Ok(())
}

/// Appends a value as plain text; nothing for NULL.
pub fn write_text(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    if array.is_null(row) {
        return Ok(());
    }
    match array.data_type() {
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => {
            out.extend_from_slice(array.as_string::<i64>().value(row).as_bytes());
        }
        DataType::Utf8View => out.extend_from_slice(array.as_string_view().value(row).as_bytes()),
        DataType::Binary => write_hex(array.as_binary::<i32>().value(row), out),
        DataType::LargeBinary => write_hex(array.as_binary::<i64>().value(row), out),
        DataType::BinaryView => write_hex(array.as_binary_view().value(row), out),
        DataType::FixedSizeBinary(_) => write_hex(array.as_fixed_size_binary().value(row), out),
        DataType::Float64 => {
            write_double(array.as_primitive::<Float64Type>().value(row), false, out);
        }
        DataType::Timestamp(unit, _) => write_timestamp(array, row, *unit, out),
        DataType::Dictionary(..) => {
            let (values, key) = dictionary_value(array, row)?;
            write_text(&*values, key, out)?;
        }
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_) => write_json(array, row, out)?,
        _ => {
            let options = FormatOptions::default();
            write_display(ArrayFormatter::try_new(array, &options)?.value(row), out);
        }
    }
    Ok(())
}

fn write_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{value}");
}

/// JSON has no word for what is not a number, so that is text.
fn write_double(value: f64, quoted: bool, out: &mut Vec<u8>) {
    if value.is_finite() {
        let _ = serde_json::to_writer(out, &value);
        return;
    }
    let word = match value {
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "Infinity",
        _ => "-Infinity",
    };
    if quoted {
        write_string(word, out);
    } else {
        out.extend_from_slice(word.as_bytes());
    }
}

pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Neither text nor memory can fail.
    let _ = serde_json::to_writer(out, text);
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn write_list(list: &ArrayRef, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    out.push(b'[');
    for row in 0..list.len() {
        if row > 0 {
            out.push(b',');
        }
        write_json(list, row, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_timestamp(array: &dyn Array, row: usize, unit: TimeUnit, out: &mut Vec<u8>) {
    let time: Option<DateTime<Utc>> = match unit {
        TimeUnit::Second => {
            DateTime::from_timestamp(array.as_primitive::<TimestampSecondType>().value(row), 0)
        }
        TimeUnit::Millisecond => DateTime::from_timestamp_millis(
            array.as_primitive::<TimestampMillisecondType>().value(row),
        ),
        TimeUnit::Microsecond => DateTime::from_timestamp_micros(
            array.as_primitive::<TimestampMicrosecondType>().value(row),
        ),
        TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(
            array.as_primitive::<TimestampNanosecondType>().value(row),
        )),
    };
    if let Some(time) = time {
        out.extend_from_slice(time.to_rfc3339_opts(SecondsFormat::Nanos, true).as_bytes());
    }
}

/// The values of a dictionary array, and which of them a row has.
fn dictionary_value(array: &dyn Array, row: usize) -> Result<(ArrayRef, usize), ArrowError> {
    let dictionary = array.as_any_dictionary();
    let keys = dictionary.keys();
    let key = match keys.data_type() {
        DataType::Int8 => usize::try_from(keys.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => usize::try_from(keys.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => usize::try_from(keys.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => usize::try_from(keys.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => Ok(usize::from(keys.as_primitive::<UInt8Type>().value(row))),
        DataType::UInt16 => Ok(usize::from(keys.as_primitive::<UInt16Type>().value(row))),
        DataType::UInt32 => usize::try_from(keys.as_primitive::<UInt32Type>().value(row)),
        _ => usize::try_from(keys.as_primitive::<UInt64Type>().value(row)),
    };
    key.ok()
        .filter(|key| *key < dictionary.values().len())
        .map(|key| (dictionary.values().clone(), key))
        .ok_or_else(|| ArrowError::InvalidArgumentError("a dictionary has no such key".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;
    use std::sync::Arc;

    fn json(array: ArrayRef) -> String {
        let mut out = Vec::new();
        for row in 0..array.len() {
            if row > 0 {
                out.push(b' ');
            }
            write_json(&array, row, &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    fn text(array: ArrayRef) -> String {
        let mut out = Vec::new();
        for row in 0..array.len() {
            if row > 0 {
                out.push(b' ');
            }
            write_text(&array, row, &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ids_are_hexadecimal() {
        let ids = FixedSizeBinaryArray::try_from_iter([[0u8, 0xab], [0xff, 1]].iter()).unwrap();
        assert_eq!(json(Arc::new(ids.clone())), "\"00ab\" \"ff01\"");
        assert_eq!(text(Arc::new(ids)), "00ab ff01");
    }

    #[test]
    fn times_are_rfc_3339_with_nanoseconds() {
        let times =
            TimestampNanosecondArray::from(vec![Some(1), None, Some(-1)]).with_timezone("UTC");
        let shown = "\"1970-01-01T00:00:00.000000001Z\" null \"1969-12-31T23:59:59.999999999Z\"";
        assert_eq!(json(Arc::new(times)), shown);
    }

    #[test]
    fn numbers_are_numbers_and_the_rest_of_doubles_is_text() {
        assert_eq!(json(Arc::new(Int64Array::from(vec![i64::MIN, 7]))), "-9223372036854775808 7");
        let doubles = Float64Array::from(vec![0.1, 1e300, f64::NAN, f64::NEG_INFINITY]);
        assert_eq!(json(Arc::new(doubles.clone())), "0.1 1e+300 \"NaN\" \"-Infinity\"");
        assert_eq!(text(Arc::new(doubles)), "0.1 1e+300 NaN -Infinity");
    }

    #[test]
    fn dictionaries_show_their_values_and_lists_their_items() {
        let words: DictionaryArray<Int32Type> = ["a\"b", "c", "a\"b"].into_iter().collect();
        assert_eq!(json(Arc::new(words)), "\"a\\\"b\" \"c\" \"a\\\"b\"");
        let list = ListArray::from_iter_primitive::<Float64Type, _, _>([
            Some(vec![Some(1.5), None]),
            None,
        ]);
        assert_eq!(json(Arc::new(list.clone())), "[1.5,null] null");
        assert_eq!(text(Arc::new(list)), "[1.5,null] ");
    }
}
