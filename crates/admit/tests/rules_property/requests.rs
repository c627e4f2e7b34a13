//! Requests of few keys and values, so that rules meet them; and records out of requests, by the
//! reference decoder.

use kymo_admit::Signal;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

use super::KEYS;
use super::model::{Attributes, Flat, Value};
use super::random::Random;

fn attributes(random: &mut Random) -> Vec<KeyValue> {
    let count = random.below(4);
    let one = |random: &mut Random| {
        let value = match random.below(4) {
            0 => Any::StringValue((*random.pick(&["text", "none"])).to_owned()),
            _ => Any::IntValue(random.below(3) as i64),
        };
        let value = Some(AnyValue { value: Some(value) });
        KeyValue { key: (*random.pick(&KEYS)).to_owned(), value, ..KeyValue::default() }
    };
    (0..count).map(|_| one(random)).collect()
}

fn resource(random: &mut Random) -> Option<Resource> {
    let attributes = attributes(random);
    random.chance(4).then(|| Resource { attributes, ..Resource::default() })
}

fn scope(random: &mut Random) -> Option<InstrumentationScope> {
    let attributes = attributes(random);
    let name = "s".to_owned();
    random.chance(3).then(|| InstrumentationScope { name, attributes, ..Default::default() })
}

fn name(random: &mut Random) -> String {
    (*random.pick(&["x", "y", "z"])).to_owned()
}

fn many<T>(random: &mut Random, of: u64, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
    let count = random.below(of);
    (0..count).map(|_| one(random)).collect()
}

/// A request whose records have numbers, as their times.
pub(crate) fn request(signal: Signal, random: &mut Random) -> Vec<u8> {
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };
    match signal {
        Signal::Traces => {
            let resource_spans = many(random, 4, |random| ResourceSpans {
                resource: resource(random),
                schema_url: "u".to_owned(),
                scope_spans: many(random, 3, |random| ScopeSpans {
                    scope: scope(random),
                    spans: many(random, 5, |random| Span {
                        name: name(random),
                        start_time_unix_nano: next(),
                        attributes: attributes(random),
                        events: vec![Event { name: "e".to_owned(), ..Event::default() }],
                        ..Span::default()
                    }),
                    ..ScopeSpans::default()
                }),
            });
            ExportTraceServiceRequest { resource_spans }.encode_to_vec()
        }
        Signal::Logs => {
            let resource_logs = many(random, 4, |random| ResourceLogs {
                resource: resource(random),
                scope_logs: many(random, 3, |random| ScopeLogs {
                    scope: scope(random),
                    log_records: many(random, 5, |random| LogRecord {
                        event_name: name(random),
                        time_unix_nano: next(),
                        attributes: attributes(random),
                        ..LogRecord::default()
                    }),
                    schema_url: "u".to_owned(),
                }),
                ..ResourceLogs::default()
            });
            ExportLogsServiceRequest { resource_logs }.encode_to_vec()
        }
        Signal::Metrics => {
            let resource_metrics = many(random, 4, |random| ResourceMetrics {
                resource: resource(random),
                scope_metrics: many(random, 3, |random| ScopeMetrics {
                    scope: scope(random),
                    metrics: many(random, 4, |random| Metric {
                        name: name(random),
                        unit: "u".to_owned(),
                        data: Some(data(random, &mut next)),
                        ..Metric::default()
                    }),
                    ..ScopeMetrics::default()
                }),
                ..ResourceMetrics::default()
            });
            ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
        }
    }
}

fn data(random: &mut Random, next: &mut impl FnMut() -> u64) -> Data {
    macro_rules! points {
        ($point:ident) => {
            many(random, 4, |random| $point {
                time_unix_nano: next(),
                attributes: attributes(random),
                ..$point::default()
            })
        };
    }
    match random.below(5) {
        0 => Data::Gauge(Gauge { data_points: points!(NumberDataPoint) }),
        1 => Data::Sum(Sum {
            data_points: points!(NumberDataPoint),
            aggregation_temporality: 2,
            is_monotonic: true,
        }),
        2 => Data::Histogram(Histogram {
            data_points: points!(HistogramDataPoint),
            aggregation_temporality: 1,
        }),
        3 => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: points!(ExponentialHistogramDataPoint),
            aggregation_temporality: 1,
        }),
        _ => Data::Summary(Summary { data_points: points!(SummaryDataPoint) }),
    }
}

