//! Asking: SQL in its forms and with its limits, traces by id, and the server about itself.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use harness::otlp::{rich_traces, spans};
use harness::raw::{Raw, post};
use harness::{Answer, Server, Signal, eventually};
use prost::Message;
use serde_json::json;

const SOON: Duration = Duration::from_secs(10);
const JSON: &str = "application/json";

/// Runs for long over a thousand spans, and has nothing to answer before its end.
const ENDLESS: &str = "SELECT sum(a.duration_nanos * b.duration_nanos + c.duration_nanos) \
                       FROM spans a CROSS JOIN spans b CROSS JOIN spans c";

/// A server with so many spans, named `load-s0`, `load-s1` and so on.
fn with_spans(flags: &[&str], count: u64) -> Server {
    let server = Server::with(flags);
    server.store(Signal::Traces, spans("load", 0, count).encode_to_vec());
    server
}

#[test]
fn json_csv_and_arrow_have_the_same_rows() {
    let server = with_spans(&[], 3);
    let query = "SELECT name, duration_nanos, span_id, start_time, parent_span_id AS \"a \"\"b\"\"\" \
                 FROM spans ORDER BY name";
    let answer = server.ask(query, JSON).expect(200);
    assert_eq!(answer.header("content-type"), JSON);
    let document = answer.json();
    assert_eq!(document["row_count"], 3);
    let names: Vec<_> =
        document["columns"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["name", "duration_nanos", "span_id", "start_time", "a \"b\""]);
    let time = document["rows"][1][3].as_str().unwrap().to_owned();
    assert!(time.starts_with("2026-01-02T03:04:05.000000001"), "{time}");
    let row = json!(["load-s1", 500, "0000000000000002", time, "0000000000000001"]);
    assert_eq!(document["rows"][1], row);

    let answer = server.ask(query, "text/csv").expect(200);
    assert!(answer.header("content-type").starts_with("text/csv"));
    let text = answer.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "name,duration_nanos,span_id,start_time,\"a \"\"b\"\"\"");
    assert_eq!(lines[2], format!("load-s1,500,0000000000000002,{time},0000000000000001"));
    assert_eq!(lines.len(), 4);

    let answer = server.ask(query, "application/vnd.apache.arrow.stream").expect(200);
    assert_eq!(answer.header("content-type"), "application/vnd.apache.arrow.stream");
    let reader = arrow_ipc::reader::StreamReader::try_new(&*answer.body, None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let durations = batches[0].column_by_name("duration_nanos").unwrap();
    let durations = durations.as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(durations.values(), &[500; 3]);
}

#[test]
fn a_query_is_sent_as_json_or_as_text() {
    let server = with_spans(&[], 3);
    let body = json!({"query": "SELECT count(*) AS n FROM spans"}).to_string();
    assert_eq!(server.sql(&body).rows, [[3]]);
    assert_eq!(server.sql("  SELECT count(*) AS n FROM spans ").rows, [[3]]);
    assert_eq!(server.sql("SELECT name FROM spans WHERE name = 'nobody'").rows.len(), 0);
    let plan = server.sql("EXPLAIN SELECT count(*) FROM spans WHERE name = 'x'");
    assert!(format!("{plan:?}").contains("name"), "{plan:?}");
}

#[test]
fn what_was_acknowledged_is_seen_by_the_next_query() {
    let server = Server::start();
    for number in 0..50 {
        server.store(Signal::Traces, Signal::Traces.small(number));
        assert_eq!(server.count(Signal::Traces), (number + 1) * harness::otlp::RECORDS);
    }
}

#[test]
fn a_wrong_query_is_told_what_is_wrong() {
    let server = with_spans(&[], 3);
    for (query, word) in [
        ("SELEC name FROM spans", "SELEC"),
        ("SELECT name FROM spams", "spams"),
        ("SELECT nme FROM spans", "nme"),
        ("SELECT name FROM spans WHERE duration_nanos = 'ten'", "ten"),
        ("SELECT foo(name) FROM spans", "foo"),
        ("", "empty"),
        ("{\"sql\": \"SELECT 1\"}", "query"),
    ] {
        let answer = server.ask(query, JSON).expect(400);
        assert_eq!(answer.header("content-type"), JSON);
        let message = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(message.contains(word), "{query}: {message}");
        assert!(!message.contains("DataFusion"), "{message}");
    }
    let other = Answer::of(server.client.get(server.url("/api/sql")));
    assert_eq!(other.status, 405);
}

