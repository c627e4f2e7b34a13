//! One attribute of a [`Comparison`](super::Comparison): how often it has each of its values.

use std::cmp::Reverse;

use super::cells::Cells;
use super::labels::{Numbers, compare_values};
use super::{Grid, Series};
use crate::value::OwnedValue;

/// The label that tells what a series counts.
const TYPE: &str = "__meta_type";

/// Both sides, with their totals. A value has two rows of counts, in this order.
pub(super) const SIDES: [(&str, &str); 2] =
    [("baseline", "baseline_total"), ("selection", "selection_total")];

/// The values of an attribute.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) name: String,
    pub(super) values: Numbers,
    pub(super) cells: Cells<u64>,
}

impl Counts {
    pub(super) fn new(name: &str, points: usize) -> Self {
        let (values, cells) = (Numbers::default(), Cells::new(points, 0));
        Self { name: name.to_owned(), values, cells }
    }

    /// The number of a value, made if it is new.
    pub(super) fn value(&mut self, value: &OwnedValue) -> u32 {
        let number = self.values.number([value].into_iter());
        self.cells.extend_rows(2 * self.values.len());
        number
    }

    /// Where spans with a value are counted, if it is known.
    #[inline]
    pub(super) fn cell(&mut self, value: u32, is_selected: bool, point: usize) -> Option<&mut u64> {
        self.cells.cell(2 * value as usize + usize::from(is_selected), point)
    }

    /// An estimate of memory, known without counting it.
    pub(super) fn bytes(&self) -> usize {
        2 * self.name.len() + size_of::<Counts>() + self.values.bytes() + self.cells.bytes()
    }

    /// The series of one side; gives how many values it has.
    pub(super) fn finish(
        &self,
        side: usize,
        top: usize,
        grid: &Grid,
        series: &mut Vec<Series>,
    ) -> usize {
        let (side_name, total_name) = SIDES[side];
        let mut totals = vec![0_u64; grid.points];
        let mut values = Vec::new();
        for (number, value) in self.values.values().iter().enumerate() {
            let row = 2 * number + side;
            let mut count = 0;
            for (point, more) in self.cells.row(row) {
                count += more;
                totals[point] += more;
            }
            if count > 0 {
                values.push((Reverse(count), &value[0], row));
            }
        }
        if values.is_empty() {
            return 0;
        }
        values.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| compare_values(a.1, b.1)));
        let mut push = |side: &str, value: &OwnedValue, counts: &mut dyn Iterator<Item = &u64>| {
            let labels = vec![
                (TYPE.to_owned(), OwnedValue::Text(side.to_owned())),
                (self.name.clone(), value.clone()),
            ];
            let point = |(point, count): (usize, &u64)| (grid.time_of(point), *count as f64);
            let points = counts.enumerate().map(point).collect();
            series.push(Series { labels, points, exemplars: Vec::new() });
        };
        for (_, value, row) in values.iter().take(top) {
            push(side_name, value, &mut self.cells.whole_row(*row).map(|(_, count)| count));
        }
        push(total_name, &OwnedValue::Nil, &mut totals.iter());
        values.len()
    }
}
