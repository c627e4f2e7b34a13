//! The messages of `tempopb.StreamingQuerier`, by their numbers.

use std::collections::HashMap;

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchRequest {
    #[prost(map = "string, string", tag = "1")]
    pub(super) tags: HashMap<String, String>,
    #[prost(uint32, tag = "2")]
    pub(super) min_duration_ms: u32,
    #[prost(uint32, tag = "3")]
    pub(super) max_duration_ms: u32,
    #[prost(uint32, tag = "4")]
    pub(super) limit: u32,
    #[prost(uint32, tag = "5")]
    pub(super) start: u32,
    #[prost(uint32, tag = "6")]
    pub(super) end: u32,
    #[prost(string, tag = "8")]
    pub(super) query: String,
    #[prost(uint32, tag = "9")]
    pub(super) spans_per_span_set: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) traces: Vec<TraceSearchMetadata>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<SearchMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceSearchMetadata {
    #[prost(string, tag = "1")]
    pub(super) trace_id: String,
    #[prost(string, tag = "2")]
    pub(super) root_service_name: String,
    #[prost(string, tag = "3")]
    pub(super) root_trace_name: String,
    #[prost(uint64, tag = "4")]
    pub(super) start_time_unix_nano: u64,
    #[prost(uint32, tag = "5")]
    pub(super) duration_ms: u32,
    #[prost(message, optional, tag = "6")]
    pub(super) span_set: Option<SpanSet>,
    #[prost(message, repeated, tag = "7")]
    pub(super) span_sets: Vec<SpanSet>,
    #[prost(map = "string, message", tag = "8")]
    pub(super) service_stats: HashMap<String, ServiceStats>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ServiceStats {
    #[prost(uint32, tag = "1")]
    pub(super) span_count: u32,
    #[prost(uint32, tag = "2")]
    pub(super) error_count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanSet {
    #[prost(message, repeated, tag = "1")]
    pub(super) spans: Vec<Span>,
    #[prost(uint32, tag = "2")]
    pub(super) matched: u32,
    #[prost(message, repeated, tag = "3")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Span {
    #[prost(string, tag = "1")]
    pub(super) span_id: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(uint64, tag = "3")]
    pub(super) start_time_unix_nano: u64,
    #[prost(uint64, tag = "4")]
    pub(super) duration_nanos: u64,
    #[prost(message, repeated, tag = "5")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 5")]
    pub(super) value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Value {
    #[prost(string, tag = "1")]
    String(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<AnyValue>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct SearchMetrics {
    #[prost(uint32, tag = "1")]
    pub(super) inspected_traces: u32,
    #[prost(uint64, tag = "2")]
    pub(super) inspected_bytes: u64,
    #[prost(uint32, tag = "3")]
    pub(super) total_blocks: u32,
    #[prost(uint32, tag = "4")]
    pub(super) completed_jobs: u32,
    #[prost(uint32, tag = "5")]
    pub(super) total_jobs: u32,
    #[prost(uint64, tag = "6")]
    pub(super) total_block_bytes: u64,
    #[prost(uint64, tag = "7")]
    pub(super) inspected_spans: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagsRequest {
    #[prost(string, tag = "1")]
    pub(super) scope: String,
    #[prost(string, tag = "2")]
    pub(super) query: String,
    #[prost(uint32, tag = "3")]
    pub(super) start: u32,
    #[prost(uint32, tag = "4")]
    pub(super) end: u32,
    #[prost(uint32, tag = "5")]
    pub(super) max_tags_per_scope: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagsResponse {
    #[prost(string, repeated, tag = "1")]
    pub(super) tag_names: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<MetadataMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagsV2Response {
    #[prost(message, repeated, tag = "1")]
    pub(super) scopes: Vec<SearchTagsV2Scope>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<MetadataMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagsV2Scope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) tags: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagValuesRequest {
    #[prost(string, tag = "1")]
    pub(super) tag_name: String,
    #[prost(string, tag = "2")]
    pub(super) query: String,
    #[prost(uint32, tag = "4")]
    pub(super) start: u32,
    #[prost(uint32, tag = "5")]
    pub(super) end: u32,
    #[prost(uint32, tag = "6")]
    pub(super) max_tag_values: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagValuesResponse {
    #[prost(string, repeated, tag = "1")]
    pub(super) tag_values: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<MetadataMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchTagValuesV2Response {
    #[prost(message, repeated, tag = "1")]
    pub(super) tag_values: Vec<TagValue>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<MetadataMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TagValue {
    #[prost(string, tag = "1")]
    pub(super) r#type: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// What a question about tags cost. It is always there, as in Tempo, and tells nothing.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MetadataMetrics {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryRangeRequest {
    #[prost(string, tag = "1")]
    pub(super) query: String,
    #[prost(uint64, tag = "2")]
    pub(super) start: u64,
    #[prost(uint64, tag = "3")]
    pub(super) end: u64,
    #[prost(uint64, tag = "4")]
    pub(super) step: u64,
    #[prost(uint32, tag = "16")]
    pub(super) exemplars: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryInstantRequest {
    #[prost(string, tag = "1")]
    pub(super) query: String,
    #[prost(uint64, tag = "2")]
    pub(super) start: u64,
    #[prost(uint64, tag = "3")]
    pub(super) end: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryRangeResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) series: Vec<TimeSeries>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<SearchMetrics>,
    #[prost(int32, tag = "3")]
    pub(super) status: i32,
    #[prost(string, tag = "4")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<KeyValue>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) exemplars: Vec<Exemplar>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Sample {
    #[prost(double, tag = "1")]
    pub(super) value: f64,
    #[prost(int64, tag = "2")]
    pub(super) timestamp_ms: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Exemplar {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<KeyValue>,
    #[prost(double, tag = "2")]
    pub(super) value: f64,
    #[prost(int64, tag = "3")]
    pub(super) timestamp_ms: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryInstantResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) series: Vec<InstantSeries>,
    #[prost(message, optional, tag = "2")]
    pub(super) metrics: Option<SearchMetrics>,
    #[prost(int32, tag = "3")]
    pub(super) status: i32,
    #[prost(string, tag = "4")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InstantSeries {
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<KeyValue>,
    #[prost(double, tag = "2")]
    pub(super) value: f64,
}
