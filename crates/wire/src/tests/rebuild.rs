//! Builds the structs of `opentelemetry-proto` out of views, to compare both decoders.
//!
//! The fuzz target includes this file too, hence the path `kymo_wire` for the crate itself.

use kymo_wire::repeated::{Elements, Repeated, View};
use kymo_wire::{
    AnyValueView, BucketsView, EntityRefView, EventView, ExemplarView,
    ExponentialHistogramPointView, HistogramPointView, KeyValueView, LinkView, LogRecordView,
    LogsView, MetricData, MetricView, MetricsView, NumberPointView, NumberValue, QuantileView,
    Reader, ResourceView, ScopeView, SpanView, StatusView, SummaryPointView, TracesView, WireError,
    array_values, kvlist_entries, text,
};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
    HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary,
    SummaryDataPoint, exemplar, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

type Result<T> = std::result::Result<T, WireError>;

fn all<'a, T: View<'a>, U>(
    list: Repeated<'a, T>,
    build: impl Fn(T) -> Result<U>,
) -> Result<Vec<U>> {
    let built = each(list.iter(), build)?;
    assert_eq!(built.len(), list.count(), "the count of a list is right");
    Ok(built)
}

fn each<'a, T: View<'a>, U>(
    elements: Elements<'a, T>,
    build: impl Fn(T) -> Result<U>,
) -> Result<Vec<U>> {
    elements.map(|element| element.and_then(&build)).collect()
}

fn string(bytes: &[u8]) -> String {
    text(bytes).into_owned()
}

/// Views do not tell an absent value from an empty one; prost does.
fn has_field(raw: &[u8], tag: u32) -> Result<bool> {
    let mut reader = Reader::new(raw);
    while let Some(found) = reader.tag()? {
        if found == tag {
            return Ok(true);
        }
        reader.skip(found)?;
    }
    Ok(false)
}

pub(crate) fn traces(body: &[u8]) -> Result<ExportTraceServiceRequest> {
    let resource_spans = all(TracesView::parse(body)?.resources, |group| {
        Ok(ResourceSpans {
            resource: group.resource.map(resource).transpose()?,
            scope_spans: all(group.scopes, |group| {
                Ok(ScopeSpans {
                    scope: group.scope.map(scope).transpose()?,
                    spans: all(group.items, span)?,
                    schema_url: string(group.schema_url),
                })
            })?,
            schema_url: string(group.schema_url),
        })
    })?;
    Ok(ExportTraceServiceRequest { resource_spans })
}

pub(crate) fn logs(body: &[u8]) -> Result<ExportLogsServiceRequest> {
    let resource_logs = all(LogsView::parse(body)?.resources, |group| {
        Ok(ResourceLogs {
            resource: group.resource.map(resource).transpose()?,
            scope_logs: all(group.scopes, |group| {
                Ok(ScopeLogs {
                    scope: group.scope.map(scope).transpose()?,
                    log_records: all(group.items, log_record)?,
                    schema_url: string(group.schema_url),
                })
            })?,
            schema_url: string(group.schema_url),
        })
    })?;
    Ok(ExportLogsServiceRequest { resource_logs })
}

pub(crate) fn metrics(body: &[u8]) -> Result<ExportMetricsServiceRequest> {
    let resource_metrics = all(MetricsView::parse(body)?.resources, |group| {
        Ok(ResourceMetrics {
            resource: group.resource.map(resource).transpose()?,
            scope_metrics: all(group.scopes, |group| {
                Ok(ScopeMetrics {
                    scope: group.scope.map(scope).transpose()?,
                    metrics: all(group.items, metric)?,
                    schema_url: string(group.schema_url),
                })
            })?,
            schema_url: string(group.schema_url),
        })
    })?;
    Ok(ExportMetricsServiceRequest { resource_metrics })
}

fn resource(view: ResourceView<'_>) -> Result<Resource> {
    Ok(Resource {
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
        entity_refs: all(view.entity_refs, entity_ref)?,
    })
}

fn entity_ref(view: EntityRefView<'_>) -> Result<EntityRef> {
    Ok(EntityRef {
        schema_url: string(view.schema_url),
        r#type: string(view.kind),
        id_keys: all(view.id_keys, |key| Ok(string(key)))?,
        description_keys: all(view.description_keys, |key| Ok(string(key)))?,
    })
}

