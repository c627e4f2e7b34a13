//! How much a series grew: `rate`, `increase`, `delta`, `irate`, `idelta`.
//!
//! Samples do not lie at the edges of a range. Where the first and last are close
//! enough to them, the growth is extended to the edges; otherwise by half the usual
//! distance of two samples. A counter is not extended below zero. A counter that
//! falls began anew at zero; start times say so also where it did not fall.

use std::sync::Arc;

use super::error::EvalError;
use super::extended;
use super::window::{Around, Window, is_start_overlap, is_start_reset};
use crate::annotations::{Annotations, Operation};
use crate::ast::Edges;
use crate::histogram::{Histogram, ResetHint};
use crate::sample::{HistogramSample, Samples, Value};

/// What is computed of the growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The series only grows, but for resets.
    pub(crate) is_counter: bool,
    /// The growth of a second.
    pub(crate) is_rate: bool,
}

impl Kind {
    const RATE: Self = Self { is_counter: true, is_rate: true };
    const INCREASE: Self = Self { is_counter: true, is_rate: false };
    const DELTA: Self = Self { is_counter: false, is_rate: false };

    /// The kind of a function of that name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "rate" => Some(Self::RATE),
            "increase" => Some(Self::INCREASE),
            "delta" => Some(Self::DELTA),
            _ => None,
        }
    }
}

/// `rate(range)`
pub(crate) fn rate(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(growth(window, around, Kind::RATE, notes))
}

/// `increase(range)`
pub(crate) fn increase(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(growth(window, around, Kind::INCREASE, notes))
}

/// `delta(range)`
pub(crate) fn delta(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(growth(window, around, Kind::DELTA, notes))
}

/// Times of the samples of a window, in relation to its range.
#[derive(Debug, Clone, Copy)]
struct Coverage {
    first: i64,
    last: i64,
    /// Distances between samples.
    gaps: usize,
    start: i64,
    end: i64,
}

impl Coverage {
    /// The factor from what was sampled to the whole range. `to_zero` is how long
    /// ago a counter was zero, in seconds before its first sample.
    #[inline]
    fn factor(&self, to_zero: impl FnOnce(f64) -> Option<f64>) -> f64 {
        self.extended(|sampled, to_start| match to_zero(sampled) {
            Some(to_zero) if to_zero < to_start => to_zero,
            _ => to_start,
        })
    }

    /// The factor, with a word on how far it is extended to the begin: of the seconds that were
    /// sampled and those that it would be.
    #[inline]
    fn extended(&self, to_begin: impl FnOnce(f64, f64) -> f64) -> f64 {
        let sampled = (self.last - self.first) as f64 / 1000.0;
        let average = sampled / self.gaps as f64;
        let threshold = average * 1.1;
        let mut to_start = (self.first - self.start) as f64 / 1000.0;
        let mut to_end = (self.end - self.last) as f64 / 1000.0;
        if to_start >= threshold {
            to_start = average / 2.0;
        }
        to_start = to_begin(sampled, to_start);
        if to_end >= threshold {
            to_end = average / 2.0;
        }
        if sampled == 0.0 { 1.0 } else { (sampled + to_start + to_end) / sampled }
    }

    /// The factor if the counter began at `began`, within the range: there is
    /// nothing to extend before that.
    fn factor_since(&self, began: i64) -> f64 {
        let between = (self.last - self.first) as f64 / 1000.0;
        let average = if self.gaps > 0 { between / self.gaps as f64 } else { 0.0 };
        let sampled = (self.last - began) as f64 / 1000.0;
        let mut to_end = (self.end - self.last) as f64 / 1000.0;
        if to_end >= average * 1.1 {
            to_end = average / 2.0;
        }
        if sampled == 0.0 { 1.0 } else { (sampled + to_end) / sampled }
    }
}

fn growth(
    window: &Window<'_>,
    around: &Around<'_>,
    kind: Kind,
    notes: &mut Annotations,
) -> Option<Value> {
    if !window.times.is_empty() && !window.histograms.is_empty() {
        notes.mixed_floats_histograms(around.metric_name(), around.span);
        return None;
    }
    if around.edges != Edges::Plain {
        return extended::growth(window, around, kind, notes);
    }
    if window.histograms.is_empty() {
        float_growth(window, around, kind, notes).map(Value::Float)
    } else {
        let grown = histogram_growth(window.histograms, around, kind, notes)?;
        Some(Value::Histogram(Arc::new(grown)))
    }
}

