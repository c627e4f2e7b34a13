//! Answers as JSON, as Tempo writes them and Grafana reads them: strictly, so that a field that
//! Tempo does not have is an error.

use kymo_engine::traceql::{
    Found, FoundSet, FoundSpan, FoundTrace, MetricsAnswer, SearchStats, TagKind, TagValue,
};
use kymo_traceql::metrics::{Exemplar, Series};
use kymo_traceql::value::{Element, OwnedValue};

use super::tags::Scoped;
use crate::jsonpb::Json;

/// What stands for the service of a trace whose root has not come.
pub const NO_ROOT: &str = "<root span not yet received>";

/// What an answer lacks, in words; nothing if it is complete.
pub(super) fn damaged(blocks: usize) -> Option<String> {
    let plural = if blocks == 1 { "block is" } else { "blocks are" };
    (blocks > 0).then(|| format!("{blocks} damaged {plural} left out; spans may be missing"))
}

/// Milliseconds of a duration, as Tempo cuts them.
pub(super) fn millis(nanos: i64) -> u64 {
    u64::try_from(nanos / 1_000_000).unwrap_or(0)
}

/// `SearchResponse`. A search of old has no spansets.
pub(super) fn search(found: &Found, has_sets: bool) -> Vec<u8> {
    let sets = || found.traces.iter().flat_map(|trace| &trace.span_sets);
    let spans = if has_sets { sets().map(|set| set.spans.len()).sum() } else { 0 };
    let first = sets().find_map(|set| set.spans.first());
    let span_bytes = 120 + 80 * first.map_or(0, |span| span.attributes.len());
    // The first set is written twice.
    let mut json = Json::with_capacity(256 + found.traces.len() * 400 + 2 * spans * span_bytes);
    json.object(|json| {
        json.name("traces");
        json.list(&found.traces, |json, found| trace(json, found, has_sets));
        json.name("metrics");
        stats(json, &found.stats);
    });
    json.into_bytes()
}

fn trace(json: &mut Json, trace: &FoundTrace, has_sets: bool) {
    json.object(|json| {
        json.name("traceID");
        json.hex(&trace.trace_id, false);
        let service = trace.root_service.as_deref().filter(|service| !service.is_empty());
        json.text_field("rootServiceName", service.unwrap_or(NO_ROOT));
        json.text_field("rootTraceName", trace.root_name.as_deref().unwrap_or(""));
        json.integer_field("startTimeUnixNano", trace.start_nanos.max(0));
        json.number_field("durationMs", millis(trace.duration_nanos));
        if let Some(first) = trace.span_sets.first().filter(|_| has_sets) {
            json.name("spanSet");
            let begin = json.place();
            span_set(json, first);
            let end = json.place();
            json.name("spanSets");
            json.list(trace.span_sets.iter().enumerate(), |json, (nth, set)| match nth {
                0 => json.again(begin..end),
                _ => span_set(json, set),
            });
        }
        if !trace.services.is_empty() {
            json.name("serviceStats");
            json.object(|json| {
                for service in &trace.services {
                    json.comma();
                    json.text(&service.service);
                    json.raw(b":");
                    json.object(|json| {
                        json.number_field("spanCount", service.spans as u64);
                        json.number_field("errorCount", service.errors as u64);
                    });
                }
            });
        }
    });
}

fn span_set(json: &mut Json, set: &FoundSet) {
    json.object(|json| {
        json.name("spans");
        json.list(&set.spans, span);
        json.number_field("matched", set.matched as u64);
        attributes(json, "attributes", &set.attributes);
    });
}

fn span(json: &mut Json, span: &FoundSpan) {
    json.object(|json| {
        json.name("spanID");
        json.hex(&span.span_id, true);
        json.text_field("name", span.name.as_deref().unwrap_or(""));
        json.integer_field("startTimeUnixNano", span.start_nanos.max(0));
        json.integer_field("durationNanos", span.duration_nanos.max(0));
        attributes(json, "attributes", &span.attributes);
    });
}

/// A field with keys and values, if there are any.
fn attributes(json: &mut Json, name: &str, pairs: &[(String, OwnedValue)]) {
    if pairs.is_empty() {
        return;
    }
    json.name(name);
    json.list(pairs, |json, (key, value)| {
        json.raw(b"{\"key\":");
        json.text(key);
        json.raw(b",\"value\":");
        any_value(json, value);
        json.raw(b"}");
    });
}

