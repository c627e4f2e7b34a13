//! Arbitrary metrics from a seed, as structs of `opentelemetry-proto`.
//!
//! A [`World`] has a few origins, metrics and label sets, so that series repeat
//! over the requests that it makes.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
    HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary,
    SummaryDataPoint, exemplar, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use super::random::Random;

const TEXTS: &[&str] =
    &["", "a", "GET /things/{id}", "ü", "日本語", "\0\u{10ffff}", "a longer text"];
const KEYS: &[&str] = &["", "host", "service.name", "le", "k", "zone"];

pub(crate) struct World {
    random: Random,
    origins: Vec<(Option<Resource>, String, Option<InstrumentationScope>, String)>,
    /// Metrics without points.
    metrics: Vec<Metric>,
    labels: Vec<Vec<KeyValue>>,
    time: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let origins = (0..1 + r.below(3))
            .map(|_| (maybe(r, resource), text(r), maybe(r, scope), text(r)))
            .collect();
        let metrics = (0..2 + r.below(8)).map(|n| metric(r, n / 2)).collect();
        let labels = (0..1 + r.below(4)).map(|_| attributes(r)).collect();
        let time = if r.one_in(5) { 0 } else { 1_700_000_000_000_000_000 };
        Self { random, origins, metrics, labels, time }
    }

    /// A request of up to `points` points.
    pub(crate) fn request(&mut self, points: u64) -> ExportMetricsServiceRequest {
        let mut resource_metrics = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let (resource, schema_url, scope, scope_schema_url) =
                self.random.pick(&self.origins).clone();
            let metrics = (0..1 + self.random.below(4)).map(|_| self.metric(points)).collect();
            resource_metrics.push(ResourceMetrics {
                resource,
                scope_metrics: vec![ScopeMetrics { scope, metrics, schema_url: scope_schema_url }],
                schema_url,
            });
        }
        // As it arrives: protobuf leaves a zero out, also a negative one.
        let sent = ExportMetricsServiceRequest { resource_metrics }.encode_to_vec();
        ExportMetricsServiceRequest::decode(&sent[..]).unwrap()
    }

    fn metric(&mut self, points: u64) -> Metric {
        let mut metric = self.random.pick(&self.metrics).clone();
        for _ in 0..self.random.below(points + 1) {
            let labels = self.random.pick(&self.labels).clone();
            let time = self.next_time();
            let r = &mut self.random;
            match &mut metric.data {
                Some(Data::Gauge(d)) => d.data_points.push(number_point(r, labels, time)),
                Some(Data::Sum(d)) => d.data_points.push(number_point(r, labels, time)),
                Some(Data::Histogram(d)) => d.data_points.push(histogram_point(r, labels, time)),
                Some(Data::ExponentialHistogram(d)) => {
                    d.data_points.push(exponential_point(r, labels, time));
                }
                Some(Data::Summary(d)) => d.data_points.push(summary_point(r, labels, time)),
                None => {}
            }
        }
        metric
    }

    /// Mostly regular, sometimes the same again, sometimes far back.
    fn next_time(&mut self) -> u64 {
        match self.random.below(20) {
            0 => self.time.saturating_sub(self.random.below(1 << 40)),
            1 => self.time,
            2 => number(&mut self.random) >> 1,
            3..5 => {
                self.time += 10_000_000_000 + self.random.below(1_000_000);
                self.time
            }
            _ => {
                self.time += 10_000_000_000;
                self.time
            }
        }
    }
}

fn many<T>(r: &mut Random, at_most: u64, build: impl Fn(&mut Random) -> T) -> Vec<T> {
    (0..r.below(at_most + 1)).map(|_| build(r)).collect()
}

fn maybe<T>(r: &mut Random, build: impl Fn(&mut Random) -> T) -> Option<T> {
    if r.one_in(3) { None } else { Some(build(r)) }
}

fn text(r: &mut Random) -> String {
    (*r.pick(TEXTS)).to_owned()
}

fn number(r: &mut Random) -> u64 {
    match r.below(4) {
        0 => *r.pick(&[0, 1, 127, 128, u32::MAX.into(), i64::MAX as u64, u64::MAX]),
        1 => r.next(),
        _ => r.below(1_000),
    }
}

