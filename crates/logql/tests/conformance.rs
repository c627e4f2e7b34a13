//! The answers of a real Loki, where they are at hand (`KYMO_TEST_DATA`, `logql`).
//!
//! Streams of the suite go straight through parser, plan and workers. What the suite asks of the
//! HTTP API alone (endpoints, parameters that are no numbers) is not asked here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;

use kymo_logql::entry::Entry;
use kymo_logql::labels::{ERROR_DETAILS, Labels};
use kymo_logql::parser::parse;
use kymo_logql::plan::{Plan, Streams, Value as Answer, plan};
use kymo_logql::request::{Direction, Request};
use kymo_logql::selection::Tested;
use serde_json::{Map, Value, json};

const T0_NANOS: i64 = 1_800_000_000 * 1_000_000_000;

/// A time in milliseconds, the text, structured metadata.
type Line = (i64, String, Vec<(String, String)>);

struct Stream {
    labels: Labels,
    /// Time, line, metadata.
    lines: Vec<Line>,
}

fn streams(suite: &Value) -> Vec<Stream> {
    let pairs = |map: &Value| -> Vec<(String, String)> {
        let map = map.as_object().unwrap();
        map.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
    };
    let line = |line: &Value| {
        let time = T0_NANOS + line[0].as_i64().unwrap() * 1_000_000;
        let metadata = line.get(2).map(pairs).unwrap_or_default();
        (time, line[1].as_str().unwrap().to_owned(), metadata)
    };
    let suite = suite["streams"].as_array().unwrap();
    let stream = |stream: &Value| Stream {
        labels: Labels::of(pairs(&stream["labels"])),
        lines: stream["lines"].as_array().unwrap().iter().map(line).collect(),
    };
    suite.iter().map(stream).collect()
}

fn seconds(value: &Value) -> Option<i64> {
    value.as_f64().map(|seconds| T0_NANOS + (seconds * 1e9) as i64)
}

/// The answer as the suite writes it; none if the case is about the HTTP API.
fn ask(case: &Value, streams: &[Stream]) -> Option<Value> {
    let empty = json!({});
    let params = case.get("params").unwrap_or(&empty);
    let is_wrong = |name: &str| params.get(name).is_some_and(|value| value.as_i64().is_none());
    if is_wrong("limit") || params.get("direction").is_some_and(|value| value == "sideways") {
        return None;
    }
    let text = case["query"].as_str().unwrap();
    let error = |message: String| json!({ "kind": "error", "status": 400, "message": message });
    let expr = match parse(text) {
        Ok(expr) => expr,
        Err(problem) => return Some(error(problem.to_string())),
    };
    let is_metric = matches!(expr, kymo_logql::ast::Expr::Metric(_));
    let time = |name: &str, default: i64| {
        params.get(name).and_then(seconds).unwrap_or(T0_NANOS + default * 1_000_000_000)
    };
    let mut request = if case["type"] == "instant" {
        Request::instant(time("time", 300))
    } else if is_metric {
        let step = match params.get("step").and_then(Value::as_str) {
            None => 60_000_000_000,
            Some(step) => kymo_logql::units::parse_prometheus_duration(step).unwrap_or(-1),
        };
        let (start, end) = (time("start", 60), time("end", 300));
        // As Loki's frontend does.
        let down = |time: i64| if step > 0 { time - time.rem_euclid(step) } else { time };
        let up = |time: i64| if down(time) < time { down(time) + step } else { time };
        Request::range(down(start), up(end), step)
    } else {
        Request::range(time("start", -60), time("end", 360), 0)
    };
    request.limit = params.get("limit").and_then(Value::as_u64).unwrap_or(1000) as usize;
    if params.get("direction").is_some_and(|direction| direction == "forward") {
        request.direction = Direction::Forward;
    }
    let interval = params.get("interval").and_then(Value::as_str);
    request.interval_nanos =
        interval.and_then(kymo_logql::units::parse_prometheus_duration).unwrap_or(0);
    let plan = match plan(&expr, &request) {
        Ok(plan) => plan,
        Err(problem) => return Some(error(problem.to_string())),
    };
    let is_categorized = case.get("headers").is_some();
    Some(match run(&plan, streams) {
        Ok(Outcome::Streams(found)) => show_streams(&found, is_categorized),
        Ok(Outcome::Value(value)) => show_value(value),
        Err(problem) => error(problem.to_string()),
    })
}

enum Outcome {
    Streams(Streams),
    Value(Answer),
}

