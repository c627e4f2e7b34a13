//! Which group a row belongs to.

use hashbrown::HashMap;
use kymo_traceql::metrics::{Aggregation, Group};
use kymo_traceql::value::OwnedValue;

use super::keys::Key;
use super::layout::Layout;
use super::table::View;

/// Groups rows by some values. Groups have numbers of their own, which are small.
pub(super) struct Groups {
    keys: Vec<Key>,
    /// The group of each number.
    groups: Vec<Option<Group>>,
    /// Numbers by those of their values, if there are several.
    several: HashMap<Vec<u32>, u32>,
    /// Values of each number, if there are several.
    values: Vec<Vec<u32>>,
    /// The number of each row of the batch.
    of_rows: Vec<u32>,
}

impl Groups {
    /// Groups by the first `count` slots of a layout.
    pub(super) fn new(layout: &Layout, count: usize) -> Self {
        Self {
            keys: layout.slots.iter().take(count).map(Key::new).collect(),
            groups: Vec::new(),
            several: HashMap::new(),
            values: Vec::new(),
            of_rows: Vec::new(),
        }
    }

    /// The number of the group of each row of a batch.
    pub(super) fn of_batch(&mut self, views: &[View], rows: usize) -> &[u32] {
        match &mut self.keys[..] {
            [] => {
                self.of_rows.clear();
                self.of_rows.resize(rows, 0);
            }
            [key] => key.of_rows(views, rows, &mut self.of_rows),
            keys => {
                let mut columns = vec![Vec::new(); keys.len()];
                for (key, column) in keys.iter_mut().zip(&mut columns) {
                    key.of_rows(views, rows, column);
                }
                self.of_rows.clear();
                let mut numbers = Vec::with_capacity(columns.len());
                let mut last = None;
                for row in 0..rows {
                    numbers.clear();
                    numbers.extend(columns.iter().map(|column| column[row]));
                    let number = match last {
                        Some(last) if self.values[last as usize] == numbers => last,
                        _ => match self.several.get(&numbers) {
                            Some(number) => *number,
                            None => {
                                let number = self.values.len() as u32;
                                self.several.insert(numbers.clone(), number);
                                self.values.push(numbers.clone());
                                number
                            }
                        },
                    };
                    last = Some(number);
                    self.of_rows.push(number);
                }
            }
        }
        &self.of_rows
    }

    /// The group of a number.
    pub(super) fn group(&mut self, number: u32, aggregation: &mut Aggregation) -> Group {
        let place = number as usize;
        if let Some(Some(group)) = self.groups.get(place) {
            return *group;
        }
        let group = match &self.keys[..] {
            [] => aggregation.group(&[]),
            [key] => aggregation.group(std::slice::from_ref(key.value(number))),
            keys => {
                let numbers = self.values[place].iter();
                let values: Vec<OwnedValue> = keys
                    .iter()
                    .zip(numbers)
                    .map(|(key, number)| key.value(*number).clone())
                    .collect();
                aggregation.group(&values)
            }
        };
        if self.groups.len() <= place {
            self.groups.resize(place + 1, None);
        }
        self.groups[place] = Some(group);
        group
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(Key::bytes).sum();
        keys + self.groups.capacity() * 8 + self.several.capacity() * 96
    }
}
