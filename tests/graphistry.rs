//! A collector's configuration, translated by `kymo config import`, in place of the collector: its
//! noise is dropped, everything else is kept, forwarded and shown.
//!
//! The configurations that Graphistry ships and a program that sends what its services send are read
//! from the directory of captured data (`KYMO_TEST_DATA`) and `clients` beside it; a configuration of
//! our own is always tested.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::otlp::{START_NANOS, attribute, traces};
use harness::programs::{Ran, clients, kymo, left_out, python, run};
use harness::{Answer, Server, Signal, eventually};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tempfile::TempDir;

/// Long enough for a machine that compiles beside it.
const SOON: Duration = Duration::from_secs(60);

/// The conditions of our own collector are each met by one of [`noise`].
const OWN: &str = r#"
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:4317"}}}}
processors:
  filter/noise:
    error_mode: ignore
    traces:
      span:
        - IsMatch(attributes["http.route"], "/ping.*") or IsMatch(attributes["http.target"], "/ping.*")
        - IsMatch(attributes["http.target"], "/peek\\?quick=.*") and attributes["http.status_code"] == 200
        - not (name != "pollHandler") and attributes["http.status_code"] == 200
  attributes/system: {actions: [{key: system, value: shop, action: insert}]}
  attributes/node: {actions: [{key: node_name, value: "${env:NODE_NAME}", action: insert}]}
  batch: {timeout: 5s}
exporters:
  prometheus: {endpoint: "127.0.0.1:8889", namespace: shop}
  otlp: {endpoint: "${env:NEXT}", tls: {insecure: true}}
service:
  pipelines:
    metrics: {receivers: [otlp], processors: [batch, attributes/system, attributes/node], exporters: [prometheus]}
    traces: {receivers: [otlp], processors: [filter/noise, batch, attributes/system, attributes/node], exporters: [otlp]}
"#;

/// A translated configuration and the variables that it refers to.
struct Imported {
    place: TempDir,
    yaml: String,
}

impl Imported {
    /// Translates a file, which has to be possible completely.
    #[track_caller]
    fn new(collector: &Path, variables: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let output = place.path().join("kymo.yaml");
        run(kymo().args(["config", "import", "--output"]).arg(&output).arg(collector)).expect(0);
        fs::write(place.path().join("telemetry.env"), variables).unwrap();
        let yaml = fs::read_to_string(output).unwrap();
        Self { place, yaml }
    }

    fn flags(&self) -> Vec<String> {
        let path = |name: &str| self.place.path().join(name).display().to_string();
        let mut flags = vec!["--config".to_owned(), path("kymo.yaml")];
        flags.extend(["--env-file".to_owned(), path("telemetry.env")]);
        // A collector lets everybody in, which has to be allowed explicitly here.
        flags.push("--insecure-listen".to_owned());
        flags
    }

    #[track_caller]
    fn check(&self) -> Ran {
        run(kymo().args(["config", "check"]).args(self.flags())).expect(0)
    }

