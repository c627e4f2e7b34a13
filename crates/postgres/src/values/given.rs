//! Values that clients give for parameters.
//!
//! Text of a type that has no form of its own here stays text: it is read where it stands in the
//! query, beside a time as a time.

use bytes::{Buf, Bytes};
use kymo_engine::Value;
use kymo_engine::array_text::{self, Unread};
use kymo_engine::catalog::types::{NUMERIC, PgType, TYPES};
use kymo_engine::limits::PARAMETER_MAX_VALUES;

use crate::error::{PgError, code};
use crate::limits::{ARRAY_MAX_DEPTH, NUMERIC_MAX_DIGITS};

/// PostgreSQL counts from 2000 on.
const MICROS_TO_2000: i64 = 946_684_800_000_000;
const DAYS_TO_2000: i64 = 10_957;

/// Whether values of a type can be read as bytes; 0 stands for any text.
pub(crate) fn is_binary_known(oid: u32) -> bool {
    oid == 0 || TYPES.iter().any(|known| known.oid == oid || known.array_oid == oid)
}

/// The value of a parameter of a type, in text or as bytes.
pub(crate) fn given(oid: u32, is_binary: bool, value: &Bytes) -> Result<Value, PgError> {
    let array = TYPES.iter().find(|known| known.array_oid == oid && oid != 0);
    match (array, is_binary) {
        (Some(element), true) => of_array(element, value.clone()),
        (Some(element), false) => of_array_text(element, utf8(value)?),
        (None, true) => of_bytes(oid, value),
        (None, false) => of_text(oid, utf8(value)?),
    }
}

fn utf8(value: &[u8]) -> Result<&str, PgError> {
    std::str::from_utf8(value).map_err(|_| wrong("a value is not UTF-8"))
}

fn wrong(message: impl Into<String>) -> PgError {
    PgError::new(code::PARAMETER, message)
}

fn name_of(oid: u32) -> &'static str {
    TYPES.iter().find(|known| known.oid == oid).map_or("text", |known| known.display)
}

