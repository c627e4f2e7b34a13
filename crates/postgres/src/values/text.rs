//! Values as text, as PostgreSQL writes them: `DateStyle` is ISO, zones are `+00`.

use std::fmt::{Display, LowerExp, Write as _};

use arrow_array::Array;
use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Datelike, NaiveDate, Timelike};

use super::cell::{self, Cell};

const MICROS_PER_SEC: i64 = 1_000_000;
/// Digits before the point from which on PostgreSQL writes numbers of 32 bits with an exponent.
const REAL_DIGITS: i32 = 6;
/// The same for numbers of 64 bits.
const DOUBLE_DIGITS: i32 = 15;

/// Appends a value; says whether there is one.
pub(super) fn write(cell: &Cell<'_>, out: &mut BytesMut) -> Result<bool, String> {
    match cell {
        Cell::Null => return Ok(false),
        Cell::Bool(value) => out.put_u8(if *value { b't' } else { b'f' }),
        Cell::Int(value) => put(out, format_args!("{value}")),
        Cell::Real(value) => float(*value, REAL_DIGITS, out),
        Cell::Float(value) => float(*value, DOUBLE_DIGITS, out),
        Cell::Text(value) => out.put_slice(value.as_bytes()),
        Cell::Bytes(value) => {
            out.put_slice(b"\\x");
            hex(value, out);
        }
        Cell::Id(value) => hex(value, out),
        Cell::Moment(micros) => moment(*micros, out)?,
        Cell::Day(days) => day(*days, out)?,
        Cell::Time(micros) => time(*micros, out),
        Cell::Interval { months, days, micros } => interval(*months, *days, *micros, out),
        Cell::Numeric(digits) => out.put_slice(digits.as_bytes()),
        Cell::Json(json) => out.put_slice(json),
        Cell::List(items) => list(items.as_ref(), out)?,
    }
    Ok(true)
}

fn put(out: &mut BytesMut, text: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = out.write_fmt(text);
}

fn hex(bytes: &[u8], out: &mut BytesMut) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.put_u8(DIGITS[usize::from(byte >> 4)]);
        out.put_u8(DIGITS[usize::from(byte & 15)]);
    }
}

