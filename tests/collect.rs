//! What the server gathers itself: metrics of its machine, its own, and those of targets that it
//! scrapes.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use harness::sessions::Client;
use harness::{Answer, Server, eventually};
use serde_json::{Value, json};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn query(server: &Server, text: &str) -> Vec<Value> {
    let url = server.url("/prometheus/api/v1/query");
    let request = reqwest::blocking::Client::new().get(url).query(&[("query", text)]);
    let answer = Answer::of(request).expect(200).json();
    answer["data"]["result"].as_array().unwrap().clone()
}

#[test]
fn the_machine_is_looked_at_under_the_names_of_its_exporters() {
    let server =
        Server::with(&["--probe", "--probe-interval", "200ms", "--probe-instance", "here"]);
    let uname = "node_uname_info{job=\"node\", instance=\"here\"}";
    eventually(PATIENCE, "the probe has looked", || !query(&server, uname).is_empty());
    for metric in ["node_cpu_seconds_total", "node_memory_MemTotal_bytes", "node_load1"] {
        assert!(!query(&server, metric).is_empty(), "{metric}");
    }
    let rate = "sum(rate(node_cpu_seconds_total{mode=\"idle\"}[1m]))";
    eventually(PATIENCE, "it looks again and again", || !query(&server, rate).is_empty());
    let metadata = server.get("/prometheus/api/v1/metadata?metric=node_load1").expect(200).json();
    assert_eq!(metadata["data"]["node_load1"][0]["type"], "gauge");
}

#[test]
fn the_servers_own_metrics_are_stored_without_names_of_tenants() {
    let server = Server::with(&[
        "--probe",
        "--no-probe-host",
        "--no-probe-gpu",
        "--probe-interval",
        "200ms",
        "--probe-instance",
        "here",
    ]);
    let of_server = "job=\"kymo\", instance=\"here\"";
    let connections = format!("kymo_connections_total{{{of_server}}}");
    eventually(PATIENCE, "it has looked at itself", || !query(&server, &connections).is_empty());
    for tenant in ["red", "blue"] {
        let mut client = Client::new(&server, "s", 0xa1, Duration::from_secs(60));
        client.tenant = tenant;
        client.events(client.life());
    }
    // Both are one series, and what it rose by when it appeared counts.
    let logs = format!("signal=\"logs\", {of_server}");
    let total = format!("kymo_received_requests_total{{{logs}}}");
    let both = || query(&server, &total).iter().any(|series| series["value"][1] == "2");
    eventually(PATIENCE, "requests of all tenants are counted", both);
    assert_eq!(query(&server, &total).len(), 1);
    let rate = format!("rate({total}[1m]) > 0");
    eventually(PATIENCE, "they have a rate", || !query(&server, &rate).is_empty());
    let quantile = format!(
        "histogram_quantile(0.5, sum by (le) (rate(kymo_acknowledge_seconds_bucket{{{logs}}}[1m]))) \
         > 0"
    );
    eventually(PATIENCE, "and times", || !query(&server, &quantile).is_empty());
    let all = query(&server, "{__name__=~\".+\"}");
    assert!(all.len() > 50, "{}", all.len());
    for series in &all {
        let labels = series["metric"].as_object().unwrap();
        assert_eq!((&labels["job"], &labels["instance"]), (&json!("kymo"), &json!("here")));
        assert!(!labels.contains_key("tenant"), "{series}");
        assert!(!labels.values().any(|value| value == "red" || value == "blue"), "{series}");
    }
    let shown = server.get("/metrics").expect(200).text();
    assert!(shown.contains("tenant=\"red\""), "whoever may read all tenants is told");
}

#[test]
fn without_the_probe_nothing_is_gathered() {
    let server = Server::start();
    assert!(query(&server, "{__name__=~\".+\"}").is_empty());
}

/// A target that answers every request with the same text, until the test ends.
fn target(body: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: \
                 close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = connection.write_all(head.as_bytes());
            let _ = connection.write_all(body.as_bytes());
        }
    });
    address
}