fn float_growth(
    window: &Window<'_>,
    around: &Around<'_>,
    kind: Kind,
    notes: &mut Annotations,
) -> Option<f64> {
    let (times, values, starts) = (window.times, window.values, window.starts);
    let (first, last) = (*values.first()?, *values.last()?);
    let mut grown = last - first;
    if kind.is_counter {
        let mut overlaps = false;
        for now in 1..values.len() {
            let before = now - 1;
            let mut is_reset = values[now] < values[before];
            if !starts.is_empty() {
                let before = (starts[before], times[before]);
                overlaps |= is_start_overlap(before, starts[now]);
                is_reset |= is_start_reset(before, (starts[now], times[now]));
            }
            if is_reset {
                grown += values[before];
            }
        }
        if overlaps {
            notes.start_overlap(around.metric_name(), around.span);
        }
    }
    let coverage = Coverage {
        first: times[0],
        last: times[times.len() - 1],
        gaps: times.len() - 1,
        start: around.start,
        end: around.end,
    };
    let began = starts.first().copied().filter(|began| kind.is_counter && coverage.holds(*began));
    let factor = match began {
        Some(began) => {
            grown += first;
            coverage.factor_since(began)
        }
        None if coverage.gaps == 0 => return None,
        None => coverage.factor(|sampled| {
            (kind.is_counter && grown > 0.0 && first >= 0.0).then(|| sampled * (first / grown))
        }),
    };
    Some(grown * per_second(factor, kind, around))
}

impl Coverage {
    /// Whether a counter began within the range, before its first sample.
    fn holds(&self, began: i64) -> bool {
        began != 0 && began > self.start && began < self.first
    }
}

fn per_second(factor: f64, kind: Kind, around: &Around<'_>) -> f64 {
    if kind.is_rate { factor / around.range_secs() } else { factor }
}

fn histogram_growth(
    samples: &[HistogramSample],
    around: &Around<'_>,
    kind: Kind,
    notes: &mut Annotations,
) -> Option<Histogram> {
    let (first, last) = (samples.first()?, samples.last()?);
    let mut grown = match samples.len() {
        1 => None,
        _ => Some(histogram_difference(samples, around, kind.is_counter, notes)?),
    };
    let coverage = Coverage {
        first: first.time,
        last: last.time,
        gaps: samples.len() - 1,
        start: around.start,
        end: around.end,
    };
    let began = around.start_of(first);
    let factor = if kind.is_counter && coverage.holds(began) {
        match &mut grown {
            None => grown = Some((*first.value).clone()),
            Some(grown) => add(grown, &first.value, around, notes)?,
        }
        coverage.factor_since(began)
    } else if coverage.gaps == 0 {
        return None;
    } else {
        let count = grown.as_ref().map_or(0.0, |grown| grown.count);
        coverage.factor(|sampled| {
            let can_be_zero = kind.is_counter && count > 0.0 && first.value.count >= 0.0;
            can_be_zero.then(|| sampled * (first.value.count / count))
        })
    };
    let mut grown = grown?;
    grown.multiply(per_second(factor, kind, around));
    Some(grown)
}

