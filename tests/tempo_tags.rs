//! Tempo's API over HTTP: names and values of tags, series, and what Grafana asks.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;

use harness::otlp::{START_NANOS, attribute, traces};
use harness::traces::{CART, LOST, START_SECS, server, span};
use harness::{Answer, Server, Signal};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use prost::Message;
use serde_json::{Value, json};

/// Start and end that all the traces lie in.
fn range() -> [(&'static str, String); 2] {
    [("start", (START_SECS - 60).to_string()), ("end", (START_SECS + 60).to_string())]
}

#[test]
fn names_and_values_of_tags_are_told() {
    let server = server(&[]);
    let scopes = |params: &[(&str, &str)]| {
        let document = server.tempo("/api/v2/search/tags", params).expect(200).json();
        assert!(document["metrics"].is_object());
        let scopes = document["scopes"].as_array().unwrap().clone();
        scopes
            .into_iter()
            .map(|scope| (scope["name"].as_str().unwrap().to_owned(), scope["tags"].clone()))
            .collect::<std::collections::BTreeMap<String, Value>>()
    };
    let all = scopes(&[]);
    assert_eq!(all["resource"], json!(["service.name"]));
    let of_spans = [
        "attempt",
        "cached",
        "db.rows",
        "http.method",
        "http.status_code",
        "priority",
        "ratio",
        "region",
        "step",
    ];
    assert_eq!(all["span"], json!(of_spans));
    assert_eq!(all["intrinsic"].as_array().unwrap().len(), 25);
    assert_eq!(scopes(&[("scope", "span")]).keys().collect::<Vec<_>>(), ["span"]);
    let of_worker = scopes(&[("scope", "span"), ("q", "{ resource.service.name = \"worker\" }")]);
    assert_eq!(of_worker["span"], json!(["attempt", "priority", "step"]));
    let limited = scopes(&[("scope", "span"), ("limit", "2")]);
    assert_eq!(limited["span"].as_array().unwrap().len(), 2);
    server.tempo("/api/v2/search/tags", &[("scope", "spam")]).expect(400);

    let plain = server.tempo("/api/search/tags", &[]).expect(200).json();
    let plain = plain["tagNames"].as_array().unwrap().clone();
    for name in ["service.name", "db.rows", "name", "status", "duration"] {
        assert!(plain.contains(&json!(name)), "{name}: {plain:?}");
    }

    let values = |attribute: &str, params: &[(&str, &str)]| {
        let path = format!("/api/v2/search/tag/{attribute}/values");
        let document = server.tempo(&path, params).expect(200).json();
        let values = document["tagValues"].as_array().unwrap().iter();
        values
            .map(|value| {
                (
                    value["type"].as_str().unwrap().to_owned(),
                    value["value"].as_str().unwrap_or("").to_owned(),
                )
            })
            .collect::<BTreeSet<_>>()
    };
    let typed = |list: &[(&str, &str)]| -> BTreeSet<(String, String)> {
        list.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())).collect()
    };
    assert_eq!(
        values("resource.service.name", &[]),
        typed(&[("string", "db"), ("string", "edge"), ("string", "shop"), ("string", "worker")])
    );
    assert_eq!(values("span.db.rows", &[]), typed(&[("int", "7")]));
    assert_eq!(values("span.cached", &[]), typed(&[("bool", "true")]));
    assert_eq!(values("span.ratio", &[]), typed(&[("float", "0.5")]));
    assert_eq!(values(".attempt", &[]), typed(&[("int", "1"), ("string", "two")]));
    assert_eq!(
        values("status", &[]).iter().map(|(kind, _)| kind.as_str()).collect::<BTreeSet<_>>(),
        BTreeSet::from(["keyword"])
    );
    assert_eq!(values("name", &[("q", "{ span.step != nil }")]), typed(&[("string", "step")]));
    let half_typed = [("q", "{ resource.service.name = \"worker\" && span.step = ")];
    assert_eq!(values("span.step", &half_typed), typed(&[("string", "a"), ("string", "b")]));
    assert_eq!(values("span.nobody", &[]), typed(&[]));
    server.tempo("/api/v2/search/tag/%7B/values", &[]).expect(400);

    let plain = server.tempo("/api/search/tag/service.name/values", &[]).expect(200).json();
    assert_eq!(plain["tagValues"], json!(["db", "edge", "shop", "worker"]));
    // Words that are intrinsics of TraceQL are keys of attributes here, but for a few.
    let plain = |tag: &str| {
        let path = format!("/api/search/tag/{tag}/values");
        server.tempo(&path, &[]).expect(200).json()["tagValues"].clone()
    };
    assert_eq!(plain("status"), json!([]));
    assert_eq!(plain("status.code"), json!(["error", "ok", "unset"]));
    assert_eq!(plain("rootServiceName"), plain("root.service.name"));
    let refused = server.tempo("/api/v2/search/tag/service.name/values", &[]).expect(400);
    assert!(refused.text().contains("expected .service.name"), "{}", refused.text());
}

