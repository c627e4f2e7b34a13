//! Results as JSON, written straight into one text.

use std::fmt::Write as _;
use std::time::Duration;

use http::HeaderMap;
use kymo_engine::logql::{LogqlAnswer, LogqlValue};
use kymo_logql::labels::Labels;
use kymo_logql::plan::{Found, Value};
use serde_json::json;

use crate::prometheus::{write_list, write_point, write_text};

/// The header that asks for other encodings, their names separated by commas.
const ENCODING_FLAGS: &str = "x-loki-response-encoding-flags";

/// Whether labels of streams, structured metadata and parsed labels are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Categories {
    /// All are labels of the stream.
    Merged,
    /// Each entry has its own.
    Apart,
}

impl Categories {
    /// What headers ask for.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let flags = headers.get_all(ENCODING_FLAGS).iter().filter_map(|flags| flags.to_str().ok());
        let mut flags = flags.flat_map(|flags| flags.split(','));
        match flags.any(|flag| flag.trim() == CATEGORIZE) {
            true => Self::Apart,
            false => Self::Merged,
        }
    }
}

/// The name of the flag that asks for categories.
const CATEGORIZE: &str = "categorize-labels";

/// An answer as Loki's API has it, labels by their kinds, for who asked the engine without it.
pub fn loki_json(answer: &LogqlAnswer) -> String {
    answer_json(answer, Categories::Apart, Duration::ZERO)
}

/// A whole answer, which took so long.
pub(super) fn answer_json(answer: &LogqlAnswer, categories: Categories, took: Duration) -> String {
    let mut out = String::from("{\"status\":\"success\",");
    if answer.stats.blocks_damaged > 0 {
        out.push_str("\"warnings\":[\"damaged blocks are left out; lines may be missing\"],");
    }
    let kind = match &answer.value {
        LogqlValue::Lines(_) => "streams",
        LogqlValue::Numbers(Value::Scalar { .. }) => "scalar",
        LogqlValue::Numbers(Value::Vector { .. }) => "vector",
        LogqlValue::Numbers(Value::Matrix(_)) => "matrix",
    };
    // Writing to a string cannot fail.
    let _ = write!(out, "\"data\":{{\"resultType\":\"{kind}\",");
    match &answer.value {
        LogqlValue::Lines(streams) => {
            write_flags(categories, &mut out);
            let grouped = match categories {
                Categories::Merged => streams.merged(),
                Categories::Apart => streams.categorized(),
            };
            out.push_str("\"result\":");
            write_streams(&grouped, categories, &mut out);
        }
        LogqlValue::Numbers(value) => {
            out.push_str("\"result\":");
            write_numbers(value, &mut out);
        }
    }
    let _ = write!(out, ",\"stats\":{}}}}}", stats(answer, took));
    out
}

/// Says which encoding the lines below have, if it is not the usual one.
pub(super) fn write_flags(categories: Categories, out: &mut String) {
    if categories == Categories::Apart {
        let _ = write!(out, "\"encodingFlags\":[\"{CATEGORIZE}\"],");
    }
}

/// Writes streams with their lines.
pub(super) fn write_streams(
    streams: &[(Labels, Vec<&Found>)],
    categories: Categories,
    out: &mut String,
) {
    write_list(streams, out, |(labels, lines), out| {
        out.push_str("{\"stream\":");
        write_labels(labels, out);
        out.push_str(",\"values\":");
        write_list(lines, out, |found, out| write_line(found, categories, out));
        out.push('}');
    });
}

fn write_line(found: &Found, categories: Categories, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "[\"{}\",", found.time_nanos);
    write_text(&found.line, out);
    if categories == Categories::Apart {
        out.push_str(",{");
        let kinds = [("structuredMetadata", &found.metadata), ("parsed", &found.parsed)];
        let mut is_first = true;
        for (name, labels) in kinds.into_iter().filter(|(_, labels)| !labels.is_empty()) {
            if !std::mem::take(&mut is_first) {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            write_labels(labels, out);
        }
        out.push('}');
    }
    out.push(']');
}

fn write_numbers(value: &Value, out: &mut String) {
    match value {
        Value::Scalar { time_nanos, value } => write_point(millis(*time_nanos), *value, out),
        Value::Vector { time_nanos, samples } => write_list(samples, out, |sample, out| {
            write_sample(&sample.labels, millis(*time_nanos), sample.value, out);
        }),
        Value::Matrix(series) => write_list(series, out, |series, out| {
            write_series(&series.labels, &series.points, out);
        }),
    }
}

/// Writes a sample of a vector.
pub(super) fn write_sample(labels: &Labels, time_millis: i64, value: f64, out: &mut String) {
    out.push_str("{\"metric\":");
    write_labels(labels, out);
    out.push_str(",\"value\":");
    write_point(time_millis, value, out);
    out.push('}');
}

