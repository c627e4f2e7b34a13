//! `kymo run`: commands of all kinds, and what is recorded of them.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::programs::{clients, python, run};
use harness::runs::{Place, Recorded, attribute, number};
use harness::{Server, eventually};
use serde_json::Value;

#[test]
fn the_status_and_the_output_are_those_of_the_command() {
    let place = Place::new();
    let ran = place.sh(&["--quiet"], "cat; echo out; echo err >&2; exit 37").expect(37);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
    let ran = place.sh(&["--quiet", "--output"], "echo out; echo err >&2; exit 3").expect(3);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
    place.sh(&[], "kill -9 $$").expect(137);
    let missing = place.run(&[], &["/nowhere/at/all"]).expect(127);
    assert!(missing.stderr.contains("cannot run /nowhere/at/all"), "{}", missing.stderr);
    place.run(&[], &["/etc/hostname"]).expect(126);
}

#[test]
fn stdin_is_the_commands() {
    let place = Place::new();
    let mut child = place
        .command(&["--quiet"], &["cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"hello").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"hello");
}

#[test]
fn signals_reach_the_command_and_its_answer_is_ours() {
    let place = Place::new();
    for (signal, expected) in [("TERM", 7), ("USR1", 8), ("INT", 9)] {
        let script = format!(
            "trap 'exit 7' TERM; trap 'exit 8' USR1; trap 'exit 9' INT; echo ready; \
             while :; do sleep 0.05; done # {signal}"
        );
        let mut child = place
            .command(&["--quiet"], &["sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{signal}");
    }
}

#[test]
fn messages_that_cannot_be_written_do_not_change_the_status() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&[], &["sh", "-c", "exit 3"]);
    let status = command.stdin(Stdio::null()).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(3));
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let place = Place::new();
    let kymo = env!("CARGO_BIN_EXE_kymo");
    // The parent of the inner shell is kymo. A shell cannot set what was ignored when it began.
    let inner = "kill -HUP $PPID; kill -HUP $$; exit 6";
    let script = format!("trap '' HUP; exec {kymo} run --quiet -- sh -c '{inner}'");
    let mut command = Command::new("sh");
    run(command.current_dir(place.path()).args(["-c", &script])).expect(6);
}

#[test]
fn a_command_whose_reader_has_gone_ends_with_output_kept_too() {
    let place = Place::new();
    let mut child = place
        .command(&["--quiet", "--output"], &["yes"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 2];
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
    drop(stdout);
    eventually(Duration::from_secs(20), "the command has ended", || {
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(&first, b"y\n");
    // SIGPIPE, or the complaint of one that was told to ignore it.
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(141 | 1)), "{code:?}");
}

#[test]
fn a_run_is_a_file_of_one_trace_with_what_the_command_did() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.5; exit 4";
    let flags = ["--name", "busy", "--tag", "team=ml", "--poll", "0.1s"];
    let ran = place.run(&flags, &["sh", "-c", script, "--token", "hunter2hunter2"]).expect(4);
    assert_eq!(place.files(), [place.path().join("busy.kymo.jsonl")]);
    let recorded = place.recorded();
    let trace = recorded.head["trace_id"].as_str().unwrap();
    assert_eq!(recorded.trace_ids(), BTreeSet::from([trace.to_owned()]));
    let last = ran.stderr.lines().last().unwrap();
    for part in ["kymo: busy.kymo.jsonl", trace, "exit 4"] {
        assert!(last.contains(part), "{part} is not in {last}");
    }

    let session = recorded.session();
    assert_eq!(session["name"], "session");
    assert_eq!(session["status"]["message"], "exit status 4");
    assert_eq!(number(session, "process.exit.code"), 4.0);
    assert!(number(session, "process.cpu_user_seconds") > 0.0);
    assert!(number(session, "process.tree_peak_resident_bytes") > 100_000.0);
    let words = attribute(session, "process.command_args").to_string();
    assert!(words.contains("while") && !words.contains("hunter2"), "{words}");

    let started = recorded.events("kymo.ProcessStarted");
    assert_eq!(number(started[0], "process.pid"), number(session, "process.pid"));
    let updates = recorded.events("kymo.ProcessUpdate");
    assert!(!updates.is_empty());
    assert!(updates.iter().any(|update| number(update, "processes") >= 1.0), "{updates:?}");
    let names: BTreeSet<&str> =
        recorded.metrics().iter().filter_map(|metric| metric["name"].as_str()).collect();
    for name in ["process_cpu_seconds", "process_memory_bytes", "process_disk_write_bytes"] {
        assert!(names.contains(name), "{names:?}");
    }
    let of_logs = recorded.lines.iter().find(|line| line["resourceLogs"].is_array()).unwrap();
    let resource = &of_logs["resourceLogs"][0]["resource"];
    assert_eq!(attribute(resource, "team"), "ml");
    assert_eq!(attribute(resource, "session_id"), recorded.head["session_id"]);
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let place = Place::new();
    for _ in 0..3 {
        place.run(&["--quiet", "--name", "a"], &["true"]).expect(0);
    }
    assert_eq!(place.files().len(), 3);
    let sessions: BTreeSet<String> = place
        .files()
        .iter()
        .map(|file| Recorded::read(file).head["session_id"].to_string())
        .collect();
    assert_eq!(sessions.len(), 3);
}

