//! Metrics of many points: counters, gauges and histograms, with exemplars.
//!
//! ```
//! use kymo_wire::encode::{MetricFields, MetricShape, PointTimes, Writer};
//! use kymo_wire::{AnyValueView, NumberValue};
//!
//! let mut w = Writer::new();
//! let calls = MetricFields { name: b"calls", shape: MetricShape::Counter, ..Default::default() };
//! w.resource_group(|w| w.scope_group(|w| w.metric(&calls, |w| {
//!     let times = PointTimes { start_unix_nano: 1, unix_nano: 2, is_absent: false };
//!     w.number_point(&times, NumberValue::Int(3), |w| {
//!         w.number_point_attribute(b"service", &AnyValueView::String(b"shop"));
//!     });
//! })));
//! let metrics_data = w.into_bytes();
//! ```

use super::Writer;
use crate::common::AnyValueView;
use crate::points::NumberValue;
use crate::tags::{
    exemplar, gauge, histogram, histogram_point, metric, number_point, scope_group, sum,
};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
/// The bit of a point's flags that says that it has no value.
const NO_RECORDED_VALUE: u64 = 1;

/// What a metric is, beside its points.
#[derive(Debug, Clone, Copy, Default)]
pub struct MetricFields<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// What it measures, for people.
    pub description: &'a [u8],
    /// Its unit.
    pub unit: &'a [u8],
    /// Of which kind its points are.
    pub shape: MetricShape,
}

/// The kinds of metrics that [`Writer::metric`] writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MetricShape {
    /// Current values.
    #[default]
    Gauge,
    /// A sum since a start that only grows.
    Counter,
    /// A distribution since a start, over explicit bounds.
    Histogram,
}

/// The times of a point, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PointTimes {
    /// From when on it counts; 0 if that is not known.
    pub start_unix_nano: u64,
    /// When it was so.
    pub unix_nano: u64,
    /// Says that there is no value any more.
    pub is_absent: bool,
}

/// A distribution.
#[derive(Debug, Clone, Copy, Default)]
pub struct DistributionFields<'a> {
    /// How many values.
    pub count: u64,
    /// What they add up to.
    pub sum: f64,
    /// Upper bounds of the buckets but the last, which has none.
    pub bounds: &'a [f64],
    /// Values in each bucket.
    pub bucket_counts: &'a [u64],
}

/// One observation, and where it was made.
#[derive(Debug, Clone, Copy)]
pub struct ExemplarFields<'a> {
    /// When, in nanoseconds since 1970.
    pub unix_nano: u64,
    /// What was observed.
    pub value: f64,
    /// 16 bytes.
    pub trace_id: &'a [u8],
    /// 8 bytes, or none.
    pub span_id: &'a [u8],
}

impl Writer {
    /// Appends a metric to a scope group; `points` writes its points.
    pub fn metric<R>(
        &mut self,
        fields: &MetricFields<'_>,
        points: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let data = match fields.shape {
            MetricShape::Gauge => metric::GAUGE,
            MetricShape::Counter => metric::SUM,
            MetricShape::Histogram => metric::HISTOGRAM,
        };
        self.message(scope_group::ITEMS >> 3, |w| {
            w.text(metric::NAME, fields.name);
            w.text(metric::DESCRIPTION, fields.description);
            w.text(metric::UNIT, fields.unit);
            w.message(data >> 3, |w| {
                let result = points(w);
                match fields.shape {
                    MetricShape::Gauge => {}
                    MetricShape::Counter => {
                        w.integer(sum::TEMPORALITY, CUMULATIVE);
                        w.integer(sum::IS_MONOTONIC, 1);
                    }
                    MetricShape::Histogram => w.integer(histogram::TEMPORALITY, CUMULATIVE),
                }
                result
            })
        })
    }

    /// Appends a point of a gauge or counter inside [`Writer::metric`]; `content` writes attributes.
    pub fn number_point<R>(
        &mut self,
        times: &PointTimes,
        value: NumberValue,
        content: impl FnOnce(&mut Self) -> R,
    ) -> R {
        // Points have the same number in all kinds of metrics.
        self.message(gauge::DATA_POINTS >> 3, |w| {
            w.time(number_point::START_TIME, times.start_unix_nano);
            w.time(number_point::TIME, times.unix_nano);
            match value {
                NumberValue::Double(value) => w.double_field(number_point::AS_DOUBLE >> 3, value),
                NumberValue::Int(value) => {
                    w.fixed64_field(number_point::AS_INT >> 3, value.cast_unsigned());
                }
                NumberValue::None => {}
            }
            let result = content(w);
            if times.is_absent {
                w.integer(number_point::FLAGS, NO_RECORDED_VALUE);
            }
            result
        })
    }

