//! `kymo sql` and `kymo trace` on a directory, with and without a server beside.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod common;

use common::{Place, logs, metrics, traces};
use prost::Message;

/// A directory with 40 spans in 10 traces, 5 log records and 6 points.
fn filled() -> Place {
    let place = Place::new();
    place.write("traces.pb", traces(0, 40).encode_to_vec());
    place.write("logs.pb", logs(5).encode_to_vec());
    place.write("metrics.pb", metrics(6).encode_to_vec());
    place.import(&["traces.pb"], &[]).expect(0);
    place.import(&["logs.pb"], &["--signal", "logs"]).expect(0);
    place.import(&["metrics.pb"], &["--signal", "metrics"]).expect(0);
    place
}

#[test]
fn rows_of_a_directory_are_a_table() {
    let place = filled();
    let query = "SELECT name, count(*) AS spans FROM spans GROUP BY name ORDER BY name";
    let ran = place.kymo(&["sql", query, "--data", "data"]).expect(0);
    assert_eq!(
        ran.stdout,
        "name    spans\nstep 0     10\nstep 1     10\nstep 2     10\nstep 3     10\n(4 rows)\n"
    );
    let query = "SELECT trace_id, span_id, parent_span_id, kind, start_time FROM spans \
                 ORDER BY start_time LIMIT 2";
    let ran = place.kymo(&["sql", query, "--data", "data"]).expect(0);
    assert_eq!(
        ran.stdout,
        "\
trace_id                          span_id           parent_span_id    kind    start_time
00000000000000000000000000000001  0000000000000001  NULL              server  2026-01-02T03:04:05Z
00000000000000000000000000000001  0000000000000002  0000000000000001  server  2026-01-02T03:04:05.000001Z
(2 rows)
"
    );
}

#[test]
fn programs_get_json_csv_and_arrow() {
    let place = filled();
    let query = "SELECT name, \"span.http.route\" AS route FROM spans ORDER BY start_time LIMIT 1";
    let sql = |format| place.kymo(&["sql", query, "--data", "data", "--format", format]).expect(0);
    assert_eq!(sql("json").stdout, "[\n{\"name\":\"step 0\",\"route\":\"/cart\"}\n]\n");
    assert_eq!(sql("jsonl").stdout, "{\"name\":\"step 0\",\"route\":\"/cart\"}\n");
    assert_eq!(sql("csv").stdout, "name,route\r\nstep 0,/cart\r\n");
    let arguments = ["sql", query, "--data", "data", "--format", "arrow"];
    let output = place.command().args(arguments).output().unwrap().stdout;
    let reader = arrow_ipc::reader::StreamReader::try_new(&output[..], None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
}

#[test]
fn wrong_queries_and_places_say_what_is_wrong() {
    let place = filled();
    let ran = place.kymo(&["sql", "SELECT * FROM spam", "--data", "data"]).expect(1);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("spam"), "{}", ran.stderr);
    let ran = place.kymo(&["sql", "SELECT 1", "--data", "absent"]).expect(1);
    assert!(ran.stderr.starts_with("error: there is no directory absent"), "{}", ran.stderr);
    assert!(!place.path("absent").exists(), "looking creates nothing");
    std::fs::create_dir(place.path("empty")).unwrap();
    let ran = place.kymo(&["sql", "SELECT 1", "--data", "empty"]).expect(1);
    assert!(ran.stderr.contains("no store in empty"), "{}", ran.stderr);
    assert!(place.files("empty").is_empty(), "looking creates nothing");
}

#[test]
fn data_in_a_message_cannot_move_the_cursor() {
    let place = Place::new();
    let mut request = traces(0, 1);
    request.resource_spans[0].scope_spans[0].spans[0].name = "\u{1b}[2Jred\u{202e}\n".into();
    place.write("t.pb", request.encode_to_vec());
    place.import(&["t.pb"], &[]).expect(0);
    let query = "SELECT CAST(name AS BIGINT) FROM spans";
    let ran = place.kymo(&["sql", query, "--data", "data"]).expect(1);
    assert!(ran.stderr.contains("\\u{1b}[2Jred\\u{202e}\\n"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_trace_of_a_directory_is_a_tree() {
    let place = filled();
    let ran = place.kymo(&["trace", "2", "--data", "data", "--attributes"]).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "trace 00000000000000000000000000000002  4 spans, 1 service, 0 errors, 3.50 µs from \
         2026-01-02T03:04:05.000004000Z"
    );
    let names: Vec<&str> =
        lines[3..].iter().map(|line| line.split("  shop").next().unwrap()).collect();
    assert_eq!(names[0].trim_end(), "step 0");
    assert_eq!(names[1], "│ · http.route = /cart");
    assert_eq!(names[2].trim_end(), "└─ step 1");
    assert_eq!(names[6].trim_end(), "      └─ step 3");
    let json = place.kymo(&["trace", "2", "--data", "data", "--format", "json"]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len() == 4);
    let ran = place.kymo(&["trace", "77", "--data", "data"]).expect(1);
    assert!(ran.stderr.starts_with("error: there is no trace 00000000000000000000000000000077"));
    let ran = place.kymo(&["trace", "2", "--data", "data", "--tenant", "other"]).expect(1);
    assert!(ran.stderr.contains("of tenant other in data"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::io::Read;
    use std::process::Stdio;
    let place = filled();
    let query = "SELECT a.name FROM spans a, spans b, spans c";
    let mut command = place.command();
    command.args(["sql", query, "--data", "data", "--format", "csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
