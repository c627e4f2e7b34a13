//! What belongs together, over all signals: `/api/correlate`, and `kymo trace --with …`.
//!
//! ```text
//! TRACE  trainer on gpu-7    epoch              0 s +60   session.id "s-17", run 7
//!        trainer on gpu-7      step            10 s +20   an exception; its status is unset
//!        storage on disk-1       PUT /file     12 s  +5
//! OTHER  trainer on gpu-8    epoch             20 s +60   session.id "s-18", run 8
//! ```
//!
//! Beside them: log records of both, an exemplar of each, and each second from 30 s before to 120 s
//! after how busy both hosts and the GPU of the first were.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::captured::captured;
use harness::metrics::write;
use harness::otlp::{START_NANOS, attribute, traces, value};
use harness::programs::{Ran, kymo, left_out, run};
use harness::traces::{span, string};
use harness::{Answer, Server, Signal, hex};
use kymo_wire::remote_write::RequestWriter;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, Metric};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use prost::Message;
use serde_json::{Value, json};

const TRACE: u128 = 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c;
const OTHER: u128 = 0x0a;
const EPOCH: u64 = 1;
const STEP: u64 = 2;
const PUT: u64 = 0xeee1_9b7e_c3c1_b174;
const OTHER_EPOCH: u64 = 9;
const SECOND: u64 = 1_000_000_000;

fn trace_id(trace: u128) -> String {
    hex(&trace.to_be_bytes())
}

fn span_id(span: u64) -> String {
    hex(&span.to_be_bytes())
}

fn millis(second: i64) -> i64 {
    (START_NANOS / 1_000_000) as i64 + second * 1000
}

fn send_spans(server: &Server, service: &str, host: &str, spans: Vec<Span>) {
    let mut request = traces(service, spans);
    let resource = request.resource_spans[0].resource.as_mut().unwrap();
    resource.attributes.push(attribute("host.name", string(host)));
    server.store(Signal::Traces, request.encode_to_vec());
}

fn epoch(trace: u128, id: u64, start_ms: u64, session: &str, run: i64) -> Span {
    Span {
        attributes: vec![
            attribute("session.id", string(session)),
            attribute("run", Any::IntValue(run)),
        ],
        ..span(trace, id, 0, "epoch", start_ms, 60_000)
    }
}

fn record(second: u64, number: i32, severity: &str, text: &str) -> LogRecord {
    LogRecord {
        time_unix_nano: START_NANOS + second * SECOND,
        severity_number: number,
        severity_text: severity.to_owned(),
        body: value(string(text)),
        ..LogRecord::default()
    }
}

fn of_span(record: LogRecord, trace: u128, span: u64) -> LogRecord {
    let (trace_id, span_id) = (trace.to_be_bytes().to_vec(), span.to_be_bytes().to_vec());
    LogRecord { trace_id, span_id, ..record }
}

fn send_logs(server: &Server) {
    let log_records = vec![
        of_span(record(1, 9, "INFO", "epoch began"), TRACE, EPOCH),
        of_span(record(15, 17, "ERROR", "disk is slow"), TRACE, STEP),
        LogRecord {
            attributes: vec![attribute("session.id", string("s-17"))],
            ..record(20, 9, "INFO", "outside of any span")
        },
        of_span(record(21, 9, "INFO", "another epoch"), OTHER, OTHER_EPOCH),
    ];
    let attributes = vec![attribute("service.name", string("trainer"))];
    let group = ResourceLogs {
        resource: Some(Resource { attributes, ..Resource::default() }),
        scope_logs: vec![ScopeLogs { log_records, ..ScopeLogs::default() }],
        ..ResourceLogs::default()
    };
    let request = ExportLogsServiceRequest { resource_logs: vec![group] };
    server.store(Signal::Logs, request.encode_to_vec());
}

/// A gauge with a value each second.
fn gauge<'l>(writer: &mut RequestWriter, labels: &[(&'l str, &'l str)], of: fn(i64) -> f64) {
    writer.series(labels.iter().copied(), None, |series| {
        for second in -30..=120 {
            series.sample(of(second), millis(second), 0);
        }
    });
}

