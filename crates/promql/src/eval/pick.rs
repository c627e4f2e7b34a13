//! Aggregations that pick series: `topk`, `bottomk`, `limitk`, `limit_ratio`.

use std::cmp::Ordering;

use xxhash_rust::xxh64::xxh64;

use super::aggregate::{Groups, Param};
use super::error::EvalError;
use super::evaluator::Evaluator;
use super::grid::{Grid, is_absent};
use crate::annotations::Annotations;
use crate::ast::{AggregateOp, Grouping, Span};
use crate::labels::Labels;
use crate::number::format_g;

impl Evaluator<'_> {
    /// The rows that are picked, at the steps at which they are.
    pub(crate) fn pick(
        &self,
        op: AggregateOp,
        param: &Param,
        grid: &Grid,
        grouping: &Grouping,
        span: Span,
    ) -> Result<Grid, EvalError> {
        let mut notes = Annotations::default();
        if !check_param(op, param, &mut notes)? {
            return Ok(Grid::new(grid.steps, Vec::new()));
        }
        let groups = Groups::of(&grid.rows, grouping);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.labels.len()];
        for (row, group) in groups.of_row.iter().enumerate() {
            members[*group].push(row);
        }
        // In the order in which they are picked, which of one step is the result's.
        let mut order = Vec::new();
        let mut is_picked = vec![false; grid.cells()];
        let offsets = match op {
            AggregateOp::LimitRatio => grid.rows.iter().map(|r| hash_fraction(&r.labels)).collect(),
            _ => Vec::new(),
        };
        for step in 0..grid.steps {
            let picking = Picking { op, param: param.values[step], offsets: &offsets, span };
            for members in &members {
                for row in picking.pick(grid, step, members, &mut notes) {
                    is_picked[row * grid.steps + step] = true;
                    if grid.steps == 1 {
                        order.push(row);
                    }
                }
            }
        }
        self.note(notes);
        if grid.steps == 1 {
            return Ok(grid.select_rows(&order));
        }
        let mut result = Grid::new(grid.steps, grid.rows.clone());
        for row in 0..grid.rows.len() {
            for step in (0..grid.steps).filter(|step| is_picked[row * grid.steps + step]) {
                if let Some(value) = grid.get(row, step) {
                    result.set(row, step, value);
                }
            }
        }
        Ok(result.without_empty_rows())
    }
}

/// What is picked at one step.
struct Picking<'a> {
    op: AggregateOp,
    param: f64,
    /// Where the hash of each row's labels lies between 0 and 1.
    offsets: &'a [f64],
    span: Span,
}

impl Picking<'_> {
    /// The rows of one group that are picked, in the order of the result.
    fn pick(
        &self,
        grid: &Grid,
        step: usize,
        members: &[usize],
        notes: &mut Annotations,
    ) -> Vec<usize> {
        let present = members.iter().copied().filter(|row| grid.is_present(*row, step));
        // As large as any group can be.
        let most = if self.param < 1.0 { 0 } else { self.param as usize };
        let (word, is_top) = match self.op {
            AggregateOp::Limitk => return present.take(most).collect(),
            AggregateOp::LimitRatio => {
                return present.filter(|row| self.is_in_ratio(self.offsets[*row])).collect();
            }
            AggregateOp::Topk => ("topk", true),
            _ => ("bottomk", false),
        };
        if most == 0 {
            return Vec::new();
        }
        let value = |row: usize| grid.floats(row)[step];
        let mut best = Best { most, is_top, kept: Vec::new() };
        for row in present {
            match is_absent(value(row)) {
                true => notes.ignored_in_aggregation(word, self.span),
                false => best.offer(row, value(row)),
            }
        }
        best.kept.sort_by(|a, b| order(a.1, b.1, is_top));
        best.kept.into_iter().map(|(row, _)| row).collect()
    }

    fn is_in_ratio(&self, offset: f64) -> bool {
        let ratio = self.param.clamp(-1.0, 1.0);
        if ratio >= 0.0 { offset < ratio } else { offset >= 1.0 + ratio }
    }
}

/// The greatest or least values of those that were offered: a heap with the worst of
/// them on top. It is written out because which of several equal values go when a
/// better one comes depends on how it moves its elements; people who compare with
/// Prometheus see the same series.
struct Best {
    most: usize,
    is_top: bool,
    kept: Vec<(usize, f64)>,
}

impl Best {
    fn offer(&mut self, row: usize, value: f64) {
        if self.kept.len() < self.most {
            self.kept.push((row, value));
            self.raise();
            return;
        }
        let worst = self.kept[0].1;
        let is_better = if self.is_top { worst < value } else { worst > value };
        if is_better || (worst.is_nan() && !value.is_nan()) {
            self.kept[0] = (row, value);
            self.sink();
        }
    }

