//! Classic histograms gathered from their samples into one native histogram with listed bounds.
//!
//! The samples of a histogram follow one another: `_bucket`, `_sum` and `_count` with the same
//! labels but `le`. What does not add up (counts that fall, a count below its buckets) becomes no
//! histogram.

use kymo_wire::exposition::{HistogramCounts, Label, NativeHistogram, Series, Span, parse_float};

use crate::sink::{MetricMetadata, ScrapedExemplar};

/// The schema of histograms with listed bounds.
const LISTED_BOUNDS: i32 = -53;

/// Which sample of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Bucket(f64),
    Count,
    Sum,
}

/// A histogram of which some samples were seen.
#[derive(Debug, Default)]
pub(super) struct Classic {
    /// Its name and labels, as one text.
    pub(super) key: Vec<u8>,
    pub(super) name: String,
    pub(super) labels: Vec<Label<'static>>,
    pub(super) timestamp_millis: Option<i64>,
    pub(super) start_millis: Option<i64>,
    pub(super) exemplars: Vec<ScrapedExemplar>,
    /// Upper bounds and cumulative counts.
    buckets: Vec<(f64, f64)>,
    count: Option<f64>,
    sum: f64,
}

/// The part of a histogram of `family` that a sample is.
fn part(series: &Series<'_>, family: &MetricMetadata) -> Option<Part> {
    match series.name.strip_prefix(family.family.as_str())? {
        "_count" => Some(Part::Count),
        "_sum" => Some(Part::Sum),
        "_bucket" => {
            let bound = series.labels.iter().find(|label| label.name == "le")?;
            parse_float(&bound.value).filter(|bound| !bound.is_nan()).map(Part::Bucket)
        }
        _ => None,
    }
}

/// Bytes that are the same for all samples of one histogram, and for no other series.
pub(super) fn key(name: &str, labels: &[Label<'_>]) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    // No line of a text begins so.
    key.push(0xff);
    key.extend_from_slice(name.as_bytes());
    for label in labels.iter().filter(|label| label.name != "le") {
        for part in [&label.name, &label.value] {
            key.push(0xff);
            key.extend_from_slice(part.as_bytes());
        }
    }
    key
}

/// A sample that belongs to a classic histogram.
#[derive(Debug)]
pub(super) struct ClassicSample {
    pub(super) key: Vec<u8>,
    part: Part,
}

impl ClassicSample {
    /// The sample as part of a histogram of `family`, if it is one.
    pub(super) fn of(series: &Series<'_>, family: &MetricMetadata) -> Option<Self> {
        let part = part(series, family)?;
        Some(Self { key: key(&family.family, series.labels), part })
    }
}

impl Classic {
    /// Begins with a first sample.
    pub(super) fn new(sample: &ClassicSample, series: &Series<'_>, family: &str) -> Self {
        let labels = series.labels.iter().filter(|label| label.name != "le");
        let owned = |label: &Label<'_>| Label {
            name: label.name.clone().into_owned().into(),
            value: label.value.clone().into_owned().into(),
        };
        Self {
            key: sample.key.clone(),
            name: family.to_owned(),
            labels: labels.map(owned).collect(),
            timestamp_millis: series.timestamp_millis,
            start_millis: series.start_millis,
            ..Self::default()
        }
    }

    /// Adds a sample, and its exemplar if it says when it was.
    pub(super) fn add(&mut self, sample: &ClassicSample, series: &Series<'_>) {
        match sample.part {
            Part::Bucket(bound) => self.buckets.push((bound, series.value)),
            Part::Count => self.count = Some(series.value),
            Part::Sum => self.sum = series.value,
        }
        if let Some((exemplar, time_millis)) =
            series.exemplar.and_then(|exemplar| Some((exemplar, exemplar.timestamp_millis?)))
        {
            self.exemplars.push(super::scraped(&exemplar, time_millis));
        }
    }

    /// The histogram, if what was seen is one.
    pub(super) fn histogram(&mut self) -> Option<NativeHistogram> {
        let buckets = &mut self.buckets;
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = buckets.last().copied();
        let count = match (last, self.count) {
            (Some((f64::INFINITY, last)), None) => last,
            (_, Some(count)) => count,
            _ => return None,
        };
        if last.is_none_or(|(bound, _)| bound != f64::INFINITY) {
            buckets.push((f64::INFINITY, count));
        }
        let is_rising =
            buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let is_counted = buckets.iter().all(|(_, count)| *count >= 0.0 && count.is_finite());
        let fits = buckets.last().is_some_and(|(_, last)| *last == count);
        if !is_rising || !is_counted || !fits {
            return None;
        }
        let mut before = 0.0;
        let own: Vec<f64> = buckets
            .iter()
            .map(|(_, cumulative)| {
                let own = cumulative - before;
                before = *cumulative;
                own
            })
            .collect();
        let finite = buckets.len() - 1;
        Some(NativeHistogram {
            schema: LISTED_BOUNDS,
            sum: self.sum,
            zero_threshold: 0.0,
            positive_spans: vec![Span { offset: 0, length: u32::try_from(own.len()).ok()? }],
            negative_spans: Vec::new(),
            counts: counts(count, own),
            custom_bounds: buckets.iter().take(finite).map(|(bound, _)| *bound).collect(),
            is_gauge: false,
        })
    }
}

