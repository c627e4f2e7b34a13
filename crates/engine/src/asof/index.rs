//! The right side of an as-of join: its rows by key and time.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion::arrow::compute::{cast, concat_batches, take};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::{Direction, Matching};
use crate::error::Refusal;
use crate::limits::ASOF_MAX_ROWS;
use crate::memory::Weigher;

/// What is joined by: keys of one type each, and a time.
pub(super) struct Compared {
    pub(super) keys: Vec<ArrayRef>,
    pub(super) times: ArrayRef,
}

/// Rows of the right side as they come.
pub(super) struct Collected {
    batches: Vec<(RecordBatch, Compared)>,
    rows: usize,
    weigher: Weigher,
    memory: MemoryReservation,
}

impl Collected {
    pub(super) fn new(memory: MemoryReservation) -> Self {
        Self { batches: Vec::new(), rows: 0, weigher: Weigher::default(), memory }
    }

    pub(super) fn add(&mut self, batch: RecordBatch, compared: Compared) -> Result<()> {
        self.rows += batch.num_rows();
        if self.rows > ASOF_MAX_ROWS {
            return Err(Refusal::error(format!(
                "the right side of an as-of join has more than {ASOF_MAX_ROWS} rows: \
                 ask for less of it, by time for example"
            )));
        }
        let of_keys: usize = compared.keys.iter().map(|key| key.get_array_memory_size()).sum();
        let of_times = compared.times.get_array_memory_size();
        self.memory.try_grow(self.weigher.weigh(&batch) + of_keys + of_times)?;
        self.batches.push((batch, compared));
        Ok(())
    }

    /// Puts rows in order.
    pub(super) fn index(self, schema: &SchemaRef, key_types: &[DataType]) -> Result<Index> {
        // Everything is there twice for a while: in parts, and whole.
        let whole = self.memory.new_empty();
        whole.try_grow(self.memory.size())?;
        let batch = concat_batches(schema, self.batches.iter().map(|(batch, _)| batch))?;
        let of_row = size_of::<i64>() + size_of::<u32>() + size_of::<Option<i64>>();
        whole.try_grow(self.rows * of_row)?;
        let fields = key_types.iter().map(|key| SortField::new(key.clone())).collect();
        let converter = RowConverter::new(fields)?;
        let mut keys = converter.empty_rows(self.rows, 0);
        let mut nanos: Vec<Option<i64>> = Vec::with_capacity(self.rows);
        let mut held = 0;
        for (_, compared) in &self.batches {
            let times = nanos_of(&compared.times)?;
            let is_known = |row: usize| compared.keys.iter().all(|key| key.is_valid(row));
            nanos
                .extend(times.iter().enumerate().map(|(row, time)| time.filter(|_| is_known(row))));
            if !compared.keys.is_empty() {
                converter.append(&mut keys, &compared.keys)?;
                let more = keys.size().saturating_sub(held);
                whole.try_grow(more)?;
                held += more;
            }
        }
        drop(self);
        Index::new(batch, converter, keys, nanos, !key_types.is_empty(), whole)
    }
}

/// Rows in order of keys, then of time.
pub(super) struct Index {
    batch: RecordBatch,
    converter: RowConverter,
    keys: Rows,
    has_keys: bool,
    /// Rows of the batch, in order, and their times.
    order: Vec<u32>,
    times: Vec<i64>,
    /// Where rows of each key begin and end in that order.
    groups: HashTable<(u32, u32)>,
    /// Given back when the index is.
    _memory: MemoryReservation,
}

