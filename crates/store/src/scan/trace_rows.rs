//! Whole traces: their rows wherever they lie, the columns of these, and who is
//! whose parent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use hashbrown::HashMap;

use super::direct::Picked;
use super::packed::Slice;
use super::part::Leaf;
use super::predicate::Elements;
use super::project::{BatchError, Pick};
use super::trace_map;
use super::work::{Readers, TooLarge};
use super::{Prepared, ScanStats};
use crate::block::source::{RowRef, Source};
use crate::error::StoreError;
use crate::limits::{SCAN_BATCH_ROWS, WALK_READERS_BYTES};
use crate::pages::GRANULE_ROWS;
use crate::tables::spans::field;

/// Who the parent of a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It was sent without one.
    Root,
    /// The span at this place of the same trace.
    Row(u32),
    /// A span that is not there.
    Missing,
}

/// Elements of rows: events or links of spans.
#[derive(Debug)]
pub struct ElementBatch {
    /// For each element the place of its row among those asked for.
    pub rows: Vec<u32>,
    /// The columns of the elements.
    pub batch: RecordBatch,
}

/// Reads rows of traces, on one thread. Sources are counted as they were given to
/// [`Prepared::new`], so that several readers over the same sources can exchange rows.
#[derive(Debug)]
pub struct TraceReader {
    prepared: Arc<Prepared>,
    /// The part of each source, if it is one of the scan.
    parts: Vec<Option<u32>>,
    readers: Readers,
    stats: ScanStats,
}

impl TraceReader {
    /// A reader of the columns of a scan of spans that has neither time nor predicate.
    pub fn new(prepared: &Arc<Prepared>) -> Self {
        let sources = prepared.parts.iter().map(|part| part.nth + 1).max().unwrap_or(0);
        let mut parts = vec![None; sources];
        for (number, part) in prepared.parts.iter().enumerate() {
            parts[part.nth] = Some(number as u32);
        }
        Self {
            parts,
            readers: Readers::new(prepared),
            prepared: prepared.clone(),
            stats: ScanStats::default(),
        }
    }

    /// What was done so far.
    pub fn stats(&self) -> ScanStats {
        self.stats
    }

    /// The visible rows of a trace, by source and row.
    pub fn rows_of(&mut self, hash: u64) -> Result<Vec<RowRef>, StoreError> {
        self.prepared.check_cancelled()?;
        let mut rows = Vec::new();
        for (nth, number) in self.parts.iter().enumerate() {
            let Some(number) = number.filter(|number| !self.prepared.is_damaged(*number)) else {
                continue;
            };
            let part = &self.prepared.parts[number as usize];
            let found = trace_map::rows_of(&part.source, hash, &self.prepared.context.cache);
            match found {
                Ok(found) => {
                    let hidden = part.source.hidden();
                    let is_visible = |row: &u32| {
                        hidden.is_none_or(|h| !h.get(*row as usize).copied().unwrap_or(false))
                    };
                    let source = nth as u32;
                    let visible = found.into_iter().filter(is_visible);
                    rows.extend(visible.map(|row| RowRef { source, row }));
                }
                Err(error) => self.prepared.tolerate(number, error)?,
            }
        }
        Ok(rows)
    }

    /// Sources that turned out to be damaged, and whose rows are not given any more.
    pub fn damaged_sources(&self) -> Vec<u32> {
        let parts = self.prepared.parts.iter();
        let damaged = parts.filter(|part| part.damaged.load(Ordering::Relaxed));
        damaged.map(|part| part.nth as u32).collect()
    }

