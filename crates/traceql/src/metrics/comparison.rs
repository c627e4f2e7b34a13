//! `compare()`: how often each value of each attribute is in a selection of spans, and in all
//! others, the baseline.
//!
//! The answer has, for each attribute:
//!
//! | labels | what is counted |
//! |---|---|
//! | `__meta_type` = `baseline` or `selection`, attribute = value | spans with this value, for the most frequent values of each |
//! | `__meta_type` = `baseline_total` or `selection_total`, attribute = nil | spans with any value |
//! | `__meta_error` = `__too_many_values__`, attribute = nil | nothing, it has no points: there are more values than are told |
//!
//! Of an attribute with more than [`MAX_COMPARED_VALUES`](crate::limits::MAX_COMPARED_VALUES)
//! values none is told.

use std::collections::HashMap;

use super::counts::{Counts, SIDES};
use super::labels::sort;
use super::{Grid, Series};
use crate::value::OwnedValue;

const ERROR: &str = "__meta_error";
const TOO_MANY_VALUES: &str = "__too_many_values__";

/// State of one `{ … } | compare({ … })`: mergeable, and independent of the order of spans and of
/// how they were divided.
#[derive(Debug)]
pub struct Comparison {
    top: usize,
    grid: Grid,
    numbers: HashMap<String, u32>,
    attributes: Vec<Counts>,
    /// Memory that attributes take.
    attributes_bytes: usize,
}

/// An attribute of a [`Comparison`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributeNumber(u32);

/// A value of an attribute of a [`Comparison`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueNumber(u32);

impl Comparison {
    /// Nothing counted yet. `top` values of each attribute and side are told.
    #[must_use]
    pub fn new(top: usize, grid: &Grid) -> Self {
        Self {
            top,
            grid: *grid,
            numbers: HashMap::new(),
            attributes: Vec::new(),
            attributes_bytes: 0,
        }
    }

    /// The number of an attribute, made if it is new. The name is as answers show it:
    /// `resource.service.name`.
    pub fn attribute(&mut self, name: &str) -> AttributeNumber {
        if let Some(number) = self.numbers.get(name) {
            return AttributeNumber(*number);
        }
        let number = self.attributes.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        let counts = Counts::new(name, self.grid.points);
        self.attributes_bytes += counts.bytes();
        self.attributes.push(counts);
        AttributeNumber(number)
    }

    /// The number of a value of an attribute, made if it is new. Numbers of different attributes
    /// have nothing to do with each other.
    pub fn value(&mut self, attribute: AttributeNumber, value: &OwnedValue) -> ValueNumber {
        self.change(attribute, |counts| ValueNumber(counts.value(value)))
            // No attribute, nothing to count.
            .unwrap_or(ValueNumber(u32::MAX))
    }

    /// Whether an attribute has too many values to tell any. From then on values are of no use;
    /// that spans have one is still to be added.
    #[must_use]
    pub fn has_too_many(&self, attribute: AttributeNumber) -> bool {
        self.attributes.get(attribute.0 as usize).is_some_and(Counts::has_too_many)
    }

    /// Changes an attribute, and keeps count of its memory.
    #[inline]
    fn change<T>(
        &mut self,
        attribute: AttributeNumber,
        change: impl FnOnce(&mut Counts) -> T,
    ) -> Option<T> {
        let counts = self.attributes.get_mut(attribute.0 as usize)?;
        let bytes_before = counts.bytes();
        let changed = change(counts);
        self.attributes_bytes = self.attributes_bytes + counts.bytes() - bytes_before;
        Some(changed)
    }

    /// Counts `count` spans of a point that have a value.
    #[inline]
    pub fn add(
        &mut self,
        attribute: AttributeNumber,
        value: ValueNumber,
        is_selected: bool,
        point: usize,
        count: u64,
    ) {
        self.change(attribute, |counts| counts.add(value.0, is_selected, point, count));
    }

