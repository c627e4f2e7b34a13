//! Rows of logs to `LogRecord` messages.

use kymo_wire::AnyValueView;
use kymo_wire::encode::Writer;

use super::attributes;
use super::records::{Adding, Records};
use super::row::Row;
use super::window::{Window, split};
use crate::block::source::Source;
use crate::error::StoreError;
use crate::tables::logs::{TABLE, field};

/// Fields that are neither derived nor read by every [`Window`].
const FIELDS: &[usize] = &[
    field::TIME,
    field::TIME_SENT,
    field::OBSERVED_TIME,
    field::SEVERITY_NUMBER,
    field::SEVERITY,
    field::BODY,
    field::BODY_ANY,
    field::EVENT_NAME,
    field::TRACE_ID,
    field::SPAN_ID,
    field::FLAGS,
    field::DROPPED_ATTRIBUTES,
];

/// Field numbers of `LogRecord`, and of the records in a scope group.
mod number {
    pub(super) const RECORD: u32 = 2;
    pub(super) const TIME: u32 = 1;
    pub(super) const SEVERITY_NUMBER: u32 = 2;
    pub(super) const SEVERITY_TEXT: u32 = 3;
    pub(super) const BODY: u32 = 5;
    pub(super) const ATTRIBUTES: u32 = 6;
    pub(super) const DROPPED_ATTRIBUTES: u32 = 7;
    pub(super) const FLAGS: u32 = 8;
    pub(super) const TRACE_ID: u32 = 9;
    pub(super) const SPAN_ID: u32 = 10;
    pub(super) const OBSERVED_TIME: u32 = 11;
    pub(super) const EVENT_NAME: u32 = 12;
}

/// Rebuilds the log records of some rows.
pub(super) fn add(source: &Source, rows: &[u32], records: &mut Records) -> Result<(), StoreError> {
    let mut adding = Adding::new(records);
    for rows in split(source, rows) {
        let window = Window::open(source, &TABLE, rows, FIELDS)?;
        for nth in 0..rows.len() {
            let row = window.row(nth);
            let time = row
                .int(field::TIME)
                .ok_or_else(|| StoreError::corrupt("the column of times is too short"))?;
            adding.add(row.origin()?, time, |writer| {
                writer.message(number::RECORD, |writer| write(&row, time, writer))
            })?;
        }
    }
    Ok(())
}

/// Writes the fields of a record; those that hold their default are left out.
fn write(row: &Row<'_>, time: i64, writer: &mut Writer) -> Result<(), StoreError> {
    let time_sent = row.int(field::TIME_SENT).unwrap_or(time);
    if time_sent != 0 {
        writer.fixed64_field(number::TIME, time_sent as u64);
    }
    if let Some(observed) = row.int(field::OBSERVED_TIME) {
        writer.fixed64_field(number::OBSERVED_TIME, observed as u64);
    }
    if let Some(severity) = row.int(field::SEVERITY_NUMBER) {
        writer.varint_field(number::SEVERITY_NUMBER, severity as u64);
    }
    if let Some(severity) = row.bytes(field::SEVERITY) {
        writer.bytes_field(number::SEVERITY_TEXT, severity);
    }
    if let Some(text) = row.bytes(field::BODY) {
        writer.log_body(&AnyValueView::String(text));
    } else if let Some(any) = row.bytes(field::BODY_ANY) {
        writer.bytes_field(number::BODY, any);
    }
    attributes::write(row, number::ATTRIBUTES, writer)?;
    if let Some(dropped) = row.int(field::DROPPED_ATTRIBUTES) {
        writer.varint_field(number::DROPPED_ATTRIBUTES, dropped as u64);
    }
    if let Some(flags) = row.int(field::FLAGS) {
        writer.fixed32_field(number::FLAGS, flags as u32);
    }
    if let Some(trace_id) = row.id16(field::TRACE_ID) {
        writer.bytes_field(number::TRACE_ID, &trace_id);
    }
    if let Some(span_id) = row.id8(field::SPAN_ID) {
        writer.bytes_field(number::SPAN_ID, &span_id);
    }
    if let Some(name) = row.bytes(field::EVENT_NAME) {
        writer.bytes_field(number::EVENT_NAME, name);
    }
    Ok(())
}
