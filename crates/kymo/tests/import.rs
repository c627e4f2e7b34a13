//! `kymo import`: every format, what is refused, what cannot be read, and bad days.

mod common;

use common::{Place, frames, json_line, logs, metrics, trace_frames, traces};
use kymo_wire::Signal;
use prost::Message;

#[test]
fn a_bare_protobuf_request_is_stored_and_its_signal_is_found() {
    let place = Place::new();
    place.write("t.pb", traces(0, 8).encode_to_vec());
    place.write("l.pb", logs(5).encode_to_vec());
    place.write("m.pb", metrics(7).encode_to_vec());
    let ran = place.import(&["t.pb", "l.pb", "m.pb"], &[]).expect(0);
    assert_eq!(ran.fact("files"), "3");
    assert_eq!(ran.fact("requests"), "3");
    assert_eq!(ran.fact("records"), "20");
    assert_eq!((ran.fact("traces"), ran.fact("logs"), ran.fact("metrics")), ("8", "5", "7"));
    assert_eq!(ran.fact("refused"), "0");
    assert_eq!(ran.stderr, "");
    place.kymo(&["store", "check", "data"]).expect(0);
}

#[test]
fn length_prefixed_requests_are_stored() {
    let place = Place::new();
    place.write("traces.bin", trace_frames(10, 40));
    let ran = place.import(&["traces.bin"], &["--format", "json"]).expect(0);
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["requests"], 10);
    assert_eq!(summary["records"]["traces"], 400);
    assert_eq!(summary["interrupted"], false);
    assert!(summary["new_block_bytes"].as_i64().unwrap() > 1000);
    assert_eq!(place.blocks().len(), 1);
}

#[test]
fn json_is_stored_by_lines_and_over_several_lines() {
    let place = Place::new();
    let line = json_line(Signal::Traces, &traces(0, 4).encode_to_vec());
    let other = json_line(Signal::Logs, &logs(3).encode_to_vec());
    place.write("both.jsonl", format!("{line}\n\n{other}\n"));
    let pretty: serde_json::Value =
        serde_json::from_str(&json_line(Signal::Traces, &traces(4, 4).encode_to_vec())).unwrap();
    place.write("pretty.json", serde_json::to_string_pretty(&pretty).unwrap());
    let ran = place.import(&["both.jsonl", "pretty.json"], &[]).expect(0);
    assert_eq!((ran.fact("traces"), ran.fact("logs")), ("8", "3"));
    assert_eq!(ran.fact("requests"), "3");
}

#[test]
fn the_same_data_in_another_format_is_the_same_data() {
    let place = Place::new();
    let body = traces(0, 4).encode_to_vec();
    place.write("a.pb", &body);
    place.write("a.json", json_line(Signal::Traces, &body));
    let ran = place.import(&["a.pb", "a.json"], &[]).expect(0);
    assert_eq!(ran.fact("records"), "4");
    assert_eq!(ran.fact("duplicates"), "1 requests with 4 records");
    let again = place.import(&["a.pb"], &[]).expect(0);
    assert_eq!(again.fact("records"), "0");
    assert_eq!(again.fact("duplicates"), "1 requests with 4 records");
}

#[test]
fn stdin_is_read_and_tenants_are_kept_apart() {
    let place = Place::new();
    let args = ["import", "-", "--data", "data", "--tenant", "team/a"];
    let ran = place.kymo_with(&args, &trace_frames(3, 4)).expect(0);
    assert_eq!(ran.fact("records"), "12");
    assert!(place.blocks()[0].starts_with("data/blocks/team%2Fa/spans/2026-01-02/"));
}

#[test]
fn blocks_can_go_elsewhere() {
    let place = Place::new();
    place.write("t.pb", traces(0, 8).encode_to_vec());
    place.import(&["t.pb"], &["--store", "elsewhere"]).expect(0);
    assert!(!place.path("data/blocks").exists());
    place.kymo(&["store", "check", "elsewhere"]).expect(0);
    let ran = place.kymo(&["store", "check", "data"]).expect(0);
    assert!(ran.fact("blocks").starts_with("not here"), "{}", ran.stdout);
}

