//! `kymo replay`, `kymo open`, `kymo import`: recorded files, sent, looked at and stored.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::programs::{kymo, left_out, run};
use harness::{Server, Signal, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;
/// When the recorded session was, in seconds since 1970.
const BEGAN: u64 = 1_700_000_000;
const TRACE: &str = "0123456789abcdef0123456789abcdef";

/// What is in the files below.
const SPANS: u64 = 2;
const POINTS: u64 = 1;
const LOGS: u64 = 3;

fn nanos(seconds: u64) -> String {
    (seconds * SECOND).to_string()
}

/// A checkpoint: three events, two spans, a counter; and a last line that a crash cut off.
fn checkpoint(place: &Path) -> PathBuf {
    let resource = json!({"attributes": [
        {"key": "service.name", "value": {"stringValue": "train"}},
        {"key": "session_id", "value": {"stringValue": "train.0001"}},
    ]});
    let log = |name: &str, at: u64, span: &str| {
        json!({"timeUnixNano": nanos(BEGAN + at), "eventName": name, "traceId": TRACE,
               "spanId": span, "attributes": []})
    };
    let logs = |records: &[Value]| {
        json!({"resourceLogs": [{"resource": resource.clone(), "scopeLogs": [
            {"scope": {"name": "kymograph"}, "logRecords": records}]}]})
    };
    let span = |name: &str, id: &str, from: u64, to: u64| {
        json!({"traceId": TRACE, "spanId": id, "name": name, "kind": 1,
               "startTimeUnixNano": nanos(BEGAN + from), "endTimeUnixNano": nanos(BEGAN + to),
               "attributes": [{"key": "task_id", "value": {"stringValue": "task.1"}}]})
    };
    let lines = [
        json!({"kymo": "checkpoint", "version": 1, "session_id": "train.0001", "name": "train"}),
        logs(&[log("SessionStarted", 0, "1111111111111111")]),
        logs(&[log("TaskCreated", 1, "2222222222222222")]),
        json!({"resourceSpans": [{"resource": resource.clone(), "scopeSpans": [{"spans": [
            span("simulate", "2222222222222222", 1, 2), span("session", "1111111111111111", 0, 2),
        ]}]}]}),
        json!({"resourceMetrics": [{"resource": resource.clone(), "scopeMetrics": [{"metrics": [
            {"name": "tasks_completed", "sum": {"aggregationTemporality": 2, "isMonotonic": true,
             "dataPoints": [{"startTimeUnixNano": nanos(BEGAN), "timeUnixNano": nanos(BEGAN + 2),
                             "asInt": "1"}]}}]}]}]}),
        logs(&[log("SessionEnded", 2, "1111111111111111")]),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write(place, "train.kymo.jsonl", &format!("{text}{{\"resourceLogs\":[{{\"res"))
}

/// A file of RHAPSODY: two events, the span of a task twice, metrics, and a cut line.
fn rhapsody(place: &Path) -> PathBuf {
    let text = format!(
        r#"{{"event_id": "e1", "event_type": "SessionStarted", "event_time": {BEGAN}.25, "emit_time": {BEGAN}.25, "session_id": "rhapsody.session.1", "backend": "rhapsody", "task_id": null, "attributes": {{}}, "trace_id": null, "span_id": null, "name": "SessionStarted", "section": "event"}}
{{"event_id": "e2", "event_type": "my.Loss", "event_time": {BEGAN}.5, "emit_time": {BEGAN}.5, "session_id": "rhapsody.session.1", "backend": "", "task_id": "t1", "attributes": {{}}, "loss": Infinity, "trace_id": "0xabc", "span_id": "0xdef", "name": "my.Loss", "section": "event"}}
{{"checkpoint_time": {BEGAN}.75, "tasks_submitted": 1, "tasks_running": 0, "section": "metric"}}
{{"name": "task", "span_id": "0xdef", "trace_id": "0xabc", "parent_span_id": null, "start_ns": {BEGAN}000000000, "end_ns": {BEGAN}600000000, "status_code": "OK", "status_description": null, "attributes": {{"session_id": "rhapsody.session.1", "task_id": "t1"}}, "section": "span"}}
{{"name": "task", "span_id": "0xdef", "trace_id": "0xabc", "parent_span_id": null, "start_ns": {BEGAN}000000000, "end_ns": {BEGAN}600000000, "status_code": "OK", "status_description": null, "attributes": {{"session_id": "rhapsody.session.1", "task_id": "t1"}}, "section": "span"}}
{{"name": "task", "span_"#
    );
    write(place, "rhapsody.session.1.telemetry.jsonl", &text)
}

fn write(place: &Path, name: &str, text: &str) -> PathBuf {
    let path = place.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn replay(server: &Server, file: &Path, flags: &[&str]) -> (i32, Value, String) {
    let endpoint = format!("http://{}", server.otlp_grpc());
    let mut command = kymo();
    command.arg("replay").arg(file).args(["--endpoint", &endpoint, "--format", "json"]);
    let ran = run(command.args(flags));
    let summary = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    (ran.code, summary, ran.stderr)
}

fn counts(server: &Server) -> [u64; 3] {
    Signal::ALL.map(|signal| server.count(signal))
}

#[test]
fn a_checkpoint_and_a_file_of_rhapsody_are_imported() {
    let place = TempDir::new().unwrap();
    let data = place.path().join("data");
    let data = data.to_str().unwrap();
    let mut command = kymo();
    command.arg("import").args([checkpoint(place.path()), rhapsody(place.path())]);
    let ran = run(command.args(["--data", data, "--format", "json"])).expect(0);
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = json!({"traces": SPANS + 1, "metrics": POINTS + 2, "logs": LOGS + 2});
    assert_eq!(summary["records"], expected);
    assert_eq!((&summary["unreadable"], &summary["refused"]), (&json!(0), &json!({})));
    for name in ["train.kymo.jsonl:7", "telemetry.jsonl:6"] {
        let note = format!("{name}: the last line is cut off");
        assert!(ran.stderr.contains(&note), "{note} in {}", ran.stderr);
    }
    let query = "SELECT log.loss, log.task_id, resource.session_id, trace_id, span_id, time \
                 FROM logs WHERE event_name = 'my.Loss'";
    let ran = run(kymo().args(["sql", "--data", data, "--format", "json", query])).expect(0);
    for part in ["t1", "rhapsody.session.1", "00000000000000000000000000000abc", "0000000000000def"]
    {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
}

#[test]
fn a_checkpoint_of_a_later_version_is_refused() {
    let place = TempDir::new().unwrap();
    let file = write(place.path(), "a.jsonl", "{\"kymo\":\"checkpoint\",\"version\":9}\n{}\n");
    let data = place.path().join("data");
    let ran = run(kymo().arg("import").arg(file).arg("--data").arg(data)).expect(1);
    assert!(
        ran.stderr.contains("version 9") && ran.stderr.contains("newer kymo"),
        "{}",
        ran.stderr
    );
}

#[test]
fn recorded_files_of_rhapsody_are_imported_whole() {
    let Some(shared) = std::env::var_os("KYMO_TEST_DATA") else {
        left_out("KYMO_TEST_DATA is not set: recorded files of RHAPSODY");
        return;
    };
    let place = TempDir::new().unwrap();
    let file = Path::new(&shared)
        .join("rhapsody/ckpt-interval.rhapsody.session.6ffa6904.1794770871.telemetry.jsonl");
    let mut command = kymo();
    command.arg("import").arg(file).arg("--data").arg(place.path().join("data"));
    let ran = run(command.args(["--format", "json"])).expect(0);
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    // 65 lines of spans are 17 spans, four lines of metrics have ten members each.
    assert_eq!(summary["records"]["logs"], 89);
    assert_eq!(summary["records"]["traces"], 17);
    assert_eq!(summary["records"]["metrics"], 40);
}

#[test]
fn a_replay_brings_everything_to_a_server_in_each_protocol() {
    let place = TempDir::new().unwrap();
    let file = checkpoint(place.path());
    for protocol in ["grpc", "http/protobuf", "http/json"] {
        let server = Server::start();
        let http = format!("http://{}", server.otlp_http());
        let flags = ["--protocol", protocol, "--endpoint", &http];
        let flags = if protocol == "grpc" { &flags[..2] } else { &flags[..] };
        let mut command = kymo();
        let endpoint = format!("http://{}", server.otlp_grpc());
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
        command.arg("replay").arg(&file).args(["--format", "json"]).args(flags);
        let ran = run(&mut command).expect(0);
        let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(counts(&server), [SPANS, POINTS, LOGS], "{protocol}");
        assert_eq!(
            (&summary["spans"], &summary["points"], &summary["logs"], &summary["refused"]),
            (&json!(SPANS), &json!(POINTS), &json!(LOGS), &json!(0))
        );
        assert!(ran.stderr.contains("cut off"), "{}", ran.stderr);
        let names = server.sql("SELECT name FROM spans ORDER BY name");
        assert_eq!(names.texts(), ["session", "simulate"]);
    }
}

#[test]
fn times_are_moved_together_and_other_ids_make_another_trace() {
    let place = TempDir::new().unwrap();
    let files = [checkpoint(place.path()), rhapsody(place.path())];
    let server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    let mut command = kymo();
    command.arg("replay").args(&files).args(["--endpoint", &endpoint, "--format", "json"]);
    command.args(["--shift-to", "2024-05-06T07:08:09Z", "--new-ids"]);
    let ran = run(&mut command).expect(0);
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(counts(&server), [SPANS + 1, POINTS + 2, LOGS + 2]);
    let shift = 1_714_979_289 - BEGAN;
    assert_eq!(summary["shift_seconds"], shift as f64);
    let times = "SELECT count(*) FROM spans WHERE start_time = '2024-05-06T07:08:09Z'";
    assert_eq!(server.number(times), 2, "the session, and the task of RHAPSODY");
    let times = "SELECT count(*) FROM logs WHERE time = '2024-05-06T07:08:09.250Z'";
    assert_eq!(server.number(times), 1);
    let times = "SELECT count(*) FROM points WHERE time = '2024-05-06T07:08:11Z' \
                 AND start_time = '2024-05-06T07:08:09Z'";
    assert_eq!(server.number(times), 1);
    let same = format!("SELECT count(*) FROM spans WHERE trace_id = '{TRACE}'");
    assert_eq!(server.number(&same), 0);
    let joined = "SELECT count(*) FROM logs l JOIN spans s \
                  ON l.trace_id = s.trace_id AND l.span_id = s.span_id";
    assert_eq!(server.number(joined), LOGS + 1, "events are still those of their spans");
}

#[test]
fn a_replay_at_a_speed_takes_its_time_and_sends_in_order_of_time() {
    let place = TempDir::new().unwrap();
    let server = Server::start();
    let file = checkpoint(place.path());
    // The session took two seconds.
    let (code, summary, stderr) = replay(&server, &file, &["--speed", "4", "--shift-to", "now"]);
    assert_eq!(code, 0, "{stderr}");
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!(seconds >= 0.5, "{seconds}");
    assert_eq!(summary["requests"], 5, "nothing is joined: {summary}");
    assert_eq!(counts(&server), [SPANS, POINTS, LOGS]);
    let (_, fast, _) = replay(&server, &file, &[]);
    assert!(fast["requests"].as_u64().unwrap() < 5, "lines of one signal are joined: {fast}");
}

#[test]
fn what_is_not_taken_is_an_exit_code_of_one() {
    let place = TempDir::new().unwrap();
    let file = checkpoint(place.path());
    // Nobody listens on the port of a server that has ended.
    let mut server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    server.stop();
    let mut command = kymo();
    command.arg("replay").arg(&file).args(["--endpoint", &endpoint, "--timeout", "300ms"]);
    let ran = run(&mut command).expect(1);
    assert!(
        ran.stderr.contains("could not be reached") && ran.stderr.contains("--endpoint"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.fact("requests"), "0");

    let server = Server::start();
    let wrong =
        write(place.path(), "wrong.jsonl", "{\"resourceSpans\":[]}\n{\"resourceLogs\":7}\n");
    let (code, summary, stderr) = replay(&server, &wrong, &[]);
    assert_eq!((code, &summary["unreadable"]), (1, &json!(1)), "{stderr}");
    assert!(stderr.contains("wrong.jsonl:2:"), "{stderr}");
    // A span without ids is refused by the server, the others are kept.
    let refused = json!({"resourceSpans": [{"scopeSpans": [{"spans": [
        {"name": "no ids", "startTimeUnixNano": nanos(BEGAN)},
        {"name": "good", "traceId": TRACE, "spanId": "3333333333333333", "startTimeUnixNano": nanos(BEGAN)},
    ]}]}]});
    let refused = write(place.path(), "refused.jsonl", &format!("{refused}\n"));
    let (code, summary, stderr) = replay(&server, &refused, &[]);
    assert_eq!(
        (code, &summary["refused"], &summary["spans"]),
        (1, &json!(1), &json!(1)),
        "{stderr}"
    );
    run(kymo().args(["replay", "-", "--shift-to", "now"])).expect(2);
}

/// A program that runs until it is told to stop, and what it printed until it was ready.
struct Running {
    child: Child,
    lines: Vec<String>,
}

impl Running {
    fn start(command: &mut Command, last: &str) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            lines.push(line.unwrap());
            if lines.last().is_some_and(|line| line.starts_with(last)) {
                return Self { child, lines };
            }
        }
        let output = child.wait_with_output().unwrap();
        panic!("it ended: {lines:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    fn value(&self, name: &str) -> &str {
        let found = self.lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {name} in {:?}", self.lines)).trim()
    }

    fn interrupt(mut self) -> i32 {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn open_serves_files_until_it_is_interrupted_and_leaves_nothing_behind() {
    let place = TempDir::new().unwrap();
    let (temporary, shown) = (place.path().join("tmp"), place.path().join("shown"));
    std::fs::create_dir(&temporary).unwrap();
    let browser = place.path().join("browser");
    std::fs::write(
        &browser,
        format!("#!/bin/sh\necho \"$1\" > {0}.part; mv {0}.part {0}\n", shown.display()),
    )
    .unwrap();
    run(Command::new("chmod").arg("+x").arg(&browser)).expect(0);
    let mut command = kymo();
    command.arg("open").args([checkpoint(place.path()), rhapsody(place.path())]);
    command.env("TMPDIR", &temporary).env("BROWSER", &browser);
    let opened = Running::start(&mut command, "Ctrl-C");
    assert!(opened.lines[0].starts_with("11 records of 2 files open in "), "{:?}", opened.lines);

    let url = opened.value("http").to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let sessions: Vec<&String> =
        opened.lines.iter().filter(|line| line.starts_with("session ")).collect();
    assert_eq!(sessions.len(), 2, "{:?}", opened.lines);
    assert!(sessions.iter().any(|line| line.contains("train.0001")));
    let ran = run(kymo().args(["query", "--url", &url, "{ name = \"simulate\" }"])).expect(0);
    assert!(ran.stdout.contains(TRACE), "{}", ran.stdout);
    eventually(Duration::from_secs(60), "a page is opened", || shown.exists());
    let page = std::fs::read_to_string(&shown).unwrap();
    assert!(page.starts_with(&format!("{url}/api/sessions")), "{page}");

    assert!(
        temporary.read_dir().unwrap().next().is_some(),
        "the data is in a directory of its own"
    );
    assert_eq!(opened.interrupt(), 0);
    assert!(temporary.read_dir().unwrap().next().is_none(), "which is removed");
}

#[test]
fn open_keeps_its_data_where_it_is_told_to() {
    let place = TempDir::new().unwrap();
    let data = place.path().join("kept");
    let mut command = kymo();
    command.arg("open").arg(checkpoint(place.path())).arg("--keep").arg(&data).arg("--no-browser");
    let opened = Running::start(&mut command, "Ctrl-C");
    assert_eq!(opened.value("data"), data.to_str().unwrap());
    assert_eq!(opened.interrupt(), 0);
    let query = "SELECT count(*) AS n FROM spans";
    let ran = run(kymo().args(["sql", "--format", "json", query, "--data"]).arg(&data)).expect(0);
    assert!(ran.stdout.contains(&SPANS.to_string()), "{}", ran.stdout);
}

#[test]
fn an_interrupted_replay_ends_at_once_and_says_what_was_sent() {
    let place = TempDir::new().unwrap();
    let server = Server::start();
    let log = |at: u64| {
        format!(
            "{{\"resourceLogs\":[{{\"scopeLogs\":[{{\"logRecords\":[{{\"timeUnixNano\":\"{}\"}}]}}]}}]}}\n",
            nanos(BEGAN + at)
        )
    };
    // The second line is due in an hour.
    let file = write(place.path(), "slow.jsonl", &format!("{}{}", log(0), log(3600)));
    let endpoint = format!("http://{}", server.otlp_grpc());
    let mut command = kymo();
    command.arg("replay").arg(file).args(["--endpoint", &endpoint, "--speed", "1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    eventually(Duration::from_secs(60), "the first line arrives", || {
        server.count(Signal::Logs) == 1
    });
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{stdout}\n{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert!(
        stdout.lines().any(|line| line.starts_with("logs") && line.ends_with(" 1")),
        "{stdout}"
    );
}
