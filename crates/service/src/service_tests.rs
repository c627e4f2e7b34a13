//! Tests of a service without a server: off, to nowhere, to one that is away.

use opentelemetry::trace::{Span, Tracer};

use super::*;

fn no_environment(_: &str) -> Option<String> {
    None
}

/// A port on which nobody listens.
fn closed_endpoint() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn off_unless_enabled_and_then_everything_does_nothing() {
    let service = Service::build(&Config::default(), no_environment).unwrap();
    assert!(!service.is_enabled());
    assert!(!service.tracer("t").start("s").span_context().is_sampled());
    service.registry().counter("c", &[]).unwrap().add(1, &[]);
    assert!(service.tracing_layer::<tracing_subscriber::Registry>().is_none());
    assert!(service.install_log().is_ok() && service.install_tracing().is_ok());
    assert!(service.flush(Duration::ZERO) && service.shutdown(Duration::ZERO));
    assert_eq!(service.counts(), ExportCounts::default());
}

#[test]
fn a_setting_that_nobody_understands_is_an_error_and_nothing_is_set_up() {
    let protocol = |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| "smoke".to_owned());
    let error = Service::build(&Config::enabled("a"), protocol).unwrap_err().to_string();
    assert!(error.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && error.contains("smoke"), "{error}");
}

#[test]
fn signals_may_be_switched_off_one_by_one() {
    let none = |name: &str| name.ends_with("_EXPORTER").then(|| "none".to_owned());
    let service = Service::build(&Config::enabled("a"), none).unwrap();
    drop(service.tracer("t").start("s"));
    assert!(service.shutdown(Duration::from_secs(5)));
    assert_eq!(service.counts(), ExportCounts::default());
}

#[test]
fn an_endpoint_that_is_away_never_makes_the_program_wait_and_losses_are_counted() {
    for protocol in [crate::export::Protocol::Grpc, crate::export::Protocol::HttpProtobuf] {
        let mut config =
            Config::enabled("a").with_endpoint(closed_endpoint()).with_protocol(protocol);
        config.queue_items = 100;
        let service = Service::build(&config, no_environment).unwrap();
        let tracer = service.tracer("t");
        let began = Instant::now();
        for _ in 0..1_000 {
            drop(tracer.start("s"));
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{protocol:?}");
        let began = Instant::now();
        assert!(!service.shutdown(Duration::from_millis(300)));
        assert!(began.elapsed() < Duration::from_secs(2), "{protocol:?}: {:?}", began.elapsed());
        drop(tracer.start("late"));
        let spans = service.counts().spans;
        assert!(spans.dropped >= 900 && spans.sent == 0, "{spans:?}");
    }
}

#[test]
fn an_endpoint_that_takes_connections_and_says_nothing_is_not_waited_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    for protocol in [crate::export::Protocol::Grpc, crate::export::Protocol::HttpJson] {
        let config = Config::enabled("a").with_endpoint(&endpoint).with_protocol(protocol);
        let service = Service::build(&config, no_environment).unwrap();
        drop(service.tracer("t").start("s"));
        let began = Instant::now();
        assert!(!service.flush(Duration::from_millis(200)));
        assert!(!service.shutdown(Duration::from_millis(200)));
        assert!(began.elapsed() < Duration::from_secs(2), "{protocol:?}: {:?}", began.elapsed());
    }
}
