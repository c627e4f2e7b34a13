//! Whole traces in memory, some thousand spans at a time, as the evaluation looks at them.

use hashbrown::HashMap;
use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, ElementBatch, Link};
use kymo_store::tables::spans::field;
use kymo_traceql::eval::{List, Trace};
use kymo_traceql::value::{Element, Value};

use super::layout::{From, Layout, Place, Whole};
use super::loading::Loading;
use super::table::{Table, id_text};

/// Columns that are always read of whole traces, by place in a layout's columns.
pub(super) const BASE: [ColumnRef; 4] = [
    ColumnRef::Field(field::START_TIME),
    ColumnRef::Field(field::DURATION),
    ColumnRef::Field(field::SERVICE),
    ColumnRef::Field(field::STATUS),
];
pub(super) const START: usize = 0;
pub(super) const DURATION: usize = 1;
pub(super) const SERVICE: usize = 2;
pub(super) const STATUS: usize = 3;

/// What was read of some traces.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) rows: Vec<RowRef>,
    /// Where the rows of each trace end, in the order in which they were read.
    pub(super) ends: Vec<usize>,
    /// The place in that order of each trace that was asked for.
    pub(super) places: Vec<usize>,
    pub(super) table: Table,
    pub(super) links: Vec<Link>,
    pub(super) events: ElementTable,
    pub(super) link_elements: ElementTable,
}

/// Events or links of rows.
#[derive(Debug, Default)]
pub(super) struct ElementTable {
    table: Table,
    /// Where the elements of each row begin, and the end.
    begins: Vec<u32>,
}

impl ElementTable {
    pub(super) fn new(rows: usize, batches: Vec<ElementBatch>, places: &[Place]) -> Self {
        let mut begins = vec![0; rows + 1];
        for row in batches.iter().flat_map(|batch| &batch.rows) {
            begins[*row as usize + 1] += 1;
        }
        for row in 0..rows {
            begins[row + 1] += begins[row];
        }
        let batches: Vec<_> = batches.into_iter().map(|batch| batch.batch).collect();
        Self { table: Table::new(&batches, places.iter()), begins }
    }

    /// The elements of a row.
    fn of(&self, row: usize) -> std::ops::Range<usize> {
        match (self.begins.get(row), self.begins.get(row + 1)) {
            (Some(begin), Some(end)) => *begin as usize..*end as usize,
            _ => 0..0,
        }
    }
}

/// What is known of a whole trace.
#[derive(Debug, Clone, Default)]
struct Facts {
    start_nanos: i64,
    end_nanos: i64,
    /// The row of its root.
    root: Option<usize>,
    root_name: Option<String>,
    id: String,
}

/// Traces that were read.
#[derive(Debug)]
pub(super) struct Group<'l> {
    layout: &'l Layout,
    parts: Parts,
    wholes: Vec<Facts>,
    /// Values of slots that were found in several elements, by slot and row.
    anywhere: HashMap<(usize, usize), Vec<Element>>,
    /// For each span its row, and for each row its span, if they are in another order.
    order: Vec<(usize, usize)>,
}

impl<'l> Group<'l> {
    pub(super) fn new(loading: &'l Loading, parts: Parts) -> Self {
        let mut group = Self {
            layout: &loading.layout,
            parts,
            wholes: Vec::new(),
            anywhere: HashMap::new(),
            order: Vec::new(),
        };
        if loading.is_ordered {
            group.put_in_order();
        }
        group.find_wholes(loading);
        group.find_anywhere();
        group
    }

    pub(super) fn traces(&self) -> usize {
        self.parts.places.len()
    }

