//! Columns that are put together from others, a granule at a time: ids of parents
//! and ends of spans.

use std::sync::Arc;

use super::ScanStats;
use super::packed::Slice;
use super::part::Leaf;
use super::reader::{Loaded, Reader};
use crate::block::source::Source;
use crate::column::{Column, Rows, Values};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::tables::spans;

impl Reader {
    /// Ids of the parents of a granule's rows, complete.
    pub(super) fn parents(
        &mut self,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Loaded, StoreError> {
        if let Some((last, column)) = &self.last_parents
            && *last == granule
        {
            return Ok(Loaded::Granule(column.clone()));
        }
        let stored_leaf = Leaf::Field(spans::field::PARENT_SPAN_ID);
        let part = self.part();
        let Source::Block(block) = &part.source else {
            return Ok(match self.load(stored_leaf, granule, stats)? {
                Some(loaded) => loaded,
                None => Loaded::Granule(Arc::new(no_ids())),
            });
        };
        let rows = part.rows(granule);
        let damaged = || StoreError::corrupt(format!("{}: ids of parents", block.path()));
        let mut parents: Vec<Option<[u8; 8]>> = vec![None; rows.len()];
        let stored = block.field(spans::field::PARENT_SPAN_ID, Some(granule..granule + 1))?;
        let stored = stored.fitting(rows.len())?;
        let Values::Id8(ids) = &stored.values else { return Err(damaged()) };
        stored.for_each_row(|row, nth| parents[row as usize] = Some(ids[nth]));
        let steps = block.field(spans::field::PARENT_ROW, Some(granule..granule + 1))?;
        let steps = steps.fitting(rows.len())?;
        let Values::Int(distances) = &steps.values else { return Err(damaged()) };
        let mut targets = Vec::with_capacity(distances.len());
        steps.for_each_row(|row, nth| {
            let target = (rows.start as i64 + i64::from(row)).wrapping_sub(distances[nth]);
            targets.push((row as usize, target));
        });
        let (Some(low), Some(high)) =
            (targets.iter().map(|t| t.1).min(), targets.iter().map(|t| t.1).max())
        else {
            return Ok(self.keep_parents(granule, &parents));
        };
        if low < 0 || high >= block.rows() as i64 {
            return Err(damaged());
        }
        let granules = low as usize / GRANULE_ROWS..high as usize / GRANULE_ROWS + 1;
        let first = (granules.start * GRANULE_ROWS) as i64;
        stats.pages_read += granules.len() + 2;
        let ids = block.field(spans::field::SPAN_ID, Some(granules))?;
        let Values::Id8(ids) = &ids.values else { return Err(damaged()) };
        for (row, target) in targets {
            parents[row] = Some(*ids.get((target - first) as usize).ok_or_else(damaged)?);
        }
        Ok(self.keep_parents(granule, &parents))
    }

    fn keep_parents(&mut self, granule: usize, parents: &[Option<[u8; 8]>]) -> Loaded {
        let rows = (0..parents.len() as u32).filter(|r| parents[*r as usize].is_some()).collect();
        let values = Values::Id8(parents.iter().copied().flatten().collect());
        let column = Arc::new(Column { rows: Rows::Some(rows), values });
        self.last_parents = Some((granule, column.clone()));
        Loaded::Granule(column)
    }

    /// Ends of the spans of a granule.
    pub(super) fn end_times(
        &mut self,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Loaded, StoreError> {
        let rows = self.part().rows(granule);
        let missing = || StoreError::corrupt("spans without times");
        let starts = Leaf::Field(spans::field::START_TIME);
        let starts = self.load(starts, granule, stats)?.ok_or_else(missing)?;
        let durations = Leaf::Field(spans::field::DURATION);
        let durations = self.load(durations, granule, stats)?.ok_or_else(missing)?;
        let starts = starts.piece(granule, rows.clone());
        let durations = durations.piece(granule, rows.clone());
        let (Slice::Int(starts), Slice::Int(durations)) = (starts.values, durations.values) else {
            return Err(missing());
        };
        let ends = (0..rows.len()).map(|row| starts.get(row).wrapping_add(durations.get(row)));
        let values = Values::Int(ends.collect());
        Ok(Loaded::Granule(Arc::new(Column { rows: Rows::All, values })))
    }
}

fn no_ids() -> Column {
    Column { rows: Rows::Some(Vec::new()), values: Values::Id8(Vec::new()) }
}
