//! Answers made into messages.

use kymo_engine::traceql::{
    Found, FoundSet, FoundSpan, FoundTrace, MetricsAnswer, SearchStats, TagValue as FoundValue,
};
use kymo_traceql::metrics::{Exemplar as FoundExemplar, Series};
use kymo_traceql::value::{Element, OwnedValue};

use super::json::{NO_ROOT, damaged, millis, type_name};
use super::messages::*;
use super::tags::Scoped;

/// `PartialStatus`: something is missing.
pub(super) const PARTIAL: i32 = 1;

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl SearchResponse {
    /// A search of old has no spansets. The first of each trace is there twice, as in Tempo.
    pub(super) fn of(found: Found, has_sets: bool) -> Self {
        let traces = found.traces.into_iter().map(|trace| {
            let mut trace = TraceSearchMetadata::of(trace, has_sets);
            trace.span_set = trace.span_sets.first().cloned();
            trace
        });
        Self { traces: traces.collect(), metrics: Some(found.stats.into()) }
    }
}

impl TraceSearchMetadata {
    /// With all its spansets, each once.
    pub(super) fn of(trace: FoundTrace, has_sets: bool) -> Self {
        let id = u128::from_be_bytes(trace.trace_id);
        let service = trace.root_service.filter(|service| !service.is_empty());
        let sets = if has_sets { trace.span_sets } else { Vec::new() };
        let span_sets: Vec<SpanSet> = sets.into_iter().map(SpanSet::from).collect();
        let services = trace.services.into_iter().map(|stats| {
            let counts =
                ServiceStats { span_count: count(stats.spans), error_count: count(stats.errors) };
            (stats.service, counts)
        });
        Self {
            trace_id: format!("{id:x}"),
            root_service_name: service.unwrap_or_else(|| NO_ROOT.to_owned()),
            root_trace_name: trace.root_name.unwrap_or_default(),
            start_time_unix_nano: unsigned(trace.start_nanos),
            duration_ms: u32::try_from(millis(trace.duration_nanos)).unwrap_or(u32::MAX),
            span_set: None,
            span_sets,
            service_stats: services.collect(),
        }
    }
}

impl From<FoundSet> for SpanSet {
    fn from(set: FoundSet) -> Self {
        Self {
            spans: set.spans.into_iter().map(Span::from).collect(),
            matched: count(set.matched),
            attributes: key_values(set.attributes),
        }
    }
}

impl From<FoundSpan> for Span {
    fn from(span: FoundSpan) -> Self {
        Self {
            span_id: format!("{:016x}", u64::from_be_bytes(span.span_id)),
            name: span.name.unwrap_or_default(),
            start_time_unix_nano: unsigned(span.start_nanos),
            duration_nanos: unsigned(span.duration_nanos),
            attributes: key_values(span.attributes),
        }
    }
}

impl From<SearchStats> for SearchMetrics {
    fn from(stats: SearchStats) -> Self {
        Self {
            inspected_traces: count(stats.inspected_traces),
            inspected_bytes: stats.inspected_bytes,
            total_blocks: count(stats.total_blocks),
            completed_jobs: count(stats.completed_jobs),
            total_jobs: count(stats.total_jobs),
            total_block_bytes: stats.total_block_bytes,
            inspected_spans: stats.inspected_spans as u64,
        }
    }
}

fn key_values(pairs: Vec<(String, OwnedValue)>) -> Vec<KeyValue> {
    let pairs = pairs.into_iter();
    pairs.map(|(key, value)| KeyValue { key, value: Some(value.into()) }).collect()
}

impl From<OwnedValue> for AnyValue {
    fn from(value: OwnedValue) -> Self {
        let value = match value {
            OwnedValue::Text(text) => Value::String(text),
            OwnedValue::Int(number) => Value::Int(number),
            OwnedValue::Float(number) => Value::Double(number),
            OwnedValue::Bool(flag) => Value::Bool(flag),
            OwnedValue::Array(elements) => {
                let values = elements.into_iter().map(AnyValue::from).collect();
                Value::Array(ArrayValue { values })
            }
            // As words.
            OwnedValue::Nil
            | OwnedValue::Duration(_)
            | OwnedValue::Status(_)
            | OwnedValue::Kind(_) => Value::String(value.to_string()),
        };
        Self { value: Some(value) }
    }
}

