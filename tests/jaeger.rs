//! Jaeger's APIs over HTTP: what Jaeger UI and Grafana's data source ask, in the shapes that they
//! check.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::time::Duration;

use harness::jaeger::{CHECKOUT, FAILED, SHORT, get, hex, server};
use harness::otlp::{START_NANOS, traces};
use harness::raw::{Raw, head};
use harness::traces::span;
use harness::{Answer, Server, Signal, eventually};
use prost::Message;
use serde_json::{Value, json};

/// Far more than any of these takes.
const SOON: Duration = Duration::from_secs(10);

/// Start and end in microseconds, around everything.
fn micros() -> [(&'static str, String); 2] {
    let start = START_NANOS / 1000;
    [("start", (start - 60_000_000).to_string()), ("end", (start + 60_000_000).to_string())]
}

/// The envelope of an answer that worked, checked; its data.
#[track_caller]
fn data(answer: Answer) -> Value {
    assert_eq!(answer.header("content-type"), "application/json");
    let mut document = answer.expect(200).json();
    let members: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 5, "{members:?}");
    assert!(document["total"].is_u64(), "{document}");
    assert_eq!((&document["limit"], &document["offset"]), (&json!(0), &json!(0)));
    assert_eq!(document["errors"], Value::Null);
    document["data"].take()
}

/// The error in an envelope.
#[track_caller]
fn error(answer: Answer, status: u16) -> String {
    assert_eq!(answer.header("content-type"), "application/json");
    let document = answer.expect(status).json();
    assert_eq!(document["data"], Value::Null);
    assert_eq!(document["errors"][0]["code"], status);
    document["errors"][0]["msg"].as_str().unwrap().to_owned()
}

/// Ids of the traces that a search finds.
#[track_caller]
fn search(server: &Server, parameters: &[(&str, &str)]) -> Vec<String> {
    let times = micros();
    let times = times.iter().map(|(name, value)| (*name, value.as_str()));
    let parameters: Vec<_> = parameters.iter().copied().chain(times).collect();
    let found = data(get(server, "/api/traces", &parameters));
    let ids = found.as_array().unwrap().iter().map(|trace| {
        check_trace(trace);
        trace["traceID"].as_str().unwrap().to_owned()
    });
    ids.collect()
}

