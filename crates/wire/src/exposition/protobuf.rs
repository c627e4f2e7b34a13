//! The protobuf format, presented as if it were text.
//!
//! A classic histogram becomes `_count`, `_sum` and `_bucket` samples, a summary likewise; a
//! native histogram is one entry.

use super::dto::{Family, Metric, StoredExemplar, bound_label, wrong};
use super::histogram::{HistogramCounts, NativeHistogram, Span};
use super::{
    Entry, Exemplar, ExpositionError, HistogramSeries, MetricKind, NORMAL_NAN_BITS, ParseOptions,
    Series,
};
use crate::proto::Reader;

/// Walks families, their metrics, and what a metric consists of.
#[derive(Debug)]
pub(super) struct ProtobufParser<'a> {
    reader: Reader<'a>,
    options: ParseOptions,
    stage: Stage,
    family: Option<Family<'a>>,
    metric: Metric<'a>,
    /// What there is to yield of the current metric.
    parts: Parts,
    name: String,
    key: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Family,
    Help,
    Unit,
    Type,
    Metrics,
    Done,
}

/// Which entries of a metric come next.
#[derive(Debug, Clone, Copy)]
enum Parts {
    None,
    Simple,
    Native,
    /// The n-th sample of a summary or a classic histogram: count, sum, then the rest.
    Sample(usize),
}

/// What was found, without what it borrows.
#[derive(Debug)]
enum Found {
    Help,
    Unit,
    Type,
    Sample { value: f64, exemplar: Option<StoredExemplar> },
    Histogram(NativeHistogram),
}

impl<'a> ProtobufParser<'a> {
    pub(super) fn new(body: &'a [u8], options: ParseOptions) -> Self {
        Self {
            reader: Reader::new(body),
            options,
            stage: Stage::Family,
            family: None,
            metric: Metric::default(),
            parts: Parts::None,
            name: String::new(),
            key: Vec::new(),
        }
    }

