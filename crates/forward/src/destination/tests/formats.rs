//! Files, the console, JSON, and remote-write.

use std::io::Write;
use std::sync::Mutex;

use kymo_wire::remote_write::{RequestWriter, Version, WriteRequestView};
use kymo_wire::{MetricsView, View};

use super::sink::Sink;
use super::*;
use crate::destination::pack::unpack;

fn metrics() -> Vec<u8> {
    let json = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"up","gauge":
        {"dataPoints":[{"timeUnixNano":"1000000","asInt":"1"}]}}]}]}]}"#;
    kymo_wire::json::decode(kymo_wire::Signal::Metrics, json.as_bytes()).unwrap()
}

fn series() -> Vec<u8> {
    let mut request = RequestWriter::new();
    request.series([("__name__", "up"), ("job", "a")], None, |series| series.sample(1.0, 5, 0));
    request.finish()
}

impl Node {
    fn append_metrics(&self, format: Format, compression: Compression, body: Vec<u8>) {
        self.append_as("default", Signal::Metrics, format, compression, body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn otlp_becomes_remote_write() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    node.append_numbers(0..1);
    node.append_metrics(Format::OtlpProtobuf, Compression::None, metrics());
    let endpoint = format!("{}/api/v1/write", sink.url());
    let destinations = node.start(&[to(DestinationProtocol::RemoteWrite, endpoint)]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    let taken = sink.taken();
    assert_eq!(taken.len(), 1, "traces do not go there");
    assert_eq!(taken[0].path, "/api/v1/write");
    assert_eq!(taken[0].headers["content-encoding"], "snappy");
    assert_eq!(taken[0].headers["x-prometheus-remote-write-version"], "0.1.0");
    let plain = unpack(&taken[0].body, Compression::Snappy).unwrap();
    assert_eq!(WriteRequestView::parse(&plain).unwrap().series.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_write_passes_as_it_came_or_in_the_other_version() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    let snappy = |body: Vec<u8>| snap::raw::Encoder::new().compress_vec(&body).unwrap();
    let packed = snappy(series());
    node.append_metrics(Format::RemoteWrite2, Compression::Snappy, packed.clone());
    let mut second = to(DestinationProtocol::RemoteWrite, sink.url());
    second.version = Some(2);
    let destinations = node.start(&[second]);
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    destinations.stop().await;
    let mut first = to(DestinationProtocol::RemoteWrite, sink.url());
    first.name = "first".to_owned();
    node.append_metrics(Format::RemoteWrite2, Compression::Snappy, snappy(series()));
    let destinations = node.start(&[first]);
    sink.until(|sink| sink.taken().len() >= 2).await;
    destinations.stop().await;
    let taken = sink.taken();
    assert_eq!(taken[0].body, packed);
    assert_eq!(taken[0].headers["x-prometheus-remote-write-version"], "2.0.0");
    let plain = unpack(&taken[1].body, Compression::Snappy).unwrap();
    let converted = super::super::prometheus::convert_version(&series(), Version::One).unwrap();
    assert!(plain.starts_with(&converted));
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_write_becomes_otlp() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    node.append_metrics(Format::RemoteWrite2, Compression::None, series());
    let _destinations = node.start(&[to(DestinationProtocol::Grpc, sink.url())]);
    sink.until(|sink| sink.taken().len() == 1).await;
    let taken = sink.taken().remove(0);
    assert_eq!(taken.path, kymo_wire::Signal::Metrics.grpc_path());
    assert_eq!(MetricsView::parse(&taken.body).unwrap().resources.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_json() {
    let (node, sink) = (Node::new(), Sink::taking().await);
    node.append_numbers(0..2);
    let _destinations = node.start(&[to(DestinationProtocol::HttpJson, sink.url())]);
    sink.until(|sink| !sink.taken().is_empty()).await;
    let taken = sink.taken().remove(0);
    assert_eq!(taken.headers["content-type"], "application/json");
    let request: serde_json::Value = serde_json::from_slice(&taken.body).unwrap();
    assert_eq!(request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"], "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_line_for_each_request_and_a_damaged_one_is_set_aside() {
    let node = Node::new();
    let path = node.dir.path().join("out.jsonl");
    let mut settings = DestinationSettings::new("file", DestinationProtocol::File);
    settings.path = Some(path.clone());
    node.append_numbers(0..2);
    node.append(Compression::Gzip, b"garbage".to_vec());
    node.append(Compression::None, vec![0xff; 9]);
    node.append_numbers(2..3);
    let destinations = node.start(&[settings]);
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!((status.signals[0].sent_records, status.signals[0].refused_records), (3, 2));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
    for (number, line) in text.lines().enumerate() {
        let request: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = &request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"];
        assert_eq!(*name, number.to_string());
    }
    assert_eq!(node.refused("file").len(), 2);
}

/// A console that is full until it is told otherwise.
#[derive(Default)]
struct Page {
    text: Vec<u8>,
    failures_left: usize,
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.failures_left > 0 {
            self.failures_left -= 1;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_says_what_came_and_a_full_disk_is_waited_for() {
    let node = Node::new();
    let page = Arc::new(Mutex::new(Page { failures_left: 2, ..Page::default() }));
    let mut settings = DestinationSettings::new("out", DestinationProtocol::Console);
    settings.retry.first = Duration::from_millis(1);
    node.append(Compression::None, traces(&[(1, "a"), (2, "b")]));
    node.append_metrics(Format::OtlpProtobuf, Compression::None, metrics());
    let mut options = StartOptions::new(node.dir.path(), Handle::current());
    options.console = page.clone();
    let destinations = Destinations::start(node.journal(), &[settings], &options).unwrap();
    let status = until_status(&destinations, |status| status.lag_bytes == 0).await;
    assert_eq!(status.retries, 2);
    let text = String::from_utf8(page.lock().unwrap().text.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("out: traces of default: 2 spans of 1 resources"), "{text}");
    assert!(lines[1].starts_with("out: metrics of default: 1 metrics of 1 resources"), "{text}");
}

#[test]
fn settings_that_make_no_sense_start_nothing() {
    let node = Node::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = StartOptions::new(node.dir.path(), runtime.handle().clone());
    let start = |settings: DestinationSettings| {
        let started = Destinations::start(node.journal(), &[settings], &options);
        started.unwrap_err().to_string()
    };
    let said = start(DestinationSettings::new("hub", DestinationProtocol::Grpc));
    assert!(said.contains("destination \"hub\": endpoint:"), "{said}");
    let mut settings = to(DestinationProtocol::Grpc, "https://127.0.0.1:1".to_owned());
    settings.tls.ca = Some("/no/such/ca.pem".into());
    let said = start(settings);
    assert!(said.contains("/no/such/ca.pem"), "{said}");
}
