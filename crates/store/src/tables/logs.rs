//! The table of log records.

use kymo_wire::{AnyValueView, LogRecordView, LogsView, Reader, View, WireError};

use crate::chunk::ChunkBuilder;
use crate::origin::Origin;
use crate::pages::encode::Hint;
use crate::schema::{CommonFields, Field, Kind, Signal, Table};

/// Places of the fields in [`TABLE`].
#[allow(missing_docs)]
pub mod field {
    pub const TIME: usize = 0;
    pub const TIME_SENT: usize = 1;
    pub const OBSERVED_TIME: usize = 2;
    pub const SEVERITY_NUMBER: usize = 3;
    pub const SEVERITY: usize = 4;
    pub const BODY: usize = 5;
    pub const BODY_ANY: usize = 6;
    pub const EVENT_NAME: usize = 7;
    pub const TRACE_ID: usize = 8;
    pub const SPAN_ID: usize = 9;
    pub const FLAGS: usize = 10;
    pub const DROPPED_ATTRIBUTES: usize = 11;
    pub const ORIGIN: usize = 12;
    pub const SHAPE: usize = 13;
    pub const REST: usize = 14;
    pub const SERVICE: usize = 15;
    pub const RESOURCE: usize = 16;
    pub const SCOPE_NAME: usize = 17;
    pub const SCOPE_VERSION: usize = 18;
}

/// The table. `time` is the record's time or, where that was not sent, the
/// observed time; `time_sent` is there only where the two differ.
pub static TABLE: Table = Table {
    signal: Signal::Logs,
    scope: "log",
    fields: &[
        Field::required("time", Kind::Time, Hint::Delta),
        Field::optional("time_sent", Kind::Time, Hint::Auto),
        Field::optional("observed_time", Kind::Time, Hint::Delta),
        Field::optional("severity_number", Kind::Int, Hint::Auto),
        Field::optional("severity", Kind::Text, Hint::Auto),
        Field::optional("body", Kind::Text, Hint::Auto),
        Field::optional("body_any", Kind::Binary, Hint::Auto),
        Field::optional("event_name", Kind::Text, Hint::Auto),
        Field::optional("trace_id", Kind::Id16, Hint::Plain),
        Field::optional("span_id", Kind::Id8, Hint::Plain),
        Field::optional("flags", Kind::Int, Hint::Auto),
        Field::optional("dropped_attributes_count", Kind::Int, Hint::Auto),
        Field::required("origin", Kind::Int, Hint::Auto),
        Field::required("shape", Kind::Int, Hint::Auto),
        Field::optional("rest", Kind::Binary, Hint::Auto),
        Field::optional("resource.service.name", Kind::Text, Hint::Auto),
        Field::optional("resource", Kind::Text, Hint::Dictionary),
        Field::optional("scope_name", Kind::Text, Hint::Auto),
        Field::optional("scope_version", Kind::Text, Hint::Auto),
    ],
    lists: &[],
    common: CommonFields {
        origin: field::ORIGIN,
        shape: field::SHAPE,
        rest: field::REST,
        service: field::SERVICE,
        resource: field::RESOURCE,
        scope_name: field::SCOPE_NAME,
        scope_version: field::SCOPE_VERSION,
    },
};

/// Appends the records of an encoded request; returns how many.
pub fn append(body: &[u8], builder: &mut ChunkBuilder) -> Result<usize, WireError> {
    let mut appended = 0;
    let mut encoded = Vec::new();
    for group in LogsView::parse(body)?.resources {
        let group = group?;
        for scope in group.scopes {
            let scope = scope?;
            encoded.clear();
            Origin::of(&group, &scope).encode(&mut encoded);
            let origin = builder.origin(&encoded);
            for record in scope.items {
                append_record(&record?, origin, builder)?;
                appended += 1;
            }
        }
    }
    Ok(appended)
}

/// Whether a record has a body, which may be one without a value.
fn has_body(record: &[u8]) -> Result<bool, WireError> {
    const BODY: u32 = 5 << 3 | 2;
    let mut reader = Reader::new(record);
    while let Some(tag) = reader.tag()? {
        if tag == BODY {
            return Ok(true);
        }
        reader.skip(tag)?;
    }
    Ok(false)
}

fn append_record(
    record: &LogRecordView<'_>,
    origin: u32,
    builder: &mut ChunkBuilder,
) -> Result<(), WireError> {
    builder.begin_row(origin);
    let (sent, observed) = (record.time_unix_nano as i64, record.observed_time_unix_nano as i64);
    let time = if sent == 0 { observed } else { sent };
    builder.int(field::TIME, time);
    if time != sent {
        builder.int(field::TIME_SENT, sent);
    }
    builder.int_if_any(field::OBSERVED_TIME, observed);
    builder.int_if_any(field::SEVERITY_NUMBER, i64::from(record.severity_number));
    builder.bytes_if_any(field::SEVERITY, record.severity_text);
    match record.body {
        AnyValueView::String(text) => builder.bytes(field::BODY, text),
        _ if record.body_raw.is_empty() && !has_body(record.raw)? => {}
        _ => builder.bytes(field::BODY_ANY, record.body_raw),
    }
    builder.bytes_if_any(field::EVENT_NAME, record.event_name);
    if !record.trace_id.is_empty() {
        builder.id(field::TRACE_ID, record.trace_id);
    }
    if !record.span_id.is_empty() {
        builder.id(field::SPAN_ID, record.span_id);
    }
    builder.int_if_any(field::FLAGS, i64::from(record.flags));
    builder.int_if_any(field::DROPPED_ATTRIBUTES, i64::from(record.dropped_attributes_count));
    for attribute in record.attributes {
        builder.attribute(&attribute?);
    }
    builder.end_attributes();
    Ok(())
}