fn send_metrics(server: &Server) {
    let mut writer = RequestWriter::new();
    let load = [("__name__", "node_load1"), ("instance", "gpu-7:9100")];
    gauge(&mut writer, &load, |second| second as f64);
    let load = [("__name__", "node_load1"), ("instance", "gpu-8:9100")];
    gauge(&mut writer, &load, |_| 1000.0);
    let busy = [("__name__", "DCGM_FI_DEV_GPU_UTIL"), ("gpu", "0"), ("instance", "gpu-7:9400")];
    gauge(&mut writer, &busy, |second| (200 - second) as f64);
    writer.series([("__name__", "steps_total"), ("job", "trainer")], None, |series| {
        series.sample(2.0, millis(30), 0);
        for (trace, span, second) in [(TRACE, STEP, 15), (OTHER, OTHER_EPOCH, 25)] {
            let (trace, span) = (trace_id(trace), span_id(span));
            let labels = [("span_id", span.as_str()), ("trace_id", trace.as_str())];
            series.exemplar(labels, 0.25, millis(second));
        }
    });
    write(server, 2, &writer.finish()).expect(204);
}

fn server() -> Server {
    let server = Server::start();
    let exception = Event {
        time_unix_nano: START_NANOS + 14 * SECOND,
        name: "exception".to_owned(),
        attributes: vec![
            attribute("exception.type", string("TimeoutError")),
            attribute("exception.message", string("disk")),
        ],
        ..Event::default()
    };
    let step = Span { events: vec![exception], ..span(TRACE, STEP, EPOCH, "step", 10_000, 20_000) };
    // What is called comes first, from a process of its own.
    send_spans(
        &server,
        "storage",
        "disk-1",
        vec![span(TRACE, PUT, STEP, "PUT /file", 12_000, 5000)],
    );
    send_spans(&server, "trainer", "gpu-7", vec![epoch(TRACE, EPOCH, 0, "s-17", 7), step]);
    send_spans(&server, "trainer", "gpu-8", vec![epoch(OTHER, OTHER_EPOCH, 20_000, "s-18", 8)]);
    send_logs(&server);
    send_metrics(&server);
    server
}

#[track_caller]
fn ask(server: &Server, parameters: &[(&str, &str)]) -> Value {
    let request = server.client.get(server.url("/api/correlate")).query(parameters);
    Answer::of(request).expect(200).json()
}

fn texts<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|one| one[member].as_str().unwrap()).collect()
}

/// Seconds since the start and values of the one series of a measure.
#[track_caller]
fn points(found: &Value, of: &str, name: &str) -> Vec<(f64, f64)> {
    let measures = found["machines"].as_array().unwrap();
    let measure = measures.iter().find(|one| one["of"] == of && one["name"] == name);
    let series = measure.unwrap_or_else(|| panic!("{of} {name}: {found}"))["series"].clone();
    assert_eq!(series.as_array().unwrap().len(), 1, "{series}");
    let points: Vec<(f64, f64)> = serde_json::from_value(series[0]["points"].clone()).unwrap();
    let start = (START_NANOS / SECOND) as f64;
    points.into_iter().map(|(time, value)| (time - start, value)).collect()
}

/// Each second of a time, with what a measure had then.
fn each_second(seconds: std::ops::RangeInclusive<i64>, of: fn(i64) -> f64) -> Vec<(f64, f64)> {
    seconds.map(|second| (second as f64, of(second))).collect()
}

#[test]
fn a_trace_has_its_logs_exceptions_exemplars_and_machines() {
    let server = server();
    let found = ask(&server, &[("trace", &trace_id(TRACE))]);
    assert_eq!(found["subject"], json!({ "trace": { "traceID": trace_id(TRACE) } }));
    assert_eq!(found["startTimeUnixNano"], START_NANOS.to_string());
    assert_eq!(found["endTimeUnixNano"], (START_NANOS + 60 * SECOND).to_string());
    let trace = json!({
        "traceID": trace_id(TRACE), "rootServiceName": "trainer", "rootTraceName": "epoch",
        "startTimeUnixNano": START_NANOS.to_string(), "durationNanos": 60 * SECOND,
        "services": { "storage": 1, "trainer": 2 }, "errors": 0, "matched": 3
    });
    assert_eq!(found["traces"], json!([trace]));
    assert_eq!(texts(&found["logs"], "line"), ["epoch began", "disk is slow"]);
    // Its span has no status.
    let exception = json!({
        "traceID": trace_id(TRACE), "spanID": span_id(STEP),
        "timeUnixNano": (START_NANOS + 14 * SECOND).to_string(),
        "attributes": { "exception.type": "TimeoutError", "exception.message": "disk" }
    });
    assert_eq!(found["exceptions"], json!([exception]));
    let exemplar = json!({
        "metric": { "__name__": "steps_total", "job": "trainer" },
        "labels": { "trace_id": trace_id(TRACE), "span_id": span_id(STEP) },
        "value": "0.25", "timeUnixNano": (START_NANOS + 15 * SECOND).to_string()
    });
    assert_eq!(found["exemplars"], json!([exemplar]));
    assert_eq!(found["hosts"], json!(["disk-1", "gpu-7"]));
    assert_eq!(texts(&found["machines"], "name"), ["load", "utilisation"]);
    // With a neighbour on both sides, to which a line leads.
    assert_eq!(points(&found, "host", "load"), each_second(-1..=61, |second| second as f64));
    let busy = each_second(-1..=61, |second| (200 - second) as f64);
    assert_eq!(points(&found, "gpu", "utilisation"), busy);
    assert_eq!(found["truncated"], json!([]));
}

