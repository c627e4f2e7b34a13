//! Log records.

use crate::common::{AnyValueView, KeyValueView, once};
use crate::groups::{RequestView, ResourceGroupView, ScopeGroupView};
use crate::proto::{Reader, WireError};
use crate::repeated::{Repeated, View};
use crate::tags::log_record;

/// An `ExportLogsServiceRequest`, which is also `LogsData`.
pub type LogsView<'a> = RequestView<'a, LogRecordView<'a>>;
/// The log records of one resource.
pub type ResourceLogsView<'a> = ResourceGroupView<'a, LogRecordView<'a>>;
/// The log records of one scope.
pub type ScopeLogsView<'a> = ScopeGroupView<'a, LogRecordView<'a>>;

/// A log record or an event.
#[derive(Debug, Clone, Copy)]
pub struct LogRecordView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// When it happened, in nanoseconds since 1970; 0 if unknown.
    pub time_unix_nano: u64,
    /// When it was first seen by the telemetry system, in nanoseconds since 1970.
    pub observed_time_unix_nano: u64,
    /// `SeverityNumber` as sent: 1 to 24, 0 if unknown.
    pub severity_number: i32,
    /// The source's own name of the severity.
    pub severity_text: &'a [u8],
    /// The body; [`AnyValueView::Empty`] also when the field was absent.
    pub body: AnyValueView<'a>,
    /// The `AnyValue` message that `body` was read from.
    pub body_raw: &'a [u8],
    /// Attributes.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// W3C trace flags in the low byte.
    pub flags: u32,
    /// 16 bytes, or none.
    pub trace_id: &'a [u8],
    /// 8 bytes, or none.
    pub span_id: &'a [u8],
    /// Name of the event, if the record is one.
    pub event_name: &'a [u8],
}

impl<'a> View<'a> for LogRecordView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            time_unix_nano: 0,
            observed_time_unix_nano: 0,
            severity_number: 0,
            severity_text: &[],
            body: AnyValueView::Empty,
            body_raw: &[],
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
            flags: 0,
            trace_id: &[],
            span_id: &[],
            event_name: &[],
        };
        let mut reader = Reader::new(raw);
        let mut body_seen = false;
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                log_record::TIME => view.time_unix_nano = reader.fixed64()?,
                log_record::OBSERVED_TIME => view.observed_time_unix_nano = reader.fixed64()?,
                log_record::SEVERITY_NUMBER => view.severity_number = reader.varint()? as i32,
                log_record::SEVERITY_TEXT => view.severity_text = reader.bytes()?,
                log_record::BODY => {
                    once(&mut body_seen, &reader, tag)?;
                    view.body_raw = reader.bytes()?;
                    view.body = AnyValueView::parse(view.body_raw)?;
                }
                log_record::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                log_record::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                log_record::FLAGS => view.flags = reader.fixed32()?,
                log_record::TRACE_ID => view.trace_id = reader.bytes()?,
                log_record::SPAN_ID => view.span_id = reader.bytes()?,
                log_record::EVENT_NAME => view.event_name = reader.bytes()?,
                _ => reader.skip_other(tag, log_record::KNOWN)?,
            }
        }
    }
}