#[test]
fn refused_records_are_counted_by_reason_and_the_rest_is_stored() {
    let place = Place::new();
    let mut request = traces(0, 10);
    let spans = &mut request.resource_spans[0].scope_spans[0].spans;
    spans[0].trace_id.clear();
    spans[1].span_id = vec![0; 8];
    spans[2].start_time_unix_nano = u64::MAX;
    spans[3].start_time_unix_nano = u64::MAX;
    spans[4].parent_span_id = vec![1; 3];
    place.write("t.pb", request.encode_to_vec());
    let ran = place.import(&["t.pb"], &[]).expect(0);
    assert_eq!(ran.fact("records"), "6");
    assert_eq!(ran.fact("refused"), "4");
    assert_eq!(ran.fact("invalid_trace_id"), "1");
    assert_eq!(ran.fact("invalid_span_id"), "1");
    assert_eq!(ran.fact("time_too_late"), "2");
    assert_eq!(ran.fact("invalid_parent_span_id"), "1");
}

#[test]
fn a_bad_line_is_named_and_the_others_are_stored() {
    let place = Place::new();
    let line = json_line(Signal::Traces, &traces(0, 4).encode_to_vec());
    let other = json_line(Signal::Traces, &traces(4, 4).encode_to_vec());
    let bad = "{\"resourceSpans\":[{\"scopeSpans\":7}]}";
    place.write("t.jsonl", format!("{line}\n{bad}\n{other}\n"));
    let ran = place.import(&["t.jsonl"], &[]).expect(1);
    assert!(ran.stderr.starts_with("error: t.jsonl:2:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("resourceSpans[0].scopeSpans"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("error: 1 request could not be read\n"), "{}", ran.stderr);
    assert_eq!(ran.fact("records"), "8");
    assert_eq!(ran.fact("not readable"), "1");
}

#[test]
fn strict_stops_at_the_first_bad_line() {
    let place = Place::new();
    let line = json_line(Signal::Traces, &traces(0, 4).encode_to_vec());
    let other = json_line(Signal::Traces, &traces(4, 4).encode_to_vec());
    place.write("t.jsonl", format!("{line}\nnonsense\n{other}\n"));
    let ran = place.import(&["t.jsonl"], &["--strict"]).expect(1);
    assert_eq!(ran.fact("records"), "4", "what was read before is stored");
    assert!(ran.stderr.contains("t.jsonl:2:"), "{}", ran.stderr);
}

#[test]
fn a_bad_request_between_good_ones_is_named_by_its_byte() {
    let place = Place::new();
    let good = traces(0, 4).encode_to_vec();
    let bad = vec![0x0a, 0x03, 0x12, 0x7f, 0x00];
    let bytes = frames(&[good.clone(), bad, traces(4, 4).encode_to_vec()]);
    place.write("t.bin", bytes);
    let ran = place.import(&["t.bin"], &[]).expect(1);
    assert_eq!(ran.fact("records"), "8");
    let first = frames(&[good]).len() + 1;
    let place_named = ran.stderr.split("at byte ").nth(1).and_then(|rest| rest.split(':').next());
    let offset: usize = place_named.unwrap().parse().unwrap();
    assert!((first..first + 5).contains(&offset), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not a request of traces"), "{}", ran.stderr);
}

#[test]
fn files_that_are_cut_empty_noise_or_absent_are_named_and_others_are_stored() {
    let place = Place::new();
    let whole = trace_frames(3, 4);
    place.write("cut.bin", &whole[..whole.len() - 5]);
    place.write("empty.pb", []);
    place.write("noise.bin", [0xde, 0xad, 0xbe, 0xef].repeat(1000));
    place.write("hello.txt", "hello world\n");
    place.write("packed.gz", [0x1f, 0x8b, 8, 0, 0]);
    place.write("good.pb", logs(2).encode_to_vec());
    let files = ["cut.bin", "empty.pb", "noise.bin", "hello.txt", "packed.gz", "absent", "good.pb"];
    let ran = place.import(&files, &[]).expect(1);
    assert_eq!((ran.fact("traces"), ran.fact("logs")), ("8", "2"));
    assert_eq!(ran.fact("not readable"), "5");
    for message in [
        "cut.bin at byte ",
        "is cut short",
        "empty.pb",
        "error: noise.bin is neither OTLP protobuf nor OTLP/JSON",
        "error: hello.txt is neither",
        "error: packed.gz is compressed with gzip",
        "error: absent cannot be read: No such file",
    ] {
        assert!(ran.stderr.contains(message), "{message}:\n{}", ran.stderr);
    }
}

#[test]
fn an_empty_file_is_no_failure() {
    let place = Place::new();
    place.write("empty.pb", []);
    let ran = place.import(&["empty.pb"], &[]).expect(0);
    assert_eq!(ran.fact("records"), "0");
    assert!(ran.stderr.contains("is empty"), "{}", ran.stderr);
}

#[test]
fn what_is_forced_to_be_another_format_or_signal_is_refused() {
    let place = Place::new();
    place.write("t.pb", traces(0, 4).encode_to_vec());
    let ran = place.import(&["t.pb"], &["--signal", "logs"]).expect(1);
    assert!(ran.stderr.contains("is not a request of logs"), "{}", ran.stderr);
    place.import(&["t.pb"], &["--input-format", "json-lines"]).expect(1);
    place.write("none.pb", [0x0a, 0x00]);
    let ran = place.import(&["none.pb"], &[]).expect(1);
    assert!(ran.stderr.contains("say it with --signal"), "{}", ran.stderr);
    place.import(&["none.pb"], &["--signal", "logs"]).expect(0);
}

#[test]
fn a_directory_in_use_is_refused_with_the_reason() {
    let place = Place::new();
    place.write("t.pb", traces(0, 4).encode_to_vec());
    let options = kymo_journal::Options::default();
    let disk = std::sync::Arc::new(kymo_journal::OsDisk);
    let open = kymo_journal::Journal::open(disk, &place.path("data/journal"), options);
    let held = open.unwrap();
    let ran = place.import(&["t.pb"], &[]).expect(1);
    assert_eq!(ran.stderr, "error: the journal in data/journal is in use by another process\n");
    drop(held);
    place.import(&["t.pb"], &[]).expect(0);
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_refused_with_the_reason() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    place.write("t.pb", traces(0, 4).encode_to_vec());
    std::fs::create_dir(place.path("data")).unwrap();
    let mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(name), permissions).unwrap();
    };
    mode("data", 0o555);
    // Nothing is read-only for root, so root runs it as somebody else, from where that one can.
    let is_root = std::fs::metadata(place.path("t.pb")).unwrap().uid() == 0;
    let mut binary = std::path::PathBuf::from(env!("CARGO_BIN_EXE_kymo"));
    if is_root {
        // By another process: were the copy open for writing here, a child that another test starts
        // would have it open too, and it could not be run.
        let copied = std::process::Command::new("cp").arg(&binary).arg(place.path("kymo")).status();
        assert!(copied.unwrap().success());
        binary = place.path("kymo");
        mode("kymo", 0o755);
        mode(".", 0o755);
    }
    let mut command = common::command(&binary, place.dir.path());
    command.args(["import", "t.pb", "--data", "data"]);
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.contains("read-only") || stderr.contains("denied"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    mode("data", 0o755);
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_keeps_what_was_read_and_can_be_repeated() {
    use std::io::{Read, Write};
    use std::process::{Child, Stdio};
    use std::time::{Duration, Instant};
    /// Ended with the test.
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            // It may have ended already; then there is nothing to kill.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let place = Place::new();
    let frames = trace_frames(50, 40);
    let mut command = place.command();
    command.args(["import", "-", "--data", "data", "--input-format", "protobuf-frames"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Killed(command.spawn().unwrap());
    let mut stdin = child.0.stdin.take().unwrap();
    let mut stderr = child.0.stderr.take().unwrap();
    // More than is looked at beforehand, so that requests are read before the end is.
    stdin.write_all(&frames).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let soon = |what: &str| {
        assert!(Instant::now() < deadline, "it {what}");
        std::thread::sleep(Duration::from_millis(5));
    };
    while !place.path("data/journal/lock").exists() {
        soon("does not begin");
    }
    let pid = child.0.id().to_string();
    let killed = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(killed.success());
    std::thread::sleep(Duration::from_millis(50));
    drop(stdin);
    while child.0.try_wait().unwrap().is_none() {
        soon("does not end");
    }
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    place.kymo(&["store", "check", "data"]).expect(0);
    place.write("t.bin", &frames);
    place.import(&["t.bin"], &[]).expect(0);
    let ran = place.kymo(&["store", "check", "data"]).expect(0);
    assert_eq!(ran.fact("rows"), "2,000");
}