#[test]
fn a_span_has_what_is_of_it_alone() {
    let server = server();
    let (trace, step) = (trace_id(TRACE), span_id(STEP));
    let both = format!("{trace}:{step}");
    let ways: [&[(&str, &str)]; 3] =
        [&[("span", &both)], &[("trace", &trace), ("span", &step)], &[("span", &step)]];
    for way in ways {
        let found = ask(&server, way);
        assert_eq!(found["traces"][0]["traceID"], trace, "{way:?}");
        assert_eq!(found["traces"][0]["matched"], 1, "{way:?}");
        assert_eq!(found["startTimeUnixNano"], (START_NANOS + 10 * SECOND).to_string());
        assert_eq!(found["endTimeUnixNano"], (START_NANOS + 30 * SECOND).to_string());
        assert_eq!(texts(&found["logs"], "line"), ["disk is slow"], "{way:?}");
        assert_eq!(texts(&found["exceptions"], "spanID"), [step.as_str()], "{way:?}");
        assert_eq!(found["exemplars"].as_array().unwrap().len(), 1, "{way:?}");
        assert_eq!(found["hosts"], json!(["gpu-7"]), "{way:?}");
        assert_eq!(points(&found, "host", "load"), each_second(9..=31, |second| second as f64));
    }
    // Nothing of it but its host is known.
    let put = ask(&server, &[("span", &span_id(PUT))]);
    assert_eq!(put["traces"][0]["traceID"], trace);
    assert_eq!(put["hosts"], json!(["disk-1"]));
    for nothing in ["logs", "exceptions", "exemplars", "machines"] {
        assert_eq!(put[nothing], json!([]), "{nothing}");
    }
}

#[test]
fn a_share_key_has_what_has_it_and_what_belongs_to_its_traces() {
    let server = server();
    let ways: [&[(&str, &str)]; 4] = [
        &[("session.id", "s-17")],
        &[("key", "session.id"), ("value", "s-17")],
        &[("key", "session.id=s-17")],
        &[
            ("session.id", "s-17"),
            ("start", "2026-01-02T00:00:00Z"),
            ("end", "2026-01-03T00:00:00Z"),
        ],
    ];
    for way in ways {
        let found = ask(&server, way);
        let subject = json!({ "key": { "key": "session.id", "value": "s-17" } });
        assert_eq!(found["subject"], subject, "{way:?}");
        assert_eq!(texts(&found["traces"], "traceID"), [trace_id(TRACE)], "{way:?}");
        assert_eq!(found["traces"][0]["matched"], 1, "{way:?}");
        let lines = ["epoch began", "disk is slow", "outside of any span"];
        assert_eq!(texts(&found["logs"], "line"), lines, "{way:?}");
        assert_eq!(found["exceptions"].as_array().unwrap().len(), 1, "{way:?}");
        let exemplars = found["exemplars"].as_array().unwrap();
        assert_eq!(exemplars.len(), 1, "{way:?}");
        assert_eq!(exemplars[0]["labels"]["trace_id"], trace_id(TRACE), "{way:?}");
        assert_eq!(found["hosts"], json!(["disk-1", "gpu-7"]), "{way:?}");
    }
    // One that was sent as a number.
    let found = ask(&server, &[("run", "8")]);
    assert_eq!(texts(&found["traces"], "traceID"), [trace_id(OTHER)]);
    assert_eq!(texts(&found["logs"], "line"), ["another epoch"]);
    assert_eq!(found["hosts"], json!(["gpu-8"]));
    // Before there was anything of it.
    let found = ask(&server, &[("session.id", "s-17"), ("end", "2026-01-01T00:00:00Z")]);
    assert_eq!((&found["traces"], &found["logs"]), (&json!([]), &json!([])));
}

