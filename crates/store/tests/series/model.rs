//! What was sent, point by point, in a form that can be compared: each point as
//! an encoded request of its own.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
};
use prost::Message;

/// A data point in its own request, and what a model needs of it.
pub(crate) struct Point {
    /// The request with just this point.
    pub(crate) request: ExportMetricsServiceRequest,
    /// The same with nothing of the point but its attributes: what makes a series.
    pub(crate) series: Vec<u8>,
    pub(crate) time: u64,
}

impl Point {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.request.encode_to_vec()
    }

    /// Its group, metric and attributes.
    pub(crate) fn metric(&self) -> (&ResourceMetrics, &Metric) {
        let group = &self.request.resource_metrics[0];
        (group, &group.scope_metrics[0].metrics[0])
    }
}

/// All points of a request.
pub(crate) fn points(request: &ExportMetricsServiceRequest) -> Vec<Point> {
    let mut points = Vec::new();
    for group in &request.resource_metrics {
        for scope in &group.scope_metrics {
            for metric in &scope.metrics {
                for (time, alone, bare) in alone(metric) {
                    let wrap = |metric| ExportMetricsServiceRequest {
                        resource_metrics: vec![ResourceMetrics {
                            resource: group.resource.clone(),
                            schema_url: group.schema_url.clone(),
                            scope_metrics: vec![ScopeMetrics {
                                scope: scope.scope.clone(),
                                schema_url: scope.schema_url.clone(),
                                metrics: vec![metric],
                            }],
                        }],
                    };
                    let series = wrap(bare).encode_to_vec();
                    points.push(Point { request: wrap(alone), series, time });
                }
            }
        }
    }
    points
}

/// Each point's time, the metric with just this point, and with just its attributes.
fn alone(metric: &Metric) -> Vec<(u64, Metric, Metric)> {
    let mut all = Vec::new();
    macro_rules! each {
        ($variant:ident { $($field:ident),* }, $data:expr, $point:ident) => {
            for point in &$data.data_points {
                let with = |point| {
                    let data = $variant { data_points: vec![point], $($field: $data.$field),* };
                    Metric {
                        name: metric.name.clone(),
                        description: metric.description.clone(),
                        unit: metric.unit.clone(),
                        metadata: metric.metadata.clone(),
                        data: Some(Data::$variant(data)),
                    }
                };
                let bare =
                    $point { attributes: point.attributes.clone(), ..$point::default() };
                all.push((point.time_unix_nano, with(point.clone()), with(bare)));
            }
        };
    }
    match &metric.data {
        Some(Data::Gauge(data)) => each!(Gauge {}, data, NumberDataPoint),
        Some(Data::Sum(data)) => {
            each!(Sum { aggregation_temporality, is_monotonic }, data, NumberDataPoint)
        }
        Some(Data::Histogram(data)) => {
            each!(Histogram { aggregation_temporality }, data, HistogramDataPoint)
        }
        Some(Data::ExponentialHistogram(data)) => {
            each!(
                ExponentialHistogram { aggregation_temporality },
                data,
                ExponentialHistogramDataPoint
            );
        }
        Some(Data::Summary(data)) => each!(Summary {}, data, SummaryDataPoint),
        None => {}
    }
    all
}

/// Encoded points, sorted: a multiset.
pub(crate) fn multiset<'a>(
    requests: impl IntoIterator<Item = &'a ExportMetricsServiceRequest>,
) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> =
        requests.into_iter().flat_map(points).map(|point| point.bytes()).collect();
    all.sort();
    all
}

/// For each series what a query must see: by time the last point that came.
pub(crate) fn latest<'a>(
    requests: impl IntoIterator<Item = &'a ExportMetricsServiceRequest>,
) -> BTreeMap<Vec<u8>, BTreeMap<i64, Point>> {
    let mut series: BTreeMap<Vec<u8>, BTreeMap<i64, Point>> = BTreeMap::new();
    for point in requests.into_iter().flat_map(points) {
        series.entry(point.series.clone()).or_default().insert(point.time as i64, point);
    }
    series
}