impl From<Element> for AnyValue {
    fn from(element: Element) -> Self {
        let value = match element {
            Element::Text(text) => Value::String(text.into()),
            Element::Int(number) => Value::Int(number),
            Element::Float(number) => Value::Double(number),
            Element::Bool(flag) => Value::Bool(flag),
        };
        Self { value: Some(value) }
    }
}

/// Status and message of an answer that may lack something.
fn partial(stats: &SearchStats) -> (i32, String) {
    match damaged(stats.damaged_blocks) {
        Some(message) => (PARTIAL, message),
        None => (0, String::new()),
    }
}

impl From<MetricsAnswer> for QueryRangeResponse {
    fn from(answer: MetricsAnswer) -> Self {
        let (status, message) = partial(&answer.stats);
        let series = answer.series.into_iter().map(TimeSeries::from).collect();
        Self { series, metrics: Some(answer.stats.into()), status, message }
    }
}

impl From<Series> for TimeSeries {
    fn from(series: Series) -> Self {
        let sample = |(nanos, value): (i64, f64)| Sample {
            value,
            timestamp_ms: nanos.div_euclid(1_000_000),
        };
        Self {
            labels: key_values(series.labels),
            samples: series.points.into_iter().map(sample).collect(),
            exemplars: series.exemplars.into_iter().map(Exemplar::from).collect(),
        }
    }
}

impl From<FoundExemplar> for Exemplar {
    fn from(exemplar: FoundExemplar) -> Self {
        Self {
            labels: key_values(exemplar.labels),
            value: exemplar.value,
            timestamp_ms: exemplar.time_nanos.div_euclid(1_000_000),
        }
    }
}

impl From<MetricsAnswer> for QueryInstantResponse {
    fn from(answer: MetricsAnswer) -> Self {
        let (status, message) = partial(&answer.stats);
        let series = answer.series.into_iter().map(|series| InstantSeries {
            value: series.points.last().map_or(0.0, |(_, value)| *value),
            labels: key_values(series.labels),
        });
        Self { series: series.collect(), metrics: Some(answer.stats.into()), status, message }
    }
}

impl From<Vec<String>> for SearchTagsResponse {
    fn from(tag_names: Vec<String>) -> Self {
        Self { tag_names, metrics: Some(MetadataMetrics {}) }
    }
}

impl From<Vec<Scoped>> for SearchTagsV2Response {
    fn from(scopes: Vec<Scoped>) -> Self {
        let scopes = scopes
            .into_iter()
            .map(|scope| SearchTagsV2Scope { name: scope.name.to_owned(), tags: scope.tags });
        Self { scopes: scopes.collect(), metrics: Some(MetadataMetrics {}) }
    }
}

impl From<Vec<String>> for SearchTagValuesResponse {
    fn from(tag_values: Vec<String>) -> Self {
        Self { tag_values, metrics: Some(MetadataMetrics {}) }
    }
}