#[test]
fn a_short_span_has_machines_on_both_sides_of_it() {
    let server = server();
    let short = span(0x0b, 11, 0, "quick", 5_000, 5);
    send_spans(&server, "trainer", "gpu-7", vec![short]);
    let found = ask(&server, &[("trace", &trace_id(0x0b)), ("with", "host")]);
    assert_eq!(points(&found, "host", "load"), each_second(4..=6, |second| second as f64));
    assert_eq!(found["machines"][0]["step"], json!(1.0));
}

#[test]
fn hosts_have_what_they_did_in_a_time_of_which_no_trace_is_stored() {
    let server = server();
    let (start, end) = (START_NANOS + 40 * SECOND, START_NANOS + 42 * SECOND);
    let (start, end) = (start.to_string(), end.to_string());
    let found = ask(&server, &[("hosts", "gpu-7,nowhere"), ("start", &start), ("end", &end)]);
    assert_eq!(found["subject"], json!({ "hosts": { "hosts": ["gpu-7", "nowhere"] } }));
    assert_eq!(found["hosts"], json!(["gpu-7", "nowhere"]));
    assert_eq!(
        (&found["startTimeUnixNano"], &found["endTimeUnixNano"]),
        (&json!(start), &json!(end))
    );
    assert_eq!(points(&found, "host", "load"), each_second(39..=43, |second| second as f64));
    for nothing in ["traces", "logs", "exceptions", "exemplars", "truncated"] {
        assert_eq!(found[nothing], json!([]), "{nothing}");
    }
}

#[test]
fn a_line_leads_to_its_trace() {
    let server = server();
    let (start, end) = (START_NANOS.to_string(), (START_NANOS + 60 * SECOND).to_string());
    let query = "{service_name=\"trainer\"} |= \"disk is slow\"";
    let parameters = [("query", query), ("start", &start), ("end", &end)];
    let answer = server.loki("query_range", &parameters).expect(200).json();
    let labels = &answer["data"]["result"][0]["stream"];
    let of = |name: &str| labels[name].as_str().unwrap_or_else(|| panic!("{answer}"));
    let found = ask(&server, &[("trace", of("trace_id")), ("with", "traces,logs")]);
    assert_eq!(found["traces"][0]["rootTraceName"], "epoch");
    let line = found["logs"].as_array().unwrap().iter().find(|one| one["line"] == "disk is slow");
    assert_eq!(line.unwrap()["labels"]["span_id"], of("span_id"));
    assert_eq!(line.unwrap()["labels"]["severity_text"], "ERROR");
    let found = ask(&server, &[("span", of("span_id")), ("with", "logs")]);
    assert_eq!(texts(&found["logs"], "line"), ["disk is slow"]);
}

#[test]
fn an_answer_has_what_is_wanted_and_says_where_there_is_more() {
    let server = server();
    let trace = trace_id(TRACE);
    let found = ask(&server, &[("trace", &trace), ("with", "exceptions")]);
    assert_eq!(found["exceptions"].as_array().unwrap().len(), 1);
    for left_out in ["traces", "logs", "exemplars", "hosts", "machines"] {
        assert_eq!(found[left_out], json!([]), "{left_out}");
    }
    let found = ask(&server, &[("trace", &trace), ("with", "gpu")]);
    assert_eq!(texts(&found["machines"], "of"), ["gpu"]);
    let found = ask(&server, &[("session.id", "s-17"), ("logs", "1"), ("with", "logs")]);
    assert_eq!(texts(&found["logs"], "line"), ["epoch began"], "the oldest first");
    assert_eq!(found["truncated"], json!(["logs"]));
}

