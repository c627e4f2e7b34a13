//! Quantiles and fractions of histograms, classic ones (a series for each bucket)
//! and native ones (a sample for the whole).

use hashbrown::HashMap;

use super::error::EvalError;
use super::evaluator::Evaluator;
use super::grid::{Grid, Row, Steps, is_absent};
use super::plan::Plan;
use super::relabel::text_of;
use crate::annotations::{Annotations, Forced};
use crate::ast::Span;
use crate::classic::{self, ClassicBucket};
use crate::histogram::QuantileNote;
use crate::labels::Labels;
use crate::number::format_g;
use crate::sample::Value;

/// The label that holds the upper bound of a bucket.
const BUCKET_LABEL: &str = "le";

/// Rows of a vector, by the histograms they make up.
struct Histograms {
    /// Labels of each histogram, those of classic ones without `le`.
    labels: Vec<Labels>,
    /// Rows with bounds, of each histogram.
    buckets: Vec<Vec<(usize, f64)>>,
    /// Which histogram a row is, as a native one.
    native: Vec<usize>,
    /// Rows without a bound that can be read, and what stands there instead.
    malformed: Vec<(usize, String)>,
}

impl Histograms {
    fn of(grid: &Grid) -> Self {
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut found = Self {
            labels: Vec::new(),
            buckets: Vec::new(),
            native: Vec::new(),
            malformed: Vec::new(),
        };
        for (row, Row { labels, .. }) in grid.rows.iter().enumerate() {
            let mut number = |labels: Labels, found: &mut Self| {
                let number = *numbers.entry(labels.clone()).or_insert(found.labels.len());
                if number == found.labels.len() {
                    found.labels.push(labels);
                    found.buckets.push(Vec::new());
                }
                number
            };
            let native = number(labels.clone(), &mut found);
            found.native.push(native);
            let le = labels.get(BUCKET_LABEL).unwrap_or_default();
            match parse_bound(le) {
                Some(bound) => {
                    let classic = number(labels.filtered(|name| name != BUCKET_LABEL), &mut found);
                    found.buckets[classic].push((row, bound));
                }
                None => found.malformed.push((row, le.to_owned())),
            }
        }
        found
    }
}

/// A bound as Go reads numbers.
fn parse_bound(text: &str) -> Option<f64> {
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    match unsigned.as_str() {
        "inf" | "infinity" | "nan" => text.to_ascii_lowercase().parse().ok(),
        _ if unsigned.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') => {
            text.parse().ok()
        }
        _ => None,
    }
}

/// What is computed of a histogram.
trait Measure {
    /// Of a classic one. The buckets may be put in order.
    fn classic(&self, step: usize, buckets: &mut Vec<ClassicBucket>) -> (f64, Option<Forced>);

    /// Of a native one.
    fn native(
        &self,
        step: usize,
        histogram: &crate::histogram::Histogram,
        name: &str,
        notes: &mut Annotations,
    ) -> f64;
}

/// A quantile at each step.
struct Quantile<'a> {
    values: &'a [f64],
    steps: &'a Steps,
    span: Span,
}

impl Measure for Quantile<'_> {
    fn classic(&self, step: usize, buckets: &mut Vec<ClassicBucket>) -> (f64, Option<Forced>) {
        let found = classic::quantile(self.values[step], buckets);
        let forced = found.forced_monotonic.then(|| Forced {
            time: self.steps.time(step),
            min_bucket: found.min_bucket,
            max_bucket: found.max_bucket,
            max_diff: found.max_diff,
        });
        (found.value, forced)
    }

    fn native(
        &self,
        step: usize,
        histogram: &crate::histogram::Histogram,
        name: &str,
        notes: &mut Annotations,
    ) -> f64 {
        let found = histogram.quantile(self.values[step]);
        match found.note {
            Some(QuantileNote::NanResult) => notes.quantile_is_nan(name, self.span),
            Some(QuantileNote::NanSkew) => notes.quantile_is_skewed(name, self.span),
            None => {}
        }
        found.value
    }
}

/// The fraction between two bounds at each step.
struct Fraction<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
    span: Span,
}

impl Measure for Fraction<'_> {
    fn classic(&self, step: usize, buckets: &mut Vec<ClassicBucket>) -> (f64, Option<Forced>) {
        (classic::fraction(self.lower[step], self.upper[step], buckets), None)
    }

    fn native(
        &self,
        step: usize,
        histogram: &crate::histogram::Histogram,
        name: &str,
        notes: &mut Annotations,
    ) -> f64 {
        let found = histogram.fraction(self.lower[step], self.upper[step]);
        if found.has_nan {
            notes.fraction_without_nan(name, self.span);
        }
        found.value
    }
}

