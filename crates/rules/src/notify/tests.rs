//! The notifier against a small server over TCP.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::state::lock;

/// A request as it came.
#[derive(Debug, Clone)]
struct Request {
    head: String,
    body: serde_json::Value,
}

/// Answers with the statuses it was given, and then with 200.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    async fn start(statuses: Vec<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            let mut statuses = statuses.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                let status = statuses.next().unwrap_or(200);
                answer(stream, status, &seen).await;
            }
        });
        Self { address, requests }
    }

    async fn wait_for(&self, count: usize) -> Vec<Request> {
        for _ in 0..500 {
            let requests = lock(&self.requests).clone();
            if requests.len() >= count {
                return requests;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} of {count} requests came", lock(&self.requests).len());
    }
}

/// Reads one request, answers it and closes the connection.
async fn answer(mut stream: TcpStream, status: u16, seen: &Mutex<Vec<Request>>) {
    let mut bytes = Vec::new();
    let (head, start) = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(at) = text.find("\r\n\r\n") {
            break (text[..at].to_owned(), at + 4);
        }
        assert!(count > 0, "the request has a head");
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    while bytes.len() < start + length.unwrap() {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..count]);
    }
    let body = serde_json::from_slice(&bytes[start..]).unwrap();
    lock(seen).push(Request { head, body });
    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
}

fn alert(name: &str, is_resolved: bool) -> OutgoingAlert {
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    OutgoingAlert {
        labels: texts(&[("alertname", "A"), ("i", name), ("job", "x")]),
        annotations: texts(&[("summary", "s"), ("of", name)]),
        starts_at_nanos: 1_435_065_584_128_000_000,
        ends_at_nanos: 1_435_065_644_128_000_000,
        is_resolved,
        is_restored: false,
        generator_url: "http://kymo/graph".to_owned(),
    }
}

fn settings(yaml: &str) -> AlertingSettings {
    kymo_scrape::ScrapeSettings::from_yaml(yaml, Path::new("p.yml")).unwrap().alerting
}

fn options() -> NotifierOptions {
    NotifierOptions {
        external_labels: [("region".to_owned(), "eu".to_owned()), ("job".into(), "y".into())]
            .into(),
        external_url: "http://kymo".into(),
        first_retry: Duration::from_millis(10),
    }
}

#[tokio::test]
async fn an_alertmanager_gets_alerts_with_everything_that_is_configured() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!(
        "scrape_configs: []\nalerting:\n  alert_relabel_configs:\n    - {{source_labels: [i], regex: drop, action: drop}}\n  \
         alertmanagers:\n    - path_prefix: /am\n      basic_auth: {{username: u, password: p}}\n      \
         static_configs: [{{targets: ['{}', 'unused:1']}}]\n      \
         relabel_configs: [{{source_labels: [__address__], regex: 'unused.*', action: drop}}]\n      \
         alert_relabel_configs: [{{target_label: extra, replacement: e}}]\n",
        server.address
    );
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    let shown = notifier.alertmanagers();
    let url = format!("http://{}/am/api/v2/alerts", server.address);
    assert_eq!(shown.active_alertmanagers[0].url, url);
    assert_eq!(shown.dropped_alertmanagers[0].url, "http://unused:1/am/api/v2/alerts");

    notifier.notify(vec![alert("a", false), alert("drop", false)]);
    let requests = server.wait_for(1).await;
    assert!(
        requests[0].head.starts_with("POST /am/api/v2/alerts HTTP/1.1"),
        "{}",
        requests[0].head
    );
    assert!(requests[0].head.to_lowercase().contains("authorization: basic dtpw"));
    assert!(requests[0].head.to_lowercase().contains("content-type: application/json"));
    assert_eq!(
        requests[0].body,
        serde_json::json!([{
            "labels": {"alertname": "A", "i": "a", "job": "x", "region": "eu", "extra": "e"},
            "annotations": {"summary": "s", "of": "a"},
            "startsAt": "2015-06-23T13:19:44.128Z",
            "endsAt": "2015-06-23T13:20:44.128Z",
            "generatorURL": "http://kymo/graph",
        }])
    );
    notifier.shutdown().await;
}

#[tokio::test]
async fn failures_of_the_server_are_tried_again_and_refusals_are_not() {
    let server = Server::start(vec![503, 500, 200, 400]).await;
    let yaml = format!(
        "alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{}']}}]}}]}}",
        server.address
    );
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    notifier.notify(vec![alert("a", false)]);
    let requests = server.wait_for(3).await;
    assert_eq!(requests[0].body, requests[2].body);
    notifier.notify(vec![alert("b", false)]);
    server.wait_for(4).await;
    notifier.notify(vec![alert("c", false)]);
    let requests = server.wait_for(5).await;
    assert_eq!(requests[4].body[0]["labels"]["i"], "c", "what was refused is not sent again");
    let mut stats = notifier.stats();
    for _ in 0..100 {
        if stats[0].sent == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        stats = notifier.stats();
    }
    assert_eq!((stats[0].sent, stats[0].dropped, stats[0].failed_requests), (2, 1, 3));
    notifier.shutdown().await;
}

