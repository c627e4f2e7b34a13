//! The walk itself. It changes nothing and counts what [`rewrite`](super::rewrite) will change.
//!
//! Most messages are checked by the tables of [`schema`](crate::schema). Spans and attributes are
//! most of what telemetry consists of and have a path of their own, for speed.

use super::{RefusalReason, RepairReason};
use crate::common::text;
use crate::limits::{Limits, MAX_POINT_ITEMS, SPAN_ID_BYTES, TRACE_ID_BYTES};
use crate::proto::{FIXED64, LEN, Reader, WireError, WireErrorKind};
use crate::schema::{ARRAY, EVENT, KEY_VALUE, KVLIST, Kind, LINK, Message, Role, STATUS};
use crate::tags::{any_value, key_value, number_point, span};

/// What the walk has found so far.
pub(super) struct Checker<'l> {
    limits: &'l Limits,
    /// Below this depth an attribute that is [usual](is_usual_attribute) is within all limits.
    usual_depths: u32,
    pub(super) items: u64,
    pub(super) refused: [u64; RefusalReason::ALL.len()],
    pub(super) repaired: [u64; RepairReason::ALL.len()],
    /// Why the record that is being walked will be refused.
    refusal: Option<RefusalReason>,
}

/// The ids found in a message; the last of each wins.
#[derive(Default)]
struct Ids<'a> {
    trace: &'a [u8],
    span: &'a [u8],
    parent: &'a [u8],
}

