//! Writing a request again without what was refused and with what was repaired.
//!
//! It runs only when the [check](super::check) found something, and may take its time: records
//! and links are checked once more to decide each. Fields this crate does not know are copied.

use super::check::{Checker, is_span_id, is_trace_id};
use crate::common::text;
use crate::encode::Writer;
use crate::limits::Limits;
use crate::proto::{Reader, WireError};
use crate::schema::{Kind, Message, Role};
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
    mut reader: Reader<'_>,
    schema: &'static Message,
    limits: &Limits,
    writer: &mut Writer,
) -> Result<(), WireError> {
    let mut dropped_links = 0u32;
    let mut dropped_links_before = 0u32;
    loop {
        let field_start = reader.rest();
        let Some(tag) = reader.tag()? else { break };
        let number = tag >> 3;
        let kind = schema.index_of(number).map(|index| schema.fields[index].kind);
        match kind {
            Some(Kind::Text) => writer.bytes_field(number, text(reader.bytes()?).as_bytes()),
            Some(kind @ (Kind::TraceId | Kind::SpanId | Kind::ParentId)) => {
                // An invalid id is emptied, not left out: an earlier one would win otherwise.
                let id = reader.bytes()?;
                let is_valid = if matches!(kind, Kind::TraceId) { is_trace_id } else { is_span_id };
                writer.bytes_field(number, if is_valid(id) { id } else { &[] });
            }
            Some(kind @ (Kind::Message(_) | Kind::AnyValue)) => {
                let nested = reader.message()?;
                let Some(inner) = kind.message() else { continue };
                if !is_kept(nested, inner, limits)? {
                    dropped_links += u32::from(inner.role == Role::Link);
                    continue;
                }
                writer.message(number, |writer| message(nested, inner, limits, writer))?;
            }
            Some(Kind::Uint32) if schema.role == Role::Span && tag == span::DROPPED_LINKS_COUNT => {
                dropped_links_before = reader.varint()? as u32;
                writer.varint_field(number, dropped_links_before.into());
            }
            _ => {
                reader.skip(tag)?;
                writer.raw(&field_start[..field_start.len() - reader.rest().len()]);
            }
        }
    }
    if dropped_links > 0 {
        let count = dropped_links_before.saturating_add(dropped_links);
        writer.varint_field(span::DROPPED_LINKS_COUNT >> 3, count.into());
    }
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
