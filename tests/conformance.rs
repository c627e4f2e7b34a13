//! TraceQL as a black box: a suite of traces, questions and expected answers is asked over HTTP.
//!
//! `KYMO_TEST_DATA` names a directory with `traceql/conformance-sample.json`. The answers must be
//! the same wherever the spans lie: in memory; scattered, each trace over memory and three blocks;
//! and after compaction has joined those. An answer is right if it is what the suite expects, or
//! the better one that it names beside that.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness::programs::left_out;
use harness::{Answer, Encoding, Server, Signal, eventually};
use serde_json::{Map, Value, json};

/// Parts that a trace is scattered over.
const PARTS: usize = 4;
/// Of a hundred answers.
const RIGHT_PERCENT: usize = 98;

/// The suite, with names for what answers contain.
struct Suite {
    document: Value,
    /// Seconds since 1970 that its times are relative to.
    zero_secs: i64,
    span_names: BTreeMap<String, String>,
    trace_names: BTreeMap<String, String>,
}

impl Suite {
    fn read() -> Option<Self> {
        let path = std::env::var_os("KYMO_TEST_DATA")
            .map(|dir| PathBuf::from(dir).join("traceql/conformance-sample.json"))
            .filter(|path| path.exists());
        let Some(path) = path else {
            left_out("TraceQL's conformance suite (KYMO_TEST_DATA has no traceql/)");
            return None;
        };
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let mut suite = Self {
            document,
            zero_secs: (now - 300) / 60 * 60,
            span_names: BTreeMap::new(),
            trace_names: BTreeMap::new(),
        };
        for trace in suite.document["traces"].as_array().unwrap() {
            let id = text(&trace["traceID"]).trim_start_matches('0').to_owned();
            suite.trace_names.insert(id, text(&trace["label"]));
            for span in spans_of(&trace["otlp"]) {
                suite.span_names.insert(text(&span["spanId"]), text(&span["_label"]));
            }
        }
        Some(suite)
    }

    /// Requests with every `PARTS`th span of each trace, or with all.
    fn requests(&self, part: Option<usize>) -> Vec<Value> {
        let traces = self.document["traces"].as_array().unwrap();
        traces.iter().map(|trace| self.request(&trace["otlp"], part)).collect()
    }

    fn request(&self, otlp: &Value, part: Option<usize>) -> Value {
        let mut request = otlp.clone();
        let mut nth = 0;
        for resource in request["resourceSpans"].as_array_mut().unwrap() {
            for scope in resource["scopeSpans"].as_array_mut().unwrap() {
                let spans = scope["spans"].as_array_mut().unwrap();
                spans.retain(|_| {
                    nth += 1;
                    part.is_none_or(|part| nth % PARTS == part)
                });
                for span in spans {
                    let span = span.as_object_mut().unwrap();
                    span.remove("_label");
                    self.set_time(span, "startOffsetNano", "startTimeUnixNano");
                    self.set_time(span, "endOffsetNano", "endTimeUnixNano");
                    for event in
                        span.get_mut("events").and_then(Value::as_array_mut).into_iter().flatten()
                    {
                        let event = event.as_object_mut().unwrap();
                        self.set_time(event, "offsetNano", "timeUnixNano");
                    }
                }
            }
        }
        request
    }

    fn set_time(&self, of: &mut Map<String, Value>, offset: &str, time: &str) {
        let offset = of.remove(offset).unwrap().as_i64().unwrap();
        let nanos = self.zero_secs * 1_000_000_000 + offset;
        of.insert(time.to_owned(), Value::String(nanos.to_string()));
    }

    fn send(&self, server: &Server, part: Option<usize>) {
        for request in self.requests(part) {
            server.send(Signal::Traces, Encoding::Json, request.to_string()).expect(200);
        }
    }

