//! Log records and data points, for those who make requests from something that is not OTLP.
//!
//! ```
//! use kymo_wire::encode::{LogFields, Writer};
//! use kymo_wire::AnyValueView;
//!
//! let mut w = Writer::new();
//! w.resource_group(|w| w.scope_group(|w| {
//!     let fields = LogFields { time_unix_nano: 1, event_name: b"started", ..LogFields::default() };
//!     w.log(&fields, |w| w.log_attribute(b"step", &AnyValueView::Int(3)));
//! }));
//! let logs_data = w.into_bytes();
//! ```

use super::Writer;
use crate::common::AnyValueView;
use crate::points::NumberValue;
use crate::tags::{
    gauge, histogram, histogram_point, log_record, metric, number_point, scope_group, sum,
};

/// The fields of a log record that are neither repeated nor a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogFields<'a> {
    /// When it happened, in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// When it was seen, in nanoseconds since 1970.
    pub observed_time_unix_nano: u64,
    /// `SeverityNumber`.
    pub severity_number: i32,
    /// 16 bytes, or none.
    pub trace_id: &'a [u8],
    /// 8 bytes, or none.
    pub span_id: &'a [u8],
    /// The kind of event.
    pub event_name: &'a [u8],
}

/// A data point of a metric, without its attributes.
#[derive(Debug, Clone, Copy)]
pub struct PointFields<'a> {
    /// The metric.
    pub name: &'a [u8],
    /// From when on it counts, in nanoseconds since 1970; 0 if that is not known.
    pub start_time_unix_nano: u64,
    /// When it was measured, in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// What was measured.
    pub value: PointValue,
}

/// What was measured, and as which kind of metric.
#[derive(Debug, Clone, Copy)]
pub enum PointValue {
    /// A gauge.
    Gauge(NumberValue),
    /// A sum.
    Sum(NumberValue),
    /// A histogram without its buckets.
    Histogram {
        /// How many values.
        count: u64,
        /// What they add up to.
        sum: f64,
    },
}