/// Feeds a selection from the streams: once by one worker, backwards, and once by two.
fn feed<E>(
    selection: &kymo_logql::selection::Selection,
    streams: &[Stream],
    push: &mut dyn FnMut(usize, &Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut sequence = 0;
    for (nth, stream) in streams.iter().enumerate() {
        let is_selected = selection
            .matchers
            .iter()
            .all(|matcher| matcher.matches(stream.labels.get(&matcher.name).unwrap_or_default()));
        for (time, line, metadata) in stream.lines.iter().rev() {
            sequence += 1;
            let is_in = selection.start_nanos <= *time && *time < selection.end_nanos;
            if !is_selected || !is_in {
                continue;
            }
            let metadata: Vec<(&str, &str)> = metadata
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .filter(|(name, _)| selection.needs.labels.has(name))
                .collect();
            let line = if selection.needs.line { line.as_str() } else { "" };
            let stream = &stream.labels;
            let entry = Entry { time_nanos: *time, sequence, line, stream, metadata: &metadata };
            push(nth % 2, &entry)?;
        }
    }
    Ok(())
}

fn run(plan: &Plan, streams: &[Stream]) -> Result<Outcome, kymo_logql::error::EvalError> {
    match plan {
        Plan::Log(plan) => {
            let mut workers = vec![plan.worker(Tested::No), plan.worker(Tested::No)];
            feed(plan.selection(), streams, &mut |nth, entry| workers[nth].push(entry).map(drop))?;
            plan.finish(workers).map(Outcome::Streams)
        }
        Plan::Metric(plan) => {
            let mut all = Vec::new();
            for leaf in plan.leaves() {
                let mut workers = vec![leaf.worker(Tested::No), leaf.worker(Tested::No)];
                feed(leaf.selection(), streams, &mut |nth, entry| workers[nth].push(entry))?;
                all.push(workers);
            }
            plan.finish(all).map(Outcome::Value)
        }
    }
}

fn shown_labels(labels: &Labels) -> Value {
    let pairs = labels.iter().filter(|(name, _)| *name != ERROR_DETAILS);
    Value::Object(pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect())
}

fn number(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        json!(value)
    }
}

fn show_streams(found: &Streams, is_categorized: bool) -> Value {
    let groups = if is_categorized { found.categorized() } else { found.merged() };
    let mut result = Vec::new();
    for (labels, entries) in groups {
        let values = entries.iter().map(|entry| {
            let time = json!((entry.time_nanos - T0_NANOS) as f64 / 1e6);
            let mut value = vec![time, json!(entry.line)];
            if is_categorized {
                let mut extra = Map::new();
                for (name, labels) in
                    [("structuredMetadata", &entry.metadata), ("parsed", &entry.parsed)]
                {
                    if !labels.is_empty() {
                        extra.insert(name.to_owned(), shown_labels(labels));
                    }
                }
                value.push(Value::Object(extra));
            }
            Value::Array(value)
        });
        let values: Vec<Value> = values.collect();
        result.push(json!({ "labels": shown_labels(&labels), "values": values }));
    }
    json!({ "kind": "streams", "result": result })
}

fn show_value(value: Answer) -> Value {
    match value {
        Answer::Scalar { value, .. } => json!({ "kind": "scalar", "value": number(value) }),
        Answer::Vector { samples, .. } => {
            let samples = samples.iter().map(|sample| {
                json!({ "labels": shown_labels(&sample.labels), "value": number(sample.value) })
            });
            json!({ "kind": "vector", "result": samples.collect::<Vec<Value>>() })
        }
        Answer::Matrix(series) => {
            let series = series.iter().map(|series| {
                let points = series
                    .points
                    .iter()
                    .map(|(time, value)| json!([(time - T0_NANOS) as f64 / 1e9, number(*value)]));
                let points: Vec<Value> = points.collect();
                json!({ "labels": shown_labels(&series.labels), "values": points })
            });
            json!({ "kind": "matrix", "result": series.collect::<Vec<Value>>() })
        }
    }
}

fn is_close(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_close(a, b)))
        }
        _ => want == got,
    }
}

fn is_same(want: &Value, got: &Value, is_ordered: bool) -> bool {
    if want["kind"] == "error" || got["kind"] == "error" {
        return want["kind"] == got["kind"] && want["status"] == got["status"];
    }
    let sorted = |answer: &Value| {
        let mut answer = answer.clone();
        if let Some(result) = answer.get_mut("result").and_then(Value::as_array_mut)
            && !is_ordered
        {
            result.sort_by_key(|series| series["labels"].to_string());
        }
        answer
    };
    is_close(&sorted(want), &sorted(got))
}

#[test]
fn answers_are_those_of_loki() {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("left out: KYMO_TEST_DATA names no directory");
        return;
    };
    let file = Path::new(&data).join("logql/conformance-sample.json");
    if !file.is_file() {
        eprintln!("left out: {} is not there", file.display());
        return;
    }
    let suite: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let streams = streams(&suite);
    let (mut passed, mut failures) = (0, Vec::new());
    for case in suite["cases"].as_array().unwrap() {
        if case.get("path").is_some() {
            continue;
        }
        let Some(got) = ask(case, &streams) else { continue };
        let is_ordered = case.get("ordered").is_some_and(|ordered| ordered == true);
        let wanted = ["expect", "ideal"].into_iter().filter_map(|name| case.get(name));
        if wanted.into_iter().any(|want| is_same(want, &got, is_ordered)) {
            passed += 1;
        } else {
            failures.push(format!(
                "{} {}\n  want {}\n  got  {got}",
                case["id"], case["query"], case["expect"]
            ));
        }
    }
    assert!(failures.is_empty(), "{} pass\n{}", passed, failures.join("\n"));
    assert!(passed > 200, "{passed}");
}