#[test]
fn lines_of_output_are_log_records_of_the_trace() {
    let place = Place::new();
    let script = "echo one; echo oops >&2; printf '10\\r100 percent\\n'; printf unended";
    place.sh(&["--output", "--quiet"], script).expect(0);
    let recorded = place.recorded();
    let lines = |stream: &str| -> Vec<&str> {
        let logs = recorded.logs().into_iter();
        let of_stream = logs.filter(|log| attribute(log, "log.iostream") == stream);
        of_stream.map(|log| log["body"]["stringValue"].as_str().unwrap()).collect()
    };
    assert_eq!(lines("stdout"), ["one", "100 percent", "unended"]);
    assert_eq!(lines("stderr"), ["oops"]);
    let log = recorded.logs().into_iter().find(|log| log["body"]["stringValue"] == "oops").unwrap();
    assert_eq!((&log["spanId"], &log["severityNumber"]), (&recorded.head["span_id"], &13.into()));
    assert_eq!(number(recorded.session(), "output.lines_left_out"), 0.0);
}

#[test]
fn a_flood_of_lines_passes_and_is_not_all_kept() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; seq 1 200000";
    let ran = place.sh(&["--output", "--quiet"], script).expect(0);
    assert_eq!(ran.stdout.lines().count(), 200_000, "all of it passes");
    let recorded = place.recorded();
    let left_out = number(recorded.session(), "output.lines_left_out");
    let is_line = |log: &&&Value| {
        attribute(log, "log.iostream") == "stdout"
            && attribute(log, "output.lines_left_out").is_null()
    };
    let kept = recorded.logs().iter().filter(is_line).count() as f64;
    assert!(left_out > 0.0 && kept >= 5000.0, "{left_out} {kept}");
    assert_eq!(kept + left_out, 200_000.0);
}

#[test]
fn processes_that_came_and_went_between_two_looks_count() {
    let place = Place::new();
    // Each of them is gone long before the next look; together they take some time.
    let script = "for n in 1 2 3 4 5 6 7 8 9 10; do \
                    sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'; done";
    place.run(&["--quiet", "--poll", "60s"], &["bash", "-c", script]).expect(0);
    let recorded = place.recorded();
    let session = recorded.session();
    let nanos = |key: &str| session[key].as_str().unwrap().parse::<f64>().unwrap();
    let elapsed = (nanos("endTimeUnixNano") - nanos("startTimeUnixNano")) / 1e9;
    let cpu = number(session, "process.cpu_user_seconds");
    assert!(cpu > 0.1 && cpu <= elapsed * 1.2, "{cpu} s of {elapsed} s");
    let measured = number(session, "process.cores_busy");
    assert!(measured > 0.05, "{measured}");
}

