//! `kymo query`: the binary as people run it, against a server and against a directory.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::programs::{Ran, kymo, run};
use harness::traces::{CART, JOB, LOST, server, span};
use harness::{Server, Signal, otlp};
use prost::Message;
use serde_json::{Value, json};

/// The time of all spans of the traces.
const TIMES: [&str; 4] = ["--start", "2026-01-02T03:04:00Z", "--end", "2026-01-02T03:05:00Z"];

/// Asks the server.
#[track_caller]
fn ask(server: &Server, arguments: &[&str]) -> Ran {
    run(kymo().arg("query").args(arguments).env("KYMO_URL", server.url("")))
}

/// Asks the server, and its directory too: both must say the same.
#[track_caller]
fn both(server: &Server, arguments: &[&str]) -> String {
    both_with_messages(server, arguments).0
}

/// The same, with what is said on stderr.
#[track_caller]
fn both_with_messages(server: &Server, arguments: &[&str]) -> (String, String) {
    let of_server = ask(server, arguments).expect(0);
    let directory = server.data();
    let of_directory =
        run(kymo().arg("query").args(arguments).arg("--data").arg(directory)).expect(0);
    assert_eq!(of_server.stdout, of_directory.stdout, "{arguments:?}");
    assert_eq!(of_server.stderr, of_directory.stderr, "{arguments:?}");
    (of_server.stdout, of_server.stderr)
}

#[track_caller]
fn rows(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    document.as_array().unwrap().clone()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["trace_id"].as_str().unwrap()).collect()
}

fn hex(id: u128) -> String {
    format!("{id:032x}")
}

#[test]
fn traces_are_lines_of_a_table() {
    let server = server(&[]);
    assert_eq!(
        both(&server, &["{ status = error || kind = consumer }"]),
        "\
trace_id                          start_time            duration  root_service  root_name  matched  services
0000000000000000000000000000002b  2026-01-02T03:04:06Z    2.00 s  worker        run              1  worker 3
0a000000000000000000000000000001  2026-01-02T03:04:05Z    120 ms  shop          GET /cart        1  db 1 (1 error), shop 2
(2 rows)
"
    );
    let none = both(&server, &["{ name = \"nobody\" }"]);
    assert!(none.ends_with("(0 rows)\n"), "{none}");
}

#[test]
fn traces_are_sorted_limited_and_of_a_time() {
    let server = server(&[]);
    let found = |arguments: &[&str]| {
        let arguments = [&["{ }", "--format", "json"], arguments].concat();
        let rows = rows(&both(&server, &arguments));
        ids(&rows).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [hex(LOST), hex(JOB), hex(CART)]);
    assert_eq!(found(&["--sort", "duration"]), [hex(JOB), hex(CART), hex(LOST)]);
    assert_eq!(found(&["--sort", "duration", "--limit", "1"]), [hex(JOB)]);
    assert_eq!(found(&["--since", "1m"]), [""; 0], "they are of another year");
    assert_eq!(found(&TIMES).len(), 3);
    assert_eq!(found(&["--start", "1767323046", "--end", "1767323060"]).len(), 2);
}

#[test]
fn programs_get_all_traces_and_whoever_gets_less_is_told() {
    let server = server(&[]);
    let others = (100..130).map(|id| span(id.into(), id, 0, "one of many", id, 1));
    server.store(Signal::Traces, otlp::traces("many", others.collect()).encode_to_vec());
    for format in ["json", "csv", "table"] {
        for shown in [&["--format", format][..], &["--format", format, "--spans"]] {
            let asked = |arguments: &[&str]| {
                let arguments = [&["{ name = \"one of many\" }"], shown, arguments].concat();
                let (found, message) = both_with_messages(&server, &arguments);
                (found.matches("0000000000000000000000000000").count(), message)
            };
            let more = "there may be more traces: --limit COUNT shows them\n".to_owned();
            assert_eq!(asked(&["--limit", "7"]), (7, more.clone()), "{shown:?}");
            let of_default = if format == "table" { (20, more) } else { (30, String::new()) };
            assert_eq!(asked(&[]), of_default, "{shown:?}");
            assert_eq!(asked(&["--limit", "31"]), (30, String::new()), "{shown:?}");
        }
    }
}

#[test]
fn times_below_a_second_are_the_same_for_a_server_and_a_directory() {
    let server = server(&[]);
    // It began at 03:04:06.3.
    for (start, end, expected) in [
        ("1767323046.4", "1767323046.5", 1),
        ("1767323046", "1767323046.2", 1),
        ("1767323047", "1767323047.5", 0),
    ] {
        let times = ["--start", start, "--end", end];
        let query = ["{ span.step = \"b\" }", "--spans", "--format", "json"];
        let found = rows(&both(&server, &[&query[..], &times].concat()));
        assert_eq!(found.len(), expected, "{start} {end}");
    }
}

