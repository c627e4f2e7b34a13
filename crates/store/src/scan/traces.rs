//! Traces in memory and traces that lie in several places, put together.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use super::ColumnCache;
use super::ScanStats;
use super::derive::PartTraces;
use super::packed::Slice;
use super::part::{Leaf, Part};
use super::reader::Reader;
use super::split::{Splits, intersect};
use super::work::is_damage;
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::trace_index;
use crate::chunk::Chunk;
use crate::column::{Interner, Rows, Values};
use crate::error::StoreError;
use crate::limits::SCAN_MAX_JOINED_TRACES;
use crate::origin::Origin;
use crate::pages::GRANULE_ROWS;
use crate::tables::spans::field;

/// Traces of a chunk, and which rows belong to which.
#[derive(Debug)]
pub(crate) struct ChunkTraces {
    /// For each row the place of its trace in `traces`.
    of_row: Vec<u32>,
    traces: Vec<ChunkTrace>,
    /// Places of traces by hash.
    places: HashMap<u64, u32>,
    /// Rows trace by trace, and where those of each trace begin.
    rows: Vec<u32>,
    begins: Vec<u32>,
}

#[derive(Debug)]
struct ChunkTrace {
    hash: u64,
    start: i64,
    end: i64,
    /// Start and number of the first row without a parent.
    root: Option<(i64, u32)>,
}

impl ChunkTraces {
    /// Of a chunk of spans, found once.
    pub(super) fn of(chunk: &Chunk) -> Arc<Self> {
        chunk.findings.traces.get_or_init(|| Arc::new(Self::find(chunk))).clone()
    }

    /// The hash of the trace that a row belongs to.
    pub(super) fn hash_of(&self, row: u32) -> u64 {
        let place = self.of_row.get(row as usize).and_then(|nth| self.traces.get(*nth as usize));
        place.map_or(0, |trace| trace.hash)
    }

    /// Rows of the trace of this hash; they ascend.
    pub(super) fn rows_of(&self, hash: u64) -> &[u32] {
        let Some(place) = self.places.get(&hash).map(|place| *place as usize) else { return &[] };
        &self.rows[self.begins[place] as usize..self.begins[place + 1] as usize]
    }

    fn find(chunk: &Chunk) -> Self {
        let mut found = Self {
            of_row: Vec::with_capacity(chunk.rows),
            traces: Vec::new(),
            places: HashMap::new(),
            rows: Vec::new(),
            begins: vec![0],
        };
        let values = |field: usize| chunk.fields[field].as_ref().map(|column| &column.values);
        let (Some(Values::Id16(ids)), Some(Values::Int(starts)), Some(Values::Int(durations))) =
            (values(field::TRACE_ID), values(field::START_TIME), values(field::DURATION))
        else {
            return found;
        };
        let mut has_parent = vec![false; chunk.rows];
        match chunk.fields[field::PARENT_SPAN_ID].as_ref().map(|column| &column.rows) {
            None => {}
            Some(Rows::All) => has_parent.fill(true),
            Some(Rows::Some(rows)) => rows.iter().for_each(|row| has_parent[*row as usize] = true),
        }
        let mut numbers: HashMap<[u8; 16], u32> = HashMap::new();
        for (row, id) in ids.iter().enumerate() {
            let number = *numbers.entry(*id).or_insert_with(|| {
                let hash = trace_index::trace_hash(id);
                found.traces.push(ChunkTrace { hash, start: i64::MAX, end: i64::MIN, root: None });
                found.traces.len() as u32 - 1
            });
            found.of_row.push(number);
            let trace = &mut found.traces[number as usize];
            trace.start = trace.start.min(starts[row]);
            trace.end = trace.end.max(starts[row].saturating_add(durations[row].max(0)));
            let place = (starts[row], row as u32);
            if !has_parent[row] && trace.root.is_none_or(|root| place < root) {
                trace.root = Some(place);
            }
        }
        found.sort_rows();
        found
    }

