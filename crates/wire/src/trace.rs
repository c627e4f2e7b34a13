//! Spans, their events and links.

use crate::common::{KeyValueView, read_once};
use crate::groups::{RequestView, ResourceGroupView, ScopeGroupView};
use crate::proto::{Reader, WireError};
use crate::repeated::{Repeated, View};
use crate::tags::{event, link, span, status};

/// An `ExportTraceServiceRequest`, which is also `TracesData`.
pub type TracesView<'a> = RequestView<'a, SpanView<'a>>;
/// The spans of one resource.
pub type ResourceSpansView<'a> = ResourceGroupView<'a, SpanView<'a>>;
/// The spans of one scope.
pub type ScopeSpansView<'a> = ScopeGroupView<'a, SpanView<'a>>;

/// A span.
#[derive(Debug, Clone, Copy)]
pub struct SpanView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// 16 bytes, unless the request was not inspected.
    pub trace_id: &'a [u8],
    /// 8 bytes, unless the request was not inspected.
    pub span_id: &'a [u8],
    /// The W3C trace state.
    pub trace_state: &'a [u8],
    /// 8 bytes, or none for a root.
    pub parent_span_id: &'a [u8],
    /// W3C trace flags in the low byte, and whether the parent is remote.
    pub flags: u32,
    /// Name of the operation.
    pub name: &'a [u8],
    /// `SpanKind` as sent, also when out of range.
    pub kind: i32,
    /// Start in nanoseconds since 1970.
    pub start_time_unix_nano: u64,
    /// End in nanoseconds since 1970; may lie before the start.
    pub end_time_unix_nano: u64,
    /// Attributes.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// Events.
    pub events: Repeated<'a, EventView<'a>>,
    /// How many events the sender left out.
    pub dropped_events_count: u32,
    /// Links to other spans.
    pub links: Repeated<'a, LinkView<'a>>,
    /// How many links were left out.
    pub dropped_links_count: u32,
    /// The status, if one was given.
    pub status: Option<StatusView<'a>>,
}

impl<'a> View<'a> for SpanView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            trace_id: &[],
            span_id: &[],
            trace_state: &[],
            parent_span_id: &[],
            flags: 0,
            name: &[],
            kind: 0,
            start_time_unix_nano: 0,
            end_time_unix_nano: 0,
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
            events: Repeated::new(),
            dropped_events_count: 0,
            links: Repeated::new(),
            dropped_links_count: 0,
            status: None,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                span::TRACE_ID => view.trace_id = reader.bytes()?,
                span::SPAN_ID => view.span_id = reader.bytes()?,
                span::TRACE_STATE => view.trace_state = reader.bytes()?,
                span::PARENT_SPAN_ID => view.parent_span_id = reader.bytes()?,
                span::NAME => view.name = reader.bytes()?,
                span::KIND => view.kind = reader.varint()? as i32,
                span::START_TIME => view.start_time_unix_nano = reader.fixed64()?,
                span::END_TIME => view.end_time_unix_nano = reader.fixed64()?,
                span::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                span::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                span::EVENTS => view.events.push(tail, tag, &mut reader)?,
                span::DROPPED_EVENTS_COUNT => view.dropped_events_count = reader.varint()? as u32,
                span::LINKS => view.links.push(tail, tag, &mut reader)?,
                span::DROPPED_LINKS_COUNT => view.dropped_links_count = reader.varint()? as u32,
                span::STATUS => read_once(&mut view.status, &mut reader, tag)?,
                span::FLAGS => view.flags = reader.fixed32()?,
                _ => reader.skip_other(tag, span::KNOWN)?,
            }
        }
    }
}

/// Something that happened during a span.
#[derive(Debug, Clone, Copy)]
pub struct EventView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// When, in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// What.
    pub name: &'a [u8],
    /// Attributes.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
}

impl<'a> View<'a> for EventView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            time_unix_nano: 0,
            name: &[],
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                event::TIME => view.time_unix_nano = reader.fixed64()?,
                event::NAME => view.name = reader.bytes()?,
                event::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                event::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                _ => reader.skip_other(tag, event::KNOWN)?,
            }
        }
    }
}

/// A pointer to another span.
#[derive(Debug, Clone, Copy)]
pub struct LinkView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Trace of the other span.
    pub trace_id: &'a [u8],
    /// Id of the other span.
    pub span_id: &'a [u8],
    /// The W3C trace state of the other span.
    pub trace_state: &'a [u8],
    /// Attributes.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// W3C trace flags in the low byte, and whether the other span is remote.
    pub flags: u32,
}

impl<'a> View<'a> for LinkView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            trace_id: &[],
            span_id: &[],
            trace_state: &[],
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
            flags: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                link::TRACE_ID => view.trace_id = reader.bytes()?,
                link::SPAN_ID => view.span_id = reader.bytes()?,
                link::TRACE_STATE => view.trace_state = reader.bytes()?,
                link::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                link::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                link::FLAGS => view.flags = reader.fixed32()?,
                _ => reader.skip_other(tag, link::KNOWN)?,
            }
        }
    }
}

/// How a span ended.
#[derive(Debug, Clone, Copy)]
pub struct StatusView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// What went wrong, for people.
    pub message: &'a [u8],
    /// `StatusCode` as sent: 0 unset, 1 ok, 2 error.
    pub code: i32,
}

impl<'a> View<'a> for StatusView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { raw, message: &[], code: 0 };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                status::MESSAGE => view.message = reader.bytes()?,
                status::CODE => view.code = reader.varint()? as i32,
                _ => reader.skip_other(tag, status::KNOWN)?,
            }
        }
        Ok(view)
    }
}