fn any_value(json: &mut Json, value: &OwnedValue) {
    json.raw(b"{");
    match value {
        OwnedValue::Text(text) => text_value(json, text),
        OwnedValue::Int(number) => int_value(json, *number),
        OwnedValue::Float(number) => double_value(json, *number),
        OwnedValue::Bool(flag) => bool_value(json, *flag),
        OwnedValue::Array(elements) => {
            json.raw(b"\"arrayValue\":{\"values\":");
            json.list(elements, |json, element| {
                json.raw(b"{");
                match element {
                    Element::Text(text) => text_value(json, text),
                    Element::Int(number) => int_value(json, *number),
                    Element::Float(number) => double_value(json, *number),
                    Element::Bool(flag) => bool_value(json, *flag),
                }
                json.raw(b"}");
            });
            json.raw(b"}");
        }
        // As words.
        OwnedValue::Nil | OwnedValue::Duration(_) | OwnedValue::Status(_) | OwnedValue::Kind(_) => {
            json.raw(b"\"stringValue\":");
            json.display(value);
        }
    }
    json.raw(b"}");
}

fn text_value(json: &mut Json, text: &str) {
    json.raw(b"\"stringValue\":");
    json.text(text);
}

fn int_value(json: &mut Json, number: i64) {
    json.raw(b"\"intValue\":");
    json.integer(number);
}

fn double_value(json: &mut Json, number: f64) {
    json.raw(b"\"doubleValue\":");
    json.double(number);
}

fn bool_value(json: &mut Json, flag: bool) {
    json.raw(b"\"boolValue\":");
    json.boolean(flag);
}

fn stats(json: &mut Json, stats: &SearchStats) {
    json.object(|json| {
        let bytes = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        json.number_field("inspectedTraces", stats.inspected_traces as u64);
        json.integer_field("inspectedBytes", bytes(stats.inspected_bytes));
        json.number_field("totalBlocks", stats.total_blocks as u64);
        json.number_field("completedJobs", stats.completed_jobs as u64);
        json.number_field("totalJobs", stats.total_jobs as u64);
        json.integer_field("totalBlockBytes", bytes(stats.total_block_bytes));
        json.integer_field("inspectedSpans", bytes(stats.inspected_spans as u64));
    });
}

/// `QueryRangeResponse`.
pub(super) fn series(answer: &MetricsAnswer) -> Vec<u8> {
    metrics(answer, |json, series| {
        json.object(|json| {
            attributes(json, "labels", &series.labels);
            json.name("samples");
            json.list(&series.points, |json, (time_nanos, value)| {
                json.object(|json| {
                    json.integer_field("timestampMs", time_nanos.div_euclid(1_000_000));
                    json.double_field("value", *value);
                });
            });
            if !series.exemplars.is_empty() {
                json.name("exemplars");
                json.list(&series.exemplars, exemplar);
            }
        });
    })
}

fn exemplar(json: &mut Json, exemplar: &Exemplar) {
    json.object(|json| {
        attributes(json, "labels", &exemplar.labels);
        json.double_field("value", exemplar.value);
        json.integer_field("timestampMs", exemplar.time_nanos.div_euclid(1_000_000));
    });
}

/// `QueryInstantResponse`: the last point of each series that has one.
pub(super) fn values(answer: &MetricsAnswer) -> Vec<u8> {
    metrics(answer, |json, series| {
        json.object(|json| {
            attributes(json, "labels", &series.labels);
            json.double_field("value", series.points.last().map_or(0.0, |(_, value)| *value));
        });
    })
}

fn metrics(answer: &MetricsAnswer, write: impl FnMut(&mut Json, &Series)) -> Vec<u8> {
    let points: usize = answer.series.iter().map(|series| series.points.len()).sum();
    let mut json = Json::with_capacity(256 + answer.series.len() * 200 + points * 60);
    json.object(|json| {
        json.name("series");
        json.list(&answer.series, write);
        json.name("metrics");
        stats(json, &answer.stats);
        if let Some(message) = damaged(answer.stats.damaged_blocks) {
            json.text_field("status", "PARTIAL");
            json.text_field("message", &message);
        }
    });
    json.into_bytes()
}

/// `SearchTagsResponse`.
pub(super) fn tag_names(names: &[String]) -> Vec<u8> {
    tag_list("tagNames", |json| json.list(names, |json, name| json.text(name)))
}

/// `SearchTagsV2Response`.
pub(super) fn scopes(scopes: &[Scoped]) -> Vec<u8> {
    let scope = |json: &mut Json, scope: &Scoped| {
        json.object(|json| {
            json.text_field("name", scope.name);
            json.name("tags");
            json.list(&scope.tags, |json, name| json.text(name));
        });
    };
    tag_list("scopes", |json| json.list(scopes, scope))
}

/// `SearchTagValuesResponse`.
pub(super) fn tag_values(values: &[String]) -> Vec<u8> {
    tag_list("tagValues", |json| json.list(values, |json, value| json.text(value)))
}

/// `SearchTagValuesV2Response`.
pub(super) fn typed_values(values: &[TagValue]) -> Vec<u8> {
    let value = |json: &mut Json, value: &TagValue| {
        json.object(|json| {
            json.text_field("type", type_name(value.kind));
            json.text_field("value", &value.text);
        });
    };
    tag_list("tagValues", |json| json.list(values, value))
}

