//! Files that are right, and files that are wrong in each way.

use super::*;

fn read(text: &str) -> Result<ScrapeSettings, String> {
    ScrapeSettings::from_yaml(text, Path::new("/etc/prom.yml")).map_err(|error| error.to_string())
}

#[test]
fn a_file_of_prometheus_is_read() {
    let settings = read(
        r#"
global:
  scrape_interval: 15s
  evaluation_interval: 30s
  rule_query_offset: 20s
  external_labels: {cluster: a, shard: 7}
  sample_limit: 100
rule_files: [rules/*.yml]
storage: {}
alerting:
  alertmanagers: [{static_configs: [{targets: [x]}]}]
scrape_configs:
  - job_name: node
    static_configs:
      - targets: ['localhost:9100', "db:9100"]
        labels: {env: prod, rack: 12}
  - job_name: all
    scrape_interval: 1s
    scrape_timeout: 500ms
    metrics_path: /m
    scheme: https
    params: {module: [a, b], n: [3]}
    honor_labels: true
    honor_timestamps: false
    basic_auth: {username: u, password_file: secrets/pw}
    tls_config: {ca_file: ca.pem, server_name: s, insecure_skip_verify: true, min_version: TLS13}
    follow_redirects: false
    enable_compression: false
    http_headers: {X-Scope: {values: [t]}}
    file_sd_configs: [{files: [sd/*.json, /abs/x.yml], refresh_interval: 1m}]
    http_sd_configs:
      - url: http://sd/targets
        authorization: {credentials: token}
    relabel_configs:
      - source_labels: [__address__]
        regex: (.*):.*
        target_label: host
      - {action: labeldrop, regex: x}
    metric_relabel_configs:
      - {source_labels: [__name__], regex: go_.*, action: drop}
    sample_limit: 7
    body_size_limit: 1MB
    scrape_native_histograms: true
    native_histogram_min_bucket_factor: 1.1
    fallback_scrape_protocol: PrometheusText0.0.4
"#,
    )
    .unwrap();
    assert_eq!(settings.external_labels["shard"], "7");
    assert_eq!(settings.evaluation_interval, Some(Duration::from_secs(30)));
    assert_eq!(settings.ignored_keys, ["storage"]);
    assert_eq!(settings.rule_query_offset, Some(Duration::from_secs(20)));
    assert_eq!(settings.alerting.alertmanagers[0].static_configs[0].targets, ["x"]);
    assert_eq!(settings.rule_files, ["rules/*.yml"]);
    let node = &settings.jobs[0];
    assert_eq!(node.scrape_interval, Duration::from_secs(15));
    assert_eq!(node.scrape_timeout, Duration::from_secs(10));
    assert_eq!(node.static_configs[0].targets, ["localhost:9100", "db:9100"]);
    assert_eq!(node.static_configs[0].labels["rack"], "12");
    assert_eq!(node.limits.samples, 100);
    assert_eq!(node.scrape_protocols.len(), 4, "without protobuf");
    assert_eq!((node.metrics_path.as_str(), node.scheme.as_str()), ("/metrics", "http"));
    assert!(node.honor_timestamps && node.enable_compression && node.http.follow_redirects);
    let all = &settings.jobs[1];
    assert_eq!(all.scrape_timeout, Duration::from_millis(500));
    assert_eq!(all.params["n"], ["3"]);
    assert_eq!(all.scrape_protocols[0], ScrapeProtocol::PrometheusProto);
    assert_eq!(all.file_discoveries[0].files[0], Path::new("/etc/sd/*.json"));
    assert_eq!(all.http_discoveries[0].refresh_interval, Duration::from_secs(60));
    assert!(all.http_discoveries[0].http.credentials.is_some());
    let Some(Credentials::Basic { password: Some(SecretSource::File(path)), .. }) =
        &all.http.credentials
    else {
        panic!("{:?}", all.http)
    };
    assert_eq!(path, Path::new("/etc/secrets/pw"));
    assert_eq!((all.limits.samples, all.limits.body_size_bytes), (7, 1 << 20));
    assert_eq!(all.limits.histogram_schema, Some(2));
    assert_eq!(all.relabel_rules.len(), 2);
    assert_eq!(read("").unwrap().jobs, []);
}

#[test]
fn a_timeout_that_is_not_given_fits_the_interval() {
    let job = |text: &str| {
        let settings = read(&format!("scrape_configs: [{{job_name: a, {text}}}]")).unwrap();
        (settings.jobs[0].scrape_interval, settings.jobs[0].scrape_timeout)
    };
    let (interval, timeout) = job("scrape_interval: 100ms");
    assert_eq!((interval, timeout), (Duration::from_millis(100), Duration::from_millis(100)));
    assert_eq!(job("scrape_interval: 2m").1, Duration::from_secs(10));
}

#[test]
fn an_evaluation_interval_of_zero_is_the_default() {
    let settings = read("global: {evaluation_interval: 0s}").unwrap();
    assert_eq!(settings.evaluation_interval, None);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let base = "scrape_configs:\n  - job_name: a\n    ";
    for (keys, expected) in [
        (
            "scrap_interval: 1s",
            "3:5: scrap_interval is not a known key; did you mean scrape_interval?",
        ),
        (
            "kubernetes_sd_configs: []",
            "3:5: kubernetes_sd_configs is not supported; use static_configs, file_sd_configs or http_sd_configs",
        ),
        (
            "scrape_interval: fast",
            "3:22: not a valid duration string: \"fast\"; expected such as 15s",
        ),
        (
            "scrape_timeout: 2m",
            "2:5: scrape timeout greater than scrape interval for scrape config with job name \"a\"",
        ),
        (
            "scrape_interval: 1ms",
            "2:5: scrape interval of job \"a\" is 1ms; expected at least 10ms",
        ),
        ("scheme: ftp", "3:13: unknown scheme \"ftp\"; expected http or https"),
        ("body_size_limit: 1XB", "3:22: not a valid size: \"1XB\"; expected such as 10MB"),
        ("static_configs: [{targets: ['http://x']}]", "3:33: \"http://x\" is not a valid hostname"),
        (
            "proxy_url: http://p",
            "3:16: proxies are not supported; remove the proxy keys, or scrape directly",
        ),
        (
            "bearer_token: x\n    basic_auth: {username: u}",
            "3:19: at most one of basic_auth, oauth2, bearer_token & bearer_token_file must be configured",
        ),
        (
            "basic_auth: {password: p, password_file: q}",
            "3:17: at most one of basic_auth password & password_file must be configured",
        ),
        (
            "authorization: {type: Basic}",
            "3:20: authorization type cannot be set to \"basic\", use \"basic_auth\" instead",
        ),
        (
            "relabel_configs: [{action: replase}]",
            "3:32: unknown relabel action \"replase\"; known are replace, keep, drop, hashmod, labelmap, labeldrop, labelkeep, lowercase, uppercase, keepequal, dropequal",
        ),
        (
            "relabel_configs: [{action: hashmod, target_label: x}]",
            "3:23: relabel configuration for hashmod requires non-zero modulus",
        ),
        (
            "relabel_configs: [{action: replace}]",
            "3:23: relabel configuration for replace action requires 'target_label' value",
        ),
        (
            "relabel_configs: [{action: labeldrop, source_labels: [a]}]",
            "3:23: labeldrop action requires only 'regex', and no other fields",
        ),
        (
            "relabel_configs: [{action: keepequal, target_label: a, regex: b}]",
            "3:23: keepequal action requires only 'source_labels' and `target_label`, and no other fields",
        ),
        (
            "relabel_configs: [{target_label: a, regex: '('}]",
            "3:48: regex \"(\" is wrong: unclosed group",
        ),
        (
            "file_sd_configs: [{files: [x.txt]}]",
            "3:32: path name \"x.txt\" is not valid for file discovery; expected a name that ends in .yml, .yaml or .json, with * in its last part at most",
        ),
        ("http_sd_configs: [{url: 'ftp://x'}]", "3:23: URL scheme must be 'http' or 'https'"),
        (
            "fallback_scrape_protocol: Text",
            "3:31: unknown scrape protocol \"Text\", supported: PrometheusProto, OpenMetricsText1.0.0, OpenMetricsText0.0.1, PrometheusText1.0.0, PrometheusText0.0.4",
        ),
        (
            "tls_config: {cert_file: x}",
            "3:17: a client certificate needs both: exactly one of key or key_file must be configured",
        ),
        (
            "http_headers: {Host: {values: [x]}}",
            "3:19: setting header \"Host\" is not allowed; it is ours to set",
        ),
        ("job_name: b", "3:5: job_name is there twice"),
    ] {
        let error = read(&format!("{base}{keys}\n")).unwrap_err();
        assert_eq!(error, format!("/etc/prom.yml:{expected}"), "{keys}");
    }
    for (text, expected) in [
        (
            "scrape_configs:\n  - {job_name: a}\n  - {job_name: a}\n",
            "3:5: found multiple scrape configs with job name \"a\"",
        ),
        ("scrape_configs:\n  - metrics_path: /x\n", "2:5: job_name is empty"),
        ("scrape_configs:\n  -\n", "2:4: empty or null scrape config section"),
        (
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 2s\n",
            "2:3: global scrape timeout greater than scrape interval",
        ),
        (
            "global:\n  evaluation_interval: 1ms\n",
            "2:24: evaluation_interval is 1ms; expected at least 10ms",
        ),
        (
            "scrape_config: []\n",
            "1:1: scrape_config is not a known key; did you mean scrape_configs?",
        ),
    ] {
        assert_eq!(read(text).unwrap_err(), format!("/etc/prom.yml:{expected}"), "{text}");
    }
    assert!(read("scrape_configs: [").unwrap_err().starts_with("/etc/prom.yml:"));
}

#[test]
fn jobs_of_other_files_come_after_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("jobs")).unwrap();
    let job = directory.path().join("jobs/b.yml");
    std::fs::write(&job, "scrape_configs: [{job_name: b, basic_auth: {password_file: p}}]")
        .unwrap();
    let path = directory.path().join("main.yml");
    let text = "scrape_config_files: [jobs/*.yml]\nscrape_configs: [{job_name: a}]\n";
    let settings = ScrapeSettings::from_yaml(text, &path).unwrap();
    let names: Vec<_> = settings.jobs.iter().map(|job| job.job_name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    std::fs::write(&job, "scrape_configs: [{job_name: a}]").unwrap();
    let error = ScrapeSettings::from_yaml(text, &path).unwrap_err();
    assert_eq!(error.file, job.display().to_string());
}