fn is_hex(value: &Value, digits: usize) -> bool {
    let text = value.as_str().unwrap_or("");
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[track_caller]
fn check_tags(tags: &Value) {
    for tag in tags.as_array().unwrap() {
        assert!(tag["key"].is_string(), "{tag}");
        let value = &tag["value"];
        let fits = match tag["type"].as_str().unwrap() {
            "string" | "binary" => value.is_string(),
            "bool" => value.is_boolean(),
            "int64" => value.is_i64() || value.is_string(),
            "float64" => value.is_number(),
            other => panic!("{other}"),
        };
        assert!(fits, "{tag}");
    }
}

/// What clients take for granted of a trace.
#[track_caller]
fn check_trace(trace: &Value) {
    assert!(is_hex(&trace["traceID"], 32), "{trace}");
    let processes = trace["processes"].as_object().unwrap();
    for process in processes.values() {
        assert!(process["serviceName"].is_string());
        check_tags(&process["tags"]);
    }
    for span in trace["spans"].as_array().unwrap() {
        assert_eq!(span["traceID"], trace["traceID"]);
        assert!(is_hex(&span["spanID"], 16), "{span}");
        assert!(span["operationName"].is_string());
        assert!(span["startTime"].is_u64() && span["duration"].is_u64(), "{span}");
        assert!(processes.contains_key(span["processID"].as_str().unwrap()));
        for reference in span["references"].as_array().unwrap() {
            assert!(["CHILD_OF", "FOLLOWS_FROM"].contains(&reference["refType"].as_str().unwrap()));
            assert!(is_hex(&reference["traceID"], 32) && is_hex(&reference["spanID"], 16));
        }
        check_tags(&span["tags"]);
        for log in span["logs"].as_array().unwrap() {
            assert!(log["timestamp"].is_u64());
            check_tags(&log["fields"]);
        }
    }
}

#[test]
fn grafana_finds_services_operations_and_traces() {
    let server = server();
    assert_eq!(data(get(&server, "/api/services", &[])), json!(["billing", "it's", "shop"]));
    let operations = data(get(&server, "/api/services/shop/operations", &[]));
    assert_eq!(operations, json!(["GET /", "POST /checkout"]));
    assert_eq!(data(get(&server, "/api/services/it%27s/operations", &[])), json!(["sweep"]));
    assert_eq!(data(get(&server, "/api/services/nobody/operations", &[])), json!([]));
    let slashed = traces("team/app", vec![span(0x51a5, 9, 0, "job", 0, 1)]);
    server.store(Signal::Traces, slashed.encode_to_vec());
    for name in ["team%2Fapp", "team/app"] {
        let path = format!("/api/services/{name}/operations");
        assert_eq!(data(get(&server, &path, &[])), json!(["job"]), "{name}");
    }
    error(get(&server, "/api/services/shop", &[]), 404);

    // The parameters of its search, where empty ones are left out.
    let [start, end] = micros();
    let parameters = [
        ("end", end.1.as_str()),
        ("limit", "20"),
        ("maxDuration", "1s"),
        ("minDuration", "100ms"),
        ("operation", "POST /checkout"),
        ("service", "shop"),
        ("start", start.1.as_str()),
        ("tags", r#"{"http.status_code":"200"}"#),
    ];
    let found = data(get(&server, "/api/traces", &parameters));
    assert_eq!(found.as_array().unwrap().len(), 1);
    check_trace(&found[0]);
    // A search gives whole traces.
    assert_eq!(found[0]["spans"].as_array().unwrap().len(), 3);
    let services: BTreeMap<&String, &Value> =
        found[0]["processes"].as_object().unwrap().iter().collect();
    let names: Vec<&str> = services.values().map(|p| p["serviceName"].as_str().unwrap()).collect();
    assert_eq!(names, ["shop", "billing"]);

    // It sends times of a trace in milliseconds.
    let millis = (START_NANOS / 1_000_000).to_string();
    let path = format!("/api/traces/{}", hex(CHECKOUT));
    let trace = data(get(&server, &path, &[("start", &millis), ("end", &millis)]));
    assert_eq!(trace, found);
}

#[test]
fn a_trace_is_found_by_hexadecimal_and_base64_and_has_all_that_was_sent() {
    let server = server();
    let trace = data(get(&server, "/api/traces/f0", &[]));
    check_trace(&trace[0]);
    let tag = |key: &str, value: Value| match value {
        Value::Bool(_) => json!({"key": key, "type": "bool", "value": value}),
        _ => json!({"key": key, "type": "string", "value": value}),
    };
    assert_eq!(
        trace,
        json!([{
            "traceID": hex(FAILED),
            "spans": [{
                "traceID": hex(FAILED),
                "spanID": "0000000000000005",
                "operationName": "sweep",
                "references": [],
                "startTime": START_NANOS / 1000 + 2_000_000,
                "duration": 50_000,
                "tags": [
                    tag("otel.scope.name", json!("lib")),
                    tag("otel.scope.version", json!("1.0")),
                    tag("span.kind", json!("internal")),
                    tag("otel.status_code", json!("ERROR")),
                    tag("error", json!(true)),
                    tag("otel.status_description", json!("disk full")),
                ],
                "logs": [],
                "processID": "p1",
                "warnings": null,
            }],
            "processes": {"p1": {"serviceName": "it's", "tags": [tag("host.name", json!("node-1"))]}},
            "warnings": null,
        }])
    );
    let whole = data(get(&server, &format!("/api/traces/{}", hex(CHECKOUT)), &[]));
    let base64 = "W47/95gDgQPSabYzgT/GDA==".replace('/', "%2F");
    assert_eq!(data(get(&server, &format!("/api/traces/{base64}"), &[])), whole);
    let charge =
        whole[0]["spans"].as_array().unwrap().iter().find(|s| s["operationName"] == "charge");
    let charge = charge.unwrap();
    let parent =
        json!([{"refType": "CHILD_OF", "traceID": hex(CHECKOUT), "spanID": "0000000000000001"}]);
    assert_eq!(charge["references"], parent);
    assert_eq!(charge["logs"][0]["timestamp"], START_NANOS / 1000 + 60_000);
    let fields = &charge["logs"][0]["fields"];
    assert_eq!(fields[0], tag("event", json!("refused")));
    assert_eq!(fields[2], json!({"key": "attempt", "type": "int64", "value": 2}));

    let pretty = get(&server, "/api/traces/f0", &[("prettyPrint", "true")]).expect(200);
    assert!(pretty.text().starts_with("{\n    \"data\": [\n        {\n"), "{}", pretty.text());
    assert_eq!(pretty.json()["data"], trace);
}

#[test]
fn a_search_needs_no_service_and_compares_tags_as_text() {
    let server = server();
    let all = [hex(FAILED), hex(SHORT), hex(CHECKOUT)];
    assert_eq!(search(&server, &[]), all, "newest first");
    assert_eq!(search(&server, &[("limit", "1")]), [hex(FAILED)]);
    assert_eq!(search(&server, &[("service", "shop")]), [hex(SHORT), hex(CHECKOUT)]);
    assert_eq!(search(&server, &[("service", "nobody")]), [""; 0]);
    let shop = [("service", "shop"), ("operation", "GET /")];
    assert_eq!(search(&server, &shop), [hex(SHORT)]);
    // All of it is of one span.
    assert_eq!(search(&server, &[("service", "shop"), ("operation", "charge")]), [""; 0]);
    assert_eq!(
        search(&server, &[("minDuration", "100ms"), ("maxDuration", "150ms")]),
        [hex(CHECKOUT)]
    );

    for (tag, found) in [
        ("http.status_code:200", CHECKOUT),
        ("ok:true", SHORT),
        ("ratio:0.5", SHORT),
        ("error:true", FAILED),
        ("otel.status_code:ERROR", FAILED),
        ("otel.status_description:disk full", FAILED),
        ("otel.scope.name:lib", FAILED),
        ("span.kind:internal", FAILED),
        ("span.kind:client", CHECKOUT),
        ("host.name:node-1", FAILED),
        // Fields of logs, also of a key that the span itself has with another value.
        ("message:declined", CHECKOUT),
        ("attempt:2", CHECKOUT),
        ("event:refused", CHECKOUT),
        ("level:warn", CHECKOUT),
        ("level:info", CHECKOUT),
    ] {
        assert_eq!(search(&server, &[("tag", tag)]), [hex(found)], "{tag}");
        let (key, value) = tag.split_once(':').unwrap();
        let tags = json!({key: value}).to_string();
        assert_eq!(search(&server, &[("tags", &tags)]), [hex(found)], "{tags}");
    }
    for nothing in ["http.status_code:0200", "ok:True", "error:false", "message:decline", "x:"] {
        assert_eq!(search(&server, &[("tag", nothing)]), [""; 0], "{nothing}");
    }
    let both = [("tag", "message:declined"), ("tag", "span.kind:client")];
    assert_eq!(search(&server, &both), [hex(CHECKOUT)]);
    let other = [("tag", "message:declined"), ("tag", "span.kind:server")];
    assert_eq!(search(&server, &other), [""; 0], "all tags are of one span");
}

#[test]
fn traces_by_their_ids_come_with_what_is_missing() {
    let server = server();
    let both = [("traceID", "f0"), ("traceID", "dead")];
    let document = get(&server, "/api/traces", &both).expect(200).json();
    assert_eq!(document["data"][0]["traceID"], hex(FAILED));
    assert_eq!(document["errors"], json!([{"msg": "trace not found", "traceID": hex(0xdead)}]));
    let none = get(&server, "/api/traces", &[("traceID", "dead")]).expect(200).json();
    assert_eq!((&none["data"], none["errors"].as_array().unwrap().len()), (&json!([]), 1));
}

#[test]
fn what_is_unknown_is_404_and_what_is_wrong_400_in_the_envelope() {
    let server = server();
    assert_eq!(error(get(&server, "/api/traces/dead", &[]), 404), "trace not found");
    for (path, parameters, word) in [
        ("/api/traces/xyz", vec![], "hexadecimal"),
        ("/api/traces/0", vec![], "zero"),
        ("/api/traces/f0", vec![("start", "soon")], "microseconds"),
        ("/api/traces", vec![("limit", "many")], "limit"),
        ("/api/traces", vec![("limit", "0")], "1 to"),
        ("/api/traces", vec![("tags", "{")], "tags"),
        ("/api/traces", vec![("tag", "no value")], "key:value"),
        ("/api/traces", vec![("minDuration", "5")], "duration"),
        ("/api/traces", vec![("start", "2"), ("end", "1")], "before"),
        ("/api/traces", vec![("traceID", "f0"), ("traceID", "no")], "hexadecimal"),
        ("/api/operations", vec![], "service"),
        ("/api/operations", vec![("service", "shop"), ("spanKind", "loud")], "spanKind"),
        ("/api/dependencies", vec![("lookback", "-1")], "lookback"),
        ("/api/metrics/calls", vec![], "service"),
        ("/api/metrics/latencies", vec![("service", "shop")], "quantile"),
        ("/api/metrics/calls", vec![("service", "shop"), ("step", "1")], "points"),
    ] {
        let message = error(get(&server, path, &parameters), 400);
        assert!(message.contains(word), "{path}: {message}");
    }
    let metrics = get(&server, "/api/metrics/minstep", &[("service", "shop")]);
    assert!(error(metrics, 404).contains("metrics/calls"));
    let tenant = server.client.get(server.url("/jaeger/api/services")).header("x-scope-orgid", "|");
    assert!(error(Answer::of(tenant), 400).contains("is empty"));
}

#[test]
fn operations_have_kinds_in_both_versions() {
    let server = server();
    let operations = data(get(&server, "/api/operations", &[("service", "billing")]));
    let kinds = json!([
        {"name": "charge", "spanKind": "client"},
        {"name": "orphan", "spanKind": ""},
    ]);
    assert_eq!(operations, kinds);
    let only = [("service", "billing"), ("spanKind", "client")];
    let operations = data(get(&server, "/api/operations", &only));
    assert_eq!(operations, json!([{"name": "charge", "spanKind": "client"}]));

    let services = get(&server, "/api/v3/services", &[]).expect(200).json();
    assert_eq!(services, json!({"services": ["billing", "it's", "shop"]}));
    let operations = get(&server, "/api/v3/operations", &[("service", "billing")]);
    let kinds = json!({"operations": [
        {"name": "charge", "spanKind": "client"},
        {"name": "orphan", "spanKind": "internal"},
    ]});
    assert_eq!(operations.expect(200).json(), kinds);
    let only = [("service", "billing"), ("span_kind", "internal")];
    let operations = get(&server, "/api/v3/operations", &only).expect(200).json();
    assert_eq!(operations, json!({"operations": [{"name": "orphan", "spanKind": "internal"}]}));
}

#[test]
fn dependencies_are_calls_between_services() {
    let server = server();
    let end = (START_NANOS / 1_000_000 + 60_000).to_string();
    let times = [("endTs", end.as_str()), ("lookback", "604800000")];
    let calls = json!([{"parent": "shop", "child": "billing", "callCount": 1}]);
    assert_eq!(data(get(&server, "/api/dependencies", &times)), calls);
    let of_service = [times.as_slice(), &[("service", "billing")]].concat();
    assert_eq!(data(get(&server, "/api/dependencies", &of_service)), calls);
    let of_other = [times.as_slice(), &[("service", "it's")]].concat();
    assert_eq!(data(get(&server, "/api/dependencies", &of_other)), json!([]));
    let before = [("endTs", "1000"), ("lookback", "1000")];
    assert_eq!(data(get(&server, "/api/dependencies", &before)), json!([]));

    let times = [("startTime", "2026-01-02T03:00:00Z"), ("endTime", "2026-01-02T04:00:00Z")];
    let calls = json!({"dependencies": [{"parent": "shop", "child": "billing", "callCount": "1"}]});
    assert_eq!(get(&server, "/api/v3/dependencies", &times).expect(200).json(), calls);
}

/// Times as Jaeger UI sends them.
const TIMES: [(&str, &str); 2] = [
    ("query.startTimeMin", "2026-01-02T03:04:00.000Z"),
    ("query.startTimeMax", "2026-01-02T03:05:00.000Z"),
];

/// Summaries, checked as Jaeger UI checks them.
#[track_caller]
fn summaries(server: &Server, parameters: &[(&str, &str)]) -> Vec<Value> {
    let answer = get(server, "/api/v3/trace-summaries", &[&TIMES, parameters].concat()).expect(200);
    let document = answer.json();
    let found = document["summaries"].as_array().unwrap();
    for summary in found {
        assert!(is_hex(&summary["traceId"], 32), "{summary}");
        for time in ["minStartTimeUnixNano", "maxEndTimeUnixNano"] {
            let time = summary[time].as_str().unwrap();
            assert!(!time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit()));
        }
        for count in ["spanCount", "errorSpanCount", "orphanSpanCount"] {
            assert!(summary[count].is_u64(), "{summary}");
        }
        for service in summary["services"].as_array().unwrap() {
            assert!(service["name"].is_string());
            assert!(service["spanCount"].is_u64() && service["errorSpanCount"].is_u64());
        }
    }
    found.clone()
}

#[test]
fn jaeger_ui_gets_summaries() {
    let server = server();
    let all = summaries(&server, &[("query.searchDepth", "20")]);
    let ids: Vec<&Value> = all.iter().map(|summary| &summary["traceId"]).collect();
    assert_eq!(ids, [&hex(FAILED), &hex(SHORT), &hex(CHECKOUT)]);
    let parameters = [
        ("query.serviceName", "billing"),
        ("query.operationName", "charge"),
        ("query.durationMin", "50ms"),
        ("query.durationMax", "1s"),
        ("query.attributes", r#"{"message":"declined"}"#),
    ];
    assert_eq!(
        summaries(&server, &parameters),
        [json!({
            "traceId": hex(CHECKOUT),
            "rootServiceName": "shop",
            "rootOperationName": "POST /checkout",
            "minStartTimeUnixNano": START_NANOS.to_string(),
            "maxEndTimeUnixNano": (START_NANOS + 200_000_000).to_string(),
            "spanCount": 3,
            "errorSpanCount": 0,
            "orphanSpanCount": 1,
            "services": [
                {"name": "billing", "spanCount": 2, "errorSpanCount": 0},
                {"name": "shop", "spanCount": 1, "errorSpanCount": 0},
            ],
        })]
    );
    let errors = summaries(&server, &[("query.attributes", r#"{"error":"true"}"#)]);
    assert_eq!((errors.len(), &errors[0]["errorSpanCount"]), (1, &json!(1)));
    assert!(summaries(&server, &[("query.serviceName", "nobody")]).is_empty());
}

#[test]
fn the_third_version_gives_otlp_with_hexadecimal_ids() {
    let server = server();
    let path = format!("/api/v3/traces/{}", hex(FAILED));
    // Grafana does not encode the times.
    let times = "start_time=2026-01-02T04:04:05+01:00&end_time=2026-01-02T04:04:05.5+01:00";
    let trace = Answer::of(server.client.get(server.url(&format!("/jaeger{path}?{times}"))));
    let trace = trace.expect(200).json();
    let group = &trace["result"]["resourceSpans"][0];
    let service = json!({"key": "service.name", "value": {"stringValue": "it's"}});
    assert_eq!(group["resource"]["attributes"][0], service);
    let span = &group["scopeSpans"][0]["spans"][0];
    assert_eq!(
        (&span["traceId"], &span["spanId"]),
        (&json!(hex(FAILED)), &json!("0000000000000005"))
    );
    assert_eq!((&span["kind"], &span["status"]["code"]), (&json!(1), &json!(2)));
    assert_eq!(span["startTimeUnixNano"], (START_NANOS + 2_000_000_000).to_string());

    let found =
        get(&server, "/api/v3/traces", &[&TIMES[..], &[("query.num_traces", "2")]].concat());
    let found = found.expect(200).json();
    let groups = found["result"]["resourceSpans"].as_array().unwrap();
    let ids: Vec<&Value> =
        groups.iter().map(|group| &group["scopeSpans"][0]["spans"][0]["traceId"]).collect();
    assert_eq!(ids, [&hex(FAILED), &hex(SHORT)]);

    let body = json!({"query": {
        "service_name": "shop",
        "startTimeMin": "2026-01-02T03:04:00Z",
        "startTimeMax": "2026-01-02T03:05:00Z",
        "attributes": {"ok": "true"},
    }});
    let post = |path: &str| {
        Answer::of(server.client.post(server.url(path)).body(body.to_string())).expect(200).json()
    };
    let groups = post("/jaeger/api/v3/traces")["result"]["resourceSpans"].clone();
    assert_eq!(groups.as_array().unwrap().len(), 1);
    let summaries = post("/jaeger/api/v3/trace-summaries");
    assert_eq!(summaries["summaries"][0]["traceId"], hex(SHORT));
}

#[test]
fn errors_of_the_third_version_have_its_envelope() {
    let server = server();
    let nothing = [&TIMES[..], &[("query.serviceName", "nobody")]].concat();
    for answer in
        [get(&server, "/api/v3/traces", &nothing), get(&server, "/api/v3/traces/dead", &[])]
    {
        let error = answer.expect(404).json()["error"].clone();
        assert_eq!(
            error,
            json!({"grpcCode": 5, "httpCode": 404, "message": "No traces found", "httpStatus": "Not Found"})
        );
    }
    for (path, parameters, word) in [
        ("/api/v3/traces", vec![], "required"),
        ("/api/v3/traces/zz", vec![], "hexadecimal"),
        ("/api/v3/traces/f0", vec![("startTime", "now")], "startTime"),
        (
            "/api/v3/trace-summaries",
            [&TIMES[..], &[("query.searchDepth", "x")]].concat(),
            "searchDepth",
        ),
        (
            "/api/v3/trace-summaries",
            [&TIMES[..], &[("query.filter", "{}")]].concat(),
            "query.filter",
        ),
        ("/api/v3/dependencies", vec![], "required"),
    ] {
        let error = get(&server, path, &parameters).expect(400).json()["error"].clone();
        assert_eq!((&error["httpCode"], &error["grpcCode"]), (&json!(400), &json!(3)));
        assert!(error["message"].as_str().unwrap().contains(word), "{path}: {error}");
    }
}

#[test]
fn a_file_of_otlp_is_made_into_traces_to_look_at() {
    let server = Server::start();
    let spans = |trace: &str, id: &str| {
        json!({"traceId": trace, "spanId": id, "name": "n", "kind": 2,
               "startTimeUnixNano": "1767323045000000000", "endTimeUnixNano": "1767323045000005000"})
    };
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "file"}}]},
        "scopeSpans": [{"spans": [spans(&hex(1), "0000000000000001"), spans(&hex(2), "0000000000000002")]}],
    }]});
    let url = server.url("/jaeger/api/transform");
    let made = data(Answer::of(server.client.post(&url).body(body.to_string())));
    assert_eq!(made.as_array().unwrap().len(), 2);
    made.as_array().unwrap().iter().for_each(check_trace);
    assert_eq!(made[1]["spans"][0]["duration"], 5);
    assert_eq!(made[0]["processes"]["p1"]["serviceName"], "file");
    let bad = Answer::of(server.client.post(&url).body("{\"resourceSpans\": 5}"));
    assert!(error(bad, 400).contains("OTLP/JSON"));
    assert_eq!(server.count(Signal::Traces), 0, "nothing is stored");
}

