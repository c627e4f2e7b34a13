//! `kymo report`: the binary as people run it, over files and over a server.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::path::{Path, PathBuf};

use harness::programs::{Ran, kymo, left_out, run};
use harness::{Encoding, Server, Signal};
use serde_json::{Value, json};

const START: u64 = 1_700_000_000;

fn nanos(secs: f64) -> String {
    (START * 1_000_000_000 + (secs * 1e9) as u64).to_string()
}

/// An event of a session as a line of a checkpoint.
fn event(session: &str, name: &str, at: f64, task: &str, more: &[(&str, &str)]) -> String {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let mut attributes: Vec<Value> = more.iter().map(|(key, value)| text(key, value)).collect();
    if !task.is_empty() {
        attributes.push(text("task_id", task));
    }
    let resource = [text("service.name", "train"), text("session_id", session)];
    let record = json!({"timeUnixNano": nanos(at), "eventName": name, "attributes": attributes});
    let line = json!({"resourceLogs": [{
        "resource": {"attributes": resource}, "scopeLogs": [{"logRecords": [record]}],
    }]});
    format!("{line}\n")
}

/// A checkpoint: one task of two seconds and one that fails after four.
fn checkpoint(session: &str) -> String {
    let first = json!({"kymo": "checkpoint", "version": 1, "session_id": session, "name": "train",
        "trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "00f067aa0ba902b7",
        "started_unix_nano": nanos(0.0)});
    let mut text = format!("{first}\n");
    text += &event(session, "SessionStarted", 0.0, "", &[]);
    for (task, ended, end) in [("t1", 3.0, "TaskCompleted"), ("t2", 5.0, "TaskFailed")] {
        let fields = [("executable", task), ("task_type", "fit"), ("error_type", "ValueError")];
        let fields = if task == "t2" { &fields[..] } else { &fields[..2] };
        text += &event(session, "TaskSubmitted", 0.5, task, fields);
        text += &event(session, "TaskStarted", 1.0, task, fields);
        text += &event(session, end, ended, task, fields);
    }
    text + &event(session, "SessionEnded", 6.0, "", &[])
}