fn of_text(oid: u32, text: &str) -> Result<Value, PgError> {
    let unread = || wrong(format!("{text:?} is no {}", name_of(oid)));
    Ok(match name_of(oid) {
        "boolean" => match text.trim().to_lowercase().as_str() {
            "t" | "true" | "on" | "1" | "yes" | "y" => Value::Bool(true),
            "f" | "false" | "off" | "0" | "no" | "n" => Value::Bool(false),
            _ => return Err(unread()),
        },
        "bigint" | "integer" | "smallint" | "oid" => {
            Value::Int(text.trim().parse().map_err(|_| unread())?)
        }
        "double precision" | "real" => Value::Float(text.trim().parse().map_err(|_| unread())?),
        "numeric" => match text.trim().parse() {
            Ok(whole) => Value::Int(whole),
            Err(_) => Value::Float(text.trim().parse().map_err(|_| unread())?),
        },
        // As it is as bytes: ids have no dashes.
        "uuid" => Value::Text(text.trim().replace('-', "").to_lowercase()),
        "bytea" => match text.strip_prefix("\\x").and_then(from_hex) {
            Some(bytes) => Value::Bytes(bytes),
            None => return Err(unread()),
        },
        _ => Value::Text(text.to_owned()),
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn fixed<const N: usize>(oid: u32, value: &[u8]) -> Result<[u8; N], PgError> {
    value.try_into().map_err(|_| {
        wrong(format!("a {} has {N} bytes, this one has {}", name_of(oid), value.len()))
    })
}

fn of_bytes(oid: u32, value: &Bytes) -> Result<Value, PgError> {
    Ok(match name_of(oid) {
        "boolean" => Value::Bool(fixed::<1>(oid, value)? != [0]),
        "smallint" => Value::Int(i16::from_be_bytes(fixed(oid, value)?).into()),
        "integer" => Value::Int(i32::from_be_bytes(fixed(oid, value)?).into()),
        "oid" | "regclass" | "regproc" => Value::Int(u32::from_be_bytes(fixed(oid, value)?).into()),
        "bigint" => Value::Int(i64::from_be_bytes(fixed(oid, value)?)),
        "real" => Value::Float(f32::from_be_bytes(fixed(oid, value)?).into()),
        "double precision" => Value::Float(f64::from_be_bytes(fixed(oid, value)?)),
        "bytea" => Value::Bytes(value.to_vec()),
        "timestamp with time zone" | "timestamp without time zone" => {
            let micros = i64::from_be_bytes(fixed(oid, value)?).checked_add(MICROS_TO_2000);
            let nanos = micros.and_then(|micros| micros.checked_mul(1000));
            Value::Time(nanos.ok_or_else(|| wrong("a time lies before 1677 or after 2262"))?)
        }
        "date" => {
            let days = i64::from(i32::from_be_bytes(fixed(oid, value)?)) + DAYS_TO_2000;
            let day = chrono::DateTime::from_timestamp(days.saturating_mul(86_400), 0);
            let day = day.ok_or_else(|| wrong("a day that no calendar has"))?;
            Value::Text(day.date_naive().to_string())
        }
        "numeric" => numeric(value.clone())?,
        "uuid" => {
            let digits = fixed::<16>(oid, value)?;
            Value::Text(digits.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        "jsonb" => Value::Text(utf8(value.get(1..).unwrap_or_default())?.to_owned()),
        "interval" | "time without time zone" => {
            let message = format!("a {} as bytes is not read here: send text", name_of(oid));
            return Err(PgError::new(code::NOT_OFFERED, message));
        }
        _ => Value::Text(utf8(value)?.to_owned()),
    })
}

/// Digits of base 10,000, read as the text of the same number is.
fn numeric(mut value: Bytes) -> Result<Value, PgError> {
    let unread = || wrong("a numeric value cannot be read");
    if value.len() < 8 {
        return Err(unread());
    }
    let (count, weight) = (usize::from(value.get_u16()), value.get_i16());
    let (sign, _scale) = (value.get_u16(), value.get_u16());
    let negative = match sign {
        0 => "",
        0x4000 => "-",
        0xc000 => return Ok(Value::Float(f64::NAN)),
        0xd000 => return Ok(Value::Float(f64::INFINITY)),
        0xf000 => return Ok(Value::Float(f64::NEG_INFINITY)),
        _ => return Err(unread()),
    };
    // Before the point, behind it, or so far behind that zeros lie between.
    let before = usize::try_from(i32::from(weight) + 1).unwrap_or(0);
    let zeros = usize::try_from(-1 - i32::from(weight)).unwrap_or(0);
    if value.len() != 2 * count || 4 * before.max(zeros + count) > NUMERIC_MAX_DIGITS {
        return Err(unread());
    }
    let mut text = format!("{negative}0");
    for place in 0..before.max(count) {
        if place == before {
            text.push('.');
            text.push_str(&"0000".repeat(zeros));
        }
        let digits = if place < count { value.get_u16() } else { 0 };
        if digits > 9999 {
            return Err(unread());
        }
        text.push_str(&format!("{digits:04}"));
    }
    of_text(NUMERIC.oid, &text)
}

fn of_array(element: &PgType, mut value: Bytes) -> Result<Value, PgError> {
    let unread = || wrong("an array cannot be read");
    if value.len() < 12 {
        return Err(unread());
    }
    let (dimensions, _has_nulls, oid) = (value.get_i32(), value.get_i32(), value.get_u32());
    if dimensions == 0 {
        return Ok(Value::List(Vec::new()));
    }
    if dimensions != ARRAY_MAX_DEPTH as i32 {
        return Err(nested());
    }
    if oid != element.oid || value.len() < 8 {
        return Err(unread());
    }
    let (length, _begin) = (value.get_i32(), value.get_i32());
    let length = usize::try_from(length).map_err(|_| unread())?;
    // Each has a length of its own.
    if length > value.len() / 4 {
        return Err(unread());
    }
    if length > PARAMETER_MAX_VALUES {
        return Err(too_many());
    }
    let mut values = Vec::with_capacity(length);
    for _ in 0..length {
        if value.len() < 4 {
            return Err(unread());
        }
        values.push(match usize::try_from(value.get_i32()) {
            Err(_) => Value::Null,
            Ok(bytes) if bytes <= value.len() => of_bytes(oid, &value.split_to(bytes))?,
            Ok(_) => return Err(unread()),
        });
    }
    Ok(Value::List(values))
}

fn nested() -> PgError {
    PgError::new(code::NOT_OFFERED, "arrays of arrays are not read here")
}

fn too_many() -> PgError {
    let message = format!("an array has more than {PARAMETER_MAX_VALUES} values");
    PgError::new(code::TOO_MUCH, message)
}

fn of_array_text(element: &PgType, text: &str) -> Result<Value, PgError> {
    let items = array_text::items(text).map_err(|why| match why {
        Unread::NoArray => wrong(format!("{text:?} is no array")),
        Unread::Nested => nested(),
        Unread::TooMany => too_many(),
    })?;
    let values = items.into_iter().map(|item| match item {
        Some(text) => of_text(element.oid, &text),
        None => Ok(Value::Null),
    });
    Ok(Value::List(values.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(oid: u32, value: &str) -> Result<Value, PgError> {
        given(oid, false, &Bytes::copy_from_slice(value.as_bytes()))
    }

    fn bytes(oid: u32, value: &[u8]) -> Result<Value, PgError> {
        given(oid, true, &Bytes::copy_from_slice(value))
    }

    #[test]
    fn values_are_read_by_their_types() {
        assert_eq!(text(0, "x"), Ok(Value::Text("x".into())));
        assert_eq!(text(20, " 7 "), Ok(Value::Int(7)));
        assert_eq!(text(16, "t"), Ok(Value::Bool(true)));
        assert_eq!(text(1700, "1.5"), Ok(Value::Float(1.5)));
        assert_eq!(bytes(20, &7_i64.to_be_bytes()), Ok(Value::Int(7)));
        assert_eq!(bytes(21, &7_i16.to_be_bytes()), Ok(Value::Int(7)));
        assert_eq!(bytes(1184, &1_i64.to_be_bytes()), Ok(Value::Time(946_684_800_000_001_000)));
        assert_eq!(bytes(1082, &0_i32.to_be_bytes()), Ok(Value::Text("2000-01-01".into())));
        assert_eq!(
            bytes(1700, &[0, 1, 0xff, 0xff, 0x40, 0, 0, 1, 0x13, 0x88]),
            Ok(Value::Float(-0.5))
        );
        assert_eq!(text(17, "\\x0aff"), Ok(Value::Bytes(vec![10, 255])));
    }

    #[test]
    fn a_number_is_the_same_as_text_and_as_bytes() {
        let groups = |weight: i16, sign: u16, groups: &[u16]| {
            let head = [groups.len() as u16, weight as u16, sign, 0];
            let words: Vec<u8> =
                head.iter().chain(groups).flat_map(|word| word.to_be_bytes()).collect();
            bytes(1700, &words)
        };
        for (weight, sign, digits, same) in [
            (4, 0, &[170, 0, 0, 0, 1][..], "1700000000000000001"),
            (4, 0x4000, &[922, 3372, 368, 5477, 5807], "-9223372036854775807"),
            (0, 0, &[3, 1400], "3.14"),
            (-2, 0, &[7000], "0.00007"),
            (1, 0, &[5], "50000"),
            (0, 0, &[], "0"),
            (0, 0xc000, &[], "NaN"),
            (0, 0xf000, &[], "-Infinity"),
        ] {
            let (found, expected) = (groups(weight, sign, digits), text(1700, same));
            // Debug, since one that is no number is not equal to itself.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{same}");
        }
        for (weight, sign, digits) in
            [(0, 1, &[1][..]), (0, 0, &[10_000]), (i16::MAX, 0, &[1]), (i16::MIN, 0, &[1])]
        {
            assert_eq!(groups(weight, sign, digits).unwrap_err().code, "22P02", "{weight}");
        }
    }

    #[test]
    fn an_id_is_its_digits_in_either_format() {
        let expected = Ok(Value::Text("0a".repeat(16)));
        assert_eq!(bytes(2950, &[10; 16]), expected);
        assert_eq!(text(2950, "0A0A0A0A-0a0a-0a0a-0a0a-0a0a0a0a0a0a"), expected);
    }

    #[test]
    fn an_array_has_no_more_values_than_a_parameter_may() {
        let many = format!("{{{}0}}", "0,".repeat(PARAMETER_MAX_VALUES));
        assert_eq!(text(1016, &many).unwrap_err().code, code::TOO_MUCH);
        let length = PARAMETER_MAX_VALUES as i32 + 1;
        let mut array: Vec<u8> =
            [1, 1, 25, length, 1].iter().flat_map(|word: &i32| word.to_be_bytes()).collect();
        array.extend([0xff_u8; 4].repeat(PARAMETER_MAX_VALUES + 1));
        assert_eq!(bytes(1009, &array).unwrap_err().code, code::TOO_MUCH);
    }

    #[test]
    fn arrays_are_lists() {
        let list = |values: &[&str]| {
            Value::List(values.iter().map(|text| Value::Text((*text).into())).collect())
        };
        assert_eq!(text(1009, r#"{a,"b,\"c",""}"#), Ok(list(&["a", "b,\"c", ""])));
        assert_eq!(text(1016, "{1,NULL}"), Ok(Value::List(vec![Value::Int(1), Value::Null])));
        assert_eq!(text(1009, "{}"), Ok(list(&[])));
        let mut array = Vec::new();
        for word in [1_i32, 0, 25, 2, 1, 1] {
            array.extend(word.to_be_bytes());
        }
        array.push(b'a');
        array.extend((-1_i32).to_be_bytes());
        let expected = Value::List(vec![Value::Text("a".into()), Value::Null]);
        assert_eq!(bytes(1009, &array), Ok(expected));
        for length in 0..array.len() {
            assert!(bytes(1009, &array[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (oid, value) in
            [(20, "x"), (16, "maybe"), (17, "\\x0"), (1016, "{x}"), (1009, "a"), (1009, "{a,}")]
        {
            assert_eq!(text(oid, value).unwrap_err().code, "22P02", "{oid} {value}");
        }
        for (oid, value) in
            [(20, &b"1"[..]), (1184, b""), (25, b"\xff"), (1700, b"\0\x09\0\0\0\0\0\0")]
        {
            assert_eq!(bytes(oid, value).unwrap_err().code, "22P02", "{oid}");
        }
        assert_eq!(bytes(1184, &i64::MAX.to_be_bytes()).unwrap_err().code, "22P02");
        assert_eq!(text(1009, "{{a}}").unwrap_err().code, "0A000");
    }
}