/// Adds a histogram; `None`, with a note, if the two do not go together.
pub(crate) fn add(
    base: &mut Histogram,
    other: &Histogram,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Option<()> {
    let Ok(combined) = base.add(other) else {
        notes.mixed_exponential_custom(around.metric_name(), around.span);
        return None;
    };
    if combined.bounds_reconciled {
        notes.bounds_reconciled(Operation::Addition, around.span);
    }
    Some(())
}

/// Subtracts a histogram, likewise.
pub(crate) fn subtract(
    base: &mut Histogram,
    other: &Histogram,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Option<()> {
    let Ok(combined) = base.subtract(other) else {
        notes.mixed_exponential_custom(around.metric_name(), around.span);
        return None;
    };
    if combined.bounds_reconciled {
        notes.bounds_reconciled(Operation::Subtraction, around.span);
    }
    Some(())
}

/// The last histogram less the first, with what resets took away.
fn histogram_difference(
    samples: &[HistogramSample],
    around: &Around<'_>,
    is_counter: bool,
    notes: &mut Annotations,
) -> Option<Histogram> {
    let at = |nth: usize| (around.start_of(&samples[nth]), samples[nth].time);
    let (first, last) = (&samples[0].value, &samples[samples.len() - 1].value);
    let name = around.metric_name();
    let is_gauge = |histogram: &Histogram| histogram.hint == ResetHint::Gauge;
    if is_counter && samples.iter().any(|sample| is_gauge(&sample.value)) {
        notes.not_counter_histogram(name, around.span);
    }
    // After a reset between the first two, the first does not matter, whatever
    // buckets it has.
    let second = &samples[1].value;
    let began_anew = is_counter && (is_start_reset(at(0), at(1)) || second.detect_reset(first));
    let nothing = Histogram {
        schema: second.schema,
        custom_bounds: second.custom_bounds.clone(),
        ..Histogram::default()
    };
    let mut before: &Histogram = if began_anew { &nothing } else { first };
    let is_custom = before.uses_custom_buckets();
    let inner = if is_counter { &samples[1..samples.len() - 1] } else { &[] };
    let mut all = inner.iter().map(|sample| &*sample.value).chain([&**last]);
    if all.any(|histogram| histogram.uses_custom_buckets() != is_custom) {
        notes.mixed_exponential_custom(name, around.span);
        return None;
    }
    let schemas = inner.iter().map(|sample| sample.value.schema);
    let schema = schemas.chain([last.schema, before.schema]).min().unwrap_or(last.schema);
    let mut grown = last.copy_to_schema(schema);
    subtract(&mut grown, before, around, notes)?;
    if is_counter {
        let mut overlaps = false;
        for (nth, sample) in samples.iter().enumerate().skip(1) {
            overlaps |= is_start_overlap(at(nth - 1), at(nth).0);
            if is_start_reset(at(nth - 1), at(nth)) || sample.value.detect_reset(before) {
                add(&mut grown, before, around, notes)?;
            }
            before = &sample.value;
        }
        if overlaps {
            notes.start_overlap(name, around.span);
        }
    } else if !is_gauge(first) || !is_gauge(last) {
        notes.not_gauge_histogram(name, around.span);
    }
    grown.hint = ResetHint::Gauge;
    grown.compact(0);
    Some(grown)
}

/// Growth over any window of a series of floats, without walking over its samples:
/// resets are looked for once. What they took away is summed up for each window, as
/// a difference of sums from the beginning would lose what is small beside them.
#[derive(Debug)]
pub(crate) struct Prefix<'a> {
    times: &'a [i64],
    values: &'a [f64],
    /// The samples before which a reset lies.
    resets: &'a [u32],
    kind: Kind,
}

impl<'a> Prefix<'a> {
    /// `None` if the series is not one of finite floats without start times.
    pub(crate) fn of(samples: &'a Samples, kind: Kind, uses_starts: bool) -> Option<Self> {
        let has_starts = uses_starts && kind.is_counter && !samples.starts.is_empty();
        let is_plain = samples.histograms.is_empty() && !has_starts;
        if !is_plain || !samples.are_finite() {
            return None;
        }
        let resets = if kind.is_counter { samples.falls() } else { &[] };
        Some(Self { times: &samples.times, values: &samples.values, resets, kind })
    }

    /// The growth over the samples from `low` up to, but without, `high`.
    #[inline]
    pub(crate) fn value(
        &self,
        (low, high): (usize, usize),
        (start, end): (i64, i64),
        usual: &mut UsualFactors,
    ) -> Option<f64> {
        if high < low + 2 {
            return None;
        }
        let (first, last) = (low, high - 1);
        let mut grown = self.values[last] - self.values[first];
        if !self.resets.is_empty() {
            let next = self.resets.partition_point(|reset| *reset as usize <= first);
            for reset in &self.resets[next..] {
                let reset = *reset as usize;
                if reset > last {
                    break;
                }
                grown += self.values[reset - 1];
            }
        }
        let coverage = Coverage {
            first: self.times[first],
            last: self.times[last],
            gaps: last - first,
            start,
            end,
        };
        let usual = usual.of(&coverage, self.kind.is_rate);
        let value = self.values[first];
        let can_be_zero = self.kind.is_counter && grown > 0.0 && value >= 0.0;
        // Whether the counter was zero within what it is extended by, without a division.
        if !(can_be_zero && usual.sampled * value < usual.to_start * grown) {
            return Some(grown * usual.factor);
        }
        let factor = coverage.factor(|sampled| Some(sampled * (value / grown)));
        let range_secs = (end - start) as f64 / 1000.0;
        Some(if self.kind.is_rate { grown * (factor / range_secs) } else { grown * factor })
    }
}

/// What times alone make of a growth. Series are sampled together and at a steady pace, so that
/// the same distances come again and again, from step to step and from series to series; to know
/// them saves most divisions.
#[derive(Debug, Default)]
pub(crate) struct UsualFactors([Usual; USUAL_COUNT]);

/// Distances that are remembered: a pace and steps that do not go together make a few.
const USUAL_BITS: u32 = 4;
const USUAL_COUNT: usize = 1 << USUAL_BITS;

#[derive(Debug, Clone, Copy, Default)]
struct Usual {
    /// From the first to the last sample, from the begin of the range to the first, from the last
    /// to its end, in milliseconds; and how many gaps there are. None for nothing remembered.
    distances: (i64, i64, i64, usize),
    /// Seconds from the first to the last sample.
    sampled: f64,
    /// Seconds by which the growth is extended to the begin.
    to_start: f64,
    /// The factor, of a second if a rate is asked for.
    factor: f64,
}

impl UsualFactors {
    #[inline]
    fn of(&mut self, coverage: &Coverage, is_rate: bool) -> &Usual {
        let Coverage { first, last, gaps, start, end } = *coverage;
        let distances = (last - first, first - start, end - last, gaps);
        let mixed = (distances.1 * 7 + distances.2) as u64;
        let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - USUAL_BITS)) as usize;
        let known = &mut self.0[place];
        if known.distances != distances {
            *known = Usual::new(coverage, distances, is_rate);
        }
        known
    }
}

