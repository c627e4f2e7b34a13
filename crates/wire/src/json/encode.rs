//! Protobuf fields to JSON text, driven by the tables of [`schema`](crate::schema).

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Signal;
use crate::common::text;
use crate::limits::MAX_NESTING;
use crate::proto::{LEN, Reader, WireError, WireErrorKind, unzigzag};
use crate::schema::{self, EnumNames, Field, Kind, Message};

/// How ids and enumerations are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As OTLP/JSON has them: ids in hexadecimal, enumerations as numbers.
    Otlp,
    /// As protobuf's own mapping to JSON has them, and with it Tempo's API: ids in base64,
    /// enumerations by name.
    Protobuf,
}

/// Appends the request in `body` to `out` as OTLP/JSON, on one line.
///
/// Fields that this crate does not know are left out: JSON has no way to say them.
pub fn encode(signal: Signal, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    encode_styled(signal, body, Style::Otlp, out)
}

/// As [`encode`], in a style.
pub fn encode_styled(
    signal: Signal,
    body: &[u8],
    style: Style,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    message(Reader::new(body), schema::request(signal), Place { depth: 0, style }, out)
}

/// How deep values are nested here, and how they are written.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    style: Style,
}

impl Place {
    fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// Where a field was found in the message being written.
#[derive(Clone, Copy)]
struct Slot<'a> {
    /// From the tag of the occurrence that counts: the first of a list, else the last.
    at: Reader<'a>,
    count: u32,
}

/// More fields than any message of OTLP has.
const MAX_FIELDS: usize = 16;

fn message(
    reader: Reader<'_>,
    schema: &'static Message,
    place: Place,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if place.depth > MAX_NESTING {
        return Err(reader.error(WireErrorKind::TooDeep(MAX_NESTING)));
    }
    let slots = find_fields(reader, schema)?;
    out.push(b'{');
    let mut is_first = true;
    for (field, slot) in schema.fields.iter().zip(slots) {
        let Some(slot) = slot else { continue };
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        out.push(b'"');
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b"\":");
        if field.is_repeated {
            list(slot, field, place, out)?;
        } else {
            let mut at = slot.at;
            at.tag()?;
            value(&mut at, field.kind, place, out)?;
        }
    }
    out.push(b'}');
    Ok(())
}

/// Finds all fields of a message in one pass, since JSON wants each of them in one place.
fn find_fields<'a>(
    mut reader: Reader<'a>,
    schema: &'static Message,
) -> Result<[Option<Slot<'a>>; MAX_FIELDS], WireError> {
    let mut slots: [Option<Slot<'a>>; MAX_FIELDS] = [None; MAX_FIELDS];
    loop {
        let at = reader;
        let Some(tag) = reader.tag()? else { return Ok(slots) };
        if let Some(index) = schema.index_of(tag >> 3) {
            let field = &schema.fields[index];
            let is_packed = field.is_repeated && tag & 7 == LEN;
            if tag & 7 != field.kind.wire_type() && !is_packed {
                return Err(at.error(WireErrorKind::FieldType(tag >> 3)));
            }
            slots[index] = Some(match slots[index] {
                Some(slot) if field.is_repeated => Slot { count: slot.count + 1, ..slot },
                Some(_) if field.kind.message().is_some() => {
                    return Err(at.error(WireErrorKind::Duplicate(tag >> 3)));
                }
                _ => Slot { at, count: 1 },
            });
            if field.is_choice {
                forget_other_choices(&mut slots, schema, index);
            }
        }
        reader.skip(tag)?;
    }
}

fn forget_other_choices(
    slots: &mut [Option<Slot<'_>>; MAX_FIELDS],
    schema: &'static Message,
    chosen: usize,
) {
    for (index, (field, slot)) in schema.fields.iter().zip(slots).enumerate() {
        if field.is_choice && index != chosen {
            *slot = None;
        }
    }
}

fn list(slot: Slot<'_>, field: &Field, place: Place, out: &mut Vec<u8>) -> Result<(), WireError> {
    let Slot { at: mut reader, count: mut remaining } = slot;
    let mut is_first = true;
    out.push(b'[');
    while remaining > 0 {
        let Some(tag) = reader.tag()? else { break };
        if tag >> 3 != field.number {
            reader.skip(tag)?;
            continue;
        }
        remaining -= 1;
        if tag & 7 == field.kind.wire_type() {
            separate(&mut is_first, out);
            value(&mut reader, field.kind, place, out)?;
            continue;
        }
        let mut packed = reader.message()?;
        while !packed.is_empty() {
            separate(&mut is_first, out);
            value(&mut packed, field.kind, place, out)?;
        }
    }
    out.push(b']');
    Ok(())
}

fn separate(is_first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::replace(is_first, false) {
        out.push(b',');
    }
}

fn value(
    reader: &mut Reader<'_>,
    kind: Kind,
    place: Place,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    match kind {
        Kind::Text => string(&text(reader.bytes()?), out),
        Kind::Bytes => string(&STANDARD.encode(reader.bytes()?), out),
        Kind::TraceId | Kind::SpanId | Kind::ParentId => match place.style {
            Style::Otlp => hex(reader.bytes()?, out),
            Style::Protobuf => string(&STANDARD.encode(reader.bytes()?), out),
        },
        Kind::Bool => {
            let word: &[u8] = if reader.varint()? != 0 { b"true" } else { b"false" };
            out.extend_from_slice(word);
        }
        Kind::Uint32 => integer(reader.varint()? as u32, out),
        Kind::Int32 => integer(reader.varint()? as i32, out),
        Kind::Enum(names) => enumeration(reader.varint()? as i32, names, place.style, out),
        Kind::Sint32 => integer(unzigzag(reader.varint()?), out),
        Kind::Fixed32 => integer(reader.fixed32()?, out),
        Kind::Int64 => quoted(reader.varint()? as i64, out),
        Kind::Uint64 => quoted(reader.varint()?, out),
        Kind::Fixed64 | Kind::Time => quoted(reader.fixed64()?, out),
        Kind::Sfixed64 => quoted(reader.fixed64()? as i64, out),
        Kind::Double => double(reader.double()?, out),
        Kind::Message(inner) => message(reader.message()?, inner, place, out)?,
        Kind::AnyValue => message(reader.message()?, &schema::ANY_VALUE, place.deeper(), out)?,
    }
    Ok(())
}

fn enumeration(number: i32, names: &EnumNames, style: Style, out: &mut Vec<u8>) {
    let name = usize::try_from(number).ok().and_then(|number| names.names.get(number));
    match name {
        Some(name) if style == Style::Protobuf => string(&format!("{}{name}", names.prefix), out),
        _ => integer(number, out),
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail, and neither can text.
    let _ = serde_json::to_writer(out, text);
}

fn integer(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{number}");
}

fn quoted(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "\"{number}\"");
}

fn double(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        let _ = serde_json::to_writer(out, &number);
    } else if number.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if number > 0.0 {
        out.extend_from_slice(b"\"Infinity\"");
    } else {
        out.extend_from_slice(b"\"-Infinity\"");
    }
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'"');
}
