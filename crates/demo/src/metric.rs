//! Metrics on their way out: gauges, counters, and histograms that grow.

use kymo_wire::encode::{
    DistributionFields, ExemplarFields, MetricFields, MetricShape, PointTimes, Writer,
};
use kymo_wire::{AnyValueView, NumberValue};

/// Bounds of durations in seconds, as OpenTelemetry recommends them for HTTP.
pub(crate) const SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Labels of a point.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Points of one moment, of one resource.
pub(crate) struct Points<'a> {
    pub(crate) writer: &'a mut Writer,
    /// Since when counters count.
    pub(crate) start_nanos: u64,
    pub(crate) nanos: u64,
}

impl Points<'_> {
    pub(crate) fn gauge(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.number(name, MetricShape::Gauge, labels, value);
    }

    pub(crate) fn counter(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.number(name, MetricShape::Counter, labels, value);
    }

    fn number(&mut self, name: &str, shape: MetricShape, labels: Labels<'_>, value: f64) {
        let fields = fields(name, "", shape);
        let times = self.times(shape);
        self.writer.metric(&fields, |w| {
            w.number_point(&times, NumberValue::Double(value), |w| {
                for (name, value) in labels {
                    w.number_point_attribute(name.as_bytes(), &text(value));
                }
            });
        });
    }

    pub(crate) fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let shape = MetricShape::Histogram;
        let times = self.times(shape);
        let distribution = DistributionFields {
            count: histogram.counts.iter().sum(),
            sum: histogram.sum,
            bounds: histogram.bounds,
            bucket_counts: &histogram.counts,
        };
        self.writer.metric(&fields(name, "s", shape), |w| {
            w.histogram_point(&times, &distribution, |w| {
                for (name, value) in labels {
                    w.histogram_point_attribute_raw(&encoded(name, value));
                }
                if let Some(exemplar) = &histogram.exemplar {
                    w.histogram_point_exemplar(&ExemplarFields {
                        unix_nano: exemplar.nanos,
                        value: exemplar.value,
                        trace_id: &exemplar.place.0,
                        span_id: &exemplar.place.1,
                    });
                }
            });
        });
    }

    fn times(&self, shape: MetricShape) -> PointTimes {
        let start_unix_nano = if shape == MetricShape::Gauge { 0 } else { self.start_nanos };
        PointTimes { start_unix_nano, unix_nano: self.nanos, is_absent: false }
    }
}

/// A distribution since the start.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
    exemplar: Option<Exemplar>,
}

/// An observation, and the trace and span that made it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exemplar {
    pub(crate) nanos: u64,
    pub(crate) value: f64,
    pub(crate) place: ([u8; 16], [u8; 8]),
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0, exemplar: None }
    }

    /// Counts a value so many times.
    pub(crate) fn record(&mut self, value: f64, times: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += times;
        self.sum += value * times as f64;
    }

    /// Remembers an observation if none is larger since the last time.
    pub(crate) fn show(&mut self, exemplar: Exemplar) {
        if self.exemplar.is_none_or(|known| known.value < exemplar.value) {
            self.exemplar = Some(exemplar);
        }
    }

    /// Points have been sent: the next interval has an exemplar of its own.
    pub(crate) fn told(&mut self) {
        self.exemplar = None;
    }
}

fn fields<'a>(name: &'a str, unit: &'a str, shape: MetricShape) -> MetricFields<'a> {
    let (name, unit) = (name.as_bytes(), unit.as_bytes());
    MetricFields { name, unit, shape, ..MetricFields::default() }
}

fn text(value: &str) -> AnyValueView<'_> {
    AnyValueView::String(value.as_bytes())
}

/// A label as a `KeyValue`.
fn encoded(name: &str, value: &str) -> Vec<u8> {
    const KEY: u32 = 1;
    const VALUE: u32 = 2;
    let mut writer = Writer::new();
    writer.bytes_field(KEY, name.as_bytes());
    writer.message(VALUE, |w| w.any_value(&text(value)));
    writer.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_is_counted_below_it() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        histogram.record(1.0, 1);
        histogram.record(1.5, 3);
        histogram.record(9.0, 1);
        assert_eq!(histogram.counts, [1, 3, 1]);
        assert!((histogram.sum - 14.5).abs() < 1e-9);
    }

    #[test]
    fn the_largest_observation_of_an_interval_is_its_exemplar() {
        let mut histogram = Histogram::new(&[1.0]);
        let of = |value| Exemplar { nanos: 1, value, place: ([1; 16], [1; 8]) };
        [1.0, 3.0, 2.0].into_iter().for_each(|value| histogram.show(of(value)));
        assert_eq!(histogram.exemplar.map(|exemplar| exemplar.value), Some(3.0));
        histogram.told();
        assert!(histogram.exemplar.is_none());
    }
}
