//! The OpenTelemetry SDKs for Python, JavaScript and Rust send to a real server; every field of what
//! they sent is read back.
//!
//! Those for Python and JavaScript are there after `scripts/clients install`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use harness::programs::{clients, node, python, repository, run};
use harness::readback::{check_logs, check_metrics, check_traces};
use harness::{Server, Signal, hex};
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Link, Span as _, SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry::{Array, Context, KeyValue, Value};
use opentelemetry_otlp::{
    Compression, LogExporter, MetricExporter, Protocol, SpanExporter, WithExportConfig,
    WithHttpConfig, WithTonicConfig,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prost::Message;

/// Requests of a client, by signal.
#[derive(Debug, Default)]
struct Sent {
    traces: Vec<Vec<u8>>,
    metrics: Vec<Vec<u8>>,
    logs: Vec<Vec<u8>>,
}

/// How many records each table must have in the end.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    spans: u64,
    points: u64,
    logs: u64,
}

/// Compares everything that a client sent with what is stored.
#[track_caller]
fn check(server: &Server, sent: &Sent) -> Counts {
    let spans = sent.traces.iter().map(|body| check_traces(server, &decode(body))).sum();
    let points = sent.metrics.iter().map(|body| check_metrics(server, &decode(body))).sum();
    let logs = sent.logs.iter().map(|body| check_logs(server, &decode(body))).sum();
    let counts = Counts { spans, points, logs };
    let stored = Counts {
        spans: server.count(Signal::Traces),
        points: server.count(Signal::Metrics),
        logs: server.count(Signal::Logs),
    };
    assert_eq!(stored, counts, "nothing more is stored");
    check_searches(server, sent);
    counts
}

/// Every trace that a client sent is found by TraceQL, with all of its spans.
#[track_caller]
fn check_searches(server: &Server, sent: &Sent) {
    let mut spans: BTreeMap<String, usize> = BTreeMap::new();
    for body in &sent.traces {
        let request: ExportTraceServiceRequest = decode(body);
        let groups = request.resource_spans.iter().flat_map(|group| &group.scope_spans);
        for span in groups.flat_map(|scope| &scope.spans) {
            *spans.entry(hex(&span.trace_id)).or_default() += 1;
        }
    }
    for (id, count) in spans {
        let query = format!("{{ trace:id = \"{id}\" && resource.service.name != \"\" }}");
        let found = server.tempo("/api/search", &[("q", &query)]).expect(200).json();
        assert_eq!(found["traces"][0]["spanSet"]["matched"], count, "{id}: {found}");
    }
}

#[track_caller]
fn decode<M: Message + Default>(body: &[u8]) -> M {
    M::decode(body).unwrap()
}

/// Runs a client program, which prints what it sent.
#[track_caller]
fn run_client(command: &mut Command) -> Sent {
    let ran = run(command).expect(0);
    let printed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let bodies = |signal: &str| {
        let bodies = printed[signal].as_array().unwrap();
        assert!(!bodies.is_empty(), "no {signal}: {}", ran.stderr);
        bodies.iter().map(|body| STANDARD.decode(body.as_str().unwrap()).unwrap()).collect()
    };
    Sent { traces: bodies("traces"), metrics: bodies("metrics"), logs: bodies("logs") }
}

/// Sends with a program over each protocol, plain and packed; to the ports of each protocol.
fn send_all_ways(
    program: &str,
    protocols: &[&str],
    expected: &Counts,
    start: impl Fn() -> Command,
) {
    for protocol in protocols {
        for compression in ["none", "gzip"] {
            let server = Server::start();
            let port = if *protocol == "grpc" { server.otlp_grpc() } else { server.otlp_http() };
            let endpoint = format!("http://{port}");
            let mut command = start();
            command.arg(repository("tests/clients").join(program));
            let sent = run_client(command.args([protocol, endpoint.as_str(), compression]));
            assert_eq!(check(&server, &sent), *expected, "{program} {protocol} {compression}");
        }
    }
}

#[test]
fn every_field_that_the_python_sdk_sends_comes_back() {
    let Some(clients) = clients("the OpenTelemetry SDK for Python") else { return };
    let expected = Counts { spans: 4, points: 5, logs: 2 };
    send_all_ways("spans.py", &["grpc", "http/protobuf"], &expected, || python(&clients));
}

#[test]
fn every_field_that_the_javascript_sdk_sends_comes_back() {
    let Some(clients) = clients("the OpenTelemetry SDK for JavaScript") else { return };
    let expected = Counts { spans: 3, points: 5, logs: 2 };
    let protocols = ["grpc", "http/protobuf", "http/json"];
    send_all_ways("spans.mjs", &protocols, &expected, || node(&clients));
}

