//! `kymo logs`: the binary as people run it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use harness::Server;
use harness::loki::{Line, Stream, as_json};
use harness::programs::{Ran, kymo, run};
use serde_json::Value;

const SECOND: i64 = 1_000_000_000;
/// A whole minute: 2026-01-02T03:00:00Z.
const START: i64 = 1_767_322_800 * SECOND;
/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const SHOP: [Line<'_>; 3] = [
    (START + 10 * SECOND, "level=info order=1001", &[("trace_id", "7")]),
    (START + 20 * SECOND, "level=warn order=1002\nand more", &[]),
    (START + 70 * SECOND, "level=info order=1003", &[]),
];
const EDGE: [Line<'_>; 1] = [(START + 15 * SECOND, "GET /", &[])];
const STREAMS: [Stream<'_>; 2] =
    [(&[("app", "shop"), ("env", "prod")], &SHOP), (&[("app", "edge"), ("env", "prod")], &EDGE)];
const TIMES: [&str; 4] = ["--start", "2026-01-02T03:00:00Z", "--end", "2026-01-02T03:02:00Z"];

fn server() -> Server {
    let server = Server::start();
    server.push(&as_json(&STREAMS)).expect(204);
    server
}

#[track_caller]
fn ask(server: &Server, arguments: &[&str]) -> Ran {
    run(kymo().arg("logs").args(arguments).env("KYMO_URL", server.url("")))
}

/// Asks the server, and its directory too: both must say the same.
#[track_caller]
fn both(server: &Server, arguments: &[&str]) -> Ran {
    let of_server = ask(server, arguments).expect(0);
    let directory = server.data();
    let of_directory =
        run(kymo().arg("logs").args(arguments).arg("--data").arg(directory)).expect(0);
    assert_eq!(of_server.stdout, of_directory.stdout, "{arguments:?}");
    assert_eq!(of_server.stderr, of_directory.stderr, "{arguments:?}");
    of_server
}

#[test]
fn lines_are_written_as_a_log_has_them() {
    let server = server();
    let ran = both(&server, &[&["{env=\"prod\"} | logfmt"][..], &TIMES].concat());
    assert_eq!(
        ran.stdout,
        "\
2026-01-02T03:00:10.000Z  info   app=shop  level=info order=1001
2026-01-02T03:00:15.000Z  app=edge  GET /
2026-01-02T03:00:20.000Z  warn   app=shop  level=warn order=1002\\nand more
2026-01-02T03:01:10.000Z  info   app=shop  level=info order=1003
"
    );
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let newest = ["{app=\"shop\"}", "--newest-first", "--limit", "2", "--labels"];
    let ran = both(&server, &[&newest[..], &TIMES].concat());
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with("{app=\"shop\", env=\"prod\"}  level=info order=1003"), "{lines:?}");
    assert!(ran.stderr.contains("--limit COUNT shows more"), "{}", ran.stderr);
}

#[test]
fn programs_get_a_row_for_each_line() {
    let server = server();
    let query = ["{app=\"shop\"} |= \"1001\"", "--format"];
    let csv = both(&server, &[&query[..], &["csv"], &TIMES].concat()).stdout;
    let expected = "time,app,env,trace_id,line\r\n\
                    2026-01-02T03:00:10.000000000Z,shop,prod,7,level=info order=1001\r\n";
    assert_eq!(csv, expected);
    let json = both(&server, &[&query[..], &["json"], &TIMES].concat()).stdout;
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&rows[0]["trace_id"], &rows[0]["line"]), (&"7".into(), &SHOP[0].1.into()));
    assert_eq!(both(&server, &["{app=\"none\"}", "--format", "json"]).stdout, "[]\n");
}

#[test]
fn numbers_are_shown_as_those_of_promql_are() {
    let server = server();
    let count = "sum by (app) (count_over_time({env=\"prod\"}[2m]))";
    let at = both(&server, &[count, "--end", "2026-01-02T03:02:00Z"]).stdout;
    assert_eq!(at, "app   value\nedge      1\nshop      3\n(2 rows)\n");
    let query = ["sum(count_over_time({app=\"shop\"}[1m]))", "--step", "1m", "--format", "csv"];
    let expected = "time,value\r\n2026-01-02T03:01:00.000000000Z,2.0\r\n\
                    2026-01-02T03:02:00.000000000Z,1.0\r\n";
    assert_eq!(both(&server, &[&query[..], &TIMES].concat()).stdout, expected);
    assert_eq!(both(&server, &["1 + 1"]).stdout, "2\n");
    let chart = [&[query[0], "--chart"][..], &TIMES].concat();
    assert!(both(&server, &chart).stdout.contains("03:01"), "a chart has times below it");
}

