//! How numbers are distributed: exact quantiles, and a histogram.
//!
//! A quantile between two numbers is interpolated, as numpy and pandas do unless told otherwise:
//! of `n` sorted numbers, quantile `q` stands at place `q · (n − 1)`.

use serde::Serialize;

use crate::limits::{HISTOGRAM_BINS, QUANTILE_POINTS};

/// A histogram has logarithmic bins if nine of ten numbers lie this far apart (equally spread ones
/// do not), or if the largest is so many times what 99 of a hundred are below.
const LOG_FROM_RATIO: f64 = 20.0;
const LOG_FROM_OUTLIER: f64 = 2.5;
/// What is smaller than the smallest hundredth by this ratio has no bins of its own.
const LOG_FAR: f64 = 50.0;
/// The fewest bins.
const MIN_BINS: usize = 10;
/// Steps of a linear histogram, times a power of ten.
const NICE_STEPS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// How numbers are distributed. All but `count` are 0 if there are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total: f64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// 95 of a hundred are at most this.
    pub p95: f64,
    /// 99 of a hundred are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// How many lie where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// The quantiles from 0 to 1 in equal steps, for a curve.
    #[serde(skip)]
    pub curve: Vec<f64>,
}

/// Numbers by bins that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Histogram {
    /// Whether bins grow by a factor instead of having one width.
    pub is_logarithmic: bool,
    /// The bins.
    pub bins: Vec<Bin>,
}

/// Numbers from `from`, up to and without `to`; the last bin has its end too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// The lower bound.
    pub from: f64,
    /// The upper bound.
    pub to: f64,
    /// How many numbers.
    pub count: u64,
}