#[test]
fn long_queries_are_answered() {
    let server = server(&[]);
    let names: Vec<String> = (0..2_000).map(|nth| format!("name = \"nobody {nth}\"")).collect();
    let filter = format!("{{ {} || name = \"step\" }}", names.join(" || "));
    assert!(filter.len() > 40_000);
    let found = rows(&both(&server, &[&filter, "--format", "json"]));
    assert_eq!(ids(&found), [hex(JOB)]);
    let spans = rows(&both(&server, &[&filter, "--spans", "--format", "json"]));
    assert_eq!(spans.len(), 2);
    let count = [&[&*filter, "--agg", "count()", "--format", "json"], &TIMES[..]].concat();
    assert_eq!(rows(&both(&server, &count)), [json!({"count()": 2})]);
    ask(&server, &[&filter, "--explain"]).expect(0);
}

#[test]
fn traces_for_programs_have_numbers_and_lists() {
    let server = server(&[]);
    let found = rows(&both(&server, &["{ name = \"SELECT\" }", "--format", "json"]));
    assert_eq!(
        found,
        [json!({
            "trace_id": hex(CART),
            "start_time": "2026-01-02T03:04:05.000000000Z",
            "duration_nanos": 120_000_000,
            "root_service": "shop",
            "root_name": "GET /cart",
            "matched": 1,
            "services": [
                {"name": "db", "spans": 1, "errors": 1},
                {"name": "shop", "spans": 2, "errors": 0},
            ],
        })]
    );
    let lost = rows(&both(&server, &["{ name = \"lost\" }", "--format", "json"]));
    assert_eq!((&lost[0]["root_service"], &lost[0]["root_name"]), (&Value::Null, &Value::Null));
}