#[tokio::test]
async fn many_alerts_come_in_batches_and_a_dead_receiver_holds_up_no_other() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!(
        "alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:1', '{}']}}]}}]}}",
        server.address
    );
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    notifier.notify((0..150).map(|nth| alert(&nth.to_string(), false)).collect());
    let requests = server.wait_for(3).await;
    let sizes: Vec<usize> =
        requests.iter().map(|request| request.body.as_array().unwrap().len()).collect();
    assert_eq!(sizes, [64, 64, 22]);
    notifier.shutdown().await;
}

#[tokio::test]
async fn a_webhook_gets_alertmanagers_message_when_something_changed() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!("alerting: {{webhooks: [{{url: 'http://{}/hook?x=1'}}]}}", server.address);
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    notifier.notify(vec![alert("a", false), alert("b", false)]);
    let first = server.wait_for(1).await[0].clone();
    assert!(first.head.starts_with("POST /hook?x=1 HTTP/1.1"));
    let mut body = first.body;
    let fingerprint = body["alerts"][0]["fingerprint"].take();
    assert_eq!(fingerprint.as_str().unwrap().len(), 16);
    body["alerts"].as_array_mut().unwrap().truncate(1);
    assert_eq!(
        body,
        serde_json::json!({
            "version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0, "status": "firing",
            "receiver": "kymo", "groupLabels": {},
            "commonLabels": {"alertname": "A", "job": "x", "region": "eu"},
            "commonAnnotations": {"summary": "s"}, "externalURL": "http://kymo",
            "alerts": [{
                "status": "firing",
                "labels": {"alertname": "A", "i": "a", "job": "x", "region": "eu"},
                "annotations": {"summary": "s", "of": "a"},
                "startsAt": "2015-06-23T13:19:44.128Z", "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "http://kymo/graph", "fingerprint": null,
            }],
        })
    );
    notifier.notify(vec![alert("a", false), alert("b", true)]);
    let second = server.wait_for(2).await[1].body.clone();
    assert_eq!(second["status"], "resolved");
    assert_eq!(second["alerts"].as_array().unwrap().len(), 1, "only what changed");
    assert_eq!(second["alerts"][0]["endsAt"], "2015-06-23T13:20:44.128Z");
    notifier.shutdown().await;
}

#[tokio::test]
async fn what_waits_leaves_on_shutdown() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!("alerting: {{webhooks: [{{url: 'http://{}/'}}]}}", server.address);
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    notifier.notify((0..100).map(|nth| alert(&nth.to_string(), false)).collect());
    tokio::task::yield_now().await;
    notifier.shutdown().await;
    assert_eq!(lock(&server.requests).len(), 2);
}

#[test]
fn fingerprints_are_those_of_alertmanager() {
    assert_eq!(message::fingerprint(&BTreeMap::new()), 0xcbf2_9ce4_8422_2325);
    // FNV-1a over "a", 0xff, "b", 0xff.
    let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let mut expected: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in [b'a', 0xff, b'b', 0xff] {
        expected = (expected ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    assert_eq!(message::fingerprint(&labels), expected);
}

#[tokio::test]
async fn a_webhook_knows_after_a_reload_what_it_was_told_before() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!("alerting: {{webhooks: [{{url: 'http://{}/hook'}}]}}", server.address);
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    notifier.notify(vec![alert("a", false)]);
    server.wait_for(1).await;
    let changed = yaml.replace("/hook'", "/hook', timeout: 5s");
    for yaml in [&changed, &changed, &yaml] {
        notifier.reload(settings(yaml), options()).await.unwrap();
        notifier.notify(vec![alert("a", false)]);
    }
    notifier.notify(vec![alert("a", true)]);
    let requests = server.wait_for(2).await;
    assert_eq!(requests[1].body["status"], "resolved", "it was not told again that it fires");
    notifier.shutdown().await;
    assert_eq!(lock(&server.requests).len(), 2);
}

#[tokio::test]
async fn what_fails_to_be_prepared_changes_nothing_and_tells_no_secret() {
    let yaml = "alerting: {webhooks: [{url: 'http://127.0.0.1:1/s3cret'}]}";
    let notifier = Notifier::start(settings(yaml), options()).unwrap();
    assert_eq!(notifier.stats()[0].url, "http://127.0.0.1:1");
    let bad = yaml.replace("s3cret'", "s3cret', tls_config: {ca_file: /no/such.pem}");
    let error = notifier.reload(settings(&bad), options()).await.unwrap_err();
    assert!(error.starts_with("webhook http://127.0.0.1:1: unable to read file"), "{error}");
    assert_eq!(notifier.stats().len(), 1);
    notifier.shutdown().await;
}

#[tokio::test]
async fn an_alertmanager_is_not_told_of_the_end_of_what_is_only_known_from_before() {
    let server = Server::start(Vec::new()).await;
    let yaml = format!(
        "alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{}']}}]}}]}}",
        server.address
    );
    let notifier = Notifier::start(settings(&yaml), options()).unwrap();
    let annotations = BTreeMap::new();
    let over = OutgoingAlert { is_restored: true, annotations, ..alert("over", true) };
    notifier.notify(vec![over, alert("a", true)]);
    let requests = server.wait_for(1).await;
    assert_eq!(requests[0].body.as_array().unwrap().len(), 1, "it knows by itself");
    notifier.shutdown().await;
}
