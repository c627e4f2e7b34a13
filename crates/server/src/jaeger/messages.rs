//! Messages of `jaeger.api_v3`, in protobuf and, where HTTP has the same, in JSON.

use std::collections::BTreeMap;

use prost::Message;
use serde::{Serialize, Serializer};

use super::question::{NO_FILTER, Question, V3_NAMES};
use super::units::of_parts;
use crate::limits::{JAEGER_DEFAULT_TRACES, JAEGER_MAX_TRACES};

/// `google.protobuf.Timestamp`, and `google.protobuf.Duration`, which looks the same.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Time {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct GetTraceRequest {
    #[prost(string, tag = "1")]
    pub(super) trace_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceQueryParameters {
    #[prost(string, tag = "1")]
    pub(super) service_name: String,
    #[prost(string, tag = "2")]
    pub(super) operation_name: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) attributes: BTreeMap<String, String>,
    #[prost(message, optional, tag = "4")]
    pub(super) start_time_min: Option<Time>,
    #[prost(message, optional, tag = "5")]
    pub(super) start_time_max: Option<Time>,
    #[prost(message, optional, tag = "6")]
    pub(super) duration_min: Option<Time>,
    #[prost(message, optional, tag = "7")]
    pub(super) duration_max: Option<Time>,
    #[prost(int32, tag = "8")]
    pub(super) search_depth: i32,
    /// An expression, which is refused unread.
    #[prost(bytes = "vec", optional, tag = "10")]
    pub(super) filter: Option<Vec<u8>>,
}

impl TraceQueryParameters {
    /// The question that it asks.
    pub(super) fn question(self) -> Result<Question, String> {
        if self.filter.is_some() {
            return Err(NO_FILTER.to_owned());
        }
        let nanos = |name: &str, time: Option<Time>| match time {
            None => Ok(None),
            Some(time) => of_parts(time.seconds, time.nanos)
                .map(Some)
                .ok_or_else(|| format!("{name} is beyond what nanoseconds can count")),
        };
        let [start_name, end_name, shortest_name, longest_name, _] = V3_NAMES;
        let start = nanos(start_name, self.start_time_min)?;
        let end = nanos(end_name, self.start_time_max)?;
        let (Some(start), Some(end)) = (start, end) else {
            return Err(format!("{start_name} and {end_name} are required"));
        };
        let limit = match usize::try_from(self.search_depth) {
            Ok(0) | Err(_) => JAEGER_DEFAULT_TRACES,
            Ok(limit) if limit <= JAEGER_MAX_TRACES => limit,
            Ok(limit) => {
                return Err(format!(
                    "the limit is {limit}: at most {JAEGER_MAX_TRACES} is allowed"
                ));
            }
        };
        let question = Question {
            time: start..end,
            shortest_nanos: nanos(shortest_name, self.duration_min)?.unwrap_or(0),
            longest_nanos: nanos(longest_name, self.duration_max)?.unwrap_or(0),
            service: self.service_name,
            operation: self.operation_name,
            tags: self.attributes,
            limit,
        };
        question.checked(V3_NAMES)
    }
}

/// Of `FindTraces` and of `FindTraceSummaries`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FindTracesRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) query: Option<TraceQueryParameters>,
}

/// OTLP's `TracesData`, of resource groups that are encoded already.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct TracesData {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) resource_spans: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct GetServicesRequest {}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub(super) struct GetServicesResponse {
    #[prost(string, repeated, tag = "1")]
    pub(super) services: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct GetOperationsRequest {
    #[prost(string, tag = "1")]
    pub(super) service: String,
    #[prost(string, tag = "2")]
    pub(super) span_kind: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationMessage {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) span_kind: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub(super) struct GetOperationsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) operations: Vec<OperationMessage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct GetDependenciesRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) start_time: Option<Time>,
    #[prost(message, optional, tag = "2")]
    pub(super) end_time: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub(super) struct DependenciesResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) dependencies: Vec<DependencyMessage>,
}

/// As protobuf is written in JSON, numbers of 64 bits are texts.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DependencyMessage {
    #[prost(string, tag = "1")]
    pub(super) parent: String,
    #[prost(string, tag = "2")]
    pub(super) child: String,
    #[prost(uint64, tag = "3")]
    #[serde(serialize_with = "as_text")]
    pub(super) call_count: u64,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceSummary {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int32, tag = "2")]
    pub(super) span_count: i32,
    #[prost(int32, tag = "3")]
    pub(super) error_span_count: i32,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceSummary {
    #[prost(string, tag = "1")]
    pub(super) trace_id: String,
    #[prost(string, tag = "2")]
    pub(super) root_service_name: String,
    #[prost(string, tag = "3")]
    pub(super) root_operation_name: String,
    #[prost(fixed64, tag = "4")]
    #[serde(serialize_with = "as_text")]
    pub(super) min_start_time_unix_nano: u64,
    #[prost(fixed64, tag = "5")]
    #[serde(serialize_with = "as_text")]
    pub(super) max_end_time_unix_nano: u64,
    #[prost(int32, tag = "6")]
    pub(super) span_count: i32,
    #[prost(int32, tag = "7")]
    pub(super) error_span_count: i32,
    #[prost(int32, tag = "8")]
    pub(super) orphan_span_count: i32,
    #[prost(message, repeated, tag = "9")]
    pub(super) services: Vec<ServiceSummary>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub(super) struct FindTraceSummariesResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) summaries: Vec<TraceSummary>,
}

fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_needs_its_times_and_no_limit() {
        let time = |seconds| Some(Time { seconds, nanos: 1 });
        let asked = TraceQueryParameters {
            service_name: "shop".to_owned(),
            start_time_min: time(1),
            start_time_max: time(2),
            duration_min: Some(Time { seconds: 0, nanos: 5 }),
            ..Default::default()
        };
        let question = asked.clone().question().unwrap();
        assert_eq!(question.time, 1_000_000_001..2_000_000_001);
        assert_eq!((question.limit, question.shortest_nanos), (100, 5));
        let refused = [
            TraceQueryParameters { start_time_min: None, ..asked.clone() },
            TraceQueryParameters { start_time_max: time(0), ..asked.clone() },
            TraceQueryParameters { start_time_max: time(i64::MAX), ..asked.clone() },
            TraceQueryParameters { search_depth: 10_001, ..asked.clone() },
            TraceQueryParameters { filter: Some(Vec::new()), ..asked },
        ];
        for asked in refused {
            assert!(asked.clone().question().is_err(), "{asked:?}");
        }
    }
}
