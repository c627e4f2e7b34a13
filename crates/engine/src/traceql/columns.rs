//! One attribute of rows that are compared as they are scanned.

use kymo_traceql::metrics::{AttributeNumber, Comparison, ValueNumber};
use kymo_traceql::value::{OwnedValue, Value};

use super::keys::{Key, NIL};
use super::layout::{From, Place};
use super::table::View;

/// Where a row is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) point: u32,
    pub(super) is_selected: bool,
}

/// The number of any value, where it does not matter which. It is not [`NIL`].
const ANY: u32 = NIL + 1;

/// Nowhere.
pub(super) const NOT_COUNTED: Cell = Cell { point: u32::MAX, is_selected: false };

/// An attribute: its values get numbers, rows that follow each other and count for the same point
/// are counted by number, and what that comes to goes into the comparison.
pub(super) struct Column {
    attribute: AttributeNumber,
    places: Vec<Place>,
    is_always_there: bool,
    /// `None` if there are too many values to tell any.
    key: Option<Key>,
    /// The comparison's number of each value.
    numbers: Vec<Option<ValueNumber>>,
}

/// What is needed while one column is counted, and for the next again.
#[derive(Default)]
pub(super) struct Scratch {
    /// The value of each row.
    of_rows: Vec<u32>,
    /// Spans of each value since the point has changed, outside and inside of the selection.
    run: Vec<[u32; 2]>,
    /// Values that there are such spans of.
    touched: Vec<u32>,
}

impl Scratch {
    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.of_rows.capacity() + 2 * self.run.capacity() + self.touched.capacity())
    }
}

impl Column {
    pub(super) fn new(attribute: AttributeNumber, from: &From) -> Self {
        Self {
            attribute,
            places: from.span_places().to_vec(),
            is_always_there: matches!(from, From::SpanOr(..)),
            key: Some(Key::new(from)),
            numbers: Vec::new(),
        }
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.numbers.capacity() * size_of::<Option<ValueNumber>>();
        self.key.as_ref().map_or(0, Key::bytes) + numbers
    }

    /// Counts the rows of a batch.
    pub(super) fn count(
        &mut self,
        views: &[View],
        cells: &[Cell],
        scratch: &mut Scratch,
        comparison: &mut Comparison,
    ) {
        match &mut self.key {
            Some(key) => key.of_rows(views, cells.len(), &mut scratch.of_rows),
            None => self.find_any(views, cells.len(), &mut scratch.of_rows),
        }
        let values = self.key.as_ref().map_or(ANY as usize + 1, Key::len);
        if scratch.run.len() < values {
            scratch.run.resize(values, [0; 2]);
        }
        let mut point = NOT_COUNTED.point;
        for (row, cell) in cells.iter().enumerate() {
            let number = scratch.of_rows[row];
            if number == NIL || *cell == NOT_COUNTED {
                continue;
            }
            if cell.point != point {
                self.end_run(point, scratch, comparison);
                point = cell.point;
            }
            let counts = &mut scratch.run[number as usize];
            if *counts == [0; 2] {
                scratch.touched.push(number);
            }
            counts[usize::from(cell.is_selected)] += 1;
        }
        self.end_run(point, scratch, comparison);
        if comparison.has_too_many(self.attribute) {
            (self.key, self.numbers) = (None, Vec::new());
        }
    }

    /// Tells rows that have a value from those that do not.
    fn find_any(&self, views: &[View], rows: usize, of_rows: &mut Vec<u32>) {
        of_rows.clear();
        of_rows.extend((0..rows).map(|row| {
            let has_value = |(column, how): &Place| {
                views.get(*column).is_some_and(|view| view.value(row, *how, 0) != Value::Nil)
            };
            match self.is_always_there || self.places.iter().any(has_value) {
                true => ANY,
                false => NIL,
            }
        }));
    }

    /// Hands over what was counted for a point.
    fn end_run(&mut self, point: u32, scratch: &mut Scratch, comparison: &mut Comparison) {
        for number in scratch.touched.drain(..) {
            let place = number as usize;
            let counts = std::mem::take(&mut scratch.run[place]);
            if self.numbers.len() <= place {
                self.numbers.resize(place + 1, None);
            }
            let value = *self.numbers[place].get_or_insert_with(|| {
                let value = self.key.as_ref().map_or(&OwnedValue::Nil, |key| key.value(number));
                comparison.value(self.attribute, value)
            });
            for (is_selected, count) in [false, true].into_iter().zip(counts) {
                if count > 0 {
                    let (point, count) = (point as usize, u64::from(count));
                    comparison.add(self.attribute, value, is_selected, point, count);
                }
            }
        }
    }
}
