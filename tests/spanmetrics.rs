//! Span metrics and the service graph: spans in over OTLP, PromQL out, as Grafana asks.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::{Answer, Encoding, Server, Signal};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};
use serde_json::{Value, json};

/// Written when the test says so, not before.
const FLAGS: [&str; 3] = ["--span-metrics", "--span-metrics-interval", "1h"];
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;
const MILLIS: u64 = 1_000_000;

fn server(flags: &[&str]) -> Server {
    Server::with(&[&FLAGS, flags].concat())
}

fn now_nanos() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// A span, as little of it as matters.
#[derive(Clone, Copy)]
struct Span<'a> {
    name: &'a str,
    kind: i32,
    trace: u8,
    id: u64,
    parent: u64,
    nanos: u64,
    is_failed: bool,
    attributes: &'a [(&'a str, &'a str)],
}

fn span(name: &str, kind: i32, trace: u8, id: u64, parent: u64) -> Span<'_> {
    let (nanos, is_failed) = (10 * MILLIS, false);
    Span { name, kind, trace, id, parent, nanos, is_failed, attributes: &[] }
}

/// The spans of one service, as its SDK would send them.
fn request(service: &str, spans: &[Span<'_>]) -> Vec<u8> {
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.resource(|w| {
            w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
            w.resource_attribute(b"deployment.environment", &AnyValueView::String(b"prod"));
        });
        w.scope_group(|w| {
            for span in spans {
                let start = now_nanos();
                let parent =
                    if span.parent == 0 { vec![] } else { span.parent.to_be_bytes().to_vec() };
                let fields = SpanFields {
                    trace_id: &[span.trace; 16],
                    span_id: &span.id.to_be_bytes(),
                    parent_span_id: &parent,
                    name: span.name.as_bytes(),
                    kind: span.kind,
                    start_time_unix_nano: start,
                    end_time_unix_nano: start + span.nanos,
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    for (key, value) in span.attributes {
                        w.span_attribute(key.as_bytes(), &AnyValueView::String(value.as_bytes()));
                    }
                    if span.is_failed {
                        w.status(2, b"out of stock");
                    }
                });
            }
        });
    });
    w.into_bytes()
}

fn send(server: &Server, service: &str, spans: &[Span<'_>]) {
    server.store(Signal::Traces, request(service, spans));
}

/// Has what was sent counted and stored.
#[track_caller]
fn flush(server: &Server) -> Value {
    Answer::of(server.client.post(server.url("/api/span-metrics/flush"))).expect(200).json()
}

#[track_caller]
fn prometheus(server: &Server, tenant: &str, path: &str, parameters: &[(&str, &str)]) -> Value {
    let url = server.url(&format!("/prometheus/api/v1/{path}"));
    let asked = server.client.get(url).query(parameters).header("x-scope-orgid", tenant);
    let answer = Answer::of(asked).expect(200).json();
    assert_eq!(answer["status"], "success", "{answer}");
    answer["data"].clone()
}

/// What an instant query gives: labels and value of each series, in order.
#[track_caller]
fn vector(server: &Server, query: &str) -> Vec<(Value, String)> {
    vector_of(server, "default", query)
}

#[track_caller]
fn vector_of(server: &Server, tenant: &str, query: &str) -> Vec<(Value, String)> {
    let data = prometheus(server, tenant, "query", &[("query", query)]);
    let mut all: Vec<(Value, String)> = data["result"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["metric"].clone(), one["value"][1].as_str().unwrap().to_owned()))
        .collect();
    all.sort_by_key(|(labels, _)| labels.to_string());
    all
}

#[track_caller]
fn number(server: &Server, query: &str) -> f64 {
    match &vector(server, query)[..] {
        [(_, value)] => value.parse().unwrap(),
        other => panic!("{query}: {other:?}"),
    }
}