#[test]
fn a_daemon_counts_while_the_command_runs_and_nobody_waits_for_it() {
    let place = Place::new();
    // The middle process ends at once, so that the last is nobody's child.
    let script = "(sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $i > done' &) ; \
                  while [ ! -e done ]; do sleep 0.05; done; (sleep 60 >/dev/null 2>&1 & echo $! > pid)";
    let began = Instant::now();
    place.sh(&["--quiet", "--poll", "0.1s"], script).expect(0);
    assert!(began.elapsed() < Duration::from_secs(50));
    let pid = std::fs::read_to_string(place.path().join("pid")).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success(), "it still lives");
    let recorded = place.recorded();
    let session = recorded.session();
    assert!(number(session, "process.cpu_user_seconds") > 0.1, "{session}");
    assert!(number(session, "process.tree_most_processes") >= 2.0, "{session}");
}

/// Runs a command whose output goes to the file `out`, and nobody waits for who else has it. Its
/// status; if it takes longer than `at_most`, it is ended, and that is a failure.
#[track_caller]
fn ended_within(place: &Place, command: &mut Command, at_most: Duration) -> Option<i32> {
    let out = std::fs::File::create(place.path().join("out")).unwrap();
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null()).spawn().unwrap();
    while began.elapsed() < at_most {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("still there after {at_most:?}");
}

/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(6);

/// More than what `docs/sessions/run.md` says, for a busy machine, and less than what is left behind
/// in these tests takes.
const SOON: Duration = Duration::from_secs(25);

#[test]
fn what_was_left_behind_may_hold_the_output_open() {
    for flags in [&["--quiet"][..], &["--quiet", "--output"]] {
        let place = Place::new();
        let script = "sleep 60 & echo $! > pid; echo out; exit 3";
        let mut command = place.command(flags, &["sh", "-c", script]);
        assert_eq!(ended_within(&place, &mut command, SOON), Some(3), "{flags:?}");
        assert_eq!(std::fs::read_to_string(place.path().join("out")).unwrap(), "out\n");
        let pid = std::fs::read_to_string(place.path().join("pid")).unwrap();
        assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success(), "it still lives");
        assert_eq!(number(place.recorded().session(), "process.exit.code"), 3.0);
    }
}

#[test]
fn what_was_left_behind_may_print_without_end() {
    let noise = ["(while :; do echo noise; sleep 0.1; done) &", "yes noise &"];
    for left_behind in noise {
        let place = Place::new();
        let script = format!("seq 1 2000; {left_behind} exit 3");
        let mut command = place.command(&["--quiet", "--output"], &["sh", "-c", &script]);
        assert_eq!(ended_within(&place, &mut command, SOON), Some(3), "{left_behind}");
        // It ends where it writes to nobody; what the command wrote itself is all there.
        let out = std::fs::read_to_string(place.path().join("out")).unwrap();
        let own = out.lines().filter(|line| *line != "noise" && !line.is_empty());
        let numbers = own.filter(|line| line.parse::<u32>().is_ok()).count();
        assert_eq!(numbers, 2000, "{left_behind}");
        assert!(out.contains("noise"), "it is passed on for a while");
        assert_eq!(number(place.recorded().session(), "process.exit.code"), 3.0);
    }
}

#[test]
fn what_was_left_behind_may_stay_connected() {
    let place = Place::new();
    // Half of a request, and silence.
    let script = "address=${OTEL_EXPORTER_OTLP_ENDPOINT#http://}; \
                  exec 3<>/dev/tcp/${address%:*}/${address##*:}; \
                  printf 'POST /v1/traces HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 9\\r\\n\\r\\n{' >&3; \
                  sleep 60 >/dev/null 2>&1 & echo $! > pid; exit 3";
    let mut command = place.command(&["--quiet"], &["bash", "-c", script]);
    assert_eq!(ended_within(&place, &mut command, SOON), Some(3));
    let pid = std::fs::read_to_string(place.path().join("pid")).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success(), "it still lives");
    assert_eq!(number(place.recorded().session(), "process.exit.code"), 3.0);
}