#[test]
fn pyarrow_reads_an_answer_and_a_block() {
    const PROGRAM: &str = "
import sys, urllib.request, pyarrow.ipc, pyarrow.parquet
request = urllib.request.Request(sys.argv[1] + '/api/sql', b'SELECT name, trace_id, start_time FROM spans',
                                 {'Accept': 'application/vnd.apache.arrow.stream'})
table = pyarrow.ipc.open_stream(urllib.request.urlopen(request).read()).read_all()
block = pyarrow.parquet.read_table(sys.argv[2])
print(table.num_rows, ','.join(table.column_names), sorted(table['name'].to_pylist())[0])
print(block.num_rows, sorted(block['name'].to_pylist())[0])
";
    let Some(clients) = clients("pyarrow") else { return };
    let mut server = Server::start();
    server.store(Signal::Traces, Signal::Traces.small(1));
    server.stop();
    let spans = server.data().join("blocks/default/spans");
    let day = std::fs::read_dir(&spans).unwrap().flatten().find(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("2026-")
    });
    let block = std::fs::read_dir(day.unwrap().path()).unwrap().next().unwrap().unwrap().path();
    server.start_again();
    let mut command = python(&clients);
    let ran = run(command.args(["-c", PROGRAM, &server.url("")]).arg(block)).expect(0);
    assert_eq!(ran.stdout, "3 name,trace_id,start_time n1-s0\n3 n1-s0\n");
}

/// A client for the Rust SDK that remembers what it sends. The SDK's own brings another version of
/// `reqwest`.
#[derive(Debug, Clone)]
struct Remembering {
    client: reqwest::blocking::Client,
    sent: Arc<Mutex<Sent>>,
}

#[async_trait::async_trait]
impl opentelemetry_http::HttpClient for Remembering {
    async fn send_bytes(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, opentelemetry_http::HttpError> {
        let path = request.uri().path().to_owned();
        let mut body = Vec::new();
        let packed = request.body().to_vec();
        match request.headers().get("content-encoding") {
            Some(_) => {
                std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed), &mut body)?;
            }
            None => body = packed,
        }
        {
            let mut sent = self.sent.lock().unwrap();
            match path.as_str() {
                "/v1/traces" => sent.traces.push(body),
                "/v1/metrics" => sent.metrics.push(body),
                "/v1/logs" => sent.logs.push(body),
                other => panic!("{other}"),
            }
        }
        let response = self.client.execute(request.try_into()?)?;
        let answer = http::Response::builder().status(response.status());
        Ok(answer.body(response.bytes()?)?)
    }
}

/// What the three exporters of the Rust SDK are put into.
struct Providers {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    loggers: SdkLoggerProvider,
}

impl Providers {
    fn new(spans: SpanExporter, metrics: MetricExporter, logs: LogExporter) -> Self {
        let resource = Resource::builder_empty()
            .with_service_name("rust-shop")
            .with_attribute(KeyValue::new("host.cpus", 8))
            .build();
        Self {
            tracers: SdkTracerProvider::builder()
                .with_resource(resource.clone())
                .with_batch_exporter(spans)
                .build(),
            meters: SdkMeterProvider::builder()
                .with_resource(resource.clone())
                .with_periodic_exporter(metrics)
                .build(),
            loggers: SdkLoggerProvider::builder()
                .with_resource(resource)
                .with_batch_exporter(logs)
                .build(),
        }
    }