/// Two services and a database, of which each sends its own spans.
fn shop(server: &Server) {
    let client =
        Span { is_failed: true, nanos: 30 * MILLIS, ..span("GET cart", CLIENT, 2, 22, 21) };
    let database = Span {
        attributes: &[("db.system", "postgresql"), ("db.name", "orders")],
        ..span("SELECT", CLIENT, 1, 14, 13)
    };
    // The server's side first, and each in a request of its own.
    send(server, "cart", &[Span { nanos: 5 * MILLIS, ..span("GET", SERVER, 1, 13, 12) }, database]);
    send(
        server,
        "shop",
        &[
            Span { nanos: 300 * MILLIS, ..span("GET /buy", SERVER, 1, 11, 0) },
            Span { nanos: 8 * MILLIS, ..span("GET cart", CLIENT, 1, 12, 11) },
        ],
    );
    send(server, "shop", &[client, span("GET /buy", SERVER, 2, 21, 0)]);
    send(server, "cart", &[span("GET", SERVER, 2, 23, 22)]);
}

#[test]
fn red_panels_and_the_service_graph_need_nothing_else() {
    let server = server(&[]);
    shop(&server);
    let status = flush(&server);
    assert_eq!(status["tenants"]["default"]["spans"], 7);
    assert!(status["lag_bytes"].as_u64().unwrap() > 0, "its own metrics come behind it");

    let calls = vector(&server, "traces_spanmetrics_calls_total{service=\"shop\"}");
    let labels = |name: &str, kind: &str, status: &str| {
        json!({ "__name__": "traces_spanmetrics_calls_total", "service": "shop", "span_name": name,
                "span_kind": kind, "status_code": status })
    };
    assert_eq!(
        calls,
        [
            (labels("GET cart", "SPAN_KIND_CLIENT", "STATUS_CODE_ERROR"), "1".to_owned()),
            (labels("GET cart", "SPAN_KIND_CLIENT", "STATUS_CODE_UNSET"), "1".to_owned()),
            (labels("GET /buy", "SPAN_KIND_SERVER", "STATUS_CODE_UNSET"), "2".to_owned()),
        ]
    );
    let buy = "{service=\"shop\",span_name=\"GET /buy\"}";
    assert_eq!(number(&server, &format!("traces_spanmetrics_latency_sum{buy}")), 0.31);
    assert_eq!(number(&server, &format!("traces_spanmetrics_latency_count{buy}")), 2.0);
    let below =
        "traces_spanmetrics_latency_bucket{service=\"shop\",span_name=\"GET /buy\",le=\"0.016\"}";
    assert_eq!(number(&server, below), 1.0);
    assert!(number(&server, "sum(traces_spanmetrics_size_total{service=\"shop\"})") > 200.0);

    let edge = |client: &str, server: &str, kind: &str| match kind {
        "" => json!({ "client": client, "server": server }),
        kind => json!({ "client": client, "server": server, "connection_type": kind }),
    };
    let by = "sum by (client, server, connection_type)";
    let expected = |numbers: [&str; 3]| {
        let edges = [
            edge("cart", "orders", "database"),
            edge("shop", "cart", ""),
            edge("user", "shop", "virtual_node"),
        ];
        edges.into_iter().zip(numbers.map(str::to_owned)).collect::<Vec<_>>()
    };
    let total = vector(&server, &format!("{by} (traces_service_graph_request_total)"));
    assert_eq!(total, expected(["1", "2", "2"]));
    let failed = vector(&server, &format!("{by} (traces_service_graph_request_failed_total)"));
    assert_eq!(failed, expected(["0", "1", "0"]));
    let seconds = "traces_service_graph_request_server_seconds_sum";
    assert_eq!(vector(&server, &format!("{by} ({seconds})")), expected(["0.01", "0.015", "0.31"]));
    let seconds = "traces_service_graph_request_client_seconds_sum{client=\"shop\"}";
    assert_eq!(number(&server, seconds), 0.038);
}