    /// A trace of the group, in the order in which they were asked for.
    pub(super) fn trace(&self, nth: usize) -> Loaded<'_> {
        let place = self.parts.places[nth];
        let begin = if place == 0 { 0 } else { self.parts.ends[place - 1] };
        Loaded { group: self, begin, end: self.parts.ends[place], whole: &self.wholes[place] }
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let parts = &self.parts;
        let per_row = size_of::<RowRef>()
            + size_of::<Link>()
            + size_of::<u32>()
            + if self.order.is_empty() { 0 } else { size_of::<(usize, usize)>() };
        let elements: usize =
            self.anywhere.values().map(|e| e.len() * 2 * size_of::<Element>()).sum();
        parts.table.bytes
            + parts.events.table.bytes
            + parts.link_elements.table.bytes
            + parts.rows.len() * per_row
            + self.wholes.len() * size_of::<Facts>()
            + elements
    }

    /// Puts the spans of each trace in the order of their starts.
    fn put_in_order(&mut self) {
        let mut begin = 0;
        self.order = vec![(0, 0); self.parts.rows.len()];
        for end in &self.parts.ends {
            let mut rows: Vec<usize> = (begin..*end).collect();
            let table = &self.parts.table;
            rows.sort_by_key(|row| (table.int(*row, START), table.int(*row, DURATION)));
            for (span, row) in (begin..).zip(rows) {
                self.order[span].0 = row;
                self.order[row].1 = span;
            }
            begin = *end;
        }
    }

    fn find_wholes(&mut self, loading: &Loading) {
        let mut begin = 0;
        for end in &self.parts.ends {
            let mut facts =
                Facts { start_nanos: i64::MAX, end_nanos: i64::MIN, ..Facts::default() };
            let mut root_start = i64::MAX;
            for row in begin..*end {
                let start = self.parts.table.int(row, START).unwrap_or(0);
                let duration = self.parts.table.int(row, DURATION).unwrap_or(0);
                facts.start_nanos = facts.start_nanos.min(start);
                facts.end_nanos = facts.end_nanos.max(start.saturating_add(duration.max(0)));
                let is_first = facts.root.is_none() || start < root_start;
                if self.parts.links[row] == Link::Root && is_first {
                    (facts.root, root_start) = (Some(row), start);
                }
            }
            facts.root_name = facts
                .root
                .zip(loading.name)
                .and_then(|(row, name)| self.parts.table.text(row, name).map(str::to_owned));
            if let Some(column) = loading.trace_id.filter(|_| begin < *end) {
                facts.id = self.parts.table.id(begin, column).map(id_text).unwrap_or_default();
            }
            self.wholes.push(facts);
            begin = *end;
        }
    }

    /// Gathers values of elements for names without a scope.
    fn find_anywhere(&mut self) {
        for (slot, from) in self.layout.slots.iter().enumerate() {
            let From::Anywhere { span, events, links } = from else { continue };
            for row in 0..self.parts.rows.len() {
                if self.parts.table.first(row, span, 0) != Value::Nil {
                    continue;
                }
                let start = self.parts.table.int(row, START).unwrap_or(0);
                let gather = |elements: &ElementTable, places: &[Place]| {
                    let values =
                        elements.of(row).map(|nth| elements.table.first(nth, places, start));
                    values.filter_map(element_of).collect::<Vec<Element>>()
                };
                let mut found = gather(&self.parts.events, events);
                if found.is_empty() {
                    found = gather(&self.parts.link_elements, links);
                }
                if !found.is_empty() {
                    self.anywhere.insert((slot, row), found);
                }
            }
        }
    }
}

fn element_of(value: Value<'_>) -> Option<Element> {
    Some(match value {
        Value::Bool(value) => Element::Bool(value),
        Value::Int(value) | Value::Duration(value) => Element::Int(value),
        Value::Float(value) => Element::Float(value),
        Value::Text(text) => Element::Text(text.into()),
        _ => return None,
    })
}

/// A trace of a [`Group`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Loaded<'g> {
    group: &'g Group<'g>,
    begin: usize,
    end: usize,
    whole: &'g Facts,
}

impl<'g> Loaded<'g> {
    /// The row of a span.
    #[inline]
    fn at(&self, span: usize) -> usize {
        let place = self.begin + span;
        self.group.order.get(place).map_or(place, |(row, _)| *row)
    }

    pub(super) fn start_nanos(&self) -> i64 {
        self.whole.start_nanos
    }

    pub(super) fn duration_nanos(&self) -> i64 {
        self.whole.end_nanos.saturating_sub(self.whole.start_nanos)
    }