#[test]
fn what_is_not_there_is_nothing_and_what_is_unclear_is_refused() {
    let server = server();
    for unknown in [[("trace", "ffff")], [("span", "00000000000000ff")], [("session.id", "s-99")]] {
        let found = ask(&server, &unknown);
        for nothing in ["traces", "logs", "exceptions", "exemplars", "hosts", "machines"] {
            assert_eq!(found[nothing], json!([]), "{unknown:?} {nothing}");
        }
        assert_eq!(found["startTimeUnixNano"], Value::Null, "{unknown:?}");
    }
    for (query, part) in [
        ("", "say what to look for"),
        ("trace=xyz", "hexadecimal"),
        ("span=12", "TRACE:SPAN"),
        ("key=session.id", "add value=TEXT"),
        ("trace=1&session.id=s-17", "at a time"),
        ("trace=1&with=lgos", "some of traces"),
        ("trace=1&limit=0", "between 1 and 500"),
        ("trace=1&logs=20001", "between 1 and 20000"),
        ("trace=1&start=yesterday", "start"),
        ("trace=1&start=20&end=10", "end is before start"),
        ("hosts=gpu-7", "add start=TIME and end=TIME"),
    ] {
        let answer = server.get(&format!("/api/correlate?{query}")).expect(400).json();
        assert!(answer["error"].as_str().unwrap().contains(part), "{query}: {answer}");
    }
    // Nobody's but the tenant's who sent it.
    let url = server.url(&format!("/api/correlate?trace={}", trace_id(TRACE)));
    let other = Answer::of(server.client.get(url).header("x-scope-orgid", "other"));
    let other = other.expect(200).json();
    assert_eq!((&other["traces"], &other["logs"]), (&json!([]), &json!([])));
}

fn show(more: &[&str]) -> Ran {
    let parts = "logs,exceptions,exemplars,host,gpu";
    run(kymo().args(["trace", &trace_id(TRACE), "--with", parts]).args(more))
}