#[test]
fn spans_have_what_is_selected_as_columns() {
    let server = server(&[]);
    let query = "{ name = \"step\" } | select(span.step, span.attempt)";
    assert_eq!(
        both(&server, &[query, "--spans"]),
        "\
trace_id                          span_id           name  start_time                duration  step  attempt
0000000000000000000000000000002b  0000000000000005  step  2026-01-02T03:04:06.100Z    100 ms  a     1
0000000000000000000000000000002b  0000000000000006  step  2026-01-02T03:04:06.300Z    300 ms  b     two
(2 rows)
"
    );
    let csv = both(&server, &["{ span.db.rows > 5 }", "--spans", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("trace_id,root_service,root_name,"), "{csv}");
    assert!(lines[0].ends_with(",db.rows") && lines[1].ends_with(",7"), "{csv}");
    assert!(lines[1].contains("SELECT"), "a span has its name, though nobody asked for it: {csv}");
    let one = both(&server, &[query, "--spans", "--spans-per-set", "1", "--format", "json"]);
    assert_eq!(rows(&one).len(), 1);
    let all = rows(&both(&server, &["{ }", "--spans", "--format", "json"]));
    assert_eq!(all.len(), 7);
    // The spans that series are made of.
    let counted = both(&server, &["{ status = error } | rate()", "--spans", "--format", "json"]);
    assert_eq!(rows(&counted).len(), 1);
}

#[test]
fn series_are_summed_up_for_people_and_complete_for_programs() {
    let server = server(&[]);
    let query = "{ } | count_over_time() by (resource.service.name)";
    let range = [&[query, "--step", "20s"], &TIMES[..]].concat();
    let table = both(&server, &range);
    let lines: Vec<&str> = table.lines().collect();
    let heading: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(heading, ["resource.service.name", "min", "avg", "max", "last"]);
    assert_eq!(lines.len(), 6, "{table}");
    assert!(!table.contains('█'), "drawings are for terminals: {table}");

    let points = rows(&both(&server, &[&range[..], &["--format", "json"]].concat()));
    let of_worker: Vec<&Value> =
        points.iter().filter(|p| p["resource.service.name"] == "worker").collect();
    let total: f64 = of_worker.iter().map(|point| point["value"].as_f64().unwrap()).sum();
    assert_eq!(total, 3.0, "{of_worker:?}");
    assert!(of_worker[0]["time"].as_str().unwrap().starts_with("2026-01-02T03:0"));

    let instant = [&[query, "--instant", "--format", "csv"], &TIMES[..]].concat();
    let csv = both(&server, &instant);
    assert!(csv.starts_with("resource.service.name,value\r\n"), "{csv}");
    assert!(csv.contains("worker,3.0\r\n") || csv.contains("worker,3\r\n"), "{csv}");
    let longest = ["{ } | max_over_time(duration)", "--instant"];
    let table = both(&server, &[&longest[..], &TIMES].concat());
    assert!(table.contains("2.00 s"), "durations have units: {table}");
}

#[test]
fn groups_have_a_row_for_each_value() {
    let server = server(&[]);
    let arguments = [
        &["{ kind != client }", "--group-by", "resource.service.name,kind"][..],
        &["--agg", "sum(duration)", "--agg", "count()", "--agg", "max(span.priority)"],
        &TIMES[..],
    ]
    .concat();
    assert_eq!(
        both(&server, &arguments),
        "\
resource.service.name  kind      sum(duration)  count()  max(span.priority)
worker                 consumer         2.00 s        1                   3
worker                 internal         400 ms        2  NULL
shop                   server           120 ms        1  NULL
shop                   internal        20.0 ms        1  NULL
(4 rows)
"
    );
    let json =
        rows(&both(&server, &[&arguments[..], &["--format", "json", "--limit", "2"]].concat()));
    assert_eq!(json.len(), 2);
    assert_eq!(json[0]["sum(duration)"], 2.0);
    assert_eq!((&json[1]["count()"], &json[1]["max(span.priority)"]), (&json!(2), &Value::Null));
    // Without an attribute all spans are one group; without an aggregate they are counted.
    let all = rows(&both(
        &server,
        &[&["{ }", "--agg", "count()", "--format", "json"], &TIMES[..]].concat(),
    ));
    assert_eq!(all, [json!({"count()": 7})]);
    let counted = both(&server, &[&["{ }", "--group-by", "span.region"], &TIMES[..]].concat());
    assert!(counted.contains("eu") && counted.contains("NULL"), "{counted}");
    let quantile =
        [&["{ name = \"step\" }", "--agg", "p50(duration)", "--format", "json"], &TIMES[..]];
    let found = rows(&both(&server, &quantile.concat()));
    let median = found[0]["p50(duration)"].as_f64().unwrap();
    assert!((0.05..=0.3).contains(&median), "{median}");
}

#[test]
fn a_wrong_query_is_shown_with_the_place() {
    // Nobody has to be asked.
    let ran = run(kymo().args(["query", "{ name = }", "--url", "http://127.0.0.1:1"])).expect(1);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("error: parse error at line 1, col 10"), "{}", ran.stderr);
    assert_eq!(lines[1..], ["  { name = }", "           ^"]);
    assert_eq!(ran.stdout, "");
    let types =
        run(kymo().args(["query", "{ name = 5 }", "--url", "http://127.0.0.1:1"])).expect(1);
    assert!(types.stderr.starts_with("error: "), "{}", types.stderr);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_hint() {
    let server = server(&[]);
    for (arguments, word) in [
        (vec!["{ }", "--agg", "median(duration)"], "count()"),
        (vec!["{ }", "--group-by", "}"], "is no attribute"),
        (vec!["{ } | rate()", "--group-by", "name"], "function of its own"),
        (vec!["{ }", "--since", "5"], "30d"),
        (vec!["{ }", "--start", "soon"], "2026-01-02"),
        (vec!["{ }", "--start", "2026-01-02", "--end", "2026-01-01"], "--start must be before"),
        (vec!["{ }", "--step", "1m"], "it is for series"),
        (vec!["{ }", "--instant"], "it is for series: end the query with"),
        (vec!["{ } | rate()", "--spans", "--instant"], "leave out --spans"),
        (vec!["{ }", "--group-by", "name", "--instant"], "about all the time at once"),
        (vec!["{ }", "--group-by", "name", "--step", "1m"], "about all the time at once"),
        (vec!["{ }", "--group-by", "name", "--sort", "spans"], "the largest group comes first"),
        (vec!["{ } | rate()", "--sort", "spans"], "it is for traces"),
        (vec!["{ } | rate()", "--limit", "5"], "| topk(10)"),
        (vec!["{ }", "--spans-per-set", "5"], "show them with --spans"),
        (vec!["{ } | rate()", "--spans-per-set", "5"], "show them with --spans"),
        (vec!["{ }", "--limit", "0"], "0"),
        (vec!["{ }", "--sort", "size"], "duration"),
        (vec!["{ }", "--spans", "--agg", "count()"], "cannot be used with"),
        (vec![], "QUERY"),
    ] {
        let ran = ask(&server, &arguments).expect(2);
        assert!(ran.stderr.contains(word), "{arguments:?}: {}", ran.stderr);
    }
    let unreached = run(kymo().args(["query", "{ }", "--url", "http://127.0.0.1:1"])).expect(1);
    assert!(unreached.stderr.contains("is kymo serve running?"), "{}", unreached.stderr);
}

#[test]
fn a_plan_is_shown_of_a_server_and_of_a_directory() {
    let server = server(&[]);
    let arguments = ["{ name = \"step\" }", "--explain", "--start", "2026-01-02"];
    let of_server = ask(&server, &arguments).expect(0).stdout;
    let of_directory = run(kymo().arg("query").args(arguments).arg("--data").arg(server.data()));
    for plan in [of_server, of_directory.expect(0).stdout] {
        assert!(plan.contains("name") && plan.ends_with('\n'), "{plan}");
    }
}
