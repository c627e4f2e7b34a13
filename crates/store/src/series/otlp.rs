//! Series back to an `ExportMetricsServiceRequest`.
//!
//! All points come as they are stored, also several of equal time. Points of one
//! metric are in one `Metric` message, metrics of one origin in one
//! `ResourceMetrics` with one `ScopeMetrics`.

use kymo_wire::encode::Writer;
use kymo_wire::kvlist_entries;

use super::codec::{Buckets, Number};
use super::data::SeriesData;
use super::exemplars::Exemplars;
use super::identity::{MetricKind, MetricType};
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
                    let mut metric = Writer::new();
                    write_metric(of_metric, &mut metric)?;
                    w.item_raw(metric.as_slice());
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

/// Writes a metric with the points of `series`, which all belong to it.
fn write_metric(series: &[&SeriesData], w: &mut Writer) -> Result<(), StoreError> {
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
    let data_field = match first.kind.metric_type {
        MetricType::Gauge => 5,
        MetricType::Sum => 7,
        MetricType::Histogram => 9,
        MetricType::ExponentialHistogram => 10,
        MetricType::Summary => 11,
    };
    w.message(data_field, |w| {
        for series in series {
            write_points(series, w)?;
        }
        if let Some(temporality) = first.kind.temporality.filter(|t| *t != 0) {
            w.varint_field(metric::TEMPORALITY, temporality as u64);
        }
        if first.kind.monotonic == Some(true) {
            w.varint_field(metric::IS_MONOTONIC, 1);
        }
        Ok(())
    })
}

fn write_points(series: &SeriesData, w: &mut Writer) -> Result<(), StoreError> {
    let (attributes, exemplars) = match series.kind.metric_type {
        MetricType::Gauge | MetricType::Sum => (7, 5),
        MetricType::Histogram => (9, 8),
        MetricType::ExponentialHistogram => (1, 11),
        // Summaries have no exemplars, so that number is not used.
        MetricType::Summary => (7, 5),
    };
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
