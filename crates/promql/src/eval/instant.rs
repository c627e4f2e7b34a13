//! Functions of a vector, or of numbers.

use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::error::EvalError;
use super::evaluator::{Evaluated, Evaluator};
use super::grid::{Grid, Steps, is_absent, present};
use super::pick::order;
use super::plan::{CallPlan, Plan, go_max, go_min};
use super::ranges::absent_labels;
use super::relabel::text_of;
use crate::annotations::Annotations;
use crate::ast::Span;
use crate::dates::Date;
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::sample::Value;

/// Beyond this the square of a number hides a one beside it, so that inverse hyperbolic
/// functions are logarithms; computed otherwise they would overflow.
const LARGE: f64 = (1_u64 << 28) as f64;

/// A function of one float.
fn float_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => |value| if value > LARGE { value.ln() + LN_2 } else { value.acosh() },
        "asin" => f64::asin,
        "asinh" => |value| match value.abs() > LARGE {
            true => (value.abs().ln() + LN_2).copysign(value),
            false => value.asinh(),
        },
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => |value| value * 180.0 / std::f64::consts::PI,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "rad" => |value| value * std::f64::consts::PI / 180.0,
        "sgn" => |value| match value.partial_cmp(&0.0) {
            Some(Ordering::Less) => -1.0,
            Some(Ordering::Greater) => 1.0,
            _ => value,
        },
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

/// A function of a date.
fn date_function(name: &str) -> Option<fn(&Date) -> f64> {
    Some(match name {
        "day_of_month" => |date| f64::from(date.day),
        "day_of_week" => |date| f64::from(date.weekday),
        "day_of_year" => |date| f64::from(date.year_day),
        "days_in_month" => |date| f64::from(date.days_in_month()),
        "hour" => |date| f64::from(date.hour),
        "minute" => |date| f64::from(date.minute),
        "month" => |date| f64::from(date.month),
        "year" => |date| date.year as f64,
        _ => return None,
    })
}

/// Seconds as a whole number. What is none, or too large or small, is the last moment
/// that there is: Prometheus' answer, that its processors arrive at.
fn whole_secs(secs: f64) -> i64 {
    let is_known = secs >= i64::MIN as f64 && secs < i64::MAX as f64;
    if is_known { secs as i64 } else { i64::MAX }
}

/// A function of one histogram.
fn histogram_function(name: &str) -> Option<fn(&Histogram) -> f64> {
    Some(match name {
        "histogram_avg" => |histogram| histogram.sum / histogram.count,
        "histogram_count" => |histogram| histogram.count,
        "histogram_stddev" => |histogram| histogram.variance().sqrt(),
        "histogram_stdvar" => Histogram::variance,
        "histogram_sum" => |histogram| histogram.sum,
        _ => return None,
    })
}

