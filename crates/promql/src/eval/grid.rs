//! The samples of an expression at every step: rows are series, columns steps.
//!
//! A cell holds a float, a histogram or nothing. Floats of all rows are one
//! vector, so that what most queries do is a walk over memory; nothing is a NaN
//! with a payload of its own, which no other NaN in a grid has. Histograms take
//! room only where there are some.

use std::sync::Arc;

use hashbrown::HashMap;

use super::error::EvalError;
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::sample::Value;

/// A float that is none.
pub(crate) const ABSENT: f64 = f64::from_bits(0x7ff4_6b79_6d6f_0001);

/// Whether a cell holds no float.
#[inline]
pub(crate) fn is_absent(value: f64) -> bool {
    value.to_bits() == ABSENT.to_bits()
}

/// A float as it may stand in a cell: a NaN is the ordinary one.
#[inline]
pub(crate) fn present(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// The times of an evaluation, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) start: i64,
    pub(crate) step: i64,
    pub(crate) count: usize,
    /// Whether it is over a time, even if one step alone lies in it.
    pub(crate) is_range: bool,
}

impl Steps {
    /// The steps from `start` to `end`; none if it ends before.
    pub(crate) fn new(start: i64, end: i64, step: i64) -> Self {
        let count = if end < start { 0 } else { (end - start) / step.max(1) + 1 };
        Self { start, step, count: count as usize, is_range: end != start }
    }

    /// The only step.
    pub(crate) fn instant(time: i64) -> Self {
        Self { start: time, step: 1, count: 1, is_range: false }
    }

    pub(crate) fn time(&self, nth: usize) -> i64 {
        self.start + nth as i64 * self.step
    }

    pub(crate) fn end(&self) -> i64 {
        self.time(self.count.saturating_sub(1))
    }
}

/// What describes a row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) labels: Labels,
    /// The name goes when the query ends.
    pub(crate) drops_name: bool,
}

/// Samples of series at steps.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) steps: usize,
    pub(crate) rows: Vec<Row>,
    floats: Vec<f64>,
    /// For each cell, or empty if there is none at all.
    histograms: Vec<Option<Arc<Histogram>>>,
}

/// A row whose labels another has too: its number, that of the first with them, and
/// where that one is among the first ones.
type Repeated = (usize, usize, usize);

impl Grid {
    /// Rows without samples.
    pub(crate) fn new(steps: usize, rows: Vec<Row>) -> Self {
        let floats = vec![ABSENT; steps * rows.len()];
        Self { steps, rows, floats, histograms: Vec::new() }
    }

    /// One row without labels.
    pub(crate) fn unlabelled(floats: Vec<f64>) -> Self {
        let rows = vec![Row { labels: Labels::default(), drops_name: false }];
        Self { steps: floats.len(), rows, floats, histograms: Vec::new() }
    }

    pub(crate) fn cells(&self) -> usize {
        self.floats.len()
    }

    pub(crate) fn has_histograms(&self) -> bool {
        !self.histograms.is_empty()
    }

    /// The floats of a row.
    #[inline]
    pub(crate) fn floats(&self, row: usize) -> &[f64] {
        &self.floats[row * self.steps..(row + 1) * self.steps]
    }