/// Appends an attribute to what is being written.
pub type WriteAttribute = fn(&mut Writer, &[u8], &AnyValueView<'_>);

impl Writer {
    /// Appends a log record to a scope group; `content` writes body and attributes.
    pub fn log<R>(&mut self, fields: &LogFields<'_>, content: impl FnOnce(&mut Self) -> R) -> R {
        self.message(scope_group::ITEMS >> 3, |w| {
            w.time(log_record::TIME, fields.time_unix_nano);
            w.integer(log_record::SEVERITY_NUMBER, fields.severity_number as u64);
            let result = content(w);
            w.text(log_record::TRACE_ID, fields.trace_id);
            w.text(log_record::SPAN_ID, fields.span_id);
            w.time(log_record::OBSERVED_TIME, fields.observed_time_unix_nano);
            w.text(log_record::EVENT_NAME, fields.event_name);
            result
        })
    }

    /// Appends an attribute inside [`Writer::log`].
    pub fn log_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(log_record::ATTRIBUTES >> 3, key, value);
    }

    /// Appends a gauge with one point that has no attributes to a scope group.
    pub fn gauge(&mut self, name: &[u8], time_unix_nano: u64, value: NumberValue) {
        let value = PointValue::Gauge(value);
        let fields = PointFields { name, start_time_unix_nano: 0, time_unix_nano, value };
        self.point(&fields, |_, _| ());
    }

    /// Appends a metric with one point to a scope group; `attributes` writes those of the point, with
    /// the function that it is given.
    pub fn point(
        &mut self,
        fields: &PointFields<'_>,
        attributes: impl FnOnce(&mut Self, WriteAttribute),
    ) {
        let (data, points) = match fields.value {
            PointValue::Gauge(_) => (metric::GAUGE, gauge::DATA_POINTS),
            PointValue::Sum(_) => (metric::SUM, sum::DATA_POINTS),
            PointValue::Histogram { .. } => (metric::HISTOGRAM, histogram::DATA_POINTS),
        };
        self.message(scope_group::ITEMS >> 3, |w| {
            w.text(metric::NAME, fields.name);
            w.message(data >> 3, |w| {
                w.message(points >> 3, |w| {
                    // Points of all kinds have their times in the same fields.
                    w.time(number_point::START_TIME, fields.start_time_unix_nano);
                    w.time(number_point::TIME, fields.time_unix_nano);
                    w.point_value(fields.value, attributes);
                });
            });
        });
    }

    fn point_value(
        &mut self,
        value: PointValue,
        attributes: impl FnOnce(&mut Self, WriteAttribute),
    ) {
        match value {
            PointValue::Gauge(value) | PointValue::Sum(value) => {
                // Which of the two is there tells the type, so that a zero is written too.
                match value {
                    NumberValue::Double(value) => {
                        self.double_field(number_point::AS_DOUBLE >> 3, value);
                    }
                    NumberValue::Int(value) => {
                        self.fixed64_field(number_point::AS_INT >> 3, value.cast_unsigned());
                    }
                    NumberValue::None => {}
                }
                attributes(self, |w, key, value| {
                    w.key_value(number_point::ATTRIBUTES >> 3, key, value);
                });
            }
            PointValue::Histogram { count, sum } => {
                self.fixed64_field(histogram_point::COUNT >> 3, count);
                self.double_field(histogram_point::SUM >> 3, sum);
                attributes(self, |w, key, value| {
                    w.key_value(histogram_point::ATTRIBUTES >> 3, key, value);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogsView, MetricData, MetricsView, View, inspect_logs, inspect_metrics};

    #[test]
    fn a_log_record_is_read_back() {
        let fields = LogFields {
            time_unix_nano: 5,
            observed_time_unix_nano: 6,
            severity_number: 17,
            trace_id: &[1; 16],
            span_id: &[2; 8],
            event_name: b"TaskFailed",
        };
        let mut w = Writer::new();
        w.resource_group(|w| {
            w.scope_group(|w| w.log(&fields, |w| w.log_attribute(b"a", &AnyValueView::Bool(true))))
        });
        let body = w.into_bytes();
        assert_eq!(inspect_logs(&body, &crate::Limits::default()).map(|found| found.items), Ok(1));
        let group = LogsView::parse(&body).unwrap().resources.into_iter().next().unwrap().unwrap();
        let scope = group.scopes.into_iter().next().unwrap().unwrap();
        let log = scope.items.into_iter().next().unwrap().unwrap();
        assert_eq!((log.time_unix_nano, log.observed_time_unix_nano), (5, 6));
        assert_eq!((log.severity_number, log.event_name), (17, &b"TaskFailed"[..]));
        assert_eq!((log.trace_id, log.span_id), (&[1; 16][..], &[2; 8][..]));
        assert_eq!(log.attributes.into_iter().count(), 1);
    }

    #[test]
    fn gauges_keep_their_type_also_at_zero() {
        let values = [NumberValue::Int(0), NumberValue::Int(-3), NumberValue::Double(0.0)];
        let mut w = Writer::new();
        w.resource_group(|w| {
            w.scope_group(|w| values.iter().for_each(|value| w.gauge(b"g", 7, *value)))
        });
        let body = w.into_bytes();
        let found = inspect_metrics(&body, &crate::Limits::default());
        assert_eq!(found.map(|found| found.items), Ok(3));
        let group =
            MetricsView::parse(&body).unwrap().resources.into_iter().next().unwrap().unwrap();
        let scope = group.scopes.into_iter().next().unwrap().unwrap();
        let mut seen = Vec::new();
        for metric in scope.items {
            let MetricData::Gauge(gauge) = metric.unwrap().data else { panic!("not a gauge") };
            let point = gauge.data_points.into_iter().next().unwrap().unwrap();
            seen.push((point.time_unix_nano, point.value));
        }
        assert_eq!(seen, values.map(|value| (7, value)));
    }
}
