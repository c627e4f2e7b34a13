//! From spans to series: the state of one `{ … } | function() by (…)`.
//!
//! States of parts of the spans can be merged. The answer does not depend on the order of spans or
//! parts, nor on how spans were divided into parts, down to the last bit: counts are integers, sums
//! are exact until the end, and quantiles come from counts.

use std::iter;

use super::buckets::Buckets;
use super::candidates::{Candidate, Candidates};
use super::cells::Cells;
use super::labels::{NIL, Numbers, plain};
use super::sketch::Sketch;
use super::sum::Sum;
use super::{Grid, Series};
use crate::ast::{Attribute, MetricsFunction};
use crate::value::OwnedValue;

/// Durations are measured in seconds, but counted in these.
pub(super) const NANOS_PER_SECOND: f64 = 1e9;

/// State of one `{ … } | function() by (…)`.
#[derive(Debug)]
pub struct Aggregation {
    pub(super) function: MetricsFunction,
    /// What series are grouped by, as it is shown.
    pub(super) by: Vec<String>,
    pub(super) grid: Grid,
    pub(super) groups: Numbers,
    pub(super) state: State,
    pub(super) candidates: Option<Candidates>,
    /// Units of the state in one unit of what is measured: durations are counted in nanoseconds.
    pub(super) scale: f64,
    /// Memory that single cells own.
    owned_bytes: usize,
    nil: OwnedValue,
}

/// What is kept of each group and point.
#[derive(Debug)]
pub(super) enum State {
    Counts(Cells<u64>),
    /// NaN where there is none.
    Least(Cells<f64>),
    /// NaN where there is none.
    Greatest(Cells<f64>),
    Sums(Cells<Sum>),
    /// Boxed, because most cells of a page may be empty.
    Sketches(Cells<Option<Box<Sketch>>>),
    Buckets(Buckets),
}

/// A group of an [`Aggregation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(u32);

/// A series, and spans that may be shown as examples of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The series, without exemplars.
    pub series: Series,
    /// At most one span for each point, by point.
    pub candidates: Vec<Candidate>,
}

impl Aggregation {
    /// Nothing measured yet. `compare()` is measured by [`Comparison`](super::Comparison); here it
    /// would only be counted.
    #[must_use]
    pub fn new(function: &MetricsFunction, by: &[Attribute], grid: &Grid, exemplars: bool) -> Self {
        let points = grid.points;
        let (state, measured) = match function {
            MetricsFunction::Rate
            | MetricsFunction::CountOverTime
            | MetricsFunction::Compare { .. } => (State::Counts(Cells::new(points, 0)), None),
            MetricsFunction::MinOverTime(of) => {
                (State::Least(Cells::new(points, f64::NAN)), Some(of))
            }
            MetricsFunction::MaxOverTime(of) => {
                (State::Greatest(Cells::new(points, f64::NAN)), Some(of))
            }
            MetricsFunction::SumOverTime(of) | MetricsFunction::AvgOverTime(of) => {
                (State::Sums(Cells::new(points, Sum::default())), Some(of))
            }
            MetricsFunction::QuantileOverTime(of, _) => {
                (State::Sketches(Cells::new(points, None)), Some(of))
            }
            MetricsFunction::HistogramOverTime(of) => {
                (State::Buckets(Buckets::new(points)), Some(of))
            }
        };
        Self {
            function: function.clone(),
            by: by.iter().map(Attribute::to_string).collect(),
            grid: *grid,
            groups: Numbers::default(),
            state,
            candidates: exemplars.then(|| Candidates::new(points)),
            scale: if measured.is_some_and(Attribute::is_duration) {
                NANOS_PER_SECOND
            } else {
                1.0
            },
            owned_bytes: 0,
            nil: OwnedValue::Text(NIL.to_owned()),
        }
    }

    /// The group of these values of what is grouped by ([`OwnedValue::Nil`] where there is none),
    /// made if it is new.
    #[inline]
    pub fn group(&mut self, key: &[OwnedValue]) -> Group {
        let groups_before = self.groups.len();
        let is_all_missing = key.iter().all(|value| *value == OwnedValue::Nil);
        let number = match key.split_first() {
            // Such a group is shown with the text `nil`, unless it has a label of the function; one
            // that has this text looks the same.
            Some((_, rest)) if is_all_missing && !self.has_own_label() => {
                self.groups.number(iter::once(&self.nil).chain(rest))
            }
            _ => self.groups.number(key.iter()),
        };
        if self.groups.len() > groups_before {
            self.extend_groups();
        }
        Group(number)
    }

    /// Whether each series has a label besides those that are grouped by.
    fn has_own_label(&self) -> bool {
        matches!(self.state, State::Sketches(_) | State::Buckets(_))
    }

    fn extend_groups(&mut self) {
        let groups = self.groups.len();
        match &mut self.state {
            State::Counts(cells) => cells.extend_rows(groups),
            State::Least(cells) | State::Greatest(cells) => cells.extend_rows(groups),
            State::Sums(cells) => cells.extend_rows(groups),
            State::Sketches(cells) => cells.extend_rows(groups),
            State::Buckets(buckets) => buckets.extend_groups(groups),
        }
        if let Some(candidates) = &mut self.candidates {
            candidates.extend_groups(groups);
        }
    }

