//! Results as JSON, written straight into one text.

use std::fmt::Write as _;
use std::time::Duration;

use kymo_engine::logql::{LogqlStats, LogqlValue};
use kymo_logql::labels::Labels;
use kymo_logql::plan::{Found, Value};
use serde_json::json;

use crate::prometheus::{write_list, write_point, write_text};

/// Whether labels of streams, structured metadata and parsed labels are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Categories {
    /// All are labels of the stream.
    Merged,
    /// Each entry has its own.
    Apart,
}

/// The name of the flag that asks for categories.
pub(super) const CATEGORIZE: &str = "categorize-labels";

/// Writes a whole answer.
pub(super) fn write_answer(
    value: &LogqlValue,
    categories: Categories,
    stats: &str,
    out: &mut String,
) {
    let kind = match value {
        LogqlValue::Lines(_) => "streams",
        LogqlValue::Numbers(Value::Scalar { .. }) => "scalar",
        LogqlValue::Numbers(Value::Vector { .. }) => "vector",
        LogqlValue::Numbers(Value::Matrix(_)) => "matrix",
    };
    out.push_str("{\"status\":\"success\",\"data\":{\"resultType\":\"");
    out.push_str(kind);
    out.push_str("\",");
    if categories == Categories::Apart && matches!(value, LogqlValue::Lines(_)) {
        out.push_str("\"encodingFlags\":[\"categorize-labels\"],");
    }
    out.push_str("\"result\":");
    match value {
        LogqlValue::Lines(streams) => {
            let grouped = match categories {
                Categories::Merged => streams.merged(),
                Categories::Apart => streams.categorized(),
            };
            write_streams(&grouped, categories, out);
        }
        LogqlValue::Numbers(value) => write_numbers(value, out),
    }
    out.push_str(",\"stats\":");
    out.push_str(stats);
    out.push_str("}}");
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
pub(super) fn stats(stats: &LogqlStats, returned: usize, took: Duration) -> String {
    let secs = took.as_secs_f64();
    let per_second = |count: usize| if secs > 0.0 { (count as f64 / secs) as u64 } else { 0 };
    json!({
        "summary": {
            "execTime": secs,
            "queueTime": 0,
            "totalLinesProcessed": stats.lines_scanned,
            "linesProcessedPerSecond": per_second(stats.lines_scanned),
            "totalPostFilterLines": stats.lines_matched,
            "totalEntriesReturned": returned,
            "subqueries": 0,
            "splits": 0,
            "shards": 0,
        },
        "querier": { "store": {
            "totalChunksRef": stats.granules_read + stats.granules_pruned,
            "totalChunksDownloaded": stats.granules_read,
            "chunksDownloadTime": 0,
        }},
        "ingester": {},
    })
    .to_string()
}

#[cfg(test)]
mod tests {
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
    fn times_of_numbers_are_seconds() {
        let mut out = String::new();
        write_series(&Labels::default(), &[(1_500_000_000, 2.0), (2_000_000_000, 0.5)], &mut out);
        assert_eq!(out, r#"{"metric":{},"values":[[1.500,"2"],[2,"0.5"]]}"#);
    }
}