/// Whole numbers, if all are.
fn counts(count: f64, own: Vec<f64>) -> HistogramCounts {
    /// Up to here every whole number is a double.
    const MAX_WHOLE: f64 = (1u64 << 53) as f64;
    let is_whole = count <= MAX_WHOLE && own.iter().all(|own| own.fract() == 0.0);
    if !is_whole {
        return HistogramCounts::Float {
            count,
            zero_count: 0.0,
            positive: own,
            negative: Vec::new(),
        };
    }
    let mut before = 0;
    let deltas = own.iter().map(|own| {
        let own = *own as i64;
        let delta = own - before;
        before = own;
        delta
    });
    HistogramCounts::Integer {
        count: count as u64,
        zero_count: 0,
        positive: deltas.collect(),
        negative: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[(f64, f64)], count: Option<f64>) -> Option<NativeHistogram> {
        Classic { buckets: buckets.to_vec(), count, ..Classic::default() }.histogram()
    }

    #[test]
    fn buckets_become_a_histogram_with_listed_bounds() {
        let found = histogram(&[(f64::INFINITY, 7.0), (1.0, 2.0), (0.5, 2.0)], Some(7.0)).unwrap();
        assert_eq!(found.custom_bounds, [0.5, 1.0]);
        assert_eq!(found.positive_spans, [Span { offset: 0, length: 3 }]);
        let HistogramCounts::Integer { count, positive, .. } = found.counts else { panic!() };
        assert_eq!((count, positive), (7, vec![2, -2, 5]));
        let found = histogram(&[(1.0, 0.5)], Some(1.0)).unwrap();
        let HistogramCounts::Float { positive, .. } = found.counts else { panic!() };
        assert_eq!(positive, [0.5, 0.5], "the last bucket is the count");
        assert!(histogram(&[(f64::INFINITY, 1.0)], None).is_some());
    }

    #[test]
    fn what_does_not_add_up_is_no_histogram() {
        for (buckets, count) in [
            (&[(1.0, 3.0), (2.0, 2.0)][..], Some(3.0)),
            (&[(1.0, 3.0), (1.0, 3.0)], Some(3.0)),
            (&[(1.0, 3.0)], Some(2.0)),
            (&[(f64::INFINITY, 3.0)], Some(4.0)),
            (&[(1.0, f64::NAN)], Some(2.0)),
            (&[(1.0, -1.0)], Some(2.0)),
            (&[(1.0, 1.0)], None),
            (&[], None),
        ] {
            assert_eq!(histogram(buckets, count), None, "{buckets:?} {count:?}");
        }
    }
}