impl Evaluator<'_> {
    /// `histogram_quantile(q, vector)`
    pub(crate) fn histogram_quantile(
        &self,
        args: &[Plan],
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let values = self.scalar_of(&args[0], steps)?;
        let grid = self.grid_of(&args[1], steps)?;
        self.note_quantiles(&values, args[0].span);
        let span = args[1].span;
        self.measured(&grid, &Quantile { values: &values, steps, span }, span)
    }

    /// `histogram_quantiles(vector, label, q…)`
    pub(crate) fn histogram_quantiles(
        &self,
        args: &[Plan],
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let label = text_of(args, 1)?;
        let grid = self.grid_of(&args[0], steps)?;
        let span = args[0].span;
        let mut all = Grid::new(steps.count, Vec::new());
        for arg in &args[2..] {
            let values = self.scalar_of(arg, steps)?;
            self.note_quantiles(&values, arg.span);
            let measured =
                self.measured(&grid, &Quantile { values: &values, steps, span }, span)?;
            all = with_quantiles(all, &measured, label, &values);
        }
        // The label may have told series apart that are now alike.
        if steps.is_range { all.merged() } else { self.finished(all) }
    }

    /// `histogram_fraction(lower, upper, vector)`
    pub(crate) fn histogram_fraction(
        &self,
        args: &[Plan],
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let lower = self.scalar_of(&args[0], steps)?;
        let upper = self.scalar_of(&args[1], steps)?;
        let grid = self.grid_of(&args[2], steps)?;
        let span = args[2].span;
        self.measured(&grid, &Fraction { lower: &lower, upper: &upper, span }, span)
    }

    /// Notes what is no quantile: after what was noted of the arguments, as of equal
    /// notes the last counts.
    fn note_quantiles(&self, values: &[f64], span: Span) {
        let mut notes = Annotations::default();
        for value in values.iter().filter(|value| !(0.0..=1.0).contains(*value)) {
            notes.invalid_quantile(*value, span);
        }
        self.note(notes);
    }

    fn measured(&self, grid: &Grid, measure: &impl Measure, span: Span) -> Result<Grid, EvalError> {
        let histograms = Histograms::of(grid);
        let rows = histograms.labels.iter().map(|labels| {
            let mut row = Row { labels: labels.clone(), drops_name: false };
            self.drop_name(&mut row);
            row
        });
        let mut result = self.grid(
            &Steps { start: 0, step: 1, count: grid.steps, is_range: true },
            rows.collect(),
        )?;
        // Names went already if they are not delayed.
        let delays = self.options.delayed_name_removal;
        let name = |labels: &'_ Labels| match delays {
            true => labels.metric_name().to_owned(),
            false => String::new(),
        };
        let mut notes = Annotations::default();
        let mut buckets = Vec::new();
        for step in 0..grid.steps {
            for (row, value) in &histograms.malformed {
                if !is_absent(grid.floats(*row)[step]) {
                    notes.bad_bucket_label(&name(&grid.rows[*row].labels), value, span);
                }
            }
            for (number, rows) in histograms.buckets.iter().enumerate() {
                buckets.clear();
                for (row, upper_bound) in rows {
                    let count = grid.floats(*row)[step];
                    if !is_absent(count) {
                        buckets.push(ClassicBucket { upper_bound: *upper_bound, count });
                    }
                }
                if buckets.is_empty() {
                    continue;
                }
                let (value, forced) = measure.classic(step, &mut buckets);
                if let Some(forced) = forced {
                    notes.forced_monotonicity(&name(&histograms.labels[number]), &forced, span);
                }
                result.set(number, step, Value::Float(value));
            }
        }
        if grid.has_histograms() {
            for (row, number) in histograms.native.iter().enumerate() {
                let metric = name(&grid.rows[row].labels);
                for step in 0..grid.steps {
                    let Some(histogram) = grid.histogram(row, step) else { continue };
                    let is_classic_too = histograms.buckets[*number]
                        .iter()
                        .any(|(bucket, _)| !is_absent(grid.floats(*bucket)[step]));
                    if is_classic_too {
                        notes.mixed_classic_native(&metric, span);
                        result.floats_mut(*number)[step] = super::grid::ABSENT;
                        continue;
                    }
                    let value = measure.native(step, histogram, &metric, &mut notes);
                    result.set(*number, step, Value::Float(value));
                }
            }
        }
        self.note(notes);
        self.finished(result)
    }
}

/// A number as OpenMetrics has it in labels: always with a point or an exponent.
fn open_metrics(value: f64) -> String {
    let text = format_g(value);
    let is_integer = value.is_finite() && !text.contains(['.', 'e']);
    if is_integer { format!("{text}.0") } else { text }
}

/// Adds rows with a label that tells the quantile, which may change from step to
/// step.
fn with_quantiles(all: Grid, measured: &Grid, label: &str, values: &[f64]) -> Grid {
    let mut distinct: Vec<f64> = Vec::new();
    let is_same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    for value in values {
        if !distinct.iter().any(|known| is_same(*known, *value)) {
            distinct.push(*value);
        }
    }
    let mut rows = all.rows.clone();
    for value in &distinct {
        let text = open_metrics(*value);
        rows.extend(
            measured.rows.iter().map(|row| Row {
                labels: row.labels.with(label, &text),
                drops_name: row.drops_name,
            }),
        );
    }
    let mut result = Grid::new(all.steps, rows);
    for row in 0..all.rows.len() {
        result.floats_mut(row).copy_from_slice(all.floats(row));
    }
    for (nth, value) in distinct.iter().enumerate() {
        for row in 0..measured.rows.len() {
            let target = all.rows.len() + nth * measured.rows.len() + row;
            for step in (0..values.len()).filter(|step| is_same(values[*step], *value)) {
                result.floats_mut(target)[step] = measured.floats(row)[step];
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_numbers_as_go_has_them() {
        assert_eq!(parse_bound("+Inf"), Some(f64::INFINITY));
        assert_eq!(parse_bound("-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_bound("1e-3"), Some(0.001));
        assert_eq!(parse_bound(".5"), Some(0.5));
        for text in ["", "Hello World", "1 ", "infinite"] {
            assert_eq!(parse_bound(text), None, "{text}");
        }
    }
}