    /// Where a span lies.
    pub(super) fn row(&self, span: usize) -> RowRef {
        self.group.parts.rows[self.at(span)]
    }

    /// Where the root lies.
    pub(super) fn root(&self) -> Option<RowRef> {
        self.whole.root.map(|row| self.group.parts.rows[row])
    }

    pub(super) fn root_service(&self) -> Option<&'g str> {
        self.whole.root.and_then(|row| self.group.parts.table.text(row, SERVICE))
    }

    pub(super) fn start_of(&self, span: usize) -> i64 {
        self.group.parts.table.int(self.at(span), START).unwrap_or(0)
    }

    pub(super) fn end_of(&self, span: usize) -> i64 {
        let duration = self.group.parts.table.int(self.at(span), DURATION).unwrap_or(0);
        self.start_of(span).saturating_add(duration)
    }

    pub(super) fn service_of(&self, span: usize) -> Option<&'g str> {
        self.group.parts.table.text(self.at(span), SERVICE)
    }

    pub(super) fn is_error(&self, span: usize) -> bool {
        self.group.parts.table.text(self.at(span), STATUS) == Some("error")
    }

    /// Whether an event or link of a span has a value in this slot.
    pub(super) fn has_element(&self, span: usize, slot: usize) -> bool {
        let list = match self.group.layout.slots.get(slot) {
            Some(From::Events(_)) => List::Events,
            Some(From::Links(_)) => List::Links,
            _ => return false,
        };
        (0..self.elements(span, list)).any(|nth| self.element(span, slot, nth) != Value::Nil)
    }

    fn element(&self, span: usize, slot: usize, nth: usize) -> Value<'g> {
        let row = self.at(span);
        let (elements, places) = match self.group.layout.slots.get(slot) {
            Some(From::Events(places)) => (&self.group.parts.events, places),
            Some(From::Links(places)) => (&self.group.parts.link_elements, places),
            _ => return Value::Nil,
        };
        let range = elements.of(row);
        match nth < range.len() {
            true => elements.table.first(range.start + nth, places, self.start_of(span)),
            false => Value::Nil,
        }
    }

    fn value_of(&self, span: usize, slot: usize) -> Value<'g> {
        let row = self.at(span);
        match self.group.layout.slots.get(slot) {
            Some(from @ (From::Span(_) | From::SpanOr(..))) => {
                self.group.parts.table.get(row, from)
            }
            Some(From::Anywhere { span, .. }) => match self.group.parts.table.first(row, span, 0) {
                Value::Nil => match self.group.anywhere.get(&(slot, row)) {
                    Some(found) => Value::Array(found),
                    None => Value::Nil,
                },
                value => value,
            },
            Some(From::Trace(whole)) => match whole {
                Whole::Duration => Value::Duration(self.duration_nanos()),
                Whole::Id => Value::Text(&self.whole.id),
                Whole::RootName => self.whole.root_name.as_deref().map_or(Value::Nil, Value::Text),
                Whole::RootService => self.root_service().map_or(Value::Nil, Value::Text),
            },
            _ => Value::Nil,
        }
    }
}

impl Trace for Loaded<'_> {
    fn spans(&self) -> usize {
        self.end - self.begin
    }

    fn value(&self, span: usize, slot: usize) -> Value<'_> {
        self.value_of(span, slot)
    }

    fn elements(&self, span: usize, list: List) -> usize {
        let elements = match list {
            List::Events => &self.group.parts.events,
            List::Links => &self.group.parts.link_elements,
        };
        elements.of(self.at(span)).len()
    }

    fn element_value(&self, span: usize, slot: usize, nth: usize) -> Value<'_> {
        self.element(span, slot, nth)
    }

    fn parent(&self, span: usize) -> Option<usize> {
        match self.group.parts.links[self.at(span)] {
            Link::Row(parent) => {
                let row = self.begin + parent as usize;
                Some(self.group.order.get(row).map_or(row, |(_, span)| *span) - self.begin)
            }
            Link::Root | Link::Missing => None,
        }
    }

    fn is_root(&self, span: usize) -> bool {
        self.group.parts.links[self.at(span)] == Link::Root
    }
}