/// Writes a series of a matrix; points by their time in nanoseconds.
pub(super) fn write_series(labels: &Labels, points: &[(i64, f64)], out: &mut String) {
    out.push_str("{\"metric\":");
    write_labels(labels, out);
    out.push_str(",\"values\":");
    write_list(points, out, |(time_nanos, value), out| {
        write_point(millis(*time_nanos), *value, out);
    });
    out.push('}');
}

/// Writes labels as an object.
pub(super) fn write_labels(labels: &Labels, out: &mut String) {
    out.push('{');
    for (nth, (name, value)) in labels.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write_text(value, out);
    }
    out.push('}');
}

fn millis(nanos: i64) -> i64 {
    nanos.div_euclid(1_000_000)
}

/// What a query took, as Loki tells it. Chunks are runs of rows here.
fn stats(answer: &LogqlAnswer, took: Duration) -> serde_json::Value {
    let done = &answer.stats;
    let secs = took.as_secs_f64();
    let per_second = |count: u64| if secs > 0.0 { (count as f64 / secs) as u64 } else { 0 };
    json!({
        "summary": {
            "bytesProcessedPerSecond": per_second(done.bytes_scanned),
            "linesProcessedPerSecond": per_second(done.lines_scanned as u64),
            "totalBytesProcessed": done.bytes_scanned,
            "totalLinesProcessed": done.lines_scanned,
            "execTime": secs,
            "queueTime": 0,
            "subqueries": 0,
            "totalEntriesReturned": returned(&answer.value),
            "splits": 0,
            "shards": 0,
            "totalPostFilterLines": done.lines_matched,
            "totalStructuredMetadataBytesProcessed": 0,
        },
        "querier": { "store": {
            "totalChunksRef": done.granules_read + done.granules_pruned,
            "totalChunksDownloaded": done.granules_read,
            "chunksDownloadTime": 0,
            "chunk": {
                "decompressedBytes": done.bytes_scanned,
                "decompressedLines": done.lines_scanned,
            },
        }},
        "ingester": {},
    })
}

fn returned(value: &LogqlValue) -> usize {
    match value {
        LogqlValue::Lines(streams) => streams.entries.len(),
        LogqlValue::Numbers(Value::Scalar { .. }) => 1,
        LogqlValue::Numbers(Value::Vector { samples, .. }) => samples.len(),
        LogqlValue::Numbers(Value::Matrix(series)) => series.len(),
    }
}

#[cfg(test)]
mod tests {
    use kymo_engine::logql::LogqlStats;

    use super::*;

    #[test]
    fn lines_tell_their_labels_apart_if_asked_to() {
        let found = Found {
            time_nanos: 1_700_000_000_000_000_001,
            sequence: 0,
            line: "a \"b\"\n".to_owned(),
            stream: Labels::of([("app", "x")]),
            metadata: Labels::of([("trace_id", "1")]),
            parsed: Labels::default(),
        };
        let streams = [(found.stream.clone(), vec![&found])];
        let mut out = String::new();
        write_streams(&streams, Categories::Apart, &mut out);
        let expected = r#"[{"stream":{"app":"x"},"values":[["1700000000000000001","a \"b\"\n",{"structuredMetadata":{"trace_id":"1"}}]]}]"#;
        assert_eq!(out, expected);
        out.clear();
        write_streams(&streams, Categories::Merged, &mut out);
        let expected = r#"[{"stream":{"app":"x"},"values":[["1700000000000000001","a \"b\"\n"]]}]"#;
        assert_eq!(out, expected);
    }

    #[test]
    fn an_answer_says_what_it_took_and_what_is_missing() {
        let stats = LogqlStats { lines_scanned: 4, bytes_scanned: 400, ..LogqlStats::default() };
        let value = LogqlValue::Numbers(Value::Scalar { time_nanos: 0, value: 2.0 });
        let mut answer = LogqlAnswer { value, stats };
        let json = |answer: &LogqlAnswer| -> serde_json::Value {
            let text = answer_json(answer, Categories::Apart, Duration::from_millis(500));
            serde_json::from_str(&text).unwrap()
        };
        let whole = json(&answer);
        assert_eq!(whole["data"]["result"], json!([0, "2"]));
        let summary = &whole["data"]["stats"]["summary"];
        assert_eq!(summary["totalBytesProcessed"], 400);
        assert_eq!(summary["bytesProcessedPerSecond"], 800);
        assert_eq!(whole.get("warnings"), None);
        answer.stats.blocks_damaged = 1;
        assert_eq!(json(&answer)["warnings"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn times_of_numbers_are_seconds() {
        let mut out = String::new();
        write_series(&Labels::default(), &[(1_500_000_000, 2.0), (2_000_000_000, 0.5)], &mut out);
        assert_eq!(out, r#"{"metric":{},"values":[[1.500,"2"],[2,"0.5"]]}"#);
    }
}