impl<'l> Checker<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        let is_usual_short = limits.max_value_bytes >= MAX_USUAL_BYTES;
        let usual_depths = if is_usual_short { limits.max_nesting } else { 0 };
        Self { limits, usual_depths, items: 0, refused: [0; _], repaired: [0; _], refusal: None }
    }

    /// Whether the body can be kept as it is.
    pub(super) fn is_clean(&self) -> bool {
        self.refused == [0; _] && self.repaired == [0; _]
    }

    /// Walks a whole request.
    pub(super) fn request(
        &mut self,
        body: &[u8],
        request: &'static Message,
    ) -> Result<(), WireError> {
        self.nested(Reader::new(body), request, 0).map(drop)
    }

    /// Walks one message and judges it as a whole. False means that it must be left out.
    pub(super) fn nested(
        &mut self,
        reader: Reader<'_>,
        message: &'static Message,
        depth: u32,
    ) -> Result<bool, WireError> {
        let role = message.role;
        if role == Role::Plain {
            return self.fields(reader, message, depth).map(|_| true);
        }
        let repaired_before = self.repaired;
        let ids = match role {
            Role::Span => self.span_fields(reader)?,
            _ => self.fields(reader, message, depth)?,
        };
        match role {
            Role::Span => {
                if !ids.parent.is_empty() && !is_span_id(ids.parent) {
                    self.repair(RepairReason::ParentSpanId);
                }
                if !is_span_id(ids.span) {
                    self.refusal = Some(RefusalReason::SpanId);
                }
                if !is_trace_id(ids.trace) {
                    self.refusal = Some(RefusalReason::TraceId);
                }
            }
            Role::Link if !is_trace_id(ids.trace) || !is_span_id(ids.span) => {
                // What was wrong inside goes with the link.
                self.repaired = repaired_before;
                self.repair(RepairReason::Link);
                return Ok(false);
            }
            Role::Log | Role::Exemplar => {
                let is_trace_wrong = !ids.trace.is_empty() && !is_trace_id(ids.trace);
                let is_span_wrong = !ids.span.is_empty() && !is_span_id(ids.span);
                self.repaired[RepairReason::ContextId as usize] +=
                    u64::from(is_trace_wrong) + u64::from(is_span_wrong);
            }
            Role::Link | Role::Point | Role::Plain | Role::Value => {}
        }
        if !role.is_record() {
            return Ok(true);
        }
        let Some(reason) = self.refusal.take() else {
            self.items += 1;
            return Ok(true);
        };
        self.repaired = repaired_before;
        self.refused[reason as usize] += 1;
        Ok(false)
    }

    /// Walks the fields of a message.
    fn fields<'a>(
        &mut self,
        mut reader: Reader<'a>,
        message: &'static Message,
        depth: u32,
    ) -> Result<Ids<'a>, WireError> {
        let mut ids = Ids::default();
        let mut seen = 0u32;
        let mut items = 0;
        let mut attributes = 0;
        let mut point_time = 0;
        let max_attributes = max_attributes(message, self.limits);
        while let Some(tag) = reader.tag()? {
            let Some(index) = message.index_of(tag >> 3) else {
                reader.skip(tag)?;
                continue;
            };
            let field = &message.fields[index];
            if tag != field.tag {
                items += packed(&mut reader, tag, field.kind, field.is_repeated)?;
                continue;
            }
            match field.kind {
                Kind::Message(inner) => {
                    let nested = reader.message()?;
                    if field.is_repeated {
                        if std::ptr::eq(inner, &KEY_VALUE) {
                            attributes += 1;
                            if attributes > max_attributes {
                                self.surplus_attribute(nested, depth)?;
                            } else {
                                self.attribute(nested, depth)?;
                            }
                            continue;
                        }
                        items += usize::from(message.role == Role::Point);
                    } else {
                        once(&mut seen, index, &reader, tag)?;
                    }
                    self.nested(nested, inner, depth)?;
                }
                Kind::AnyValue => {
                    let nested = reader.message()?;
                    if !field.is_repeated {
                        once(&mut seen, index, &reader, tag)?;
                    }
                    self.any_value(nested, depth + 1)?;
                }
                Kind::Text if message.role == Role::Value => self.value(reader.bytes()?),
                Kind::Text => self.text(reader.bytes()?),
                Kind::TraceId => ids.trace = reader.bytes()?,
                Kind::SpanId => ids.span = reader.bytes()?,
                Kind::ParentId => ids.parent = reader.bytes()?,
                Kind::Time => {
                    let unix_nanos = reader.fixed64()?;
                    self.time(unix_nanos);
                    // Points of all kinds have it in the same field.
                    if tag == number_point::TIME {
                        point_time = unix_nanos;
                    }
                }
                _ => {
                    items += usize::from(field.is_repeated);
                    reader.skip(tag)?;
                }
            }
        }
        if message.role == Role::Point && point_time < self.limits.min_point_time_unix_nanos {
            self.refusal = Some(RefusalReason::TooOld);
        }
        // Only data points have lists of numbers.
        if items > MAX_POINT_ITEMS {
            self.refusal = Some(RefusalReason::PointItems);
        }
        if attributes > max_attributes && message.role == Role::Point {
            self.refusal = Some(RefusalReason::PointAttributes);
        }
        Ok(ids)
    }

    /// Walks the fields of a span.
    fn span_fields<'a>(&mut self, mut reader: Reader<'a>) -> Result<Ids<'a>, WireError> {
        let mut ids = Ids::default();
        let mut seen = 0;
        let mut attributes = 0;
        while let Some(tag) = reader.tag()? {
            match tag {
                span::ATTRIBUTES => {
                    attributes += 1;
                    if attributes > self.limits.max_attributes {
                        self.surplus_attribute(reader.message()?, 0)?;
                    } else {
                        self.attribute(reader.message()?, 0)?;
                    }
                }
                span::TRACE_ID => ids.trace = reader.bytes()?,
                span::SPAN_ID => ids.span = reader.bytes()?,
                span::PARENT_SPAN_ID => ids.parent = reader.bytes()?,
                span::NAME | span::TRACE_STATE => self.text(reader.bytes()?),
                span::START_TIME | span::END_TIME => self.time(reader.fixed64()?),
                span::KIND
                | span::DROPPED_ATTRIBUTES_COUNT
                | span::DROPPED_EVENTS_COUNT
                | span::DROPPED_LINKS_COUNT => drop(reader.varint()?),
                span::FLAGS => drop(reader.fixed32()?),
                span::EVENTS => drop(self.nested(reader.message()?, &EVENT, 0)?),
                span::LINKS => drop(self.nested(reader.message()?, &LINK, 0)?),
                span::STATUS => {
                    once(&mut seen, 0, &reader, tag)?;
                    self.fields(reader.message()?, &STATUS, 0)?;
                }
                _ => reader.skip_other(tag, span::KNOWN)?,
            }
        }
        Ok(ids)
    }

    /// Walks a `KeyValue`.
    #[inline]
    fn attribute(&mut self, reader: Reader<'_>, depth: u32) -> Result<(), WireError> {
        if is_usual_attribute(reader.rest()) && depth < self.usual_depths {
            return Ok(());
        }
        self.any_attribute(reader, depth)
    }

    /// Walks a `KeyValue` that will be dropped. Its framing counts, what else is wrong with it
    /// goes with it.
    #[cold]
    fn surplus_attribute(&mut self, reader: Reader<'_>, depth: u32) -> Result<(), WireError> {
        let repaired_before = self.repaired;
        self.any_attribute(reader, depth)?;
        self.repaired = repaired_before;
        self.repair(RepairReason::Attribute);
        Ok(())
    }

    fn any_attribute(&mut self, mut reader: Reader<'_>, depth: u32) -> Result<(), WireError> {
        let mut seen = 0;
        while let Some(tag) = reader.tag()? {
            match tag {
                key_value::KEY => self.text(reader.bytes()?),
                key_value::VALUE => {
                    once(&mut seen, 1, &reader, tag)?;
                    self.any_value(reader.message()?, depth + 1)?;
                }
                key_value::KEY_STRINDEX => drop(reader.varint()?),
                _ => reader.skip_other(tag, key_value::KNOWN)?,
            }
        }
        Ok(())
    }

    /// Walks an `AnyValue`.
    fn any_value(&mut self, mut reader: Reader<'_>, depth: u32) -> Result<(), WireError> {
        if depth > self.limits.max_nesting {
            return Err(reader.error(WireErrorKind::TooDeep(self.limits.max_nesting)));
        }
        let mut seen = 0;
        while let Some(tag) = reader.tag()? {
            match tag {
                any_value::STRING => self.value(reader.bytes()?),
                any_value::BOOL | any_value::INT | any_value::STRING_STRINDEX => {
                    reader.varint()?;
                }
                any_value::DOUBLE => drop(reader.fixed64()?),
                any_value::BYTES => {
                    if reader.bytes()?.len() > self.limits.max_value_bytes {
                        self.repair(RepairReason::Value);
                    }
                }
                any_value::ARRAY | any_value::KVLIST => {
                    once(&mut seen, (tag >> 3) as usize, &reader, tag)?;
                    let list = if tag == any_value::ARRAY { &ARRAY } else { &KVLIST };
                    self.fields(reader.message()?, list, depth)?;
                }
                _ => reader.skip_other(tag, any_value::KNOWN)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, bytes: &[u8]) {
        if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            self.repair(RepairReason::Text);
        }
    }

    /// Text that is not a name but a value.
    #[inline]
    fn value(&mut self, bytes: &[u8]) {
        if bytes.len() > self.limits.max_value_bytes {
            self.repair(RepairReason::Value);
        }
        if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            self.invalid_value(bytes);
        }
    }

    #[cold]
    fn invalid_value(&mut self, bytes: &[u8]) {
        self.repair(RepairReason::Text);
        // A replacement character takes more room than the byte it stands for.
        let max_bytes = self.limits.max_value_bytes;
        if bytes.len() <= max_bytes && text(bytes).len() > max_bytes {
            self.repair(RepairReason::Value);
        }
    }

    #[inline]
    fn time(&mut self, unix_nanos: u64) {
        if unix_nanos > self.limits.max_time_unix_nanos {
            self.refusal = Some(RefusalReason::Time);
        }
    }

    fn repair(&mut self, reason: RepairReason) {
        self.repaired[reason as usize] += 1;
    }
}