    /// Appends an attribute inside [`Writer::number_point`].
    pub fn number_point_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(number_point::ATTRIBUTES >> 3, key, value);
    }

    /// Appends an attribute that is encoded already inside [`Writer::number_point`].
    pub fn number_point_attribute_raw(&mut self, key_value: &[u8]) {
        self.key_value_raw(number_point::ATTRIBUTES >> 3, key_value);
    }

    /// Appends a point of a histogram inside [`Writer::metric`]; `content` writes attributes and
    /// exemplars.
    pub fn histogram_point<R>(
        &mut self,
        times: &PointTimes,
        fields: &DistributionFields<'_>,
        content: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.message(histogram::DATA_POINTS >> 3, |w| {
            w.time(histogram_point::START_TIME, times.start_unix_nano);
            w.time(histogram_point::TIME, times.unix_nano);
            if !times.is_absent {
                w.fixed64_field(histogram_point::COUNT >> 3, fields.count);
                w.double_field(histogram_point::SUM >> 3, fields.sum);
                w.message(histogram_point::BUCKET_COUNTS_PACKED >> 3, |w| {
                    fields.bucket_counts.iter().for_each(|count| w.raw(&count.to_le_bytes()));
                });
                w.message(histogram_point::EXPLICIT_BOUNDS_PACKED >> 3, |w| {
                    fields.bounds.iter().for_each(|bound| w.raw(&bound.to_le_bytes()));
                });
            }
            let result = content(w);
            if times.is_absent {
                w.integer(histogram_point::FLAGS, NO_RECORDED_VALUE);
            }
            result
        })
    }

    /// Appends an attribute that is encoded already inside [`Writer::histogram_point`].
    pub fn histogram_point_attribute_raw(&mut self, key_value: &[u8]) {
        self.key_value_raw(histogram_point::ATTRIBUTES >> 3, key_value);
    }

    /// Appends an exemplar inside [`Writer::histogram_point`].
    pub fn histogram_point_exemplar(&mut self, fields: &ExemplarFields<'_>) {
        self.message(histogram_point::EXEMPLARS >> 3, |w| {
            w.time(exemplar::TIME, fields.unix_nano);
            w.double_field(exemplar::AS_DOUBLE >> 3, fields.value);
            w.text(exemplar::SPAN_ID, fields.span_id);
            w.text(exemplar::TRACE_ID, fields.trace_id);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, MetricData, MetricsView, View, inspect_metrics};

    fn metric_of(fields: &MetricFields<'_>, points: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        w.resource_group(|w| w.scope_group(|w| w.metric(fields, points)));
        w.into_bytes()
    }

    fn with_data<R>(body: &[u8], look: impl FnOnce(MetricData<'_>) -> R) -> R {
        inspect_metrics(body, &Limits::default()).unwrap();
        let group = MetricsView::parse(body).unwrap().resources.into_iter().next().unwrap();
        let scope = group.unwrap().scopes.into_iter().next().unwrap().unwrap();
        look(scope.items.into_iter().next().unwrap().unwrap().data)
    }

    #[test]
    fn a_counter_is_cumulative_and_its_end_has_no_value() {
        let fields =
            MetricFields { name: b"c", shape: MetricShape::Counter, ..MetricFields::default() };
        let body = metric_of(&fields, |w| {
            let times = PointTimes { start_unix_nano: 1, unix_nano: 2, is_absent: false };
            w.number_point(&times, NumberValue::Int(0), |_| ());
            let times = PointTimes { is_absent: true, ..times };
            w.number_point(&times, NumberValue::None, |w| {
                w.number_point_attribute(b"k", &AnyValueView::String(b"v"));
            });
        });
        with_data(&body, |data| {
            let MetricData::Sum(sum) = data else { panic!("not a sum") };
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
            let points: Vec<_> = sum.data_points.into_iter().map(Result::unwrap).collect();
            assert_eq!((points[0].value, points[0].flags), (NumberValue::Int(0), 0));
            assert_eq!((points[1].value, points[1].flags), (NumberValue::None, 1));
            assert_eq!((points[0].start_time_unix_nano, points[0].time_unix_nano), (1, 2));
            assert_eq!(points[1].attributes.count(), 1);
        });
    }

    #[test]
    fn a_histogram_has_its_buckets_and_exemplars() {
        let fields =
            MetricFields { name: b"h", shape: MetricShape::Histogram, ..MetricFields::default() };
        let body = metric_of(&fields, |w| {
            let times = PointTimes { start_unix_nano: 1, unix_nano: 2, is_absent: false };
            let distribution = DistributionFields {
                count: 3,
                sum: 1.5,
                bounds: &[0.1, 1.0],
                bucket_counts: &[1, 0, 2],
            };
            w.histogram_point(&times, &distribution, |w| {
                let (trace_id, span_id) = (&[1; 16], &[2; 8]);
                w.histogram_point_exemplar(&ExemplarFields {
                    unix_nano: 5,
                    value: 0.5,
                    trace_id,
                    span_id,
                });
            });
        });
        with_data(&body, |data| {
            let MetricData::Histogram(histogram) = data else { panic!("not a histogram") };
            assert_eq!(histogram.aggregation_temporality, 2);
            let point = histogram.data_points.into_iter().next().unwrap().unwrap();
            assert_eq!((point.count, point.sum), (3, Some(1.5)));
            let counts: Vec<u64> = point.bucket_counts.iter().collect();
            let bounds: Vec<f64> = point.explicit_bounds.iter().collect();
            assert_eq!((counts, bounds), (vec![1, 0, 2], vec![0.1, 1.0]));
            let exemplar = point.exemplars.into_iter().next().unwrap().unwrap();
            assert_eq!((exemplar.trace_id, exemplar.span_id), (&[1; 16][..], &[2; 8][..]));
            assert_eq!((exemplar.time_unix_nano, exemplar.value), (5, NumberValue::Double(0.5)));
        });
    }
}