    /// A server with it, on free ports.
    #[track_caller]
    fn server(&self) -> Server {
        let mut flags = self.flags();
        if self.yaml.contains("\nexpose:\n") {
            flags.extend(["--expose-metrics".to_owned(), "127.0.0.1:0".to_owned()]);
        }
        Server::with(&flags.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Received metrics as a scraper gets them.
#[track_caller]
fn exposed(server: &Server) -> String {
    let line = server.start_lines.iter().find(|line| line.starts_with("metrics ")).unwrap();
    let url = line.split_whitespace().last().unwrap();
    Answer::of(server.client.get(url)).expect(200).text()
}

/// The series of a metric: labels and values.
fn series(text: &str, name: &str) -> Vec<(BTreeMap<String, String>, f64)> {
    let of_name = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    of_name
        .map(|rest| {
            let (labels, value) = rest.rsplit_once("} ").unwrap();
            let labels = labels.split(',').filter_map(|label| label.split_once('='));
            let labels =
                labels.map(|(key, value)| (key.to_owned(), value.trim_matches('"').into()));
            (labels.collect(), value.split(' ').next().unwrap().parse().unwrap())
        })
        .collect()
}

/// What each rule of a processor has dropped, by its number.
fn dropped(server: &Server, processor: &str, rules: usize) -> Vec<u64> {
    let of_rule = |nth: usize| {
        let rule = format!("rule=\"{processor}-{nth}\"");
        server.metric("kymo_dropped_records_total", &[&rule]) as u64
    };
    (1..=rules).map(of_rule).collect()
}

fn text(value: &str) -> Value {
    Value::StringValue(value.to_owned())
}

fn span(number: u64, name: &str, attributes: &[(&str, Value)]) -> Span {
    Span {
        trace_id: u128::from(number).to_be_bytes().to_vec(),
        span_id: number.to_be_bytes().to_vec(),
        name: name.to_owned(),
        kind: 2,
        start_time_unix_nano: START_NANOS + number,
        end_time_unix_nano: START_NANOS + number + 500,
        attributes: attributes.iter().map(|(key, value)| attribute(key, value.clone())).collect(),
        ..Default::default()
    }
}

#[test]
fn a_translated_collector_drops_its_noise_and_shows_and_forwards_the_rest() {
    let next = Server::start();
    let place = tempfile::tempdir().unwrap();
    let collector = place.path().join("collector.yml");
    fs::write(&collector, OWN).unwrap();
    let variables = format!("NEXT={}\nexport NODE_NAME=\"node 1\"  # ours\n", next.otlp_grpc());
    let imported = Imported::new(&collector, &variables);
    assert_eq!(imported.check().stdout, "ok\n");
    let server = imported.server();
    let ok = || ("http.status_code", Value::IntValue(200));
    let spans = vec![
        span(1, "GET /ping", &[("http.route", text("/ping"))]),
        span(2, "GET", &[("http.target", text("/v1/pings?x=1"))]),
        span(3, "GET", &[("http.target", text("/peek?quick=1")), ok()]),
        span(4, "pollHandler", &[ok()]),
        // Of another status, of none, of a status that is text, of another path.
        span(5, "pollHandler", &[("http.status_code", Value::IntValue(500))]),
        span(6, "pollHandler", &[]),
        span(7, "pollHandler", &[("http.status_code", text("200"))]),
        span(8, "GET", &[("http.target", text("/peek?slow=1")), ok()]),
        span(9, "kept", &[("system", text("own"))]),
    ];
    server.store(Signal::Traces, traces("shop", spans).encode_to_vec());
    assert_eq!(dropped(&server, "filter-noise", 3), [2, 1, 1]);
    eventually(SOON, "the rest arrives", || next.count(Signal::Traces) == 5);
    for server in [&server, &next] {
        assert_eq!(server.count(Signal::Traces), 5);
        let system = "SELECT \"span.system\", count(*) FROM spans GROUP BY 1 ORDER BY 1";
        assert_eq!(
            server.sql(system).cells().iter().map(|row| row[0]).collect::<Vec<_>>(),
            ["own", "shop"]
        );
        let named = "SELECT count(*) FROM spans WHERE \"span.node_name\" = 'node 1'";
        assert_eq!(server.number(named), 5);
    }
    server.store(Signal::Metrics, now_points());
    eventually(SOON, "metrics are shown", || exposed(&server).contains("shop_load{"));
    let found = series(&exposed(&server), "shop_load");
    assert_eq!(
        (found[0].0["system"].as_str(), found[0].0["node_name"].as_str()),
        ("shop", "node 1")
    );
    assert_eq!(next.count(Signal::Metrics), 0, "only traces go on");
}

/// A gauge that is new enough to be shown.
fn now_points() -> Vec<u8> {
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut request = harness::otlp::points(1, 1);
    for metric in request
        .resource_metrics
        .iter_mut()
        .flat_map(|group| group.scope_metrics.iter_mut().flat_map(|scope| &mut scope.metrics))
    {
        let Some(Data::Gauge(gauge)) = &mut metric.data else { continue };
        for point in &mut gauge.data_points {
            point.time_unix_nano = now.as_nanos() as u64;
        }
    }
    request.encode_to_vec()
}

/// The directory of Graphistry's configurations.
fn graphistry() -> Option<PathBuf> {
    let data = std::env::var_os("KYMO_TEST_DATA").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let found = data.map(|data| data.join("graphistry")).filter(|dir| dir.is_dir());
    if found.is_none() {
        left_out("Graphistry's configurations (KYMO_TEST_DATA names no directory with them)");
    }
    found
}

/// Variables of a machine that sends everything to one place.
fn variables(grpc: SocketAddr, http: SocketAddr) -> String {
    format!(
        "ENABLE_OPEN_TELEMETRY=true\nOTEL_EXPORTER_JAEGER_ENDPOINT={grpc}\n\
         LEADER_OTEL_EXPORTER_OTLP_ENDPOINT={grpc}\nGRAPHISTRY_INSTANCE_NAME='node 1'\n\
         OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT=http://{http}\nOTEL_COLLECTOR_OTLP_USERNAME=ada\n\
         OTEL_COLLECTOR_OTLP_PASSWORD=hush\n"
    )
}

#[test]
fn all_of_graphistrys_configurations_are_taken_over_and_served() {
    let Some(directory) = graphistry() else { return };
    for (file, has_instance) in [
        ("otel-collector-config.yml", false),
        ("otel-collector-config.leader.yml", true),
        ("otel-collector-config.follower.yml", true),
        ("otel-collector-config.cloud.yml", true),
    ] {
        let next = Server::start();
        let variables = variables(next.otlp_grpc(), next.otlp_http());
        let imported = Imported::new(&directory.join(file), &variables);
        assert_eq!(imported.check().stdout, "ok\n", "{file}");
        let shown = run(kymo().args(["config", "show"]).args(imported.flags())).expect(0).stdout;
        assert!(!shown.contains("hush"), "{file}: {shown}");
        let server = imported.server();
        let spans = vec![
            span(1, "GET /health", &[("http.route", text("/health"))]),
            span(2, "kept", &[("http.route", text("/api"))]),
        ];
        server.store(Signal::Traces, traces("viz", spans).encode_to_vec());
        eventually(SOON, file, || next.count(Signal::Traces) == 1);
        let found =
            next.sql("SELECT name, \"span.system\", \"span.graphistry_instance\" FROM spans");
        let instance = if has_instance { "node 1" } else { "NULL" };
        assert_eq!(found.cells(), [["kept", "graphistry", instance]], "{file}");
        assert_eq!(dropped(&server, "filter-traces", 8), [0, 0, 0, 0, 0, 0, 1, 0], "{file}");
    }
}

#[test]
fn what_graphistrys_services_send_loses_its_noise_and_nothing_else() {
    const GRAPHS: u64 = 6;
    let Some(directory) = graphistry() else { return };
    let program = directory.join("../../clients/graphistry_sim.py");
    if !program.is_file() {
        return left_out("what Graphistry's services send (no clients/graphistry_sim.py)");
    }
    let Some(clients) = clients("what Graphistry's services send") else { return };
    let jaeger = Server::start();
    let variables = variables(jaeger.otlp_grpc(), jaeger.otlp_http());
    let imported = Imported::new(&directory.join("otel-collector-config.yml"), &variables);
    let server = imported.server();
    let endpoint = format!("http://{}", server.otlp_grpc());
    let graphs = GRAPHS.to_string();
    let ran =
        run(python(&clients).arg(program).args(["--endpoint", &endpoint, "--graphs", &graphs]));
    assert!(ran.expect(0).stdout.starts_with("sent 6 graphs"));

    // Its five kinds of noise, each by the rule that is about it.
    assert_eq!(
        dropped(&server, "filter-traces", 8),
        [0, GRAPHS, 0, GRAPHS, GRAPHS, 0, GRAPHS, GRAPHS]
    );
    // Of each graph a root, three spans of the GPU's workers, three of the ETL, and a failed read.
    let kept = GRAPHS * 8;
    eventually(SOON, "all traces arrive", || jaeger.count(Signal::Traces) == kept);
    for server in [&server, &jaeger] {
        let count = |condition: &str| {
            server.number(&format!("SELECT count(*) FROM spans WHERE {condition}"))
        };
        assert_eq!(server.count(Signal::Traces), kept);
        assert_eq!(count("\"span.system\" = 'graphistry'"), kept);
        for (condition, expected) in [
            ("\"span.http.route\" = '/health'", 0),
            ("\"span.http.route\" = '/read'", 0),
            ("\"span.http.target\" LIKE '/check-workers%'", 0),
            ("\"span.http.target\" LIKE '/list%'", 0),
            ("name = 'readHandler' AND \"span.http.status_code\" = 200", 0),
            ("name = 'readHandler' AND \"span.http.status_code\" = 500", GRAPHS),
            ("name = 'streamgl-viz: handleFalcorSocketConnections'", GRAPHS),
            ("resource.service.name = 'streamgl-gpu'", GRAPHS * 3),
            ("resource.service.name = 'forge-etl-python'", GRAPHS * 3),
            ("name = 'read' AND \"span.user.id\" IS NOT NULL", GRAPHS),
        ] {
            assert_eq!(count(condition), expected, "{condition}");
        }
    }

    let crashes = "graphistry_worker_read_crashes_total";
    let uploads = "graphistry_forge_etl_python_upload_datasets_request_total";
    let files = "graphistry_forge_etl_python_upload_files_request_total";
    // Every third graph crashes a worker; every graph uploads a dataset and two files.
    let expected = [(crashes, 2, 1.0), (uploads, 6, 1.0), (files, 6, 2.0)];
    eventually(SOON, "all metrics are shown", || {
        let text = exposed(&server);
        expected.iter().all(|(name, count, _)| series(&text, name).len() == *count)
    });
    let text = exposed(&server);
    for (name, _, value) in expected {
        let job = if name == crashes { "streamgl-gpu" } else { "forge-etl-python" };
        for (labels, found) in series(&text, name) {
            assert_eq!(found, value, "{name} {labels:?}");
            let session = labels["graph_session_id"].strip_prefix('g').unwrap();
            let nth: u64 = session.parse().unwrap();
            assert!(name != crashes || nth % 3 == 2, "{labels:?}");
            for (label, expected) in [
                ("system", "graphistry".to_owned()),
                ("job", job.to_owned()),
                ("user_id", format!("user{}", nth % 2)),
                ("dataset_id", format!("d{nth:032x}")),
            ] {
                assert_eq!(labels.get(label), Some(&expected), "{name} {label} {labels:?}");
            }
        }
    }
}