#[test]
fn a_file_to_look_at_takes_nothing_from_those_who_send() {
    let server = Server::start();
    let mut raw = Raw::connect(server.http());
    raw.write(&head("/jaeger/api/transform", "application/json", 2 << 20));
    raw.write(&vec![b' '; 1 << 20]);
    let reading = || server.metric("kymo_jaeger_bytes", &[]);
    eventually(SOON, "half of it has come", || reading() >= (1 << 20) as f64);
    assert_eq!(server.metric("kymo_receiving_bytes", &[]), 0.0);
    raw.write(&vec![b' '; 1 << 20]);
    assert_eq!(raw.answer().0, 400);
    eventually(SOON, "it is given back", || reading() == 0.0);
}

#[test]
fn more_tags_than_a_search_may_have_are_refused() {
    let server = server();
    let attributes: BTreeMap<String, &str> =
        (0..80_000).map(|nth| (format!("{nth:x}"), "")).collect();
    let body = json!({"query": {
        "attributes": attributes,
        "startTimeMin": "2026-01-02T00:00:00Z",
        "startTimeMax": "2026-01-03T00:00:00Z",
    }});
    for path in ["traces", "trace-summaries"] {
        let request = server.client.post(server.url(&format!("/jaeger/api/v3/{path}")));
        let refused = Answer::of(request.body(body.to_string())).expect(400).json();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("at most 100 attributes"), "{message}");
    }
    let tags: Vec<String> = (0..101).map(|nth| format!("{nth}:x")).collect();
    let tags: Vec<_> = tags.iter().map(|tag| ("tag", tag.as_str())).collect();
    assert_eq!(search(&server, &tags[..100]), [""; 0]);
    let message = error(get(&server, "/api/traces", &tags), 400);
    assert!(message.contains("at most 100 tags"), "{message}");
}