#[test]
fn a_query_cannot_write_read_files_or_reach_the_network() {
    let server = with_spans(&[], 3);
    let file = server.place().join("secret.csv");
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    let path = file.display();
    for query in [
        "CREATE TABLE t (a INT)".to_owned(),
        "CREATE VIEW v AS SELECT 1".to_owned(),
        "INSERT INTO spans VALUES (1)".to_owned(),
        "DELETE FROM spans".to_owned(),
        "UPDATE spans SET name = 'x'".to_owned(),
        "DROP TABLE spans".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        format!("COPY spans TO '{path}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{path}'"),
    ] {
        let answer = server.ask(&query, JSON).expect(403);
        assert!(!answer.json()["error"].as_str().unwrap().is_empty());
    }
    for query in [
        format!("SELECT * FROM '{path}'"),
        format!("SELECT * FROM read_csv('{path}')"),
        format!("SELECT * FROM \"file://{path}\""),
        "SELECT * FROM 's3://bucket/x.parquet'".to_owned(),
    ] {
        let status = server.ask(&query, JSON).status;
        assert!(status == 400 || status == 403, "{query}: {status}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a,b\n1,2\n");
    assert_eq!(server.count(Signal::Traces), 3);
}

#[test]
fn a_query_beyond_its_memory_is_refused_and_the_server_lives() {
    let server = with_spans(&["--query-memory", "16MiB", "--query-memory-per-query", "8MiB"], 3000);
    let before_bytes = server.peak_memory_bytes();
    let greedy = "SELECT a.name AS x, b.name AS y, count(*) FROM spans a CROSS JOIN spans b \
                  GROUP BY 1, 2 ORDER BY 3, 1, 2";
    let answer = server.ask(greedy, JSON).expect(422);
    let message = answer.json()["error"].as_str().unwrap().to_owned();
    assert!(message.contains("8 MiB of memory"), "{message}");
    let grown = (server.peak_memory_bytes() - before_bytes) >> 20;
    assert!(grown < 100, "{grown} MiB more for a query of 8 MiB");
    assert_eq!(server.count(Signal::Traces), 3000);
    eventually(SOON, "all is given back", || server.metric("kymo_query_memory_bytes", &[]) == 0.0);
}

#[test]
fn rows_and_time_have_limits_that_are_errors_and_never_cut() {
    let server = with_spans(&["--query-max-rows", "100"], 1000);
    assert_eq!(server.sql("SELECT name FROM spans LIMIT 100").rows.len(), 100);
    let answer = server.ask("SELECT name FROM spans LIMIT 101", JSON);
    assert!(answer.text().contains("more than 100 rows"), "{}", answer.text());
    assert_eq!(answer.status, 422);

    // Of its own: on a machine that is busy, an ordinary query may take as long.
    let server = with_spans(&["--query-timeout", "300ms"], 1000);
    let began = Instant::now();
    let answer = server.ask(ENDLESS, JSON).expect(504);
    assert!(answer.text().contains("0.3 s"), "{}", answer.text());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    eventually(SOON, "nothing runs on", || server.metric("kymo_queries_running", &[]) == 0.0);
}

/// Asks many times at once; the statuses.
fn at_once(server: &Server, count: usize, query: &str) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let asking: Vec<_> =
            (0..count).map(|_| scope.spawn(move || server.ask(query, JSON))).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    })
}

#[test]
fn a_hundred_queries_at_once_are_all_answered() {
    let server = with_spans(&[], 2000);
    let query = "SELECT name, count(*) FROM spans GROUP BY name ORDER BY name LIMIT 3";
    for answer in at_once(&server, 100, query) {
        let rows = answer.expect(200).json()["rows"].clone();
        assert_eq!(rows, json!([["load-s0", 1], ["load-s1", 1], ["load-s10", 1]]));
    }
}

