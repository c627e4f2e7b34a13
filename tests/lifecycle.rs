//! A server's life: starting, being refused a start, quiet, stopping, and others beside it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use harness::otlp::{RECORDS, rich_traces, spans};
use harness::programs::{kymo, run};
use harness::{Answer, Encoding, Server, Signal, eventually};
use prost::Message;

/// Arguments of a server on free ports, with one flag set otherwise.
fn arguments<'a>(data: &'a str, flag: &'a str, value: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["serve", "--data", data];
    for address in ["--http", "--otlp-grpc", "--otlp-http"] {
        arguments.extend([address, if address == flag { value } else { "127.0.0.1:0" }]);
    }
    arguments
}

#[test]
fn it_says_where_it_is() {
    let server = Server::start();
    let lines = &server.start_lines;
    assert!(lines[0].starts_with("kymo ") && lines[0].contains("ready in "), "{lines:?}");
    assert_eq!(lines[1], format!("http       http://{}", server.http()));
    assert_eq!(lines[2], format!("otlp grpc  http://{}", server.otlp_grpc()));
    assert_eq!(lines[3], format!("otlp http  http://{}", server.otlp_http()));
    assert_eq!(lines[4], format!("data       {}", server.data().display()));
    let ports: std::collections::BTreeSet<u16> = server.ports().map(|port| port.port()).into();
    assert!(ports.len() == 3 && !ports.contains(&0), "{ports:?}");
}

#[test]
fn a_port_in_use_is_named_with_its_flag_and_the_data_stays_untouched() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data").display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let port = taken.local_addr().unwrap().port().to_string();
    for flag in ["--http", "--otlp-grpc", "--otlp-http"] {
        let ran = run(kymo().args(arguments(&data, flag, &address))).expect(1);
        assert!(ran.stderr.contains(&port) && ran.stderr.contains(flag), "{}", ran.stderr);
        assert!(ran.stderr.contains("in use"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(!Path::new(&data).exists());
    }
}

#[test]
fn a_directory_in_use_is_refused_and_its_server_goes_on() {
    let server = Server::start();
    let data = server.data().display().to_string();
    let ran = run(kymo().args(arguments(&data, "", ""))).expect(1);
    let error = format!(
        "error: the data directory {data} is in use by another kymo: stop that one, or choose \
         another directory with --data DIR\n"
    );
    assert!(ran.stderr.ends_with(&error), "{}", ran.stderr);
    server.store(Signal::Traces, Signal::Traces.small(1));
    assert_eq!(server.count(Signal::Traces), RECORDS);
}

#[test]
fn log_lines_are_as_asked_for() {
    let log = |flags: &[&str]| {
        let mut server = Server::with(flags);
        server.signal("TERM");
        server.log_to_the_end()
    };
    let json = log(&[]);
    assert!(json.lines().all(|line| line.starts_with('{')), "JSON in a pipe: {json}");
    let human = log(&["--log-format", "human", "--log-level", "info"]);
    assert!(human.contains("stopping") && !human.contains('{'), "{human}");
    assert_eq!(log(&["--log-level", "error"]), "");
}

#[test]
fn a_directory_belongs_to_one_node_and_commands_know_which() {
    for is_elsewhere in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let blocks = place.path().join("blocks").display().to_string();
        let store: &[&str] = if is_elsewhere { &["--store", &blocks] } else { &[] };
        let flags = ["--store-node", "n1", "--store-flush-idle-after", "1s"];
        let mut server = Server::with(&[&flags, store].concat());
        let data = server.data().display().to_string();
        let count = || {
            let query = ["sql", "SELECT count(*) AS n FROM spans", "--format", "csv"];
            let ran = run(kymo().args(query).args(["--data", &data]).args(store)).expect(0);
            ran.stdout.lines().nth(1).unwrap_or_default().parse::<u64>().unwrap()
        };
        server.store(Signal::Traces, Signal::Traces.small(0));
        assert_eq!(count(), RECORDS, "in the journal only");
        eventually(Duration::from_secs(20), "it is flushed", || {
            server.metric("kymo_store_flushes_total", &["signal=\"traces\""]) >= 1.0
        });
        assert_eq!(count(), RECORDS, "in a block, and perhaps in the journal");
        let trace = run(kymo().args(["trace", "1", "--data", &data]).args(store)).expect(0);
        assert!(trace.stdout.contains("n0-s2"), "{}", trace.stdout);
        server.store(Signal::Traces, Signal::Traces.small(1));
        server.kill();

        // A file, a server of another name, and the server again.
        let file = place.path().join("more.pb");
        std::fs::write(&file, Signal::Traces.small(2)).unwrap();
        let file = file.display().to_string();
        run(kymo().args(["import", &file, "--data", &data]).args(store)).expect(0);
        assert_eq!(count(), 3 * RECORDS, "nothing is stored twice");
        let other = run(kymo().args(arguments(&data, "", "")).args(store)).expect(1);
        let error = format!(
            "error: the data directory {data} belongs to the node \"n1\", not to \"local\": start it \
             with --store-node n1, or choose another directory with --data DIR\n"
        );
        assert!(other.stderr.ends_with(&error), "{}", other.stderr);
        server.start_again();
        assert_eq!(server.count(Signal::Traces), 3 * RECORDS);
    }
}

