//! Answers of a real Loki: `logql/conformance-sample.json` of `KYMO_TEST_DATA` has streams, questions
//! and what Loki said. At least 97 % are to be the same; where Loki is plainly wrong, the suite has
//! a better answer beside (`ideal`), which counts too.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::{SystemTime, UNIX_EPOCH};

use harness::programs::left_out;
use harness::{Answer, Server};
use serde_json::{Map, Value, json};

const LEAST_PERCENT: f64 = 97.0;

/// A text as JSON has it in the suite: numbers, but for those that JSON does not know.
fn number(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => json!(value),
        _ => json!(text),
    }
}

/// Times of the suite are seconds from its beginning.
fn absolute(parameters: &Map<String, Value>, t0: i64, style: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in parameters {
        if let Value::Array(values) = value {
            all.extend(values.iter().map(|value| (name.clone(), plain(value))));
            continue;
        }
        if !matches!(name.as_str(), "start" | "end" | "time") {
            all.push((name.clone(), plain(value)));
            continue;
        }
        let offset = value.as_f64().unwrap();
        let nanos = t0 * 1_000_000_000 + (offset * 1e9) as i64;
        let text = match style {
            "seconds" => (t0 + offset as i64).to_string(),
            "float" => format!("{:.3}", t0 as f64 + offset),
            "rfc3339" => chrono::DateTime::from_timestamp(t0 + offset as i64, 0)
                .unwrap()
                .format("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            _ => nanos.to_string(),
        };
        all.push((name.clone(), text));
    }
    all
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The text of an error is free; only its kind is compared.
fn without_details(labels: &Value) -> Value {
    let mut labels = labels.clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.remove("__error_details__");
    }
    labels
}

fn sorted(mut list: Vec<Value>, key: impl Fn(&Value) -> String) -> Value {
    list.sort_by_key(|item| key(item));
    Value::Array(list)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// A result as the suite has it.
fn normal(data: &Value, t0: i64, is_ordered: bool) -> Value {
    let kind = data["resultType"].as_str().unwrap();
    let result = list(&data["result"]);
    if kind == "scalar" {
        return json!({ "kind": kind, "value": number(result[1].as_str().unwrap()) });
    }
    let seconds = |at: &Value| ((at.as_f64().unwrap() - t0 as f64) * 1000.0).round() / 1000.0;
    let found = result.iter().map(|item| match kind {
        "streams" => {
            let values = list(&item["values"]).into_iter().map(|value| {
                let nanos: i64 = value[0].as_str().unwrap().parse().unwrap();
                let millis = (nanos - t0 * 1_000_000_000) as f64 / 1e6;
                let mut entry = vec![json!(millis), value[1].clone()];
                if let Some(Value::Object(extra)) = value.get(2) {
                    let kinds = extra.iter().map(|(kind, l)| (kind.clone(), without_details(l)));
                    entry.push(Value::Object(kinds.collect()));
                }
                Value::Array(entry)
            });
            let values: Vec<Value> = values.collect();
            json!({ "labels": without_details(&item["stream"]), "values": values })
        }
        "matrix" => {
            let point = |p: &Value| json!([seconds(&p[0]), number(p[1].as_str().unwrap())]);
            let points: Vec<Value> = list(&item["values"]).iter().map(point).collect();
            json!({ "labels": item["metric"], "values": points })
        }
        _ => {
            json!({ "labels": item["metric"], "value": number(item["value"][1].as_str().unwrap()) })
        }
    });
    let found: Vec<Value> = found.collect();
    let found = match is_ordered {
        true => Value::Array(found),
        false => sorted(found, |item| item["labels"].to_string()),
    };
    json!({ "kind": kind, "result": found })
}

fn failed(answer: &Answer) -> Value {
    json!({ "kind": "error", "status": answer.status, "body": answer.text() })
}

fn ask_endpoint(server: &Server, case: &Value, t0: i64) -> Value {
    let mut parameters = Map::new();
    parameters.extend([("start".to_owned(), json!(-60)), ("end".to_owned(), json!(360))]);
    parameters.extend(case["query_params"].as_object().cloned().unwrap_or_default());
    let parameters = absolute(&parameters, t0, "nanos");
    let url = server.url(&format!("/loki{}", case["path"].as_str().unwrap()));
    let answer = Answer::of(server.client.get(url).query(&parameters));
    if answer.status != 200 {
        return failed(&answer);
    }
    let reply = answer.json();
    let kind = case["category"].as_str().unwrap();
    let data = match kind {
        "api.labels" | "api.label_values" | "api.series" => {
            sorted(list(&reply["data"]), Value::to_string)
        }
        "api.stats" => json!({ "streams": reply["streams"], "entries": reply["entries"] }),
        "api.volume" => {
            let metrics = list(&reply["data"]["result"]);
            sorted(metrics.iter().map(|item| item["metric"].clone()).collect(), Value::to_string)
        }
        "api.detected_labels" => {
            let labels = list(&reply["detectedLabels"]);
            let shown = labels.iter().map(|l| json!([l["label"], l["cardinality"]])).collect();
            sorted(shown, Value::to_string)
        }
        "api.detected_fields" => {
            let fields = list(&reply["fields"]);
            let shown = fields.iter().map(|field| {
                let parsers = list(&field["parsers"]);
                json!([field["label"], field["type"], field["cardinality"], parsers])
            });
            sorted(shown.collect(), Value::to_string)
        }
        _ => reply["data"].clone(),
    };
    json!({ "kind": kind, "data": data })
}

fn ask(server: &Server, case: &Value, t0: i64) -> Value {
    if case.get("path").is_some() {
        return ask_endpoint(server, case, t0);
    }
    let is_metric = case["expect"]["kind"] != "streams" && case.get("expect").is_some();
    let (path, usual) = match case["type"] == "instant" {
        true => ("query", json!({ "time": 300 })),
        false if is_metric => {
            ("query_range", json!({ "start": 60, "end": 300, "step": "60s", "limit": 1000 }))
        }
        false => ("query_range", json!({ "start": -60, "end": 360, "limit": 1000 })),
    };
    let mut parameters = usual.as_object().unwrap().clone();
    parameters.extend(case["params"].as_object().cloned().unwrap_or_default());
    let mut all = absolute(&parameters, t0, case["time_format"].as_str().unwrap_or("nanos"));
    for (name, value) in case["raw_params"].as_object().into_iter().flatten() {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), plain(value)));
    }
    all.push(("query".to_owned(), plain(&case["query"])));
    let url = server.url(&format!("/loki/api/v1/{path}"));
    let mut request = match case["method"] == "POST" {
        true => server.client.post(url).form(&all),
        false => server.client.get(url).query(&all),
    };
    for (name, value) in case["headers"].as_object().into_iter().flatten() {
        request = request.header(name, plain(value));
    }
    let answer = Answer::of(request);
    if answer.status != 200 {
        return failed(&answer);
    }
    normal(&answer.json()["data"], t0, case["ordered"] == true)
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * 1.0_f64.max(a.abs()).max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, a)| b.get(k).is_some_and(|b| close(a, b)))
        }
        _ => a == b,
    }
}

