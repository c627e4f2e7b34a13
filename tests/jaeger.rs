//! Jaeger's APIs: what Jaeger UI and Grafana's data source ask, in the shapes that they check.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;

use harness::h2::{call, call_stream, framed};
use harness::otlp::{START_NANOS, attribute, traces};
use harness::traces::{span, string};
use harness::{Answer, Server, Signal};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::{Span, Status, TracesData};
use prost::Message;
use serde_json::{Value, json};

const CHECKOUT: u128 = 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c;
const SHORT: u128 = 0xab;
const FAILED: u128 = 0xf0;

fn hex(id: u128) -> String {
    format!("{id:032x}")
}

/// ```text
/// CHECKOUT  shop     POST /checkout  0 ms  +200   server    http.status_code 200
///           billing    charge       50 ms  +100   client    log: message "declined", attempt 2
///           billing    (orphan)     60 ms    +1   (none)
/// SHORT     shop     GET /          1 s      +5   server    ok true, ratio 0.5
/// FAILED    it's     sweep          2 s     +50   internal  an error, scope lib 1.0
/// ```
fn server() -> Server {
    let server = Server::start();
    let checkout = Span {
        kind: 2,
        attributes: vec![attribute("http.status_code", Any::IntValue(200))],
        ..span(CHECKOUT, 1, 0, "POST /checkout", 0, 200)
    };
    let charge = Span {
        kind: 3,
        attributes: vec![attribute("level", string("info"))],
        events: vec![Event {
            time_unix_nano: START_NANOS + 60_000_000,
            name: "refused".to_owned(),
            attributes: vec![
                attribute("message", string("declined")),
                attribute("attempt", Any::IntValue(2)),
                attribute("level", string("warn")),
            ],
            ..Default::default()
        }],
        ..span(CHECKOUT, 2, 1, "charge", 50, 100)
    };
    let orphan = Span { kind: 0, ..span(CHECKOUT, 3, 77, "orphan", 60, 1) };
    let short = Span {
        kind: 2,
        attributes: vec![
            attribute("ok", Any::BoolValue(true)),
            attribute("ratio", Any::DoubleValue(0.5)),
        ],
        ..span(SHORT, 4, 0, "GET /", 1000, 5)
    };
    let failed = Span {
        status: Some(Status { code: 2, message: "disk full".to_owned() }),
        ..span(FAILED, 5, 0, "sweep", 2000, 50)
    };
    let mut other = traces("it's", vec![failed]);
    let group = &mut other.resource_spans[0];
    group.scope_spans[0].scope = Some(InstrumentationScope {
        name: "lib".to_owned(),
        version: "1.0".to_owned(),
        ..Default::default()
    });
    let resource: &mut Resource = group.resource.as_mut().unwrap();
    resource.attributes.push(attribute("host.name", string("node-1")));
    for request in
        [traces("shop", vec![checkout, short]), traces("billing", vec![charge, orphan]), other]
    {
        server.store(Signal::Traces, request.encode_to_vec());
    }
    server
}

#[track_caller]
fn get(server: &Server, path: &str, parameters: &[(&str, &str)]) -> Answer {
    Answer::of(server.client.get(server.url(&format!("/jaeger{path}"))).query(parameters))
}

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
    ] {
        let message = error(get(&server, path, &parameters), 400);
        assert!(message.contains(word), "{path}: {message}");
    }
    let archive = server.client.post(server.url("/jaeger/api/archive/f0"));
    assert!(error(Answer::of(archive), 501).contains("no archive"));
    let metrics = get(&server, "/api/metrics/calls", &[("service", "shop")]);
    assert!(error(metrics, 501).contains("TraceQL"));
    let tenant =
        server.client.get(server.url("/jaeger/api/services")).header("x-scope-orgid", "a|b");
    assert!(error(Answer::of(tenant), 400).contains("several tenants"));
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