#[test]
fn grafanas_queries_of_the_service_graph_are_answered() {
    let server = server(&[]);
    shop(&server);
    flush(&server);
    // As the Tempo data source asks its Prometheus for the node graph and the table beside it.
    for query in [
        "sum by (client, server) (rate(traces_service_graph_request_total[5m]))",
        "sum by (client, server) (rate(traces_service_graph_request_server_seconds_sum[5m]))",
        "sum by (client, server) (rate(traces_service_graph_request_failed_total[5m]))",
        "histogram_quantile(.9, sum(rate(traces_service_graph_request_server_seconds_bucket[5m])) \
         by (le, client, server))",
    ] {
        let found = vector(&server, query);
        assert_eq!(found.len(), 3, "{query}: {found:?}");
        assert!(found.iter().all(|(_, value)| value != "NaN"), "{query}: {found:?}");
    }
    // The first step of a new series counts: it has a zero before it.
    let rate = "sum(rate(traces_service_graph_request_total{client=\"shop\"}[5m]))";
    assert!(number(&server, rate) > 0.0);
    for query in [
        "topk(5, sum(rate(traces_spanmetrics_calls_total{span_kind=\"SPAN_KIND_SERVER\"}[5m])) by (span_name))",
        "topk(5, sum(rate(traces_spanmetrics_calls_total{status_code=\"STATUS_CODE_ERROR\"}[5m])) by (span_name))",
        "histogram_quantile(.9, sum(rate(traces_spanmetrics_latency_bucket{span_name=~\"GET.*\"}[5m])) by (le))",
    ] {
        assert!(!vector(&server, query).is_empty(), "{query}");
    }
    // What it looks for to know whether there is a graph at all.
    let names = prometheus(&server, "default", "label/__name__/values", &[]);
    for name in [
        "traces_service_graph_request_client_seconds_bucket",
        "traces_service_graph_request_failed_total",
        "traces_service_graph_request_server_seconds_count",
        "traces_service_graph_request_total",
        "traces_spanmetrics_calls_total",
        "traces_spanmetrics_latency_bucket",
        "traces_spanmetrics_size_total",
    ] {
        assert!(names.as_array().unwrap().contains(&json!(name)), "{name} in {names}");
    }
    let metadata = prometheus(&server, "default", "metadata", &[]);
    assert_eq!(metadata["traces_spanmetrics_calls_total"][0]["type"], "counter");
}

#[test]
fn exemplars_lead_to_the_trace() {
    let server = server(&[]);
    shop(&server);
    flush(&server);
    let (start, end) = (
        (now_nanos() / 1_000_000_000 - 60).to_string(),
        (now_nanos() / 1_000_000_000 + 60).to_string(),
    );
    let query = "histogram_quantile(0.9, rate(traces_spanmetrics_latency_bucket\
                 {service=\"shop\",span_name=\"GET /buy\"}[5m]))";
    let query = [("query", query), ("start", &start), ("end", &end)];
    let exemplars = prometheus(&server, "default", "query_exemplars", &query);
    let mut traces: Vec<(String, String)> = Vec::new();
    for series in exemplars.as_array().unwrap() {
        for exemplar in series["exemplars"].as_array().unwrap() {
            let trace = exemplar["labels"]["trace_id"].as_str().unwrap().to_owned();
            traces.push((series["seriesLabels"]["le"].as_str().unwrap().to_owned(), trace));
        }
    }
    traces.sort();
    // One of each bucket: 10 ms and 300 ms.
    let expected = [("0.016".to_owned(), "02".repeat(16)), ("0.512".to_owned(), "01".repeat(16))];
    assert_eq!(traces, expected);
    server.tempo(&format!("/api/traces/{}", traces[1].1), &[]).expect(200);
}

