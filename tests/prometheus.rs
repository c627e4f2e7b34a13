//! Prometheus' API over HTTP: remote-write in, PromQL out, and what Grafana asks.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::otlp::rich_metrics;
use harness::{Answer, Server, Signal};
use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter};
use prost::Message;
use serde_json::{Value, json};

/// When the samples begin, in seconds.
const START: i64 = 1_700_000_000;

/// A request of remote-write 2.0: a counter of two jobs, each minute for ten minutes.
fn counters() -> Vec<u8> {
    let mut writer = RequestWriter::new();
    for (job, step) in [("build", 60.0), ("test", 30.0)] {
        let labels = [("__name__", "jobs_total"), ("job", job), ("runner", "gpu-a100")];
        let metadata =
            Metadata { metric_type: MetadataType::Counter, help: "Jobs that ended.", unit: "" };
        writer.series(labels, Some(metadata), |series| {
            for minute in 0..=10 {
                let value = step * f64::from(minute);
                series.sample(value, (START + i64::from(minute) * 60) * 1000, 0);
            }
            let trace = "5b8efff798038103d269b633813fc60c";
            series.exemplar([("trace_id", trace)], 7.0, (START + 600) * 1000);
        });
    }
    writer.finish()
}

fn write(server: &Server, version: u8, body: &[u8]) -> Answer {
    let content_type = match version {
        1 => "application/x-protobuf",
        _ => "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    };
    let packed = snap::raw::Encoder::new().compress_vec(body).unwrap();
    let request = reqwest::blocking::Client::new()
        .post(server.url("/prometheus/api/v1/write"))
        .header("content-type", content_type)
        .header("content-encoding", "snappy")
        .body(packed);
    Answer::of(request)
}

fn get(server: &Server, path: &str, parameters: &[(&str, &str)]) -> Answer {
    let url = server.url(&format!("/prometheus/api/v1/{path}"));
    Answer::of(reqwest::blocking::Client::new().get(url).query(parameters))
}

fn data(server: &Server, path: &str, parameters: &[(&str, &str)]) -> Value {
    let answer = get(server, path, parameters).expect(200).json();
    assert_eq!(answer["status"], "success", "{answer}");
    answer["data"].clone()
}

fn server() -> Server {
    let server = Server::start();
    let answer = write(&server, 2, &counters()).expect(204);
    assert_eq!(answer.header("x-prometheus-remote-write-samples-written"), "22");
    server
}

#[test]
fn what_was_written_is_answered_in_promql() {
    let server = server();
    let end = (START + 600).to_string();
    let vector =
        data(&server, "query", &[("query", "sum by (job) (rate(jobs_total[5m]))"), ("time", &end)]);
    assert_eq!(
        vector,
        json!({ "resultType": "vector", "result": [
            { "metric": { "job": "build" }, "value": [START + 600, "1"] },
            { "metric": { "job": "test" }, "value": [START + 600, "0.5"] },
        ]})
    );
    let start = START.to_string();
    let range = [("start", start.as_str()), ("end", &end), ("step", "5m")];
    let query = [&range[..], &[("query", "jobs_total{job=\"build\"}")]].concat();
    let matrix = data(&server, "query_range", &query);
    let values = json!([[START, "0"], [START + 300, "300"], [START + 600, "600"]]);
    assert_eq!(matrix["result"][0]["values"], values);
    // As Grafana tests a data source.
    let health = data(&server, "query", &[("query", "1+1"), ("time", "4")]);
    assert_eq!(health, json!({ "resultType": "scalar", "result": [4, "2"] }));
    assert!(data(&server, "status/buildinfo", &[]).get("features").is_none());
}

#[test]
fn labels_metadata_and_exemplars_are_told() {
    let server = server();
    assert_eq!(data(&server, "labels", &[]), json!(["__name__", "job", "runner"]));
    assert_eq!(data(&server, "label/job/values", &[]), json!(["build", "test"]));
    let of_test = [("match[]", "jobs_total{job=\"test\"}")];
    assert_eq!(data(&server, "label/job/values", &of_test), json!(["test"]));
    assert_eq!(data(&server, "label/nobody/values", &[]), json!([]));
    let series = data(&server, "series", &of_test);
    let labels = json!({ "__name__": "jobs_total", "job": "test", "runner": "gpu-a100" });
    assert_eq!(series, json!([labels]));
    let metadata = json!({ "jobs_total": [
        { "type": "counter", "help": "Jobs that ended.", "unit": "" }
    ]});
    assert_eq!(data(&server, "metadata", &[]), metadata);
    let (start, end) = (START.to_string(), (START + 3600).to_string());
    let query =
        [("query", "rate(jobs_total{job=\"build\"}[5m])"), ("start", &start), ("end", &end)];
    let exemplars = data(&server, "query_exemplars", &query);
    let exemplar = &exemplars[0]["exemplars"][0];
    assert_eq!(exemplar["labels"]["trace_id"], "5b8efff798038103d269b633813fc60c");
    assert_eq!((&exemplar["value"], &exemplar["timestamp"]), (&json!("7"), &json!(START + 600)));
    // As Grafana asks whether there are exemplars at all: in milliseconds.
    let probe = [("query", "test"), ("start", "1700000000000"), ("end", "1700000060000")];
    assert_eq!(data(&server, "query_exemplars", &probe), json!([]));
}

#[test]
fn bad_questions_are_refused_as_prometheus_does() {
    let server = Server::start();
    let error = |path: &str, parameters: &[(&str, &str)], status: u16, kind: &str| {
        let answer = get(&server, path, parameters).expect(status).json();
        assert_eq!((&answer["status"], &answer["errorType"]), (&json!("error"), &json!(kind)));
        answer["error"].as_str().unwrap().to_owned()
    };
    let query = |text| [("query", text), ("time", "0")];
    let parse = error("query", &query("sum("), 400, "bad_data");
    assert!(parse.starts_with("invalid parameter \"query\": 1:5: parse error: "), "{parse}");
    error(
        "query",
        &query("label_replace(vector(1), \"a\", \"b\", \"c\", \"(\")"),
        422,
        "execution",
    );
    let range =
        |start, end, step| [("query", "up"), ("start", start), ("end", end), ("step", step)];
    let many = error("query_range", &range("0", "100000", "1"), 400, "bad_data");
    assert!(many.contains("11,000 points"), "{many}");
    error("query_range", &range("10", "0", "1"), 400, "bad_data");
    error("query_range", &range("0", "10", "0"), 400, "bad_data");
    error("query_range", &range("never", "10", "1"), 400, "bad_data");
    error("series", &[], 400, "bad_data");
    error("series", &[("match[]", "{a=\"\"}")], 400, "bad_data");
    let corrupt = reqwest::blocking::Client::new()
        .post(server.url("/prometheus/api/v1/write"))
        .header("content-type", "application/x-protobuf")
        .body("not snappy");
    Answer::of(corrupt).expect(400);
    let json = reqwest::blocking::Client::new()
        .post(server.url("/prometheus/api/v1/write"))
        .header("content-type", "application/json")
        .body("{}");
    Answer::of(json).expect(415);
}

#[test]
fn metrics_of_otlp_have_names_and_labels_of_prometheus() {
    let server = Server::start();
    server.store(Signal::Metrics, rich_metrics().encode_to_vec());
    let names = data(&server, "label/__name__/values", &[]);
    let names: Vec<&str> = names.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with("_bucket")), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("_total")), "{names:?}");
    for name in names {
        let selector = format!("last_over_time({name}[100y])");
        let vector = data(&server, "query", &[("query", &selector), ("time", "4102444800")]);
        assert!(!vector["result"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn series_survive_a_restart_and_a_flush() {
    let mut server = server();
    let count = |server: &Server| {
        let end = (START + 600).to_string();
        let query = [("query", "count_over_time(jobs_total[11m])"), ("time", end.as_str())];
        data(server, "query", &query)["result"].clone()
    };
    let before = count(&server);
    assert_eq!(before[0]["value"][1], "11");
    server.stop();
    server.start_again();
    assert_eq!(count(&server), before);
    // Once more, out of order and partly anew: what came later counts.
    let mut writer = RequestWriter::new();
    let labels = [("__name__", "jobs_total"), ("job", "build"), ("runner", "gpu-a100")];
    writer.series(labels, None, |series| {
        series.sample(1000.0, (START + 600) * 1000, 0);
        series.sample(5.0, (START + 330) * 1000, 0);
    });
    write(&server, 2, &writer.finish()).expect(204);
    assert_eq!(count(&server)[0]["value"][1], "12");
    let end = (START + 600).to_string();
    let query = [("query", "jobs_total{job=\"build\"}"), ("time", end.as_str())];
    assert_eq!(data(&server, "query", &query)["result"][0]["value"][1], "1000");
}
