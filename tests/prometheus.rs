//! Prometheus' API over HTTP: remote-write in, PromQL out, and what Grafana asks.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::metrics::{START, counters, write};
use harness::otlp::rich_metrics;
use harness::{Answer, Encoding, Server, Signal};
use kymo_wire::remote_write::RequestWriter;
use prost::Message;
use serde_json::{Value, json};

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

#[test]
fn samples_are_given_by_remote_read() {
    use kymo_wire::View as _;
    use kymo_wire::encode::Writer;
    use kymo_wire::remote_write::WriteRequestView;

    let server = server();
    let mut request = Writer::new();
    request.message(1, |query| {
        query.varint_field(1, (START * 1000) as u64);
        query.varint_field(2, ((START + 120) * 1000) as u64);
        for (name, value) in [("__name__", "jobs_total"), ("job", "build")] {
            query.message(3, |matcher| {
                matcher.bytes_field(2, name.as_bytes());
                matcher.bytes_field(3, value.as_bytes());
            });
        }
    });
    let packed = snap::raw::Encoder::new().compress_vec(request.as_slice()).unwrap();
    let url = server.url("/prometheus/api/v1/read");
    let answer = Answer::of(reqwest::blocking::Client::new().post(url).body(packed)).expect(200);
    let plain = snap::raw::Decoder::new().decompress_vec(&answer.body).unwrap();
    // A response holds results as a request to write holds series, one level deeper.
    let result = WriteRequestView::parse(&plain).unwrap().series.raws().next().unwrap().unwrap();
    let series = WriteRequestView::parse(result).unwrap().series;
    let series: Vec<_> = series.into_iter().map(Result::unwrap).collect();
    assert_eq!(series.len(), 1);
    let samples: Vec<_> = series[0].samples.into_iter().map(|sample| sample.unwrap()).collect();
    let pairs: Vec<(i64, f64)> = samples.iter().map(|s| (s.time_millis, s.value)).collect();
    let at = |minute: i64| (START + minute * 60) * 1000;
    assert_eq!(pairs, [(at(0), 0.0), (at(1), 60.0), (at(2), 120.0)]);
}

#[test]
fn samples_beyond_the_window_are_refused_and_counted_and_others_are_kept() {
    let server = Server::with(&["--limits-metrics-window", "1h"]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_millis() as i64;
    let mut writer = RequestWriter::new();
    writer.series([("__name__", "late")], None, |series| {
        series.sample(1.0, now - 2 * 3_600_000, 0);
        series.sample(2.0, now - 1_800_000, 0);
        series.sample(3.0, now - 60_000, 0);
    });
    let said = write(&server, 2, &writer.finish()).expect(400).text();
    assert!(said.contains("older than limits.metrics_window"), "{said}");
    let count = data(&server, "query", &[("query", "count_over_time(late[6h])")]);
    assert_eq!(count["result"][0]["value"][1], "2");
    let counted = server.get("/metrics").expect(200).text();
    let refused =
        "kymo_refused_records_total{signal=\"metrics\",tenant=\"default\",reason=\"too_old\"} 1";
    assert!(counted.contains(refused), "{counted}");
}

#[test]
fn labels_that_stand_for_more_than_is_sent_are_refused() {
    let server = Server::start();
    let long = "x".repeat(200 << 10);
    let mut writer = RequestWriter::new();
    let labels = [("__name__", "bomb"), ("a", &*long), ("b", &*long)];
    writer.series(labels, None, |series| series.sample(1.0, START * 1000, 0));
    writer.series([("__name__", "fine")], None, |series| {
        series.sample(1.0, START * 1000, 0);
        series.exemplar([("trace_id", &*long)], 1.0, START * 1000);
    });
    let said = write(&server, 2, &writer.finish()).expect(400).text();
    assert!(said.contains("labels are longer than allowed"), "{said}");
    let time = START.to_string();
    let found = data(&server, "query", &[("query", "{__name__=~\".+\"}"), ("time", &time)]);
    assert_eq!(found["result"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn alerts_lead_to_a_page_with_their_expression() {
    let server = server();
    let stays = reqwest::redirect::Policy::none();
    let client = reqwest::blocking::Client::builder().redirect(stays).build().unwrap();
    let url =
        server.url("/prometheus/graph?g0.expr=jobs_total%7Bjob%3D%22build%22%7D+%2B+1&g0.tab=1");
    let answer = client.get(url).send().unwrap();
    let page = "/explore/metrics?q=jobs_total%7Bjob%3D%22build%22%7D%20%2B%201";
    assert_eq!(answer.headers()["location"], page);
    assert!(server.get(page).expect(200).text().contains("<base href=\"/\">"));
}

#[test]
fn deltas_go_on_from_one_row_to_the_next() {
    let server = Server::start();
    // More points than a row has.
    let points = 600;
    for part in 0..4 {
        let nanos = |nth: i64| ((START + nth * 15) * 1_000_000_000).to_string();
        let data_points: Vec<Value> = (part * points / 4..(part + 1) * points / 4)
            .map(|nth| {
                json!({
                    "startTimeUnixNano": nanos(nth - 1), "timeUnixNano": nanos(nth), "asInt": "2",
                })
            })
            .collect();
        let request = json!({"resourceMetrics": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "queue"}}]},
            "scopeMetrics": [{"metrics": [{"name": "moved", "sum": {
                "aggregationTemporality": 1, "isMonotonic": true, "dataPoints": data_points}}]}],
        }]});
        server.send(Signal::Metrics, Encoding::Json, request.to_string()).expect(200);
    }
    let end = (START + (points - 1) * 15).to_string();
    let query = [("query", "moved_total[3h]"), ("time", &*end)];
    let found = data(&server, "query", &query);
    let values = found["result"][0]["values"].as_array().unwrap();
    assert_eq!(values.len() as i64, points);
    for (nth, value) in values.iter().enumerate() {
        assert_eq!(value[1], ((nth + 1) * 2).to_string(), "point {nth}");
    }
}
