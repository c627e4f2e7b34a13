//! Records as metric points: each a gauge of its own, and how they are found again.

use bytes::Bytes;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::series::otlp;
use kymo_store::series::select::select;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, number_data_point,
};
use prost::Message;

use crate::requests::{Sent, name};

/// Encodes a request.
pub fn encode(records: &[Sent]) -> Bytes {
    let metrics = records.iter().map(metric).collect();
    let scope_metrics = vec![ScopeMetrics { metrics, ..ScopeMetrics::default() }];
    let group = ResourceMetrics { scope_metrics, ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![group] }.encode_to_vec().into()
}

fn metric(record: &Sent) -> Metric {
    let number = Some(AnyValue { value: Some(Value::IntValue(record.id as i64)) });
    let point = NumberDataPoint {
        time_unix_nano: record.time_nanos,
        attributes: vec![KeyValue {
            key: "number".to_owned(),
            value: number,
            ..KeyValue::default()
        }],
        value: Some(number_data_point::Value::AsDouble(1.0)),
        ..NumberDataPoint::default()
    };
    let gauge = Gauge { data_points: vec![point] };
    Metric { name: name(record.id), data: Some(Data::Gauge(gauge)), ..Metric::default() }
}

/// Number and time of each point that a source shows.
pub fn rows(source: &Source) -> Result<Vec<(u64, u64)>, StoreError> {
    let selection = select(std::slice::from_ref(source), &[], i64::MIN..=i64::MAX)?;
    let exported = otlp::encode(&selection.series)?;
    let request = ExportMetricsServiceRequest::decode(&exported[..]).expect("a request");
    let scopes = request.resource_metrics.into_iter().flat_map(|group| group.scope_metrics);
    let mut rows = Vec::new();
    for metric in scopes.flat_map(|scope| scope.metrics) {
        let Some(Data::Gauge(gauge)) = &metric.data else { panic!("a gauge: {metric:?}") };
        for point in &gauge.data_points {
            let number = point.attributes.first().and_then(|number| number.value.as_ref());
            let Some(Value::IntValue(id)) = number.and_then(|number| number.value.as_ref()) else {
                panic!("a point without its number: {point:?}");
            };
            assert_eq!(metric.name, name(*id as u64), "the metric of record {id}");
            rows.push((*id as u64, point.time_unix_nano));
        }
    }
    Ok(rows)
}
