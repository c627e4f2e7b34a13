//! Whole traces in memory, a few hundred at a time, as the evaluation looks at them.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_store::StoreError;
use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, ElementBatch, Elements, Link, Prepared, TraceReader};
use kymo_store::tables::spans::{field, list};
use kymo_traceql::ast::Name;
use kymo_traceql::eval::{List, Trace};
use kymo_traceql::value::{Element, Value};

use super::layout::{From, Layout, Place, Whole};
use super::look::Look;
use super::table::{Table, id_text};

/// Columns that are always read of whole traces, by place in a layout's columns.
const BASE: [ColumnRef; 4] = [
    ColumnRef::Field(field::START_TIME),
    ColumnRef::Field(field::DURATION),
    ColumnRef::Field(field::SERVICE),
    ColumnRef::Field(field::STATUS),
];
const START: usize = 0;
const DURATION: usize = 1;
const SERVICE: usize = 2;
const STATUS: usize = 3;

/// How traces are read: bound once, then used by any number of threads.
#[derive(Debug)]
pub(super) struct Loading {
    layout: Layout,
    /// The place of the columns that only some queries read.
    name: Option<usize>,
    trace_id: Option<usize>,
    /// Whether the order of spans is of importance: it is that of their starts then, wherever they
    /// lie.
    is_ordered: bool,
    rows: Arc<Prepared>,
    events: Option<Arc<Prepared>>,
    links: Option<Arc<Prepared>>,
}

impl Loading {
    /// Reads what `names` need, in their order.
    pub(super) fn new(look: &Look, names: &[Name], is_ordered: bool) -> Result<Self, StoreError> {
        let layout = Layout::new(look, &BASE, names)?;
        let place = |number| layout.columns.iter().position(|c| *c == ColumnRef::Field(number));
        let (name, trace_id) = (place(field::NAME), place(field::TRACE_ID));
        let rows = look.prepare(layout.columns.clone(), None)?;
        let elements = |columns: &Vec<ColumnRef>, number| match columns.is_empty() {
            true => Ok(None),
            false => look.prepare(columns.clone(), Some(Elements::List(number))).map(Some),
        };
        let events = elements(&layout.event_columns, list::EVENTS)?;
        let links = elements(&layout.link_columns, list::LINKS)?;
        Ok(Self { name, trace_id, is_ordered, rows, events, links, layout })
    }

    /// The columns that are read of spans, for who wants to know.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Something to read with, on one thread.
    pub(super) fn loader(&self) -> Loader<'_> {
        Loader {
            loading: self,
            rows: TraceReader::new(&self.rows),
            events: self.events.as_ref().map(TraceReader::new),
            links: self.links.as_ref().map(TraceReader::new),
        }
    }
}

/// Reads traces on one thread.
pub(super) struct Loader<'l> {
    loading: &'l Loading,
    rows: TraceReader,
    events: Option<TraceReader>,
    links: Option<TraceReader>,
}

/// Times that traces are read again because a block turned out to be damaged.
const TRIES: usize = 4;

