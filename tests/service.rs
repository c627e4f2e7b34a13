//! A service with this project's telemetry library, and a real server that gets it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use harness::programs::run;
use harness::{Server, eventually};
use kymo_service::export::{Asked, ExportSettings, Outlet, OutletOptions, Protocol};
use kymo_service::{Config, Detail, Service, extract, inject, share};
use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, TraceContextExt as _, Tracer as _};
use opentelemetry_sdk::Resource;
use tracing_subscriber::layer::SubscriberExt as _;

/// More than anything takes here, also on a machine that compiles beside it.
const PATIENCE: Duration = Duration::from_secs(30);

fn no_environment(_: &str) -> Option<String> {
    None
}

fn endpoint(server: &Server, protocol: Protocol) -> String {
    match protocol {
        Protocol::Grpc => format!("http://{}", server.otlp_grpc()),
        _ => format!("http://{}", server.otlp_http()),
    }
}

/// Does what a service does, with everything that the library has.
fn work(service: &Service) {
    let subscriber = tracing_subscriber::registry().with(service.tracing_layer());
    let logger = service.log_bridge();
    tracing::subscriber::with_default(subscriber, || {
        let _shared = share([("session.id", "s-1"), ("run.id", "r-2")]);
        let span = tracing::info_span!("handle", route = "/generate");
        let _entered = span.enter();
        tracing::warn!(tokens = 12, "slow model");
        log::Log::log(
            &logger,
            &log::Record::builder()
                .args(format_args!("from the other crate"))
                .level(log::Level::Info)
                .target("other")
                .build(),
        );
        // To an actor, and on from there.
        let mut message = HashMap::new();
        inject(&mut message);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let parent = extract(&message);
                let tracer = service.tracer("actor");
                let mut child = tracer.start_with_context("actor work", &parent);
                child.set_attribute(KeyValue::new("step", 1));
            });
        });
    });
    let registry = service.registry();
    registry.counter("inference.requests", &[]).unwrap().add(3, &[KeyValue::new("model", "m")]);
    let seconds = registry.histogram("inference.duration", &[Detail::Unit("s")]).unwrap();
    seconds.record(0.2, &[KeyValue::new("model", "m")]);
    seconds.record(20.0, &[KeyValue::new("model", "m")]);
}

#[test]
fn all_signals_arrive_by_every_protocol_with_share_keys_and_nothing_twice() {
    for protocol in [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson] {
        let server = Server::start();
        let config = Config::enabled("trainer")
            .with_endpoint(endpoint(&server, protocol))
            .with_protocol(protocol)
            .with_resource_attribute("team", "blue");
        let service = Service::build(&config, no_environment).unwrap();
        work(&service);
        assert!(service.flush(PATIENCE), "{protocol:?}: {:?}", service.counts());
        assert!(service.shutdown(PATIENCE), "{protocol:?}: {:?}", service.counts());

        let spans = server.sql(
            "SELECT name, \"span.session.id\", \"span.run.id\", \"resource.service.name\", \
             \"resource.team\" FROM spans ORDER BY name DESC",
        );
        assert_eq!(
            spans.cells(),
            [
                ["handle", "s-1", "r-2", "trainer", "blue"],
                ["actor work", "s-1", "r-2", "trainer", "blue"]
            ],
            "{protocol:?}"
        );
        let traces = server.sql("SELECT count(DISTINCT trace_id) FROM spans");
        assert_eq!(traces.rows[0][0], 1, "the actor's span is in the same trace");

        let logs = server.sql(
            "SELECT l.body, l.\"log.session.id\", s.name FROM logs l \
             JOIN spans s ON l.trace_id = s.trace_id AND l.span_id = s.span_id ORDER BY l.body",
        );
        assert_eq!(
            logs.cells(),
            [["from the other crate", "s-1", "handle"], ["slow model", "s-1", "handle"]],
            "{protocol:?}"
        );
        assert_eq!(server.sql("SELECT * FROM logs").rows.len(), 2);
        assert_eq!(server.sql("SELECT * FROM events").rows.len(), 0, "no event twice");

        let value = |query: &str| {
            let url = server.url("/prometheus/api/v1/query");
            let request = server.client.post(url).form(&[("query", query)]);
            let document = harness::Answer::of(request).expect(200).json();
            let value = document["data"]["result"][0]["value"][1].as_str().unwrap_or("none");
            value.to_owned()
        };
        assert_eq!(value("inference_requests_total{model=\"m\"}"), "3", "{protocol:?}");
        assert_eq!(value("inference_duration_seconds_bucket{le=\"0.25\"}"), "1");
        assert_eq!(
            value(
                "inference_duration_seconds_bucket{le=\"30.0\"} or inference_duration_seconds_bucket{le=\"30\"}"
            ),
            "2"
        );
        let used: f64 = value("trainer_resource_memory_used_bytes").parse().unwrap();
        let process: f64 = value("trainer_resource_process_memory_used_bytes").parse().unwrap();
        assert!(used > process && process > 0.0, "{used} {process}");
    }
}