fn scope(view: ScopeView<'_>) -> Result<InstrumentationScope> {
    Ok(InstrumentationScope {
        name: string(view.name),
        version: string(view.version),
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
    })
}

fn key_value(view: KeyValueView<'_>) -> Result<KeyValue> {
    Ok(KeyValue {
        key: string(view.key),
        value: has_field(view.raw, 2 << 3 | 2)?.then(|| any_value(view.value)).transpose()?,
        key_strindex: view.key_strindex,
    })
}

fn any_value(view: AnyValueView<'_>) -> Result<AnyValue> {
    let value = match view {
        AnyValueView::Empty => None,
        AnyValueView::String(text) => Some(Value::StringValue(string(text))),
        AnyValueView::Bool(value) => Some(Value::BoolValue(value)),
        AnyValueView::Int(value) => Some(Value::IntValue(value)),
        AnyValueView::Double(value) => Some(Value::DoubleValue(value)),
        AnyValueView::Array(raw) => {
            Some(Value::ArrayValue(ArrayValue { values: each(array_values(raw), any_value)? }))
        }
        AnyValueView::KvList(raw) => {
            let values = each(kvlist_entries(raw), key_value)?;
            Some(Value::KvlistValue(KeyValueList { values }))
        }
        AnyValueView::Bytes(value) => Some(Value::BytesValue(value.to_vec())),
        AnyValueView::StringIndex(index) => Some(Value::StringValueStrindex(index)),
    };
    Ok(AnyValue { value })
}

fn span(view: SpanView<'_>) -> Result<Span> {
    Ok(Span {
        trace_id: view.trace_id.to_vec(),
        span_id: view.span_id.to_vec(),
        trace_state: string(view.trace_state),
        parent_span_id: view.parent_span_id.to_vec(),
        flags: view.flags,
        name: string(view.name),
        kind: view.kind,
        start_time_unix_nano: view.start_time_unix_nano,
        end_time_unix_nano: view.end_time_unix_nano,
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
        events: all(view.events, event)?,
        dropped_events_count: view.dropped_events_count,
        links: all(view.links, link)?,
        dropped_links_count: view.dropped_links_count,
        status: view.status.map(status),
    })
}

fn event(view: EventView<'_>) -> Result<Event> {
    Ok(Event {
        time_unix_nano: view.time_unix_nano,
        name: string(view.name),
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
    })
}

fn link(view: LinkView<'_>) -> Result<Link> {
    Ok(Link {
        trace_id: view.trace_id.to_vec(),
        span_id: view.span_id.to_vec(),
        trace_state: string(view.trace_state),
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
        flags: view.flags,
    })
}

fn status(view: StatusView<'_>) -> Status {
    Status { message: string(view.message), code: view.code }
}

fn log_record(view: LogRecordView<'_>) -> Result<LogRecord> {
    Ok(LogRecord {
        time_unix_nano: view.time_unix_nano,
        observed_time_unix_nano: view.observed_time_unix_nano,
        severity_number: view.severity_number,
        severity_text: string(view.severity_text),
        body: has_field(view.raw, 5 << 3 | 2)?.then(|| any_value(view.body)).transpose()?,
        attributes: all(view.attributes, key_value)?,
        dropped_attributes_count: view.dropped_attributes_count,
        flags: view.flags,
        trace_id: view.trace_id.to_vec(),
        span_id: view.span_id.to_vec(),
        event_name: string(view.event_name),
    })
}