#[test]
fn pairs_over_queues_and_to_those_who_send_no_spans() {
    // A short wait, so that those who send nothing are known soon, and long enough for requests.
    let server = server(&["--span-metrics-graph-wait", "2s"]);
    send(&server, "shop", &[span("send", PRODUCER, 1, 1, 0)]);
    send(&server, "mail", &[span("receive", CONSUMER, 1, 2, 1)]);
    let bank = Span { attributes: &[("peer.service", "bank")], ..span("pay", CLIENT, 2, 3, 0) };
    send(&server, "shop", &[bank, span("ask", CLIENT, 3, 4, 0)]);
    send(&server, "lost", &[span("GET", SERVER, 4, 5, 99)]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while flush(&server)["tenants"]["default"]["waiting"] != 0 {
        assert!(std::time::Instant::now() < deadline, "they wait for ever");
    }
    let total = vector(&server, "traces_service_graph_request_total");
    let labels: Vec<String> = total
        .iter()
        .map(|(labels, value)| {
            let of = |key: &str| labels[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {value}", of("client"), of("server"), of("connection_type"))
        })
        .collect();
    assert_eq!(labels, ["shop mail messaging_system 1", "shop bank virtual_node 1"]);
    let unpaired =
        vector(&server, "sum by (client, server) (traces_service_graph_unpaired_spans_total)");
    let expected = [
        (json!({ "client": "shop" }), "1".to_owned()),
        (json!({ "server": "lost" }), "1".to_owned()),
    ];
    assert_eq!(unpaired, expected);
}

#[test]
fn a_retry_is_counted_once_and_what_came_compressed_too() {
    let server = server(&[]);
    let body = request("shop", &[span("a", SERVER, 1, 1, 0), span("b", SERVER, 1, 2, 0)]);
    server.store(Signal::Traces, body.clone());
    server.store(Signal::Traces, body);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&request("shop", &[span("a", SERVER, 2, 3, 0)])).unwrap();
    let packed = server.request(Signal::Traces, Encoding::Protobuf, gzip.finish().unwrap());
    Answer::of(packed.header("content-encoding", "gzip")).expect(200);
    let json = Signal::Traces.to_json(&request("shop", &[span("a", SERVER, 3, 4, 0)]));
    server.send(Signal::Traces, Encoding::Json, json).expect(200);
    assert_eq!(flush(&server)["tenants"]["default"]["spans"], 4);
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 4.0);
    assert_eq!(server.metric("kymo_span_metrics_spans_total", &["tenant=\"default\""]), 4.0);
}

#[test]
fn each_tenant_has_its_own() {
    let server = server(&[]);
    for (tenant, count) in [("a", 1), ("b", 2)] {
        for nth in 0..count {
            let body = request("shop", &[span("x", SERVER, nth + 1, 1, 0)]);
            let sent = server.request(Signal::Traces, Encoding::Protobuf, body);
            Answer::of(sent.header("x-scope-orgid", tenant)).expect(200);
        }
    }
    flush(&server);
    for (tenant, count) in [("a", "1"), ("b", "2")] {
        let found = vector_of(&server, tenant, "sum(traces_spanmetrics_calls_total)");
        assert_eq!(found, [(json!({}), count.to_owned())], "{tenant}");
    }
    assert!(vector(&server, "traces_spanmetrics_calls_total").is_empty());
}

#[test]
fn a_server_that_stops_writes_what_it_has_counted_and_counts_nothing_twice() {
    let mut server = server(&[]);
    send(&server, "shop", &[span("a", SERVER, 1, 1, 0), span("a", SERVER, 2, 2, 0)]);
    let (status, _) = server.stop();
    assert!(status.success());
    server.start_again();
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 2.0);
    assert_eq!(flush(&server)["tenants"], json!({}), "nothing new has come");
    // Its counters begin at zero, which PromQL takes as the reset that it is.
    send(&server, "shop", &[span("a", SERVER, 3, 3, 0)]);
    flush(&server);
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 1.0);
    assert_eq!(number(&server, "resets(traces_spanmetrics_calls_total[10m])"), 1.0);
}

#[test]
fn what_a_crash_took_is_counted_after_it_and_only_that() {
    let mut server = server(&[]);
    send(&server, "shop", &[span("a", SERVER, 1, 1, 0)]);
    flush(&server);
    send(&server, "shop", &[span("a", SERVER, 2, 2, 0), span("a", SERVER, 3, 3, 0)]);
    server.kill();
    server.start_again();
    assert_eq!(flush(&server)["tenants"]["default"]["spans"], 2);
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 2.0);
}

#[test]
fn a_tenant_beyond_its_limits_has_nobody_else_counted_twice() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("kymo.yaml");
    let text = "tenants:\n  few: {limits: {max_records_per_second: 1}}\n";
    std::fs::write(&config, text).unwrap();
    let mut server = server(&["--config", config.to_str().unwrap()]);
    send(&server, "shop", &[span("a", SERVER, 1, 1, 0)]);
    // More than it may send in the time of this test; its metrics are refused after that.
    let many: Vec<Span<'_>> = (1..=500).map(|id| span("b", SERVER, 2, id, 0)).collect();
    let sent = server.request(Signal::Traces, Encoding::Protobuf, request("shop", &many));
    Answer::of(sent.header("x-scope-orgid", "few")).expect(200);
    let flushed = Answer::of(server.client.post(server.url("/api/span-metrics/flush"))).expect(503);
    assert!(flushed.text().contains("tenant few"), "{}", flushed.text());
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 1.0);
    server.kill();
    server.start_again();
    assert_eq!(flush(&server)["tenants"], json!({}), "what was written is not counted again");
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 1.0);
}