/// No text in a [usual attribute](is_usual_attribute) is longer: its length is one byte.
const MAX_USUAL_BYTES: usize = 0x7f;

/// Recognises the most frequent attributes as valid: a short key in ASCII, then a short text in
/// ASCII or a number, and nothing else.
///
/// In a text attribute every byte but those of the texts is a tag or a length of one byte, so
/// that one look at all bytes suffices.
#[inline]
fn is_usual_attribute(raw: &[u8]) -> bool {
    let [KEY_BYTE, key_length @ ..0x80, rest @ ..] = raw else { return false };
    let Some((key, rest)) = rest.split_at_checked(usize::from(*key_length)) else { return false };
    let [VALUE_BYTE, value_length @ ..0x80, value @ ..] = rest else { return false };
    if value.len() != usize::from(*value_length) {
        return false;
    }
    match value {
        [STRING_BYTE, text_length, text @ ..] => {
            text.len() == usize::from(*text_length) && raw.is_ascii()
        }
        [BOOL_BYTE | INT_BYTE, ..0x80]
        | [INT_BYTE, 0x80..=0xff, ..0x80]
        | [DOUBLE_BYTE, _, _, _, _, _, _, _, _] => key.is_ascii(),
        _ => false,
    }
}

// Tags of fields below 16 are one byte.
const KEY_BYTE: u8 = key_value::KEY as u8;
const VALUE_BYTE: u8 = key_value::VALUE as u8;
const STRING_BYTE: u8 = any_value::STRING as u8;
const BOOL_BYTE: u8 = any_value::BOOL as u8;
const INT_BYTE: u8 = any_value::INT as u8;
const DOUBLE_BYTE: u8 = any_value::DOUBLE as u8;

