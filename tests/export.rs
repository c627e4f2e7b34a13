//! `kymo export`: what is written can be read again, and nothing of it is lost.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::path::{Path, PathBuf};

use harness::programs::{Ran, kymo, repository, run};
use harness::{Encoding, Server, Signal};

fn shop() -> Server {
    let server = Server::start();
    for (signal, file) in [(Signal::Traces, "shop_traces.jsonl"), (Signal::Logs, "shop_logs.jsonl")]
    {
        let lines = fs::read_to_string(repository("tests/sql").join(file)).unwrap();
        for line in lines.lines() {
            server.send(signal, Encoding::Json, line.as_bytes().to_vec()).expect(200);
        }
    }
    server
}

fn export(source: &[&str], what: &[&str], file: &Path) -> Ran {
    run(kymo().arg("export").args(source).args(what).arg("-o").arg(file))
}

/// Every row of a table of a directory, as text.
fn rows(data: &Path, query: &str) -> String {
    let ran = run(kymo().args(["sql", query, "--format", "csv", "--data"]).arg(data));
    ran.expect(0).stdout
}

#[test]
fn rows_are_written_in_every_format_and_a_file_is_kept_unless_forced() {
    let server = shop();
    let url = format!("http://{}", server.http());
    let source = ["--url", url.as_str()];
    let query = ["--sql", "SELECT name, duration_nanos FROM spans ORDER BY start_time, name"];
    for name in ["a.parquet", "a.csv", "a.jsonl", "a.arrow"] {
        let file = server.place().join(name);
        let ran = export(&source, &query, &file).expect(0);
        assert!(ran.stderr.contains("7 rows"), "{}", ran.stderr);
        assert!(fs::metadata(&file).unwrap().len() > 0);
    }
    let csv = server.place().join("a.csv");
    assert!(fs::read_to_string(&csv).unwrap().starts_with("name,duration_nanos\r\n"));
    assert_eq!(fs::read(server.place().join("a.parquet")).unwrap()[..4], *b"PAR1");
    let again = export(&source, &query, &csv).expect(1);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    run(kymo().args(["export", "--force", "--url", &url]).args(query).arg("-o").arg(&csv))
        .expect(0);
    let broken = server.place().join("b.csv");
    export(&source, &["--sql", "SELECT nothing FROM spans"], &broken).expect(1);
    assert!(!broken.exists(), "a file that is not complete is not left behind");
    export(&source, &["--sql", "SELECT 1"], &server.place().join("a.otlp.pb")).expect(2);
    export(&source, &["--sql", "SELECT 1"], &server.place().join("a.xyz")).expect(2);
}

#[test]
fn traces_and_logs_go_out_as_otlp_and_come_back_whole() {
    let mut server = shop();
    let url = format!("http://{}", server.http());
    let traces = server.place().join("traces.otlp.pb");
    let ran = export(&["--url", &url], &["--signal", "spans"], &traces).expect(0);
    assert!(ran.stderr.contains("3 traces"), "{}", ran.stderr);
    let errors = server.place().join("errors.otlp.jsonl");
    export(&["--url", &url], &["--traceql", "{ status = error }"], &errors).expect(0);
    assert!(fs::read_to_string(&errors).unwrap().starts_with("{\"resourceSpans\""));
    let logs = server.place().join("logs.otlp.jsonl");
    export(&["--url", &url], &["--signal", "logs"], &logs).expect(0);
    let none = ["--signal", "logs", "--start", "1970-01-01", "--end", "1970-01-02"];
    let empty = server.place().join("none.otlp.pb");
    let ran = export(&["--url", &url], &none, &empty).expect(0);
    assert!(ran.stderr.contains("0 requests of logs"), "{}", ran.stderr);
    server.stop();
    let data = server.data();
    let from = ["--data", data.to_str().unwrap()];
    let of_directory = server.place().join("logs.otlp.pb");
    export(&from, &["--signal", "logs"], &of_directory).expect(0);
    let other = server.place().join("other");
    run(kymo().arg("import").arg(&of_directory).arg("--data").arg(&other)).expect(0);
    let all_logs = "SELECT * FROM logs ORDER BY time, body";
    assert_eq!(rows(&other, all_logs), rows(&data, all_logs));
    let copy = server.place().join("copy");
    run(kymo().arg("import").arg(&traces).arg(&logs).arg("--data").arg(&copy)).expect(0);
    for query in [
        "SELECT * FROM spans ORDER BY trace_id, span_id",
        "SELECT * FROM events ORDER BY trace_id, span_id, time",
        "SELECT * FROM links ORDER BY trace_id, span_id",
        all_logs,
    ] {
        assert_eq!(rows(&copy, query), rows(&data, query), "{query}");
    }
}

/// Blocks below a directory.
fn blocks(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false if path.to_string_lossy().ends_with(".parquet") => found.push(path),
                false => {}
            }
        }
    }
    found
}

#[test]
fn an_export_of_logs_gives_what_is_readable_and_tells_of_damaged_blocks() {
    let mut server = Server::with(&["--compaction", "false"]);
    let lines = fs::read_to_string(repository("tests/sql").join("shop_logs.jsonl")).unwrap();
    let (line, other) = lines.split_once('\n').unwrap();
    let send = |server: &Server, line: &str| {
        server.send(Signal::Logs, Encoding::Json, line.as_bytes().to_vec()).expect(200);
    };
    send(&server, line);
    server.stop();
    let logs = server.data().join("blocks/default/logs");
    let first = blocks(&logs);
    assert_eq!(first.len(), 1, "{first:?}");
    server.start_again();
    send(&server, other.lines().next().unwrap());
    server.stop();
    assert_eq!(blocks(&logs).len(), 2);
    let size_bytes = fs::metadata(&first[0]).unwrap().len() as usize;
    fs::write(&first[0], vec![0xa5; size_bytes]).unwrap();
    let (data, file) = (server.data(), server.place().join("rest.otlp.jsonl"));
    let ran = export(&["--data", data.to_str().unwrap()], &["--signal", "logs"], &file).expect(1);
    assert!(ran.stderr.contains("1 damaged block could not be read"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
    server.start_again();
    let url = format!("http://{}", server.http());
    let file = server.place().join("broken.otlp.jsonl");
    export(&["--url", &url], &["--signal", "logs"], &file).expect(1);
    assert!(!file.exists());
}