fn same(want: &Value, got: &Value) -> bool {
    if want["kind"] == "error" {
        return got["kind"] == "error" && got["status"] == want["status"];
    }
    // Lists of the suite are in the order of its own sorting.
    let mut want = want.clone();
    for name in ["data", "result"] {
        if let Some(Value::Array(items)) = want.get_mut(name)
            && got.get(name).is_some_and(Value::is_array)
        {
            items.sort_by_key(|item| match item.get("labels") {
                Some(labels) => labels.to_string(),
                None => item.to_string(),
            });
        }
    }
    close(&want, got)
}

#[test]
fn answers_are_those_of_a_real_loki() {
    let data = std::env::var_os("KYMO_TEST_DATA").filter(|data| !data.is_empty());
    let Some(data) = data else {
        return left_out("answers of a real Loki (KYMO_TEST_DATA names no directory)");
    };
    let path = std::path::Path::new(&data).join("logql/conformance-sample.json");
    let suite: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let server = Server::start();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let t0 = (now - 600) / 60 * 60;
    for stream in list(&suite["streams"]) {
        let values: Vec<Value> = list(&stream["lines"])
            .into_iter()
            .map(|line| {
                let mut line = line.as_array().unwrap().clone();
                let nanos = t0 * 1_000_000_000 + (line[0].as_f64().unwrap() * 1e6) as i64;
                line[0] = json!(nanos.to_string());
                Value::Array(line)
            })
            .collect();
        let push = json!({ "streams": [{ "stream": stream["labels"], "values": values }] });
        server.push(&push).expect(204);
    }
    let cases = list(&suite["cases"]);
    let mut differences = Vec::new();
    for case in &cases {
        let got = ask(&server, case, t0);
        let is_same =
            ["expect", "ideal"].iter().filter_map(|answer| case.get(*answer)).any(|want| {
                let is_ordered = case["ordered"] == true;
                if is_ordered { close(want, &got) } else { same(want, &got) }
            });
        if !is_same {
            differences.push(format!(
                "{} {}\n  want {}\n  got  {got}",
                case["id"], case["query"], case["expect"]
            ));
        }
    }
    let percent = 100.0 * (cases.len() - differences.len()) as f64 / cases.len() as f64;
    println!("{} of {} cases ({percent:.1} %)", cases.len() - differences.len(), cases.len());
    assert!(percent >= LEAST_PERCENT, "{percent:.1} %\n{}", differences.join("\n"));
}
