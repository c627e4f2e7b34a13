//! The rules of admission, told once more on the structs of `opentelemetry-proto`: slow, plain, and
//! independent of the walk that is tested.

use kymo_admit::{Limits, Signal};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, Metric};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// What should be kept of a request.
pub(crate) struct Expected {
    /// As prost encodes it.
    pub(crate) body: Vec<u8>,
    pub(crate) items: u64,
    pub(crate) refused: u64,
}

pub(crate) fn expected(signal: Signal, body: &[u8], limits: &Limits) -> Expected {
    let mut model = Model { limits, items: 0, refused: 0 };
    let body = match signal {
        Signal::Traces => {
            let mut request = ExportTraceServiceRequest::decode(body).unwrap();
            for group in &mut request.resource_spans {
                model.resource(&mut group.resource);
                for group in &mut group.scope_spans {
                    model.scope(&mut group.scope);
                    group.spans.retain_mut(|span| model.keeps(|model| model.span(span)));
                }
            }
            request.encode_to_vec()
        }
        Signal::Logs => {
            let mut request = ExportLogsServiceRequest::decode(body).unwrap();
            for group in &mut request.resource_logs {
                model.resource(&mut group.resource);
                for group in &mut group.scope_logs {
                    model.scope(&mut group.scope);
                    group.log_records.retain_mut(|log| model.keeps(|model| model.log(log)));
                }
            }
            request.encode_to_vec()
        }
        Signal::Metrics => {
            let mut request = ExportMetricsServiceRequest::decode(body).unwrap();
            for group in &mut request.resource_metrics {
                model.resource(&mut group.resource);
                for group in &mut group.scope_metrics {
                    model.scope(&mut group.scope);
                    group.metrics.iter_mut().for_each(|metric| model.metric(metric));
                }
            }
            request.encode_to_vec()
        }
    };
    Expected { body, items: model.items, refused: model.refused }
}

struct Model<'a> {
    limits: &'a Limits,
    items: u64,
    refused: u64,
}