impl Loader<'_> {
    /// Reads traces; those that have no visible rows are empty.
    pub(super) fn load(&mut self, hashes: &[u64]) -> Result<Group<'_>, StoreError> {
        for _ in 0..TRIES {
            if let Some(group) = self.try_load(hashes)? {
                return Ok(Group { layout: &self.loading.layout, ..group });
            }
        }
        let what = "blocks are damaged faster than they can be left out";
        Err(StoreError::Corrupt(what.to_owned()))
    }

    fn try_load(&mut self, hashes: &[u64]) -> Result<Option<Group<'static>>, StoreError> {
        let mut rows = Vec::new();
        let mut ends = Vec::with_capacity(hashes.len());
        for hash in hashes {
            rows.extend(self.rows.rows_of(*hash)?);
            ends.push(rows.len());
        }
        let Some(batches) = self.rows.read(&rows)? else { return Ok(None) };
        let places = self.loading.layout.slots.iter().flat_map(From::span_places);
        let mut table = Table::new(&batches, places.clone());
        if let Some(kept) = self.without_doubles(&rows, &ends, &table)? {
            let mut place = 0;
            for end in &mut ends {
                place += kept[place..].partition_point(|row| *row < *end);
                *end = place;
            }
            rows = kept.iter().map(|row| rows[*row]).collect();
            let Some(batches) = self.rows.read(&rows)? else { return Ok(None) };
            table = Table::new(&batches, places);
        }
        let mut links = Vec::with_capacity(rows.len());
        let mut begin = 0;
        for end in &ends {
            let Some(of_trace) = self.rows.links(&rows[begin..*end])? else { return Ok(None) };
            links.extend(of_trace);
            begin = *end;
        }
        let element_places = |of: fn(&From) -> &[Place]| {
            self.loading.layout.slots.iter().flat_map(of).copied().collect::<Vec<_>>()
        };
        let read = |reader: &mut Option<TraceReader>, places: Vec<Place>| match reader {
            None => Ok(Some(ElementTable::default())),
            Some(reader) => {
                let read = reader.read_elements(&rows)?;
                Ok::<_, StoreError>(read.map(|b| ElementTable::new(rows.len(), b, &places)))
            }
        };
        let Some(events) = read(&mut self.events, element_places(From::event_places))? else {
            return Ok(None);
        };
        let Some(link_elements) = read(&mut self.links, element_places(From::link_places))? else {
            return Ok(None);
        };
        let mut group = Group {
            layout: &EMPTY,
            rows,
            ends,
            table,
            links,
            events,
            link_elements,
            wholes: Vec::new(),
            anywhere: HashMap::new(),
            order: Vec::new(),
        };
        if self.loading.is_ordered {
            group.put_in_order();
        }
        group.find_wholes(self.loading);
        group.find_anywhere(&self.loading.layout);
        Ok(Some(group))
    }

    /// A span that was sent twice may lie in two blocks. The rows without the second; `None` if all
    /// are different.
    fn without_doubles(
        &mut self,
        rows: &[RowRef],
        ends: &[usize],
        table: &Table,
    ) -> Result<Option<Vec<usize>>, StoreError> {
        let mut doubles = HashSet::new();
        let mut begin = 0;
        for end in ends {
            let of_trace = begin..*end;
            begin = *end;
            let mut sources = rows[of_trace.clone()].chunk_by(|a, b| a.source == b.source);
            if sources.nth(1).is_none() {
                continue;
            }
            let Some(ids) = self.rows.span_ids_of(&rows[of_trace.clone()])? else {
                return Ok(None);
            };
            let mut known = HashSet::with_capacity(ids.len());
            for (row, id) in of_trace.zip(ids) {
                let (start, duration) = (table.int(row, START), table.int(row, DURATION));
                let (service, status) = (table.text(row, SERVICE), table.text(row, STATUS));
                if !known.insert((id, start, duration, service, status)) {
                    doubles.insert(row);
                }
            }
        }
        if doubles.is_empty() {
            return Ok(None);
        }
        Ok(Some((0..rows.len()).filter(|row| !doubles.contains(row)).collect()))
    }
}

static EMPTY: Layout = Layout {
    columns: Vec::new(),
    event_columns: Vec::new(),
    link_columns: Vec::new(),
    slots: Vec::new(),
};

/// Events or links of rows.
#[derive(Debug, Default)]
struct ElementTable {
    table: Table,
    /// Where the elements of each row begin, and the end.
    begins: Vec<u32>,
}

impl ElementTable {
    fn new(rows: usize, batches: Vec<ElementBatch>, places: &[Place]) -> Self {
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
    pub(super) rows: Vec<RowRef>,
    /// Where the rows of each trace end.
    ends: Vec<usize>,
    table: Table,
    links: Vec<Link>,
    events: ElementTable,
    link_elements: ElementTable,
    wholes: Vec<Facts>,
    /// Values of slots that were found in several elements, by row.
    anywhere: HashMap<(usize, usize), Vec<Element>>,
    /// For each span its row, and for each row its span, if they are in another order.
    order: Vec<(usize, usize)>,
}

impl Group<'_> {
    pub(super) fn traces(&self) -> usize {
        self.ends.len()
    }

