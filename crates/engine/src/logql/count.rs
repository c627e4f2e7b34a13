//! Counting rows without making entries of them: by origin and by codes of dictionaries.

use hashbrown::HashMap;
use kymo_logql::error::EvalError;
use kymo_logql::labels::Labels;
use kymo_logql::plan::{Counting, Leaf, LeafWorker};
use kymo_logql::selection::Needs;

use super::read::Batch;

/// What was counted of one group since the last bucket began.
struct Group {
    labels: Labels,
    count: u64,
    bytes: u64,
}

/// Adds the rows of a batch, of which nothing is left to be tested.
pub(super) fn add(
    leaf: &Leaf,
    counting: &Counting,
    worker: &mut LeafWorker,
    batch: &Batch<'_>,
    needs: &Needs,
) -> Result<(), EvalError> {
    let mut groups: HashMap<(usize, [i32; 2]), Group> = HashMap::new();
    let mut bucket: Option<(i64, i64)> = None;
    for row in 0..batch.count {
        let time_nanos = batch.rows.time_nanos(row);
        if !bucket.is_some_and(|(first, end)| (first..=end).contains(&time_nanos)) {
            flush(&mut groups, bucket, worker)?;
            let Some(end) = leaf.bucket_end_nanos(time_nanos) else {
                bucket = None;
                continue;
            };
            bucket = Some((time_nanos, end));
        }
        let Some(codes) = batch.rows.codes(row) else {
            add_one(counting, worker, batch, row, needs)?;
            continue;
        };
        let group = groups.entry((batch.rows.origin(row), codes));
        let group = group.or_insert_with(|| Group {
            labels: labels(counting, batch, row, needs),
            count: 0,
            bytes: 0,
        });
        group.count += 1;
        if counting.counts_bytes {
            group.bytes += batch.rows.line(row).len() as u64;
        }
    }
    flush(&mut groups, bucket, worker)
}

/// Hands over what was counted within a bucket; groups stay known.
fn flush(
    groups: &mut HashMap<(usize, [i32; 2]), Group>,
    bucket: Option<(i64, i64)>,
    worker: &mut LeafWorker,
) -> Result<(), EvalError> {
    let Some((_, end)) = bucket else { return Ok(()) };
    for group in groups.values_mut().filter(|group| group.count > 0) {
        worker.add_counted(&group.labels, end, group.count, group.bytes)?;
        (group.count, group.bytes) = (0, 0);
    }
    Ok(())
}

/// A row whose labels have no codes.
fn add_one(
    counting: &Counting,
    worker: &mut LeafWorker,
    batch: &Batch<'_>,
    row: usize,
    needs: &Needs,
) -> Result<(), EvalError> {
    let labels = labels(counting, batch, row, needs);
    let bytes = if counting.counts_bytes { batch.rows.line(row).len() as u64 } else { 0 };
    worker.add_counted(&labels, batch.rows.time_nanos(row), 1, bytes)
}

/// The labels of a row that are counted by.
fn labels(counting: &Counting, batch: &Batch<'_>, row: usize, needs: &Needs) -> Labels {
    let Some(belonging) = batch.belonging(row) else { return Labels::default() };
    let metadata = batch.rows.metadata(row, belonging, needs);
    let value = |name: &String| {
        let of_row = || metadata.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        belonging.stream.get(name).filter(|value| !value.is_empty()).or_else(of_row)
    };
    Labels::of(counting.by.iter().filter_map(|name| Some((name, value(name)?))))
}