    /// Makes two spans, three points and two log records, and sends them.
    fn use_and_shut_down(self) {
        let tracer = self.tracers.tracer("shop.tracer");
        let linked = tracer.start("linked elsewhere").span_context().clone();
        let texts = Array::String(vec!["a".into(), "ß".into()]);
        let mut root = tracer
            .span_builder("checkout 注文 🛒")
            .with_kind(SpanKind::Server)
            .with_links(vec![Link::new(linked, vec![KeyValue::new("why", "retry")], 0)])
            .with_attributes([
                KeyValue::new("text", "grüße, 世界"),
                KeyValue::new("int", i64::MIN),
                KeyValue::new("double", 0.1),
                KeyValue::new("yes", true),
                KeyValue::new("texts", Value::Array(texts)),
                KeyValue::new("ints", Value::Array(Array::I64(vec![1, -2]))),
            ])
            .start(&tracer);
        root.add_event("cart loaded", vec![KeyValue::new("items", 3)]);
        root.record_error(&std::io::Error::other("card declined: déjà vu"));
        root.set_status(Status::error("card declined"));
        let context = opentelemetry::trace::TraceContextExt::with_remote_span_context(
            &Context::new(),
            root.span_context().clone(),
        );
        tracer.span_builder("ship").start_with_context(&tracer, &context).end();
        root.end();

        let meter = self.meters.meter("shop.meter");
        let region = [KeyValue::new("region", "eu")];
        meter.u64_counter("shop.orders").with_unit("1").build().add(7, &region);
        meter.f64_gauge("shop.temperature").build().record(21.5, &[]);
        let latency = meter.f64_histogram("shop.latency").with_unit("ms").build();
        for value in [0.5, 7.0, 80.0, 20_000.0] {
            latency.record(value, &region);
        }

        let logger = self.loggers.logger("shop.logger");
        for (body, severity) in [("stock is low: 残り 3", Severity::Warn), ("", Severity::Info)] {
            let mut record = logger.create_log_record();
            record.set_severity_number(severity);
            record.set_severity_text(severity.name());
            record.set_body(AnyValue::from(body));
            record.set_timestamp(std::time::SystemTime::now());
            record.add_attribute("left", 3);
            logger.emit(record);
        }
        self.tracers.shutdown().unwrap();
        self.meters.shutdown().unwrap();
        self.loggers.shutdown().unwrap();
    }
}

#[test]
fn every_field_that_the_rust_sdk_sends_over_http_comes_back() {
    for compression in [None, Some(Compression::Gzip)] {
        let server = Server::start();
        let sent = Arc::new(Mutex::new(Sent::default()));
        let client = Remembering { client: server.client.clone(), sent: sent.clone() };
        let url = |signal: Signal| format!("http://{}{}", server.otlp_http(), signal.path());
        // The builders have their traits in common, but no type.
        macro_rules! exporter {
            ($exporter:ident, $signal:expr) => {{
                let builder = $exporter::builder().with_http().with_endpoint(url($signal));
                let mut builder = builder.with_protocol(Protocol::HttpBinary);
                if let Some(compression) = compression {
                    builder = WithHttpConfig::with_compression(builder, compression);
                }
                builder.with_http_client(client.clone()).build().unwrap()
            }};
        }
        let providers = Providers::new(
            exporter!(SpanExporter, Signal::Traces),
            exporter!(MetricExporter, Signal::Metrics),
            exporter!(LogExporter, Signal::Logs),
        );
        providers.use_and_shut_down();
        let sent = sent.lock().unwrap();
        assert_eq!(check(&server, &sent), Counts { spans: 3, points: 3, logs: 2 });
    }
}

#[test]
fn what_the_rust_sdk_sends_over_grpc_is_stored() {
    for compression in [None, Some(Compression::Gzip)] {
        let server = Server::start();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let endpoint = format!("http://{}", server.otlp_grpc());
        let providers = {
            // Channels are made inside a runtime; the SDK's own threads then use them.
            let _inside = runtime.enter();
            macro_rules! exporter {
                ($exporter:ident) => {{
                    let mut builder = $exporter::builder().with_tonic().with_endpoint(&endpoint);
                    if let Some(compression) = compression {
                        builder = WithTonicConfig::with_compression(builder, compression);
                    }
                    builder.with_timeout(Duration::from_secs(20)).build().unwrap()
                }};
            }
            Providers::new(
                exporter!(SpanExporter),
                exporter!(MetricExporter),
                exporter!(LogExporter),
            )
        };
        providers.use_and_shut_down();
        let spans = server.sql(
            "SELECT name, kind, status, status_message, \"span.text\", \"span.int\", \"span.double\", \
             \"span.yes\", \"resource.service.name\" FROM spans ORDER BY start_time",
        );
        assert_eq!(spans.rows.len(), 3);
        let root = serde_json::json!([
            "checkout 注文 🛒",
            "server",
            "error",
            "card declined",
            "grüße, 世界",
            i64::MIN,
            0.1,
            true,
            "rust-shop"
        ]);
        assert_eq!(serde_json::Value::from(spans.rows[1].clone()), root);
        assert_eq!(server.number("SELECT count(*) FROM events"), 2);
        assert_eq!(server.number("SELECT count(*) FROM links"), 1);
        assert_eq!((server.count(Signal::Metrics), server.count(Signal::Logs)), (3, 2));
        let orders = server.sql("SELECT value, unit FROM points WHERE name = 'shop.orders'");
        assert_eq!(orders.rows[0][0].as_f64(), Some(7.0));
        assert_eq!(orders.rows[0][1], "1");
        let warned = server.sql("SELECT body FROM logs WHERE severity_number = 13");
        assert_eq!(warned.texts(), ["stock is low: 残り 3"]);
    }
}
