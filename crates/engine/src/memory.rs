//! Memory that queries may hold: a share for each, and a bound for all.
//!
//! Nothing is written to disk to make room: a query that needs more ends with an error that says
//! so, and others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};

use crate::error::EngineError;

/// A number of bytes with a bound.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: AtomicUsize::new(0) }
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Takes bytes if there are enough left.
    fn take(&self, bytes: usize) -> bool {
        let taken = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit_bytes);
        self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    fn take_anyway(&self, bytes: usize) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        let left = |used: usize| Some(used.saturating_sub(bytes));
        // Never fails: there is always an answer.
        let _ = self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Which bound was met.
const NONE: usize = 0;
const QUERY: usize = 1;
const ALL: usize = 2;

/// What one query may hold.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    query: Budget,
    all: Arc<Budget>,
    met: AtomicUsize,
}

impl QueryMemory {
    pub(crate) fn new(query_bytes: usize, all: &Arc<Budget>) -> Self {
        Self { query: Budget::new(query_bytes), all: all.clone(), met: AtomicUsize::new(NONE) }
    }

    /// The bound that was met, and whether it is that of all queries together.
    fn exhausted(&self) -> Option<(usize, bool)> {
        match self.met.load(Ordering::Relaxed) {
            QUERY => Some((self.query.limit_bytes, false)),
            ALL => Some((self.all.limit_bytes, true)),
            _ => None,
        }
    }

    /// The error of a query that met a bound.
    pub(crate) fn error(&self) -> Option<EngineError> {
        self.exhausted().map(|(limit_bytes, of_all_queries)| EngineError::Memory {
            limit_bytes,
            of_all_queries,
        })
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.query.take_anyway(additional);
        self.all.take_anyway(additional);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.query.give_back(shrink);
        self.all.give_back(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let met = if !self.query.take(additional) {
            QUERY
        } else if !self.all.take(additional) {
            self.query.give_back(additional);
            ALL
        } else {
            return Ok(());
        };
        self.met.store(met, Ordering::Relaxed);
        let consumer = reservation.consumer().name();
        Err(DataFusionError::ResourcesExhausted(format!("{additional} bytes more for {consumer}")))
    }

    fn reserved(&self) -> usize {
        self.query.used_bytes()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.query.limit_bytes)
    }
}

impl std::fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "query({} of {} bytes)", self.query.used_bytes(), self.query.limit_bytes)
    }
}

impl Drop for QueryMemory {
    /// What an operator forgot to give back is not lost for others.
    fn drop(&mut self) {
        self.all.give_back(self.query.used_bytes());
    }
}

/// Counts the bytes of batches. Those of one stream share dictionaries: each is counted with the
/// first batch that has it.
#[derive(Debug, Default)]
pub(crate) struct Weigher {
    /// The dictionary that each column had last.
    dictionaries: Vec<Option<ArrayRef>>,
}

impl Weigher {
    /// Bytes that there are more because of a batch.
    pub(crate) fn weigh(&mut self, batch: &RecordBatch) -> usize {
        self.dictionaries.resize(batch.num_columns(), None);
        let columns = batch.columns().iter().zip(&mut self.dictionaries);
        columns.map(|(column, last)| weigh_column(column, last)).sum()
    }
}

fn weigh_column(column: &ArrayRef, last: &mut Option<ArrayRef>) -> usize {
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        let own = column.to_data().get_slice_memory_size();
        return own.unwrap_or_else(|_| column.get_array_memory_size());
    };
    let keys = dictionary.keys().len() * size_of::<i32>();
    let values = dictionary.values();
    if last.as_ref().is_some_and(|last| Arc::ptr_eq(last, values)) {
        return keys;
    }
    *last = Some(values.clone());
    keys + values.get_array_memory_size()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int32Array, StringArray};
    use datafusion::execution::memory_pool::MemoryConsumer;

    #[test]
    fn a_dictionary_is_counted_with_the_first_batch_that_has_it() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(100_000)]));
        let batch = |texts: &ArrayRef, rows| {
            let keys = Int32Array::from(vec![0; rows]);
            let column = DictionaryArray::<Int32Type>::try_new(keys, texts.clone()).unwrap();
            RecordBatch::try_from_iter([("a", Arc::new(column) as ArrayRef)]).unwrap()
        };
        let mut weigher = Weigher::default();
        assert!(weigher.weigh(&batch(&texts, 10)) > 100_000);
        assert_eq!(weigher.weigh(&batch(&texts, 10)), 40);
        assert_eq!(weigher.weigh(&batch(&texts, 10).slice(0, 5)), 20);
        let other: ArrayRef = Arc::new(StringArray::from(vec!["y".repeat(200_000)]));
        assert!(weigher.weigh(&batch(&other, 10)) > 200_000);
        let numbers = RecordBatch::try_from_iter([(
            "a",
            Arc::new(Int32Array::from(vec![1; 1000])) as ArrayRef,
        )]);
        assert_eq!(weigher.weigh(&numbers.unwrap().slice(0, 10)), 40);
    }

    #[test]
    fn each_bound_is_kept_and_the_one_that_was_met_is_known() {
        let all = Arc::new(Budget::new(100));
        let first = Arc::new(QueryMemory::new(80, &all));
        let second = Arc::new(QueryMemory::new(80, &all));
        let pools: [Arc<dyn MemoryPool>; 2] = [first.clone(), second.clone()];
        let [a, b] = pools.each_ref().map(|pool| MemoryConsumer::new("test").register(pool));
        assert!(a.try_grow(70).is_ok());
        assert!(a.try_grow(20).is_err());
        assert_eq!(first.exhausted(), Some((80, false)));
        assert!(b.try_grow(40).is_err());
        assert_eq!(second.exhausted(), Some((100, true)));
        assert!(b.try_grow(30).is_ok());
        drop((a, b));
        assert_eq!(all.used_bytes(), 0);
    }
}