    /// Puts the rows of each trace together.
    fn sort_rows(&mut self) {
        self.places = self.traces.iter().map(|trace| trace.hash).zip(0..).collect();
        self.begins = vec![0; self.traces.len() + 1];
        for place in &self.of_row {
            self.begins[*place as usize + 1] += 1;
        }
        for place in 1..self.begins.len() {
            self.begins[place] += self.begins[place - 1];
        }
        let mut next = self.begins.clone();
        self.rows = vec![0; self.of_row.len()];
        for (row, place) in self.of_row.iter().enumerate() {
            self.rows[next[*place as usize] as usize] = row as u32;
            next[*place as usize] += 1;
        }
    }
}

/// What is known of a trace.
#[derive(Debug)]
struct Trace {
    start: i64,
    end: i64,
    name: Option<u32>,
    service: Option<u32>,
}

/// A span that may be the root of a trace.
#[derive(Debug, Clone, Copy)]
struct Root {
    trace: u32,
    source: u32,
    /// Rows of the trace in a block; of a chunk just the root's.
    first: u32,
    end: u32,
    /// Not known of those in blocks: it is asked for if there are several.
    start: Option<i64>,
    name: u32,
    service: Option<u32>,
}

/// Traces by number.
#[derive(Debug, Default)]
pub(super) struct Traces {
    traces: Vec<Trace>,
    texts: Interner,
}

impl Traces {
    pub(super) fn start(&self, number: u32) -> i64 {
        self.traces[number as usize].start
    }

    pub(super) fn duration(&self, number: u32) -> i64 {
        let trace = &self.traces[number as usize];
        trace.end.saturating_sub(trace.start)
    }

    pub(super) fn root_name(&self, number: u32) -> Option<&[u8]> {
        self.traces[number as usize].name.map(|code| self.texts.dict().get(code))
    }

    pub(super) fn root_service(&self, number: u32) -> Option<&[u8]> {
        self.traces[number as usize].service.map(|code| self.texts.dict().get(code))
    }
}

/// What has to be known of the traces of each source; `None` for a source whose
/// rows are right as they are.
pub(super) fn of_sources(
    sources: &[Source],
    cache: &ColumnCache,
) -> Result<Vec<Option<PartTraces>>, StoreError> {
    let mut joining = Joining::new(sources, cache);
    let chunks = joining.add_chunks();
    let shares = joining.add_blocks()?;
    joining.choose_roots()?;
    let table = Arc::new(joining.table);
    let mut found: Vec<Option<PartTraces>> = sources.iter().map(|_| None).collect();
    for (source, numbers) in chunks {
        found[source] = Some(PartTraces::of_rows(table.clone(), numbers));
    }
    for (source, ranges) in shares {
        found[source] = Some(PartTraces::of_ranges(table.clone(), ranges));
    }
    Ok(found)
}

/// Rows of traces of a block, and the numbers of these.
type TraceRows = Vec<(Range<u32>, u32)>;

struct Joining<'a> {
    sources: &'a [Source],
    cache: &'a ColumnCache,
    table: Traces,
    /// Numbers of traces by hash.
    numbers: HashMap<u64, u32>,
    roots: Vec<Root>,
}

impl<'a> Joining<'a> {
    fn new(sources: &'a [Source], cache: &'a ColumnCache) -> Self {
        let table = Traces::default();
        Self { sources, cache, table, numbers: HashMap::new(), roots: Vec::new() }
    }

    fn number(&mut self, hash: u64) -> u32 {
        let traces = &mut self.table.traces;
        *self.numbers.entry(hash).or_insert_with(|| {
            traces.push(Trace { start: i64::MAX, end: i64::MIN, name: None, service: None });
            traces.len() as u32 - 1
        })
    }

    fn extend(&mut self, number: u32, start: i64, end: i64) {
        let trace = &mut self.table.traces[number as usize];
        trace.start = trace.start.min(start);
        trace.end = trace.end.max(end);
    }

    /// Adds the traces of chunks; returns the number of each row's trace.
    fn add_chunks(&mut self) -> Vec<(usize, Vec<u32>)> {
        let mut numbers = Vec::new();
        for (nth, source) in self.sources.iter().enumerate() {
            let Source::Chunk(chunk) = source else { continue };
            let traces = ChunkTraces::of(chunk);
            let mut of_trace = Vec::with_capacity(traces.traces.len());
            for trace in &traces.traces {
                let number = self.number(trace.hash);
                self.extend(number, trace.start, trace.end);
                if let Some((start, row)) = trace.root {
                    self.add_chunk_root(number, nth as u32, chunk, start, row);
                }
                of_trace.push(number);
            }
            let of_row = traces.of_row.iter().map(|local| of_trace[*local as usize]);
            numbers.push((nth, of_row.collect()));
        }
        numbers
    }

