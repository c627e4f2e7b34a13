//! Spans that have begun and have not arrived.
//!
//! A span is sent when it ends. Until then, and for ever if its process was killed, it can be known
//! from the event that opened it: a log record with an event name, the ids of the span, and
//! attributes `span_name` and `parent_span_id` (`docs/formats/checkpoint.md`). Of such an event a
//! span is made that carries the event's attributes and `kymo.open`, has no status, and ends where
//! its session was last heard of. If an event tells of its end, as when the span itself got lost, it
//! ends there, with that status, and is not open: a session by its own end, all else by that of a
//! task. Once the span itself is there, the events say nothing more.
//!
//! A session is what has one resource attribute `session_id`; a trace may have several.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_wire::encode::SpanFields;
use kymo_wire::{AnyValueView, LogRecordView, SpanView, View};

use super::records::Records;
use super::trace::{Finder, is_damage};
use crate::block::read::Block;
use crate::block::source::{RowRef, Source};
use crate::block::trace_filter::TraceFilter;
use crate::block::trace_index::trace_hash;
use crate::chunk::Chunk;
use crate::column::Values;
use crate::error::StoreError;
use crate::origin::Origin;
use crate::scan::{ColumnCache, ColumnRef, Predicate, Scalar, Scope, matching_rows, shown_text};
use crate::tables::logs::{TABLE, field};

/// Attributes of an event that opens a span: its name, and its parent in hexadecimal.
const SPAN_NAME: &str = "span_name";
const PARENT_SPAN_ID: &str = "parent_span_id";
/// The attribute of a resource that names a session.
const SESSION_ID: &[u8] = b"session_id";
/// The attribute by which a span that has not ended is told from others.
pub const OPEN_ATTRIBUTE: &[u8] = b"kymo.open";
/// The kind of such spans, `SPAN_KIND_INTERNAL`: events do not tell any.
const KIND_INTERNAL: i32 = 1;

/// Events that open and end a session. Whatever else opens a span, tasks' events end it.
const SESSION_STARTED: &[u8] = b"SessionStarted";
const SESSION_ENDED: &[u8] = b"SessionEnded";

/// Events that end a span: the word for its attribute `status`, if it has one, and its status.
const ENDS: [(&[u8], Option<&str>, i32); 4] = [
    (b"TaskCompleted", Some("completed"), STATUS_OK),
    (b"TaskFailed", Some("failed"), STATUS_ERROR),
    (b"TaskCanceled", Some("canceled"), STATUS_ERROR),
    (SESSION_ENDED, None, STATUS_UNSET),
];
const STATUS_UNSET: i32 = 0;
const STATUS_OK: i32 = 1;
const STATUS_ERROR: i32 = 2;
const STATUS: &[u8] = b"status";

/// An event that opens a span.
pub(crate) struct Opening {
    at: RowRef,
    span_id: [u8; 8],
    time_nanos: i64,
}

/// When something was last heard of each session.
type LastHeard = HashMap<Vec<u8>, i64>;

/// What events of a trace tell of its spans.
struct Told {
    last: LastHeard,
    /// How and when spans ended, places in [`ENDS`] and times; by their ids, and whether they ended
    /// as sessions.
    ended: HashMap<([u8; 8], bool), (usize, i64)>,
}

impl Finder<'_, '_> {
    /// Events that have opened spans which were not found, one of each span. `sources` hold log
    /// records.
    pub(crate) fn opening(
        &mut self,
        sources: &[Source],
        cache: &ColumnCache,
    ) -> Result<Vec<Opening>, StoreError> {
        let mut opening = Vec::new();
        for (nth, source) in sources.iter().enumerate() {
            self.go_on_with(opening.len() * size_of::<Opening>())?;
            let found = opening_events(nth, source, self.trace_id, cache);
            opening.extend(unless_damaged(found)?);
        }
        if opening.is_empty() {
            return Ok(opening);
        }
        let mut known = self.span_ids()?;
        // Of an event that was stored twice, one counts.
        opening.sort_unstable_by_key(|event| (event.time_nanos, event.at));
        opening.retain(|event| known.insert(event.span_id));
        Ok(opening)
    }

