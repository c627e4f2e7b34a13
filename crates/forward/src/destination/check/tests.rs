use super::*;
use crate::destination::settings::{BasicSettings, RouteSettings, SignalName, TailSettings};

fn read(yaml: &str) -> DestinationSettings {
    kymo_yaml::from_str(yaml).unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn wrong_keys(settings: &DestinationSettings) -> Vec<&'static str> {
    check(std::slice::from_ref(settings)).into_iter().map(|problem| problem.key).collect()
}

fn grpc() -> DestinationSettings {
    let mut settings = DestinationSettings::new("hub", DestinationProtocol::Grpc);
    settings.endpoint = Some("https://hub.example:4317".to_owned());
    settings
}

#[test]
fn everything_that_is_documented_is_read() {
    let settings = read(
        r#"
name: hub
protocol: http/json
endpoint: https://hub.example:4318
signals: [traces, logs]
tenants: [default]
routes:
  - {signal: traces, where: 'resource.service.name =~ "etl-.*"'}
  - {signal: logs}
sampling: {tail: {errors: true, slower_than: 2s, where: 'span.http.status_code >= 500', ratio: 0.05, wait: 10s, max_traces: 1000}}
compression: zstd
headers: {X-Scope-OrgID: team-a}
basic: {username: u, password: hunter2}
tls: {ca: ca.pem, certificate: client.pem, key: client.key, server_name: x, insecure_skip_verify: false}
timeout: 5s
concurrency: 2
retry: {first: 100ms, longest: 20s}
budget: 2GiB
"#,
    );
    assert_eq!(check(std::slice::from_ref(&settings)), []);
    assert_eq!(settings.budget, 2 << 30);
    assert_eq!(settings.carried(), [Signal::Traces, Signal::Logs]);
    let shown = format!("{settings:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("team-a"), "{shown}");
    let said = settings.describe();
    assert_eq!(
        said,
        "hub: traces, logs to https://hub.example:4318 (http/json), 2 routes, chosen traces"
    );
    let mut secret = settings.clone();
    secret.endpoint = Some("https://u:hunter2@hub.example/x?key=hunter2".to_owned());
    assert_eq!(secret.target(), "https://hub.example/x");
    let file =
        read("{name: f, protocol: file, path: out.jsonl, rotate: {max_size: 1MiB, every: 24h}}");
    assert_eq!(check(std::slice::from_ref(&file)), []);
    let write = read("{name: p, protocol: remote-write, endpoint: 'http://p/api/v1/write'}");
    assert_eq!(check(std::slice::from_ref(&write)), []);
    assert_eq!(write.carried(), [Signal::Metrics]);
    let console = read("{name: c, protocol: console, format: json, enabled: false}");
    assert_eq!(check(std::slice::from_ref(&console)), []);
}

#[test]
fn a_key_that_is_not_known_is_refused() {
    let problem =
        kymo_yaml::from_str::<DestinationSettings>("{name: a, protocol: grpc, endpont: b}");
    let message = problem.unwrap_err().message;
    assert!(message.contains("endpont"), "{message}");
}

#[test]
fn two_of_one_name_are_refused() {
    let problems = check(&[grpc(), grpc()]);
    assert_eq!(problems.len(), 1);
    let said = problems[0].to_string();
    assert!(said.starts_with("destination \"hub\": name: two destinations"), "{said}");
}

#[test]
fn two_of_one_file_are_refused() {
    let file = |name: &str| read(&format!("{{name: {name}, protocol: file, path: out.jsonl}}"));
    let problems = check(&[file("a"), file("b")]);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("destination \"b\": path: two destinations"), "{said:?}");
}

#[test]
fn each_wrong_key_is_named() {
    let with = |change: fn(&mut DestinationSettings)| {
        let mut settings = grpc();
        change(&mut settings);
        wrong_keys(&settings)
    };
    assert_eq!(with(|_| ()), [""; 0]);
    assert_eq!(with(|s| s.name = "a/b".to_owned()), ["name"]);
    assert_eq!(with(|s| s.name = "..".to_owned()), ["name"]);
    assert_eq!(with(|s| s.endpoint = None), ["endpoint"]);
    assert_eq!(with(|s| s.endpoint = Some("hub:4317".to_owned())), ["endpoint"]);
    assert_eq!(with(|s| s.endpoint = Some("http://u:p@hub".to_owned())), ["endpoint"]);
    assert_eq!(with(|s| s.path = Some("x".into())), ["path"]);
    assert_eq!(with(|s| s.logs_endpoint = Some("http://a".to_owned())), ["logs_endpoint"]);
    assert_eq!(with(|s| s.compression = CompressionSetting::Snappy), ["compression"]);
    assert_eq!(with(|s| s.concurrency = 0), ["concurrency"]);
    assert_eq!(with(|s| s.version = Some(1)), ["version"]);
    assert_eq!(with(|s| s.format = Some(FormatSetting::Json)), ["format"]);
    assert_eq!(with(|s| s.signals = Some(Vec::new())), ["signals"]);
    assert_eq!(with(|s| s.budget = 0), ["budget"]);
    assert_eq!(with(|s| s.timeout = std::time::Duration::MAX), ["timeout"]);
    assert_eq!(with(|s| s.retry.longest = std::time::Duration::MAX), ["retry"]);
    assert_eq!(with(|s| s.tls.key = Some("k".into())), ["tls"]);
    assert_eq!(
        with(|s| s.basic =
            Some(BasicSettings { username: "u".to_owned(), password: None, password_file: None })),
        ["basic"]
    );
    assert_eq!(
        with(|s| s.routes =
            vec![RouteSettings { signal: SignalName::Logs, condition: Some("name =".to_owned()) }]),
        ["routes"]
    );
    assert_eq!(
        with(|s| s.sampling = Some(SamplingSettings { ratio: Some(1.5), tail: None })),
        ["sampling"]
    );
    assert_eq!(
        with(|s| s.sampling =
            Some(SamplingSettings { ratio: None, tail: Some(TailSettings::default()) })),
        ["sampling"]
    );
    let mut write = grpc();
    write.protocol = DestinationProtocol::RemoteWrite;
    write.signals = Some(vec![SignalName::Traces, SignalName::Metrics]);
    assert_eq!(wrong_keys(&write), ["signals"]);
    let file = DestinationSettings::new("f", DestinationProtocol::File);
    assert_eq!(wrong_keys(&file), ["path"]);
}

#[test]
fn what_the_documentation_shows_can_be_written() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shown {
        destinations: Vec<DestinationSettings>,
    }
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/routing.md"));
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut shown = 0;
    for block in blocks.filter(|block| block.starts_with("destinations:")) {
        let read = kymo_yaml::from_str::<Shown>(block);
        let read = read.unwrap_or_else(|problem| panic!("{problem:?} in\n{block}"));
        assert_eq!(check(&read.destinations), [], "{block}");
        shown += 1;
    }
    assert!(shown >= 5, "{shown} examples");
}