fn metric(view: MetricView<'_>) -> Result<Metric> {
    let data = match view.data {
        MetricData::None => None,
        MetricData::Gauge(view) => {
            Some(Data::Gauge(Gauge { data_points: all(view.data_points, number_point)? }))
        }
        MetricData::Sum(view) => Some(Data::Sum(Sum {
            data_points: all(view.data_points, number_point)?,
            aggregation_temporality: view.aggregation_temporality,
            is_monotonic: view.is_monotonic,
        })),
        MetricData::Histogram(view) => Some(Data::Histogram(Histogram {
            data_points: all(view.data_points, histogram_point)?,
            aggregation_temporality: view.aggregation_temporality,
        })),
        MetricData::ExponentialHistogram(view) => {
            Some(Data::ExponentialHistogram(ExponentialHistogram {
                data_points: all(view.data_points, exponential_point)?,
                aggregation_temporality: view.aggregation_temporality,
            }))
        }
        MetricData::Summary(view) => {
            Some(Data::Summary(Summary { data_points: all(view.data_points, summary_point)? }))
        }
    };
    Ok(Metric {
        name: string(view.name),
        description: string(view.description),
        unit: string(view.unit),
        metadata: all(view.metadata, key_value)?,
        data,
    })
}

fn number_point(view: NumberPointView<'_>) -> Result<NumberDataPoint> {
    Ok(NumberDataPoint {
        attributes: all(view.attributes, key_value)?,
        start_time_unix_nano: view.start_time_unix_nano,
        time_unix_nano: view.time_unix_nano,
        exemplars: all(view.exemplars, exemplar)?,
        flags: view.flags,
        value: match view.value {
            NumberValue::None => None,
            NumberValue::Double(value) => Some(number_data_point::Value::AsDouble(value)),
            NumberValue::Int(value) => Some(number_data_point::Value::AsInt(value)),
        },
    })
}

fn histogram_point(view: HistogramPointView<'_>) -> Result<HistogramDataPoint> {
    assert_eq!(view.bucket_counts.iter().count(), view.bucket_counts.count());
    assert_eq!(view.explicit_bounds.iter().count(), view.explicit_bounds.count());
    Ok(HistogramDataPoint {
        attributes: all(view.attributes, key_value)?,
        start_time_unix_nano: view.start_time_unix_nano,
        time_unix_nano: view.time_unix_nano,
        count: view.count,
        sum: view.sum,
        bucket_counts: view.bucket_counts.iter().collect(),
        explicit_bounds: view.explicit_bounds.iter().collect(),
        exemplars: all(view.exemplars, exemplar)?,
        flags: view.flags,
        min: view.min,
        max: view.max,
    })
}

fn exponential_point(
    view: ExponentialHistogramPointView<'_>,
) -> Result<ExponentialHistogramDataPoint> {
    Ok(ExponentialHistogramDataPoint {
        attributes: all(view.attributes, key_value)?,
        start_time_unix_nano: view.start_time_unix_nano,
        time_unix_nano: view.time_unix_nano,
        count: view.count,
        sum: view.sum,
        scale: view.scale,
        zero_count: view.zero_count,
        positive: view.positive.map(buckets),
        negative: view.negative.map(buckets),
        flags: view.flags,
        exemplars: all(view.exemplars, exemplar)?,
        min: view.min,
        max: view.max,
        zero_threshold: view.zero_threshold,
    })
}

fn buckets(view: BucketsView<'_>) -> Buckets {
    assert_eq!(view.bucket_counts.iter().count(), view.bucket_counts.count());
    Buckets { offset: view.offset, bucket_counts: view.bucket_counts.iter().collect() }
}

fn summary_point(view: SummaryPointView<'_>) -> Result<SummaryDataPoint> {
    Ok(SummaryDataPoint {
        attributes: all(view.attributes, key_value)?,
        start_time_unix_nano: view.start_time_unix_nano,
        time_unix_nano: view.time_unix_nano,
        count: view.count,
        sum: view.sum,
        quantile_values: all(view.quantile_values, |QuantileView { quantile, value }| {
            Ok(ValueAtQuantile { quantile, value })
        })?,
        flags: view.flags,
    })
}

fn exemplar(view: ExemplarView<'_>) -> Result<Exemplar> {
    Ok(Exemplar {
        filtered_attributes: all(view.filtered_attributes, key_value)?,
        time_unix_nano: view.time_unix_nano,
        span_id: view.span_id.to_vec(),
        trace_id: view.trace_id.to_vec(),
        value: match view.value {
            NumberValue::None => None,
            NumberValue::Double(value) => Some(exemplar::Value::AsDouble(value)),
            NumberValue::Int(value) => Some(exemplar::Value::AsInt(value)),
        },
    })
}