    /// Adds the spans that were opened by events, which [`Finder::opening`] found in `sources`.
    /// `all_sources` hold all events of the trace.
    pub(crate) fn add_open(
        &mut self,
        mut opening: Vec<Opening>,
        sources: &[Source],
        all_sources: &[Source],
        cache: &ColumnCache,
    ) -> Result<(), StoreError> {
        let mut told = Told { last: self.last_of_spans()?, ended: HashMap::new() };
        for source in all_sources {
            self.go_on_with((opening.len() + told.ended.len()) * size_of::<Opening>())?;
            unless_damaged(told.hear(source, self.trace_id, cache))?;
        }
        opening.sort_unstable_by_key(|event| event.at);
        for of_source in opening.chunk_by(|one, other| one.at.source == other.at.source) {
            let Some(source) = sources.get(of_source[0].at.source as usize) else { continue };
            let rows: Vec<u32> = of_source.iter().map(|event| event.at.row).collect();
            let mut events = Records::default();
            unless_damaged(events.add_logs(source, &rows))?;
            self.add_spans_of(&events, &told)?;
            self.go_on_with(opening.len() * size_of::<Opening>())?;
        }
        Ok(())
    }

    /// Ids of the spans that were found.
    fn span_ids(&self) -> Result<HashSet<[u8; 8]>, StoreError> {
        let ids = (0..self.records.len()).map(|nth| {
            let span = SpanView::parse(self.records.message(nth))?;
            Ok(span.span_id.try_into().unwrap_or_default())
        });
        ids.collect()
    }

    /// The last end of a span of each session.
    fn last_of_spans(&self) -> Result<LastHeard, StoreError> {
        let mut last = LastHeard::new();
        for nth in 0..self.records.len() {
            let end = SpanView::parse(self.records.message(nth))?.end_time_unix_nano as i64;
            let heard = last.entry_ref(&*session_of(self.records.origin(nth))).or_insert(end);
            *heard = end.max(*heard);
        }
        Ok(last)
    }

    fn add_spans_of(&mut self, events: &Records, told: &Told) -> Result<(), StoreError> {
        for nth in 0..events.len() {
            let (event, origin) = (LogRecordView::parse(events.message(nth))?, events.origin(nth));
            let start = events.time_nanos(nth);
            let is_session = event.event_name == SESSION_STARTED;
            let id = <[u8; 8]>::try_from(event.span_id).ok();
            let end = id.and_then(|id| told.ended.get(&(id, is_session)));
            let heard = || told.last.get(&*session_of(origin)).copied().unwrap_or(start);
            let until = end.map_or_else(heard, |(_, time)| *time);
            let (mut name, mut parent) = (&b""[..], None);
            for attribute in event.attributes.iter().flatten() {
                match (attribute.key, attribute.value) {
                    (key, AnyValueView::String(text)) if key == SPAN_NAME.as_bytes() => name = text,
                    (key, AnyValueView::String(text)) if key == PARENT_SPAN_ID.as_bytes() => {
                        parent = span_id_of(text);
                    }
                    _ => {}
                }
            }
            let fields = SpanFields {
                trace_id: event.trace_id,
                span_id: event.span_id,
                parent_span_id: parent.as_ref().map_or(&[], |id| &id[..]),
                flags: event.flags,
                name,
                kind: KIND_INTERNAL,
                start_time_unix_nano: start as u64,
                end_time_unix_nano: start.max(until) as u64,
                dropped_attributes_count: event.dropped_attributes_count,
                ..SpanFields::default()
            };
            self.records.add_span(origin, start, |writer| {
                writer.span(&fields, |writer| {
                    for attribute in event.attributes.iter().flatten() {
                        let is_field = [SPAN_NAME, PARENT_SPAN_ID]
                            .iter()
                            .any(|field| field.as_bytes() == attribute.key);
                        if !is_field {
                            writer.span_attribute(attribute.key, &attribute.value);
                        }
                    }
                    let Some((place, _)) = end else {
                        return writer.span_attribute(OPEN_ATTRIBUTE, &AnyValueView::Bool(true));
                    };
                    let (_, word, status) = ENDS[*place];
                    if let Some(word) = word {
                        writer.span_attribute(STATUS, &AnyValueView::String(word.as_bytes()));
                    }
                    if status != STATUS_UNSET {
                        writer.status(status, b"");
                    }
                });
            });
        }
        Ok(())
    }
}