impl Evaluator<'_> {
    /// Evaluates a function that takes no range.
    pub(crate) fn eval_instant_call(
        &self,
        call: &CallPlan,
        span: Span,
        steps: &Steps,
    ) -> Result<Evaluated, EvalError> {
        let (name, args) = (call.function.name, &call.args[..]);
        if let Some(function) = float_function(name) {
            return Ok(Evaluated::Grid(self.map_floats(&args[0], steps, |_, v| function(v))?));
        }
        if let Some(function) = date_function(name) {
            return Ok(Evaluated::Grid(self.dates(args, steps, function)?));
        }
        if let Some(function) = histogram_function(name) {
            return Ok(Evaluated::Grid(self.map_histograms(&args[0], steps, function)?));
        }
        let scalar = |nth: usize| self.scalar_of(&args[nth], steps);
        Ok(match name {
            "time" => {
                let time = |step| steps.time(step) as f64 / 1000.0;
                Evaluated::Scalar((0..steps.count).map(time).collect())
            }
            "pi" => Evaluated::Scalar(vec![std::f64::consts::PI; steps.count]),
            "max_of" => Evaluated::Scalar(zipped(&scalar(0)?, &scalar(1)?, go_max)),
            "min_of" => Evaluated::Scalar(zipped(&scalar(0)?, &scalar(1)?, go_min)),
            "scalar" => Evaluated::Scalar(only_floats(&self.grid_of(&args[0], steps)?)),
            "vector" => {
                Evaluated::Grid(Grid::unlabelled(scalar(0)?.into_iter().map(present).collect()))
            }
            "absent" => Evaluated::Grid(self.absent(&args[0], steps)?),
            "clamp" => Evaluated::Grid(self.clamp(args, steps, Some(1), Some(2))?),
            "clamp_max" => Evaluated::Grid(self.clamp(args, steps, None, Some(1))?),
            "clamp_min" => Evaluated::Grid(self.clamp(args, steps, Some(1), None)?),
            "round" => Evaluated::Grid(self.round(args, steps)?),
            "timestamp" => Evaluated::Grid(self.step_times(&args[0], steps)?),
            // Only of a selector are they known.
            "start_timestamp" => {
                self.grid_of(&args[0], steps)?;
                Evaluated::Grid(Grid::new(steps.count, Vec::new()))
            }
            "sort" => Evaluated::Grid(self.sorted(&args[0], span, steps, false)?),
            "sort_desc" => Evaluated::Grid(self.sorted(&args[0], span, steps, true)?),
            "sort_by_label" => Evaluated::Grid(self.sorted_by_label(args, span, steps, false)?),
            "sort_by_label_desc" => Evaluated::Grid(self.sorted_by_label(args, span, steps, true)?),
            "histogram_quantile" => Evaluated::Grid(self.histogram_quantile(args, steps)?),
            "histogram_quantiles" => Evaluated::Grid(self.histogram_quantiles(args, steps)?),
            "histogram_fraction" => Evaluated::Grid(self.histogram_fraction(args, steps)?),
            other => return Err(EvalError::Execution(format!("unknown function {other}"))),
        })
    }

    /// A function of each float, given also its step. Histograms go.
    fn map_floats(
        &self,
        arg: &Plan,
        steps: &Steps,
        function: impl Fn(usize, f64) -> f64,
    ) -> Result<Grid, EvalError> {
        let grid = self.grid_of(arg, steps)?;
        self.mapped(grid, function)
    }

    /// The same of what was evaluated already.
    fn mapped(
        &self,
        mut grid: Grid,
        function: impl Fn(usize, f64) -> f64,
    ) -> Result<Grid, EvalError> {
        grid.clear_histograms();
        for row in 0..grid.rows.len() {
            for (step, cell) in grid.floats_mut(row).iter_mut().enumerate() {
                if !is_absent(*cell) {
                    *cell = present(function(step, *cell));
                }
            }
        }
        grid.rows.iter_mut().for_each(|row| self.drop_name(row));
        self.finished(grid)
    }

    /// A function of each histogram. Floats go.
    fn map_histograms(
        &self,
        arg: &Plan,
        steps: &Steps,
        function: impl Fn(&Histogram) -> f64,
    ) -> Result<Grid, EvalError> {
        let grid = self.grid_of(arg, steps)?;
        let mut rows = grid.rows.clone();
        rows.iter_mut().for_each(|row| self.drop_name(row));
        let mut result = Grid::new(grid.steps, rows);
        if grid.has_histograms() {
            for row in 0..grid.rows.len() {
                for step in 0..grid.steps {
                    if let Some(histogram) = grid.histogram(row, step) {
                        result.set(row, step, Value::Float(function(histogram)));
                    }
                }
            }
        }
        self.finished(result)
    }

    /// Rows that have samples; if names went already, none twice.
    pub(crate) fn finished(&self, grid: Grid) -> Result<Grid, EvalError> {
        let grid = grid.without_empty_rows();
        if self.options.delayed_name_removal { Ok(grid) } else { grid.merged() }
    }

    fn dates(
        &self,
        args: &[Plan],
        steps: &Steps,
        function: impl Fn(&Date) -> f64,
    ) -> Result<Grid, EvalError> {
        let Some(arg) = args.first() else {
            let of_step = |step| function(&Date::of_unix(steps.time(step).div_euclid(1000)));
            return Ok(Grid::unlabelled((0..steps.count).map(of_step).collect()));
        };
        self.map_floats(arg, steps, |_, secs| function(&Date::of_unix(whole_secs(secs))))
    }

    fn absent(&self, arg: &Plan, steps: &Steps) -> Result<Grid, EvalError> {
        let grid = self.grid_of(arg, steps)?;
        let row = super::grid::Row { labels: absent_labels(arg), drops_name: false };
        let mut absent = Grid::new(steps.count, vec![row]);
        for step in 0..steps.count {
            if (0..grid.rows.len()).all(|row| !grid.is_present(row, step)) {
                absent.set(0, step, Value::Float(1.0));
            }
        }
        Ok(absent.without_empty_rows())
    }

    fn clamp(
        &self,
        args: &[Plan],
        steps: &Steps,
        min: Option<usize>,
        max: Option<usize>,
    ) -> Result<Grid, EvalError> {
        let bound = |nth: Option<usize>, otherwise: f64| match nth {
            Some(nth) => self.scalar_of(&args[nth], steps),
            None => Ok(vec![otherwise; steps.count]),
        };
        let mut grid = self.grid_of(&args[0], steps)?;
        let (min, max) = (bound(min, f64::NEG_INFINITY)?, bound(max, f64::INFINITY)?);
        for row in 0..grid.rows.len() {
            for (step, cell) in grid.floats_mut(row).iter_mut().enumerate() {
                if max[step] < min[step] {
                    *cell = super::grid::ABSENT;
                }
            }
        }
        self.mapped(grid, |step, value| go_max(min[step], go_min(max[step], value)))
    }

    fn round(&self, args: &[Plan], steps: &Steps) -> Result<Grid, EvalError> {
        let grid = self.grid_of(&args[0], steps)?;
        let nearest = match args.get(1) {
            Some(nearest) => self.scalar_of(nearest, steps)?,
            None => vec![1.0; steps.count],
        };
        // By the inverse: fewer digits are lost.
        self.mapped(grid, |step, value| {
            let inverse = 1.0 / nearest[step];
            (value * inverse + 0.5).floor() / inverse
        })
    }

    /// `timestamp` of what is no selector: the time of the step.
    fn step_times(&self, arg: &Plan, steps: &Steps) -> Result<Grid, EvalError> {
        let grid = self.grid_of(arg, steps)?;
        let mut rows = grid.rows.clone();
        rows.iter_mut().for_each(|row| self.drop_name(row));
        let mut result = Grid::new(grid.steps, rows);
        for row in 0..grid.rows.len() {
            for step in (0..grid.steps).filter(|step| grid.is_present(row, *step)) {
                result.set(row, step, Value::Float(steps.time(step) as f64 / 1000.0));
            }
        }
        self.finished(result)
    }

    fn note_sort(&self, span: Span, steps: &Steps) {
        if steps.is_range {
            let mut notes = Annotations::default();
            notes.sort_in_range(span);
            self.note(notes);
        }
    }

    fn sorted(
        &self,
        arg: &Plan,
        span: Span,
        steps: &Steps,
        is_descending: bool,
    ) -> Result<Grid, EvalError> {
        let mut grid = self.grid_of(arg, steps)?;
        self.note_sort(span, steps);
        grid.clear_histograms();
        let grid = grid.without_empty_rows();
        if grid.steps != 1 {
            return Ok(grid);
        }
        let mut rows: Vec<usize> = (0..grid.rows.len()).collect();
        let value = |row: usize| grid.floats(row)[0];
        rows.sort_by(|a, b| order(value(*a), value(*b), is_descending));
        Ok(grid.select_rows(&rows))
    }

    fn sorted_by_label(
        &self,
        args: &[Plan],
        span: Span,
        steps: &Steps,
        is_descending: bool,
    ) -> Result<Grid, EvalError> {
        let names: Vec<&str> =
            (1..args.len()).map(|nth| text_of(args, nth)).collect::<Result<_, _>>()?;
        let grid = self.grid_of(&args[0], steps)?;
        self.note_sort(span, steps);
        let mut rows: Vec<usize> = (0..grid.rows.len()).collect();
        let compare = |a: &Labels, b: &Labels| {
            let value = |labels: &Labels, name| labels.get(name).unwrap_or_default().to_owned();
            let by_names = names.iter().map(|name| natural(&value(a, name), &value(b, name)));
            by_names.fold(Ordering::Equal, Ordering::then).then_with(|| a.cmp(b))
        };
        rows.sort_by(|a, b| {
            let ascending = compare(&grid.rows[*a].labels, &grid.rows[*b].labels);
            if is_descending { ascending.reverse() } else { ascending }
        });
        Ok(grid.select_rows(&rows))
    }
}

