//! Writing a request again without what was refused and with what was repaired.
//!
//! It runs only when the [check](super::check) found something, and may take its time: records
//! and links are checked once more to decide each. Fields this crate does not know are copied.

use super::check::{Checker, is_span_id, is_trace_id, max_attributes};
use crate::common::text;
use crate::encode::Writer;
use crate::limits::Limits;
use crate::proto::{Reader, VARINT, WireError};
use crate::schema::{DROPPED_ATTRIBUTES, KEY_VALUE, Kind, Message, Role};
use crate::tags::span;

/// Encodes `body` again. It must have passed the check.
pub(super) fn rewrite(
    body: &[u8],
    request: &'static Message,
    limits: &Limits,
) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::with_capacity(body.len());
    message(Reader::new(body), request, limits, &mut writer)?;
    Ok(writer.into_bytes())
}

fn message(
    original: Reader<'_>,
    schema: &'static Message,
    limits: &Limits,
    writer: &mut Writer,
) -> Result<(), WireError> {
    let mut reader = original;
    let mut dropped_links = 0u32;
    let mut dropped_attributes = 0u32;
    let mut attributes_left = max_attributes(schema, limits);
    loop {
        let field_start = reader.rest();
        let Some(tag) = reader.tag()? else { break };
        let number = tag >> 3;
        let kind = schema.index_of(number).map(|index| schema.fields[index].kind);
        match kind {
            Some(Kind::Text) => {
                let text = text(reader.bytes()?);
                let kept_bytes = match schema.role {
                    Role::Value => text.floor_char_boundary(limits.max_value_bytes),
                    _ => text.len(),
                };
                writer.bytes_field(number, &text.as_bytes()[..kept_bytes]);
            }
            Some(Kind::Bytes) => {
                let bytes = reader.bytes()?;
                writer.bytes_field(number, &bytes[..bytes.len().min(limits.max_value_bytes)]);
            }
            Some(kind @ (Kind::TraceId | Kind::SpanId | Kind::ParentId)) => {
                // An invalid id is emptied, not left out: an earlier one would win otherwise.
                let id = reader.bytes()?;
                let is_valid = if matches!(kind, Kind::TraceId) { is_trace_id } else { is_span_id };
                writer.bytes_field(number, if is_valid(id) { id } else { &[] });
            }
            Some(kind @ (Kind::Message(_) | Kind::AnyValue)) => {
                let nested = reader.message()?;
                let Some(inner) = kind.message() else { continue };
                if std::ptr::eq(inner, &KEY_VALUE) {
                    if attributes_left == 0 {
                        dropped_attributes = dropped_attributes.saturating_add(1);
                        continue;
                    }
                    attributes_left -= 1;
                }
                if !is_kept(nested, inner, limits)? {
                    dropped_links += u32::from(inner.role == Role::Link);
                    continue;
                }
                writer.message(number, |writer| message(nested, inner, limits, writer))?;
            }
            _ => {
                reader.skip(tag)?;
                writer.raw(&field_start[..field_start.len() - reader.rest().len()]);
            }
        }
    }
    if dropped_links > 0 {
        add_to_count(original, span::DROPPED_LINKS_COUNT >> 3, dropped_links, writer)?;
    }
    if dropped_attributes > 0
        && let Some(index) = schema.index_named(DROPPED_ATTRIBUTES)
    {
        add_to_count(original, schema.fields[index].number, dropped_attributes, writer)?;
    }
    Ok(())
}

/// Adds to a number that the sender may have set. The field is written once more, and the last
/// one counts.
fn add_to_count(
    original: Reader<'_>,
    number: u32,
    more: u32,
    writer: &mut Writer,
) -> Result<(), WireError> {
    let mut reader = original;
    let mut before = 0;
    while let Some(tag) = reader.tag()? {
        if tag == number << 3 | VARINT {
            before = reader.varint()? as u32;
        } else {
            reader.skip(tag)?;
        }
    }
    writer.varint_field(number, before.saturating_add(more).into());
    Ok(())
}

fn is_kept(
    reader: Reader<'_>,
    schema: &'static Message,
    limits: &Limits,
) -> Result<bool, WireError> {
    if schema.role == Role::Link || schema.role.is_record() {
        return Checker::new(limits).nested(reader, schema, 0);
    }
    Ok(true)
}
