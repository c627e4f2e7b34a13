//! The four configurations that Graphistry ships, which have to translate completely. They are read
//! from the directory of test data; without it (`KYMO_TEST_DATA`) nothing is tested.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use common::check_output;
use kymo_collector::{Translation, translate};

/// The eight conditions under which the collector drops a span.
const DROPPED: [&str; 8] = [
    r#"span.http.route =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/check-workers.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/check-workers.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/read.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/read.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/health.*" || span.http.target =~ ".*/health.*""#,
    r#"name = "readHandler" && span.http.status_code = 200"#,
];

fn translated(file: &str) -> Option<Translation> {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("left out: KYMO_TEST_DATA names no directory of test data");
        return None;
    };
    let path = std::path::Path::new(&data).join("graphistry").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let translation = translate(&text).unwrap();
    check_output(&translation);
    let lost: Vec<_> = translation.notes.iter().map(ToString::to_string).collect();
    assert!(translation.is_complete(), "{file}: {lost:#?}");
    for condition in DROPPED {
        let line = format!("    where: '{condition}'\n    drop: true\n");
        assert!(translation.yaml.contains(&line), "{file}: {line}\n{}", translation.yaml);
    }
    assert_eq!(translation.yaml.matches("drop: true").count(), 8, "{file}");
    let system = "    signals: [traces, metrics]\n    insert:\n      .system: graphistry\n";
    assert!(translation.yaml.contains(system), "{file}: {}", translation.yaml);
    Some(translation)
}

const INSTANCE: &str =
    "    insert:\n      .graphistry_instance: '${env:GRAPHISTRY_INSTANCE_NAME}'\n";

#[test]
fn the_local_collector_shows_metrics_and_sends_traces_to_jaeger() {
    let Some(translation) = translated("otel-collector-config.yml") else { return };
    let yaml = &translation.yaml;
    assert!(!yaml.contains("graphistry_instance"));
    assert!(yaml.contains("expose:\n  metrics: 0.0.0.0:8889\n"), "{yaml}");
    assert!(yaml.contains("prometheus:\n  otlp:\n    namespace: graphistry\n"), "{yaml}");
    let jaeger = "endpoint: 'http://${env:OTEL_EXPORTER_JAEGER_ENDPOINT}'\n";
    assert!(yaml.contains(jaeger) && yaml.contains("protocol: grpc\n"), "{yaml}");
    assert!(yaml.contains("store:\n  enabled: true\n"), "{yaml}");
}

#[test]
fn the_leader_names_its_instance() {
    let Some(translation) = translated("otel-collector-config.leader.yml") else { return };
    assert!(translation.yaml.contains(INSTANCE), "{}", translation.yaml);
}

#[test]
fn the_follower_sends_everything_to_its_leader_and_keeps_nothing() {
    let Some(translation) = translated("otel-collector-config.follower.yml") else { return };
    let yaml = &translation.yaml;
    assert!(yaml.contains(INSTANCE), "{yaml}");
    assert!(yaml.contains("store:\n  enabled: false\n"), "{yaml}");
    let leader = "endpoint: 'http://${env:LEADER_OTEL_EXPORTER_OTLP_ENDPOINT}'\n";
    assert!(yaml.contains(leader) && yaml.contains("    signals: [traces, metrics]\n"), "{yaml}");
}

#[test]
fn the_cloud_is_reached_over_http_with_a_login() {
    let Some(translation) = translated("otel-collector-config.cloud.yml") else { return };
    let yaml = &translation.yaml;
    for part in [
        "protocol: http\n",
        "endpoint: '${env:OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT}'\n",
        "username: '${env:OTEL_COLLECTOR_OTLP_USERNAME}'\n",
        "password: '${env:OTEL_COLLECTOR_OTLP_PASSWORD}'\n",
        "first: 5s\n",
        "longest: 30s\n",
        "concurrency: 2\n",
    ] {
        assert!(yaml.contains(part), "{part}\n{yaml}");
    }
}