impl Index {
    fn new(
        batch: RecordBatch,
        converter: RowConverter,
        keys: Rows,
        nanos: Vec<Option<i64>>,
        has_keys: bool,
        memory: MemoryReservation,
    ) -> Result<Self> {
        let mut order: Vec<u32> =
            (0..nanos.len() as u32).filter(|row| nanos[*row as usize].is_some()).collect();
        let key = |row: &u32| has_keys.then(|| keys.row(*row as usize));
        order.sort_by(|a, b| {
            key(a).cmp(&key(b)).then_with(|| nanos[*a as usize].cmp(&nanos[*b as usize]))
        });
        let times = order.iter().map(|row| nanos[*row as usize].unwrap_or(0)).collect();
        memory.shrink(nanos.len() * size_of::<Option<i64>>());
        drop(nanos);
        let is_same = |a: &u32, b: &u32| key(a) == key(b);
        let count = order.chunk_by(is_same).count();
        // Of the places of a table an eighth stays free, and they are a power of two.
        let places = (count * 8 / 7 + 1).next_power_of_two();
        memory.try_grow(places * (size_of::<(u32, u32)>() + 1))?;
        let mut groups = HashTable::with_capacity(count);
        let mut begin = 0u32;
        for rows in order.chunk_by(is_same) {
            let group = (begin, begin + rows.len() as u32);
            begin = group.1;
            let hash_of = |group: &(u32, u32)| hash(key(&order[group.0 as usize]).as_ref());
            groups.insert_unique(hash_of(&group), group, hash_of);
        }
        Ok(Self { batch, converter, keys, has_keys, order, times, groups, _memory: memory })
    }

    /// The columns of the matches of rows of the left side; NULL where there is none.
    pub(super) fn matches(&self, left: &Compared, matching: Matching) -> Result<Vec<ArrayRef>> {
        let times = nanos_of(&left.times)?;
        let keys = match self.has_keys {
            true => Some(self.converter.convert_columns(&left.keys)?),
            false => None,
        };
        let find = |row: usize| {
            let is_known = times.is_valid(row) && left.keys.iter().all(|key| key.is_valid(row));
            let group = is_known.then(|| self.group(keys.as_ref(), row)).flatten()?;
            self.find(group, times.value(row), matching)
        };
        let rows: UInt32Array = (0..times.len()).map(find).collect();
        let columns = self.batch.columns().iter();
        Ok(columns.map(|column| take(column, &rows, None)).collect::<Result<_, _>>()?)
    }

    /// Where rows with the key of a row of the left side are.
    fn group(&self, keys: Option<&Rows>, row: usize) -> Option<(u32, u32)> {
        let key = keys.map(|keys| keys.row(row));
        let is_same = |group: &(u32, u32)| match &key {
            Some(key) => *key == self.keys.row(self.order[group.0 as usize] as usize),
            None => true,
        };
        self.groups.find(hash(key.as_ref()), is_same).copied()
    }

    /// The match among the rows of a key.
    fn find(&self, group: (u32, u32), nanos: i64, matching: Matching) -> Option<u32> {
        let (begin, end) = (group.0 as usize, group.1 as usize);
        let times = &self.times[begin..end];
        let place = match (matching.direction, matching.allows_equal) {
            (Direction::Before, true) => {
                times.partition_point(|time| *time <= nanos).checked_sub(1)?
            }
            (Direction::Before, false) => {
                times.partition_point(|time| *time < nanos).checked_sub(1)?
            }
            (Direction::After, true) => times.partition_point(|time| *time < nanos),
            (Direction::After, false) => times.partition_point(|time| *time <= nanos),
        };
        let distance = times.get(place)?.abs_diff(nanos);
        let is_near = matching.within_nanos.is_none_or(|most| distance <= most.unsigned_abs());
        is_near.then(|| self.order[begin + place])
    }
}

fn hash(key: Option<&datafusion::arrow::row::Row<'_>>) -> u64 {
    key.map_or(0, |key| xxh3_64(key.as_ref()))
}

fn nanos_of(times: &ArrayRef) -> Result<Int64Array> {
    match times.data_type() {
        DataType::Timestamp(..) => {
            Ok(cast(times, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        }
        other => internal_err!("{other} is no time"),
    }
}