#[test]
fn a_trace_with_damaged_blocks_is_told_to_be_incomplete() {
    let mut server = Server::with(&["--compaction", "false"]);
    // Two blocks of one trace, and one that is in the second block only.
    server.store(Signal::Traces, spans("early", 0, 1).encode_to_vec());
    server.stop();
    let first = files(&server.data().join("blocks"), ".parquet");
    server.start_again();
    let mut late = spans("late", 0, 500);
    let spans_of = &mut late.resource_spans[0].scope_spans[0].spans;
    spans_of.remove(0);
    // Names that do not compress, so that pages lie before the part that is read to open a block.
    let mut random = harness::Random::seeded(7);
    for span in spans_of.iter_mut() {
        span.name = (0..64).map(|_| format!("{:016x}", random.below(u64::MAX))).collect();
    }
    server.store(Signal::Traces, late.encode_to_vec());
    server.store(Signal::Traces, spans("other", 1 << 16, 1).encode_to_vec());
    server.stop();
    let blocks = files(&server.data().join("blocks"), ".parquet");
    let second: Vec<_> = blocks.iter().filter(|path| !first.contains(path)).collect();
    assert_eq!((first.len(), second.len()), (1, 1), "{blocks:?}");
    let mut bytes = std::fs::read(second[0]).unwrap();
    let tail = bytes.len() - (128 << 10);
    bytes[4..tail].fill(0xa5);
    std::fs::write(second[0], bytes).unwrap();
    server.start_again();
    let (url, data) = (server.url(""), server.data().display().to_string());
    for place in [["--url", &url], ["--data", &data]] {
        let ran = run(kymo().args(["trace", "1"]).args(place)).expect(0);
        assert!(ran.stdout.contains("early-s0"), "{}", ran.stdout);
        assert!(ran.stdout.contains(" 1 span,"), "{}", ran.stdout);
        assert!(ran.stderr.contains("warning: 1 damaged block"), "{}", ran.stderr);
        let ran = run(kymo().args(["trace", "10001"]).args(place)).expect(1);
        let error = "error: there is no trace 00000000000000000000000000010001 in what is readable: \
                     1 damaged block";
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
        let ran = run(kymo().args(["trace", "77"]).args(place)).expect(1);
        assert!(ran.stderr.contains("there is no trace"), "{}", ran.stderr);
    }
}

#[test]
fn settings_that_no_machine_can_have_are_refused_at_the_start() {
    for (flag, value) in [
        ("--max-connections", "9999999999999999999"),
        ("--query-threads", "100000"),
        ("--store-flush-rows", "9999999999999999999"),
    ] {
        let ran = run(kymo().args(["serve", flag, value])).expect(2);
        assert!(ran.stderr.contains("expected a whole number from 1 to"), "{}", ran.stderr);
    }
}

#[test]
fn a_typo_is_refused_with_its_place_and_the_nearest_name() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kymo.yaml");
    std::fs::write(&file, "# ours\nstore:\n  flush_rowz: 1000\n").unwrap();
    let file = file.display().to_string();
    for command in [vec!["serve", "--config", &file], vec!["config", "check", "--config", &file]] {
        let ran = run(kymo().args(&command).current_dir(place.path())).expect(1);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(&format!("{file}:3")), "{said}");
        assert!(said.contains("flush_rowz") && said.contains("flush_rows"), "{said}");
    }
    let ran = run(kymo().args(["serve", "--htpp", "127.0.0.1:0"]).current_dir(place.path()));
    assert!(ran.code != 0 && ran.stderr.contains("--http"), "{}", ran.stderr);
    let ran = run(kymo().args(["serve", "--http", "nowhere"]).current_dir(place.path()));
    assert!(ran.code != 0 && ran.stderr.contains("nowhere"), "{}", ran.stderr);
}

