//! Points over time to samples: what is absent, what was reset, what accumulates.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_promql::histogram::{Histogram, ResetHint};
use kymo_promql::number::format_float;
use kymo_promql::sample::{HistogramSample, STALE_NAN, Samples, is_stale};
use kymo_store::series::codec::Points;

use super::unfold::{Unfolded, Variant};

/// The bit of a point's flags that says that it has no value.
const NO_RECORDED_VALUE: u32 = 1;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Points and how they are to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) points: &'a Points,
    pub(super) is_delta: bool,
    /// Start times say since when values count.
    pub(super) has_starts: bool,
}

/// The time of a point, since when it counts, and whether it has a value.
pub(super) struct Moment {
    time: i64,
    start: i64,
    pub(super) is_absent: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn moments(&self) -> impl Iterator<Item = Moment> + use<'a> {
        let has_starts = self.has_starts;
        let columns = self.points.times_nanos.iter().zip(self.points.start_times_nanos.iter());
        columns.zip(self.points.flags.iter()).map(move |((time, start), flags)| Moment {
            time: time.div_euclid(NANOS_PER_MILLI),
            start: if has_starts { start.div_euclid(NANOS_PER_MILLI) } else { 0 },
            is_absent: flags & NO_RECORDED_VALUE != 0,
        })
    }

    /// Room for a sample of each point.
    pub(super) fn floats(&self) -> Floats {
        Floats::new(self.is_delta, self.points.len())
    }

    pub(super) fn histograms(&self, values: impl Iterator<Item = Option<Histogram>>) -> Samples {
        let mut samples = Samples::default();
        let mut running: Option<(Histogram, i64, i64)> = None;
        for (moment, value) in self.moments().zip(values) {
            let Some(mut value) = value else { continue };
            let mut since = moment.start;
            if moment.is_absent {
                value = Histogram { sum: STALE_NAN, ..Histogram::default() };
                running = None;
            } else if self.is_delta {
                value.hint = ResetHint::Unknown;
                if let Some((total, start, before)) = running.take()
                    && goes_on(moment.start, before)
                {
                    let mut sum = total;
                    if sum.add(&value).is_ok() {
                        (value, since) = (sum, start);
                    }
                }
                running = Some((value.clone(), since, moment.time));
            }
            let value = Arc::new(value);
            samples.histograms.push(HistogramSample { time: moment.time, start: since, value });
        }
        keep_later(&mut samples.histograms);
        samples.settle_hints();
        samples
    }
}

/// Whether a delta that begins at a time goes on from what ended at another. Who does not say when
/// it begins goes on.
fn goes_on(start: i64, before: i64) -> bool {
    start == 0 || start <= before
}

/// Of histograms of one time, the one that comes later.
pub(super) fn keep_later(histograms: &mut Vec<HistogramSample>) {
    histograms.reverse();
    histograms.dedup_by_key(|sample| sample.time);
    histograms.reverse();
}

/// Samples of numbers as they come.
#[derive(Debug)]
pub(super) struct Floats {
    samples: Samples,
    is_delta: bool,
    /// What deltas come to, since when, until when.
    running: Option<(f64, i64, i64)>,
}

impl Floats {
    fn new(is_delta: bool, count: usize) -> Self {
        let (times, values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let samples = Samples { times, values, ..Samples::default() };
        Self { samples, is_delta, running: None }
    }

    pub(super) fn push(&mut self, moment: &Moment, value: f64) {
        if moment.is_absent || is_stale(value) {
            self.running = None;
            put(&mut self.samples, moment.time, 0, STALE_NAN);
        } else if self.is_delta {
            let (total, since) = match self.running {
                Some((total, since, before)) if goes_on(moment.start, before) => {
                    (total + value, since)
                }
                _ => (value, moment.start),
            };
            self.running = Some((total, since, moment.time));
            put(&mut self.samples, moment.time, since, total);
        } else {
            put(&mut self.samples, moment.time, moment.start, value);
        }
    }

    pub(super) fn finish(mut self) -> Samples {
        without_empty_starts(&mut self.samples);
        self.samples
    }
}

/// Appends a float. Two within one millisecond are one: the later.
pub(super) fn put(samples: &mut Samples, time: i64, start: i64, value: f64) {
    if samples.times.last() == Some(&time) {
        samples.times.pop();
        samples.values.pop();
        samples.starts.pop();
    }
    samples.times.push(time);
    samples.values.push(value);
    samples.starts.push(start);
}

/// Where no start is known, none is kept.
pub(super) fn without_empty_starts(samples: &mut Samples) {
    if samples.starts.iter().all(|start| *start == 0) {
        samples.starts = Vec::new();
    }
}

/// Samples by the bound of a bucket, or by a quantile.
#[derive(Debug)]
pub(super) struct ByBound<'a> {
    is_delta: bool,
    /// Points to come, the first included.
    count: usize,
    all: Vec<(f64, Floats)>,
    /// Where each bound is, by its bits.
    known: HashMap<u64, usize>,
    /// The bounds of the point before, which are nearly always those of the next, and where they
    /// are.
    before: &'a [f64],
    places: Vec<Option<usize>>,
}

impl<'a> ByBound<'a> {
    pub(super) fn new(reading: Reading<'_>) -> Self {
        Self {
            is_delta: reading.is_delta,
            count: reading.points.len(),
            all: Vec::new(),
            known: HashMap::new(),
            before: &[],
            places: Vec::new(),
        }
    }