fn double(r: &mut Random) -> f64 {
    const EDGES: &[f64] =
        &[0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    match r.below(4) {
        0 => *r.pick(EDGES),
        1 => f64::from_bits(r.next()),
        _ => r.below(10_000) as f64 / 100.0,
    }
}

fn any_value(r: &mut Random, depth: u32) -> AnyValue {
    let kinds = if depth < 3 { 12 } else { 10 };
    let value = match r.below(kinds) {
        0 => None,
        1 => Some(Value::BoolValue(r.one_in(2))),
        2 => Some(Value::IntValue(number(r) as i64)),
        3 => Some(Value::DoubleValue(double(r))),
        4 => Some(Value::BytesValue(many(r, 20, |r| r.next() as u8))),
        10 => {
            Some(Value::ArrayValue(ArrayValue { values: many(r, 3, |r| any_value(r, depth + 1)) }))
        }
        11 => Some(Value::KvlistValue(KeyValueList {
            values: many(r, 3, |r| key_value(r, depth + 1)),
        })),
        _ => Some(Value::StringValue(text(r))),
    };
    AnyValue { value }
}

fn key_value(r: &mut Random, depth: u32) -> KeyValue {
    KeyValue {
        key: (*r.pick(KEYS)).to_owned(),
        value: if r.one_in(10) { None } else { Some(any_value(r, depth)) },
        key_strindex: 0,
    }
}

fn attributes(r: &mut Random) -> Vec<KeyValue> {
    let mut list = many(r, 4, |r| key_value(r, 0));
    if let Some(first) = list.first().cloned()
        && r.one_in(4)
    {
        list.push(first);
    }
    list
}

fn resource(r: &mut Random) -> Resource {
    Resource {
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
        entity_refs: Vec::new(),
    }
}

fn scope(r: &mut Random) -> InstrumentationScope {
    InstrumentationScope {
        name: text(r),
        version: text(r),
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
    }
}

/// A metric without points. What is not part of a series' identity depends on
/// the name alone, so that all points of a series agree on it.
fn metric(r: &mut Random, name: u64) -> Metric {
    let aggregation_temporality = *r.pick(&[0, 1, 2, 2, 1, 7, -1]);
    let data = match r.below(7) {
        0 => Data::Gauge(Gauge { data_points: Vec::new() }),
        1 | 2 => Data::Sum(Sum {
            data_points: Vec::new(),
            aggregation_temporality,
            is_monotonic: r.one_in(2),
        }),
        3 | 4 => Data::Histogram(Histogram { data_points: Vec::new(), aggregation_temporality }),
        5 => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: Vec::new(),
            aggregation_temporality,
        }),
        _ => Data::Summary(Summary { data_points: Vec::new() }),
    };
    let mut by_name = Random::new(name);
    Metric {
        name: if name == 0 { String::new() } else { format!("metric.{name}") },
        description: text(&mut by_name),
        unit: text(r),
        metadata: attributes(&mut by_name),
        data: Some(data),
    }
}

fn start_time(r: &mut Random, time: u64) -> u64 {
    match r.below(3) {
        0 => 0,
        1 => 1_699_999_999_000_000_000,
        _ => time.saturating_sub(10_000_000_000),
    }
}

fn flags(r: &mut Random) -> u32 {
    if r.one_in(8) { number(r) as u32 } else { 0 }
}

fn exemplars(r: &mut Random) -> Vec<Exemplar> {
    if !r.one_in(6) {
        return Vec::new();
    }
    many(r, 3, |r| Exemplar {
        filtered_attributes: attributes(r),
        time_unix_nano: number(r),
        span_id: many(r, 8, |r| r.next() as u8),
        trace_id: many(r, 16, |r| r.next() as u8),
        value: maybe(r, |r| exemplar::Value::AsInt(number(r) as i64)),
    })
}

fn number_point(r: &mut Random, attributes: Vec<KeyValue>, time: u64) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: start_time(r, time),
        time_unix_nano: time,
        exemplars: exemplars(r),
        flags: flags(r),
        value: match r.below(5) {
            0 => None,
            1 | 2 => Some(number_data_point::Value::AsDouble(double(r))),
            _ => Some(number_data_point::Value::AsInt(number(r) as i64)),
        },
    }
}

fn histogram_point(r: &mut Random, attributes: Vec<KeyValue>, time: u64) -> HistogramDataPoint {
    let buckets = if r.one_in(5) { r.below(20) } else { 5 };
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: start_time(r, time),
        time_unix_nano: time,
        count: number(r),
        sum: maybe(r, double),
        bucket_counts: (0..buckets).map(|_| number(r)).collect(),
        explicit_bounds: (1..buckets).map(|bound| bound as f64).collect(),
        exemplars: exemplars(r),
        flags: flags(r),
        min: maybe(r, double),
        max: maybe(r, double),
    }
}

fn exponential_point(
    r: &mut Random,
    attributes: Vec<KeyValue>,
    time: u64,
) -> ExponentialHistogramDataPoint {
    let buckets =
        |r: &mut Random| Buckets { offset: r.next() as i32, bucket_counts: many(r, 20, number) };
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: start_time(r, time),
        time_unix_nano: time,
        count: number(r),
        sum: maybe(r, double),
        scale: r.next() as i32,
        zero_count: number(r),
        positive: maybe(r, buckets),
        negative: maybe(r, buckets),
        flags: flags(r),
        exemplars: exemplars(r),
        min: maybe(r, double),
        max: maybe(r, double),
        zero_threshold: double(r),
    }
}

fn summary_point(r: &mut Random, attributes: Vec<KeyValue>, time: u64) -> SummaryDataPoint {
    SummaryDataPoint {
        attributes,
        start_time_unix_nano: start_time(r, time),
        time_unix_nano: time,
        count: number(r),
        sum: double(r),
        quantile_values: many(r, 3, |r| ValueAtQuantile { quantile: double(r), value: double(r) }),
        flags: flags(r),
    }
}
