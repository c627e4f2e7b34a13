//! The first rows of an order, out of many.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::limits::SCAN_SORT_MAX_ROWS;

/// Rank, then place: a total order, so that the answer does not depend on which
/// thread was faster.
type Key = (i64, RowRef);

/// Keeps the rows of least rank.
#[derive(Debug)]
pub(super) struct Top {
    limit: Option<usize>,
    /// The worst row on top if there is a limit; any order if there is none.
    kept: Mutex<BinaryHeap<Key>>,
    unlimited: Mutex<Vec<Key>>,
    /// Rows of a greater rank are not wanted any more.
    worst: AtomicI64,
}

impl Top {
    pub(super) fn new(limit: Option<usize>) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
            unlimited: Mutex::default(),
            worst: AtomicI64::new(i64::MAX),
        }
    }

    /// Whether rows of that rank or a greater one are not wanted any more.
    pub(super) fn is_beyond(&self, rank: i64) -> bool {
        rank > self.worst.load(Ordering::Relaxed)
    }

    /// Takes those of the rows that are wanted.
    pub(super) fn offer(&self, rows: impl Iterator<Item = Key>) -> Result<(), StoreError> {
        let Some(limit) = self.limit else {
            let mut kept = lock(&self.unlimited);
            kept.extend(rows);
            return within_bounds(kept.len());
        };
        let wanted: Vec<Key> = rows.filter(|(rank, _)| !self.is_beyond(*rank)).collect();
        let mut kept = lock(&self.kept);
        for key in wanted {
            if kept.len() < limit {
                kept.push(key);
            } else if let Some(mut worst) = kept.peek_mut()
                && key < *worst
            {
                *worst = key;
            }
        }
        if kept.len() >= limit
            && let Some((rank, _)) = kept.peek()
        {
            self.worst.store(*rank, Ordering::Relaxed);
        }
        within_bounds(kept.len())
    }

    /// The rows, in order.
    pub(super) fn finish(self) -> Result<Vec<RowRef>, StoreError> {
        let mut keys = match self.limit {
            Some(_) => self.kept.into_inner().unwrap_or_else(PoisonError::into_inner).into_vec(),
            None => self.unlimited.into_inner().unwrap_or_else(PoisonError::into_inner),
        };
        keys.sort_unstable();
        Ok(keys.into_iter().map(|(_, row)| row).collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn within_bounds(rows: usize) -> Result<(), StoreError> {
    if rows <= SCAN_SORT_MAX_ROWS {
        return Ok(());
    }
    Err(StoreError::Query(format!(
        "more than {SCAN_SORT_MAX_ROWS} rows to put in order: ask for a shorter time or set a limit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_least_rank_are_kept_and_ties_go_by_place() {
        let key = |rank, row| (rank, RowRef { source: 0, row });
        let all = [key(5, 1), key(3, 9), key(3, 2), key(7, 0), key(3, 5), key(1, 8)];
        for limit in [Some(1), Some(3), Some(4), Some(100), None] {
            let top = Top::new(limit);
            all.chunks(2).for_each(|some| top.offer(some.iter().copied()).unwrap());
            let mut expected = all;
            expected.sort_unstable();
            let expected: Vec<u32> =
                expected.iter().take(limit.unwrap_or(100)).map(|k| k.1.row).collect();
            let found: Vec<u32> = top.finish().unwrap().iter().map(|r| r.row).collect();
            assert_eq!(found, expected, "limit {limit:?}");
        }
    }
}
