//! `kymo report`: the binary as people run it, over files, over a server and over a data directory,
//! which all say the same.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::programs::{Ran, kymo, left_out, run};
use harness::{Encoding, Server, Signal};
use kymo_session::{Checkpoint, Event, EventName, KeyValue, Parent, Session, SessionOptions};
use kymo_wire::encode::{SpanFields, Writer};
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

/// A session with whatever a report looks at; where it was recorded, and its id.
fn recorded(directory: &Path) -> (PathBuf, String) {
    let mut options = SessionOptions::new("train");
    options.checkpoint = Checkpoint::Directory(directory.to_owned());
    options.parent = Parent::None;
    options.poll_every = None;
    options.backend = Some("local".into());
    let session = Session::start(options).unwrap();
    let begin = session.now_nanos();
    let at = |millis: u64| begin + millis * 1_000_000;
    for nth in 0..60 {
        let kind = ["simulate", "fit", "score"][nth as usize % 3];
        let task = session.task(kind).executable(kind).task_type("compute").at(at(nth)).create();
        task.submitted_at(at(nth + 5));
        task.queued_at(at(nth + 7));
        if nth % 20 == 19 {
            // It waits for ever, or is called off.
            if nth == 39 {
                task.canceled_at(at(nth + 90));
            }
            continue;
        }
        task.started_on(format!("node{}", nth % 4), at(nth + 20));
        let took = if nth == 30 { 900 } else { 50 + nth };
        match nth % 9 {
            4 => task.failed_at("ValueError", format!("no such file {nth}"), at(nth + 20 + took)),
            7 => task.failed_at("OutOfMemory", "", at(nth + 20 + took)),
            _ => task.completed_at(at(nth + 20 + took)),
        }
        // After its end: it changes nothing.
        task.completed();
    }
    for nth in 0..40 {
        let loss = 1.0 / f64::from(nth + 3);
        session.emit_named("app.Loss", vec![KeyValue::new("loss", loss)]).unwrap();
        session.emit(Event {
            node_id: Some(format!("node{}", nth % 4).into()),
            attributes: vec![
                KeyValue::new("cpu_percent", f64::from(nth) * 1.7),
                KeyValue::new("disk_read_bytes", f64::from(1000 * nth)),
            ],
            ..Event::new(EventName::ResourceUpdate)
        });
    }
    session.run("evaluate", || Err::<(), &str>("diverged")).unwrap_err();
    drop(session.scope("inner", vec![KeyValue::new("k", 1)]));
    session.add_request(kymo_session::Signal::Traces, strangers_span(&session));
    assert!(session.end(Duration::from_secs(30)));
    (session.checkpoint_path().unwrap().to_owned(), session.id().to_owned())
}

/// A span that a program which knows of no session wrote into its trace.
fn strangers_span(session: &Session) -> Vec<u8> {
    let mut w = Writer::new();
    let now = session.now_nanos();
    w.resource_group(|w| {
        w.scope_group(|w| {
            let fields = SpanFields {
                trace_id: &session.trace_id().to_bytes(),
                span_id: &[9; 8],
                parent_span_id: &session.span_id().to_bytes(),
                name: b"GET /",
                start_time_unix_nano: now,
                end_time_unix_nano: now + 1,
                ..SpanFields::default()
            };
            w.span(&fields, |_| ());
        });
    });
    w.into_bytes()
}

/// Members that two documents do not have in common, by their paths.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            for key in ones.keys().chain(others.keys()).collect::<BTreeSet<_>>() {
                differences(&format!("{path}.{key}"), &one[key], &other[key], found);
            }
        }
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
            for (nth, (one, other)) in ones.iter().zip(others).enumerate() {
                differences(&format!("{path}[{nth}]"), one, other, found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{path}: {one} and {other}")),
    }
}

#[track_caller]
fn assert_same(what: &str, one: &Value, other: &Value) {
    let mut found = Vec::new();
    differences("", one, other, &mut found);
    assert!(found.is_empty(), "{what} differs from the file:\n{}", found.join("\n"));
}

