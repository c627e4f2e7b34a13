//! OTLP to remote-write: points to samples.
//!
//! | point | series |
//! |---|---|
//! | of a gauge | its value |
//! | of a sum | its value; deltas are added up |
//! | of a histogram | `_bucket` by `le`, `_sum`, `_count` |
//! | of an exponential histogram | a native histogram; one of deltas is a gauge |
//! | of a summary | its quantiles, `_sum`, `_count` |
//! | that has no recorded value | the marker of Prometheus for a series that ended |

use kymo_wire::metric_names::{MetricKind, Strategy, metric_name};
use kymo_wire::remote_write::{MetadataType, Version};
use kymo_wire::{
    ExemplarView, ExponentialHistogramView, HistogramPointView, HistogramView, MetricData,
    MetricView, MetricsView, NumberPointView, NumberValue, Repeated, SummaryPointView, View, text,
};

use super::labels::{Labels, NAME, ResourceLabels, float, shown};
use super::native;
use super::series::{AllSeries, Description, Example, Times};
use super::totals::Totals;
use super::versions::convert_version;
use super::{ConvertError, DELTA, NANOS_PER_MILLI, NO_RECORDED_VALUE, STALE_BITS};

/// Translates the requests of a destination, in order.
#[derive(Debug, Default)]
pub(crate) struct Translator {
    totals: Totals,
}

/// What all points of a metric share.
struct Metric<'a> {
    name: String,
    description: Description,
    resource: &'a ResourceLabels,
    is_delta: bool,
}

impl Translator {
    /// A request of OTLP metrics as one of remote-write, not packed; nothing if it has no points.
    ///
    /// # Errors
    /// It is not OTLP, or too large when it is series.
    pub(crate) fn translate(
        &mut self,
        request: &[u8],
        version: Version,
    ) -> Result<Vec<u8>, ConvertError> {
        let mut all = AllSeries::default();
        for group in MetricsView::parse(request)?.resources {
            let group = group?;
            let resource = ResourceLabels::new(group.resource.as_ref());
            let mut latest_millis = None;
            for scope in group.scopes {
                for metric in scope?.items {
                    let millis = self.add_metric(&metric?, &resource, &mut all)?;
                    latest_millis = latest_millis.max(millis);
                }
            }
            if let (Some(info), Some(millis)) = (resource.info, latest_millis) {
                let description = Description {
                    metric_type: MetadataType::Info,
                    help: "Target metadata".to_owned(),
                    unit: String::new(),
                };
                let times = Times { millis, start_millis: 0 };
                all.find(info, &description)?.sample(times, 1.0);
            }
        }
        let request = all.into_request();
        match version {
            Version::Two => Ok(request),
            Version::One => convert_version(&request, Version::One),
        }
    }

    /// Adds the points of a metric; when the last of them is of.
    fn add_metric(
        &mut self,
        view: &MetricView<'_>,
        resource: &ResourceLabels,
        all: &mut AllSeries,
    ) -> Result<Option<i64>, ConvertError> {
        let (kind, metric_type, temporality) = match &view.data {
            MetricData::None => return Ok(None),
            MetricData::Gauge(_) => (MetricKind::Gauge, MetadataType::Gauge, 0),
            MetricData::Sum(sum) if sum.is_monotonic => {
                (MetricKind::Counter, MetadataType::Counter, sum.aggregation_temporality)
            }
            MetricData::Sum(sum) => {
                (MetricKind::Other, MetadataType::Gauge, sum.aggregation_temporality)
            }
            MetricData::Histogram(histogram) => {
                (MetricKind::Other, MetadataType::Histogram, histogram.aggregation_temporality)
            }
            MetricData::ExponentialHistogram(histogram) => {
                (MetricKind::Other, MetadataType::Histogram, histogram.aggregation_temporality)
            }
            MetricData::Summary(_) => (MetricKind::Other, MetadataType::Summary, 0),
        };
        let Some(name) = metric_name(&text(view.name), &text(view.unit), kind) else {
            return Ok(None);
        };
        let help = text(view.description).into_owned();
        let unit = text(view.unit).into_owned();
        let description = Description { metric_type, help, unit };
        let metric = Metric { name, description, resource, is_delta: temporality == DELTA };
        match &view.data {
            MetricData::None => Ok(None),
            MetricData::Gauge(gauge) => self.add_numbers(&metric, &gauge.data_points, all),
            MetricData::Sum(sum) => self.add_numbers(&metric, &sum.data_points, all),
            MetricData::Histogram(histogram) => self.add_histograms(&metric, histogram, all),
            MetricData::ExponentialHistogram(histogram) => add_exponential(&metric, histogram, all),
            MetricData::Summary(summary) => add_summaries(&metric, &summary.data_points, all),
        }
    }

    fn add_numbers(
        &mut self,
        metric: &Metric<'_>,
        points: &Repeated<'_, NumberPointView<'_>>,
        all: &mut AllSeries,
    ) -> Result<Option<i64>, ConvertError> {
        let mut latest = None;
        for point in points.iter() {
            let point = point?;
            let labels = metric.labels(metric.resource.with(&point.attributes), "", None);
            let times = times(point.time_unix_nano, point.start_time_unix_nano);
            latest = latest.max(Some(times.millis));
            let value = number(point.value);
            let value = self.value(metric, &labels, value, point.flags);
            let series = all.find(labels, &metric.description)?;
            series.sample(times, value);
            for exemplar in point.exemplars {
                series.example(example(&exemplar?));
            }
        }
        Ok(latest)
    }

