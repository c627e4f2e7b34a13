//! Queries that are large, deep, odd or hostile: each is answered or refused, none breaks anything.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::time::Duration;

use kymo_engine::{EngineError, EngineOptions, FaultKind};
use support::{Place, block_on};

/// Queries that would make gigabytes of a few rows, or compute for hours.
const AMPLIFYING: [&str; 31] = [
    "SELECT range(0, 1000000000)",
    "SELECT generate_series(0, 1000000000)",
    "SELECT array_repeat('x', 1000000000)",
    "SELECT list_repeat(name, 1000000000) FROM spans",
    "SELECT array_resize([1], 1000000000, 0)",
    "SELECT levenshtein(repeat('a', 60000), repeat('b', 60000))",
    "SELECT repeat('x', 2000000000)",
    "SELECT repeat(name, 2000000000) FROM spans",
    "SELECT repeat(name, 100000) FROM spans",
    "SELECT count(repeat(name, duration_nanos * 1000)) FROM spans",
    "SELECT lpad('x', 2000000000, 'ab')",
    "SELECT rpad(name, 2000000000) FROM spans",
    "SELECT replace(repeat('a', 60000), 'a', repeat('b', 60000))",
    "SELECT replace(name, 'w', repeat('b', 30000)) FROM spans",
    "SELECT regexp_replace(repeat('a', 60000), 'a', repeat('b', 60000), 'g')",
    "SELECT regexp_replace(repeat('a', 60000), '(.*)', repeat('\\1', 20000))",
    "SELECT array_to_string(string_to_array(repeat('a', 60000), NULL), repeat('b', 60000))",
    "SELECT array_replace_all(string_to_array(repeat('a', 60000), NULL), 'a', repeat('b', 60000))",
    "SELECT to_char(start_time, repeat('%c', 30000)) FROM spans",
    "SELECT * FROM generate_series(1, length(repeat('x', 2000000000)))",
    "SELECT name FROM spans LIMIT length(repeat('x', 2000000000))",
    "SELECT repeat('x', 60000) FROM spans",
    "SELECT CASE WHEN name = 'a' THEN repeat('x', 60000) ELSE repeat('y', 60000) END FROM spans",
    "SELECT name ~ (name || '(\\pL{100}){40}') FROM spans",
    "SELECT regexp_like(name, concat('(\\pL{100}){40}', span_id)) FROM spans",
    "SELECT regexp_count(name, concat('(\\pL{100}){40}', name)) FROM spans",
    "SELECT arrow_cast(NULL, 'FixedSizeBinary(2147483647)') FROM spans",
    "SELECT arrow_cast(NULL, 'FixedSizeList(2147483647, Int64)') FROM spans",
    "WITH RECURSIVE t AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM t) SELECT count(*) FROM t",
    "WITH RECURSIVE t AS (SELECT 'x' AS s UNION ALL SELECT overlay(s PLACING s FROM 1 FOR 0) FROM t) SELECT count(*) FROM t",
    "WITH RECURSIVE t AS (SELECT [1] AS s UNION ALL SELECT s || s FROM t) SELECT count(*) FROM t",
];

/// A text that is twice as long with every step.
fn doubled(what: &str) -> String {
    let steps: Vec<String> =
        (0..60).map(|step| format!("t{} AS (SELECT {what} AS s FROM t{step})", step + 1)).collect();
    format!(
        "WITH t0 AS (SELECT name AS s FROM spans), {} SELECT max(length(s)) FROM t60",
        steps.join(", ")
    )
}

