//! Reading whole traces: their rows wherever they lie, without spans that were sent twice.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_store::StoreError;
use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, Elements, Link, Prepared, TraceReader};
use kymo_store::tables::spans::{field, list};
use kymo_traceql::ast::Name;

use super::group::{BASE, DURATION, ElementTable, Group, Parts, SERVICE, START, STATUS};
use super::layout::{From, Layout, Place};
use super::look::{Held, Look};
use super::table::Table;
use crate::error::EngineError;
use crate::limits::{DAMAGE_TRIES, GROUP_MAX_SPANS, TRACES_PER_GROUP};

/// How traces are read: bound once, then used by any number of threads.
#[derive(Debug)]
pub(super) struct Loading {
    pub(super) layout: Layout,
    /// The place of the columns that only some queries read.
    pub(super) name: Option<usize>,
    pub(super) trace_id: Option<usize>,
    /// Whether the order of spans is of importance: it is that of their starts then, wherever they
    /// lie.
    pub(super) is_ordered: bool,
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

    /// Something to read with, on one thread.
    pub(super) fn loader<'l>(&'l self, look: &'l Look) -> Loader<'l> {
        Loader {
            look,
            held: look.memory("traces"),
            loading: self,
            rows: TraceReader::new(&self.rows),
            events: self.events.as_ref().map(TraceReader::new),
            links: self.links.as_ref().map(TraceReader::new),
        }
    }
}

/// Reads traces on one thread.
pub(super) struct Loader<'l> {
    look: &'l Look,
    held: Held,
    loading: &'l Loading,
    rows: TraceReader,
    events: Option<TraceReader>,
    links: Option<TraceReader>,
}

/// Where the spans of some traces lie.
struct Found {
    rows: Vec<RowRef>,
    /// Where the rows of each trace end, in the order in which they are read.
    ends: Vec<usize>,
    /// The place in that order of each trace that was asked for.
    places: Vec<usize>,
}

impl<'l> Loader<'l> {
    /// Reads as many of the first traces as are not too large together, at least one. Those that
    /// have no visible spans are empty.
    pub(super) fn load(&mut self, hashes: &[u64]) -> Result<Group<'l>, EngineError> {
        for _ in 0..DAMAGE_TRIES {
            let loaded = self.try_load(hashes).map_err(|error| self.look.failed(error))?;
            if let Some(parts) = loaded {
                let group = Group::new(self.loading, parts);
                self.held.hold(group.bytes())?;
                return Ok(group);
            }
            self.share_damage();
        }
        let what = "blocks are damaged faster than they can be left out";
        Err(EngineError::Store(StoreError::Corrupt(what.to_owned())))
    }

    /// What one reader found to be damaged is damaged for all.
    fn share_damage(&mut self) {
        let mut readers: Vec<&mut TraceReader> = vec![&mut self.rows];
        readers.extend(self.events.as_mut());
        readers.extend(self.links.as_mut());
        let damaged: Vec<u32> =
            readers.iter().flat_map(|reader| reader.damaged_sources()).collect();
        readers.iter_mut().for_each(|reader| reader.leave_out(&damaged));
    }

    /// `None` if a block turned out to be damaged.
    fn try_load(&mut self, hashes: &[u64]) -> Result<Option<Parts>, StoreError> {
        let mut found = self.find(hashes)?;
        let Some(ids) = self.rows.span_ids(&found.rows)? else { return Ok(None) };
        let Some(mut links) = self.links(&found, &ids)? else { return Ok(None) };
        let Some(mut table) = self.table(&found.rows)? else { return Ok(None) };
        if let Some(kept_as) = doubles(&found.ends, &ids, &table) {
            links = without_doubles(&mut found, &links, &kept_as);
            let Some(again) = self.table(&found.rows)? else { return Ok(None) };
            table = again;
        }
        let slots = &self.loading.layout.slots;
        let places = |of: fn(&From) -> &[Place]| slots.iter().flat_map(of).copied().collect();
        let rows = &found.rows;
        let Some(events) = elements(&mut self.events, rows, places(From::event_places))? else {
            return Ok(None);
        };
        let Some(of_links) = elements(&mut self.links, rows, places(From::link_places))? else {
            return Ok(None);
        };
        let Found { rows, ends, places } = found;
        Ok(Some(Parts { rows, ends, places, table, links, events, link_elements: of_links }))
    }

    /// Finds the spans of traces, and puts those together that lie together: so each page is read
    /// once.
    fn find(&mut self, hashes: &[u64]) -> Result<Found, StoreError> {
        let mut traces = Vec::new();
        let mut spans = 0;
        for hash in hashes.iter().take(TRACES_PER_GROUP) {
            let rows = self.rows.rows_of(*hash)?;
            spans += rows.len();
            traces.push(rows);
            if spans >= GROUP_MAX_SPANS {
                break;
            }
        }
        let mut order: Vec<usize> = (0..traces.len()).collect();
        order.sort_by_key(|nth| traces[*nth].first().copied());
        let mut found = Found {
            rows: Vec::with_capacity(spans),
            ends: Vec::new(),
            places: vec![0; order.len()],
        };
        for (place, nth) in order.into_iter().enumerate() {
            found.places[nth] = place;
            found.rows.append(&mut traces[nth]);
            found.ends.push(found.rows.len());
        }
        Ok(found)
    }

    fn links(&mut self, found: &Found, ids: &[[u8; 8]]) -> Result<Option<Vec<Link>>, StoreError> {
        let mut links = Vec::with_capacity(found.rows.len());
        let mut begin = 0;
        for end in &found.ends {
            let of_trace = begin..*end;
            let read = self.rows.links(&found.rows[of_trace.clone()], &ids[of_trace])?;
            let Some(of_trace) = read else { return Ok(None) };
            links.extend(of_trace);
            begin = *end;
        }
        Ok(Some(links))
    }

    fn table(&mut self, rows: &[RowRef]) -> Result<Option<Table>, StoreError> {
        let mut go_on = |bytes| self.look.go_on(&self.held, bytes);
        let Some(batches) = self.rows.read(rows, &mut go_on)? else { return Ok(None) };
        let places = self.loading.layout.slots.iter().flat_map(From::span_places);
        Ok(Some(Table::new(&batches, places)))
    }
}

