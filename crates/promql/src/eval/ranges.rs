//! Functions over ranges, driven over the rows of a grid.

use std::sync::Arc;

use super::error::EvalError;
use super::evaluator::{Evaluator, RangeRow};
use super::grid::{Grid, Row, Steps, is_absent, present};
use super::plan::{CallPlan, Plan, PlanNode, When};
use super::window::{Around, Window};
use super::{changes, extended, over_time, parallel, rate, trend};
use crate::annotations::Annotations;
use crate::ast::{Edges, Span, ValueType};
use crate::histogram::Histogram;
use crate::labels::{Labels, TYPE};
use crate::matcher::{LabelMatcher, MatchOp};
use crate::sample::{Samples, Value};

/// A function of a window.
pub(crate) type RangeFunction =
    fn(&Window<'_>, &Around<'_>, &mut Annotations) -> Result<Option<Value>, EvalError>;

fn find(name: &str) -> Option<RangeFunction> {
    Some(match name {
        "absent_over_time" | "present_over_time" => over_time::present,
        "avg_over_time" => over_time::avg,
        "changes" => changes::changes,
        "count_over_time" => over_time::count,
        "delta" => rate::delta,
        "deriv" => trend::deriv,
        "double_exponential_smoothing" => trend::double_exponential_smoothing,
        "first_over_time" => over_time::first,
        "idelta" => rate::idelta,
        "increase" => rate::increase,
        "irate" => rate::irate,
        "last_over_time" => over_time::last,
        "mad_over_time" => over_time::mad,
        "max_over_time" => over_time::max,
        "min_over_time" => over_time::min,
        "predict_linear" => trend::predict_linear,
        "quantile_over_time" => over_time::quantile,
        "rate" => rate::rate,
        "resets" => changes::resets,
        "stddev_over_time" => over_time::stddev,
        "stdvar_over_time" => over_time::stdvar,
        "sum_over_time" => over_time::sum,
        "ts_of_first_over_time" => over_time::time_of_first,
        "ts_of_last_over_time" => over_time::time_of_last,
        "ts_of_max_over_time" => over_time::time_of_max,
        "ts_of_min_over_time" => over_time::time_of_min,
        _ => return None,
    })
}

/// Functions that look at start times.
const USING_STARTS: [&str; 4] = ["increase", "irate", "rate", "resets"];

/// What a call is, for all its rows.
struct Ranges<'a> {
    function: RangeFunction,
    name: &'static str,
    steps: &'a Steps,
    when: When,
    range: i64,
    edges: Edges,
    lookback: i64,
    uses_starts: bool,
    span: Span,
    /// The other arguments, at each step.
    params: Vec<Vec<f64>>,
}

/// What the rows of one thread came to.
type Part = Result<(Vec<(usize, Arc<Histogram>)>, Annotations), EvalError>;