fn directory_with(files: &[(&str, String)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

#[track_caller]
fn report(directory: &Path, arguments: &[&str]) -> Ran {
    run(kymo().arg("report").args(arguments).current_dir(directory))
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_checkpoint_is_reported_in_every_form() {
    let directory = directory_with(&[("a.kymo.jsonl", checkpoint("train.1"))]);
    let at = directory.path();
    let text = report(at, &["a.kymo.jsonl", "--width", "80"]).expect(0).stdout;
    assert!(text.starts_with("session  train.1\nname     train\n"), "{text}");
    assert!(text.contains("Tasks: 2\n") && text.contains("1 failed (50 %)"), "{text}");
    let markdown = report(at, &["a.kymo.jsonl", "--format", "markdown"]).expect(0).stdout;
    assert!(markdown.contains("**2 tasks**: 1 completed, 1 failed"), "{markdown}");
    let found = document(&report(at, &["a.kymo.jsonl", "--format", "json"]).expect(0));
    assert_eq!(found["sessions"][0]["duration"]["mean"], 3.0);
    assert_eq!(found["sessions"][0]["session"]["duration_seconds"], 6.0);
    let ran = report(at, &["a.kymo.jsonl", "--format", "html"]).expect(0);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("wrote train.1.html"), "{}", ran.stderr);
    let page = std::fs::read_to_string(at.join("train.1.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("ValueError"));
    let ran = report(at, &["a.kymo.jsonl", "--format", "html", "-o", "-"]).expect(0);
    assert_eq!(ran.stdout, page);
}

#[test]
fn several_sessions_are_compared_or_chosen() {
    let both = checkpoint("a.1") + &checkpoint("b.2");
    let directory = directory_with(&[("both.kymo.jsonl", both)]);
    let at = directory.path();
    let text = report(at, &["both.kymo.jsonl"]).expect(0).stdout;
    assert!(text.starts_with("Sessions compared\n  A  a.1\n  B  b.2\n"), "{text}");
    let arguments = ["both.kymo.jsonl", "--session", "b.2", "--format", "json"];
    let found = document(&report(at, &arguments).expect(0));
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(found["sessions"][0]["session"]["id"], "b.2");
    let ran = report(at, &["both.kymo.jsonl", "--session", "c"]).expect(1);
    assert!(ran.stderr.contains("there is no session c: there is a.1, b.2"), "{}", ran.stderr);
}

#[test]
fn tasks_are_chosen_by_executable_and_type() {
    let directory = directory_with(&[("a.kymo.jsonl", checkpoint("train.1"))]);
    let arguments = ["a.kymo.jsonl", "--executable", "t2", "--format", "json"];
    let found = document(&report(directory.path(), &arguments).expect(0));
    assert_eq!(found["sessions"][0]["tasks"]["total"], 1);
    assert_eq!(found["sessions"][0]["duration"]["max"], 4.0);
    let ran = report(directory.path(), &["a.kymo.jsonl", "--task-type", "x"]).expect(1);
    assert!(ran.stderr.contains("no task has --task-type x: there is fit"), "{}", ran.stderr);
}

#[test]
fn a_file_without_a_session_says_what_it_has() {
    let line =
        json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": nanos(0.0)}]}]}]});
    let files = [
        ("logs.jsonl", format!("{line}\n")),
        ("none.jsonl", String::new()),
        ("x.jsonl", "{".into()),
    ];
    let directory = directory_with(&files);
    let ran = report(directory.path(), &["logs.jsonl"]).expect(1);
    let expected = "there is no session, but 0 spans in 0 traces, 1 log records";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("resource attribute session_id"), "{}", ran.stderr);
    let ran = report(directory.path(), &["none.jsonl"]).expect(1);
    assert!(ran.stderr.contains("there is nothing at all"), "{}", ran.stderr);
    let ran = report(directory.path(), &["gone.jsonl"]).expect(1);
    assert!(ran.stderr.contains("gone.jsonl"), "{}", ran.stderr);
    report(directory.path(), &["x.jsonl"]).expect(1);
}

#[test]
fn a_plain_trace_is_reported_and_said_to_be_one() {
    let span = |id: &str, parent: &str, name: &str, to: f64| {
        json!({"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": id, "parentSpanId": parent,
            "name": name, "startTimeUnixNano": nanos(0.0), "endTimeUnixNano": nanos(to)})
    };
    let spans = [
        span("0000000000000001", "", "nightly", 9.0),
        span("0000000000000002", "0000000000000001", "build", 3.0),
        span("0000000000000003", "0000000000000001", "test", 5.0),
    ];
    let line = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    let directory = directory_with(&[("trace.json", line.to_string())]);
    let text = report(directory.path(), &["trace.json"]).expect(0).stdout;
    assert!(text.contains("name     nightly\n") && text.contains("Tasks: 2\n"), "{text}");
    assert!(text.contains("the trace is taken for a session"), "{text}");
}

#[test]
fn a_session_of_a_server_is_asked_for_by_its_id() {
    let server = Server::start();
    for line in checkpoint("train.9").lines().skip(1) {
        server.send(Signal::Logs, Encoding::Json, line.as_bytes().to_vec()).expect(200);
    }
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["train.9", "--format", "json", "--url", &server.url("")];
    let found = document(&report(directory.path(), &arguments).expect(0));
    let session = &found["sessions"][0];
    assert_eq!(
        (&session["session"]["id"], &session["tasks"]["failed"]),
        (&"train.9".into(), &1.into())
    );
    assert_eq!(session["duration"]["mean"], 3.0);
    let ran = report(directory.path(), &["nobody", "--url", &server.url("")]).expect(1);
    assert!(ran.stderr.contains("neither a file nobody nor a session"), "{}", ran.stderr);
}

fn captured() -> Vec<(PathBuf, Value)> {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA").filter(|data| !data.is_empty()) else {
        left_out("summaries of RHAPSODY (KYMO_TEST_DATA names no directory)");
        return Vec::new();
    };
    let directory = Path::new(&data).join("rhapsody");
    let Ok(entries) = std::fs::read_dir(&directory) else {
        left_out("summaries of RHAPSODY (KYMO_TEST_DATA has no rhapsody)");
        return Vec::new();
    };
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let named = |ending: &str, id: &str| {
        let is_it = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(ending) && name.contains(id)
        };
        paths.iter().find(is_it).cloned()
    };
    let summaries = paths.iter().filter(|path| path.to_string_lossy().ends_with(".summary.json"));
    let pairs = summaries.filter_map(|path| {
        let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let id = summary["session_id"].as_str().unwrap().to_owned();
        Some((named(".telemetry.jsonl", &id)?, summary))
    });
    pairs.collect()
}

#[test]
fn figures_are_those_of_rhapsodys_own_summary() {
    for (path, summary) in captured() {
        let ran = report(Path::new("."), &[path.to_str().unwrap(), "--format", "json"]).expect(0);
        let found = document(&ran)["sessions"][0].clone();
        let is_near = |what: &str, ours: &Value, theirs: &Value, tolerance: f64| {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            assert!(
                (ours - theirs).abs() <= tolerance,
                "{what}: {ours} is not {theirs} in {path:?}"
            );
        };
        assert_eq!(found["session"]["id"], summary["session_id"]);
        let duration = &found["session"]["duration_seconds"];
        is_near("duration", duration, &summary["duration_seconds"], 1e-6);
        for state in ["submitted", "completed", "failed", "canceled"] {
            assert_eq!(found["tasks"][state], summary["tasks"][state], "{state}");
        }
        // There it can be -1, after an end without a start.
        let running = summary["tasks"]["running"].as_i64().unwrap().max(0);
        assert_eq!(found["tasks"]["running"], running);
        // Theirs are those of spans, rounded to microseconds each.
        let count = found["lifetime"]["count"].as_f64().unwrap();
        let life = &summary["duration"];
        is_near("total", &found["lifetime"]["total"], &life["total_seconds"], 1e-6 * count);
        is_near("mean", &found["lifetime"]["mean"], &life["mean_seconds"], 2e-6);
        is_near("min", &found["lifetime"]["min"], &life["min_seconds"], 2e-6);
        is_near("max", &found["lifetime"]["max"], &life["max_seconds"], 2e-6);
        for (key, theirs) in summary["resources"].as_object().unwrap() {
            let nodes = found["resources"]["nodes"].as_array().unwrap();
            let name = |node: &Value| {
                format!("{}/{}", node["backend"].as_str().unwrap(), node["node"].as_str().unwrap())
            };
            let ours = nodes.iter().find(|node| name(node) == *key).unwrap();
            for field in ["cpu_percent", "memory_percent"] {
                is_near(field, &ours[field]["last"], &theirs[field], 1e-9);
            }
            for field in ["disk_read", "disk_write", "net_sent", "net_recv"] {
                let theirs = &theirs[format!("{field}_bytes")];
                is_near(field, &ours[field]["last_bytes"], theirs, 1e-9);
            }
        }
        let checks = found["counters"].as_array().unwrap();
        assert!(
            checks.len() >= 5 && checks.iter().all(|check| check["agrees"] == true),
            "{checks:?}"
        );
    }
}