#[test]
fn settings_come_from_flag_variable_and_file_in_this_order() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kymo.yaml");
    std::fs::write(&file, "query:\n  max_rows: 1\n  timeout: 7s\n  max_waiting: 9\n").unwrap();
    let ran = run(kymo()
        .args(["config", "show", "--config", &file.display().to_string(), "--query-max-rows", "3"])
        .env("KYMO_QUERY_MAX_ROWS", "2")
        .env("KYMO_QUERY_TIMEOUT", "8s"))
    .expect(0);
    let line = |key: &str| {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(key));
        line.unwrap_or_else(|| panic!("{key} in {}", ran.stdout)).trim().to_owned()
    };
    assert!(line("max_rows").starts_with("max_rows: 3"), "{}", line("max_rows"));
    assert!(line("max_waiting").starts_with("max_waiting: 9"), "{}", line("max_waiting"));
    assert!(ran.stdout.contains("timeout: 8s"), "{}", ran.stdout);
}

#[test]
fn the_main_port_is_under_the_base_path_but_for_grpc() {
    use harness::h2::{call, framed};
    let server = Server::with(&["--base-path", "/kymo"]);
    assert_eq!(server.start_lines[1], format!("http       http://{}/kymo", server.http()));
    for path in ["/kymo/ready", "/kymo/metrics", "/kymo/healthz"] {
        server.get(path).expect(200);
    }
    server.get("/ready").expect(404);
    let url = server.url("/kymo/v1/logs");
    let body = Signal::Logs.small(1);
    let request = server.client.post(url).header("content-type", "application/x-protobuf");
    Answer::of(request.body(body)).expect(200);
    let message = framed(false, &Signal::Logs.small(2));
    call(server.http(), Signal::Logs.method(), &[], message).expect(0);
    // The port that is for OTLP alone stays where SDKs look for it.
    server.store(Signal::Logs, Signal::Logs.small(3));
    let query = server.client.post(server.url("/kymo/api/sql"));
    let answer = Answer::of(query.body("SELECT count(*) FROM logs")).expect(200);
    assert_eq!(answer.json()["rows"][0][0], 3 * RECORDS);
    let url = server.url("/kymo");
    let ran = run(kymo().args([
        "sql",
        "SELECT count(*) AS n FROM logs",
        "--url",
        &url,
        "--format",
        "csv",
    ]));
    assert_eq!(ran.expect(0).stdout.lines().nth(1), Some("9"));
}