fn elements(
    reader: &mut Option<TraceReader>,
    rows: &[RowRef],
    places: Vec<Place>,
) -> Result<Option<ElementTable>, StoreError> {
    let Some(reader) = reader else { return Ok(Some(ElementTable::default())) };
    let read = reader.read_elements(rows)?;
    Ok(read.map(|batches| ElementTable::new(rows.len(), batches, &places)))
}

/// For each row the row that stands for it, if it was sent twice: the first of the same trace with
/// the same id, times, service and status. `None` if all are different.
fn doubles(ends: &[usize], ids: &[[u8; 8]], table: &Table) -> Option<Vec<usize>> {
    let mut kept_as: Vec<usize> = (0..ids.len()).collect();
    let mut has_doubles = false;
    let mut begin = 0;
    let mut firsts: HashMap<[u8; 8], usize> = HashMap::new();
    for end in ends {
        firsts.clear();
        for row in begin..*end {
            let first = *firsts.entry(ids[row]).or_insert(row);
            let is_same = |column: usize| {
                table.int(first, column) == table.int(row, column)
                    && table.text(first, column) == table.text(row, column)
            };
            if first != row && [START, DURATION, SERVICE, STATUS].into_iter().all(is_same) {
                kept_as[row] = first;
                has_doubles = true;
            }
        }
        begin = *end;
    }
    has_doubles.then_some(kept_as)
}

/// Takes out what others stand for; returns the links of what is left.
fn without_doubles(found: &mut Found, links: &[Link], kept_as: &[usize]) -> Vec<Link> {
    let mut place_of = vec![0; kept_as.len()];
    let (mut rows, mut left, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut begin = 0;
    for end in &found.ends {
        let first = rows.len();
        let kept: Vec<usize> = (begin..*end).filter(|row| kept_as[*row] == *row).collect();
        for row in &kept {
            place_of[*row] = rows.len() - first;
            rows.push(found.rows[*row]);
        }
        for row in kept {
            left.push(match links[row] {
                Link::Row(parent) => Link::Row(place_of[kept_as[begin + parent as usize]] as u32),
                other => other,
            });
        }
        ends.push(rows.len());
        begin = *end;
    }
    (found.rows, found.ends) = (rows, ends);
    left
}