    /// A trace of the group.
    pub(super) fn trace(&self, nth: usize) -> Loaded<'_> {
        let begin = if nth == 0 { 0 } else { self.ends[nth - 1] };
        Loaded { group: self, begin, end: self.ends[nth], whole: &self.wholes[nth] }
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let per_row = size_of::<RowRef>() + size_of::<Link>() + size_of::<u32>();
        self.table.bytes
            + self.events.table.bytes
            + self.link_elements.table.bytes
            + self.rows.len() * per_row
    }

    /// Puts the spans of each trace in the order of their starts.
    fn put_in_order(&mut self) {
        let mut begin = 0;
        self.order = vec![(0, 0); self.rows.len()];
        for end in &self.ends {
            let mut rows: Vec<usize> = (begin..*end).collect();
            rows.sort_by_key(|row| (self.table.int(*row, START), self.table.int(*row, DURATION)));
            for (span, row) in (begin..).zip(rows) {
                self.order[span].0 = row;
                self.order[row].1 = span;
            }
            begin = *end;
        }
    }

    fn find_wholes(&mut self, loading: &Loading) {
        let mut begin = 0;
        for end in &self.ends {
            let mut facts =
                Facts { start_nanos: i64::MAX, end_nanos: i64::MIN, ..Facts::default() };
            let mut root_start = i64::MAX;
            for row in begin..*end {
                let start = self.table.int(row, START).unwrap_or(0);
                let duration = self.table.int(row, DURATION).unwrap_or(0);
                facts.start_nanos = facts.start_nanos.min(start);
                facts.end_nanos = facts.end_nanos.max(start.saturating_add(duration.max(0)));
                let is_first = facts.root.is_none() || start < root_start;
                if self.links[row] == Link::Root && is_first {
                    (facts.root, root_start) = (Some(row), start);
                }
            }
            facts.root_name = facts
                .root
                .zip(loading.name)
                .and_then(|(row, name)| self.table.text(row, name).map(str::to_owned));
            if let Some(column) = loading.trace_id.filter(|_| begin < *end) {
                facts.id = self.table.id(begin, column).map(id_text).unwrap_or_default();
            }
            self.wholes.push(facts);
            begin = *end;
        }
    }

    /// Gathers values of elements for names without a scope.
    fn find_anywhere(&mut self, layout: &Layout) {
        for (slot, from) in layout.slots.iter().enumerate() {
            let From::Anywhere { span, events, links } = from else { continue };
            for row in 0..self.rows.len() {
                if self.table.first(row, span, 0) != Value::Nil {
                    continue;
                }
                let start = self.table.int(row, START).unwrap_or(0);
                let gather = |elements: &ElementTable, places: &[Place]| {
                    let values =
                        elements.of(row).map(|nth| elements.table.first(nth, places, start));
                    values.filter_map(element_of).collect::<Vec<Element>>()
                };
                let mut found = gather(&self.events, events);
                if found.is_empty() {
                    found = gather(&self.link_elements, links);
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
        self.group.rows[self.at(span)]
    }

    /// Where the root lies.
    pub(super) fn root(&self) -> Option<RowRef> {
        self.whole.root.map(|row| self.group.rows[row])
    }

    pub(super) fn root_service(&self) -> Option<&'g str> {
        self.whole.root.and_then(|row| self.group.table.text(row, SERVICE))
    }

    pub(super) fn start_of(&self, span: usize) -> i64 {
        self.group.table.int(self.at(span), START).unwrap_or(0)
    }

    pub(super) fn service_of(&self, span: usize) -> Option<&'g str> {
        self.group.table.text(self.at(span), SERVICE)
    }

    pub(super) fn is_error(&self, span: usize) -> bool {
        self.group.table.text(self.at(span), STATUS) == Some("error")
    }

    /// The first element of a span that has a value in this slot.
    pub(super) fn first_element(&self, span: usize, slot: usize) -> Value<'g> {
        let list = match self.group.layout.slots.get(slot) {
            Some(From::Events(_)) => List::Events,
            Some(From::Links(_)) => List::Links,
            _ => return Value::Nil,
        };
        let values = (0..self.elements(span, list)).map(|nth| self.element(span, slot, nth));
        values.into_iter().find(|value| *value != Value::Nil).unwrap_or(Value::Nil)
    }

    fn element(&self, span: usize, slot: usize, nth: usize) -> Value<'g> {
        let row = self.at(span);
        let (elements, places) = match self.group.layout.slots.get(slot) {
            Some(From::Events(places)) => (&self.group.events, places),
            Some(From::Links(places)) => (&self.group.link_elements, places),
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
            Some(From::Span(places)) => self.group.table.first(row, places, 0),
            Some(From::SpanOr(places, other)) => match self.group.table.first(row, places, 0) {
                Value::Nil => Value::Text(other),
                value => value,
            },
            Some(From::Anywhere { span, .. }) => match self.group.table.first(row, span, 0) {
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
            List::Events => &self.group.events,
            List::Links => &self.group.link_elements,
        };
        elements.of(self.at(span)).len()
    }

    fn element_value(&self, span: usize, slot: usize, nth: usize) -> Value<'_> {
        self.element(span, slot, nth)
    }

    fn parent(&self, span: usize) -> Option<usize> {
        match self.group.links[self.at(span)] {
            Link::Row(parent) => {
                let row = self.begin + parent as usize;
                Some(self.group.order.get(row).map_or(row, |(_, span)| *span) - self.begin)
            }
            Link::Root | Link::Missing => None,
        }
    }

    fn is_root(&self, span: usize) -> bool {
        self.group.links[self.at(span)] == Link::Root
    }
}
