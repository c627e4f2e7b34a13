use super::*;

type Variables<'a> = &'a [(&'a str, &'a str)];

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

fn find<'a>(variables: Variables<'a>) -> impl Fn(&str) -> Option<String> + 'a {
    |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

/// As one that must not fail resolves it: settings and warnings.
fn resolve(signal: Signal, asked: &Asked, variables: Variables<'_>) -> (OtlpSettings, Vec<String>) {
    let mut warnings = Vec::new();
    let warn = |warning| warnings.push(warning);
    let settings = OtlpSettings::resolve_or_warn(signal, asked, find(variables), warn);
    (settings, warnings)
}

#[test]
fn endpoint_and_protocol_are_as_the_specification_has_them() {
    use Protocol::{Grpc, HttpJson, HttpProtobuf};
    use Signal::{Logs, Metrics, Traces};
    const OF_TRACES: (&str, &str) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x");
    let cases: &[(Signal, Variables<'_>, Protocol, &str)] = &[
        (Traces, &[], Grpc, "http://localhost:4317"),
        (Traces, &[(ENDPOINT, " ")], Grpc, "http://localhost:4317"),
        (Logs, &[(PROTOCOL, "http/protobuf")], HttpProtobuf, "http://localhost:4318/v1/logs"),
        (
            Metrics,
            &[(ENDPOINT, "https://a.test:4318/")],
            HttpProtobuf,
            "https://a.test:4318/v1/metrics",
        ),
        (
            Traces,
            &[
                ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
                OF_TRACES,
                (ENDPOINT, "http://b.test"),
            ],
            HttpJson,
            "http://a.test/x",
        ),
        (
            Logs,
            &[OF_TRACES, (ENDPOINT, "http://b.test/base"), (PROTOCOL, "http/json")],
            HttpJson,
            "http://b.test/base/v1/logs",
        ),
        (
            Logs,
            &[(ENDPOINT, "http://a.test:4318/base/v1/traces")],
            HttpProtobuf,
            "http://a.test:4318/base/v1/logs",
        ),
        (Traces, &[(ENDPOINT, "a.test:4317")], Grpc, "https://a.test:4317"),
        (Traces, &[(ENDPOINT, "localhost:1")], Grpc, "http://localhost:1"),
        (
            Traces,
            &[(ENDPOINT, "a.test:1"), ("OTEL_EXPORTER_OTLP_INSECURE", "True")],
            Grpc,
            "http://a.test:1",
        ),
    ];
    for (signal, variables, protocol, endpoint) in cases {
        let (settings, warnings) = resolve(*signal, &Asked::default(), variables);
        assert_eq!(
            (settings.protocol, settings.endpoint.as_str()),
            (*protocol, *endpoint),
            "{signal} {variables:?}"
        );
        assert_eq!(warnings, [] as [&str; 0]);
    }
}

#[test]
fn what_was_asked_for_comes_first() {
    let asked = Asked {
        endpoint: Some("http://asked.test:1".into()),
        protocol: Some(Protocol::HttpProtobuf),
        headers: vec![("X".into(), "asked".into())],
        timeout: Some(Duration::from_secs(3)),
    };
    let (settings, _) = resolve(
        Signal::Traces,
        &asked,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x=told,y=told"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            (PROTOCOL, "grpc"),
        ],
    );
    assert_eq!(settings.endpoint, "http://asked.test:1/v1/traces");
    assert_eq!((settings.source, settings.timeout), (EXPLICIT, Duration::from_secs(3)));
    let expected = [("y", "told"), ("x", "asked")];
    assert_eq!(settings.headers, expected.map(|(name, value)| (name.into(), value.into())));
}

#[test]
fn a_password_of_an_endpoint_becomes_a_header_unless_there_is_one() {
    let endpoint = (ENDPOINT, "https://me:p%40ss@a.test:4318/base");
    let (settings, _) = resolve(Signal::Logs, &Asked::default(), &[endpoint]);
    assert_eq!(settings.endpoint, "https://a.test:4318/base/v1/logs");
    // `me:p@ss`.
    let basic = [("authorization".to_owned(), "Basic bWU6cEBzcw==".to_owned())];
    assert_eq!(settings.headers, basic);
    let named = [endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x")];
    let (settings, _) = resolve(Signal::Logs, &Asked::default(), &named);
    assert_eq!(settings.endpoint, "https://a.test:4318/base/v1/logs");
    assert_eq!(settings.headers, [("authorization".to_owned(), "Bearer x".to_owned())]);
}

#[test]
fn headers_times_packing_and_files_are_read_for_one_signal_before_all() {
    let variables: Variables<'_> = &[
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20eDp5, x=1"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
        ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/me.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
    ];
    let (traces, warnings) = resolve(Signal::Traces, &Asked::default(), variables);
    assert_eq!(warnings, [] as [&str; 0]);
    let expected = [("authorization", "Basic eDp5"), ("x", "1")];
    assert_eq!(traces.headers, expected.map(|(name, value)| (name.into(), value.into())));
    assert_eq!(traces.timeout, Duration::from_millis(1500));
    assert!(traces.is_gzipped && !resolve(Signal::Logs, &Asked::default(), variables).0.is_gzipped);
    let files = [traces.certificate, traces.client_certificate, traces.client_key];
    assert_eq!(files, ["/ca.pem", "/me.pem", "/key.pem"].map(|path| Some(path.into())));
}

#[test]
fn what_nobody_understands_counts_as_not_set_or_ends_it_as_the_caller_likes() {
    let usual = resolve(Signal::Traces, &Asked::default(), &[]).0;
    for (name, value) in [
        (PROTOCOL, "carrier pigeon"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_INSECURE", "perhaps"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
    ] {
        let variables = &[(name, value)];
        let (settings, warnings) = resolve(Signal::Traces, &Asked::default(), variables);
        assert_eq!(settings, usual, "{name}={value}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with(name), "{warnings:?}");
        assert!(!warnings[0].contains("hunter2"), "{warnings:?}");
        let strict = OtlpSettings::resolve(Signal::Traces, &Asked::default(), find(variables), Err);
        assert_eq!(strict.unwrap_err().name, name);
    }
    // Only what is wrong of them is left out.
    let some = &[("OTEL_EXPORTER_OTLP_HEADERS", "a=1,hunter2,=3,b=2")];
    let (settings, warnings) = resolve(Signal::Traces, &Asked::default(), some);
    let names: Vec<&str> = settings.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, warnings.len()), (vec!["a", "b"], 2));
}