    fn add_chunk_root(&mut self, trace: u32, source: u32, chunk: &Chunk, start: i64, row: u32) {
        let values = |field: usize| chunk.fields[field].as_ref().map(|column| &column.values);
        let Some(Values::Bytes(names, dict)) = values(field::NAME) else { return };
        let name = self.table.texts.intern(dict.get(names[row as usize]));
        let service = match values(field::ORIGIN) {
            Some(Values::Int(origins)) => {
                let origin = Origin::decode(chunk.origins.get(origins[row as usize] as u32));
                origin.service_name().map(|service| self.table.texts.intern(service))
            }
            _ => None,
        };
        let (first, start) = (row, Some(start));
        self.roots.push(Root { trace, source, first, end: row + 1, start, name, service });
    }

    /// Adds what blocks have of traces that are in memory, or in several of them;
    /// returns their rows.
    fn add_blocks(&mut self) -> Result<Vec<(usize, TraceRows)>, StoreError> {
        let mut blocks: Vec<(usize, Arc<Block>)> = Vec::new();
        let mut traces = 0;
        for (nth, source) in self.sources.iter().enumerate() {
            if let Source::Block(block) = source {
                traces += block.footer().groups as usize;
                blocks.push((nth, block.clone()));
            }
        }
        if traces > SCAN_MAX_JOINED_TRACES {
            tracing::debug!(traces, "too many traces to look which lie in several blocks");
            return Ok(Vec::new());
        }
        if blocks.len() == self.sources.len() && blocks.len() < 2 {
            return Ok(Vec::new());
        }
        let mut readable = Vec::with_capacity(blocks.len());
        for (nth, block) in blocks {
            // That it is damaged is told by whoever reads its rows.
            if self.tolerated(block.trace_index())?.is_some() {
                readable.push((nth, block));
            }
        }
        let blocks = readable;
        let mut firsts: Vec<Vec<(u32, u32)>> = blocks.iter().map(|_| Vec::new()).collect();
        let mut in_memory: Vec<(u64, u32)> = self.numbers.iter().map(|(h, n)| (*h, *n)).collect();
        in_memory.sort_unstable();
        let hashes: Vec<u64> = in_memory.iter().map(|(hash, _)| *hash).collect();
        if !hashes.is_empty() {
            for ((_, block), firsts) in blocks.iter().zip(&mut firsts) {
                let found = intersect(&hashes, &block.trace_index()?);
                firsts.extend(found.iter().map(|(nth, first)| (*first, in_memory[*nth].1)));
            }
        }
        if blocks.len() > 1 {
            let of_splits: Vec<Arc<Block>> = blocks.iter().map(|(_, b)| b.clone()).collect();
            for share in &Splits::of(&of_splits, self.cache)?.0 {
                let number = self.number(share.hash);
                firsts[share.block as usize].push((share.first, number));
            }
        }
        let mut shares = Vec::new();
        for ((nth, block), mut firsts) in blocks.into_iter().zip(firsts) {
            if firsts.is_empty() {
                continue;
            }
            firsts.sort_unstable();
            firsts.dedup();
            let rows: Vec<u32> = firsts.iter().map(|(first, _)| *first).collect();
            let extents = trace_index::extents(&block.trace_index()?, &rows, block.rows() as u32);
            let ranges: TraceRows =
                extents.into_iter().zip(firsts.iter().map(|(_, number)| *number)).collect();
            let read = self.add_shares(nth, &ranges);
            if self.tolerated(read)?.is_some() {
                shares.push((nth, ranges));
            }
        }
        Ok(shares)
    }