fn zipped(a: &[f64], b: &[f64], combine: fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| combine(*a, *b)).collect()
}

/// The only float of each step; NaN if there is none, or more than one.
fn only_floats(grid: &Grid) -> Vec<f64> {
    let mut values = vec![f64::NAN; grid.steps];
    let mut counts = vec![0usize; grid.steps];
    for row in 0..grid.rows.len() {
        for (step, float) in grid.floats(row).iter().enumerate() {
            if !is_absent(*float) {
                counts[step] += 1;
                values[step] = if counts[step] == 1 { *float } else { f64::NAN };
            }
        }
    }
    values
}

/// The order of texts in which numbers count as numbers: `a2` before `a10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let digits = |text: &str| {
                text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len())
            };
            let (number, other) = (&a[..digits(a)], &b[..digits(b)]);
            let (trimmed, other_trimmed) =
                (number.trim_start_matches('0'), other.trim_start_matches('0'));
            let by_value =
                trimmed.len().cmp(&other_trimmed.len()).then_with(|| trimmed.cmp(other_trimmed));
            let ordering = by_value.then_with(|| number.len().cmp(&other.len()));
            if ordering != Ordering::Equal {
                return ordering;
            }
            (a, b) = (&a[number.len()..], &b[other.len()..]);
            continue;
        }
        if x != y {
            return x.cmp(&y);
        }
        (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_texts_count_as_numbers() {
        let mut texts = ["a10", "a2", "b", "a02", "a", "a2b"];
        texts.sort_by(|a, b| natural(a, b));
        assert_eq!(texts, ["a", "a2", "a2b", "a02", "a10", "b"]);
        assert_eq!(natural("é1", "é1"), Ordering::Equal);
    }
}