    /// Asks everything, and prints what is answered otherwise than expected.
    fn check(&self, server: &Server, place: &str) {
        let (mut right, mut wrong) = (0, Vec::new());
        for case in self.document["cases"].as_array().unwrap() {
            if case.get("exempt").is_some() {
                continue;
            }
            let expected: Vec<Value> = [case.get("expect"), case.get("ideal")]
                .into_iter()
                .flatten()
                .filter_map(wanted)
                .collect();
            if expected.is_empty() {
                continue;
            }
            let given = self.ask(server, case);
            if expected.iter().any(|expected| is_same(expected, &given)) {
                right += 1;
            } else {
                let question = case.get("query").or(case.get("path")).unwrap();
                println!("{place}: {} {question}", case["id"]);
                println!("  expected {}\n  given    {given}", expected[0]);
                wrong.push(text(&case["id"]));
            }
        }
        let total = right + wrong.len();
        println!("{place}: {right} of {total} are right, not {wrong:?}");
        assert!(total > 100, "the suite has too few cases");
        let message = format!("{place}: {} of {total} are wrong: {wrong:?}", wrong.len());
        assert!(right * 100 >= total * RIGHT_PERCENT, "{message}");
    }

    /// What the server says to a case, in the form that [`wanted`] gives.
    fn ask(&self, server: &Server, case: &Value) -> Value {
        let get = |path: &str, params: &[(&str, String)]| {
            let request = server.client.get(server.url(&format!("/tempo{path}"))).query(params);
            Answer::of(request.header("accept", "application/json"))
        };
        let zero = self.zero_secs;
        let range = |before: i64, after: i64| {
            vec![("start", (zero - before).to_string()), ("end", (zero + after).to_string())]
        };
        let category = text(&case["category"]);
        if let Some(path) = case.get("path") {
            let mut params = Vec::new();
            if category == "api.tags" {
                params = range(60, 300);
                params.push(("limit", "5000".to_owned()));
            }
            return read_tags(&get(&text(path), &params), &text(&case["expect"]["kind"]));
        }
        let query = text(&case["query"]);
        let mut params = vec![("q", query.clone())];
        if category == "metrics.instant" {
            params.extend(range(0, 180));
            return read_instant(&get("/api/metrics/query", &params));
        }
        let is_metrics = category.starts_with("metrics");
        let path = if is_metrics
            || query.contains("over_time")
            || query.contains("compare(")
            || (category.starts_with("error") && query.contains("rate()"))
        {
            params.extend(range(0, 180));
            params.push(("step", "60s".to_owned()));
            "/api/metrics/query_range"
        } else {
            params.extend(range(60, 300));
            params.extend([("limit", "100".to_owned()), ("spss", "100".to_owned())]);
            "/api/search"
        };
        let answer = get(path, &params);
        if is_metrics {
            return self.read_range(&answer);
        }
        self.read_search(&answer, &case["expect"])
    }

    fn read_range(&self, answer: &Answer) -> Value {
        let Some(document) = ok(answer) else { return refused(answer) };
        let series = list(&document, "series").iter().map(|series| {
            let samples = list(series, "samples").iter().map(|sample| {
                let millis: i64 = text(&sample["timestampMs"]).parse().unwrap();
                json!([millis / 1000 - self.zero_secs, number(sample, "value")])
            });
            json!({"labels": pairs(series, "labels"), "samples": samples.collect::<Vec<_>>()})
        });
        json!({"series": sorted(series)})
    }