    /// Adds a span to a point of a group.
    ///
    /// `value` is what is measured, in its unit, durations in seconds; rates and counts ignore it,
    /// all others ignore the span if it is NaN. `start_nanos` is when the span began and `token`
    /// tells which it was: of each group and point the newest span, then the one with the least
    /// token, is a candidate for an exemplar.
    #[inline]
    pub fn add(&mut self, group: Group, point: usize, value: f64, start_nanos: i64, token: u64) {
        let row = group.0 as usize;
        if let State::Counts(cells) = &mut self.state {
            if let Some(count) = cells.cell(row, point) {
                *count += 1;
            }
        } else if value.is_nan() {
            return;
        } else {
            self.measure(row, point, plain(value));
        }
        if let Some(candidates) = &mut self.candidates {
            candidates.offer(row, point, value, start_nanos, token);
        }
    }

    /// Adds many spans to a point of a group at once, for rates and counts. `start_nanos` and `token`
    /// are those of the newest of them.
    pub fn add_many(
        &mut self,
        group: Group,
        point: usize,
        spans: u64,
        start_nanos: i64,
        token: u64,
    ) {
        let row = group.0 as usize;
        let State::Counts(cells) = &mut self.state else { return };
        if let Some(count) = cells.cell(row, point) {
            *count += spans;
        }
        if let Some(candidates) = &mut self.candidates {
            candidates.offer(row, point, f64::NAN, start_nanos, token);
        }
    }

    #[inline]
    fn measure(&mut self, row: usize, point: usize, value: f64) {
        match &mut self.state {
            State::Counts(_) => {}
            State::Least(cells) => {
                if let Some(least) = cells.cell(row, point) {
                    *least = least.min(value);
                }
            }
            State::Greatest(cells) => {
                if let Some(greatest) = cells.cell(row, point) {
                    *greatest = greatest.max(value);
                }
            }
            State::Sums(cells) => {
                if let Some(sum) = cells.cell(row, point) {
                    self.owned_bytes += sum.add(scaled(value, self.scale));
                }
            }
            State::Sketches(cells) => {
                if let Some(cell) = cells.cell(row, point) {
                    let sketch = cell.get_or_insert_with(|| {
                        self.owned_bytes += size_of::<Sketch>();
                        Box::default()
                    });
                    self.owned_bytes = self.owned_bytes.saturating_add_signed(sketch.add(value));
                }
            }
            State::Buckets(buckets) => buckets.add(row, point, scaled(value, self.scale)),
        }
    }

    /// Adds all that another measured: of the same function, grouped alike, on the same grid.
    pub fn merge(&mut self, other: Aggregation) {
        debug_assert_eq!((&self.function, &self.by), (&other.function, &other.by));
        debug_assert_eq!(self.grid, other.grid);
        let groups: Vec<_> =
            other.groups.values().iter().map(|key| self.group(key).0 as usize).collect();
        let owned_bytes = &mut self.owned_bytes;
        match (&mut self.state, other.state) {
            (State::Counts(into), State::Counts(from)) => {
                into.merge(from, &groups, |into, from| *into += from);
            }
            (State::Least(into), State::Least(from)) => {
                into.merge(from, &groups, |into, from| *into = into.min(from));
            }
            (State::Greatest(into), State::Greatest(from)) => {
                into.merge(from, &groups, |into, from| *into = into.max(from));
            }
            (State::Sums(into), State::Sums(from)) => {
                into.merge(from, &groups, |into, from| *owned_bytes += into.merge(from));
            }
            (State::Sketches(into), State::Sketches(from)) => {
                into.merge(from, &groups, |into, from| {
                    let Some(from) = from else { return };
                    let into = into.get_or_insert_with(|| {
                        *owned_bytes += size_of::<Sketch>();
                        Box::default()
                    });
                    *owned_bytes = owned_bytes.saturating_add_signed(into.merge(*from));
                });
            }
            (State::Buckets(into), State::Buckets(from)) => into.merge(from, &groups),
            _ => {}
        }
        if let (Some(into), Some(from)) = (&mut self.candidates, other.candidates) {
            into.merge(from, &groups);
        }
    }

    /// An estimate of the memory that this takes, known without counting it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let cells = match &self.state {
            State::Counts(cells) => cells.bytes(),
            State::Least(cells) | State::Greatest(cells) => cells.bytes(),
            State::Sums(cells) => cells.bytes(),
            State::Sketches(cells) => cells.bytes(),
            State::Buckets(buckets) => buckets.bytes(),
        };
        let candidates = self.candidates.as_ref().map_or(0, Candidates::bytes);
        self.groups.bytes() + cells + self.owned_bytes + candidates
    }
}

/// A value in the units that are counted. Nanoseconds are whole; seconds are not, and would show
/// that a tenth is not a tenth in binary.
#[inline]
pub(super) fn scaled(value: f64, scale: f64) -> f64 {
    // What is rounded to zero from below has no sign either.
    if scale == 1.0 { value } else { (value * scale).round() + 0.0 }
}