#[test]
fn too_many_series_are_counted_without_labels() {
    let mut server = server(&["--span-metrics-max-series", "3", "--no-service-graph"]);
    let names: Vec<String> = (0..10).map(|nth| format!("job {nth}")).collect();
    let spans: Vec<Span<'_>> =
        names.iter().enumerate().map(|(nth, name)| span(name, 1, 1, nth as u64 + 1, 0)).collect();
    send(&server, "ci", &spans);
    let status = flush(&server);
    assert_eq!(status["tenants"]["default"]["overflowed"], 7);
    assert_eq!(status["tenants"]["default"]["series"], 3);
    let overflow = "traces_spanmetrics_calls_total{otel_metric_overflow=\"true\"}";
    assert_eq!(number(&server, overflow), 7.0);
    assert_eq!(number(&server, "sum(traces_spanmetrics_calls_total)"), 10.0);
    send(&server, "ci", &[span("job 99", 1, 2, 1, 0)]);
    flush(&server);
    server.stop();
    let log = server.log_to_the_end();
    assert_eq!(log.matches("span_metrics.max_series").count(), 1, "{log}");
}

#[test]
fn the_collectors_names_dimensions_and_targets_are_there_for_who_wants_them() {
    let server = server(&[
        "--span-metrics-naming",
        "collector",
        "--span-metrics-dimensions",
        "http.method,deployment.environment",
        "--span-metrics-buckets",
        "50ms,1s",
        "--span-metrics-target-info",
    ]);
    let get = Span { attributes: &[("http.method", "GET")], ..span("GET /", SERVER, 1, 1, 0) };
    send(&server, "shop", &[get]);
    flush(&server);
    let labels = json!({ "__name__": "traces_span_metrics_calls_total", "service_name": "shop",
        "span_name": "GET /", "span_kind": "SPAN_KIND_SERVER", "status_code": "STATUS_CODE_UNSET",
        "http_method": "GET", "deployment_environment": "prod", "job": "shop" });
    assert_eq!(vector(&server, "traces_span_metrics_calls_total"), [(labels, "1".to_owned())]);
    let buckets = vector(&server, "sum by (le) (traces_span_metrics_duration_milliseconds_bucket)");
    let bounds: Vec<&str> =
        buckets.iter().map(|(labels, _)| labels["le"].as_str().unwrap()).collect();
    assert_eq!(bounds, ["+Inf", "1000", "50"]);
    assert_eq!(number(&server, "sum(traces_span_metrics_duration_milliseconds_sum)"), 10.0);
    let target = json!({ "__name__": "traces_target_info", "deployment_environment": "prod", "job": "shop" });
    assert_eq!(vector(&server, "traces_target_info"), [(target, "1".to_owned())]);
}

#[test]
fn only_what_was_admitted_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("kymo.yaml");
    let rule = "{name: noise, signals: [traces], where: 'name = \"health\"', drop: true}";
    std::fs::write(&config, format!("rules:\n- {rule}\n")).unwrap();
    let server = server(&["--config", config.to_str().unwrap()]);
    server
        .send(
            Signal::Traces,
            Encoding::Protobuf,
            request("shop", &[span("health", SERVER, 1, 1, 0), span("buy", SERVER, 1, 2, 0)]),
        )
        .expect(200);
    flush(&server);
    let names = prometheus(&server, "default", "label/span_name/values", &[]);
    assert_eq!(names, json!(["buy"]));
}

#[test]
fn switched_off_there_are_none() {
    let server = Server::start();
    send(&server, "shop", &[span("a", SERVER, 1, 1, 0)]);
    let answer = Answer::of(server.client.post(server.url("/api/span-metrics/flush"))).expect(404);
    assert!(answer.text().contains("span_metrics.enabled"), "{}", answer.text());
    assert_eq!(server.count(Signal::Metrics), 0);
    assert_eq!(server.count(Signal::Traces), 1);
}