#[test]
fn queries_beyond_the_queue_are_asked_to_come_again() {
    let server = with_spans(&["--query-max-running", "1", "--query-max-waiting", "2"], 1000);
    let query = "SELECT count(*) FROM spans a, spans b WHERE a.name || b.name LIKE '%x%'";
    let answers = at_once(&server, 30, query);
    let (mut answered, mut refused) = (0, 0);
    for answer in answers {
        match answer.status {
            200 => answered += 1,
            429 => {
                assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
                refused += 1;
            }
            status => panic!("{status}: {}", answer.text()),
        }
    }
    assert!(answered >= 3 && refused >= 1, "{answered} answered, {refused} refused");
    assert_eq!(server.count(Signal::Traces), 1000);
}

#[test]
fn a_client_that_hangs_up_ends_its_query() {
    let server = with_spans(&[], 1000);
    // More than sockets hold, so that it waits for its reader.
    let rows = "SELECT a.trace_id, b.trace_id, a.name, b.name FROM spans a CROSS JOIN spans b";
    for (nth, query) in [rows, ENDLESS].into_iter().enumerate() {
        let scanned = server.metric("kymo_query_rows_scanned_total", &[]);
        let mut raw = Raw::connect(server.http());
        raw.write(&post("/api/sql", "text/plain", query.as_bytes()));
        if query == rows {
            // It has begun to answer, and would go on for long.
            raw.stream().read_exact(&mut [0; 1000]).unwrap();
        }
        // It is past its planning when it has read something.
        eventually(SOON, "it runs", || {
            server.metric("kymo_query_rows_scanned_total", &[]) > scanned
        });
        assert_eq!(server.metric("kymo_queries_running", &[]), 1.0);
        drop(raw);
        eventually(SOON, "it has ended", || {
            server.metric("kymo_queries_running", &[]) == 0.0
                && server.metric("kymo_queries_cancelled_total", &[]) == (nth + 1) as f64
        });
    }
    assert_eq!(server.count(Signal::Traces), 1000);
}

#[test]
fn a_large_answer_is_streamed_in_little_memory() {
    let server = with_spans(&[], 1500);
    let before_bytes = server.peak_memory_bytes();
    let query = "SELECT a.name, b.name, a.trace_id FROM spans a CROSS JOIN spans b";
    let request = server.client.post(server.url("/api/sql")).header("accept", "text/csv");
    let mut response = request.body(query).send().unwrap();
    assert_eq!(response.status(), 200);
    let mut lines = Lines::default();
    std::io::copy(&mut response, &mut lines).unwrap();
    assert_eq!(lines.count, 1 + 1500 * 1500, "of {} MiB", lines.bytes >> 20);
    let grown = (server.peak_memory_bytes() - before_bytes) >> 20;
    let answer = lines.bytes >> 20;
    assert!(answer > 80 && grown < 60, "{grown} MiB more for an answer of {answer} MiB");
}

/// Counts what is written to it.
#[derive(Default)]
struct Lines {
    count: usize,
    bytes: usize,
}