    pub(super) fn next_entry(&mut self) -> Result<Option<Entry<'_>>, ExpositionError> {
        let found = self.advance();
        let Ok(Some(found)) = found else {
            self.stage = Stage::Done;
            return found.map(|_| None);
        };
        Ok(Some(self.entry(found)))
    }

    fn entry(&self, found: Found) -> Entry<'_> {
        let family = self.family.as_ref();
        let family_name = family.map_or("", |family| family.name);
        let metric = &self.metric;
        let (name, key) = (&*self.name, &*self.key);
        let (timestamp_millis, start_millis) = (metric.timestamp_millis, metric.start_millis);
        match found {
            Found::Help => {
                Entry::Help { name: family_name, help: family.map_or("", |family| family.help) }
            }
            Found::Unit => {
                Entry::Unit { name: family_name, unit: family.map_or("", |family| family.unit) }
            }
            Found::Type => {
                let kind = family.map_or(MetricKind::Unknown, |family| family.kind);
                Entry::Type { name: family_name, kind }
            }
            Found::Sample { value, exemplar } => Entry::Series(Series {
                key,
                name,
                labels: &metric.labels,
                value: normal(value),
                timestamp_millis,
                start_millis,
                exemplar: exemplar.map(|exemplar| self.exemplar(exemplar)),
            }),
            Found::Histogram(histogram) => {
                // Without their own, those of the classic buckets stand for it.
                let of_buckets = || metric.buckets.iter().filter_map(|bucket| bucket.exemplar);
                let own = metric.exemplars.iter().copied();
                let exemplars = own
                    .chain(of_buckets().filter(|_| metric.exemplars.is_empty()))
                    .filter(|exemplar| exemplar.timestamp_millis.is_some())
                    .map(|exemplar| self.exemplar(exemplar))
                    .collect();
                Entry::Histogram(HistogramSeries {
                    key,
                    name,
                    labels: &metric.labels,
                    histogram,
                    timestamp_millis,
                    start_millis,
                    exemplars,
                })
            }
        }
    }

    fn exemplar(&self, stored: StoredExemplar) -> Exemplar<'_> {
        let labels = &self.metric.exemplar_labels;
        Exemplar {
            labels: labels.get(stored.labels_start..stored.labels_end).unwrap_or_default(),
            value: stored.value,
            timestamp_millis: stored.timestamp_millis,
        }
    }

    fn advance(&mut self) -> Result<Option<Found>, ExpositionError> {
        loop {
            match self.stage {
                Stage::Done => return Ok(None),
                Stage::Family => {
                    if self.reader.is_empty() {
                        return Ok(None);
                    }
                    self.begin_family()?;
                }
                Stage::Help => {
                    let has_unit = self.family.is_some_and(|family| !family.unit.is_empty());
                    self.stage = if has_unit { Stage::Unit } else { Stage::Type };
                    return Ok(Some(Found::Help));
                }
                Stage::Unit => {
                    self.stage = Stage::Type;
                    return Ok(Some(Found::Unit));
                }
                Stage::Type => {
                    self.stage = Stage::Metrics;
                    return Ok(Some(Found::Type));
                }
                Stage::Metrics => {
                    if let Some(found) = self.part()? {
                        return Ok(Some(found));
                    }
                    if !self.next_metric()? {
                        self.stage = Stage::Family;
                    }
                }
            }
        }
    }

    /// Reads the next family and its first metric; one without any is passed over.
    fn begin_family(&mut self) -> Result<(), ExpositionError> {
        let family = Family::parse(self.reader.message()?)?;
        if family.name.is_empty() {
            return Err(wrong("", "expected a name".to_owned()));
        }
        self.family = Some(family);
        if self.next_metric()? {
            self.stage = Stage::Help;
        }
        Ok(())
    }

    fn next_metric(&mut self) -> Result<bool, ExpositionError> {
        let Some(family) = &mut self.family else { return Ok(false) };
        if !family.next_metric(&mut self.metric)? {
            self.parts = Parts::None;
            return Ok(false);
        }
        self.parts = match family.kind {
            MetricKind::Summary => Parts::Sample(0),
            MetricKind::Histogram | MetricKind::GaugeHistogram => {
                let is_native = self.options.native_histograms && self.metric.is_native();
                if is_native { Parts::Native } else { Parts::Sample(0) }
            }
            _ => Parts::Simple,
        };
        Ok(true)
    }

    /// The next entry of the current metric.
    fn part(&mut self) -> Result<Option<Found>, ExpositionError> {
        let Some(family) = self.family else { return Ok(None) };
        let found = match self.parts {
            Parts::None => return Ok(None),
            Parts::Simple => {
                self.parts = Parts::None;
                self.set_name(family.name, "");
                Found::Sample { value: self.metric.value, exemplar: self.metric.exemplar }
            }
            Parts::Native => {
                let with_classic =
                    self.options.classic_beside_native && !self.metric.buckets.is_empty();
                self.parts = if with_classic { Parts::Sample(0) } else { Parts::None };
                self.set_name(family.name, "");
                let histogram = native(&self.metric, family.kind)
                    .map_err(|problem| wrong(family.name, problem))?;
                Found::Histogram(histogram)
            }
            Parts::Sample(index) => match self.sample(&family, index) {
                Some(found) => found,
                None => {
                    self.parts = Parts::None;
                    return Ok(None);
                }
            },
        };
        self.set_key();
        Ok(Some(found))
    }

    /// The n-th sample of a summary or classic histogram.
    fn sample(&mut self, family: &Family<'a>, index: usize) -> Option<Found> {
        // The bound of the sample before is not a label of this one.
        if index > 2 {
            self.metric.labels.pop();
        }
        self.parts = Parts::Sample(index + 1);
        match index {
            0 => {
                self.set_name(family.name, "_count");
                return Some(Found::Sample { value: self.metric.count(), exemplar: None });
            }
            1 => {
                self.set_name(family.name, "_sum");
                return Some(Found::Sample { value: self.metric.sum, exemplar: None });
            }
            _ => {}
        }
        let index = index - 2;
        if family.kind == MetricKind::Summary {
            let (quantile, value) = *self.metric.quantiles.get(index)?;
            self.set_name(family.name, "");
            self.metric.labels.push(bound_label("quantile", quantile));
            return Some(Found::Sample { value, exemplar: None });
        }
        let bucket = self.metric.buckets.get(index).copied();
        let (bound, value, exemplar) = match bucket {
            Some(bucket) => (bucket.upper_bound, bucket.count, bucket.exemplar),
            // The last bucket may be left out, since it is the count.
            None if index == self.metric.buckets.len() && !self.has_last_bucket() => {
                (f64::INFINITY, self.metric.count(), None)
            }
            None => return None,
        };
        self.set_name(family.name, "_bucket");
        self.metric.labels.push(bound_label("le", bound));
        Some(Found::Sample { value, exemplar })
    }

    fn has_last_bucket(&self) -> bool {
        self.metric.buckets.last().is_some_and(|bucket| bucket.upper_bound == f64::INFINITY)
    }

    fn set_name(&mut self, family: &str, suffix: &str) {
        self.name.clear();
        self.name.push_str(family);
        self.name.push_str(suffix);
    }

    fn set_key(&mut self) {
        self.key.clear();
        self.key.extend_from_slice(self.name.as_bytes());
        for label in &self.metric.labels {
            for part in [&label.name, &label.value] {
                // No text has this byte.
                self.key.push(0xff);
                self.key.extend_from_slice(part.as_bytes());
            }
        }
    }
}

/// There is one NaN, whatever bits a target sends: those of staleness are not its to send.
fn normal(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(NORMAL_NAN_BITS) } else { value }
}

fn native(metric: &Metric<'_>, kind: MetricKind) -> Result<NativeHistogram, String> {
    let native = &metric.native;
    let is_float = metric.count_float > 0.0 || native.zero_count_float > 0.0;
    let counts = if is_float {
        HistogramCounts::Float {
            count: metric.count_float,
            zero_count: native.zero_count_float,
            positive: native.positive_counts.clone(),
            negative: native.negative_counts.clone(),
        }
    } else {
        HistogramCounts::Integer {
            count: metric.count,
            zero_count: native.zero_count,
            positive: native.positive_deltas.clone(),
            negative: native.negative_deltas.clone(),
        }
    };
    let (positive, negative) = match &counts {
        HistogramCounts::Integer { positive, negative, .. } => (positive.len(), negative.len()),
        HistogramCounts::Float { positive, negative, .. } => (positive.len(), negative.len()),
    };
    check_spans("positive", &native.positive_spans, positive)?;
    check_spans("negative", &native.negative_spans, negative)?;
    Ok(NativeHistogram {
        schema: native.schema,
        sum: normal(metric.sum),
        zero_threshold: native.zero_threshold,
        positive_spans: native.positive_spans.clone(),
        negative_spans: native.negative_spans.clone(),
        counts,
        custom_bounds: Vec::new(),
        is_gauge: kind == MetricKind::GaugeHistogram,
    })
}

fn check_spans(side: &str, spans: &[Span], buckets: usize) -> Result<(), String> {
    let spanned: u64 = spans.iter().map(|span| u64::from(span.length)).sum();
    if spanned == buckets as u64 {
        return Ok(());
    }
    Err(format!("{side} side: spans require {spanned} buckets, have {buckets}"))
}