/// Files below a directory whose names end so.
fn files(dir: &Path, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        // Files come and go while a server works on them.
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn what_becomes_quiet_is_flushed_joined_and_cleared() {
    let server = Server::with(&[
        "--store-flush-idle-after",
        "1s",
        "--store-flush-after",
        "100ms",
        "--store-flush-rows",
        "500",
        "--store-grace",
        "2s",
    ]);
    for number in 0..100 {
        let body = spans("quiet", number << 16, 100).encode_to_vec();
        server.store(Signal::Traces, body);
        server.store(Signal::Logs, Signal::Logs.small(number));
        server.store(Signal::Metrics, Signal::Metrics.small(number));
    }
    let blocks = server.data().join("blocks");
    eventually(
        Duration::from_secs(45),
        "one block of each signal is left, and no rows in memory",
        || {
            let left = files(&blocks, ".parquet");
            let flushed = server.metric("kymo_store_head_rows", &[]) == 0.0;
            flushed
                && left.len() == 3
                && ["spans", "logs", "series"].iter().all(|name| {
                    left.iter().filter(|path| path.contains(&format!("/{name}/"))).count() == 1
                })
        },
    );
    assert!(server.metric("kymo_store_compactions_total", &["signal=\"traces\""]) >= 1.0);
    assert!(server.metric("kymo_store_files_deleted_total", &[]) >= 1.0);
    assert_eq!(server.count(Signal::Traces), 10_000);
    assert_eq!(server.count(Signal::Logs), 100 * RECORDS);
    assert_eq!(server.count(Signal::Metrics), 100 * RECORDS);
    // What is in blocks is not in the journal any more; one segment is there for what comes.
    eventually(Duration::from_secs(10), "passed segments are deleted", || {
        server.metric("kymo_store_lag_bytes", &[]) == 0.0
            && files(&server.data().join("journal"), "").len() <= 4
    });
}

#[test]
fn sigterm_flushes_and_the_next_start_finds_everything() {
    let mut server = Server::start();
    let sent = rich_traces(5);
    server.store(Signal::Traces, sent.encode_to_vec());
    server.store(Signal::Logs, Signal::Logs.small(1));
    server.store(Signal::Metrics, Signal::Metrics.small(1));
    for signal in ["TERM", "INT"] {
        server.signal(signal);
        assert_eq!(server.exit_code(), Some(0), "{}", server.stderr());
        let checked = run(kymo().args(["store", "check", &server.data().display().to_string()]));
        assert!(checked.expect(0).stdout.contains("good"));
        assert_eq!(files(&server.data().join("blocks"), ".parquet").len(), 3);
        server.start_again();
        assert_eq!(harness::readback::check_traces(&server, &sent), 2);
        assert_eq!(server.count(Signal::Logs), RECORDS);
        assert_eq!(server.count(Signal::Metrics), RECORDS);
    }
}

#[test]
fn a_stop_does_not_wait_for_clients_that_hang() {
    let mut server = Server::start();
    server.store(Signal::Traces, Signal::Traces.small(1));
    let mut hanging = harness::raw::Raw::connect(server.otlp_http());
    hanging.write(&harness::raw::head("/v1/traces", "application/x-protobuf", 1000));
    let idle = harness::raw::Raw::connect(server.http());
    let (status, took) = server.stop();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    drop((hanging, idle));
}

#[test]
fn the_command_line_reads_a_directory_while_a_server_runs_on_it() {
    let server = Server::with(&["--store-flush-idle-after", "1s"]);
    let data = server.data().display().to_string();
    let count = |more: &[&str]| {
        let query = ["sql", "SELECT count(*) AS n FROM spans", "--format", "csv"];
        let ran = run(kymo().args([&query, more].concat())).expect(0);
        ran.stdout.lines().nth(1).unwrap_or_default().parse::<u64>().unwrap()
    };
    server.store(Signal::Traces, rich_traces(1).encode_to_vec());
    let url = server.url("");
    assert_eq!(count(&["--url", &url]), 2);
    // Once in the journal only, once in a block.
    assert_eq!(count(&["--data", &data]), 2);
    eventually(Duration::from_secs(20), "it is flushed", || {
        server.metric("kymo_store_flushes_total", &["signal=\"traces\""]) >= 1.0
    });
    assert_eq!(count(&["--data", &data]), 2);
    server.store(Signal::Traces, Signal::Traces.small(1));
    assert_eq!(count(&["--data", &data]), 2 + RECORDS);
    assert_eq!(count(&["--url", &url]), 2 + RECORDS);

    for place in [["--data", &data], ["--url", &url]] {
        let ran = run(kymo().args([&["trace", "1"], &place[..]].concat())).expect(0);
        assert!(ran.stdout.contains("checkout 注文 🛒"), "{}", ran.stdout);
        assert!(ran.stdout.contains("card declined"), "{}", ran.stdout);
        let ran = run(kymo().args([&["trace", "abcdef"], &place[..]].concat()));
        assert!(ran.code != 0 && ran.stderr.contains("abcdef"), "{}{}", ran.stdout, ran.stderr);
    }
    // The server is none the worse.
    server.store(Signal::Traces, Signal::Traces.small(2));
    assert_eq!(server.count(Signal::Traces), 2 + 2 * RECORDS);
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let ran = run(kymo().args(["sql", "SELECT 1", "--url", &url])).expect(1);
    assert!(ran.stderr.contains(&url) && ran.stderr.contains("kymo serve"), "{}", ran.stderr);
}

#[test]
fn a_tenant_of_a_query_and_wrong_queries_reach_the_command_line() {
    let server = Server::start();
    let body = Signal::Logs.small(1);
    let request = server.request(Signal::Logs, Encoding::Protobuf, body);
    Answer::of(request.header("x-scope-orgid", "red")).expect(200);
    let url = server.url("");
    let query = "SELECT count(*) AS n FROM logs";
    let ask = |more: &[&str]| {
        let arguments = [&["sql", query, "--url", &url, "--format", "csv"], more].concat();
        run(kymo().args(arguments)).expect(0).stdout.lines().nth(1).map(str::to_owned)
    };
    assert_eq!(ask(&["--tenant", "red"]).as_deref(), Some("3"));
    assert_eq!(ask(&[]).as_deref(), Some("0"));
    server.store(Signal::Logs, Signal::Logs.small(2));
    assert_eq!(ask(&["--tenant", "red|default"]).as_deref(), Some("6"));
    let data = server.data().to_string_lossy().into_owned();
    let several = ["sql", query, "--data", &data, "--format", "csv", "--tenant", "red|default"];
    assert_eq!(run(kymo().args(several)).expect(0).stdout.lines().nth(1), Some("6"));
    let ran = run(kymo().args(["sql", query, "--url", &url, "--tenant", "a||b"])).expect(2);
    assert!(ran.stderr.contains("--tenant: the tenant's name is empty"), "{}", ran.stderr);
    let ran = run(kymo().args(["sql", "SELECT nme FROM spans", "--url", &url])).expect(1);
    assert!(ran.stderr.contains("nme"), "{}", ran.stderr);
}