#[test]
fn bytes_that_an_ended_process_wrote_count() {
    let place = Place::new();
    let script = "sh -c 'dd if=/dev/zero of=big bs=1M count=4 conv=fsync 2>/dev/null'; true";
    place.sh(&["--quiet", "--poll", "60s"], script).expect(0);
    let written = number(place.recorded().session(), "process.disk_write_bytes");
    // A file system in memory writes to no disk.
    let is_on_disk = std::fs::metadata(place.path().join("big")).unwrap().len() == 4 << 20;
    assert!(is_on_disk);
    assert!(written == 0.0 || written >= f64::from(4 << 20), "{written}");
}

const PROGRAM: &str = r#"
import os
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider(resource=Resource.create())
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
context = TraceContextTextMapPropagator().extract({"traceparent": os.environ["TRACEPARENT"]})
with provider.get_tracer("t").start_as_current_span("work in python", context=context):
    pass
provider.shutdown()
"#;

#[test]
fn spans_of_the_python_sdk_land_in_the_same_trace() {
    let Some(clients) = clients("the OpenTelemetry SDK for Python below kymo run") else { return };
    let python = python(&clients).get_program().to_string_lossy().into_owned();
    for protocol in ["grpc", "http/protobuf"] {
        for compression in [None, Some("gzip")] {
            let place = Place::new();
            let mut command = place.command(&["--quiet"], &[&python, "-c", PROGRAM]);
            command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
            command.envs(compression.map(|word| ("OTEL_EXPORTER_OTLP_COMPRESSION", word)));
            run(&mut command).expect(0);
            let recorded = place.recorded();
            let spans = recorded.spans();
            let span = spans.iter().find(|span| span["name"] == "work in python");
            let span = span.unwrap_or_else(|| panic!("{protocol} {compression:?}: {spans:?}"));
            assert_eq!(span["traceId"], recorded.head["trace_id"]);
            assert_eq!(span["parentSpanId"], recorded.head["span_id"]);
            let groups = recorded.lines.iter().flat_map(|line| line["resourceSpans"].as_array());
            let is_own =
                |group: &&Value| group["scopeSpans"][0]["spans"][0]["name"] == span["name"];
            let resource = &groups.flatten().find(is_own).unwrap()["resource"];
            assert_eq!(attribute(resource, "session_id"), recorded.head["session_id"]);
        }
    }
}

#[test]
fn one_run_in_another_lies_in_its_trace() {
    let place = Place::new();
    let inner = env!("CARGO_BIN_EXE_kymo");
    place.run(&["--name", "outer"], &[inner, "run", "--name", "inner", "--", "true"]).expect(0);
    let outer = place.recorded();
    assert_eq!(outer.head["name"], "outer", "the inner one has a server to send to");
    let spans = outer.spans();
    let inner = spans.iter().find(|span| attribute(span, "session.name") == "inner");
    let inner = inner.unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(inner["traceId"], outer.head["trace_id"]);
    assert_eq!(inner["parentSpanId"], outer.head["span_id"]);
}

#[test]
fn a_server_gets_everything_and_no_file_is_written() {
    let server = Server::start();
    let place = Place::new();
    let endpoint = format!("http://{}", server.otlp_grpc());
    let inner = [env!("CARGO_BIN_EXE_kymo"), "run", "--name", "inner", "--", "echo", "hello"];
    let flags = ["--name", "sent", "--output", "--endpoint", &endpoint];
    let ran = place.run(&flags, &inner).expect(0);
    assert!(ran.stderr.contains(&endpoint), "{}", ran.stderr);
    assert!(place.files().is_empty());
    eventually(Duration::from_secs(20), "spans of both sessions are stored", || {
        server.number("SELECT count(*) AS n FROM spans WHERE name = 'session'") == 2
    });
    assert_eq!(server.number("SELECT count(DISTINCT trace_id) AS n FROM spans"), 1);
    eventually(Duration::from_secs(20), "the line of output is stored", || {
        server.number("SELECT count(*) AS n FROM logs WHERE body = 'hello'") >= 1
    });

    let both = ["--quiet", "--name", "both", "--file", "both.kymo.jsonl"];
    let mut command = place.command(&both, &["true"]);
    run(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)).expect(0);
    assert_eq!(place.recorded().head["name"], "both");
    eventually(Duration::from_secs(20), "and the server has it too", || {
        server.number("SELECT count(*) AS n FROM spans WHERE name = 'session'") == 3
    });
}