/// The traces of a block of log records: those that have events, and those of which one opens a
/// span.
pub(crate) fn event_traces(
    block: &Arc<Block>,
    cache: &ColumnCache,
) -> Result<TraceFilter, StoreError> {
    let (mut all, mut opened) = (HashSet::new(), HashSet::new());
    let names = block.field(field::EVENT_NAME, None)?;
    if names.values.is_empty() {
        return Ok(TraceFilter::of_events(all, opened));
    }
    let column = block.field(field::TRACE_ID, None)?;
    let Values::Id16(ids) = &column.values else {
        return Err(StoreError::corrupt("trace ids of another type"));
    };
    let opens = matching_rows(&Source::Block(block.clone()), &TABLE, &opens_span(), cache)?;
    names.for_each_row(|row, _| {
        let Some(at) = column.index_of(row) else { return };
        let hash = trace_hash(&ids[at]);
        all.insert(hash);
        if opens[row as usize] {
            opened.insert(hash);
        }
    });
    Ok(TraceFilter::of_events(all, opened))
}

/// Whether a log record is an event that opens a span.
fn opens_span() -> Predicate {
    let is_event = Predicate::Exists(ColumnRef::Field(field::EVENT_NAME));
    let names_span = Predicate::Exists(ColumnRef::attribute(Scope::Own, SPAN_NAME));
    Predicate::And(vec![is_event, names_span])
}

/// What came of reading log records; `None` if they cannot be read, which is logged: the spans that
/// arrived are worth more than those that are open.
pub(crate) fn if_readable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error)
            if is_damage(&error) || matches!(error, StoreError::Objects(_) | StoreError::Io(_)) =>
        {
            tracing::warn!(%error, "unreadable: spans that are open may be left out of a trace");
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// The same, and nothing if it cannot be read.
fn unless_damaged<T: Default>(read: Result<T, StoreError>) -> Result<T, StoreError> {
    if_readable(read).map(Option::unwrap_or_default)
}

/// Events of a source that open spans of a trace.
fn opening_events(
    nth: usize,
    source: &Source,
    trace_id: &[u8; 16],
    cache: &ColumnCache,
) -> Result<Vec<Opening>, StoreError> {
    let rows = rows_of_trace(source, trace_id, opens_span(), cache)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, times) = (source.field(field::SPAN_ID)?, source.field(field::TIME)?);
    let (Some(ids), Some(times)) = (ids, times) else { return Ok(Vec::new()) };
    let (Values::Id8(span_ids), Values::Int(nanos)) = (&ids.values, &times.values) else {
        return Err(StoreError::corrupt("span ids or times of another type"));
    };
    let opening = |row: u32| {
        let at = RowRef { source: nth as u32, row };
        let span_id = span_ids[ids.index_of(row)?];
        Some(Opening { at, span_id, time_nanos: nanos[times.index_of(row)?] })
    };
    let is_one = |event: &Opening| event.span_id != [0; 8];
    Ok(rows.into_iter().filter_map(opening).filter(is_one).collect())
}

impl Told {
    /// Takes in the events that a source has of a trace.
    fn hear(
        &mut self,
        source: &Source,
        trace_id: &[u8; 16],
        cache: &ColumnCache,
    ) -> Result<(), StoreError> {
        let event = Predicate::Exists(ColumnRef::Field(field::EVENT_NAME));
        let rows = rows_of_trace(source, trace_id, event, cache)?;
        if rows.is_empty() {
            return Ok(());
        }
        let (times, numbers) = (source.field(field::TIME)?, source.field(field::ORIGIN)?);
        let (Some(times), Some(numbers)) = (times, numbers) else { return Ok(()) };
        let (Values::Int(nanos), Values::Int(origins)) = (&times.values, &numbers.values) else {
            return Err(StoreError::corrupt("times or origins of another type"));
        };
        let mut by_origin: HashMap<i64, i64> = HashMap::new();
        for row in &rows {
            let (Some(time), Some(origin)) = (times.index_of(*row), numbers.index_of(*row)) else {
                continue;
            };
            let heard = by_origin.entry(origins[origin]).or_insert(nanos[time]);
            *heard = nanos[time].max(*heard);
        }
        let encoded = source.origins()?;
        for (origin, time) in by_origin {
            let session = session_of(encoded.get(u32::try_from(origin).unwrap_or(u32::MAX)));
            let heard = self.last.entry_ref(&*session).or_insert(time);
            *heard = time.max(*heard);
        }
        self.hear_ends(source, &rows, |row| times.index_of(row).map(|at| nanos[at]))
    }