#[test]
fn targets_of_a_configuration_of_prometheus_are_scraped() {
    let body = "# TYPE jobs_total counter\n# HELP jobs_total Jobs.\njobs_total{kind=\"train\"} 7\n";
    let (up, down) = (target(body), TcpListener::bind("127.0.0.1:0").unwrap());
    // Nobody answers there.
    let down = down.local_addr().unwrap();
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("targets.yml");
    let text = format!(
        "global:\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\nscrape_configs:\n  - job_name: \
         inference\n    static_configs:\n      - targets: ['{up}', '{down}']\n        labels: \
         {{team: serving}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let server = Server::with(&["--prometheus-config", config.to_str().unwrap()]);
    let jobs = "jobs_total{kind=\"train\", job=\"inference\", team=\"serving\"}";
    eventually(PATIENCE, "the target was scraped", || !query(&server, jobs).is_empty());
    let found = query(&server, jobs);
    assert_eq!(found[0]["metric"]["instance"], json!(up.to_string()));
    assert_eq!(found[0]["value"][1], "7");
    let is_up = |address: std::net::SocketAddr| {
        let found = query(&server, &format!("up{{instance=\"{address}\"}}"));
        found.first().map(|series| series["value"][1].clone())
    };
    eventually(PATIENCE, "both were tried", || is_up(up).is_some() && is_up(down).is_some());
    assert_eq!((is_up(up), is_up(down)), (Some(json!("1")), Some(json!("0"))));
    let targets = server.get("/prometheus/api/v1/targets").expect(200).json();
    let active = targets["data"]["activeTargets"].as_array().unwrap().clone();
    let health = |address: std::net::SocketAddr| {
        let of = |target: &&Value| target["labels"]["instance"] == json!(address.to_string());
        active.iter().find(of).unwrap()["health"].clone()
    };
    assert_eq!((health(up), health(down)), (json!("up"), json!("down")));
}

#[test]
fn what_targets_tell_is_received_and_what_the_server_tells_of_itself_is_not() {
    let has_data =
        |server: &Server| server.get("/api/start").expect(200).json()["has_data"] == json!(true);
    let probe = ["--probe", "--probe-interval", "200ms", "--probe-instance", "here"];
    let mut server = Server::with(&probe);
    eventually(PATIENCE, "the probe has looked", || !query(&server, "node_load1").is_empty());
    assert!(!has_data(&server));
    server.stop();
    let config = server.place().join("targets.yml");
    let up = target("jobs 7\n");
    let text = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs:\n  - job_name: \
         inference\n    static_configs: [{{targets: ['{up}']}}]\n"
    );
    std::fs::write(&config, text).unwrap();
    server.add_flags(&["--prometheus-config", config.to_str().unwrap()]);
    server.start_again();
    eventually(PATIENCE, "the target has told something", || has_data(&server));
    // Where settings of the server are, and the first version of this one.
    let noted = server.data().join("blocks/%settings/%00server/received");
    let noted = noted.join(format!("{:020}", 1));
    eventually(PATIENCE, "that is noted", || noted.is_file());
    server.stop();
    std::fs::write(&config, "scrape_configs: []\n").unwrap();
    server.start_again();
    assert!(has_data(&server), "it stays, also if nothing comes any more");
}

#[test]
fn a_configuration_with_a_mistake_is_refused_with_its_line() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("targets.yml");
    std::fs::write(&config, "scrape_configs:\n  - job_nam: x\n").unwrap();
    let data = place.path().join("data");
    let arguments = ["serve", "--no-probe", "--data", data.to_str().unwrap()];
    let ports =
        ["--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"];
    let mut command = harness::programs::kymo();
    command.args(arguments).args(ports).args(["--prometheus-config", config.to_str().unwrap()]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("targets.yml:2") && said.contains("job_nam"), "{said}");
}

/// Receives one request and gives its body.
fn receiver() -> (std::net::SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, bodies) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = Vec::new();
            let mut part = [0; 4096];
            // The body ends where its length says.
            loop {
                let count = connection.read(&mut part).unwrap_or(0);
                request.extend_from_slice(&part[..count]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    let is_length = name.eq_ignore_ascii_case("content-length");
                    is_length.then(|| value.trim().parse::<usize>().unwrap())
                });
                if count == 0 || body.len() >= length.unwrap_or(0) {
                    let _ = sender.send(body.to_owned());
                    break;
                }
            }
            let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    (address, bodies)
}

