//! Tests of what wins over what.

use std::time::Duration;

use super::*;

type Variables<'a> = &'a [(&'a str, &'a str)];

fn resolve(asked: &Asked, variables: Variables<'_>) -> Result<ExportSettings, ServiceError> {
    ExportSettings::resolve(asked, |name| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

fn traces(asked: &Asked, variables: Variables<'_>) -> OtlpSettings {
    resolve(asked, variables).unwrap().traces.otlp().unwrap().clone()
}

#[test]
fn the_program_comes_first_then_ours_then_the_standard_then_the_default() {
    let standard = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://standard.test:4317");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.test:4317");
    let ours = ("KYMO_OTLP_ENDPOINT", "http://ours.test:4317");
    let explicit = Asked::endpoint("http://program.test:4317");
    let nobody = Asked::default();
    for (asked, variables, endpoint, source) in [
        (&explicit, &[standard, own, ours][..], "http://program.test:4317", "explicit"),
        (&nobody, &[standard, own, ours][..], "http://ours.test:4317", "KYMO_OTLP_ENDPOINT"),
        (
            &nobody,
            &[standard, own][..],
            "http://traces.test:4317",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ),
        (&nobody, &[standard][..], "http://standard.test:4317", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (&nobody, &[][..], "http://localhost:4317", "default"),
    ] {
        let found = traces(asked, variables);
        assert_eq!((found.endpoint.as_str(), found.source), (endpoint, source));
        assert_eq!(found.protocol, Protocol::Grpc);
    }
}

#[test]
fn a_signal_may_have_an_endpoint_of_its_own() {
    let settings = resolve(
        &Asked::default(),
        &[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a.test:1/base/"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://b.test/as/it/is"),
            ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc"),
        ],
    )
    .unwrap();
    let of = |signal| {
        let settings = settings.of(signal).otlp().unwrap();
        (settings.endpoint.as_str(), settings.protocol)
    };
    assert_eq!(of(Signal::Traces), ("http://a.test:1/base/v1/traces", Protocol::HttpProtobuf));
    assert_eq!(of(Signal::Metrics), ("http://b.test/as/it/is", Protocol::HttpProtobuf));
    assert_eq!(of(Signal::Logs), ("http://a.test:1/base/", Protocol::Grpc));
}

#[test]
fn the_port_of_http_means_http_unless_somebody_says_otherwise() {
    let asked = Asked::endpoint("http://a.test:4318");
    assert_eq!(traces(&asked, &[]).endpoint, "http://a.test:4318/v1/traces");
    let grpc = traces(&asked, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    assert_eq!((grpc.endpoint.as_str(), grpc.protocol), ("http://a.test:4318", Protocol::Grpc));
    let json = Asked { protocol: Some(Protocol::HttpJson), ..Asked::default() };
    assert_eq!(traces(&json, &[]).endpoint, "http://localhost:4318/v1/traces");
    let copied = resolve(&Asked::endpoint("http://a.test:4318/v1/traces"), &[]).unwrap();
    assert_eq!(copied.logs.otlp().unwrap().endpoint, "http://a.test:4318/v1/logs");
}

#[test]
fn a_host_without_a_scheme_gets_the_one_that_is_meant() {
    let endpoint =
        |endpoint: &str, variables| traces(&Asked::endpoint(endpoint), variables).endpoint;
    assert_eq!(endpoint("localhost:4317", &[]), "http://localhost:4317");
    assert_eq!(endpoint("a.test:4317", &[]), "https://a.test:4317");
    let insecure = &[("OTEL_EXPORTER_OTLP_INSECURE", "true")];
    assert_eq!(endpoint("a.test:4317", insecure), "http://a.test:4317");
}

#[test]
fn headers_timeouts_and_files_are_read() {
    let asked = Asked { headers: vec![("X".into(), "2".into())], ..Asked::default() };
    let found = traces(
        &asked,
        &[
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20eDp5, x=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
        ],
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(found.headers, [pair("authorization", "Basic eDp5"), pair("x", "2")]);
    assert_eq!(found.timeout, Duration::from_millis(1500));
    assert!(found.is_gzipped);
    assert_eq!(found.certificate.as_deref(), Some(std::path::Path::new("/ca.pem")));
}

#[test]
fn exporters_may_be_the_console_or_none() {
    let settings = resolve(
        &Asked::endpoint("http://a.test:1"),
        &[("OTEL_TRACES_EXPORTER", "console"), ("OTEL_METRICS_EXPORTER", "none")],
    )
    .unwrap();
    assert_eq!(settings.traces, Destination::Console);
    assert_eq!(settings.metrics, Destination::Nowhere);
    assert!(settings.logs.otlp().is_some());
    assert!(!settings.is_nowhere());
}

#[test]
fn what_nobody_understands_is_an_error_that_names_the_variable() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "token"),
        ("KYMO_OTLP_ENDPOINT", "ftp://a.test"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
    ] {
        let error = resolve(&Asked::default(), &[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(name), "{name}={value}: {error}");
    }
    let secret = [("OTEL_EXPORTER_OTLP_HEADERS", "hunter2")];
    assert!(!resolve(&Asked::default(), &secret).unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn what_is_empty_is_not_set() {
    let variables = &[("KYMO_OTLP_ENDPOINT", " "), ("OTEL_EXPORTER_OTLP_PROTOCOL", "")];
    assert_eq!(traces(&Asked::endpoint(" "), variables).source, "default");
}