    fn read_search(&self, answer: &Answer, expect: &Value) -> Value {
        let Some(document) = ok(answer) else { return refused(answer) };
        let traces = list(&document, "traces");
        let trace_name = |trace: &Value| {
            let id = text(&trace["traceID"]).trim_start_matches('0').to_owned();
            self.trace_names.get(&id).cloned().unwrap_or(id)
        };
        let span_name = |span: &Value| {
            let id = text(&span["spanID"]);
            self.span_names.get(&id).cloned().unwrap_or(id)
        };
        match text(&expect["kind"]).as_str() {
            "search_groups" => {
                let groups = traces.iter().flat_map(|trace| {
                    list(trace, "spanSets").iter().map(move |set| {
                        let mut by = pairs(set, "attributes");
                        by.retain(|key, _| key.starts_with("by("));
                        let spans =
                            sorted(list(set, "spans").iter().map(span_name).map(Value::from));
                        json!({"trace": trace_name(trace), "by": by, "spans": spans})
                    })
                });
                json!({"groups": sorted(groups)})
            }
            "search_traces_ordered" => {
                json!({"traces": traces.iter().map(trace_name).collect::<Vec<_>>()})
            }
            _ => {
                let sets = traces.iter().flat_map(|trace| list(trace, "spanSets"));
                let spans: Vec<&Value> = sets.flat_map(|set| list(set, "spans")).collect();
                let mut found =
                    json!({"spans": sorted(spans.iter().map(|span| Value::from(span_name(span))))});
                if let Some(expected) = expect.get("attributes").and_then(Value::as_object) {
                    let attributes: Map<String, Value> = expected
                        .keys()
                        .map(|name| {
                            let span = spans.iter().find(|span| &span_name(span) == name);
                            let of_span = |span: &&Value| Value::Object(pairs(span, "attributes"));
                            (name.clone(), span.map_or(Value::Null, of_span))
                        })
                        .collect();
                    found["attributes"] = Value::Object(attributes);
                }
                found
            }
        }
    }
}

/// The answer that a case expects; `None` where anything will do.
fn wanted(expect: &Value) -> Option<Value> {
    let kind = expect.get("kind")?.as_str()?;
    let sorted_list = |name: &str| sorted(list(expect, name).iter().cloned());
    match kind {
        "search" => {
            let mut wanted = json!({"spans": sorted_list("spans")});
            if let Some(attributes) = expect.get("attributes") {
                wanted["attributes"] = attributes.clone();
            }
            Some(wanted)
        }
        "search_groups" => {
            let groups = list(expect, "groups").iter().map(|group| {
                let mut group = group.clone();
                group["spans"] = sorted(list(&group, "spans").iter().cloned()).into();
                group
            });
            Some(json!({"groups": sorted(groups)}))
        }
        "search_traces_ordered" => Some(json!({"traces": expect["traces"]})),
        "metrics_range" | "metrics_instant" => Some(json!({"series": sorted_list("series")})),
        "tag_values" | "tag_values_v2" => Some(json!({"values": sorted_list("values")})),
        "parse_error" | "validate_error" => Some(json!({"status": 400})),
        _ if kind.starts_with("tags_v2") => {
            let scopes = expect.get("scopes")?.as_object()?;
            let scopes: Map<String, Value> = scopes
                .iter()
                .map(|(name, tags)| {
                    let tags = tags.as_array().cloned().unwrap_or_default();
                    (name.clone(), sorted(tags.into_iter()).into())
                })
                .collect();
            Some(json!({"scopes": scopes}))
        }
        _ if expect.get("http_status") == Some(&json!(400)) => Some(json!({"status": 400})),
        _ => None,
    }
}

fn read_tags(answer: &Answer, kind: &str) -> Value {
    let Some(document) = ok(answer) else { return refused(answer) };
    if kind.starts_with("tags_v2") {
        let scopes: Map<String, Value> = list(&document, "scopes")
            .iter()
            .map(|scope| {
                let tags = sorted(list(scope, "tags").iter().cloned());
                (text(&scope["name"]), tags.into())
            })
            .collect();
        return json!({"scopes": scopes});
    }
    if kind == "tag_values_v2" {
        let values = list(&document, "tagValues").iter().map(|value| {
            let text = value.get("value").cloned().unwrap_or_else(|| json!(""));
            json!([value["type"], text])
        });
        return json!({"values": sorted(values)});
    }
    let name = if document.get("tagValues").is_some() { "tagValues" } else { "tagNames" };
    json!({"values": sorted(list(&document, name).iter().cloned())})
}