    /// Notes which spans the events in some rows end.
    fn hear_ends(
        &mut self,
        source: &Source,
        rows: &[u32],
        time_of: impl Fn(u32) -> Option<i64>,
    ) -> Result<(), StoreError> {
        let (names, ids) = (source.field(field::EVENT_NAME)?, source.field(field::SPAN_ID)?);
        let (Some(names), Some(ids)) = (names, ids) else { return Ok(()) };
        let (Values::Bytes(codes, dict), Values::Id8(span_ids)) = (&names.values, &ids.values)
        else {
            return Err(StoreError::corrupt("names or span ids of another type"));
        };
        for row in rows {
            let (Some(name), Some(id)) = (names.index_of(*row), ids.index_of(*row)) else {
                continue;
            };
            let name = dict.get(codes[name]);
            let place = ENDS.iter().position(|(end, ..)| *end == name);
            let (Some(place), Some(time)) = (place, time_of(*row)) else { continue };
            // The first end counts.
            let key = (span_ids[id], name == SESSION_ENDED);
            let known = self.ended.entry(key).or_insert((place, time));
            if time < known.1 {
                *known = (place, time);
            }
        }
        Ok(())
    }
}

/// Rows of a trace that pass a test, without those that are hidden.
fn rows_of_trace(
    source: &Source,
    trace_id: &[u8; 16],
    test: Predicate,
    cache: &ColumnCache,
) -> Result<Vec<u32>, StoreError> {
    if let Source::Chunk(chunk) = source
        && !has_trace(chunk, trace_id)
    {
        return Ok(Vec::new());
    }
    let is_of_trace =
        Predicate::equal(ColumnRef::Field(field::TRACE_ID), Scalar::Bytes(trace_id.to_vec()));
    let predicate = Predicate::And(vec![test, is_of_trace]);
    let matching = matching_rows(source, &TABLE, &predicate, cache)?;
    let is_hidden = |row: usize| source.hidden().is_some_and(|hidden| hidden[row]);
    let rows = matching.iter().enumerate().filter(|(row, matches)| **matches && !is_hidden(*row));
    Ok(rows.map(|(row, _)| row as u32).collect())
}

/// Whether a chunk, for which there is no filter of traces, has something of one.
fn has_trace(chunk: &Chunk, trace_id: &[u8; 16]) -> bool {
    let ids = chunk.fields[field::TRACE_ID].as_ref().map(|column| &column.values);
    matches!(ids, Some(Values::Id16(ids)) if ids.contains(trace_id))
}

/// The session of an encoded origin; empty if it is of none.
fn session_of(origin: &[u8]) -> Cow<'_, [u8]> {
    let id = Origin::decode(origin).resource_attribute(SESSION_ID);
    id.and_then(|id| shown_text(&id)).unwrap_or_default()
}

/// A span's id of its hexadecimal digits; `None` if it is none.
fn span_id_of(digits: &[u8]) -> Option<[u8; 8]> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 16)?;
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()?;
    (id != 0).then_some(id.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_sixteen_hexadecimal_digits_or_none() {
        assert_eq!(span_id_of(b"00000000000000ff"), Some([0, 0, 0, 0, 0, 0, 0, 255]));
        for none in [&b""[..], b"ff", b"0000000000000000", b"+00000000000000f", b"00000000000000fg"]
        {
            assert_eq!(span_id_of(none), None, "{none:?}");
        }
    }
}