#[test]
fn rules_record_and_alerts_reach_a_webhook() {
    let (target, (webhook, bodies)) = (target("queue_length 12\n"), receiver());
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(place.path().join(name), text).unwrap();
    write(
        "prometheus.yml",
        format!(
            "global:\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  evaluation_interval: \
             200ms\nrule_files: [rules.yml]\nalerting:\n  webhooks:\n    - url: \
             http://{webhook}/hook\nscrape_configs:\n  - job_name: queue\n    static_configs:\n      \
             - targets: ['{target}']\n"
        ),
    );
    let rules = "groups:\n  - name: queues\n    rules:\n      - record: job:queue_length:sum\n        \
                 expr: sum by (job) (queue_length)\n      - alert: QueueIsLong\n        expr: \
                 job:queue_length:sum > 10\n        labels: {severity: page}\n        \
                 annotations: {summary: '{{ $labels.job }} has {{ $value }}'}\n";
    write("rules.yml", rules.to_owned());
    let config = place.path().join("prometheus.yml");
    let server = Server::with(&["--prometheus-config", config.to_str().unwrap()]);
    let recorded = "job:queue_length:sum{job=\"queue\"}";
    eventually(PATIENCE, "the rule was evaluated", || !query(&server, recorded).is_empty());
    let body = bodies.recv_timeout(PATIENCE).unwrap();
    let told: Value = serde_json::from_str(&body).unwrap();
    let alert = &told["alerts"][0];
    assert_eq!((&told["status"], &alert["status"]), (&json!("firing"), &json!("firing")));
    assert_eq!(alert["labels"]["alertname"], "QueueIsLong");
    assert_eq!(alert["labels"]["severity"], "page");
    assert_eq!(alert["annotations"]["summary"], "queue has 12");
    let alerts = server.get("/prometheus/api/v1/alerts").expect(200).json();
    assert_eq!(alerts["data"]["alerts"][0]["state"], "firing");
    let names = |rules: &Value| {
        let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap().clone();
        rules.iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = names(&server.get("/prometheus/api/v1/rules").expect(200).json());
    assert_eq!(all, ["job:queue_length:sum", "QueueIsLong"]);
    let rules = server.get("/prometheus/api/v1/rules?type=record").expect(200).json();
    assert_eq!(rules["data"]["groups"][0]["rules"][0]["name"], "job:queue_length:sum");
    // A change with an error changes nothing.
    write("rules.yml", "groups: [{name: queues, rules: [{record: x, expr: 'sum('}]}]".to_owned());
    let reload = || {
        let url = server.url("/prometheus/-/reload");
        Answer::of(reqwest::blocking::Client::new().post(url))
    };
    let said = reload().expect(500).text();
    assert!(said.contains("rules.yml:1"), "{said}");
    assert_eq!(names(&server.get("/prometheus/api/v1/rules").expect(200).json()), all);
    let changed = "groups: [{name: queues, rules: [{record: doubled, expr: 2 * queue_length}]}]";
    write("rules.yml", changed.to_owned());
    reload().expect(200);
    eventually(PATIENCE, "the new rule is evaluated", || !query(&server, "doubled").is_empty());
    let federated = server.get("/prometheus/federate?match[]=queue_length").expect(200).text();
    assert!(federated.contains("queue_length{instance="), "{federated}");
}

#[test]
fn a_rule_file_with_an_error_is_refused_with_its_line() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("prometheus.yml", "rule_files: [rules.yml]\n");
    write("rules.yml", "groups:\n  - name: a\n    rules:\n      - record: b\n        expr: sum(\n");
    let (data, config) = (place.path().join("data"), place.path().join("prometheus.yml"));
    let ports =
        ["--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"];
    let mut command = harness::programs::kymo();
    command.args(["serve", "--no-probe", "--data", data.to_str().unwrap()]).args(ports);
    let output = command.args(["--prometheus-config", config.to_str().unwrap()]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("rules.yml:5") && said.contains("parse error"), "{said}");
}

#[test]
fn received_metrics_are_exposed_as_a_target_shows_its_own() {
    let body = "# HELP jobs_total Jobs.\n# TYPE jobs_total counter\njobs_total{kind=\"train\"} 7\n";
    let target = target(body);
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("prometheus.yml");
    let text = format!(
        "global:\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\nscrape_configs:\n  - job_name: \
         a\n    static_configs:\n      - targets: ['{target}']\n"
    );
    std::fs::write(&config, text).unwrap();
    let flags =
        ["--prometheus-config", config.to_str().unwrap(), "--expose-metrics", "127.0.0.1:0"];
    let server = Server::with(&flags);
    let line = server.start_lines.iter().find(|line| line.starts_with("metrics ")).unwrap();
    let url = line.split_whitespace().last().unwrap().to_owned();
    let exposed = || Answer::of(reqwest::blocking::Client::new().get(&url)).expect(200).text();
    eventually(PATIENCE, "it is shown", || exposed().contains("jobs_total{"));
    let text = exposed();
    assert!(text.contains("# HELP jobs_total Jobs.\n# TYPE jobs_total counter\n"), "{text}");
    assert!(text.contains("kind=\"train\""), "{text}");
}
