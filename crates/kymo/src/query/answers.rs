//! What a server answers, in the JSON of Tempo.

use std::collections::BTreeMap;

use kymo_server::NO_ROOT;
use kymo_traceql::metrics::Series;
use kymo_traceql::value::OwnedValue;
use serde::Deserialize;

use super::traces::{Service, Trace};

const NANOS_PER_MILLI: i64 = 1_000_000;

/// The answer to a search.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchResponse {
    traces: Vec<FoundTrace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FoundTrace {
    #[serde(rename = "traceID")]
    trace_id: String,
    root_service_name: String,
    root_trace_name: String,
    start_time_unix_nano: Number,
    duration_ms: i64,
    span_sets: Vec<FoundSet>,
    service_stats: BTreeMap<String, Stats>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FoundSet {
    matched: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Stats {
    span_count: u64,
    error_count: u64,
}

impl SearchResponse {
    pub(super) fn traces(self) -> Vec<Trace> {
        self.traces.into_iter().map(Trace::from).collect()
    }
}

impl From<FoundTrace> for Trace {
    fn from(found: FoundTrace) -> Self {
        let named = |name: String| (!name.is_empty() && name != NO_ROOT).then_some(name);
        let services = found.service_stats.into_iter().map(|(name, stats)| Service {
            name,
            spans: stats.span_count,
            errors: stats.error_count,
        });
        Self {
            id: u128::from_str_radix(&found.trace_id, 16).unwrap_or(0),
            start_nanos: found.start_time_unix_nano.integer(),
            duration_nanos: found.duration_ms.saturating_mul(NANOS_PER_MILLI),
            is_rounded: true,
            root_service: named(found.root_service_name),
            root_name: named(found.root_trace_name),
            matched: found.span_sets.iter().map(|set| set.matched).sum(),
            services: services.collect(),
        }
    }
}

/// The answer to a query for series, of points or of one number each.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SeriesResponse {
    series: Vec<FoundSeries>,
    status: String,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FoundSeries {
    labels: Vec<Label>,
    samples: Vec<Sample>,
    value: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Sample {
    timestamp_ms: Number,
    value: Number,
}

#[derive(Debug, Deserialize)]
struct Label {
    key: String,
    #[serde(default)]
    value: AnyValue,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnyValue {
    string_value: Option<String>,
    int_value: Option<Number>,
    double_value: Option<Number>,
    bool_value: Option<bool>,
}

impl From<AnyValue> for OwnedValue {
    fn from(value: AnyValue) -> Self {
        match value {
            AnyValue { string_value: Some(text), .. } => Self::Text(text),
            AnyValue { int_value: Some(number), .. } => Self::Int(number.integer()),
            AnyValue { double_value: Some(number), .. } => Self::Float(number.double()),
            AnyValue { bool_value: Some(flag), .. } => Self::Bool(flag),
            _ => Self::Nil,
        }
    }
}

impl SeriesResponse {
    /// What the answer lacks, if it does.
    pub(super) fn missing(&self) -> Option<&str> {
        (self.status == "PARTIAL").then_some(match self.message.as_str() {
            "" => "spans may be missing",
            message => message,
        })
    }

    /// The series; one number each is a point at `instant_nanos`.
    pub(super) fn series(self, instant_nanos: Option<i64>) -> Vec<Series> {
        let series = self.series.into_iter().map(|found| {
            let points = match instant_nanos {
                Some(time) => vec![(time, found.value.double())],
                None => found
                    .samples
                    .iter()
                    .map(|sample| {
                        let nanos = sample.timestamp_ms.integer().saturating_mul(NANOS_PER_MILLI);
                        (nanos, sample.value.double())
                    })
                    .collect(),
            };
            let labels = found.labels.into_iter().map(|label| (label.key, label.value.into()));
            Series { labels: labels.collect(), points, exemplars: Vec::new() }
        });
        series.collect()
    }
}

/// A number, or one written as text, as protobuf writes large and strange ones.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Integer(i64),
    Double(f64),
    Text(String),
}

impl Default for Number {
    fn default() -> Self {
        Self::Integer(0)
    }
}

impl Number {
    fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            Self::Double(number) => *number as i64,
            Self::Text(text) => text.parse().unwrap_or(0),
        }
    }

    fn double(&self) -> f64 {
        match self {
            Self::Integer(number) => *number as f64,
            Self::Double(number) => *number,
            Self::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_read_as_tempo_writes_them() {
        let json = r#"{"traces":[{"traceID":"2f3e","rootServiceName":"shop","rootTraceName":"GET /",
            "startTimeUnixNano":"1684778327699392724","durationMs":557,
            "spanSet":{"matched":1},"spanSets":[{"spans":[],"matched":1},{"matched":2}],
            "serviceStats":{"shop":{"spanCount":12,"errorCount":1}}},
            {"traceID":"1","rootServiceName":"<root span not yet received>"}],"metrics":{}}"#;
        let response: SearchResponse = serde_json::from_str(json).unwrap();
        let traces = response.traces();
        assert_eq!(traces[0].id, 0x2f3e);
        assert_eq!(traces[0].start_nanos, 1_684_778_327_699_392_724);
        assert_eq!((traces[0].duration_nanos, traces[0].matched), (557_000_000, 3));
        assert_eq!(traces[0].root_name.as_deref(), Some("GET /"));
        assert_eq!(traces[0].services[0].spans, 12);
        assert_eq!((&traces[1].root_service, &traces[1].root_name), (&None, &None));
    }

    #[test]
    fn series_have_labels_of_all_types_and_zeros_that_are_left_out() {
        let json = r#"{"series":[{"labels":[
            {"key":"a","value":{"stringValue":"x"}},{"key":"b","value":{"intValue":"7"}},
            {"key":"c","value":{"doubleValue":0.5}},{"key":"d","value":{"boolValue":true}}],
            "samples":[{"timestampMs":"1000","value":1.5},{"timestampMs":"2000"}]}],
            "status":"PARTIAL","message":"2 damaged blocks"}"#;
        let response: SeriesResponse = serde_json::from_str(json).unwrap();
        assert_eq!(response.missing(), Some("2 damaged blocks"));
        let series = response.series(None);
        assert_eq!(series[0].points, [(1_000_000_000, 1.5), (2_000_000_000, 0.0)]);
        let values: Vec<String> = series[0].labels.iter().map(|(_, v)| v.to_string()).collect();
        assert_eq!(values, ["x", "7", "0.5", "true"]);
        let json = r#"{"series":[{"labels":[],"value":"NaN"},{"labels":[]}]}"#;
        let response: SeriesResponse = serde_json::from_str(json).unwrap();
        assert_eq!(response.missing(), None);
        let series = response.series(Some(5));
        assert!(series[0].points[0].1.is_nan());
        assert_eq!(series[1].points, [(5, 0.0)]);
    }
}