    /// A value to send: the total of deltas, or the marker of an end.
    fn value(&mut self, metric: &Metric<'_>, labels: &Labels, value: f64, flags: u32) -> f64 {
        if flags & NO_RECORDED_VALUE != 0 {
            return f64::from_bits(STALE_BITS);
        }
        if metric.is_delta { self.totals.add(labels, value) } else { value }
    }

    fn add_histograms(
        &mut self,
        metric: &Metric<'_>,
        histogram: &HistogramView<'_>,
        all: &mut AllSeries,
    ) -> Result<Option<i64>, ConvertError> {
        let mut latest = None;
        for point in histogram.data_points.iter() {
            let point = point?;
            let times = times(point.time_unix_nano, point.start_time_unix_nano);
            latest = latest.max(Some(times.millis));
            self.add_histogram(metric, &point, times, all)?;
        }
        Ok(latest)
    }

    fn add_histogram(
        &mut self,
        metric: &Metric<'_>,
        point: &HistogramPointView<'_>,
        times: Times,
        all: &mut AllSeries,
    ) -> Result<(), ConvertError> {
        let base = metric.resource.with(&point.attributes);
        let mut add = |suffix: &str, label: Option<(&str, String)>, value: f64| {
            let labels = metric.labels(base.clone(), suffix, label);
            let value = self.value(metric, &labels, value, point.flags);
            all.find(labels, &metric.description)?.sample(times, value);
            Ok::<_, ConvertError>(())
        };
        let mut running = 0u64;
        for (bound, count) in point.explicit_bounds.iter().zip(point.bucket_counts.iter()) {
            running = running.saturating_add(count);
            add("_bucket", Some(("le", float(bound))), running as f64)?;
        }
        add("_bucket", Some(("le", "+Inf".to_owned())), point.count as f64)?;
        if let Some(sum) = point.sum {
            add("_sum", None, sum)?;
        } else if point.flags & NO_RECORDED_VALUE != 0 {
            add("_sum", None, 0.0)?;
        }
        add("_count", None, point.count as f64)?;
        for exemplar in point.exemplars {
            let example = example(&exemplar?);
            let bound = point.explicit_bounds.iter().find(|bound| example.value <= *bound);
            let bound = bound.map_or_else(|| "+Inf".to_owned(), float);
            let labels = metric.labels(base.clone(), "_bucket", Some(("le", bound)));
            all.find(labels, &metric.description)?.example(example);
        }
        Ok(())
    }
}

fn add_exponential(
    metric: &Metric<'_>,
    histogram: &ExponentialHistogramView<'_>,
    all: &mut AllSeries,
) -> Result<Option<i64>, ConvertError> {
    let mut latest = None;
    for point in histogram.data_points.iter() {
        let point = point?;
        let Some(histogram) = native::of_point(&point, metric.is_delta) else { continue };
        let times = times(point.time_unix_nano, point.start_time_unix_nano);
        latest = latest.max(Some(times.millis));
        let labels = metric.labels(metric.resource.with(&point.attributes), "", None);
        let series = all.find(labels, &metric.description)?;
        series.histogram(times, histogram);
        for exemplar in point.exemplars {
            series.example(example(&exemplar?));
        }
    }
    Ok(latest)
}

fn add_summaries(
    metric: &Metric<'_>,
    points: &Repeated<'_, SummaryPointView<'_>>,
    all: &mut AllSeries,
) -> Result<Option<i64>, ConvertError> {
    let mut latest = None;
    for point in points.iter() {
        let point = point?;
        let times = times(point.time_unix_nano, point.start_time_unix_nano);
        latest = latest.max(Some(times.millis));
        let base = metric.resource.with(&point.attributes);
        let is_stale = point.flags & NO_RECORDED_VALUE != 0;
        let mut add = |suffix: &str, label: Option<(&str, String)>, value: f64| {
            let value = if is_stale { f64::from_bits(STALE_BITS) } else { value };
            let labels = metric.labels(base.clone(), suffix, label);
            all.find(labels, &metric.description)?.sample(times, value);
            Ok::<_, ConvertError>(())
        };
        for quantile in point.quantile_values {
            let quantile = quantile?;
            add("", Some(("quantile", float(quantile.quantile))), quantile.value)?;
        }
        add("_sum", None, point.sum)?;
        add("_count", None, point.count as f64)?;
    }
    Ok(latest)
}

impl Metric<'_> {
    /// The labels of one of its series.
    fn labels(&self, mut labels: Labels, suffix: &str, label: Option<(&str, String)>) -> Labels {
        labels.insert(NAME.to_owned(), format!("{}{suffix}", self.name));
        if let Some((name, value)) = label {
            labels.insert(name.to_owned(), value);
        }
        labels
    }
}

fn times(time_nanos: u64, start_nanos: u64) -> Times {
    let millis = |nanos: u64| (nanos / NANOS_PER_MILLI).cast_signed();
    Times { millis: millis(time_nanos), start_millis: millis(start_nanos) }
}

fn number(value: NumberValue) -> f64 {
    match value {
        NumberValue::None => 0.0,
        NumberValue::Double(double) => double,
        NumberValue::Int(int) => int as f64,
    }
}

fn example(exemplar: &ExemplarView<'_>) -> Example {
    let mut labels = Labels::new();
    for attribute in exemplar.filtered_attributes.iter().flatten() {
        labels.insert(Strategy::Escaped.label_name(&text(attribute.key)), shown(&attribute.value));
    }
    for (name, id) in [("trace_id", exemplar.trace_id), ("span_id", exemplar.span_id)] {
        if !id.is_empty() {
            let digits = id.iter().map(|byte| format!("{byte:02x}")).collect();
            labels.insert(name.to_owned(), digits);
        }
    }
    let millis = (exemplar.time_unix_nano / NANOS_PER_MILLI).cast_signed();
    Example { labels, value: number(exemplar.value), millis }
}