    /// `None` in place of damage.
    fn tolerated<T>(&self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds what a block says of some of its traces.
    fn add_shares(&mut self, nth: usize, ranges: &[(Range<u32>, u32)]) -> Result<(), StoreError> {
        let wrong = || StoreError::corrupt("a derived column has another type");
        let part = Arc::new(Part::bare(nth, &self.sources[nth]));
        let mut reader = Reader::new(part.clone(), self.cache.clone());
        let mut stats = ScanStats::default();
        let granule_of = |range: &Range<u32>| range.start as usize / GRANULE_ROWS;
        for group in ranges.chunk_by(|a, b| granule_of(&a.0) == granule_of(&b.0)) {
            let granule = granule_of(&group[0].0);
            let rows = part.rows(granule);
            let mut load = |field: usize| {
                reader.load(Leaf::Field(field), granule, &mut stats)?.ok_or_else(wrong)
            };
            let (names, services) = (load(field::ROOT_NAME)?, load(field::ROOT_SERVICE)?);
            let (starts, durations) =
                (load(field::TRACE_START_TIME)?, load(field::TRACE_DURATION)?);
            let names = names.piece(granule, rows.clone());
            let services = services.piece(granule, rows.clone());
            let starts = starts.piece(granule, rows.clone());
            let durations = durations.piece(granule, rows.clone());
            let (Slice::Int(starts), Slice::Int(durations)) = (starts.values, durations.values)
            else {
                return Err(wrong());
            };
            for (range, number) in group {
                let row = range.start as usize - rows.start;
                let start = starts.get(row);
                self.extend(*number, start, start.saturating_add(durations.get(row)));
                let mut text = |piece: &super::packed::Piece<'_>| {
                    let Slice::Bytes(codes, dict) = piece.values else { return None };
                    let nth = piece.index_of(row as u32)?;
                    Some(self.table.texts.intern(dict.get(codes.get(nth) as u32)))
                };
                let Some(name) = text(&names) else { continue };
                let service = text(&services);
                self.roots.push(Root {
                    trace: *number,
                    source: nth as u32,
                    first: range.start,
                    end: range.end,
                    start: None,
                    name,
                    service,
                });
            }
        }
        Ok(())
    }

    /// Of several roots of a trace, that which began first.
    fn choose_roots(&mut self) -> Result<(), StoreError> {
        let mut roots = std::mem::take(&mut self.roots);
        roots.sort_by_key(|root| root.trace);
        for of_trace in roots.chunk_by_mut(|a, b| a.trace == b.trace) {
            if of_trace.len() > 1 {
                for root in of_trace.iter_mut().filter(|root| root.start.is_none()) {
                    let start = self.root_start(root);
                    root.start = self.tolerated(start)?;
                }
                let none_is_last = |root: &Root| (root.start.is_none(), root.start);
                of_trace.sort_by_key(|root| (none_is_last(root), root.source, root.first));
            }
            let Some(root) = of_trace.first() else { continue };
            let trace = &mut self.table.traces[root.trace as usize];
            trace.name = Some(root.name);
            trace.service = root.service;
        }
        Ok(())
    }

    /// When the root of a trace in a block began: its first row without a parent.
    fn root_start(&self, root: &Root) -> Result<i64, StoreError> {
        let wrong = || StoreError::corrupt("a trace has a root's name but no root");
        let nth = root.source as usize;
        let part = Arc::new(Part::bare(nth, &self.sources[nth]));
        let mut reader = Reader::new(part.clone(), self.cache.clone());
        let mut stats = ScanStats::default();
        let mut row = root.first as usize;
        while row < root.end as usize {
            let granule = row / GRANULE_ROWS;
            let rows = part.rows(granule);
            let mut load = |field: usize| {
                reader.load(Leaf::Field(field), granule, &mut stats)?.ok_or_else(wrong)
            };
            let (distances, ids) = (load(field::PARENT_ROW)?, load(field::PARENT_SPAN_ID)?);
            let starts = load(field::START_TIME)?;
            let distances = distances.piece(granule, rows.clone());
            let ids = ids.piece(granule, rows.clone());
            let starts = starts.piece(granule, rows.clone());
            let Slice::Int(starts) = starts.values else { return Err(wrong()) };
            for row in row..rows.end.min(root.end as usize) {
                let at = (row - rows.start) as u32;
                if distances.index_of(at).is_none() && ids.index_of(at).is_none() {
                    return Ok(starts.get(at as usize));
                }
            }
            row = rows.end;
        }
        Err(wrong())
    }
}
