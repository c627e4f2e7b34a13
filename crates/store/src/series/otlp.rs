//! Series back to an `ExportMetricsServiceRequest`.
//!
//! All points come as they are stored, also several of equal time. Points of one
//! metric are in one `Metric` message, metrics of one origin in one
//! `ResourceMetrics` with one `ScopeMetrics`.
//!
//! Series of remote-write have no OTLP form of their own, and something is lost: samples become
//! points of a gauge; native histograms become points of a cumulative exponential histogram, those
//! with custom bounds points of a cumulative histogram, with their counts rounded to integers and
//! without reset hints. Empty buckets fill the gaps between spans, up to a bound: beyond, the rest
//! of the buckets is left out. Sent back by OTLP, they are other series.

use kymo_wire::encode::Writer;
use kymo_wire::kvlist_entries;
use kymo_wire::remote_write::histogram::CUSTOM_SCHEMA;

use super::buckets::{dense, push_custom, rounded};
use super::codec::{Buckets, NativeHistogram, Number};
use super::data::SeriesData;
use super::exemplars::Exemplars;
use super::identity::{CUMULATIVE, MetricKind, MetricType};
use super::join::{PointValue, values};
use crate::error::StoreError;
use crate::origin::Origin;

/// Field numbers of `Metric`.
mod metric {
    pub(super) const NAME: u32 = 1;
    pub(super) const DESCRIPTION: u32 = 2;
    pub(super) const UNIT: u32 = 3;
    pub(super) const METADATA: u32 = 12;
    pub(super) const DATA_POINTS: u32 = 1;
    pub(super) const TEMPORALITY: u32 = 2;
    pub(super) const IS_MONOTONIC: u32 = 3;
}

/// Field numbers that all data points share.
const START_TIME: u32 = 2;
const TIME: u32 = 3;
const COUNT: u32 = 4;
const SUM: u32 = 5;

/// Encodes series as one request.
pub fn encode(series: &[SeriesData]) -> Result<Vec<u8>, StoreError> {
    let mut ordered: Vec<&SeriesData> = series.iter().collect();
    ordered.sort_by(|a, b| a.origin.cmp(&b.origin).then_with(|| metric_key(a).cmp(&metric_key(b))));
    let mut writer = Writer::new();
    for of_origin in ordered.chunk_by(|a, b| a.origin == b.origin) {
        let origin = Origin::decode(&of_origin[0].origin);
        writer.resource_group(|w| {
            if let Some(resource) = origin.resource {
                w.resource_raw(resource);
            }
            w.scope_group(|w| {
                if let Some(scope) = origin.scope {
                    w.scope_raw(scope);
                }
                for of_metric in of_origin.chunk_by(|a, b| metric_key(a) == metric_key(b)) {
                    for form in Form::of(of_metric)? {
                        let mut metric = Writer::new();
                        write_metric(of_metric, form, &mut metric)?;
                        w.item_raw(metric.as_slice());
                    }
                }
                w.scope_schema_url(origin.scope_schema_url);
                Ok::<(), StoreError>(())
            })?;
            w.resource_schema_url(origin.resource_schema_url);
            Ok::<(), StoreError>(())
        })?;
    }
    Ok(writer.into_bytes())
}

type MetricKey<'a> = (&'a [u8], &'a [u8], MetricKind, &'a [u8], &'a [u8]);

fn metric_key(series: &SeriesData) -> MetricKey<'_> {
    (&series.name, &series.unit, series.kind, &series.description, &series.metadata)
}

/// What a metric becomes. The points of one metric are of one form, but native histograms are of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Gauge,
    Sum,
    Histogram,
    ExponentialHistogram,
    Summary,
}

impl Form {
    /// The forms of the points of one metric.
    fn of(series: &[&SeriesData]) -> Result<Vec<Self>, StoreError> {
        let Some(first) = series.first() else { return Ok(Vec::new()) };
        Ok(match first.kind.metric_type {
            MetricType::Gauge | MetricType::Sample => vec![Self::Gauge],
            MetricType::Sum => vec![Self::Sum],
            MetricType::Histogram => vec![Self::Histogram],
            MetricType::ExponentialHistogram => vec![Self::ExponentialHistogram],
            MetricType::Summary => vec![Self::Summary],
            MetricType::NativeHistogram => {
                let mut forms = Vec::new();
                for chunk in series.iter().flat_map(|series| &series.chunks) {
                    let points = chunk.points()?;
                    for form in values(&points).map(|value| Self::of_value(&value)) {
                        if !forms.contains(&form) {
                            forms.push(form);
                        }
                    }
                }
                forms
            }
        })
    }