/// How many attributes a message may have. A key-value list inside a value has entries, which are
/// no attributes of a record.
#[inline]
pub(super) fn max_attributes(message: &'static Message, limits: &Limits) -> usize {
    if std::ptr::eq(message, &KVLIST) { usize::MAX } else { limits.max_attributes }
}

/// Reads a field in the packed form of its kind, or refuses its wire type.
fn packed(
    reader: &mut Reader<'_>,
    tag: u32,
    kind: Kind,
    is_repeated: bool,
) -> Result<usize, WireError> {
    if !is_repeated || tag & 7 != LEN || kind.wire_type() == LEN {
        return Err(reader.error(WireErrorKind::FieldType(tag >> 3)));
    }
    let mut elements = reader.message()?;
    if kind.wire_type() == FIXED64 {
        if !elements.rest().len().is_multiple_of(8) {
            return Err(elements.error(WireErrorKind::PartialElement(tag >> 3)));
        }
        return Ok(elements.rest().len() / 8);
    }
    let mut count = 0;
    while !elements.is_empty() {
        elements.varint()?;
        count += 1;
    }
    Ok(count)
}

/// Refuses the second occurrence of the field at `index`.
#[inline]
fn once(seen: &mut u32, index: usize, reader: &Reader<'_>, tag: u32) -> Result<(), WireError> {
    let bit = 1 << index;
    if *seen & bit != 0 {
        return Err(reader.error(WireErrorKind::Duplicate(tag >> 3)));
    }
    *seen |= bit;
    Ok(())
}

/// Whether these bytes are a trace id: 16 bytes, not all zero.
#[inline]
pub(super) fn is_trace_id(bytes: &[u8]) -> bool {
    <[u8; TRACE_ID_BYTES]>::try_from(bytes).is_ok_and(|id| id != [0; TRACE_ID_BYTES])
}

/// Whether these bytes are a span id: 8 bytes, not all zero.
#[inline]
pub(super) fn is_span_id(bytes: &[u8]) -> bool {
    <[u8; SPAN_ID_BYTES]>::try_from(bytes).is_ok_and(|id| id != [0; SPAN_ID_BYTES])
}