    /// Whether one place of the heap holds something worse than another.
    fn is_worse(&self, place: usize, other: usize) -> bool {
        let (a, b) = (self.kept[place].1, self.kept[other].1);
        a.is_nan() || if self.is_top { a < b } else { a > b }
    }

    /// Moves the last one up to where it belongs.
    fn raise(&mut self) {
        let mut place = self.kept.len() - 1;
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.is_worse(place, parent) {
                break;
            }
            self.kept.swap(place, parent);
            place = parent;
        }
    }

    /// Moves the first one down to where it belongs.
    fn sink(&mut self) {
        let mut place = 0;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            if left >= self.kept.len() {
                break;
            }
            let is_right = right < self.kept.len() && self.is_worse(right, left);
            let child = if is_right { right } else { left };
            if !self.is_worse(child, place) {
                break;
            }
            self.kept.swap(place, child);
            place = child;
        }
    }
}

/// The order of values, greatest or least first; NaN last.
pub(crate) fn order(a: f64, b: f64, is_descending: bool) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| {
        let ascending = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        if is_descending { ascending.reverse() } else { ascending }
    })
}

/// Whether anything can be picked at all; an error if the parameter makes no sense.
fn check_param(op: AggregateOp, param: &Param, notes: &mut Annotations) -> Result<bool, EvalError> {
    let fail = |text: String| Err(EvalError::Execution(text));
    if op == AggregateOp::LimitRatio {
        if param.max == 0.0 && param.min == 0.0 {
            return Ok(false);
        }
        if param.has_nan() {
            return fail("Ratio value is NaN".to_owned());
        }
        if param.max > 1.0 {
            notes.invalid_ratio(param.max, 1.0, param.span);
        }
        if param.min < -1.0 {
            notes.invalid_ratio(param.min, -1.0, param.span);
        }
        return Ok(true);
    }
    if param.max < 1.0 {
        return Ok(false);
    }
    if param.has_nan() {
        return fail("Parameter value is NaN".to_owned());
    }
    if param.min <= i64::MIN as f64 {
        return fail(format!("Scalar value {} underflows int64", format_g(param.min)));
    }
    if param.max >= i64::MAX as f64 {
        return fail(format!("Scalar value {} overflows int64", format_g(param.max)));
    }
    Ok(true)
}

/// Where labels lie between 0 and 1: their hash, as Prometheus computes it, so that
/// both pick the same series.
fn hash_fraction(labels: &Labels) -> f64 {
    let mut bytes = Vec::new();
    for text in labels.iter().flat_map(|label| [&label.name, &label.value]) {
        match u8::try_from(text.len()) {
            Ok(length) if length < 255 => bytes.push(length),
            _ => {
                bytes.push(255);
                bytes.extend_from_slice(&(text.len() as u32).to_le_bytes()[..3]);
            }
        }
        bytes.extend_from_slice(text.as_bytes());
    }
    xxh64(&bytes, 0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_comes_last_whichever_way() {
        let mut values = [f64::NAN, 1.0, f64::INFINITY, 2.0];
        values.sort_by(|a, b| order(*a, *b, true));
        assert_eq!(values[..3], [f64::INFINITY, 2.0, 1.0]);
        values.sort_by(|a, b| order(*a, *b, false));
        assert_eq!(values[..3], [1.0, 2.0, f64::INFINITY]);
    }

    #[test]
    fn of_equal_values_those_stay_that_a_heap_leaves() {
        let pick = |values: &[f64], is_top: bool| {
            let mut best = Best { most: 2, is_top, kept: Vec::new() };
            values.iter().enumerate().for_each(|(row, value)| best.offer(row, *value));
            let mut rows: Vec<usize> = best.kept.iter().map(|(row, _)| *row).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(pick(&[7.0, 7.0, 7.0], true), [0, 1]);
        assert_eq!(pick(&[7.0, 7.0, 8.0], true), [1, 2]);
        assert_eq!(pick(&[f64::NAN, 1.0, 0.0], true), [1, 2]);
        assert_eq!(pick(&[3.0, 1.0, 2.0, 1.0], false), [1, 3]);
    }

    #[test]
    fn fractions_are_spread() {
        let fraction = |n: usize| hash_fraction(&Labels::of([("n", n.to_string().as_str())]));
        let below = (0..1000).filter(|n| fraction(*n) < 0.3).count();
        assert!((250..350).contains(&below), "{below}");
    }
}