    /// Adds a value for each bound of a point. One that is absent ends all bounds that there were.
    pub(super) fn push(
        &mut self,
        moment: &Moment,
        bounds: &'a [f64],
        values: impl Iterator<Item = f64>,
    ) {
        if moment.is_absent {
            self.all.iter_mut().for_each(|(_, samples)| samples.push(moment, STALE_NAN));
            return;
        }
        if bounds != self.before {
            self.places = bounds.iter().map(|bound| self.place(*bound)).collect();
            self.before = bounds;
        }
        for (place, value) in self.places.iter().zip(values) {
            if let Some(place) = place {
                self.all[*place].1.push(moment, value);
            }
        }
        // What begins later has fewer: no room is taken for it beforehand.
        self.count = 0;
    }

    /// Where a bound is. What is beyond all numbers is no bound.
    fn place(&mut self, bound: f64) -> Option<usize> {
        if bound.is_nan() || bound == f64::INFINITY {
            return None;
        }
        // There are two zeroes, and they are one bound.
        let bound = bound + 0.0;
        let place = *self.known.entry(bound.to_bits()).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push((bound, Floats::new(self.is_delta, self.count)));
        }
        Some(place)
    }

    /// The samples of each bound, in order of bounds.
    pub(super) fn finish(mut self, variant: impl Fn(Box<str>) -> Variant) -> Unfolded {
        self.all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let finished = |(bound, samples): (f64, Floats)| {
            (variant(format_float(bound).into()), Arc::new(samples.finish()))
        };
        self.all.into_iter().map(finished).collect()
    }
}

/// A part of accumulated deltas that follows on others, as it is if it goes on from them: rows of a
/// series are read by themselves, and each begins at zero.
pub(super) fn following(before: &Samples, part: &Samples) -> Samples {
    let mut part = part.clone();
    let first = part.starts.first().copied().unwrap_or(0);
    if let (Some(total), Some(until)) = (before.values.last(), before.times.last())
        && !is_stale(*total)
        && goes_on(first, *until)
    {
        let start = |nth: usize| part.starts.get(nth).copied().unwrap_or(0);
        let is_of_run = |(nth, value): &(usize, &f64)| !is_stale(**value) && start(*nth) == first;
        let run = part.values.iter().enumerate().take_while(is_of_run).count();
        part.values[..run].iter_mut().for_each(|value| *value += total);
        let since = before.starts.last().copied().unwrap_or(0);
        part.starts.iter_mut().take(run).for_each(|start| *start = since);
    }
    let first = part.histograms.first().map_or(0, |sample| sample.start);
    if let Some(total) = before.histograms.last()
        && !total.value.is_stale()
        && goes_on(first, total.time)
    {
        let run = part.histograms.iter_mut();
        for sample in run.take_while(|s| s.start == first && !s.value.is_stale()) {
            let mut sum = (*total.value).clone();
            if sum.add(&sample.value).is_ok() {
                (sample.value, sample.start) = (Arc::new(sum), total.start);
            }
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(time: i64, start: i64) -> Moment {
        Moment { time, start, is_absent: false }
    }

    fn deltas(points: &[(i64, i64, f64)]) -> Samples {
        let mut floats = Floats::new(true, 0);
        points.iter().for_each(|(time, start, value)| floats.push(&moment(*time, *start), *value));
        floats.finish()
    }

    #[test]
    fn deltas_in_two_rows_come_to_what_they_do_in_one() {
        let points = [
            (10, 1, 1.0),
            (20, 10, 2.0),
            (30, 20, 4.0),
            (40, 35, 8.0),
            (50, 40, 16.0),
            (60, 50, STALE_NAN),
            (70, 60, 32.0),
        ];
        let whole = deltas(&points);
        assert_eq!(whole.values[..5], [1.0, 3.0, 7.0, 8.0, 24.0]);
        for at in 1..points.len() {
            let (first, second) = (deltas(&points[..at]), deltas(&points[at..]));
            let second = following(&first, &second);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&second.values), bits(&whole.values[at..]), "divided at {at}");
            assert_eq!(second.starts, whole.starts[at..], "divided at {at}");
        }
        // Without start times everything goes on.
        let parts = (deltas(&[(1, 0, 1.0), (2, 0, 2.0)]), deltas(&[(3, 0, 3.0), (4, 0, 4.0)]));
        assert_eq!(following(&parts.0, &parts.1).values, [6.0, 10.0]);
    }

    #[test]
    fn bounds_that_change_make_series_of_their_own_without_room_for_all_points() {
        let points = Points::new(kymo_store::series::codec::PointValues::Numbers(
            kymo_store::series::codec::Numbers::default(),
        ));
        let reading = Reading { points: &points, is_delta: false, has_starts: false };
        let mut by_bound = ByBound::new(reading);
        let lists: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 2.0], &[-0.0, 1.0, f64::INFINITY]];
        for (time, bounds) in (1..).zip(lists) {
            by_bound.push(&moment(time, 0), bounds, [1.0, 2.0, 3.0].into_iter());
        }
        let absent = Moment { is_absent: true, ..moment(4, 0) };
        by_bound.push(&absent, &[], std::iter::empty());
        let all = by_bound.finish(Variant::Bucket);
        let shown: Vec<(&str, &[i64])> = all
            .iter()
            .map(|(variant, samples)| (variant.label().unwrap().1, &*samples.times))
            .collect();
        assert_eq!(shown, [("0", &[3, 4][..]), ("1", &[1, 2, 3, 4]), ("2", &[1, 2, 4])]);
        assert!(all.iter().all(|(_, samples)| is_stale(*samples.values.last().unwrap())));
    }
}