impl Evaluator<'_> {
    /// Evaluates a function of a range.
    pub(crate) fn eval_range_call(
        &self,
        call: &CallPlan,
        arg: &Plan,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let name = call.function.name;
        let function = find(name).ok_or_else(|| unknown(name))?;
        let (when, range, edges) = match &arg.node {
            PlanNode::Range(range) => (range.selector.when, range.range, range.selector.edges),
            PlanNode::Subquery(subquery) => (subquery.when, subquery.range, Edges::Plain),
            _ => return Err(unknown(name)),
        };
        let others = call.args.iter().filter(|arg| arg.value_type != ValueType::Matrix);
        let params = others.map(|arg| self.scalar_of(arg, steps)).collect::<Result<_, _>>()?;
        check_edges(name, edges)?;
        // What a subquery is told of has no place of its own, as in Prometheus.
        let is_subquery = |arg: &Plan| matches!(arg.node, PlanNode::Subquery(_));
        let first = call.args.first().filter(|arg| !is_subquery(arg));
        let span = first.map(|arg| arg.span).unwrap_or_default();
        let ranges = Ranges {
            function,
            name,
            steps,
            when,
            range,
            edges,
            lookback: self.options.lookback,
            uses_starts: self.options.start_timestamps && USING_STARTS.contains(&name),
            span,
            params,
        };
        let inputs = self.rows_of(arg, steps)?;
        let grid = self.run(&ranges, &inputs)?;
        if name == "absent_over_time" {
            return Ok(absent_over_time(&grid, arg));
        }
        self.note_non_counters(&ranges, &inputs, &grid);
        let grid = grid.without_empty_rows();
        if self.options.delayed_name_removal { Ok(grid) } else { unique(grid) }
    }

    fn run(&self, ranges: &Ranges<'_>, inputs: &[RangeRow]) -> Result<Grid, EvalError> {
        let keeps_name = matches!(ranges.name, "last_over_time" | "first_over_time");
        let mut rows: Vec<Row> = inputs.iter().map(|input| input.row.clone()).collect();
        if !keeps_name {
            rows.iter_mut().for_each(|row| self.drop_name(row));
        }
        let mut grid = self.grid(ranges.steps, rows)?;
        let width = ranges.steps.count;
        let fill = |first: usize, cells: &mut [f64]| -> Part {
            let (mut histograms, mut notes) = (Vec::new(), Annotations::default());
            let mut usual = rate::UsualFactors::default();
            for (nth, cells) in cells.chunks_mut(width.max(1)).enumerate() {
                let mut put = |step: usize, histogram: Arc<Histogram>| {
                    histograms.push(((first + nth) * width + step, histogram));
                };
                ranges.row(&inputs[first + nth], cells, &mut put, &mut usual, &mut notes)?;
            }
            Ok((histograms, notes))
        };
        let threads = self.options.threads;
        for part in parallel::fill(threads, grid.all_floats_mut(), width, fill) {
            let (histograms, notes) = part?;
            for (cell, histogram) in histograms {
                grid.set_histogram(cell, histogram);
            }
            self.note(notes);
        }
        Ok(grid)
    }

    /// Says of which series a rate was taken though they may be no counters.
    fn note_non_counters(&self, ranges: &Ranges<'_>, inputs: &[RangeRow], grid: &Grid) {
        if !matches!(ranges.name, "rate" | "increase") {
            return;
        }
        let mut notes = Annotations::default();
        for (number, input) in inputs.iter().enumerate() {
            let labels = &input.row.labels;
            let name = labels.metric_name();
            if name.is_empty() || grid.floats(number).iter().all(|float| is_absent(*float)) {
                continue;
            }
            if self.options.type_and_unit_labels {
                let metric_type = labels.get(TYPE).unwrap_or_default();
                if !matches!(metric_type, "counter" | "histogram") {
                    notes.possible_non_counter_type(name, metric_type, ranges.span);
                }
            } else if !["_total", "_sum", "_count", "_bucket"].iter().any(|s| name.ends_with(s)) {
                notes.possible_non_counter(name, ranges.span);
            }
        }
        self.note(notes);
    }
}

impl Ranges<'_> {
    /// Fills a row: walks over its samples once, whatever the number of steps.
    fn row(
        &self,
        input: &RangeRow,
        cells: &mut [f64],
        put: &mut dyn FnMut(usize, Arc<Histogram>),
        usual: &mut rate::UsualFactors,
        notes: &mut Annotations,
    ) -> Result<(), EvalError> {
        let filtered;
        let samples: &Samples = if input.samples.has_stale() {
            filtered = input.samples.without_stale();
            &filtered
        } else {
            &input.samples
        };
        if self.edges == Edges::Plain
            && let Some(kind) = rate::Kind::of(self.name)
            && let Some(counter) = rate::Prefix::of(samples, kind, self.uses_starts)
        {
            self.fast_row(samples, &counter, usual, cells);
            return Ok(());
        }
        self.windows(samples, &input.row.labels, |step, window, around| {
            match (self.function)(window, around, notes)? {
                Some(Value::Float(float)) => cells[step] = present(float),
                Some(Value::Histogram(histogram)) => put(step, histogram),
                None => {}
            }
            Ok(())
        })
    }

    /// Fills a row of floats with rates.
    fn fast_row(
        &self,
        samples: &Samples,
        counter: &rate::Prefix<'_>,
        usual: &mut rate::UsualFactors,
        cells: &mut [f64],
    ) {
        let (mut low, mut high) = (0, 0);
        for (step, cell) in cells.iter_mut().enumerate() {
            let end = self.when.time(self.steps.time(step));
            let start = end - self.range;
            low = advanced(&samples.times, low, start);
            high = advanced(&samples.times, high.max(low), end);
            if let Some(value) = counter.value((low, high), (start, end), usual) {
                *cell = present(value);
            }
        }
    }

    /// Calls `visit` with each window that holds something.
    fn windows(
        &self,
        samples: &Samples,
        labels: &Labels,
        mut visit: impl FnMut(usize, &Window<'_>, &Around<'_>) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let (before, behind) = match self.edges {
            Edges::Plain => (0, 0),
            Edges::Anchored => (self.lookback, 0),
            Edges::Smoothed => (self.lookback, self.lookback),
        };
        let has_starts = self.uses_starts && !samples.starts.is_empty();
        let histograms = &samples.histograms;
        let (mut low, mut high, mut low_histogram, mut high_histogram) = (0, 0, 0, 0);
        let mut params = vec![0.0; self.params.len()];
        for step in 0..self.steps.count {
            let step_time = self.steps.time(step);
            let end = self.when.time(step_time);
            let start = end - self.range;
            let (from, to) = (start - before, end + behind);
            low = advanced(&samples.times, low, from);
            high = advanced(&samples.times, high.max(low), to);
            while histograms.get(low_histogram).is_some_and(|s| s.time <= from) {
                low_histogram += 1;
            }
            high_histogram = high_histogram.max(low_histogram);
            while histograms.get(high_histogram).is_some_and(|s| s.time <= to) {
                high_histogram += 1;
            }
            let window = Window {
                times: &samples.times[low..high],
                values: &samples.values[low..high],
                starts: if has_starts { &samples.starts[low..high] } else { &[] },
                histograms: &histograms[low_histogram..high_histogram],
            };
            if window.is_empty() {
                continue;
            }
            for (param, values) in params.iter_mut().zip(&self.params) {
                *param = values[step];
            }
            let around = Around {
                labels,
                span: self.span,
                step_time,
                start,
                end,
                edges: self.edges,
                uses_starts: self.uses_starts,
                params: &params,
            };
            visit(step, &window, &around)?;
        }
        Ok(())
    }
}

