//! One value of a column, as far as PostgreSQL tells values apart.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// A value.
#[derive(Debug)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// An id: its hex digits.
    Id(&'a [u8]),
    /// Microseconds since 1970.
    Moment(i64),
    /// Days since 1970.
    Day(i32),
    /// Microseconds since midnight.
    Time(i64),
    Interval {
        months: i32,
        days: i32,
        micros: i64,
    },
    /// Digits with a sign and a point.
    Numeric(String),
    /// What PostgreSQL has no type for.
    Json(Vec<u8>),
    /// A list of values that are no lists.
    List(ArrayRef),
}

/// The value of a row.
pub(super) fn of(array: &dyn Array, row: usize) -> Result<Cell<'_>, String> {
    if array.is_null(row) {
        return Ok(Cell::Null);
    }
    macro_rules! whole {
        ($kind:ty) => {
            Cell::Int(i64::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    Ok(match array.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => {
            Cell::Numeric(array.as_primitive::<UInt64Type>().value(row).to_string())
        }
        DataType::Float16 => {
            Cell::Float(f64::from(array.as_primitive::<Float16Type>().value(row).to_f32()))
        }
        DataType::Float32 => Cell::Float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => {
            Cell::Numeric(array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Decimal256(..) => {
            Cell::Numeric(array.as_primitive::<Decimal256Type>().value_as_string(row))
        }
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row)),
        DataType::Binary => Cell::Bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Cell::Bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Cell::Bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Cell::Id(array.as_fixed_size_binary().value(row)),
        DataType::Timestamp(unit, _) => Cell::Moment(moment(array, row, *unit)),
        DataType::Date32 => Cell::Day(array.as_primitive::<Date32Type>().value(row)),
        DataType::Date64 => {
            let millis = array.as_primitive::<Date64Type>().value(row);
            Cell::Day(i32::try_from(millis.div_euclid(86_400_000)).unwrap_or(i32::MAX))
        }
        DataType::Time32(TimeUnit::Second) => {
            Cell::Time(i64::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000)
        }
        DataType::Time32(_) => {
            Cell::Time(i64::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 1000)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            Cell::Time(array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        DataType::Time64(_) => {
            Cell::Time(array.as_primitive::<Time64NanosecondType>().value(row) / 1000)
        }
        DataType::Duration(unit) => {
            Cell::Interval { months: 0, days: 0, micros: duration(array, row, *unit) }
        }
        DataType::Interval(unit) => interval(array, row, *unit),
        DataType::Dictionary(..) => return of_dictionary(array, row),
        DataType::List(item) if is_plain(item.data_type()) => {
            Cell::List(array.as_list::<i32>().value(row))
        }
        DataType::LargeList(item) if is_plain(item.data_type()) => {
            Cell::List(array.as_list::<i64>().value(row))
        }
        DataType::FixedSizeList(item, _) if is_plain(item.data_type()) => {
            Cell::List(array.as_fixed_size_list().value(row))
        }
        _ => {
            let mut json = Vec::new();
            write_json(array, row, &mut json)?;
            Cell::Json(json)
        }
    })
}

/// Whether lists of it are arrays.
fn is_plain(data_type: &DataType) -> bool {
    !data_type.is_nested()
}

fn of_dictionary(array: &dyn Array, row: usize) -> Result<Cell<'_>, String> {
    // Texts by code are by far the most; their keys are read without a copy of all.
    if let Some(codes) = array.as_dictionary_opt::<Int32Type>() {
        let code = usize::try_from(codes.keys().value(row)).map_err(|error| error.to_string())?;
        return of(codes.values().as_ref(), code);
    }
    let dictionary = array.as_any_dictionary();
    let code = dictionary.normalized_keys().get(row).copied();
    of(dictionary.values().as_ref(), code.ok_or("a row that is not there")?)
}

fn moment(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).saturating_mul(1000)
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        // Down, also before 1970: an order of times stays one.
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1000)
        }
    }
}

fn duration(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<DurationSecondType>().value(row).saturating_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<DurationMillisecondType>().value(row).saturating_mul(1000)
        }
        TimeUnit::Microsecond => array.as_primitive::<DurationMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<DurationNanosecondType>().value(row) / 1000,
    }
}

fn interval(array: &dyn Array, row: usize, unit: IntervalUnit) -> Cell<'static> {
    match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            Cell::Interval { months, days: 0, micros: 0 }
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            let micros = i64::from(value.milliseconds) * 1000;
            Cell::Interval { months: 0, days: value.days, micros }
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let (months, days) = (value.months, value.days);
            Cell::Interval { months, days, micros: value.nanoseconds / 1000 }
        }
    }
}

/// Appends a value as JSON.
fn write_json(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().map(|field| field.name().clone()).zip(columns);
            let members = members.map(|(name, column)| (name, column.as_ref(), row));
            write_object(members, out)
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let members: Result<Vec<_>, String> = (0..entries.len())
                .map(|place| {
                    let mut key = bytes::BytesMut::new();
                    super::text::write(&of(keys.as_ref(), place)?, &mut key)?;
                    Ok((String::from_utf8_lossy(&key).into_owned(), values.as_ref(), place))
                })
                .collect();
            write_object(members?.into_iter(), out)
        }
        DataType::List(_) => write_items(&array.as_list::<i32>().value(row), out),
        DataType::LargeList(_) => write_items(&array.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(..) => write_items(&array.as_fixed_size_list().value(row), out),
        _ => {
            let cell = of(array, row)?;
            let mut text = bytes::BytesMut::new();
            super::text::write(&cell, &mut text)?;
            let is_bare = match cell {
                Cell::Float(value) => value.is_finite(),
                Cell::Int(_) | Cell::Numeric(_) => true,
                Cell::Bool(value) => {
                    out.extend_from_slice(if value { &b"true"[..] } else { b"false" });
                    return Ok(());
                }
                _ => false,
            };
            match is_bare {
                true => out.extend_from_slice(&text),
                false => write_string(&String::from_utf8_lossy(&text), out)?,
            }
            Ok(())
        }
    }
}

fn write_object<'a>(
    members: impl Iterator<Item = (String, &'a dyn Array, usize)>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    out.push(b'{');
    for (nth, (name, values, row)) in members.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        write_string(&name, out)?;
        out.push(b':');
        write_json(values, row, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_items(items: &ArrayRef, out: &mut Vec<u8>) -> Result<(), String> {
    out.push(b'[');
    for row in 0..items.len() {
        if row > 0 {
            out.push(b',');
        }
        write_json(items.as_ref(), row, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_string(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    serde_json::to_writer(out, text).map_err(|error| error.to_string())
}