impl From<Vec<FoundValue>> for SearchTagValuesV2Response {
    fn from(values: Vec<FoundValue>) -> Self {
        let values = values
            .into_iter()
            .map(|value| TagValue { r#type: type_name(value.kind).to_owned(), value: value.text });
        Self { tag_values: values.collect(), metrics: Some(MetadataMetrics {}) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use kymo_engine::traceql::ServiceStats as FoundService;
    use kymo_traceql::ast::Status;
    use prost::Message;

    const START: i64 = 1_767_323_045_000_000_000;

    /// An answer with a value of every type.
    pub(in crate::tempo) fn found() -> Found {
        let attributes = [
            ("status", OwnedValue::Status(Status::Error)),
            ("took", OwnedValue::Duration(1_500_000)),
            ("num", OwnedValue::Int(-7)),
            ("ratio", OwnedValue::Float(0.5)),
            ("flag", OwnedValue::Bool(false)),
            ("none", OwnedValue::Nil),
            ("list", OwnedValue::Array(vec![Element::Int(1), Element::Text("".into())])),
        ];
        let span = FoundSpan {
            span_id: 42_u64.to_be_bytes(),
            name: Some("GET \"/\"".to_owned()),
            start_nanos: START + 1,
            duration_nanos: 1_500_000,
            attributes: attributes.map(|(key, value)| (key.to_owned(), value)).into(),
            names: Vec::new(),
        };
        let set = FoundSet {
            matched: 3,
            attributes: vec![("count()".to_owned(), OwnedValue::Int(3))],
            spans: vec![span],
        };
        let service = |service: &str, spans, errors| FoundService {
            service: service.to_owned(),
            spans,
            errors,
        };
        let trace = FoundTrace {
            trace_id: 0xa_0000_0000_0000_0001_u128.to_be_bytes(),
            root_service: None,
            root_name: None,
            start_nanos: START,
            duration_nanos: 1_999_999_999,
            span_sets: vec![set],
            services: vec![service("", 1, 0), service("shop", 4, 1)],
            orphans: 0,
            newest_nanos: START + 1,
        };
        let stats = SearchStats {
            inspected_traces: 5,
            inspected_spans: 9,
            inspected_bytes: 6_000_000_000,
            total_blocks: 2,
            total_block_bytes: 77,
            total_jobs: 4,
            completed_jobs: 3,
            damaged_blocks: 0,
        };
        Found { traces: vec![trace], stats, next: None }
    }

    /// A series from a store with a damaged block.
    pub(in crate::tempo) fn answer() -> MetricsAnswer {
        let exemplar = FoundExemplar {
            labels: vec![("trace:id".to_owned(), OwnedValue::Text("abc".to_owned()))],
            time_nanos: START + 1_000_000,
            value: 2.0,
        };
        let series = Series {
            labels: vec![
                ("p".to_owned(), OwnedValue::Float(0.5)),
                ("x".to_owned(), OwnedValue::Nil),
            ],
            points: vec![(START, 0.0), (START + 60_000_000_000, 1.5)],
            exemplars: vec![exemplar],
        };
        let stats = SearchStats { damaged_blocks: 1, ..SearchStats::default() };
        MetricsAnswer { series: vec![series], stats }
    }

    #[test]
    fn a_search_survives_the_wire() {
        let message = SearchResponse::of(found(), true);
        let read = SearchResponse::decode(&*message.encode_to_vec()).unwrap();
        assert_eq!(read, message);
        let trace = &read.traces[0];
        assert_eq!(trace.trace_id, "a0000000000000001");
        assert_eq!(trace.root_service_name, NO_ROOT);
        assert_eq!(trace.duration_ms, 1999);
        assert_eq!(trace.span_set.as_ref(), trace.span_sets.first());
        assert_eq!(trace.service_stats["shop"].error_count, 1);
        let span = &trace.span_sets[0].spans[0];
        assert_eq!(span.span_id, "000000000000002a");
        let value = |nth: usize| span.attributes[nth].value.clone().and_then(|any| any.value);
        assert_eq!(value(0), Some(Value::String("error".to_owned())));
        assert_eq!(value(1), Some(Value::String("1.5ms".to_owned())));
        assert_eq!(value(2), Some(Value::Int(-7)));
        assert!(SearchResponse::of(found(), false).traces[0].span_sets.is_empty());
    }

    #[test]
    fn series_survive_the_wire() {
        let message = QueryRangeResponse::from(answer());
        let read = QueryRangeResponse::decode(&*message.encode_to_vec()).unwrap();
        assert_eq!(read, message);
        assert_eq!(read.status, PARTIAL);
        assert_eq!(read.series[0].samples[1].timestamp_ms, 1_767_323_105_000);
        assert_eq!(QueryInstantResponse::from(answer()).series[0].value, 1.5);
    }
}