#[test]
fn numbers_with_a_point_keep_it_wherever_they_lie() {
    let server = Server::start();
    let mut sent = span(0xf1, 1, 0, "n", 0, 1);
    sent.attributes = vec![attribute("x", Any::DoubleValue(42.0))];
    server.store(Signal::Traces, traces("shop", vec![sent]).encode_to_vec());
    for path in ["/api/v2/search/tag/span.x/values", "/api/v2/search/tag/span.x/values?q=%7B%7D"] {
        let values = server.tempo(path, &[]).expect(200).json()["tagValues"].clone();
        assert_eq!(values, json!([{"type": "float", "value": "42.0"}]), "{path}");
    }
}

#[test]
fn series_are_answered_as_tempo_answers_them() {
    let server = server(&[]);
    // Points lie on multiples of the step.
    let minute = START_SECS / 60 * 60;
    let (start, end) = (minute.to_string(), (minute + 60).to_string());
    let range = |query: &str| {
        let params = [("q", query), ("start", &start), ("end", &end), ("step", "60s")];
        server.tempo("/api/metrics/query_range", &params).expect(200).json()
    };
    let document = range("{ } | count_over_time() by (resource.service.name)");
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    let worker = series
        .iter()
        .find(|series| series["labels"][0]["value"]["stringValue"] == "worker")
        .unwrap();
    assert_eq!(worker["labels"][0]["key"], "resource.service.name");
    let at = |minutes: u64| ((minute + 60 * minutes) * 1000).to_string();
    assert_eq!(
        worker["samples"],
        json!([{"timestampMs": at(0)}, {"timestampMs": at(1), "value": 3}])
    );
    let exemplar = &worker["exemplars"][0];
    assert!(exemplar["labels"].to_string().contains("trace:id"), "{exemplar}");

    let typed = range("{ } | count_over_time() by (span.db.rows)");
    let labels: Vec<&Value> = typed["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| &series["labels"][0]["value"])
        .collect();
    assert!(labels.contains(&&json!({"intValue": "7"})), "{labels:?}");
    assert!(labels.contains(&&json!({"stringValue": "nil"})), "{labels:?}");
    let none = range("{ } | count_over_time() by (resource.service.name) with (exemplars=false)");
    assert!(none["series"][0].get("exemplars").is_none(), "{none}");

    let instant = |query: &str| {
        let params = [("q", query), ("start", &start), ("end", &end)];
        server.tempo("/api/metrics/query", &params).expect(200).json()
    };
    let document = instant("{ } | count_over_time()");
    let expected = json!([{
        "labels": [{"key": "__name__", "value": {"stringValue": "count_over_time"}}], "value": 7,
    }]);
    assert_eq!(document["series"], expected);
    assert_eq!(instant("{ } | max_over_time(duration)")["series"][0]["value"], 2);
}

#[test]
fn times_of_series_come_in_many_forms() {
    let server = server(&[]);
    let query = ("query", "{ } | count_over_time()");
    let count = |params: &[(&str, &str)]| {
        let document = server.tempo("/api/metrics/query", params).expect(200).json();
        document["series"][0].get("value").map_or(0.0, |value| value.as_f64().unwrap())
    };
    let (secs, nanos) = (START_SECS.to_string(), START_NANOS.to_string());
    let later = (START_SECS + 60).to_string();
    assert_eq!(count(&[query, ("start", &secs), ("end", &later)]), 7.0);
    assert_eq!(count(&[query, ("start", &nanos), ("end", &later)]), 7.0);
    assert_eq!(count(&[query, ("start", &format!("{secs}.5")), ("end", &later)]), 4.0);
    assert_eq!(count(&[query, ("start", "2026-01-02T03:04:05Z"), ("end", &later)]), 7.0);
    assert_eq!(count(&[query, ("end", &later), ("since", "2h")]), 7.0);
    assert_eq!(count(&[query]), 0.0, "the last hour");
    // A year is not too long.
    let year = (START_SECS - 365 * 86_400).to_string();
    let params = [query, ("start", &year), ("end", &later)];
    server.tempo("/api/metrics/query_range", &params).expect(200);
    for (params, word) in [
        (vec![("q", "{ }")], "not a metrics query"),
        (vec![("q", "{ } | rate(")], "parse error"),
        (vec![query, ("start", "5"), ("end", "4")], "before end"),
        (vec![query, ("start", "soon")], "'start'"),
        (vec![query, ("step", "0s")], "invalid step"),
        (vec![query, ("since", "1y"), ("step", "1ms")], "points"),
    ] {
        let answer = server.tempo("/api/metrics/query_range", &params).expect(400);
        assert!(answer.text().contains(word), "{params:?}: {}", answer.text());
    }
    let parse = server.tempo("/api/metrics/query", &[("q", "{ } | rate(")]).expect(400);
    assert!(parse.text().starts_with("compiling query: parse error"), "{}", parse.text());
    // Sent to the search, it is answered by the spans that it is made of.
    assert_eq!(server.search("{ .region = \"eu\" } | rate()"), [format!("{LOST:x}")]);
}

#[test]
fn what_grafana_asks_is_answered() {
    let server = server(&[]);
    assert_eq!(server.tempo("/api/echo", &[]).expect(200).text(), "echo");
    assert_eq!(server.tempo("/ready", &[]).expect(200).text(), "ready\n");
    let info = server.tempo("/api/status/buildinfo", &[]).expect(200).json();
    let major: u32 = info["version"].as_str().unwrap().split('.').next().unwrap().parse().unwrap();
    assert!(major >= 2, "{info}");
    let [start, end] = range();
    let ranged = [(start.0, start.1.as_str()), (end.0, end.1.as_str())];

    // The search builder.
    server.tempo("/api/v2/search/tags", &[("limit", "5000")]).expect(200);
    server.tempo("/api/v2/search/tags", &[&ranged[..], &[("limit", "5000")]].concat()).expect(200);
    let built = "{resource.service.name=\"worker\" && name=\"step\" && duration>150ms}";
    let params = [&ranged[..], &[("q", built), ("limit", "20"), ("spss", "3")]].concat();
    let document = server.tempo("/api/search", &params).expect(200).json();
    assert_eq!(document["traces"][0]["spanSet"]["matched"], 1);
    let values = [("limit", "5000"), ("tag", "resource.service.name"), ("q", "{status=error}")];
    let document = server.tempo("/api/v2/search/tag/resource.service.name/values", &values);
    assert_eq!(
        document.expect(200).json()["tagValues"],
        json!([{"type": "string", "value": "db"}])
    );
    let either = "{resource.service.name=~\"worker|edge\" && (kind=client || kind=consumer)}";
    assert_eq!(server.search(either).len(), 2);

    // The tab for TraceQL: series over time, and numbers.
    let rate = "{resource.service.name=\"worker\"} | rate() by (name)";
    let params = [&ranged[..], &[("q", rate), ("step", "15s"), ("exemplars", "10")]].concat();
    let document = server.tempo("/api/metrics/query_range", &params).expect(200).json();
    assert_eq!(document["series"].as_array().unwrap().len(), 2);
    let params = [&ranged[..], &[("q", rate)]].concat();
    server.tempo("/api/metrics/query", &params).expect(200);

    // The view of a trace.
    let url = server.url(&format!("/tempo/api/v2/traces/{CART:x}"));
    let request = server.client.get(url).query(&ranged).header("accept", "application/protobuf");
    let trace = Answer::of(request).expect(200);
    assert_eq!(trace.header("content-type"), "application/protobuf");
}
