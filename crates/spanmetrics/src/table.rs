//! Series by key: what is counted for each combination of labels.
//!
//! Each has a time since when it counts: just after the last write, when there was nothing of it.
//! Until it has been written once, its zero is written too, so that a rate sees its first step.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::labels::{LabelWriter, OVERFLOW};

/// One combination of labels.
#[derive(Debug)]
pub(crate) struct Row<V> {
    key: Box<[u8]>,
    /// Its labels, as a `KeyValueList`.
    pub(crate) labels: Box<[u8]>,
    /// Whose resource it is written with, where that matters.
    pub(crate) service: Arc<[u8]>,
    /// Since when it counts, in nanoseconds since 1970.
    pub(crate) start_nanos: u64,
    /// Whether it has been written.
    pub(crate) is_written: bool,
    /// When it last changed.
    touched_nanos: u64,
    pub(crate) value: V,
}

/// What a new series has beside its key.
pub(crate) struct NewRow {
    pub(crate) labels: Box<[u8]>,
    pub(crate) service: Arc<[u8]>,
}

/// Now, and since when what begins now counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now_nanos: u64,
    pub(crate) start_nanos: u64,
}

/// Series of one kind.
#[derive(Debug)]
pub(crate) struct Table<V> {
    rows: Vec<Row<V>>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The row that was last counted in: what has the same labels often comes together.
    last: usize,
    /// What is counted without labels.
    overflow: Option<Box<Row<V>>>,
}

impl<V: Default> Table<V> {
    pub(crate) fn new() -> Self {
        let hasher = DefaultHashBuilder::default();
        Self { rows: Vec::new(), places: HashTable::new(), hasher, last: 0, overflow: None }
    }

    /// How many there are, without the one for all others.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.overflow.is_none()
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let is_it = |place: usize| *self.rows[place].key == *key;
        if self.last < self.rows.len() && is_it(self.last) {
            return Some(self.last);
        }
        let hash = self.hasher.hash_one(key);
        self.places.find(hash, |place| is_it(*place as usize)).map(|place| *place as usize)
    }

    /// What is counted for a key, and whether it is what all share that have no room. `make` is
    /// asked for what a new one has.
    pub(crate) fn value(
        &mut self,
        key: &[u8],
        moment: Moment,
        has_room: bool,
        make: impl FnOnce() -> NewRow,
    ) -> (&mut V, bool) {
        let place = match self.find(key) {
            None if has_room => Some(self.insert(row(key, make(), moment))),
            found => found,
        };
        let row = match place {
            Some(place) => {
                self.last = place;
                &mut self.rows[place]
            }
            None => {
                let new = || Box::new(row(&[], overflow_row(), moment));
                &mut **self.overflow.get_or_insert_with(new)
            }
        };
        row.touched_nanos = moment.now_nanos;
        (&mut row.value, place.is_none())
    }

    fn insert(&mut self, new: Row<V>) -> usize {
        let (place, hash) = (self.rows.len(), self.hasher.hash_one(&*new.key));
        self.rows.push(new);
        let (rows, hasher) = (&self.rows, &self.hasher);
        let hash_of = |place: &u32| hasher.hash_one(&*rows[*place as usize].key);
        // Settings bound them to far fewer than there are numbers.
        self.places.insert_unique(hash, place as u32, hash_of);
        place
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row<V>> {
        self.rows.iter().chain(self.overflow.as_deref())
    }

    /// All have been written; those that have not changed since `idle_since_nanos` are gone with it.
    pub(crate) fn written(&mut self, idle_since_nanos: u64, mut settle: impl FnMut(&mut V)) {
        let before = self.rows.len();
        self.rows.retain(|row| !row.is_over(idle_since_nanos));
        self.overflow = self.overflow.take().filter(|row| !row.is_over(idle_since_nanos));
        for row in self.rows.iter_mut().chain(self.overflow.as_deref_mut()) {
            row.is_written = true;
            settle(&mut row.value);
        }
        if self.rows.len() != before {
            let (rows, hasher) = (&self.rows, &self.hasher);
            let hash_of = |place: &u32| hasher.hash_one(&*rows[*place as usize].key);
            self.places.clear();
            for place in 0..rows.len() as u32 {
                self.places.insert_unique(hash_of(&place), place, hash_of);
            }
        }
    }
}

impl<V> Row<V> {
    /// Whether it ends: nothing of it has come since a time. What was never written does not.
    pub(crate) fn is_over(&self, idle_since_nanos: u64) -> bool {
        self.is_written && self.touched_nanos < idle_since_nanos
    }
}

fn overflow_row() -> NewRow {
    let mut labels = LabelWriter::default();
    labels.add(OVERFLOW, b"true");
    NewRow { labels: labels.finish(), service: Arc::default() }
}

fn row<V: Default>(key: &[u8], new: NewRow, moment: Moment) -> Row<V> {
    Row {
        key: key.into(),
        labels: new.labels,
        service: new.service,
        start_nanos: moment.start_nanos,
        is_written: false,
        touched_nanos: moment.now_nanos,
        value: V::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_row() -> NewRow {
        NewRow { labels: Box::default(), service: Arc::default() }
    }

    #[test]
    fn what_is_idle_goes_and_the_rest_is_found_again() {
        let mut table: Table<u64> = Table::new();
        let at = |now_nanos| Moment { now_nanos, start_nanos: now_nanos };
        for key in 0..100u32 {
            let time = at(if key % 3 == 0 { 10 } else { 20 });
            *table.value(&key.to_le_bytes(), time, true, new_row).0 += 1;
        }
        table.written(15, |_| ());
        assert_eq!(table.len(), 100, "not before it has been written");
        table.written(15, |_| ());
        assert_eq!(table.len(), 66);
        let mut overflowed = 0;
        for key in 0..100u32 {
            let (value, is_overflow) = table.value(&key.to_le_bytes(), at(30), false, new_row);
            assert_eq!(is_overflow, key % 3 == 0, "{key}");
            *value += 1;
            overflowed += u64::from(is_overflow);
        }
        assert_eq!((table.rows().count(), table.len()), (67, 66));
        assert_eq!(table.rows().last().map(|row| row.value), Some(overflowed));
        assert!(table.rows().take(66).all(|row| row.value == 2));
    }
}