/// Messages of `jaeger.api_v3`, by the numbers of their fields.
mod api {
    use std::collections::BTreeMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Time {
        #[prost(int64, tag = "1")]
        pub seconds: i64,
        #[prost(int32, tag = "2")]
        pub nanos: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Query {
        #[prost(string, tag = "1")]
        pub service_name: String,
        #[prost(btree_map = "string, string", tag = "3")]
        pub attributes: BTreeMap<String, String>,
        #[prost(message, optional, tag = "4")]
        pub start_time_min: Option<Time>,
        #[prost(message, optional, tag = "5")]
        pub start_time_max: Option<Time>,
        #[prost(int32, tag = "8")]
        pub search_depth: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Find {
        #[prost(message, optional, tag = "1")]
        pub query: Option<Query>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Times {
        #[prost(message, optional, tag = "1")]
        pub start: Option<Time>,
        #[prost(message, optional, tag = "2")]
        pub end: Option<Time>,
    }

    /// `Operation`, and with a number `Dependency`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pair {
        #[prost(string, tag = "1")]
        pub first: String,
        #[prost(string, tag = "2")]
        pub second: String,
        #[prost(uint64, tag = "3")]
        pub count: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pairs {
        #[prost(message, repeated, tag = "1")]
        pub pairs: Vec<Pair>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Names {
        #[prost(string, repeated, tag = "1")]
        pub names: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Summary {
        #[prost(string, tag = "1")]
        pub trace_id: String,
        #[prost(fixed64, tag = "4")]
        pub start: u64,
        #[prost(int32, tag = "6")]
        pub spans: i32,
        #[prost(int32, tag = "8")]
        pub orphans: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Summaries {
        #[prost(message, repeated, tag = "1")]
        pub summaries: Vec<Summary>,
    }
}

const SERVICE: &str = "/jaeger.api_v3.QueryService";

fn find(service: &str) -> api::Find {
    let seconds = (START_NANOS / 1_000_000_000) as i64;
    let time = |seconds| Some(api::Time { seconds, nanos: 0 });
    let query = api::Query {
        service_name: service.to_owned(),
        start_time_min: time(seconds - 60),
        start_time_max: time(seconds + 60),
        ..Default::default()
    };
    api::Find { query: Some(query) }
}

#[test]
fn the_third_version_is_spoken_over_grpc() {
    let server = server();
    let unary = |method: &str, message: &dyn Fn() -> Vec<u8>| {
        call(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message()))
            .expect(0)
    };
    let services = unary("GetServices", &Vec::new);
    let services = api::Names::decode(&*services.body).unwrap().names;
    assert_eq!(services, ["billing", "it's", "shop"]);
    let asked = api::Pair { first: "billing".to_owned(), ..Default::default() };
    let operations = unary("GetOperations", &|| asked.encode_to_vec());
    let operations = api::Pairs::decode(&*operations.body).unwrap().pairs;
    let shown: Vec<_> = operations.iter().map(|o| (o.first.as_str(), o.second.as_str())).collect();
    assert_eq!(shown, [("charge", "client"), ("orphan", "internal")]);
    let query = find("").query.unwrap();
    let times = api::Times { start: query.start_time_min, end: query.start_time_max };
    let calls = unary("GetDependencies", &|| times.encode_to_vec());
    let calls = api::Pairs::decode(&*calls.body).unwrap().pairs;
    assert_eq!((calls.len(), calls[0].count), (1, 1));

    let stream = |method: &str, message: Vec<u8>| {
        call_stream(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message))
    };
    let id = api::Pair { first: hex(CHECKOUT), ..Default::default() };
    let trace = stream("GetTrace", id.encode_to_vec());
    assert_eq!((trace.code, trace.messages.len()), (0, 1));
    let data = TracesData::decode(&*trace.messages[0].1).unwrap();
    let mut sent = harness::readback::trace(&server, &CHECKOUT.to_be_bytes());
    // Tempo's answer has these also where they are empty.
    for scope in sent.resource_spans.iter_mut().flat_map(|group| &mut group.scope_spans) {
        scope.scope = None;
        scope.spans.iter_mut().for_each(|span| span.status = None);
    }
    assert_eq!(data, sent);

    let found = stream("FindTraces", find("shop").encode_to_vec());
    assert_eq!((found.code, found.messages.len()), (0, 2), "a message for each trace at least");
    let first = TracesData::decode(&*found.messages[0].1).unwrap();
    assert_eq!(first.resource_spans[0].scope_spans[0].spans[0].name, "GET /");

    let found = stream("FindTraceSummaries", find("billing").encode_to_vec());
    let summaries = api::Summaries::decode(&*found.messages[0].1).unwrap().summaries;
    assert_eq!(summaries[0].trace_id, hex(CHECKOUT));
    assert_eq!((summaries[0].start, summaries[0].spans, summaries[0].orphans), (START_NANOS, 3, 1));
}

#[test]
fn errors_over_grpc_have_their_codes() {
    const INVALID_ARGUMENT: i32 = 3;
    const NOT_FOUND: i32 = 5;
    let server = server();
    let stream = |method: &str, message: Vec<u8>| {
        call_stream(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message))
    };
    let id = |id: &str| api::Pair { first: id.to_owned(), ..Default::default() }.encode_to_vec();
    assert_eq!(stream("GetTrace", id("dead")).code, NOT_FOUND);
    assert_eq!(stream("GetTrace", id("zz")).code, INVALID_ARGUMENT);
    assert_eq!(stream("FindTraces", Vec::new()).code, INVALID_ARGUMENT);
    let mut timeless = find("shop");
    timeless.query.as_mut().unwrap().start_time_min = None;
    let refused = stream("FindTraces", timeless.encode_to_vec());
    assert_eq!(refused.code, INVALID_ARGUMENT);
    assert!(refused.message.contains("required"), "{}", refused.message);
    let none = stream("FindTraces", find("nobody").encode_to_vec());
    assert_eq!((none.code, none.messages.len()), (0, 0));
}

#[test]
fn a_large_trace_comes_in_messages_that_clients_take() {
    let server = Server::start();
    let spans = |from: u64| {
        let spans = (from..from + 2000).map(|id| Span {
            attributes: vec![attribute("text", string(&"x".repeat(1000)))],
            ..span(CHECKOUT, id + 1, 0, "large", 0, 1)
        });
        traces("shop", spans.collect())
    };
    for nth in 0..3 {
        server.store(Signal::Traces, spans(nth * 2000).encode_to_vec());
    }
    let id = api::Pair { first: hex(CHECKOUT), ..Default::default() }.encode_to_vec();
    let path = format!("{SERVICE}/GetTrace");
    let trace = call_stream(server.http(), &path, &[], framed(false, &id));
    assert_eq!(trace.code, 0);
    assert!(trace.messages.len() > 3, "{}", trace.messages.len());
    let mut count = 0;
    for (_, message) in &trace.messages {
        assert!(message.len() < 2 << 20, "{}", message.len());
        for group in TracesData::decode(&**message).unwrap().resource_spans {
            assert!(group.resource.is_some());
            count += group.scope_spans.iter().map(|scope| scope.spans.len()).sum::<usize>();
        }
    }
    assert_eq!(count, 6000);
    // The same as JSON, streamed.
    let document = get(&server, &format!("/api/traces/{}", hex(CHECKOUT)), &[]).expect(200).json();
    assert_eq!(document["data"][0]["spans"].as_array().unwrap().len(), 6000);
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
