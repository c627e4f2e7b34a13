//! Spans that were stored more than once, for compaction to drop: a client that
//! did not get an answer sends again.

use hashbrown::HashMap;

use super::records::Records;
use crate::block::source::{RowRef, Source};
use crate::error::StoreError;

/// Rows that are rebuilt at once, so that memory stays bounded also where all of
/// a block was sent twice.
const MAX_ROWS_AT_ONCE: usize = 8 * 1024;

/// Which rows are exact duplicates, in origin and content, of an earlier row of
/// their group. The rows of a group have trace id and span id in common.
pub fn duplicates(sources: &[Source], groups: &[Vec<RowRef>]) -> Result<Vec<RowRef>, StoreError> {
    // Groups whose rows are neighbours are read at once, in whatever order they come.
    let mut groups: Vec<&[RowRef]> = groups.iter().map(Vec::as_slice).collect();
    groups.sort_unstable_by_key(|group| group.first().copied());
    let mut found = Vec::new();
    let mut start = 0;
    let mut rows = 0;
    for (nth, group) in groups.iter().enumerate() {
        rows += group.len();
        if rows >= MAX_ROWS_AT_ONCE || nth + 1 == groups.len() {
            find(sources, &groups[start..=nth], &mut found)?;
            (start, rows) = (nth + 1, 0);
        }
    }
    Ok(found)
}

fn find(
    sources: &[Source],
    groups: &[&[RowRef]],
    found: &mut Vec<RowRef>,
) -> Result<(), StoreError> {
    let mut rows: Vec<RowRef> = groups.iter().copied().flatten().copied().collect();
    rows.sort_unstable();
    rows.dedup();
    let mut records = Records::default();
    for of_source in rows.chunk_by(|a, b| a.source == b.source) {
        let source = sources
            .get(of_source[0].source as usize)
            .ok_or_else(|| StoreError::Query("a row of a source that is not there".into()))?;
        let numbers: Vec<u32> = of_source.iter().map(|row| row.row).collect();
        records.add_spans(source, &numbers)?;
    }
    let places: HashMap<RowRef, usize> = rows.iter().copied().zip(0..).collect();
    for group in groups {
        let mut distinct: Vec<usize> = Vec::new();
        for row in *group {
            let record = places[row];
            if distinct.iter().any(|earlier| records.same(*earlier, record)) {
                found.push(*row);
            } else {
                distinct.push(record);
            }
        }
    }
    Ok(())
}
