//! Values as bytes, as PostgreSQL lays them out.

use arrow_array::Array;
use bytes::{BufMut, BytesMut};
use kymo_engine::catalog::types::{INT2, INT4, PgColumn};

use super::cell::{self, Cell};
use super::text;

/// PostgreSQL counts from 2000 on.
const MICROS_TO_2000: i64 = 946_684_800_000_000;
const DAYS_TO_2000: i32 = 10_957;

/// Appends a value; says whether there is one.
pub(super) fn write(
    cell: &Cell<'_>,
    column: &PgColumn,
    out: &mut BytesMut,
) -> Result<bool, String> {
    match cell {
        Cell::Null => return Ok(false),
        Cell::Bool(value) => out.put_u8(u8::from(*value)),
        Cell::Int(value) => whole(*value, column, out)?,
        Cell::Real(value) => out.put_f32(*value),
        Cell::Float(value) => out.put_f64(*value),
        Cell::Bytes(value) => out.put_slice(value),
        Cell::Moment(micros) => out.put_i64(micros.saturating_sub(MICROS_TO_2000)),
        Cell::Day(days) => out.put_i32(days.saturating_sub(DAYS_TO_2000)),
        Cell::Time(micros) => out.put_i64(*micros),
        Cell::Interval { months, days, micros } => {
            out.put_i64(*micros);
            out.put_i32(*days);
            out.put_i32(*months);
        }
        Cell::Numeric(digits) => numeric(digits, out)?,
        Cell::List(items) => list(items.as_ref(), column, out)?,
        Cell::Text(_) | Cell::Id(_) | Cell::Json(_) => return text::write(cell, out),
    }
    Ok(true)
}

fn whole(value: i64, column: &PgColumn, out: &mut BytesMut) -> Result<(), String> {
    let too_large = |_| "a number does not fit its type".to_owned();
    match column.element {
        INT2 => out.put_i16(i16::try_from(value).map_err(too_large)?),
        INT4 => out.put_i32(i32::try_from(value).map_err(too_large)?),
        _ => out.put_i64(value),
    }
    Ok(())
}

/// Digits of base 10,000: how many, the weight of the first, the sign, digits behind the point.
fn numeric(text: &str, out: &mut BytesMut) -> Result<(), String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (0x4000, digits),
        None => (0, text),
    };
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = u16::try_from(behind.len()).map_err(|error| error.to_string())?;
    let padded = format!("{}{before}", "0".repeat((4 - before.len() % 4) % 4));
    let weight = i16::try_from(padded.len() / 4).map_err(|error| error.to_string())? - 1;
    let all = format!("{padded}{behind}{}", "0".repeat((4 - behind.len() % 4) % 4));
    let groups: Result<Vec<u16>, String> = all
        .as_bytes()
        .chunks(4)
        .map(|group| {
            let group = std::str::from_utf8(group).map_err(|error| error.to_string())?;
            group.parse::<u16>().map_err(|error| format!("{text}: {error}"))
        })
        .collect();
    let groups = groups?;
    let first = groups.iter().position(|group| *group != 0);
    let last = groups.iter().rposition(|group| *group != 0);
    let (weight, groups) = match (first, last) {
        (Some(first), Some(last)) => (weight - first as i16, &groups[first..=last]),
        _ => (0, &groups[..0]),
    };
    out.put_u16(groups.len() as u16);
    out.put_i16(weight);
    out.put_u16(sign);
    out.put_u16(scale);
    for group in groups {
        out.put_u16(*group);
    }
    Ok(())
}

/// Dimensions, whether there are NULLs, the type, the length and where it begins; then values.
fn list(items: &dyn Array, column: &PgColumn, out: &mut BytesMut) -> Result<(), String> {
    let length = i32::try_from(items.len()).map_err(|error| error.to_string())?;
    let dimensions = i32::from(length > 0);
    out.put_i32(dimensions);
    out.put_i32(i32::from(items.null_count() > 0));
    out.put_u32(column.element.oid);
    if dimensions > 0 {
        out.put_i32(length);
        out.put_i32(1);
    }
    let item_type = PgColumn { element: column.element, is_array: false };
    for row in 0..items.len() {
        let length_at = out.len();
        out.put_i32(-1);
        if write(&cell::of(items, row, false)?, &item_type, out)? {
            let length = i32::try_from(out.len() - length_at - 4).map_err(|e| e.to_string())?;
            out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    Ok(())
}