    fn of_value(value: &PointValue<'_>) -> Self {
        match value {
            PointValue::Number(_) => Self::Gauge,
            PointValue::Histogram(_) => Self::Histogram,
            PointValue::ExponentialHistogram(_) => Self::ExponentialHistogram,
            PointValue::Summary(_) => Self::Summary,
            PointValue::NativeHistogram(histogram) if histogram.schema == CUSTOM_SCHEMA => {
                Self::Histogram
            }
            PointValue::NativeHistogram(_) => Self::ExponentialHistogram,
        }
    }
}

/// Writes a metric with those points of `series`, which all belong to it, that have a form.
fn write_metric(series: &[&SeriesData], form: Form, w: &mut Writer) -> Result<(), StoreError> {
    let Some(first) = series.first() else { return Ok(()) };
    for (field, text) in [
        (metric::NAME, &first.name),
        (metric::DESCRIPTION, &first.description),
        (metric::UNIT, &first.unit),
    ] {
        if !text.is_empty() {
            w.bytes_field(field, text);
        }
    }
    for entry in kvlist_entries(&first.metadata) {
        w.key_value_raw(metric::METADATA, entry?.raw);
    }
    let data_field = match form {
        Form::Gauge => 5,
        Form::Sum => 7,
        Form::Histogram => 9,
        Form::ExponentialHistogram => 10,
        Form::Summary => 11,
    };
    let is_native = first.kind.metric_type == MetricType::NativeHistogram;
    let temporality = if is_native { Some(CUMULATIVE) } else { first.kind.temporality };
    w.message(data_field, |w| {
        for series in series {
            write_points(series, form, w)?;
        }
        if let Some(temporality) = temporality.filter(|t| *t != 0) {
            w.varint_field(metric::TEMPORALITY, temporality as u64);
        }
        if first.kind.monotonic == Some(true) {
            w.varint_field(metric::IS_MONOTONIC, 1);
        }
        Ok(())
    })
}

fn write_points(series: &SeriesData, form: Form, w: &mut Writer) -> Result<(), StoreError> {
    let (attributes, exemplars) = match form {
        Form::Gauge | Form::Sum => (7, 5),
        Form::Histogram => (9, 8),
        Form::ExponentialHistogram => (1, 11),
        // Summaries have no exemplars, so that number is not used.
        Form::Summary => (7, 5),
    };
    let is_native = series.kind.metric_type == MetricType::NativeHistogram;
    let mut labels = Writer::new();
    for entry in kvlist_entries(&series.labels) {
        labels.key_value_raw(attributes, entry?.raw);
    }
    for chunk in &series.chunks {
        let points = chunk.points()?;
        let examples = Exemplars::new(&chunk.exemplars).collect::<Result<Vec<_>, _>>()?;
        let mut examples = examples.into_iter().peekable();
        let columns = points.times_nanos.iter().zip(points.start_times_nanos.iter());
        let columns = columns.zip(points.flags.iter()).zip(values(&points));
        for (nth, (((time, start_time), flags), value)) in columns.enumerate() {
            if is_native && Form::of_value(&value) != form {
                while examples.next_if(|(point, _)| *point == nth).is_some() {}
                continue;
            }
            w.message(metric::DATA_POINTS, |w| {
                w.raw(labels.as_slice());
                write_point_fields(w, [*time, start_time], flags, &value);
                while let Some((_, exemplar)) = examples.next_if(|(point, _)| *point == nth) {
                    w.bytes_field(exemplars, exemplar);
                }
            });
        }
    }
    Ok(())
}