fn read_instant(answer: &Answer) -> Value {
    let Some(document) = ok(answer) else { return refused(answer) };
    let series = list(&document, "series")
        .iter()
        .map(|series| json!({"labels": pairs(series, "labels"), "value": number(series, "value")}));
    json!({"series": sorted(series)})
}

fn ok(answer: &Answer) -> Option<Value> {
    (answer.status == 200).then(|| answer.json())
}

fn refused(answer: &Answer) -> Value {
    json!({"status": answer.status, "body": answer.text()})
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A number that is left out where it is zero.
fn number(of: &Value, name: &str) -> f64 {
    of.get(name).map_or(0.0, |value| value.as_f64().unwrap_or(f64::NAN))
}

fn spans_of(otlp: &Value) -> impl Iterator<Item = &Value> {
    let scopes = list(otlp, "resourceSpans").iter().flat_map(|group| list(group, "scopeSpans"));
    scopes.flat_map(|scope| list(scope, "spans"))
}

/// Attributes as an object of plain values.
fn pairs(of: &Value, name: &str) -> Map<String, Value> {
    let pair = |pair: &Value| (text(&pair["key"]), plain(&pair["value"]));
    list(of, name).iter().map(pair).collect()
}

fn plain(value: &Value) -> Value {
    let (kind, inner) = value.as_object().and_then(|fields| fields.iter().next()).unwrap();
    match kind.as_str() {
        "intValue" => text(inner).parse::<i64>().unwrap().into(),
        "arrayValue" => list(inner, "values").iter().map(plain).collect(),
        _ => inner.clone(),
    }
}

/// Values in some order that equal lists share.
fn sorted(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut values: Vec<Value> = values.collect();
    values.sort_by_cached_key(sort_key);
    values
}

/// The text of a value, where 1 and 1.0 are the same.
fn sort_key(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:.6}", number.as_f64().unwrap()),
        Value::Array(values) => values.iter().map(sort_key).collect::<Vec<_>>().join(","),
        // `labels` come before `samples` and `value`, so equal labels are neighbours.
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key}:{};", sort_key(value))).collect()
        }
        other => other.to_string(),
    }
}

fn is_same(expected: &Value, given: &Value) -> bool {
    match (expected, given) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(_)) if a.contains_key("status") && a.len() == 1 => {
            given.get("status") == a.get("status")
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => expected == given,
    }
}

/// Blocks of spans that are visible.
fn blocks(server: &Server) -> f64 {
    server.metric("kymo_store_blocks", &["signal=\"traces\""])
}

#[test]
fn answers_are_right_over_memory() {
    let Some(suite) = Suite::read() else { return };
    let server = Server::start();
    suite.send(&server, None);
    suite.check(&server, "in memory");
}

#[test]
fn answers_are_right_over_scattered_traces_and_after_compaction() {
    let Some(suite) = Suite::read() else { return };
    let mut server = Server::with(&["--compaction", "false"]);
    for part in 0..PARTS {
        if part > 0 {
            // What came so far becomes a block.
            server.stop();
            server.start_again();
        }
        suite.send(&server, Some(part));
    }
    assert_eq!(blocks(&server), 3.0);
    assert!(server.metric("kymo_store_head_rows", &["signal=\"traces\""]) > 0.0);
    suite.check(&server, "scattered over memory and blocks");

    server.stop();
    server.start_again();
    assert_eq!(blocks(&server), 4.0);
    suite.check(&server, "scattered over blocks");

    server.stop();
    server.set_flag("--compaction", "true");
    server.start_again();
    eventually(Duration::from_secs(60), "blocks are joined", || blocks(&server) == 1.0);
    suite.check(&server, "after compaction");
}