#[test]
fn a_server_that_is_down_costs_a_moment_and_a_word() {
    let place = Place::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let began = Instant::now();
    let ran = place.sh(&["--endpoint", &endpoint], "echo out; exit 5").expect(5);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(ran.stdout, "out\n");
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.contains("not all of it") && last.contains("exit 5"), "{}", ran.stderr);
}

#[test]
fn a_server_that_never_answers_does_not_hold_the_command_up() {
    let place = Place::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let ran = place.sh(&["--endpoint", &endpoint], "touch ended; exit 7").expect(7);
    let ended = std::fs::metadata(place.path().join("ended")).unwrap().modified().unwrap();
    let waited = ended.elapsed().unwrap();
    // What is connected has one second, what is to be sent three.
    assert!(waited < Duration::from_secs(4) + SLACK, "{waited:?}");
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.contains("not all of it"), "{}", ran.stderr);
}

#[test]
fn a_directory_that_cannot_be_written_is_a_warning_and_the_command_runs() {
    let place = Place::new();
    // Read-only for everybody, root included.
    let flags = ["--file", "/proc/no/such/run.kymo.jsonl"];
    let ran = place.sh(&flags, "echo out; exit 6").expect(6);
    assert_eq!(ran.stdout, "out\n");
    let warnings = ran.stderr.lines().filter(|line| line.contains("run.kymo.jsonl")).count();
    assert_eq!(warnings, 1, "{}", ran.stderr);
    assert!(ran.stderr.lines().last().unwrap().contains("not recorded"), "{}", ran.stderr);
}

#[test]
fn what_is_wrong_with_our_settings_does_not_stop_the_command() {
    let place = Place::new();
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon"),
        ("KYMO_LOG", "no such level"),
        ("TRACEPARENT", "nonsense"),
        ("OTEL_RESOURCE_ATTRIBUTES", "%%%,=,==,a"),
    ] {
        let mut command = place.command(&[], &["sh", "-c", "exit 9"]);
        command.env("KYMO_OTLP_ENDPOINT", "http://127.0.0.1:1").env(name, value);
        run(&mut command).expect(9);
    }
    place.sh(&["--name", " "], "exit 9").expect(9);
    place.sh(&["--redact", "("], "exit 9").expect(9);
    place.run(&["--poll", "1ms"], &["true"]).expect(2);
    place.run(&["--tag", "novalue"], &["true"]).expect(2);
}

#[test]
fn what_was_recorded_outlives_a_kill() {
    let place = Place::new();
    let script = "echo running; exec sleep 600";
    let mut child = place
        .command(&["--name", "killed", "--output", "--poll", "0.1s"], &["sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = place.path().join("killed.kymo.jsonl");
    eventually(Duration::from_secs(20), "what runs is in the file", || {
        file.exists() && {
            let text = std::fs::read_to_string(&file).unwrap();
            text.contains("kymo.ProcessUpdate") && text.contains("\"running\"")
        }
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let recorded = Recorded::read(&file);
    let started = recorded.events("kymo.ProcessStarted");
    let pid = number(started[0], "process.pid");
    // Without kymo the command goes on; that is not for this test to leave behind.
    assert!(Command::new("kill").arg(format!("{pid}")).status().unwrap().success());
    assert_eq!(recorded.events("SessionStarted").len(), 1);
    assert!(recorded.spans().is_empty(), "the session never ended");
}