impl Write for Lines {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.count += piece.iter().filter(|byte| **byte == b'\n').count();
        self.bytes += piece.len();
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_reader_does_not_delay_senders() {
    let server = with_spans(&[], 2000);
    let query = "SELECT a.name, b.name FROM spans a CROSS JOIN spans b";
    let readers: Vec<Raw> = (0..8)
        .map(|_| {
            let mut raw = Raw::connect(server.http());
            raw.write(&post("/api/sql", "text/plain", query.as_bytes()));
            raw
        })
        .collect();
    let began = Instant::now();
    for number in 1..20 {
        server.store(Signal::Logs, Signal::Logs.small(number));
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    drop(readers);
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

#[test]
fn a_trace_is_json_with_base64_ids_unless_protobuf_is_asked_for() {
    let server = Server::start();
    let id = u128::from_str_radix(TRACE, 16).unwrap();
    let sent = rich_traces(id);
    server.store(Signal::Traces, sent.encode_to_vec());

    let one = server.get(&format!("/tempo/api/traces/{TRACE}")).expect(200);
    assert_eq!(one.header("content-type"), JSON);
    let one = one.json();
    let span = &one["batches"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], "CvdlGRbNQ92ESOshHIAxnA==", "{one}");
    assert_eq!(span["spanId"], "AQEBAQEBAQE=");
    assert_eq!(span["kind"], "SPAN_KIND_SERVER");
    assert_eq!(span["status"], json!({"code": "STATUS_CODE_ERROR", "message": "card declined"}));
    assert_eq!(span["startTimeUnixNano"], "1767323045000000001");
    assert_eq!(span["attributes"].as_array().unwrap().len(), 10);

    let two = server.get(&format!("/tempo/api/v2/traces/{TRACE}")).expect(200).json();
    assert_eq!(two["trace"]["resourceSpans"], one["batches"]);
    assert!(two["metrics"].is_object(), "{two}");

    let path = format!("/tempo/api/v2/traces/{TRACE}");
    let request = server.client.get(server.url(&path)).header("accept", "application/protobuf");
    let answer = Answer::of(request).expect(200);
    let response = TraceByIdResponse::decode(&*answer.body).unwrap();
    assert_eq!(response.trace.unwrap(), harness::readback::trace(&server, &id.to_be_bytes()));
    assert!(response.metrics.is_some() && response.status == 0 && response.message.is_empty());
}

/// Tempo's answer, with metrics left as they are.
#[derive(Clone, PartialEq, Message)]
struct TraceByIdResponse {
    #[prost(message, tag = "1")]
    trace: Option<opentelemetry_proto::tonic::trace::v1::TracesData>,
    #[prost(message, tag = "2")]
    metrics: Option<()>,
    #[prost(int32, tag = "3")]
    status: i32,
    #[prost(string, tag = "4")]
    message: String,
}

#[test]
fn an_unknown_trace_is_404_or_empty_and_what_is_no_id_is_400() {
    let server = with_spans(&[], 2);
    // Leading zeros may be missing.
    assert_eq!(server.get("/tempo/api/traces/1").expect(200).json()["batches"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/tempo/api/traces/2").expect(404).text(), "");
    let empty = server.get("/tempo/api/v2/traces/2").expect(200).json();
    assert_eq!(empty["trace"], json!({}));
    for bad in ["x", "0x1", "-1", &"1".repeat(33), "a%20b"] {
        for version in ["", "v2/"] {
            let answer = server.get(&format!("/tempo/api/{version}traces/{bad}")).expect(400);
            assert!(answer.text().contains("hexadecimal"), "{}", answer.text());
        }
    }
    assert_eq!(server.get("/tempo/api/echo").expect(200).text(), "echo");
}

#[test]
fn the_server_tells_about_itself() {
    let server = with_spans(&[], 4);
    server.get("/ready").expect(200);
    server.get("/healthz").expect(200);
    server.sql("SELECT 1");
    let answer = server.get("/metrics").expect(200);
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let text = answer.text();
    check_openmetrics(&text);
    let labels = ["signal=\"traces\"", "tenant=\"default\""];
    assert_eq!(server.metric("kymo_received_records_total", &labels), 4.0);
    assert_eq!(server.metric("kymo_received_requests_total", &labels), 1.0);
    assert_eq!(server.metric("kymo_acknowledge_seconds_count", &["signal=\"traces\""]), 1.0);
    assert_eq!(server.metric("kymo_query_seconds_count", &["outcome=\"ok\""]), 1.0);
    assert_eq!(server.metric("kymo_store_head_rows", &["signal=\"traces\""]), 4.0);
}

/// Every sample belongs to a family with a type, every family is there once, and the end is marked.
fn check_openmetrics(text: &str) {
    assert!(text.ends_with("# EOF\n"));
    let mut family = ("", "");
    let mut families = std::collections::BTreeSet::new();
    let mut series = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split_once(' ').unwrap();
            assert!(families.insert(family.0), "{} is there twice", family.0);
        } else if !line.starts_with("# ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(series.insert(name), "{name} is there twice");
            let suffix = name.split('{').next().unwrap().strip_prefix(family.0);
            let suffixes: &[&str] = match family.1 {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(
                suffix.is_some_and(|suffix| suffixes.contains(&suffix)),
                "{line} in {family:?}"
            );
        }
    }
    assert!(families.len() > 20, "{families:?}");
}
