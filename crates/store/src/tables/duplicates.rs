//! Spans that were stored twice: the same message from the same origin.

use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::spans::field;
use crate::block::source::{RowRef, Source};
use crate::column::Values;
use crate::error::StoreError;

/// Rows that are exact duplicates of an earlier one.
pub(crate) fn find(sources: &[Source]) -> Result<HashSet<RowRef>, StoreError> {
    let mut seen: HashMap<u64, RowRef> = HashMap::new();
    let mut candidates: HashMap<u64, Vec<RowRef>> = HashMap::new();
    for (source, rows) in sources.iter().enumerate() {
        let (Some(traces), Some(spans)) =
            (rows.field(field::TRACE_ID)?, rows.field(field::SPAN_ID)?)
        else {
            continue;
        };
        let (Values::Id16(traces), Values::Id8(spans)) = (&traces.values, &spans.values) else {
            return Err(StoreError::corrupt("ids of another type"));
        };
        for (row, (trace, span)) in traces.iter().zip(spans).enumerate() {
            let key = xxh3_64_with_seed(trace, u64::from_le_bytes(*span));
            let place = RowRef { source: source as u32, row: row as u32 };
            match seen.entry(key) {
                hashbrown::hash_map::Entry::Vacant(slot) => {
                    slot.insert(place);
                }
                hashbrown::hash_map::Entry::Occupied(first) => {
                    candidates.entry(key).or_insert_with(|| vec![*first.get()]).push(place);
                }
            }
        }
    }
    drop(seen);
    let groups: Vec<Vec<RowRef>> = candidates.into_values().collect();
    Ok(crate::otlp::duplicates(sources, &groups)?.into_iter().collect())
}