#[test]
fn a_server_that_comes_back_gets_what_waited() {
    let mut server = Server::start();
    let address = server.otlp_grpc();
    server.set_flag("--otlp-grpc", &address.to_string());
    let asked = Asked::endpoint(format!("http://{address}"));
    let settings = ExportSettings::resolve(&asked, no_environment).unwrap();
    let resource = Resource::builder_empty().build();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let keep = std::sync::Arc::clone(&told);
    let options = OutletOptions {
        notice: Some(std::sync::Arc::new(move |notice: &kymo_service::export::Notice| {
            keep.lock().unwrap().push(notice.clone());
        })),
        ..OutletOptions::default()
    };
    let outlet = Outlet::start(&settings, &resource, options).unwrap();
    let tracers = opentelemetry_sdk::trace::SdkTracerProvider::builder()
        .with_span_processor(outlet.span_processor())
        .build();
    let tracer = opentelemetry::trace::TracerProvider::tracer(&tracers, "test");
    drop(tracer.start("before"));
    assert!(outlet.flush(PATIENCE), "{:?}", outlet.counts());

    server.stop();
    let began = Instant::now();
    for _ in 0..100 {
        drop(tracer.start("while it is away"));
    }
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(!outlet.flush(Duration::from_millis(500)));
    assert_eq!(outlet.counts().lost(), 0, "{:?}", outlet.counts());
    eventually(PATIENCE, "it is told", || !told.lock().unwrap().is_empty());
    server.start_again();
    eventually(PATIENCE, "everything is sent", || {
        let _ = outlet.flush(Duration::from_millis(200));
        outlet.counts().spans.sent == 101
    });
    assert_eq!(server.sql("SELECT * FROM spans").rows.len(), 101);
    let told = told.lock().unwrap();
    assert_eq!(told.iter().filter(|notice| notice.is_failure).count(), 1, "{told:?}");
    assert!(outlet.shutdown(PATIENCE));
}

#[test]
fn what_a_server_refuses_is_counted_at_once_and_not_sent_again() {
    let server = Server::start();
    for protocol in [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson] {
        // Records are of one tenant, so that several are refused.
        let config = Config::enabled("a")
            .with_endpoint(endpoint(&server, protocol))
            .with_protocol(protocol)
            .with_header("x-scope-orgid", "a|b");
        let service = Service::build(&config, no_environment).unwrap();
        drop(service.tracer("t").start("refused"));
        let began = Instant::now();
        assert!(!service.flush(PATIENCE));
        assert!(began.elapsed() < PATIENCE / 2, "{protocol:?}: {:?}", began.elapsed());
        let counts = service.counts();
        assert_eq!((counts.spans.failed, counts.spans.sent), (1, 0), "{protocol:?}: {counts:?}");
        let why = counts.last_error.unwrap();
        assert!(why.contains("gRPC code 3 ") || why.contains("400"), "{why}");
        service.shutdown(Duration::from_millis(100));
    }
    assert_eq!(server.sql("SELECT * FROM spans").rows.len(), 0);
}

/// A program with telemetry, as a process of its own: this test, run by the others.
#[test]
#[ignore = "a program that other tests run"]
fn as_a_program() {
    let config = Config::from_yaml(&std::env::var("CONFIG").unwrap_or_default()).unwrap();
    let service = Service::init(&config).unwrap();
    service.install_tracing().unwrap();
    service.install_log().unwrap();
    tracing::info_span!("main").in_scope(|| {
        tracing::info!("by tracing");
        tracing::debug!("too quiet");
        log::info!("by log");
    });
    assert!(!service.is_enabled() || service.install_log().is_err(), "there is one already");
    println!("complete: {}", service.shutdown(PATIENCE));
}

fn program(config: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    harness::programs::clean(&mut command);
    command.args(["--ignored", "--exact", "as_a_program", "--nocapture"]);
    command.env("CONFIG", config).env_remove("RUST_LOG");
    command
}