/// The first place from `at` on whose time is later than `time`.
#[inline]
fn advanced(times: &[i64], mut at: usize, time: i64) -> usize {
    while times.get(at).is_some_and(|t| *t <= time) {
        at += 1;
    }
    at
}

fn check_edges(name: &str, edges: Edges) -> Result<(), EvalError> {
    let (word, allowed): (_, &[&str]) = match edges {
        Edges::Plain => return Ok(()),
        Edges::Anchored => ("anchored", &extended::ANCHORED_FUNCTIONS),
        Edges::Smoothed => ("smoothed", &extended::SMOOTHED_FUNCTIONS),
    };
    if allowed.contains(&name) {
        return Ok(());
    }
    let allowed = allowed.join(", ");
    let text = format!("{word} modifier can only be used with: {allowed} - not with {name}");
    Err(EvalError::Execution(text))
}

fn unknown(name: &str) -> EvalError {
    EvalError::Execution(format!("function {name} cannot be evaluated over a range"))
}

fn unique(grid: Grid) -> Result<Grid, EvalError> {
    let rows = grid.rows.len();
    let merged = grid.merged()?;
    if merged.rows.len() == rows { Ok(merged) } else { Err(EvalError::same_labels()) }
}

/// 1 at the steps at which no row has a sample.
fn absent_over_time(grid: &Grid, arg: &Plan) -> Grid {
    let is_present = |step| (0..grid.rows.len()).any(|row| grid.is_present(row, step));
    let labels = absent_labels(arg);
    let mut absent = Grid::new(grid.steps, vec![Row { labels, drops_name: true }]);
    for step in (0..grid.steps).filter(|step| !is_present(*step)) {
        absent.set(0, step, Value::Float(1.0));
    }
    absent.without_empty_rows()
}

/// The labels that a selector fixes: those of what would be there.
pub(crate) fn absent_labels(plan: &Plan) -> Labels {
    let matchers: &[LabelMatcher] = match &plan.node {
        PlanNode::Selector(selector) => &selector.matchers,
        PlanNode::Range(range) => &range.selector.matchers,
        _ => &[],
    };
    let mut labels = Labels::default();
    let mut seen: Vec<&str> = Vec::new();
    for matcher in matchers.iter().filter(|matcher| matcher.name != crate::labels::NAME) {
        if matcher.op == MatchOp::Equal && !seen.contains(&matcher.name.as_str()) {
            labels = labels.with(&matcher.name, &matcher.value);
            seen.push(&matcher.name);
        } else {
            labels = labels.with(&matcher.name, "");
        }
    }
    labels
}