    /// Adds all that another counted on the same grid.
    pub fn merge(&mut self, other: Comparison) {
        debug_assert_eq!(self.grid, other.grid);
        for from in other.attributes {
            let attribute = self.attribute(&from.name);
            self.change(attribute, |into| into.merge(from));
        }
    }

    /// An estimate of the memory that this takes, known without counting it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.numbers.capacity() * size_of::<(String, u32)>() + self.attributes_bytes
    }

    /// How many points [`Comparison::finish`] gives at most, over all series.
    #[must_use]
    pub fn finished_points(&self) -> usize {
        let series: usize = self.attributes.iter().map(|counts| counts.most_series(self.top)).sum();
        (SIDES.len() * series).saturating_mul(self.grid.points)
    }

    /// The series, sorted by their labels.
    #[must_use]
    pub fn finish(self) -> Vec<Series> {
        let mut series = Vec::new();
        for counts in &self.attributes {
            let has_more =
                [0, 1].map(|side| counts.finish(side, self.top, &self.grid, &mut series));
            if has_more.contains(&true) {
                let labels = vec![
                    (ERROR.to_owned(), OwnedValue::Text(TOO_MANY_VALUES.to_owned())),
                    (counts.name.clone(), OwnedValue::Nil),
                ];
                series.push(Series { labels, points: Vec::new(), exemplars: Vec::new() });
            }
        }
        sort(&mut series);
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_COMPARED_VALUES;
    use crate::metrics::testing::{Random, grid, shown, text};

    fn add(comparison: &mut Comparison, span: (&str, OwnedValue, bool, usize, u64)) {
        let (name, value, is_selected, point, count) = span;
        let attribute = comparison.attribute(name);
        let value = comparison.value(attribute, &value);
        comparison.add(attribute, value, is_selected, point, count);
    }

    #[test]
    fn values_are_counted_in_baseline_and_selection() {
        let mut comparison = Comparison::new(10, &grid(2));
        add(&mut comparison, ("status", text("ok"), false, 0, 3));
        add(&mut comparison, ("status", text("error"), true, 1, 2));
        add(&mut comparison, ("span.num", OwnedValue::Int(5), false, 1, 1));
        add(&mut comparison, ("span.num", OwnedValue::Int(4), false, 1, 1));
        assert_eq!(
            shown(&comparison.finish()),
            [
                "{__meta_type=baseline, span.num=4} 0:0 1:1",
                "{__meta_type=baseline, span.num=5} 0:0 1:1",
                "{__meta_type=baseline, status=ok} 0:3 1:0",
                "{__meta_type=baseline_total, span.num=Nil} 0:0 1:2",
                "{__meta_type=baseline_total, status=Nil} 0:3 1:0",
                "{__meta_type=selection, status=error} 0:0 1:2",
                "{__meta_type=selection_total, status=Nil} 0:0 1:2",
            ]
        );
    }

    #[test]
    fn only_the_most_frequent_values_are_told_and_totals_have_all() {
        let mut comparison = Comparison::new(2, &grid(1));
        for (value, count) in [("d", 1), ("c", 1), ("a", 1), ("b", 5)] {
            add(&mut comparison, ("name", text(value), false, 0, count));
        }
        add(&mut comparison, ("name", text("z"), true, 0, 1));
        assert_eq!(
            shown(&comparison.finish()),
            [
                "{__meta_error=__too_many_values__, name=Nil} ",
                "{__meta_type=baseline, name=a} 0:1",
                "{__meta_type=baseline, name=b} 0:5",
                "{__meta_type=baseline_total, name=Nil} 0:8",
                "{__meta_type=selection, name=z} 0:1",
                "{__meta_type=selection_total, name=Nil} 0:1",
            ]
        );
    }

    #[test]
    fn any_order_and_any_division_gives_the_same_answer() {
        let mut random = Random::new(8);
        let names = ["name", "status", "span.a", "span.b"];
        let mut spans: Vec<_> = (0..2_000)
            .map(|_| {
                let name = names[random.below(4) as usize];
                let value = OwnedValue::Int((random.unit().powi(3) * 30.0) as i64);
                (name, value, random.below(4) == 0, random.below(80) as usize, 1)
            })
            .collect();
        let mut whole = Comparison::new(10, &grid(80));
        spans.iter().cloned().for_each(|span| add(&mut whole, span));
        let expected = whole.finish();
        for _ in 0..5 {
            random.shuffle(&mut spans);
            let mut merged = Comparison::new(10, &grid(80));
            for part in spans.chunks(1 + random.below(900) as usize) {
                let mut comparison = Comparison::new(10, &grid(80));
                part.iter().cloned().for_each(|span| add(&mut comparison, span));
                merged.merge(comparison);
            }
            assert!(merged.bytes() > 4 * 30 * 80);
            assert_eq!(merged.attributes_bytes, merged.attributes.iter().map(Counts::bytes).sum());
            assert!(merged.finished_points() >= points(&expected));
            assert_eq!(merged.finish(), expected);
        }
    }

    #[test]
    fn of_too_many_values_none_is_told_however_they_come() {
        let most = MAX_COMPARED_VALUES as i64;
        let compared = |parts: &[(i64, i64)]| {
            let mut merged = Comparison::new(1, &grid(1));
            for (begin, end) in parts {
                let mut comparison = Comparison::new(1, &grid(1));
                for value in *begin..*end {
                    let span = ("span.id", OwnedValue::Int(value), value % 2 == 0, 0, 1);
                    add(&mut comparison, span);
                    add(&mut comparison, ("name", text("a"), false, 0, 1));
                }
                merged.merge(comparison);
            }
            assert_eq!(merged.attributes_bytes, merged.attributes.iter().map(Counts::bytes).sum());
            let attribute = merged.attribute("span.id");
            (merged.has_too_many(attribute), shown(&merged.finish()))
        };
        let (has_too_many, told) = compared(&[(0, most)]);
        assert!(
            !has_too_many && told.contains(&"{__meta_type=baseline, span.id=1} 0:1".to_owned())
        );
        let too_many = [
            "{__meta_error=__too_many_values__, span.id=Nil} ".to_owned(),
            format!("{{__meta_type=baseline, name=a}} 0:{}", most + 1),
            format!("{{__meta_type=baseline_total, name=Nil}} 0:{}", most + 1),
            format!("{{__meta_type=baseline_total, span.id=Nil}} 0:{}", most / 2),
            format!("{{__meta_type=selection_total, span.id=Nil}} 0:{}", most / 2 + 1),
        ];
        for parts in [&[(0, most + 1)][..], &[(0, 10), (10, most + 1)], &[(5, most + 1), (0, 5)]] {
            assert_eq!(compared(parts), (true, too_many.to_vec()));
        }
    }

    fn points(series: &[Series]) -> usize {
        series.iter().map(|series| series.points.len()).sum()
    }

    #[test]
    fn memory_and_points_are_known_as_they_grow() {
        let mut random = Random::new(3);
        let mut comparison = Comparison::new(10, &grid(500));
        assert_eq!(comparison.finished_points(), 0);
        for nth in 0..3_000 {
            let name = format!("span.{}", random.below(20));
            let value = OwnedValue::Int(random.below(1 + nth / 100) as i64);
            let point = random.below(500) as usize;
            add(&mut comparison, (&name, value, random.below(2) == 0, point, 1));
            let walked = comparison.attributes.iter().map(Counts::bytes).sum();
            assert_eq!(comparison.attributes_bytes, walked);
        }
        let told = comparison.finished_points();
        assert_eq!(told, 20 * 2 * (10 + 1) * 500, "ten values of each, and all");
        assert_eq!(points(&comparison.finish()), told);
    }

    #[test]
    fn numbers_of_others_are_ignored() {
        let mut other = Comparison::new(1, &grid(1));
        let attribute = other.attribute("a");
        let mut comparison = Comparison::new(1, &grid(1));
        let value = comparison.value(attribute, &text("x"));
        comparison.add(attribute, value, false, 0, 1);
        assert!(comparison.finish().is_empty());
    }
}