/// Writes a data point but for its attributes and exemplars.
pub(crate) fn write_point_fields(
    w: &mut Writer,
    [time_nanos, start_time_nanos]: [i64; 2],
    flags: u32,
    value: &PointValue<'_>,
) {
    fixed_if_any(w, START_TIME, start_time_nanos as u64);
    fixed_if_any(w, TIME, time_nanos as u64);
    let flags_field = match value {
        PointValue::Number(number) => {
            match number {
                Number::Absent => {}
                Number::Double(value) => w.double_field(4, *value),
                Number::Int(value) => w.fixed64_field(6, *value as u64),
            }
            8
        }
        PointValue::Histogram(histogram) => {
            fixed_if_any(w, COUNT, histogram.count);
            optional_doubles(w, [(SUM, histogram.sum), (11, histogram.min), (12, histogram.max)]);
            packed(w, 6, histogram.bucket_counts.iter().copied());
            packed(w, 7, histogram.bounds.iter().map(|bound| bound.to_bits()));
            10
        }
        PointValue::ExponentialHistogram(histogram) => {
            fixed_if_any(w, COUNT, histogram.count);
            optional_doubles(w, [(SUM, histogram.sum), (12, histogram.min), (13, histogram.max)]);
            if histogram.scale != 0 {
                w.sint32_field(6, histogram.scale);
            }
            fixed_if_any(w, 7, histogram.zero_count);
            write_buckets(w, 8, histogram.positive);
            write_buckets(w, 9, histogram.negative);
            fixed_if_any(w, 14, histogram.zero_threshold.to_bits());
            10
        }
        PointValue::NativeHistogram(histogram) if histogram.schema == CUSTOM_SCHEMA => {
            fixed_if_any(w, COUNT, rounded(histogram.count));
            w.double_field(SUM, histogram.sum);
            let mut counts = Vec::new();
            push_custom(histogram, &mut counts);
            packed(w, 6, counts.into_iter());
            packed(w, 7, histogram.custom_values.iter().map(|bound| bound.to_bits()));
            10
        }
        PointValue::NativeHistogram(histogram) => {
            write_native(w, histogram);
            10
        }
        PointValue::Summary(summary) => {
            fixed_if_any(w, COUNT, summary.count);
            fixed_if_any(w, SUM, summary.sum.to_bits());
            for (quantile, value) in summary.quantiles.iter().zip(summary.values) {
                w.message(6, |w| {
                    fixed_if_any(w, 1, quantile.to_bits());
                    fixed_if_any(w, 2, value.to_bits());
                });
            }
            8
        }
    };
    if flags != 0 {
        w.varint_field(flags_field, flags.into());
    }
}

fn write_native(w: &mut Writer, histogram: &NativeHistogram<'_>) {
    fixed_if_any(w, COUNT, rounded(histogram.count));
    w.double_field(SUM, histogram.sum);
    if histogram.schema != 0 {
        w.sint32_field(6, histogram.schema);
    }
    fixed_if_any(w, 7, rounded(histogram.zero_count));
    let sides = [
        (8, histogram.positive_spans, histogram.positive),
        (9, histogram.negative_spans, histogram.negative),
    ];
    for (field, spans, counts) in sides {
        let (first, counts) = dense(spans, counts);
        // Bucket i of Prometheus is bucket i - 1 of OTLP.
        let offset = i32::try_from(first - 1).unwrap_or_default();
        write_buckets(
            w,
            field,
            (!counts.is_empty()).then_some(Buckets { offset, counts: &counts }),
        );
    }
    fixed_if_any(w, 14, histogram.zero_threshold.to_bits());
}

/// Writes a number of eight bytes unless all are zero.
fn fixed_if_any(w: &mut Writer, field: u32, value: u64) {
    if value != 0 {
        w.fixed64_field(field, value);
    }
}

fn optional_doubles(w: &mut Writer, fields: [(u32, Option<f64>); 3]) {
    for (field, value) in fields {
        if let Some(value) = value {
            w.double_field(field, value);
        }
    }
}

fn packed(w: &mut Writer, field: u32, values: impl ExactSizeIterator<Item = u64>) {
    if values.len() > 0 {
        w.message(field, |w| values.for_each(|value| w.raw(&value.to_le_bytes())));
    }
}

fn write_buckets(w: &mut Writer, field: u32, buckets: Option<Buckets<'_>>) {
    let Some(buckets) = buckets else { return };
    w.message(field, |w| {
        if buckets.offset != 0 {
            w.sint32_field(1, buckets.offset);
        }
        if !buckets.counts.is_empty() {
            w.message(2, |w| buckets.counts.iter().for_each(|count| w.varint(*count)));
        }
    });
}