#[test]
fn a_program_is_configured_by_file_and_environment() {
    let server = Server::start();
    let grpc = endpoint(&server, Protocol::Grpc);
    let http = endpoint(&server, Protocol::HttpProtobuf);
    let enabled = "telemetry: {enabled: true}";
    // The file, our variable, the standard ones: each wins over what follows it.
    let by_file = format!("{{enabled: true, service_name: by-file, otlp_endpoint: \"{grpc}\"}}");
    let closed = "http://127.0.0.1:9";
    run(program(&by_file).env("KYMO_OTLP_ENDPOINT", closed).env("OTEL_SERVICE_NAME", "other"))
        .expect(0);
    run(program(enabled)
        .env("KYMO_OTLP_ENDPOINT", &grpc)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", closed)
        .env("OTEL_SERVICE_NAME", "by-ours"))
    .expect(0);
    run(program(enabled)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &http)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        .env("OTEL_RESOURCE_ATTRIBUTES", "service.name=by-standard,team=blue"))
    .expect(0);
    let of = |table: &str| {
        let query = format!(
            "SELECT \"resource.service.name\", count(*) FROM {table} GROUP BY 1 ORDER BY 1"
        );
        let rows = server.sql(&query).rows;
        let row = |row: &Vec<serde_json::Value>| {
            (row[0].as_str().unwrap().to_owned(), row[1].as_u64().unwrap())
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let expected =
        |count| ["by-file", "by-ours", "by-standard"].map(|name| (name.to_owned(), count)).to_vec();
    assert_eq!(of("spans"), expected(1));
    assert_eq!(of("logs"), expected(2), "one by tracing and one by log");
    let names = server.sql("SELECT DISTINCT name FROM points ORDER BY 1");
    let names = names.texts();
    assert!(names.contains(&"by-file.resource.memory.used_bytes"), "{names:?}");
}

#[test]
fn the_console_wins_over_an_endpoint_and_off_is_off() {
    let server = Server::start();
    let config =
        format!("{{enabled: true, otlp_endpoint: \"{}\"}}", endpoint(&server, Protocol::Grpc));
    let ran = run(program(&config).env("KYMO_OTEL_DEBUG", "1")).expect(0);
    for words in ["main", "by tracing", "by log", "resource.memory.used_bytes", "complete: true"] {
        assert!(ran.stdout.contains(words), "{words} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("too quiet"));
    let off = config.replace("true", "false");
    let mut disabled = program(&config);
    disabled.env("OTEL_SDK_DISABLED", "true");
    for mut command in [program(&off), program(""), disabled] {
        let ran = run(&mut command).expect(0);
        assert!(ran.stdout.contains("complete: true"));
        assert!(!ran.stdout.contains("by tracing"), "{}", ran.stdout);
    }
    assert_eq!(server.sql("SELECT * FROM spans").rows.len(), 0);
    assert_eq!(server.sql("SELECT * FROM logs").rows.len(), 0);
}

#[test]
fn init_sets_the_globals_once_and_may_begin_anew_after_the_end() {
    let server = Server::start();
    let config = Config::enabled("global").with_endpoint(endpoint(&server, Protocol::Grpc));
    let service = Service::init(&config).unwrap();
    let again = Service::init(&Config::enabled("other")).unwrap();
    let name = |service: &Service| {
        service.resource().get(&opentelemetry::Key::from("service.name")).unwrap().to_string()
    };
    assert_eq!(name(&again), name(&service));
    let tracer = opentelemetry::global::tracer("library");
    tracer.in_span("by the global provider", |context| {
        let mut carrier = HashMap::new();
        inject(&mut carrier);
        let trace_id = context.span().span_context().trace_id().to_string();
        assert!(carrier["traceparent"].contains(&trace_id));
    });
    opentelemetry::global::meter("library").u64_counter("by.meter").build().add(1, &[]);
    assert!(again.flush(PATIENCE), "{:?}", again.counts());
    assert_eq!(server.sql("SELECT name FROM spans").texts(), ["by the global provider"]);
    assert_eq!(server.sql("SELECT * FROM points WHERE name = 'by.meter'").rows.len(), 1);
    assert!(service.shutdown(PATIENCE));
    assert!(service.shutdown(PATIENCE), "twice is no harm");

    let next = Service::init(&Config::default()).unwrap();
    assert!(!next.is_enabled());
}