impl Usual {
    #[cold]
    fn new(coverage: &Coverage, distances: (i64, i64, i64, usize), is_rate: bool) -> Self {
        let mut extended_by = 0.0;
        let factor = coverage.extended(|_, to_start| {
            extended_by = to_start;
            to_start
        });
        let range_secs = (coverage.end - coverage.start) as f64 / 1000.0;
        Self {
            distances,
            sampled: (coverage.last - coverage.first) as f64 / 1000.0,
            to_start: extended_by,
            factor: if is_rate { factor / range_secs } else { factor },
        }
    }
}

/// `irate(range)`
pub(crate) fn irate(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(instant_growth(window, around, true, notes))
}

/// `idelta(range)`
pub(crate) fn idelta(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(instant_growth(window, around, false, notes))
}

/// One of the last two samples.
#[derive(Debug, Clone, Copy)]
struct Last<'a> {
    time: i64,
    start: i64,
    value: LastValue<'a>,
}

#[derive(Debug, Clone, Copy)]
enum LastValue<'a> {
    Float(f64),
    Histogram(&'a Histogram),
}

/// The last two samples of a window.
fn last_two<'a>(window: &Window<'a>, around: &Around<'_>) -> Option<[Last<'a>; 2]> {
    let floats = window.times.len();
    let float = |nth: usize| Last {
        time: window.times[nth],
        start: window.starts.get(nth).copied().unwrap_or(0),
        value: LastValue::Float(window.values[nth]),
    };
    let histogram = |sample: &'a HistogramSample| Last {
        time: sample.time,
        start: around.start_of(sample),
        value: LastValue::Histogram(&sample.value),
    };
    let histograms = &window.histograms[window.histograms.len().saturating_sub(2)..];
    let mut last: Vec<Last<'a>> = (floats.saturating_sub(2)..floats).map(float).collect();
    last.extend(histograms.iter().map(histogram));
    last.sort_by_key(|last| last.time);
    let [.., before, now] = last[..] else { return None };
    Some([before, now])
}

fn instant_growth(
    window: &Window<'_>,
    around: &Around<'_>,
    is_rate: bool,
    notes: &mut Annotations,
) -> Option<Value> {
    let [before, now] = last_two(window, around)?;
    let between = now.time - before.time;
    if between == 0 {
        return None;
    }
    let secs = between as f64 / 1000.0;
    let is_reset = is_start_reset((before.start, before.time), (now.start, now.time));
    let (name, span) = (around.metric_name(), around.span);
    match (before.value, now.value) {
        (LastValue::Float(old), LastValue::Float(new)) => {
            let grown = if is_rate && (new < old || is_reset) { new } else { new - old };
            Some(Value::Float(if is_rate { grown / secs } else { grown }))
        }
        (LastValue::Histogram(old), LastValue::Histogram(new)) => {
            let gauges = [old, new].map(|histogram| histogram.hint == ResetHint::Gauge);
            if is_rate && gauges.contains(&true) {
                notes.not_counter_histogram(name, span);
            }
            if !is_rate && gauges.contains(&false) {
                notes.not_gauge_histogram(name, span);
            }
            let mut grown = new.clone();
            if !is_rate || (!is_reset && !new.detect_reset(old)) {
                subtract(&mut grown, old, around, notes)?;
            }
            grown.hint = ResetHint::Gauge;
            grown.compact(0);
            if is_rate {
                grown.divide(secs);
            }
            Some(Value::Histogram(Arc::new(grown)))
        }
        _ => {
            notes.mixed_floats_histograms(name, span);
            None
        }
    }
}
