//! Single values: what JSON may write for each kind of field, and what goes on the wire.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::Unexpected;

use crate::encode::Writer;
use crate::limits::{SPAN_ID_BYTES, TRACE_ID_BYTES};
use crate::proto::{FIXED32, FIXED64};
use crate::schema::{EnumNames, Field, Kind};

/// A JSON value that is neither object, list nor null.
#[derive(Clone, Copy)]
pub(super) enum Json<'a> {
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a str),
}

/// Why a value does not fit a field.
pub(super) enum Problem {
    /// The wrong type of JSON value.
    Type,
    /// The right type with a value that cannot be.
    Value(String),
}

impl<'a> Json<'a> {
    pub(super) fn unexpected(self) -> Unexpected<'a> {
        match self {
            Self::Bool(value) => Unexpected::Bool(value),
            Self::Unsigned(value) => Unexpected::Unsigned(value),
            Self::Signed(value) => Unexpected::Signed(value),
            Self::Float(value) => Unexpected::Float(value),
            Self::Text(value) => Unexpected::Str(value),
        }
    }
}

/// What a field expects, for error messages.
pub(super) fn description(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a string",
        Kind::Bytes => "a base64 string",
        Kind::TraceId => "a trace id in hex",
        Kind::SpanId | Kind::ParentId => "a span id in hex",
        Kind::Bool => "true or false",
        Kind::Uint32 | Kind::Int32 | Kind::Sint32 | Kind::Fixed32 => "a 32-bit integer",
        Kind::Int64 | Kind::Uint64 | Kind::Fixed64 | Kind::Sfixed64 => {
            "a 64-bit integer as string or number"
        }
        Kind::Time => "nanoseconds since 1970 as string or number",
        Kind::Double => "a number",
        Kind::Enum(_) => "the number or name of an enum value",
        Kind::Message(_) | Kind::AnyValue => "an object",
    }
}

/// Writes a value as `field`; the elements of a packed list have no tag.
pub(super) fn write(
    writer: &mut Writer,
    field: &Field,
    value: Json<'_>,
    is_packed: bool,
) -> Result<(), Problem> {
    let kind = field.kind;
    match (kind, value) {
        (Kind::Text, Json::Text(text)) => writer.bytes_field(field.number, text.as_bytes()),
        (Kind::Bytes, Json::Text(text)) => writer.bytes_field(field.number, &bytes(text)?),
        (Kind::TraceId, Json::Text(text)) => {
            writer.bytes_field(field.number, &id(text, TRACE_ID_BYTES)?);
        }
        (Kind::SpanId | Kind::ParentId, Json::Text(text)) => {
            writer.bytes_field(field.number, &id(text, SPAN_ID_BYTES)?);
        }
        (Kind::Text | Kind::Bytes | Kind::TraceId | Kind::SpanId | Kind::ParentId, _)
        | (Kind::Message(_) | Kind::AnyValue, _) => return Err(Problem::Type),
        _ => {
            if !is_packed {
                writer.tag(field.number << 3 | kind.wire_type());
            }
            number(writer, kind, value)?;
        }
    }
    Ok(())
}

fn number(writer: &mut Writer, kind: Kind, value: Json<'_>) -> Result<(), Problem> {
    let bits = match kind {
        Kind::Bool => match value {
            Json::Bool(flag) => u64::from(flag),
            _ => return Err(Problem::Type),
        },
        Kind::Double => double(value)?.to_bits(),
        Kind::Enum(names) => enum_number(names, value)? as u64,
        Kind::Uint32 | Kind::Fixed32 => integer(value, 0, u32::MAX.into())? as u64,
        Kind::Int32 => integer(value, i32::MIN.into(), i32::MAX.into())? as u64,
        Kind::Sint32 => {
            let number = integer(value, i32::MIN.into(), i32::MAX.into())? as i32;
            u64::from((number << 1 ^ number >> 31) as u32)
        }
        Kind::Int64 | Kind::Sfixed64 => integer(value, i64::MIN.into(), i64::MAX.into())? as u64,
        _ => integer(value, 0, u64::MAX.into())? as u64,
    };
    match kind.wire_type() {
        FIXED64 => writer.raw(&bits.to_le_bytes()),
        FIXED32 => writer.raw(&(bits as u32).to_le_bytes()),
        _ => writer.varint(bits),
    }
    Ok(())
}

fn integer(value: Json<'_>, least: i128, greatest: i128) -> Result<i128, Problem> {
    let number = match value {
        Json::Unsigned(number) => i128::from(number),
        Json::Signed(number) => i128::from(number),
        Json::Float(number) => whole(number).ok_or(Problem::Type)?,
        Json::Text(text) => match text.parse::<i128>() {
            Ok(number) => number,
            Err(_) => text
                .parse::<f64>()
                .ok()
                .and_then(whole)
                .ok_or_else(|| Problem::Value(format!("{text:?} is not an integer")))?,
        },
        Json::Bool(_) => return Err(Problem::Type),
    };
    if number < least || number > greatest {
        let message = format!("{number} is not between {least} and {greatest}");
        return Err(Problem::Value(message));
    }
    Ok(number)
}

/// A float that stands for an integer, such as `1e9`.
fn whole(number: f64) -> Option<i128> {
    (number.is_finite() && number.fract() == 0.0).then_some(number as i128)
}

fn double(value: Json<'_>) -> Result<f64, Problem> {
    Ok(match value {
        Json::Float(number) => number,
        Json::Unsigned(number) => number as f64,
        Json::Signed(number) => number as f64,
        Json::Text("NaN") => f64::NAN,
        Json::Text("Infinity") => f64::INFINITY,
        Json::Text("-Infinity") => f64::NEG_INFINITY,
        Json::Text(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => return Err(Problem::Value(format!("{text:?} is not a number"))),
        },
        Json::Bool(_) => return Err(Problem::Type),
    })
}

fn enum_number(names: &EnumNames, value: Json<'_>) -> Result<i128, Problem> {
    if let Json::Text(text) = value
        && let Some(name) = text.strip_prefix(names.prefix)
    {
        let number = names.names.iter().position(|candidate| *candidate == name);
        return match number {
            Some(number) => Ok(number as i128),
            None => Err(Problem::Value(format!("{text:?} is not a known name"))),
        };
    }
    integer(value, i32::MIN.into(), i32::MAX.into())
}

/// An id in hex, or else in base64 if the text has exactly the length that an id of `length` bytes
/// has there. Hex of another length stays hex: it is a wrong id, not another encoding.
fn id(text: &str, length: usize) -> Result<Vec<u8>, Problem> {
    if let Some(id) = hex(text.as_bytes()) {
        return Ok(id);
    }
    let unpadded = (length * 8).div_ceil(6);
    let padded = length.div_ceil(3) * 4;
    if text.len() == padded || text.len() == unpadded {
        return bytes(text);
    }
    Err(Problem::Value(format!("{text:?} is not hex")))
}

fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>, Problem> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD_LENIENT: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
    const URL_SAFE_LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
    let engine = if text.contains(['-', '_']) { URL_SAFE_LENIENT } else { STANDARD_LENIENT };
    engine.decode(text).map_err(|error| Problem::Value(format!("not base64: {error}")))
}