#[test]
fn what_would_make_gigabytes_is_refused_at_once() {
    let place = Place::new(EngineOptions {
        threads: 2,
        query_timeout: Duration::from_secs(20),
        ..EngineOptions::default()
    });
    place.fill(3000);
    let doubled = ["s || s", "concat(s, s)", "concat_ws('', s, s)", "encode(s::bytea, 'hex')"];
    let queries = AMPLIFYING.map(str::to_owned).into_iter().chain(doubled.map(self::doubled));
    for query in queries {
        let begun = std::time::Instant::now();
        match block_on(place.lines(&query)) {
            Err(
                EngineError::Invalid(_) | EngineError::NotAllowed(_) | EngineError::Memory { .. },
            ) => {}
            other => panic!("{query:.200}: {:?}", other.map(|lines| lines.len())),
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{query:.200}");
    }
    for (query, expected) in [
        ("SELECT length(repeat('ab', 5)) AS n", "10"),
        ("SELECT max(length(repeat(name, 3))) AS n FROM spans", "21"),
        ("SELECT max(length(regexp_replace(name, 'w(.)', '\\1\\1', 'g'))) AS n FROM spans", "7"),
        ("SELECT max(name || '!' || name) AS n FROM spans", "work 99!work 99"),
        ("SELECT 'a' || NULL AS n", "NULL"),
        ("SELECT count(*) AS n FROM range(1, 10)", "9"),
        ("SELECT array_to_string([1, 2], '-') AS n", "1-2"),
    ] {
        assert_eq!(block_on(place.lines(query)).unwrap()[1], expected, "{query}");
    }
}

fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        "",
        ";",
        "--",
        "/*",
        "'",
        "\"",
        "SELECT",
        "SELECT '\0'",
        "SELECT $1",
        "SELECT ?",
        "SELECT @@version",
        "SELECT * FROM spans, spans",
        "SELECT * FROM spans s NATURAL JOIN logs l WHERE s.span.a = 1",
        "SELECT *, *, span.a FROM spans",
        "SELECT span.a.b.c.d.e.f, \"span.\", \"span..\" FROM spans",
        "SELECT \"resource.\" FROM spans",
        "SELECT spans.*, s.* FROM spans s",
        "SELECT name[1] FROM spans",
        "SELECT name.x.y FROM spans",
        "SELECT trace_id || name FROM spans",
        "SELECT trace_id + 1 FROM spans",
        "SELECT trace_id LIKE 'a%' FROM spans",
        "SELECT sum(trace_id) FROM spans",
        "SELECT start_time + name FROM spans",
        "SELECT -start_time FROM spans",
        "SELECT name FROM spans ORDER BY 99",
        "SELECT name FROM spans GROUP BY 99",
        "SELECT name FROM spans LIMIT -1",
        "SELECT name FROM spans LIMIT 9223372036854775807 OFFSET 9223372036854775807",
        "SELECT name FROM spans ORDER BY start_time LIMIT 0",
        "SELECT name FROM spans ORDER BY start_time DESC LIMIT 18446744073709551615",
        "SELECT 9223372036854775807 + duration_nanos FROM spans",
        "SELECT duration_nanos / 0 FROM spans",
        "SELECT duration_nanos % 0 FROM spans",
        "SELECT CAST('x' AS TIMESTAMP)",
        "SELECT date_bin(INTERVAL '0 seconds', start_time) FROM spans",
        "SELECT date_bin(INTERVAL '1 month', start_time) FROM spans",
        "SELECT date_trunc('fortnight', start_time) FROM spans",
        "SELECT count(*) FROM spans WHERE start_time > now() - INTERVAL '1000000 years'",
        "SELECT count(*) FROM spans WHERE start_time > '999999-01-01'",
        "SELECT count(*) FROM spans WHERE start_time BETWEEN '2030-01-01' AND '2020-01-01'",
        "SELECT name ~ '(' FROM spans",
        "SELECT count(*) FROM spans WHERE name ~ '(\\pL{100}){100}'",
        "SELECT count(*) FROM spans WHERE name LIKE '%\\'",
        "SELECT count(*) FROM spans WHERE name LIKE NULL",
        "SELECT regexp_replace(name, '(', 'x') FROM spans",
        "SELECT approx_percentile_cont(duration_nanos, 7) FROM spans",
        "SELECT encode(trace_id, 'rot13') FROM spans",
        "SELECT * FROM generate_series(1, 10, 0)",
        "SELECT unnest(make_array(1, 2, 3))",
        "SELECT row_number() OVER () FROM spans LIMIT 1",
        "SELECT (SELECT name FROM spans) FROM spans",
        "SELECT * FROM spans WHERE name = (SELECT name FROM spans LIMIT 1)",
        "SELECT * FROM spans s WHERE EXISTS (SELECT 1 FROM logs l WHERE l.trace_id = s.trace_id)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT * FROM n",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n, spans WHERE i < 3) SELECT count(*) FROM n",
        "WITH spans AS (SELECT 1 AS a) SELECT * FROM spans",
        "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a",
        "SELECT count(*) FROM spans GROUP BY ROLLUP (kind, status)",
        "SELECT kind, count(*) FROM spans GROUP BY GROUPING SETS ((kind), ())",
        "SELECT array_agg(name ORDER BY start_time), first_value(name) FROM spans GROUP BY kind",
        "SELECT kind, count(DISTINCT name), sum(DISTINCT duration_nanos) FROM spans GROUP BY kind",
        "SELECT min(name), max(status), min(\"span.a\") FROM spans GROUP BY kind",
        "SELECT string_agg(name, ',') FROM spans",
        "SELECT arrow_cast(name, 'Binary') FROM spans",
        "SELECT struct(name, trace_id) FROM spans",
        "SELECT map(['a'], [name]) FROM spans",
        "EXPLAIN SELECT 1",
        "EXPLAIN VERBOSE SELECT * FROM spans WHERE span.a = 1",
        "EXPLAIN ANALYZE SELECT * FROM spans ORDER BY start_time DESC LIMIT 3",
        "EXPLAIN FORMAT TREE SELECT * FROM spans",
        "EXPLAIN FORMAT graphviz SELECT * FROM spans",
        "DESCRIBE SELECT * FROM spans",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM datafusion.public.spans",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM spans PIVOT (count(*) FOR kind IN ('server'))",
        "SELECT * FROM spans TABLESAMPLE (10)",
        "SELECT * FROM spans AS OF SYSTEM TIME '2020-01-01'",
        "FROM spans SELECT name",
        "FROM spans",
        "SELECT 'ünïcödé', '\u{1F600}', name AS \"\u{202e}\" FROM spans",
    ]
    .map(str::to_owned)
    .to_vec();
    queries.push(format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)));
    queries.push(format!("SELECT {}1", "-".repeat(2001)));
    queries.push(format!("SELECT {}true", "NOT ".repeat(2900)));
    queries.push(format!("SELECT 1{}", " + 1".repeat(2900)));
    queries.push(format!("SELECT 1{}", " + 1".repeat(499)));
    queries.push(format!("SELECT 1{}", " IS NULL".repeat(499)));
    queries.push(format!("SELECT true{}", " = true".repeat(500)));
    queries.push(format!("SELECT true{}", " = true".repeat(1400)));
    queries.push(format!("SELECT true{}", " AND duration_nanos = 1".repeat(740)));
    queries.push(format!("SELECT 1{}", "::int".repeat(499)));
    queries.push(format!(
        "SELECT count(*) FROM spans WHERE name = 'a'{}",
        " OR name = 'b'".repeat(900)
    ));
    queries.push(format!(
        "SELECT count(*) FROM spans WHERE true{}",
        " AND duration_nanos > 1".repeat(700)
    ));
    queries.push(format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(300)));
    queries.push(format!("SELECT 1 {}", "UNION ALL SELECT count(*) FROM spans ".repeat(100)));
    queries.push(format!("SELECT * FROM spans {}", "CROSS JOIN spans ".repeat(50)));
    queries.push(format!("SELECT {} FROM spans", vec!["name"; 1000].join(", ")));
    queries.push(format!("SELECT {}1{}", "abs(".repeat(60), ")".repeat(60)));
    queries.push(format!("SELECT {}1{}", "(SELECT ".repeat(60), ")".repeat(60)));
    queries.push(format!("SELECT CASE {} END", "WHEN true THEN 1 ".repeat(500)));
    let names: Vec<String> = (0..2000).map(|nth| format!("\"span.k{nth}\"")).collect();
    queries.push(format!("SELECT {} FROM spans", names.join(", ")));
    queries.push(format!("SELECT {} FROM spans", names[..200].join(", ")));
    let ids: Vec<String> = (0..20_000).map(|nth| format!("'{nth:032x}'")).collect();
    queries.push(format!("SELECT count(*) FROM spans WHERE trace_id IN ({})", ids.join(", ")));
    let numbers: Vec<String> = (0..50_000).map(|nth| nth.to_string()).collect();
    queries.push(format!(
        "SELECT count(*) FROM spans WHERE duration_nanos NOT IN ({})",
        numbers.join(", ")
    ));
    queries.push(format!(
        "SELECT count(*) FROM spans WHERE \"span.number\" IN ({})",
        numbers.join(", ")
    ));
    queries.push(format!("SELECT '{}'", "x".repeat(900_000)));
    queries.push("x".repeat(2_000_000));
    queries
}