fn plain(attributes: &[KeyValue]) -> Attributes {
    let value = |attribute: &KeyValue| match attribute.value.as_ref().unwrap().value.as_ref() {
        Some(Any::IntValue(number)) => Value::Int(*number),
        Some(Any::StringValue(text)) => Value::Text(text.clone()),
        other => panic!("{other:?} is not generated"),
    };
    attributes.iter().map(|attribute| (attribute.key.clone(), value(attribute))).collect()
}

/// Shows every group of records: resource, scope, and the records themselves.
fn groups(signal: Signal, body: &[u8]) -> Vec<Vec<Flat>> {
    let of_resource = |resource: &Option<Resource>| {
        resource.as_ref().map(|resource| plain(&resource.attributes)).unwrap_or_default()
    };
    let of_scope = |scope: &Option<InstrumentationScope>| {
        scope.as_ref().map(|scope| plain(&scope.attributes)).unwrap_or_default()
    };
    let mut all = Vec::new();
    match signal {
        Signal::Traces => {
            for group in ExportTraceServiceRequest::decode(body).unwrap().resource_spans {
                assert_eq!(group.schema_url, "u");
                for spans in &group.scope_spans {
                    let one = |span: &Span| {
                        assert_eq!(span.events.len(), 1);
                        Flat {
                            resource: of_resource(&group.resource),
                            scope: of_scope(&spans.scope),
                            own: plain(&span.attributes),
                            name: span.name.clone(),
                            number: span.start_time_unix_nano,
                        }
                    };
                    all.push(spans.spans.iter().map(one).collect());
                }
            }
        }
        Signal::Logs => {
            for group in ExportLogsServiceRequest::decode(body).unwrap().resource_logs {
                for logs in &group.scope_logs {
                    assert_eq!(logs.schema_url, "u");
                    let one = |log: &LogRecord| Flat {
                        resource: of_resource(&group.resource),
                        scope: of_scope(&logs.scope),
                        own: plain(&log.attributes),
                        name: log.event_name.clone(),
                        number: log.time_unix_nano,
                    };
                    all.push(logs.log_records.iter().map(one).collect());
                }
            }
        }
        Signal::Metrics => {
            for group in ExportMetricsServiceRequest::decode(body).unwrap().resource_metrics {
                for metrics in &group.scope_metrics {
                    let mut records = Vec::new();
                    for metric in &metrics.metrics {
                        assert_eq!(metric.unit, "u");
                        for (attributes, number) in points(metric) {
                            records.push(Flat {
                                resource: of_resource(&group.resource),
                                scope: of_scope(&metrics.scope),
                                own: plain(&attributes),
                                name: metric.name.clone(),
                                number,
                            });
                        }
                    }
                    all.push(records);
                }
            }
        }
    }
    all
}

fn points(metric: &Metric) -> Vec<(Vec<KeyValue>, u64)> {
    macro_rules! all {
        ($data:expr) => {
            $data
                .data_points
                .iter()
                .map(|point| (point.attributes.clone(), point.time_unix_nano))
                .collect()
        };
    }
    match metric.data.as_ref().unwrap() {
        Data::Gauge(data) => all!(data),
        Data::Sum(data) => {
            assert!(data.is_monotonic && data.aggregation_temporality == 2);
            all!(data)
        }
        Data::Histogram(data) => all!(data),
        Data::ExponentialHistogram(data) => all!(data),
        Data::Summary(data) => all!(data),
    }
}

/// The records of a request.
pub(crate) fn flat(signal: Signal, body: &[u8]) -> Vec<Flat> {
    groups(signal, body).concat()
}

/// Records of one group are in the order in which they came, and none is empty.
pub(crate) fn assert_order(signal: Signal, body: &[u8]) {
    for group in groups(signal, body) {
        assert!(!group.is_empty());
        assert!(group.is_sorted_by_key(|record| record.number));
    }
}

/// Whether some group of a request has no record.
pub(crate) fn has_empty_group(signal: Signal, body: &[u8]) -> bool {
    if groups(signal, body).iter().any(Vec::is_empty) {
        return true;
    }
    match signal {
        Signal::Traces => ExportTraceServiceRequest::decode(body)
            .unwrap()
            .resource_spans
            .iter()
            .any(|group| group.scope_spans.is_empty()),
        Signal::Logs => ExportLogsServiceRequest::decode(body)
            .unwrap()
            .resource_logs
            .iter()
            .any(|group| group.scope_logs.is_empty()),
        Signal::Metrics => ExportMetricsServiceRequest::decode(body)
            .unwrap()
            .resource_metrics
            .iter()
            .any(|group| group.scope_metrics.is_empty()),
    }
}