    /// Gives no rows of these sources any more: another reader found them damaged.
    pub fn leave_out(&mut self, sources: &[u32]) {
        for part in &self.prepared.parts {
            if sources.contains(&(part.nth as u32)) {
                part.damaged.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The columns of rows, in their order, in batches of at most
    /// [`SCAN_BATCH_ROWS`] rows. `None` if a block turns out to be damaged: its
    /// rows are not there any more when they are looked for again. `go_on` is told the
    /// bytes so far, and may end it.
    pub fn read(
        &mut self,
        rows: &[RowRef],
        go_on: &mut dyn FnMut(usize) -> Result<(), StoreError>,
    ) -> Result<Option<Vec<RecordBatch>>, StoreError> {
        self.readers.trim(WALK_READERS_BYTES);
        let mut bytes = 0;
        let Some(rows) = self.as_parts(rows) else { return Ok(None) };
        let mut batches = Vec::with_capacity(rows.len().div_ceil(SCAN_BATCH_ROWS));
        let mut left: Vec<Vec<RowRef>> =
            rows.chunks(SCAN_BATCH_ROWS).rev().map(<[RowRef]>::to_vec).collect();
        while let Some(mut rows) = left.pop() {
            let wanted = rows.len();
            match self.prepared.batch(&mut rows, &mut self.readers, &mut self.stats)? {
                Err(TooLarge) if rows.len() > 1 => {
                    let second = rows.split_off(rows.len() / 2);
                    left.push(second);
                    left.push(rows);
                }
                Ok(Some(batch)) if batch.num_rows() == wanted => {
                    bytes += batch.get_array_memory_size();
                    go_on(bytes)?;
                    batches.push(batch);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(batches))
    }

    /// Elements of rows, of a scan of elements of a list; in the order of rows. `None` as
    /// [`read`](Self::read).
    pub fn read_elements(
        &mut self,
        rows: &[RowRef],
    ) -> Result<Option<Vec<ElementBatch>>, StoreError> {
        let prepared = self.prepared.clone();
        let Some(Elements::List(list)) = prepared.elements else {
            return Err(StoreError::Query("a scan without elements has none".to_owned()));
        };
        let Some(rows) = self.as_parts(rows) else { return Ok(None) };
        let place = |row: &RowRef| (row.source, row.row as usize / GRANULE_ROWS);
        let mut batches = Vec::new();
        let mut before = 0;
        for group in rows.chunk_by(|a, b| place(a) == place(b) && a.row < b.row) {
            prepared.check_cancelled()?;
            let (part, granule) = place(&group[0]);
            let first = (granule * GRANULE_ROWS) as u32;
            let granule_rows = prepared.parts[part as usize].rows(granule);
            let reader = self.readers.of(part as usize);
            let members = &prepared.projection.members;
            let wanted = group.iter().map(|row| row.row - first);
            let found = reader
                .list(list, members, granule, &mut self.stats)
                .and_then(|piece| Ok((piece.pairs(granule_rows, wanted)?, piece)));
            let ((rows, elements), piece) = match found {
                Ok(found) => found,
                Err(error) => return prepared.tolerate(part, error).map(|()| None),
            };
            let places = rows.iter().map(|row| {
                let nth = group.partition_point(|of_group| of_group.row - first < *row);
                (before + nth) as u32
            });
            let places: Vec<u32> = places.collect();
            let pick = Pick {
                part,
                granule,
                rows: Picked::Rows(rows),
                elements: Some((piece, Picked::Rows(elements))),
            };
            before += group.len();
            if !self.add_elements(pick, &places, &mut batches)? {
                return Ok(None);
            }
        }
        Ok(Some(batches))
    }

    /// Makes batches of elements; whether they can be read.
    fn add_elements(
        &mut self,
        pick: Pick,
        places: &[u32],
        batches: &mut Vec<ElementBatch>,
    ) -> Result<bool, StoreError> {
        if places.is_empty() {
            return Ok(true);
        }
        let prepared = self.prepared.clone();
        match prepared.projection.granule(&pick, &mut self.readers, &mut self.stats) {
            Ok(batch) => {
                batches.push(ElementBatch { rows: places.to_vec(), batch });
                Ok(true)
            }
            Err(BatchError::Part(part, error)) => prepared.tolerate(part, error).map(|()| false),
            Err(BatchError::TooLarge) if places.len() > 1 => {
                let (before, behind) = places.split_at(places.len() / 2);
                let (first, second) = pick.halves();
                Ok(self.add_elements(first, before, batches)?
                    && self.add_elements(second, behind, batches)?)
            }
            Err(BatchError::TooLarge) => {
                Err(StoreError::Query("an event is too large to be shown beside others".to_owned()))
            }
        }
    }

    /// The parents of the rows of one trace, as [`rows_of`](Self::rows_of) gave them, with the ids of
    /// their spans. `None` as [`read`](Self::read).
    pub fn links(
        &mut self,
        rows: &[RowRef],
        ids: &[[u8; 8]],
    ) -> Result<Option<Vec<Link>>, StoreError> {
        let Some(rows) = self.as_parts(rows) else { return Ok(None) };
        let mut links = Vec::with_capacity(rows.len());
        let mut by_id: Vec<(usize, [u8; 8])> = Vec::new();
        let place = |row: &RowRef| (row.source, row.row as usize / GRANULE_ROWS);
        for group in rows.chunk_by(|a, b| place(a) == place(b)) {
            let (part, granule) = place(&group[0]);
            if let Err(error) = self.add_links(part, granule, group, &rows, &mut links, &mut by_id)
            {
                return self.prepared.tolerate(part, error).map(|()| None);
            }
        }
        if by_id.is_empty() {
            return Ok(Some(links));
        }
        let mut places: HashMap<[u8; 8], u32> = HashMap::with_capacity(ids.len());
        for (nth, id) in ids.iter().enumerate() {
            places.entry(*id).or_insert(nth as u32);
        }
        for (nth, parent) in by_id {
            let row = places.get(&parent).filter(|row| **row as usize != nth);
            links[nth] = row.map_or(Link::Missing, |row| Link::Row(*row));
        }
        Ok(Some(links))
    }

    /// Adds the links of rows of one granule; those that only name an id go to `by_id`.
    fn add_links(
        &mut self,
        part: u32,
        granule: usize,
        group: &[RowRef],
        rows: &[RowRef],
        links: &mut Vec<Link>,
        by_id: &mut Vec<(usize, [u8; 8])>,
    ) -> Result<(), StoreError> {
        let reader = self.readers.of(part as usize);
        let granule_rows = reader.part().rows(granule);
        let first = granule_rows.start as u32;
        let distances = match &reader.part().source {
            Source::Block(_) => {
                reader.load(Leaf::Field(field::PARENT_ROW), granule, &mut self.stats)?
            }
            Source::Chunk(_) => None,
        };
        let ids = reader.load(Leaf::Field(field::PARENT_SPAN_ID), granule, &mut self.stats)?;
        let distances = distances.as_ref().map(|d| d.piece(granule, granule_rows.clone()));
        let ids = ids.as_ref().map(|ids| ids.piece(granule, granule_rows.clone()));
        for row in group {
            let at = row.row - first;
            let distance = distances.and_then(|piece| match piece.values {
                Slice::Int(values) => piece.index_of(at).map(|nth| values.get(nth)),
                _ => None,
            });
            if let Some(distance) = distance {
                let parent = i64::from(row.row).wrapping_sub(distance);
                let found = u32::try_from(parent).ok().and_then(|parent| {
                    rows.binary_search(&RowRef { source: row.source, row: parent }).ok()
                });
                let found = found.filter(|nth| *nth != links.len());
                links.push(found.map_or(Link::Missing, |nth| Link::Row(nth as u32)));
                continue;
            }
            let id = ids.and_then(|piece| match piece.values {
                Slice::Id8(values) => piece.index_of(at).map(|nth| values[nth]),
                _ => None,
            });
            match id {
                None => links.push(Link::Root),
                Some(id) => {
                    by_id.push((links.len(), id));
                    links.push(Link::Missing);
                }
            }
        }
        Ok(())
    }

    /// The ids of spans. `None` as [`read`](Self::read).
    pub fn span_ids(&mut self, rows: &[RowRef]) -> Result<Option<Vec<[u8; 8]>>, StoreError> {
        let Some(rows) = self.as_parts(rows) else { return Ok(None) };
        let mut ids = Vec::with_capacity(rows.len());
        let place = |row: &RowRef| (row.source, row.row as usize / GRANULE_ROWS);
        for group in rows.chunk_by(|a, b| place(a) == place(b)) {
            let (part, granule) = place(&group[0]);
            let reader = self.readers.of(part as usize);
            let granule_rows = reader.part().rows(granule);
            let loaded = reader.load(Leaf::Field(field::SPAN_ID), granule, &mut self.stats);
            let loaded = match loaded {
                Ok(Some(loaded)) => loaded,
                Ok(None) => {
                    let error = StoreError::corrupt("spans without ids");
                    return self.prepared.tolerate(part, error).map(|()| None);
                }
                Err(error) => return self.prepared.tolerate(part, error).map(|()| None),
            };
            let first = granule_rows.start as u32;
            let piece = loaded.piece(granule, granule_rows);
            let Slice::Id8(values) = piece.values else {
                let error = StoreError::corrupt("ids of spans have another type");
                return self.prepared.tolerate(part, error).map(|()| None);
            };
            ids.extend(group.iter().map(|row| values[(row.row - first) as usize]));
        }
        Ok(Some(ids))
    }

    /// Rows with the numbers of parts in place of sources; `None` if one is of none.
    fn as_parts(&self, rows: &[RowRef]) -> Option<Vec<RowRef>> {
        let mut last = (u32::MAX, 0);
        rows.iter()
            .map(|row| {
                if row.source != last.0 {
                    last = (row.source, (*self.parts.get(row.source as usize)?)?);
                }
                Some(RowRef { source: last.1, row: row.row })
            })
            .collect()
    }
}
