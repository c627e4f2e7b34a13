//! Rows of spans to `Span` messages.

use hashbrown::HashMap;
use kymo_wire::encode::{EventFields, LinkFields, SpanFields, Writer};

use super::attributes;
use super::records::{Adding, Records};
use super::row::{Element, Row};
use super::window::{Window, split};
use crate::block::source::Source;
use crate::column::{Column, Values};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::tables::spans::{TABLE, field, kind_number, list, status_number};

/// Fields that are neither derived nor read by every [`Window`].
const FIELDS: &[usize] = &[
    field::TRACE_ID,
    field::SPAN_ID,
    field::PARENT_SPAN_ID,
    field::PARENT_ROW,
    field::NAME,
    field::KIND,
    field::START_TIME,
    field::DURATION,
    field::STATUS,
    field::STATUS_MESSAGE,
    field::TRACE_STATE,
    field::FLAGS,
    field::DROPPED_ATTRIBUTES,
    field::DROPPED_EVENTS,
    field::DROPPED_LINKS,
];

/// Field numbers of attributes in `Span`, `Event` and `Link`.
const SPAN_ATTRIBUTES: u32 = 9;
const EVENT_ATTRIBUTES: u32 = 3;
const LINK_ATTRIBUTES: u32 = 4;

/// Rebuilds the spans of some rows.
pub(super) fn add(source: &Source, rows: &[u32], records: &mut Records) -> Result<(), StoreError> {
    let mut adding = Adding::new(records);
    for rows in split(source, rows) {
        let window = Window::open(source, &TABLE, rows, FIELDS)?;
        let mut parents = Parents { source, window: &window, elsewhere: HashMap::new() };
        for nth in 0..rows.len() {
            let row = window.row(nth);
            let parent = parents.of(nth)?;
            let start = required(row.int(field::START_TIME))?;
            adding.add(row.origin()?, start, |writer| write(&row, parent, writer))?;
        }
    }
    Ok(())
}

fn required<T>(value: Option<T>) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::corrupt("a required column of spans is too short"))
}

fn write(row: &Row<'_>, parent: Option<[u8; 8]>, writer: &mut Writer) -> Result<(), StoreError> {
    let trace_id = required(row.id16(field::TRACE_ID))?;
    let span_id = required(row.id8(field::SPAN_ID))?;
    let start = required(row.int(field::START_TIME))?;
    let duration = required(row.int(field::DURATION))?;
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &span_id,
        trace_state: row.bytes(field::TRACE_STATE).unwrap_or_default(),
        parent_span_id: parent.as_ref().map_or(&[], |id| &id[..]),
        flags: row.int(field::FLAGS).unwrap_or_default() as u32,
        name: required(row.bytes(field::NAME))?,
        kind: kind_number(required(row.bytes(field::KIND))?),
        start_time_unix_nano: start as u64,
        end_time_unix_nano: start.wrapping_add(duration) as u64,
        dropped_attributes_count: row.int(field::DROPPED_ATTRIBUTES).unwrap_or_default() as u32,
        dropped_events_count: row.int(field::DROPPED_EVENTS).unwrap_or_default() as u32,
        dropped_links_count: row.int(field::DROPPED_LINKS).unwrap_or_default() as u32,
    };
    writer.span(&fields, |writer| {
        attributes::write(row, SPAN_ATTRIBUTES, writer)?;
        row.elements(list::EVENTS).try_for_each(|event| write_event(&event, writer))?;
        row.elements(list::LINKS).try_for_each(|link| write_link(&link, writer))?;
        if let Some(status) = row.bytes(field::STATUS) {
            let message = row.bytes(field::STATUS_MESSAGE).unwrap_or_default();
            writer.status(status_number(status), message);
        }
        Ok(())
    })
}

fn write_event(event: &Element<'_>, writer: &mut Writer) -> Result<(), StoreError> {
    let fields = EventFields {
        time_unix_nano: event.int(list::EVENT_TIME) as u64,
        name: event.bytes(list::EVENT_NAME),
        dropped_attributes_count: event.int(list::EVENT_DROPPED) as u32,
    };
    writer.event(&fields, |writer| {
        attributes::write_list(event.bytes(list::EVENT_ATTRIBUTES), EVENT_ATTRIBUTES, writer)
    })
}

fn write_link(link: &Element<'_>, writer: &mut Writer) -> Result<(), StoreError> {
    let trace_id = required(link.id16(list::LINK_TRACE_ID))?;
    let span_id = required(link.id8(list::LINK_SPAN_ID))?;
    let fields = LinkFields {
        trace_id: &trace_id,
        span_id: &span_id,
        trace_state: link.bytes(list::LINK_TRACE_STATE),
        dropped_attributes_count: link.int(list::LINK_DROPPED) as u32,
        flags: link.int(list::LINK_FLAGS) as u32,
    };
    writer.link(&fields, |writer| {
        attributes::write_list(link.bytes(list::LINK_ATTRIBUTES), LINK_ATTRIBUTES, writer)
    })
}

/// Ids of parents, which blocks keep as the distance to the parent's row.
struct Parents<'w> {
    source: &'w Source,
    window: &'w Window<'w>,
    /// Span ids of granules outside the window: long traces, and rows that were
    /// asked for without their parents.
    elsewhere: HashMap<usize, Column>,
}

impl Parents<'_> {
    fn of(&mut self, nth: usize) -> Result<Option<[u8; 8]>, StoreError> {
        let row = self.window.row(nth);
        if let Some(id) = row.id8(field::PARENT_SPAN_ID) {
            return Ok(Some(id));
        }
        let Some(distance) = row.int(field::PARENT_ROW) else { return Ok(None) };
        let outside = || StoreError::corrupt("a parent is outside the block");
        let parent = i64::from(self.window.rows()[nth])
            .checked_sub(distance)
            .and_then(|parent| u32::try_from(parent).ok())
            .filter(|parent| (*parent as usize) < self.source.rows())
            .ok_or_else(outside)?;
        match self.window.id8_of_row(field::SPAN_ID, parent) {
            Some(id) => Ok(Some(id)),
            None => self.elsewhere(parent)?.map(Some).ok_or_else(outside),
        }
    }

    fn elsewhere(&mut self, row: u32) -> Result<Option<[u8; 8]>, StoreError> {
        let Source::Block(block) = self.source else { return Ok(None) };
        let granule = row as usize / GRANULE_ROWS;
        if !self.elsewhere.contains_key(&granule) {
            let column = block.field(field::SPAN_ID, Some(granule..granule + 1))?;
            self.elsewhere.insert(granule, column);
        }
        match self.elsewhere.get(&granule).map(|column| &column.values) {
            Some(Values::Id8(ids)) => Ok(ids.get(row as usize % GRANULE_ROWS).copied()),
            _ => Ok(None),
        }
    }
}