#[test]
fn no_query_breaks_the_engine() {
    let place = Place::new(EngineOptions {
        threads: 2,
        query_timeout: Duration::from_secs(20),
        ..EngineOptions::default()
    });
    place.fill(3000);
    let mut faults = Vec::new();
    for query in queries() {
        match block_on(place.lines(&query)) {
            Err(error @ EngineError::Internal(_)) => faults.push(format!("{query:.200}: {error}")),
            Err(error) if error.to_string().is_empty() => {
                faults.push(format!("{query:.200}: silent"))
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(block_on(place.lines("SELECT count(*) AS n FROM spans")).unwrap()[1], "3000");
    place.wait_until("all ended", |stats| stats.running == 0 && stats.scans_running == 0);
}

#[test]
fn a_fault_says_for_programs_what_is_wrong() {
    let place = Place::new(EngineOptions { threads: 2, ..EngineOptions::default() });
    place.fill(3);
    for (query, expected) in [
        ("SELEC 1", FaultKind::Syntax),
        ("SELECT 'a", FaultKind::Syntax),
        ("SELECT * FROM span", FaultKind::Table),
        ("SELECT nam FROM spans", FaultKind::Column),
        ("SELECT lengt(name) FROM spans", FaultKind::Function),
        ("SELECT * FROM trace_tre('a')", FaultKind::Function),
        ("SELECT $1 AS a", FaultKind::Parameter),
        ("SELECT $0", FaultKind::Parameter),
        ("SELECT CAST('a' AS BIGINT) + duration_nanos FROM spans", FaultKind::Value),
        ("SELECT 1 / 0", FaultKind::Value),
        ("SELECT name, count(*) FROM spans", FaultKind::Other),
    ] {
        match block_on(place.lines(query)) {
            Err(EngineError::Invalid(fault)) => {
                assert_eq!(fault.kind, expected, "{query}: {fault}")
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}

#[test]
fn what_takes_no_parameter_without_a_type_is_described_as_if_it_were_null() {
    let place = Place::new(EngineOptions { threads: 2, ..EngineOptions::default() });
    let query = "SELECT value FROM generate_series(1, $1)";
    let described = block_on(place.engine.describe("default", query.into())).unwrap();
    assert_eq!(described.schema.field(0).name(), "value");
    assert!(matches!(described.parameters[..], [None]), "{:?}", described.parameters);
    let unknown = "SELECT nothing FROM generate_series(1, 3) WHERE value = $1";
    match block_on(place.engine.describe("default", unknown.into())) {
        Err(EngineError::Invalid(fault)) => assert_eq!(fault.kind, FaultKind::Column, "{fault}"),
        other => panic!("{other:?}"),
    }
}
