//! `kymo promql` and `kymo top`: the binary as people run it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::Duration;

use harness::metrics::{START, counters, write};
use harness::programs::{Ran, kymo, run};
use harness::{Server, Signal, eventually};
use serde_json::Value;

fn server() -> Server {
    let server = Server::start();
    write(&server, 2, &counters()).expect(204);
    server
}

#[track_caller]
fn ask(server: &Server, arguments: &[&str]) -> Ran {
    run(kymo().arg("promql").args(arguments).env("KYMO_URL", server.url("")))
}

/// Asks the server, and its directory too: both must say the same.
#[track_caller]
fn both(server: &Server, arguments: &[&str]) -> String {
    let of_server = ask(server, arguments).expect(0);
    let directory = server.data();
    let of_directory =
        run(kymo().arg("promql").args(arguments).arg("--data").arg(directory)).expect(0);
    assert_eq!(of_server.stdout, of_directory.stdout, "{arguments:?}");
    assert_eq!(of_server.stderr, of_directory.stderr, "{arguments:?}");
    of_server.stdout
}

#[test]
fn values_at_a_time_are_a_table_or_rows_for_programs() {
    let server = server();
    let end = (START + 600).to_string();
    let table = both(&server, &["jobs_total", "--end", &end]);
    assert_eq!(
        table,
        "\
metric      job    runner    value
jobs_total  build  gpu-a100    600
jobs_total  test   gpu-a100    300
(2 rows)
"
    );
    let csv = both(&server, &["sum(jobs_total)", "--end", &end, "--format", "csv"]);
    assert_eq!(csv, "time,value\r\n2023-11-14T22:23:20.000000000Z,900.0\r\n");
    let json = both(&server, &["jobs_total{job='test'}", "--end", &end, "--format", "json"]);
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&rows[0]["job"], &rows[0]["value"]), (&"test".into(), &300.0.into()));
    assert_eq!(both(&server, &["1 + 1"]), "2\n");
    assert_eq!(both(&server, &["'a text'"]), "a text\n");
}

#[test]
fn values_over_time_are_summed_up_drawn_or_listed() {
    let server = server();
    let (start, end) = (START.to_string(), (START + 600).to_string());
    let times = ["--start", &start, "--end", &end, "--step", "1m"];
    let table = both(&server, &[&["jobs_total"][..], &times].concat());
    let build = table.lines().find(|line| line.contains("build")).unwrap();
    let cells: Vec<&str> = build.split_whitespace().collect();
    assert_eq!(cells, ["jobs_total", "build", "gpu-a100", "0", "300", "600", "600"]);
    let csv = both(&server, &[&["jobs_total", "--format", "csv"][..], &times].concat());
    assert_eq!(csv.lines().count(), 23);
    let chart = both(&server, &[&["jobs_total", "--chart"][..], &times].concat());
    assert!(chart.starts_with("600 ┤") && chart.contains("22:18:20"), "{chart}");
    assert!(chart.contains("a 600  jobs_total{job=\"build\""), "{chart}");
}

#[test]
fn what_is_wrong_is_said_and_pointed_to() {
    let server = server();
    let ran = ask(&server, &["sum by (job (x)"]).expect(1);
    assert!(ran.stderr.contains("1:13: parse error"), "{}", ran.stderr);
    assert!(ran.stderr.contains("  sum by (job (x)\n              ^"), "{}", ran.stderr);
    let ran = ask(&server, &["jobs_total * on() jobs_total", "--end", &START.to_string()]);
    assert!(ran.expect(1).stderr.contains("many-to-many matching not allowed"));
    let ran = ask(&server, &["up", "--since", "1d", "--step", "1s"]).expect(2);
    assert!(ran.stderr.contains("choose a longer --step"), "{}", ran.stderr);
    let end = (START + 600).to_string();
    let ran = ask(
        &server,
        &["rate(jobs_total{job=\"build\"}[5m]) + histogram_quantile(2, jobs_total)", "--end", &end],
    );
    assert!(ran.expect(0).stderr.contains("warning: PromQL warning: quantile value should be"));
}

#[test]
fn top_shows_what_comes_in_and_how_hosts_do() {
    let server =
        Server::with(&["--probe", "--probe-interval", "200ms", "--probe-instance", "here"]);
    server.store(Signal::Traces, Signal::Traces.small(1));
    let top = |arguments: &[&str]| {
        run(kymo().args(["top", "--once"]).args(arguments).env("KYMO_URL", server.url("")))
    };
    eventually(Duration::from_secs(20), "the host is shown with what it does", || {
        let page: Value =
            serde_json::from_str(&top(&["--format", "json"]).expect(0).stdout).unwrap();
        let host = &page["hosts"][0];
        host["instance"] == "here"
            && host["cpu_busy"].is_number()
            && host["memory_used"].is_number()
    });
    let text = top(&[]).expect(0).stdout;
    for expected in
        ["kymo top  http://", "INGEST", "traces", "HOSTS", "here", "journal not in blocks"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // Who has seen enough ends it.
    let mut watching = kymo()
        .args(["top", "--format", "json", "--interval", "200ms"])
        .env("KYMO_URL", server.url(""))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(watching.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert!(line.starts_with("{\"server\":"), "{line}");
    drop(stdout);
    assert!(watching.wait().unwrap().success());
    let ran = run(kymo().args(["top", "--once", "--url", "http://127.0.0.1:1"])).expect(1);
    assert!(ran.stderr.contains("is kymo serve running?"), "{}", ran.stderr);
}
