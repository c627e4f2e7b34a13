//! Blocks as other programs read them: DuckDB and pandas, over the files as they are.
//!
//! Both are there after `scripts/clients install`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;

use harness::programs::{clients, python, repository, run};
use harness::{Encoding, Server, Signal};

#[test]
fn duckdb_and_pandas_read_blocks_of_every_signal_as_they_are() {
    let Some(clients) = clients("DuckDB and pandas over blocks") else { return };
    let mut server = Server::start();
    for (signal, file) in [
        (Signal::Traces, "shop_traces.jsonl"),
        (Signal::Logs, "shop_logs.jsonl"),
        (Signal::Metrics, "shop_metrics.jsonl"),
    ] {
        let lines = fs::read_to_string(repository("tests/sql").join(file)).unwrap();
        for line in lines.lines() {
            server.send(signal, Encoding::Json, line.as_bytes().to_vec()).expect(200);
        }
    }
    let spans = server.number("SELECT count(*) FROM spans");
    let logs = server.number("SELECT count(*) FROM logs");
    // The last thing that a server does is to write blocks.
    server.stop();
    let script = repository("tests/clients/blocks.py");
    let blocks = server.data().join("blocks");
    let ran = run(python(&clients).arg(script).arg(&blocks));
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.fact("spans"), spans.to_string());
    assert_eq!(ran.fact("logs"), logs.to_string());
    assert_eq!(ran.fact("services"), "batch,payment,shop");
    assert_eq!(ran.fact("slowest"), "import");
    assert_ne!(ran.fact("series"), "0");
    assert_eq!(ran.fact("joined"), "2");
}