#[test]
fn spans_without_a_service_have_one_name_everywhere() {
    const NOBODY: &str = "OTLPResourceNoServiceName";
    let server = server();
    let mut nameless = traces("", vec![span(0x9a, 1, 0, "lonely", 0, 1)]);
    nameless.resource_spans[0].resource = None;
    server.store(Signal::Traces, nameless.encode_to_vec());
    assert_eq!(search(&server, &[("service", NOBODY)]), [hex(0x9a)]);
    let path = format!("/api/services/{NOBODY}/operations");
    assert_eq!(data(get(&server, &path, &[])), json!(["lonely"]));
    let trace = data(get(&server, "/api/traces/9a", &[]));
    assert_eq!(trace[0]["processes"]["p1"]["serviceName"], NOBODY);
    let asked = [&TIMES[..], &[("query.serviceName", NOBODY)]].concat();
    let summaries = get(&server, "/api/v3/trace-summaries", &asked).expect(200).json();
    let summary = &summaries["summaries"][0];
    assert_eq!(
        (&summary["rootServiceName"], &summary["services"][0]["name"]),
        (&json!(NOBODY), &json!(NOBODY))
    );
}

#[test]
fn operations_are_those_of_late_if_there_are_any() {
    let server = server();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut new = span(0x9e, 1, 0, "new", 0, 1);
    new.start_time_unix_nano = now.as_nanos() as u64;
    new.end_time_unix_nano = new.start_time_unix_nano + 1;
    server.store(Signal::Traces, traces("shop", vec![new]).encode_to_vec());
    let operations =
        |service: &str| data(get(&server, &format!("/api/services/{service}/operations"), &[]));
    assert_eq!(operations("shop"), json!(["new"]));
    assert_eq!(operations("billing"), json!(["charge", "orphan"]), "only old ones");
}

#[test]
fn tenants_do_not_see_each_other() {
    let server = server();
    let other = |path: &str| {
        let request = server.client.get(server.url(path)).header("x-scope-orgid", "other");
        Answer::of(request)
    };
    assert_eq!(data(other("/jaeger/api/services")), json!([]));
    assert_eq!(error(other("/jaeger/api/traces/f0"), 404), "trace not found");
}