impl Model<'_> {
    /// Counts a record that is judged by `is_good`.
    fn keeps(&mut self, is_good: impl FnOnce(&mut Self) -> bool) -> bool {
        let is_good = is_good(self);
        *(if is_good { &mut self.items } else { &mut self.refused }) += 1;
        is_good
    }

    fn resource(&self, resource: &mut Option<Resource>) {
        if let Some(resource) = resource {
            self.attributes(&mut resource.attributes, &mut resource.dropped_attributes_count);
        }
    }

    fn scope(&self, scope: &mut Option<InstrumentationScope>) {
        if let Some(scope) = scope {
            self.attributes(&mut scope.attributes, &mut scope.dropped_attributes_count);
        }
    }

    fn attributes(&self, attributes: &mut Vec<KeyValue>, dropped: &mut u32) {
        let surplus = attributes.len().saturating_sub(self.limits.max_attributes_per_record);
        attributes.truncate(self.limits.max_attributes_per_record);
        *dropped = dropped.saturating_add(surplus as u32);
        attributes.iter_mut().for_each(|attribute| self.value(&mut attribute.value));
    }

    fn value(&self, value: &mut Option<AnyValue>) {
        match value.as_mut().and_then(|value| value.value.as_mut()) {
            Some(Value::StringValue(text)) => self.text(text),
            Some(Value::BytesValue(bytes)) => bytes.truncate(self.limits.max_value_bytes),
            Some(Value::ArrayValue(list)) => {
                for element in &mut list.values {
                    let mut value = Some(std::mem::take(element));
                    self.value(&mut value);
                    *element = value.unwrap();
                }
            }
            Some(Value::KvlistValue(list)) => {
                list.values.iter_mut().for_each(|entry| self.value(&mut entry.value));
            }
            _ => {}
        }
    }

    fn text(&self, text: &mut String) {
        while text.len() > self.limits.max_value_bytes {
            text.pop();
        }
    }

    fn is_time(&self, time: u64) -> bool {
        time <= self.limits.max_time_unix_nanos
    }

    fn span(&self, span: &mut Span) -> bool {
        self.attributes(&mut span.attributes, &mut span.dropped_attributes_count);
        if !is_id(&span.parent_span_id, 8) {
            span.parent_span_id.clear();
        }
        let links_before = span.links.len();
        span.links.retain(|link| is_id(&link.trace_id, 16) && is_id(&link.span_id, 8));
        let dropped = (links_before - span.links.len()) as u32;
        span.dropped_links_count = span.dropped_links_count.saturating_add(dropped);
        for link in &mut span.links {
            self.attributes(&mut link.attributes, &mut link.dropped_attributes_count);
        }
        for event in &mut span.events {
            self.attributes(&mut event.attributes, &mut event.dropped_attributes_count);
        }
        if let Some(status) = &mut span.status {
            self.text(&mut status.message);
        }
        let are_ids_good = is_id(&span.trace_id, 16) && is_id(&span.span_id, 8);
        let times = [span.start_time_unix_nano, span.end_time_unix_nano];
        let event_times = span.events.iter().map(|event| event.time_unix_nano);
        are_ids_good && times.into_iter().chain(event_times).all(|time| self.is_time(time))
    }

    fn log(&self, log: &mut LogRecord) -> bool {
        self.attributes(&mut log.attributes, &mut log.dropped_attributes_count);
        self.value(&mut log.body);
        empty_unless_id(&mut log.trace_id, 16);
        empty_unless_id(&mut log.span_id, 8);
        self.is_time(log.time_unix_nano) && self.is_time(log.observed_time_unix_nano)
    }

    fn metric(&mut self, metric: &mut Metric) {
        self.attributes(&mut metric.metadata, &mut 0);
        macro_rules! points {
            ($points:expr) => {
                $points.retain_mut(|point| {
                    self.keeps(|model| {
                        let is_small =
                            point.attributes.len() <= model.limits.max_attributes_per_record;
                        model.attributes(&mut point.attributes, &mut 0);
                        let times = [point.start_time_unix_nano, point.time_unix_nano];
                        is_small && times.into_iter().all(|time| model.is_time(time))
                    })
                })
            };
        }
        // A point is judged with its exemplars, which all but summaries have.
        macro_rules! points_with_exemplars {
            ($points:expr) => {
                $points.retain_mut(|point| {
                    self.keeps(|model| {
                        let is_small =
                            point.attributes.len() <= model.limits.max_attributes_per_record;
                        model.attributes(&mut point.attributes, &mut 0);
                        let times = [point.start_time_unix_nano, point.time_unix_nano];
                        let are_times_good = times.into_iter().all(|time| model.is_time(time));
                        model.exemplars(&mut point.exemplars) && is_small && are_times_good
                    })
                })
            };
        }
        match &mut metric.data {
            Some(Data::Gauge(gauge)) => points_with_exemplars!(gauge.data_points),
            Some(Data::Sum(sum)) => points_with_exemplars!(sum.data_points),
            Some(Data::Histogram(histogram)) => points_with_exemplars!(histogram.data_points),
            Some(Data::ExponentialHistogram(data)) => points_with_exemplars!(data.data_points),
            Some(Data::Summary(summary)) => points!(summary.data_points),
            None => {}
        }
    }

    fn exemplars(&self, exemplars: &mut [Exemplar]) -> bool {
        for exemplar in exemplars.iter_mut() {
            self.attributes(&mut exemplar.filtered_attributes, &mut 0);
            empty_unless_id(&mut exemplar.trace_id, 16);
            empty_unless_id(&mut exemplar.span_id, 8);
        }
        exemplars.iter().all(|exemplar| self.is_time(exemplar.time_unix_nano))
    }
}

fn is_id(id: &[u8], length: usize) -> bool {
    id.len() == length && id.iter().any(|byte| *byte != 0)
}

fn empty_unless_id(id: &mut Vec<u8>, length: usize) {
    if !is_id(id, length) {
        id.clear();
    }
}