#[test]
fn a_file_a_server_and_a_directory_say_the_same_of_a_session() {
    let place = tempfile::tempdir().unwrap();
    let (file, id) = recorded(place.path());
    let file = file.to_str().unwrap();
    let of_file = document(&report(place.path(), &[file, "--format", "json"]).expect(0));
    // It is worth comparing.
    let session = &of_file["sessions"][0];
    assert_eq!(
        (&session["tasks"]["total"], &session["tasks"]["canceled"]),
        (&61.into(), &1.into())
    );
    assert_eq!(
        (&session["tasks"]["failed"], &session["tasks"]["unfinished"]),
        (&14.into(), &2.into())
    );
    assert_eq!(session["failures"].as_array().unwrap().len(), 3);
    assert!(session["stragglers"]["count"].as_u64() > Some(0), "{session}");
    assert_eq!(session["resources"]["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(session["fields"][0]["count"], 40);
    assert!(session["counters"].as_array().unwrap().len() >= 5, "{}", session["counters"]);
    // The session, its tasks that have ended, what ran, the scope, and the stranger's.
    assert!(session["session"]["spans"].as_u64() > Some(60), "{}", session["session"]);

    let mut server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    run(kymo().args(["replay", file, "--endpoint", &endpoint])).expect(0);
    let of_server = ["--format", "json", "--url", &server.url("")];
    let of_server = report(place.path(), &[&[&*id], &of_server[..]].concat()).expect(0);
    assert_same("the server", &of_file, &document(&of_server));
    let data = server.data();
    let of_directory = [&*id, "--format", "json", "--data", data.to_str().unwrap()];
    let beside = report(place.path(), &of_directory).expect(0);
    assert_same("the directory beside its server", &of_file, &document(&beside));
    server.stop();
    let alone = report(place.path(), &of_directory).expect(0);
    assert_same("the directory", &of_file, &document(&alone));
    let ran = report(place.path(), &["nobody", "--data", data.to_str().unwrap()]).expect(1);
    assert!(ran.stderr.contains("neither a file nobody nor a session"), "{}", ran.stderr);
}

#[test]
fn a_command_and_what_it_used_are_told_from_a_file_and_from_a_server() {
    let place = tempfile::tempdir().unwrap();
    let words = ["run", "--quiet", "--name", "cmd", "--", "sh", "-c", "exit 3"];
    run(kymo().current_dir(place.path()).args(words)).expect(3);
    let of_file = report(place.path(), &["cmd.kymo.jsonl", "--format", "json"]).expect(0);
    let of_file = document(&of_file);
    let session = &of_file["sessions"][0]["session"];
    let process = &session["process"];
    assert_eq!((&process["command"], &process["exit_code"]), (&json!("sh -c 'exit 3'"), &json!(3)));
    assert!(process["cpu_user_seconds"].as_f64().is_some(), "{process}");
    let shown = report(place.path(), &["cmd.kymo.jsonl"]).expect(0).stdout;
    assert!(shown.contains("command  sh -c 'exit 3'") && !shown.contains("Tasks: 0"), "{shown}");

    let server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    run(kymo().current_dir(place.path()).args([
        "replay",
        "cmd.kymo.jsonl",
        "--endpoint",
        &endpoint,
    ]))
    .expect(0);
    let id = session["id"].as_str().unwrap();
    let of_server = report(place.path(), &[id, "--format", "json", "--url", &server.url("")]);
    assert_same("the server", &of_file, &document(&of_server.expect(0)));
}

#[test]
fn what_differs_between_two_reports_is_found() {
    let one = json!({"a": [{"b": 1.5}, {"b": 2}], "c": null, "same": "x"});
    let other = json!({"a": [{"b": 1.5}, {"b": 3}], "c": 0, "same": "x", "more": [1]});
    let mut found = Vec::new();
    differences("", &one, &other, &mut found);
    assert_eq!(found, [".a[1].b: 2 and 3", ".c: null and 0", ".more: null and [1]"]);
}

#[test]
fn a_session_of_many_tasks_is_reported_whole() {
    const TASKS: usize = 30_000;
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let resource = json!({"attributes": [text("session_id", "many.1")]});
    let mut lines = checkpoint("many.1");
    for thousand in 0..TASKS / 1000 {
        let mut records = Vec::new();
        for nth in thousand * 1000..(thousand + 1) * 1000 {
            let (task, begin) = (format!("task.{nth}"), 1.0 + nth as f64 / 1000.0);
            for (name, at) in [("TaskStarted", begin), ("TaskCompleted", begin + 0.5)] {
                records.push(json!({"timeUnixNano": nanos(at), "eventName": name,
                    "attributes": [text("task_id", &task)]}));
            }
        }
        let line = json!({"resourceLogs": [{"resource": resource,
            "scopeLogs": [{"logRecords": records}]}]});
        lines += &format!("{line}\n");
    }
    let directory = directory_with(&[("many.kymo.jsonl", lines)]);
    let at = directory.path();
    let of_file = document(&report(at, &["many.kymo.jsonl", "--format", "json"]).expect(0));
    assert_eq!(of_file["sessions"][0]["tasks"]["completed"], TASKS + 1);
    assert_eq!(of_file["sessions"][0]["left_out"]["tasks"], 0);
    let server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    let file = at.join("many.kymo.jsonl");
    run(kymo().arg("replay").arg(file).args(["--endpoint", &endpoint])).expect(0);
    let arguments = ["many.1", "--format", "json", "--url", &server.url("")];
    assert_same("the server", &of_file, &document(&report(at, &arguments).expect(0)));
    let page = server.get("/api/sessions/many.1/report").expect(200).text();
    assert!(page.contains("30,002"), "the page has not all tasks");
    assert!(!page.contains("not all of it is here"), "the page says that something is left out");
}

#[test]
fn captured_sessions_of_rhapsody_are_the_same_in_a_directory() {
    for (path, summary) in captured() {
        let place = tempfile::tempdir().unwrap();
        let (file, data) = (path.to_str().unwrap(), place.path().join("data"));
        let of_file = document(&report(place.path(), &[file, "--format", "json"]).expect(0));
        let data = data.to_str().unwrap();
        run(kymo().args(["import", file, "--data", data])).expect(0);
        let id = summary["session_id"].as_str().unwrap();
        let of_data = report(place.path(), &[id, "--format", "json", "--data", data]).expect(0);
        assert_same(&format!("{file}, imported,"), &of_file, &document(&of_data));
    }
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