#[test]
fn what_is_wrong_is_said_and_pointed_to() {
    let server = server();
    let ran = ask(&server, &["{app=\"shop\"} | line_format"]).expect(1);
    assert!(ran.stderr.contains("parse error at line 1, col "), "{}", ran.stderr);
    assert!(ran.stderr.lines().last().unwrap().ends_with('^'), "{}", ran.stderr);
    let pipeline = ["count_over_time({app=\"shop\"} | json [1h])", "--end", TIMES[3]];
    assert!(ask(&server, &pipeline).expect(1).stderr.contains("pipeline error"));
    let numbers = "count_over_time({app=\"shop\"}[1m])";
    let wrong: [(&[&str], &str); 6] = [
        (&["{a=\"b\"}", "--step", "1m"], "--step has no use here"),
        (&["{a=\"b\"}", "--chart"], "--chart has no use here"),
        (&[numbers, "--follow"], "--follow has no use here"),
        (&[numbers, "--limit", "5"], "--limit has no use here"),
        (&["{a=\"b\"}", "--follow", "--format", "csv"], "--format json"),
        (&["{a=\"b\"}", "--follow", "--data", "."], "cannot be used with"),
    ];
    for (arguments, why) in wrong {
        let ran = ask(&server, arguments).expect(2);
        assert!(ran.stderr.contains(why), "{arguments:?}: {}", ran.stderr);
    }
    let nowhere = ["{a=\"b\"}", "--follow", "--url", "http://127.0.0.1:1"];
    assert!(ask(&server, &nowhere).expect(1).stderr.contains("is kymo serve running?"));
}

/// A command that follows.
struct Following {
    child: Child,
    lines: Receiver<String>,
    said: Receiver<String>,
}

/// What is written, line by line, read by a thread so that nobody waits for ever.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The test may have seen enough.
            let _ = sender.send(line);
        }
    });
    lines
}

impl Following {
    fn start(server: &Server, arguments: &[&str]) -> Self {
        let mut child = kymo()
            .args(["logs", "--follow"])
            .args(arguments)
            .env("KYMO_URL", server.url(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { child, lines: lines_of(stdout), said: lines_of(stderr) }
    }

    /// The next line on stdout.
    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// Waits until it says something.
    #[track_caller]
    fn says(&self, text: &str) {
        while !self.said.recv_timeout(PATIENCE).unwrap().contains(text) {}
    }

    /// Ctrl-C; what was still on stdout.
    #[track_caller]
    fn interrupt(mut self) -> Vec<String> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        self.lines.iter().collect()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn push(server: &Server, time_nanos: i64, line: &str) {
    let lines = [(time_nanos, line, &[][..])];
    server.push(&as_json(&[(&[("app", "shop")], &lines)])).expect(204);
}

#[test]
fn lines_are_followed_through_the_end_of_a_server() {
    let mut server = server();
    let address = server.http().to_string();
    let following =
        Following::start(&server, &["{app=\"shop\"}", "--start", TIMES[1], "--format", "json"]);
    for (_, line, _) in SHOP {
        let row: Value = serde_json::from_str(&following.line()).unwrap();
        assert_eq!(row["line"], line);
    }
    push(&server, START + 80 * SECOND, "live");
    let row: Value = serde_json::from_str(&following.line()).unwrap();
    assert_eq!((&row["line"], &row["app"]), (&"live".into(), &"shop".into()));
    assert_eq!(row["time"], "2026-01-02T03:01:20.000000000Z");
    server.kill();
    following.says("went away");
    server.set_flag("--http", &address);
    server.start_again();
    push(&server, START + 75 * SECOND, "late");
    let row: Value = serde_json::from_str(&following.line()).unwrap();
    assert_eq!(row["line"], "late", "nothing is told twice");
    following.says("is back");
    assert_eq!(following.interrupt(), [""; 0]);
}

#[test]
fn what_is_followed_is_text_for_people() {
    let server = server();
    let following = Following::start(&server, &["{app=\"edge\"}", "--start", TIMES[1]]);
    assert_eq!(following.line(), "2026-01-02T03:00:15.000Z  env=prod  GET /");
    assert_eq!(following.interrupt(), [""; 0]);
}
