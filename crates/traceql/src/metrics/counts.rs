//! One attribute of a [`Comparison`](super::Comparison): how often it has each of its values.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::cells::Cells;
use super::labels::{Numbers, compare_values};
use super::{Grid, Series};
use crate::limits::MAX_COMPARED_VALUES;
use crate::value::OwnedValue;

/// The label that tells what a series counts.
const TYPE: &str = "__meta_type";

/// Both sides, with their totals. A value has two rows of counts, in this order.
pub(super) const SIDES: [(&str, &str); 2] =
    [("baseline", "baseline_total"), ("selection", "selection_total")];

/// The number of a value that is not counted.
const NO_VALUE: u32 = u32::MAX;

/// Points of a page.
const PAGE_POINTS: usize = 8;

/// The values of an attribute.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) name: String,
    values: Numbers,
    /// Spans by row and stretch of points. Most values are rare, so only pages exist that
    /// something was counted in. More than four billion spans in one cell count as four billion.
    pages: HashMap<(u32, u32), [u32; PAGE_POINTS]>,
    /// Spans with any value, by side and point.
    totals: Cells<u64>,
    has_too_many: bool,
}

impl Counts {
    pub(super) fn new(name: &str, points: usize) -> Self {
        let mut totals = Cells::new(points, 0);
        totals.extend_rows(SIDES.len());
        Self {
            name: name.to_owned(),
            values: Numbers::default(),
            pages: HashMap::new(),
            totals,
            has_too_many: false,
        }
    }

    /// The number of a value, made if it is new.
    pub(super) fn value(&mut self, value: &OwnedValue) -> u32 {
        if self.has_too_many {
            return NO_VALUE;
        }
        let number = self.values.number([value].into_iter());
        if self.values.len() > MAX_COMPARED_VALUES {
            self.give_up();
            return NO_VALUE;
        }
        number
    }

    /// Whether there are too many values to tell any.
    pub(super) fn has_too_many(&self) -> bool {
        self.has_too_many
    }

    /// Counts no values any more. That there are too many does not depend on the order in which
    /// they come.
    #[cold]
    fn give_up(&mut self) {
        self.has_too_many = true;
        self.values = Numbers::default();
        self.pages = HashMap::new();
    }

    /// Counts spans with a value, if it is known.
    #[inline]
    pub(super) fn add(&mut self, value: u32, is_selected: bool, point: usize, count: u64) {
        let side = usize::from(is_selected);
        let is_known = (value as usize) < self.values.len();
        if !is_known && !self.has_too_many {
            return;
        }
        let Some(total) = self.totals.cell(side, point) else { return };
        *total += count;
        if is_known {
            let page = (2 * value + side as u32, (point / PAGE_POINTS) as u32);
            let cell = &mut self.pages.entry(page).or_default()[point % PAGE_POINTS];
            *cell = cell.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// Adds all that another counted.
    pub(super) fn merge(&mut self, from: Counts) {
        self.totals.merge(from.totals, &[0, 1], |into, from| *into += from);
        if from.has_too_many {
            self.give_up();
        }
        if self.has_too_many {
            return;
        }
        let mut numbers = Vec::with_capacity(from.values.len());
        for value in from.values.values().iter().flatten() {
            numbers.push(self.value(value));
        }
        if self.has_too_many {
            return;
        }
        for ((row, page), counts) in from.pages {
            let row = 2 * numbers[row as usize / 2] + row % 2;
            let cells = self.pages.entry((row, page)).or_default();
            for (cell, count) in cells.iter_mut().zip(counts) {
                *cell = cell.saturating_add(count);
            }
        }
    }

    /// An estimate of memory, known without counting it.
    pub(super) fn bytes(&self) -> usize {
        // A table keeps one place in eight free, and a byte beside each.
        let page = size_of::<((u32, u32), [u32; PAGE_POINTS])>() + 1;
        let pages = self.pages.capacity() * 8 / 7 * page;
        let cells = pages + self.totals.bytes();
        2 * self.name.len() + size_of::<Counts>() + self.values.bytes() + cells
    }

    /// How many series [`Counts::finish`] gives at most, for each side.
    pub(super) fn most_series(&self, top: usize) -> usize {
        self.values.len().min(top) + 1
    }

    /// The series of one side; gives whether there are more values than they tell.
    pub(super) fn finish(
        &self,
        side: usize,
        top: usize,
        grid: &Grid,
        series: &mut Vec<Series>,
    ) -> bool {
        if self.totals.is_untouched(side) {
            return false;
        }
        let (side_name, total_name) = SIDES[side];
        let mut counts = vec![0; self.values.len()];
        for (value, _, page) in self.of_side(side) {
            counts[value] += page.iter().map(|count| u64::from(*count)).sum::<u64>();
        }
        let values = self.values.values().iter().map(|value| &value[0]);
        let mut found: Vec<(Reverse<u64>, &OwnedValue, usize)> = (0..)
            .zip(values)
            .map(|(number, value)| (Reverse(counts[number]), value, number))
            .filter(|(count, ..)| count.0 > 0)
            .collect();
        let has_more = self.has_too_many || found.len() > top;
        found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| compare_values(a.1, b.1)));
        found.truncate(top);

        let mut places = vec![None; self.values.len()];
        for (place, (.., number)) in found.iter().enumerate() {
            places[*number] = Some(place);
        }
        let mut told = vec![vec![0; grid.points]; found.len()];
        for (value, first_point, page) in self.of_side(side) {
            if let Some(place) = places[value] {
                let points: &mut Vec<u64> = &mut told[place];
                for (point, count) in points.iter_mut().skip(first_point).zip(page) {
                    *point = u64::from(*count);
                }
            }
        }
        let mut push = |side: &str, value: &OwnedValue, counts: &mut dyn Iterator<Item = u64>| {
            let labels = vec![
                (TYPE.to_owned(), OwnedValue::Text(side.to_owned())),
                (self.name.clone(), value.clone()),
            ];
            let point = |(point, count): (usize, u64)| (grid.time_of(point), count as f64);
            let points = counts.enumerate().map(point).collect();
            series.push(Series { labels, points, exemplars: Vec::new() });
        };
        for ((_, value, _), counts) in found.iter().zip(told) {
            push(side_name, value, &mut counts.into_iter());
        }
        let totals = self.totals.whole_row(side).map(|(_, count)| *count);
        push(total_name, &OwnedValue::Nil, &mut { totals });
        has_more
    }

    /// Pages of one side: the number of their value, their first point, their counts.
    fn of_side(&self, side: usize) -> impl Iterator<Item = (usize, usize, &[u32; PAGE_POINTS])> {
        let pages = self.pages.iter().filter(move |((row, _), _)| *row as usize % 2 == side);
        pages.map(|((row, page), counts)| (*row as usize / 2, *page as usize * PAGE_POINTS, counts))
    }
}