/// The shortest digits that mean the number, with an exponent where PostgreSQL has one.
fn float<T>(value: T, most_digits: i32, out: &mut BytesMut)
where
    T: Display + LowerExp + Into<f64> + Copy,
{
    let wide: f64 = value.into();
    if wide.is_nan() {
        return out.put_slice(b"NaN");
    }
    if wide.is_infinite() {
        return out.put_slice(if wide > 0.0 { &b"Infinity"[..] } else { b"-Infinity" });
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..most_digits).contains(&exponent) {
        return put(out, format_args!("{value}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    put(out, format_args!("{mantissa}e{sign}{:02}", exponent.abs()));
}

fn moment(micros: i64, out: &mut BytesMut) -> Result<(), String> {
    let time = DateTime::from_timestamp_micros(micros).ok_or("a time that no calendar has")?;
    date(time.date_naive(), out);
    let of_day = i64::from(time.num_seconds_from_midnight()) * MICROS_PER_SEC
        + micros.rem_euclid(MICROS_PER_SEC);
    out.put_u8(b' ');
    self::time(of_day, out);
    out.put_slice(b"+00");
    era(time.date_naive(), out);
    Ok(())
}

fn day(days: i32, out: &mut BytesMut) -> Result<(), String> {
    let days = days.checked_add(719_163).ok_or("a day that no calendar has")?;
    let day = NaiveDate::from_num_days_from_ce_opt(days).ok_or("a day that no calendar has")?;
    date(day, out);
    era(day, out);
    Ok(())
}

/// A day. There is no year 0: before the year 1 is the year 1 BC.
fn date(day: NaiveDate, out: &mut BytesMut) {
    let year = if day.year() > 0 { day.year() } else { 1 - day.year() };
    put(out, format_args!("{year:04}-{:02}-{:02}", day.month(), day.day()));
}

/// What stands behind times before the year 1.
fn era(day: NaiveDate, out: &mut BytesMut) {
    if day.year() <= 0 {
        out.put_slice(b" BC");
    }
}

/// A time of day; the fraction without zeros at its end.
fn time(micros: i64, out: &mut BytesMut) {
    let (secs, fraction) = (micros / MICROS_PER_SEC, micros % MICROS_PER_SEC);
    put(out, format_args!("{:02}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60));
    if fraction != 0 {
        let digits = format!("{fraction:06}");
        put(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

/// In words; behind a negative part others have their sign, as PostgreSQL reads them.
fn interval(months: i32, days: i32, micros: i64, out: &mut BytesMut) {
    let mut parts = Vec::new();
    let (years, months) = (months / 12, months % 12);
    let mut is_negative = false;
    for (count, one, many) in
        [(years, "year", "years"), (months, "mon", "mons"), (days, "day", "days")]
    {
        if count != 0 {
            let sign = if is_negative && count > 0 { "+" } else { "" };
            parts.push(format!("{sign}{count} {}", if count == 1 { one } else { many }));
            is_negative = count < 0;
        }
    }
    if micros != 0 || parts.is_empty() {
        let mut text = BytesMut::new();
        if micros < 0 {
            text.put_u8(b'-');
        } else if is_negative {
            text.put_u8(b'+');
        }
        time(micros.saturating_abs(), &mut text);
        parts.push(String::from_utf8_lossy(&text).into_owned());
    }
    out.put_slice(parts.join(" ").as_bytes());
}

/// `{1,NULL,"a b"}`.
fn list(items: &dyn Array, out: &mut BytesMut) -> Result<(), String> {
    out.put_u8(b'{');
    for row in 0..items.len() {
        if row > 0 {
            out.put_u8(b',');
        }
        let mut text = BytesMut::new();
        if !write(&cell::of(items, row, false)?, &mut text)? {
            out.put_slice(b"NULL");
            continue;
        }
        match needs_quotes(&text) {
            true => quoted(&text, out),
            false => out.put_slice(&text),
        }
    }
    out.put_u8(b'}');
    Ok(())
}

fn needs_quotes(text: &[u8]) -> bool {
    let is_special = |byte: &u8| b"{},\"\\".contains(byte) || byte.is_ascii_whitespace();
    text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(is_special)
}

fn quoted(text: &[u8], out: &mut BytesMut) {
    out.put_u8(b'"');
    for byte in text {
        if b"\"\\".contains(byte) {
            out.put_u8(b'\\');
        }
        out.put_u8(*byte);
    }
    out.put_u8(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_in_words() {
        let written = |months, days, micros| {
            let mut out = BytesMut::new();
            interval(months, days, micros, &mut out);
            String::from_utf8(out.to_vec()).unwrap()
        };
        assert_eq!(written(14, 1, 1_500_000), "1 year 2 mons 1 day 00:00:01.5");
        assert_eq!(written(0, 0, 0), "00:00:00");
        assert_eq!(written(0, -2, -3_600_000_000), "-2 days -01:00:00");
        assert_eq!(written(-1, 2, 1_000_000), "-1 mons +2 days 00:00:01");
        assert_eq!(written(1, -2, 1_000_000), "1 mon -2 days +00:00:01");
    }

    #[test]
    fn numbers_with_a_point_are_short_and_the_same() {
        for value in [0.1, -0.0, 1.0, 123_456_789.125, 1e15, 1e-5, 5e-324, f64::MAX] {
            let mut out = BytesMut::new();
            float(value, DOUBLE_DIGITS, &mut out);
            let text = String::from_utf8(out.to_vec()).unwrap();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
            assert!(text.len() < 26, "{text}");
        }
    }

    #[test]
    fn times_before_the_first_year_are_before_christ() {
        let written = |days| {
            let mut out = BytesMut::new();
            day(days, &mut out).unwrap();
            String::from_utf8(out.to_vec()).unwrap()
        };
        assert_eq!(written(-719_162), "0001-01-01");
        assert_eq!(written(-719_163), "0001-12-31 BC");
        let mut out = BytesMut::new();
        moment(-719_163 * 86_400 * MICROS_PER_SEC, &mut out).unwrap();
        assert_eq!(out[..], *b"0001-12-31 00:00:00+00 BC");
        assert!(moment(i64::MAX, &mut out).is_err());
    }
}