/// How Tempo names the type of a value.
pub(super) fn type_name(kind: TagKind) -> &'static str {
    match kind {
        TagKind::String => "string",
        TagKind::Int => "int",
        TagKind::Float => "float",
        TagKind::Bool => "bool",
        TagKind::Duration => "duration",
        TagKind::Keyword => "keyword",
    }
}

fn tag_list(name: &str, list: impl FnOnce(&mut Json)) -> Vec<u8> {
    let mut json = Json::default();
    json.object(|json| {
        json.name(name);
        list(json);
        json.raw(b",\"metrics\":{}");
    });
    json.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::convert::tests::{answer, found};
    use serde_json::{Value, json};

    fn read(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn a_search_is_written_as_tempo_writes_it() {
        let set = json!({
            "spans": [{
                "spanID": "000000000000002a",
                "name": "GET \"/\"",
                "startTimeUnixNano": "1767323045000000001",
                "durationNanos": "1500000",
                "attributes": [
                    {"key": "status", "value": {"stringValue": "error"}},
                    {"key": "took", "value": {"stringValue": "1.5ms"}},
                    {"key": "num", "value": {"intValue": "-7"}},
                    {"key": "ratio", "value": {"doubleValue": 0.5}},
                    {"key": "flag", "value": {"boolValue": false}},
                    {"key": "none", "value": {"stringValue": "nil"}},
                    {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": ""}]}}},
                ],
            }],
            "matched": 3,
            "attributes": [{"key": "count()", "value": {"intValue": "3"}}],
        });
        let expected = json!({
            "traces": [{
                "traceID": "a0000000000000001",
                "rootServiceName": "<root span not yet received>",
                "startTimeUnixNano": "1767323045000000000",
                "durationMs": 1999,
                "spanSet": set,
                "spanSets": [set],
                "serviceStats": {"shop": {"spanCount": 4, "errorCount": 1}, "": {"spanCount": 1}},
            }],
            "metrics": {
                "inspectedTraces": 5, "inspectedBytes": "6000000000", "totalBlocks": 2,
                "completedJobs": 3, "totalJobs": 4, "totalBlockBytes": "77", "inspectedSpans": "9",
            },
        });
        assert_eq!(read(&search(&found(), true)), expected);
        let of_old = read(&search(&found(), false));
        assert!(of_old["traces"][0].get("spanSet").is_none());
        assert!(of_old["traces"][0].get("spanSets").is_none());
        assert_eq!(read(&search(&Found::default(), true)), json!({"traces": [], "metrics": {}}));
    }

    #[test]
    fn series_have_typed_labels_and_no_zeros() {
        let expected = json!({
            "series": [{
                "labels": [{"key": "p", "value": {"doubleValue": 0.5}}, {"key": "x", "value": {"stringValue": "nil"}}],
                "samples": [{"timestampMs": "1767323045000"}, {"timestampMs": "1767323105000", "value": 1.5}],
                "exemplars": [{
                    "labels": [{"key": "trace:id", "value": {"stringValue": "abc"}}],
                    "value": 2, "timestampMs": "1767323045001",
                }],
            }],
            "metrics": {},
            "status": "PARTIAL",
            "message": "1 damaged block is left out; spans may be missing",
        });
        assert_eq!(read(&series(&answer())), expected);
        let instant = read(&values(&answer()));
        assert_eq!(instant["series"][0]["value"], 1.5);
        assert!(instant["series"][0].get("samples").is_none());
    }

    #[test]
    fn tags_are_lists() {
        assert_eq!(
            read(&tag_names(&["a\"b".to_owned()])),
            json!({"tagNames": ["a\"b"], "metrics": {}})
        );
        let scoped = Scoped { name: "span", tags: vec!["x".to_owned()] };
        let expected = json!({"scopes": [{"name": "span", "tags": ["x"]}], "metrics": {}});
        assert_eq!(read(&scopes(&[scoped])), expected);
        let values = [
            TagValue { kind: TagKind::Keyword, text: "ok".to_owned() },
            TagValue { kind: TagKind::String, text: String::new() },
        ];
        let expected = json!({
            "tagValues": [{"type": "keyword", "value": "ok"}, {"type": "string"}], "metrics": {},
        });
        assert_eq!(read(&typed_values(&values)), expected);
    }

    /// Not a benchmark: it only holds that nothing is quadratic.
    #[test]
    fn many_spans_are_written_at_once() {
        let mut found = found();
        let span = found.traces[0].span_sets[0].spans[0].clone();
        found.traces[0].span_sets[0].spans = vec![span; 100];
        let trace = found.traces[0].clone();
        found.traces = vec![trace; 200];
        let began = std::time::Instant::now();
        let bytes = search(&found, true);
        assert!(bytes.len() > 10_000_000, "{}", bytes.len());
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
