//! One value of a column, as far as PostgreSQL tells values apart.

use std::borrow::Cow;

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
    /// Of 32 bits: its shortest digits are others than those of the same number in 64.
    Real(f32),
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
    /// A list of values that have none in them.
    List(ArrayRef),
}

/// The value of a row. A list is one only where the column is an array, else JSON.
pub(super) fn of(array: &dyn Array, row: usize, is_array: bool) -> Result<Cell<'_>, String> {
    if array.is_null(row) {
        return Ok(Cell::Null);
    }
    if !is_nested(array.data_type()) {
        return plain(array, row);
    }
    if is_array && let Some(items) = items(array, row) {
        return Ok(Cell::List(items));
    }
    let mut json = Vec::new();
    write_json(array, row, &mut json)?;
    Ok(Cell::Json(json))
}

/// Whether values have values in them that can be written.
fn is_nested(data_type: &DataType) -> bool {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct};
    matches!(
        data_type,
        List(_)
            | LargeList(_)
            | ListView(_)
            | LargeListView(_)
            | FixedSizeList(..)
            | Map(..)
            | Struct(_)
    )
}

/// What is in the list of a row; none if there are no lists.
fn items(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::ListView(_) => array.as_list_view::<i32>().value(row),
        DataType::LargeListView(_) => array.as_list_view::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        _ => return None,
    })
}

/// A value that has none in it.
fn plain(array: &dyn Array, row: usize) -> Result<Cell<'_>, String> {
    macro_rules! whole {
        ($kind:ty) => {
            Cell::Int(i64::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    macro_rules! decimal {
        ($kind:ty) => {
            Cell::Numeric(array.as_primitive::<$kind>().value_as_string(row))
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
        DataType::Float16 => Cell::Real(array.as_primitive::<Float16Type>().value(row).to_f32()),
        DataType::Float32 => Cell::Real(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
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
        DataType::Time32(unit) => Cell::Time(time32(array, row, *unit)),
        DataType::Time64(unit) => Cell::Time(time64(array, row, *unit)),
        DataType::Duration(unit) => {
            Cell::Interval { months: 0, days: 0, micros: duration(array, row, *unit) }
        }
        DataType::Interval(unit) => interval(array, row, *unit),
        DataType::Dictionary(..) => return of_dictionary(array, row),
        other => return Err(format!("values of type {other} are not sent here: cast them")),
    })
}

fn of_dictionary(array: &dyn Array, row: usize) -> Result<Cell<'_>, String> {
    let dictionary = array.as_any_dictionary();
    let code = match plain(dictionary.keys(), row)? {
        Cell::Int(code) => usize::try_from(code).ok(),
        Cell::Numeric(code) => code.parse().ok(),
        _ => None,
    };
    let code = code.ok_or("a code that is no number")?;
    of(dictionary.values().as_ref(), code, false)
}

fn time32(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => {
            i64::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000
        }
        _ => i64::from(array.as_primitive::<Time32MillisecondType>().value(row)) * 1000,
    }
}

fn time64(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Microsecond => array.as_primitive::<Time64MicrosecondType>().value(row),
        _ => array.as_primitive::<Time64NanosecondType>().value(row) / 1000,
    }
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
    if let Some(items) = items(array, row) {
        return write_items(&items, out);
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().map(|field| Cow::Borrowed(field.name().as_str()));
            let members = members.zip(columns).map(|(name, column)| (name, column.as_ref(), row));
            write_object(members, out)
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let members: Result<Vec<_>, String> = (0..entries.len())
                .map(|place| {
                    let mut key = bytes::BytesMut::new();
                    super::text::write(&of(keys.as_ref(), place, false)?, &mut key)?;
                    let key = String::from_utf8_lossy(&key).into_owned();
                    Ok((Cow::<str>::Owned(key), values.as_ref(), place))
                })
                .collect();
            write_object(members?.into_iter(), out)
        }
        _ => write_json_of(&plain(array, row)?, out),
    }
}

/// Appends a value that has none in it as JSON.
fn write_json_of(cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let is_bare = match cell {
        Cell::Null => {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        Cell::Bool(value) => {
            out.extend_from_slice(if *value { &b"true"[..] } else { b"false" });
            return Ok(());
        }
        Cell::Real(value) => value.is_finite(),
        Cell::Float(value) => value.is_finite(),
        Cell::Int(_) | Cell::Numeric(_) | Cell::Json(_) => true,
        _ => false,
    };
    let mut text = bytes::BytesMut::new();
    super::text::write(cell, &mut text)?;
    match is_bare {
        true => out.extend_from_slice(&text),
        false => write_string(&String::from_utf8_lossy(&text), out)?,
    }
    Ok(())
}

fn write_object<'a>(
    members: impl Iterator<Item = (Cow<'a, str>, &'a dyn Array, usize)>,
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
