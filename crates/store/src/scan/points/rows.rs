//! Rows of series that a scan of points reads, those brought together that have
//! to be merged.

use std::sync::{Arc, PoisonError};

use super::super::ScanStats;
use super::super::packed::Slice;
use super::super::part::Leaf;
use super::super::work::{Readers, Unit, Work};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::limits::SCAN_SORT_MAX_ROWS;
use crate::tables::series::field;

/// Groups of rows: of one series, with times that overlap.
#[derive(Debug, Default)]
pub(in super::super) struct SeriesRows {
    rows: Vec<RowRef>,
    /// Where each group ends in `rows`.
    ends: Vec<u32>,
}

/// A row that passes.
struct Entry {
    identity: [u8; 16],
    min_time_nanos: i64,
    max_time_nanos: i64,
    place: RowRef,
}

impl SeriesRows {
    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.ends.len()
    }

    /// The rows of a group.
    pub(super) fn group(&self, nth: usize) -> &[RowRef] {
        let start = if nth == 0 { 0 } else { self.ends[nth - 1] as usize };
        &self.rows[start..self.ends[nth] as usize]
    }

    /// Those of a scan; found by the first partition that asks, while others wait.
    pub(super) fn of(
        work: &Work,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Arc<Self>, StoreError> {
        let mut slot = work.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = &*slot {
            return Ok(series.clone());
        }
        let mut entries = Vec::new();
        for unit in &work.units {
            let mask = work.prepared.find(*unit, readers, stats)?;
            if !mask.any() {
                continue;
            }
            let before = entries.len();
            if let Err(error) = read(*unit, mask.rows(), readers, stats, &mut entries) {
                entries.truncate(before);
                work.prepared.tolerate(unit.part, error)?;
            }
            if entries.len() > SCAN_SORT_MAX_ROWS {
                return Err(StoreError::Query(format!(
                    "points of more than {SCAN_SORT_MAX_ROWS} rows of series: ask for a shorter \
                     time or fewer series"
                )));
            }
        }
        let series = Arc::new(Self::group_up(entries));
        *slot = Some(series.clone());
        Ok(series)
    }

    fn group_up(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable_by_key(|e| (e.identity, e.min_time_nanos, e.place));
        let mut groups: Vec<(RowRef, std::ops::Range<usize>)> = Vec::new();
        let mut start = 0;
        let mut reach = i64::MIN;
        for (nth, entry) in entries.iter().enumerate() {
            let goes_on = nth > start
                && entries[start].identity == entry.identity
                && entry.min_time_nanos <= reach;
            if !goes_on && nth > start {
                groups.push((first_place(&entries[start..nth]), start..nth));
                start = nth;
            }
            reach = if goes_on { reach.max(entry.max_time_nanos) } else { entry.max_time_nanos };
        }
        if start < entries.len() {
            groups.push((first_place(&entries[start..]), start..entries.len()));
        }
        // Block by block, as they are stored, so that pages are decoded once.
        groups.sort_unstable_by_key(|(first, _)| *first);
        let mut found = Self::default();
        for (_, range) in groups {
            found.rows.extend(entries[range].iter().map(|entry| entry.place));
            found.ends.push(found.rows.len() as u32);
        }
        found
    }
}

fn first_place(entries: &[Entry]) -> RowRef {
    entries.iter().map(|entry| entry.place).min().unwrap_or(RowRef { source: 0, row: 0 })
}

fn read(
    unit: Unit,
    rows: impl Iterator<Item = u32>,
    readers: &mut Readers,
    stats: &mut ScanStats,
    entries: &mut Vec<Entry>,
) -> Result<(), StoreError> {
    let missing = || StoreError::corrupt("a row of series lacks a value that every row has");
    let reader = readers.of(unit.part as usize);
    let granule = unit.granule as usize;
    let granule_rows = reader.part().rows(granule);
    let mut load =
        |field: usize| reader.load(Leaf::Field(field), granule, stats)?.ok_or_else(missing);
    let (ids, starts, ends) =
        (load(field::IDENTITY)?, load(field::MIN_TIME)?, load(field::MAX_TIME)?);
    let ids = ids.piece(granule, granule_rows.clone());
    let starts = starts.piece(granule, granule_rows.clone());
    let ends = ends.piece(granule, granule_rows.clone());
    let (Slice::Id16(ids), Slice::Int(starts), Slice::Int(ends)) =
        (ids.values, starts.values, ends.values)
    else {
        return Err(missing());
    };
    entries.extend(rows.map(|row| {
        let nth = row as usize;
        Entry {
            identity: ids[nth],
            min_time_nanos: starts.get(nth),
            max_time_nanos: ends.get(nth),
            place: RowRef { source: unit.part, row: granule_rows.start as u32 + row },
        }
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_series_that_overlap_are_one_group() {
        let entry = |series: u8, times: std::ops::RangeInclusive<i64>, row: u32| Entry {
            identity: [series; 16],
            min_time_nanos: *times.start(),
            max_time_nanos: *times.end(),
            place: RowRef { source: 0, row },
        };
        let rows = SeriesRows::group_up(vec![
            entry(1, 0..=10, 5),
            entry(1, 10..=20, 1),
            entry(1, 21..=30, 2),
            entry(2, 0..=100, 3),
            entry(2, 5..=6, 4),
            entry(2, 50..=60, 0),
            entry(3, 0..=100, 9),
        ]);
        let groups: Vec<Vec<u32>> = (0..rows.groups())
            .map(|nth| rows.group(nth).iter().map(|place| place.row).collect())
            .collect();
        assert_eq!(groups, [vec![3, 4, 0], vec![5, 1], vec![2], vec![9]]);
        assert_eq!(SeriesRows::group_up(Vec::new()).groups(), 0);
    }
}