    /// The floats of a row, to change.
    #[inline]
    pub(crate) fn floats_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.floats[row * self.steps..(row + 1) * self.steps]
    }

    /// All floats, row after row.
    pub(crate) fn all_floats_mut(&mut self) -> &mut [f64] {
        &mut self.floats
    }

    /// The histogram of a cell.
    #[inline]
    pub(crate) fn histogram(&self, row: usize, step: usize) -> Option<&Arc<Histogram>> {
        self.histograms.get(row * self.steps + step)?.as_ref()
    }

    /// The sample of a cell.
    pub(crate) fn get(&self, row: usize, step: usize) -> Option<Value> {
        let float = self.floats[row * self.steps + step];
        if !is_absent(float) {
            return Some(Value::Float(float));
        }
        self.histogram(row, step).cloned().map(Value::Histogram)
    }

    /// Whether a cell holds something.
    #[inline]
    pub(crate) fn is_present(&self, row: usize, step: usize) -> bool {
        !is_absent(self.floats[row * self.steps + step]) || self.histogram(row, step).is_some()
    }

    /// Puts a sample into a cell.
    pub(crate) fn set(&mut self, row: usize, step: usize, value: Value) {
        match value {
            Value::Float(float) => self.floats[row * self.steps + step] = present(float),
            Value::Histogram(histogram) => self.set_histogram(row * self.steps + step, histogram),
        }
    }

    /// Puts a histogram into the cell of that number.
    pub(crate) fn set_histogram(&mut self, cell: usize, histogram: Arc<Histogram>) {
        if self.histograms.is_empty() {
            self.histograms = vec![None; self.floats.len()];
        }
        self.histograms[cell] = Some(histogram);
    }

    /// Takes all histograms out.
    pub(crate) fn clear_histograms(&mut self) {
        self.histograms = Vec::new();
    }

    /// Changes each histogram.
    pub(crate) fn change_histograms(&mut self, change: impl Fn(&mut Histogram)) {
        for histogram in self.histograms.iter_mut().flatten() {
            let mut changed = (**histogram).clone();
            change(&mut changed);
            *histogram = Arc::new(changed);
        }
    }

    /// Whether a row has a sample at all.
    pub(crate) fn is_row_present(&self, row: usize) -> bool {
        self.floats(row).iter().any(|float| !is_absent(*float))
            || (self.has_histograms()
                && (0..self.steps).any(|step| self.histogram(row, step).is_some()))
    }

    /// Only the rows named, in that order.
    pub(crate) fn select_rows(&self, rows: &[usize]) -> Self {
        let mut floats = Vec::with_capacity(rows.len() * self.steps);
        let mut histograms = Vec::new();
        for row in rows {
            floats.extend_from_slice(self.floats(*row));
            if self.has_histograms() {
                let cells = row * self.steps..(row + 1) * self.steps;
                histograms.extend_from_slice(&self.histograms[cells]);
            }
        }
        let rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
        Self { steps: self.steps, rows, floats, histograms }
    }

    /// Without the rows that have no samples.
    pub(crate) fn without_empty_rows(self) -> Self {
        let kept: Vec<usize> =
            (0..self.rows.len()).filter(|row| self.is_row_present(*row)).collect();
        if kept.len() == self.rows.len() { self } else { self.select_rows(&kept) }
    }

    /// The one column again and again.
    pub(crate) fn repeated(self, steps: usize) -> Self {
        let repeat = |float: &f64| std::iter::repeat_n(*float, steps);
        let floats = self.floats.iter().flat_map(repeat).collect();
        let histograms = self
            .histograms
            .iter()
            .flat_map(|histogram| std::iter::repeat_n(histogram.clone(), steps))
            .collect();
        Self { steps, rows: self.rows, floats, histograms }
    }

    /// Rows with equal labels as one. An error if two of them have a sample at one
    /// step. Whether the name goes is as with the row whose samples come first.
    pub(crate) fn merged(self) -> Result<Self, EvalError> {
        let first_step = |row: usize| (0..self.steps).find(|step| self.is_present(row, *step));
        let Some((mut merged, others)) = self.firsts_of_labels() else { return Ok(self) };
        let mut begins: HashMap<usize, Option<usize>> = HashMap::new();
        for (number, first, to) in others {
            let begin = begins.entry(to).or_insert_with(|| first_step(first));
            if let Some(step) = first_step(number)
                && begin.is_none_or(|begin| step < begin)
            {
                *begin = Some(step);
                merged.rows[to].drops_name = self.rows[number].drops_name;
            }
            for step in 0..self.steps {
                let Some(value) = self.get(number, step) else { continue };
                if merged.is_present(to, step) {
                    return Err(EvalError::same_labels());
                }
                merged.set(to, step, value);
            }
        }
        Ok(merged)
    }

    /// Rows with equal labels as one. An error if two of them have a float, or a
    /// histogram, at one step: a cell may then hold one of each.
    pub(crate) fn merged_by_kind(self) -> Result<Self, EvalError> {
        let Some((mut merged, others)) = self.firsts_of_labels() else { return Ok(self) };
        for (number, _, to) in others {
            for step in 0..self.steps {
                let float = self.floats(number)[step];
                if !is_absent(float) {
                    let cell = &mut merged.floats_mut(to)[step];
                    if !is_absent(std::mem::replace(cell, float)) {
                        return Err(EvalError::same_labels());
                    }
                }
                if let Some(histogram) = self.histogram(number, step) {
                    if merged.histogram(to, step).is_some() {
                        return Err(EvalError::same_labels());
                    }
                    merged.set_histogram(to * self.steps + step, histogram.clone());
                }
            }
        }
        Ok(merged)
    }

    /// The first row of each label set, and all others; `None` if there are none.
    fn firsts_of_labels(&self) -> Option<(Self, Vec<Repeated>)> {
        let mut by_labels: HashMap<Labels, usize> = HashMap::with_capacity(self.rows.len());
        let mut target = Vec::with_capacity(self.rows.len());
        let mut firsts = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let known = *by_labels.entry(row.labels.clone()).or_insert(firsts.len());
            if known == firsts.len() {
                firsts.push(number);
            }
            target.push(known);
        }
        if firsts.len() == self.rows.len() {
            return None;
        }
        let others = target.iter().enumerate().map(|(number, to)| (number, firsts[*to], *to));
        let others = others.filter(|(number, first, _)| number != first).collect();
        Some((self.select_rows(&firsts), others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> Row {
        Row { labels: Labels::of([("n", name)]), drops_name: false }
    }

    #[test]
    fn rows_of_equal_labels_become_one_unless_they_overlap() {
        let mut grid = Grid::new(2, vec![row("a"), row("b"), row("a")]);
        grid.set(0, 0, Value::Float(1.0));
        grid.set(1, 0, Value::Float(2.0));
        grid.set(2, 1, Value::Float(3.0));
        let merged = grid.clone().merged().unwrap();
        assert_eq!(merged.floats(0), [1.0, 3.0]);
        assert_eq!(merged.rows.len(), 2);
        grid.set(2, 0, Value::Float(4.0));
        assert!(grid.merged().is_err());
    }

    #[test]
    fn the_row_that_begins_first_says_whether_the_name_goes() {
        let mut grid = Grid::new(2, vec![row("a"), row("a")]);
        grid.rows[0].drops_name = true;
        grid.set(0, 1, Value::Float(1.0));
        grid.set(1, 0, Value::Float(2.0));
        assert!(!grid.clone().merged().unwrap().rows[0].drops_name);
        assert!(grid.merged_by_kind().unwrap().rows[0].drops_name);
    }

    #[test]
    fn a_float_and_a_histogram_are_two_kinds() {
        let mut grid = Grid::new(1, vec![row("a"), row("a")]);
        grid.set(0, 0, Value::Float(1.0));
        grid.set(1, 0, Value::Histogram(Arc::new(Histogram::default())));
        let merged = grid.clone().merged_by_kind().unwrap();
        assert!(merged.floats(0) == [1.0] && merged.histogram(0, 0).is_some());
        assert!(grid.merged().is_err());
    }

    #[test]
    fn any_nan_is_a_sample() {
        let mut grid = Grid::new(1, vec![row("a")]);
        assert!(!grid.is_present(0, 0));
        grid.set(0, 0, Value::Float(ABSENT));
        assert!(grid.is_present(0, 0));
    }

    #[test]
    fn steps_end_at_the_last_that_fits() {
        let steps = Steps::new(10, 39, 10);
        assert_eq!((steps.count, steps.end()), (3, 30));
        assert_eq!(Steps::new(10, 9, 10).count, 0);
    }
}