impl Distribution {
    /// Of numbers in any order, with a histogram and a curve.
    #[must_use]
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_unstable_by(f64::total_cmp);
        let mut distribution = Self::of_sorted(&numbers);
        if !numbers.is_empty() {
            distribution.histogram = Some(histogram(&numbers));
            let last = QUANTILE_POINTS.min(numbers.len() - 1).max(1);
            let point = |nth: usize| quantile(&numbers, nth as f64 / last as f64);
            distribution.curve = (0..=last).map(point).collect();
        }
        distribution
    }

    /// Of sorted numbers, the figures only.
    #[must_use]
    pub fn of_sorted(numbers: &[f64]) -> Self {
        let (Some(min), Some(max)) = (numbers.first(), numbers.last()) else {
            return Self::default();
        };
        let total: f64 = numbers.iter().sum();
        Self {
            count: numbers.len() as u64,
            total,
            mean: total / numbers.len() as f64,
            min: *min,
            p50: quantile(numbers, 0.5),
            p90: quantile(numbers, 0.9),
            p95: quantile(numbers, 0.95),
            p99: quantile(numbers, 0.99),
            max: *max,
            histogram: None,
            curve: Vec::new(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A quantile of sorted numbers, interpolated; 0 if there are none.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[(below as usize + 1).min(last)]);
    low + (high - low) * (place - below)
}

fn histogram(sorted: &[f64]) -> Histogram {
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let low = quantile(sorted, 0.01);
    let is_wide = quantile(sorted, 0.95) / quantile(sorted, 0.05) > LOG_FROM_RATIO;
    let has_far_end = max / quantile(sorted, 0.99) > LOG_FROM_OUTLIER;
    let is_logarithmic = low > 0.0 && (is_wide || has_far_end);
    let bins = bin_count(sorted.len());
    let edges = match is_logarithmic {
        true => log_edges(min, max, low, bins),
        false => linear_edges(min, max, bins),
    };
    let mut bins = Vec::with_capacity(edges.len());
    let mut from_place = 0;
    for (nth, bounds) in edges.windows(2).enumerate() {
        let [from, to] = [bounds[0], bounds[1]];
        let is_last = nth + 2 == edges.len();
        let to_place =
            if is_last { sorted.len() } else { sorted.partition_point(|number| *number < to) };
        let count = (to_place - from_place.min(to_place)) as u64;
        bins.push(Bin { from, to, count });
        from_place = to_place;
    }
    Histogram { is_logarithmic, bins }
}

/// Rice's rule, within bounds: few numbers in many bins are noise.
fn bin_count(numbers: usize) -> usize {
    let bins = 2.0 * (numbers as f64).cbrt();
    (bins.ceil() as usize).clamp(MIN_BINS, HISTOGRAM_BINS)
}

/// Round numbers from below the smallest to above the largest.
fn linear_edges(min: f64, max: f64, bins: usize) -> Vec<f64> {
    // Zero belongs to numbers that come near it.
    let min = if min > 0.0 && min < max / 2.0 { 0.0 } else { min };
    let width = nice_step((max - min) / bins as f64);
    if width <= 0.0 || !width.is_finite() {
        // All are the same.
        return vec![min, if max > min { max } else { min + min.abs().max(1e-9) }];
    }
    let first = (min / width).floor();
    let last = (max / width).floor() + 1.0;
    let steps = ((last - first) as usize).min(HISTOGRAM_BINS * 4);
    (0..=steps).map(|nth| (first + nth as f64) * width).collect()
}

/// The smallest of 1, 2, 5 times a power of ten that is not less.
pub(crate) fn nice_step(least: f64) -> f64 {
    if least <= 0.0 || !least.is_finite() {
        return 0.0;
    }
    let power = 10f64.powf(least.log10().floor());
    let is_enough = |step: &&f64| **step * power >= least * (1.0 - 1e-9);
    NICE_STEPS.iter().find(is_enough).unwrap_or(&NICE_STEPS[3]) * power
}

/// The same for times: whole minutes, hours and days beyond half a minute.
pub(crate) fn nice_seconds(least: f64) -> f64 {
    const STEPS: [f64; 12] = [
        60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0,
        86_400.0,
    ];
    match least {
        ..=30.0 => nice_step(least),
        _ => STEPS
            .into_iter()
            .find(|step| *step >= least)
            .unwrap_or_else(|| nice_step(least / 86_400.0) * 86_400.0),
    }
}

/// Bounds that grow by one factor. What is far smaller than the smallest hundredth is in the first
/// bin, which begins with it.
fn log_edges(min: f64, max: f64, low: f64, bins: usize) -> Vec<f64> {
    let from = if min > 0.0 && low / min < LOG_FAR { min } else { low / LOG_FAR };
    let factor = (max / from).powf(1.0 / bins as f64);
    let mut edges: Vec<f64> = (0..=bins).map(|nth| from * factor.powi(nth as i32)).collect();
    edges[0] = min.min(from);
    edges[bins] = max;
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.quantile([1, 2, 3, 4, 10], [0, .5, .9, .95, .99, 1])
        let d = Distribution::of(vec![10.0, 3.0, 1.0, 2.0, 4.0]);
        assert_eq!((d.count, d.total, d.mean), (5, 20.0, 4.0));
        assert_eq!((d.min, d.p50, d.max), (1.0, 3.0, 10.0));
        assert!((d.p90 - 7.6).abs() < 1e-9, "{}", d.p90);
        assert!((d.p95 - 8.8).abs() < 1e-9 && (d.p99 - 9.76).abs() < 1e-9);
        assert_eq!(quantile(&[1.0, 2.0], 0.5), 1.5);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert!(Distribution::of(Vec::new()).is_empty());
    }

    #[test]
    fn every_number_is_in_one_bin() {
        let cases: [Vec<f64>; 6] = [
            (0..1000).map(f64::from).collect(),
            (0..1000).map(|n| 1.002f64.powi(n * 5)).collect(),
            vec![0.0; 7],
            vec![5.0; 3],
            vec![0.0, 1e-9, 1e9],
            vec![1e-12, 1.0, 1.1, 1.2, 900.0, 1000.0],
        ];
        for numbers in cases {
            let count = numbers.len() as u64;
            let histogram = Distribution::of(numbers.clone()).histogram.unwrap();
            let sum: u64 = histogram.bins.iter().map(|bin| bin.count).sum();
            assert_eq!(sum, count, "{histogram:?}");
            assert!(histogram.bins.len() <= HISTOGRAM_BINS * 2, "{}", histogram.bins.len());
            for bin in &histogram.bins {
                let inside = numbers.iter().filter(|n| **n >= bin.from && **n < bin.to).count();
                assert!(inside as u64 <= bin.count && bin.from < bin.to, "{bin:?}");
            }
        }
    }

    #[test]
    fn bins_have_round_bounds_or_grow() {
        let numbers: Vec<f64> = (1..=100).map(f64::from).collect();
        let linear = Distribution::of(numbers).histogram.unwrap();
        assert!(!linear.is_logarithmic);
        assert_eq!((linear.bins[0].from, linear.bins[0].to, linear.bins[0].count), (0.0, 10.0, 9));
        let wide: Vec<f64> = (0..100).map(|n| 1.2f64.powi(n)).collect();
        assert!(Distribution::of(wide).histogram.unwrap().is_logarithmic);
        assert_eq!(nice_step(0.03), 0.05);
        assert_eq!(nice_step(0.0), 0.0);
        let times = [3.0, 45.0, 200.0, 4000.0, 100_000.0].map(nice_seconds);
        assert_eq!(times, [5.0, 60.0, 300.0, 7200.0, 172_800.0]);
    }
}