#[test]
fn the_command_shows_them_below_the_tree() {
    let mut server = server();
    let url = format!("http://{}", server.http());
    let shown = show(&["--url", &url]).expect(0).stdout;
    for part in [
        // Sent by another process, it hangs under the span that called it.
        "\n   └─ PUT /file  storage",
        "\nlogs (2)\n",
        "  2026-01-02T03:04:20.000000000Z  ERROR  trainer: disk is slow\n",
        "\nexceptions (1)\n",
        "  span 0000000000000002  TimeoutError: disk\n",
        "\nexemplars (1)\n",
        "  steps_total = 0.25\n",
        "\nhosts (1)\n",
        "  load gpu-7:9100 ",
        "  mean 30.000 most 61.000 processes\n",
        "\nGPUs (1)\n",
        "  utilisation gpu-7:9400 0 ",
        "  mean 170.000 most 201.000 percent\n",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let json = show(&["--url", &url, "--format", "json"]).expect(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["trace"]["resourceSpans"].is_array(), "{json}");
    assert_eq!(texts(&json["with"]["logs"], "line"), ["epoch began", "disk is slow"]);
    run(kymo().args(["trace", "ffff", "--with", "logs", "--url", &url])).expect(1);
    run(kymo().args(["trace", "1", "--with", "lgos", "--url", &url])).expect(2);
    server.stop();
    let without = show(&["--data", server.data().to_str().unwrap()]).expect(0).stdout;
    let below = |text: &str| text[text.find("\nlogs (").unwrap()..].to_owned();
    assert_eq!(below(&without), below(&shown));
}

/// Attributes by which TuFT shares what belongs together.
const SHARE_KEYS: [&str; 5] = [
    "tuft.session_id",
    "tuft.training_run_id",
    "tuft.sampling_session_id",
    "tuft.request_id",
    "tuft.operation_type",
];

type TraceId = Vec<u8>;

/// What captured requests say, counted from what was sent.
#[derive(Default)]
struct Counted {
    /// Traces by share key and value.
    traces: BTreeMap<(String, String), BTreeSet<TraceId>>,
    exceptions: BTreeMap<TraceId, usize>,
    logs: BTreeMap<TraceId, usize>,
    /// Each once, however often it was sent.
    exemplars: BTreeMap<TraceId, BTreeSet<String>>,
}

impl Counted {
    fn add(&mut self, signal: Signal, body: &[u8]) {
        match signal {
            Signal::Traces => self.spans(Message::decode(body).unwrap()),
            Signal::Metrics => self.metrics(Message::decode(body).unwrap()),
            Signal::Logs => self.records(Message::decode(body).unwrap()),
        }
    }

    fn spans(&mut self, request: ExportTraceServiceRequest) {
        let scopes = request.resource_spans.into_iter().flat_map(|group| group.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            let exceptions = span.events.iter().filter(|event| event.name == "exception").count();
            *self.exceptions.entry(span.trace_id.clone()).or_default() += exceptions;
            for attribute in span.attributes {
                let is_shared = SHARE_KEYS.contains(&attribute.key.as_str());
                if let (true, Some(Any::StringValue(text))) =
                    (is_shared, attribute.value.and_then(|value| value.value))
                {
                    let traces = self.traces.entry((attribute.key, text)).or_default();
                    traces.insert(span.trace_id.clone());
                }
            }
        }
    }

    fn records(&mut self, request: ExportLogsServiceRequest) {
        let scopes = request.resource_logs.into_iter().flat_map(|group| group.scope_logs);
        for record in scopes.flat_map(|scope| scope.log_records) {
            *self.logs.entry(record.trace_id).or_default() += 1;
        }
    }

    fn metrics(&mut self, request: ExportMetricsServiceRequest) {
        let scopes = request.resource_metrics.into_iter().flat_map(|group| group.scope_metrics);
        for metric in scopes.flat_map(|scope| scope.metrics) {
            for (labels, exemplar) in exemplars(&metric) {
                let millis = exemplar.time_unix_nano / 1_000_000;
                let (span, value) = (hex(&exemplar.span_id), &exemplar.value);
                let text = format!("{} {labels} {millis} {span} {value:?}", metric.name);
                self.exemplars.entry(exemplar.trace_id.clone()).or_default().insert(text);
            }
        }
    }
}

/// Exemplars of a metric, with the labels of their points.
fn exemplars(metric: &Metric) -> Vec<(String, &Exemplar)> {
    let mut all = Vec::new();
    match &metric.data {
        Some(Data::Gauge(gauge)) => {
            all.extend(gauge.data_points.iter().map(|point| (&point.attributes, &point.exemplars)));
        }
        Some(Data::Sum(sum)) => {
            all.extend(sum.data_points.iter().map(|point| (&point.attributes, &point.exemplars)));
        }
        Some(Data::Histogram(histogram)) => {
            let points = histogram.data_points.iter();
            all.extend(points.map(|point| (&point.attributes, &point.exemplars)));
        }
        Some(Data::ExponentialHistogram(histogram)) => {
            let points = histogram.data_points.iter();
            all.extend(points.map(|point| (&point.attributes, &point.exemplars)));
        }
        _ => {}
    }
    all.into_iter()
        .flat_map(|(labels, exemplars)| {
            exemplars.iter().map(move |exemplar| (format!("{labels:?}"), exemplar))
        })
        .collect()
}

#[test]
fn each_share_key_of_a_captured_program_finds_all_of_its_own() {
    let requests = captured();
    if requests.is_empty() {
        return;
    }
    let mut counted = Counted::default();
    for request in &requests {
        counted.add(request.signal, &request.body);
    }
    if counted.traces.is_empty() {
        return left_out("share keys (KYMO_TEST_DATA has no requests of TuFT)");
    }
    let server = Server::start();
    for request in requests {
        server.store(request.signal, request.body);
    }
    for key in SHARE_KEYS {
        assert!(counted.traces.keys().any(|(known, _)| known == key), "{key} is not captured");
    }
    for ((key, text), ids) in &counted.traces {
        let found = ask(&server, &[(key, text)]);
        let of_traces = |counts: &BTreeMap<TraceId, usize>| -> usize {
            ids.iter().filter_map(|id| counts.get(id)).sum()
        };
        let count = |part: &str| found[part].as_array().unwrap().len();
        let expected: BTreeSet<String> = ids.iter().map(|id| hex(id)).collect();
        let traces: BTreeSet<String> =
            texts(&found["traces"], "traceID").into_iter().map(str::to_owned).collect();
        assert_eq!(traces, expected, "{key} {text}");
        assert_eq!(count("logs"), of_traces(&counted.logs), "{key} {text}");
        assert_eq!(count("exceptions"), of_traces(&counted.exceptions), "{key} {text}");
        let exemplars: usize =
            ids.iter().filter_map(|id| counted.exemplars.get(id)).map(BTreeSet::len).sum();
        assert_eq!(count("exemplars"), exemplars, "{key} {text}");
    }
}
