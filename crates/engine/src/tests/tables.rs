//! The same as in [`super::differential`] for the other tables: logs, points, events and links.

use std::fmt::Write;

use super::differential::Random;
use super::support::Place;
use super::{lines, place};

const ROWS: usize = 300;
const FILTERS: usize = 60;
const START_NANOS: usize = 1_700_000_000_000_000_000;

const TEXTS: [&str; 5] = ["", "a", "ab", "1", "é_%"];
const VALUES: [&str; 7] = [
    r#"{"stringValue":"a"}"#,
    r#"{"stringValue":"1"}"#,
    r#"{"intValue":"1"}"#,
    r#"{"intValue":"-5"}"#,
    r#"{"doubleValue":1.5}"#,
    r#"{"boolValue":true}"#,
    r#"{"bytesValue":"AQI="}"#,
];

/// A list of attributes: texts, numbers, and one of mixed types.
fn attributes(random: &mut Random) -> String {
    let mut parts = Vec::new();
    let mut add =
        |key: &str, value: &str| parts.push(format!(r#"{{"key":"{key}","value":{value}}}"#));
    if random.below(3) > 0 {
        add("text", &format!(r#"{{"stringValue":"{}"}}"#, random.one(&TEXTS)));
    }
    if random.below(3) > 0 {
        add("int", &format!(r#"{{"intValue":"{}"}}"#, random.below(4)));
    }
    if random.below(3) > 0 {
        add("mixed", random.one(&VALUES));
    }
    format!("[{}]", parts.join(","))
}

/// Times are few, so that many rows have the same.
fn nanos(random: &mut Random) -> usize {
    START_NANOS + random.below(20) * 1_000_000_000
}

fn logs(random: &mut Random) -> String {
    let mut records = String::new();
    for nth in 0..ROWS {
        let comma = if nth == 0 { "" } else { "," };
        let _ = write!(
            records,
            r#"{comma}{{"timeUnixNano":"{}","severityNumber":{},"body":{{"stringValue":"{}"}},"traceId":"{:032x}","attributes":{}}}"#,
            nanos(random),
            random.below(25),
            random.one(&TEXTS),
            random.below(5) + 1,
            attributes(random),
        );
    }
    let resource = attributes(random);
    format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":{resource}}},"scopeLogs":[{{"logRecords":[{records}]}}]}}]}}"#
    )
}

fn metrics(random: &mut Random) -> String {
    let mut metrics = Vec::new();
    for nth in 0..6 {
        let points: Vec<String> = (0..ROWS / 6)
            .map(|_| {
                let (time, value) = (nanos(random), random.below(7));
                let labels = attributes(random);
                format!(r#"{{"timeUnixNano":"{time}","asDouble":{value},"attributes":{labels}}}"#)
            })
            .collect();
        let (unit, points) = (random.one(&["s", "By", ""]), points.join(","));
        let data = match nth % 2 {
            0 => format!(r#""gauge":{{"dataPoints":[{points}]}}"#),
            _ => format!(
                r#""sum":{{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{points}]}}"#
            ),
        };
        metrics.push(format!(r#"{{"name":"m.{nth}","unit":"{unit}",{data}}}"#));
    }
    let metrics = metrics.join(",");
    format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metrics}]}}]}}]}}"#)
}

fn spans(random: &mut Random) -> String {
    let spans: Vec<String> = (0..ROWS / 3)
        .map(|nth| {
            let start = nanos(random);
            let events: Vec<String> = (0..random.below(4))
                .map(|_| {
                    let (time, name) = (nanos(random), random.one(&TEXTS));
                    let attributes = attributes(random);
                    format!(
                        r#"{{"timeUnixNano":"{time}","name":"{name}","attributes":{attributes}}}"#
                    )
                })
                .collect();
            let links: Vec<String> = (0..random.below(3))
                .map(|_| {
                    let (id, attributes) = (random.below(5) + 1, attributes(random));
                    format!(
                        r#"{{"traceId":"{id:032x}","spanId":"{id:016x}","attributes":{attributes}}}"#
                    )
                })
                .collect();
            format!(
                r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"{}","startTimeUnixNano":"{start}","endTimeUnixNano":"{start}","attributes":{},"events":[{}],"links":[{}]}}"#,
                random.below(5) + 1,
                nth + 1,
                random.one(&TEXTS),
                attributes(random),
                events.join(","),
                links.join(","),
            )
        })
        .collect();
    let spans = spans.join(",");
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
}

/// Some rows in blocks, some in memory.
fn filled(random: &mut Random) -> Place {
    let place = place();
    for part in 0..3 {
        for line in [logs(random), metrics(random), spans(random)] {
            place.append("default", &line);
        }
        if part < 2 {
            place.store.flush().unwrap();
        }
    }
    place
}

/// A table, its columns of text, of numbers, of times, and of ids.
struct Table {
    name: &'static str,
    texts: &'static [&'static str],
    numbers: &'static [&'static str],
    times: &'static [&'static str],
    ids: &'static [&'static str],
}

const TABLES: [Table; 4] = [
    Table {
        name: "logs",
        texts: &["body", "severity", "\"log.text\"", "\"log.mixed\"", "\"resource.mixed\""],
        numbers: &["severity_number", "\"log.int\""],
        times: &["time", "observed_time"],
        ids: &["trace_id"],
    },
    Table {
        name: "points",
        texts: &["metric", "name", "unit", "\"label.text\"", "\"label.mixed\"", "type"],
        numbers: &["value", "\"label.int\""],
        times: &["time"],
        ids: &[],
    },
    Table {
        name: "events",
        texts: &["name", "\"event.text\"", "\"event.mixed\"", "\"span.text\""],
        numbers: &["\"event.int\"", "\"span.int\""],
        times: &["time"],
        ids: &["trace_id"],
    },
    Table {
        name: "links",
        texts: &["\"link.text\"", "\"link.mixed\"", "\"span.mixed\""],
        numbers: &["\"link.int\"", "\"span.int\""],
        times: &[],
        ids: &["trace_id", "linked_trace_id"],
    },
];

impl Table {
    fn leaf(&self, random: &mut Random) -> String {
        let op = random.one(&["=", "<>", "<", "<=", ">", ">="]).to_owned();
        let kinds = [self.texts, self.texts, self.numbers, self.times, self.ids];
        let kind = random.below(kinds.len());
        let Some(column) = (!kinds[kind].is_empty()).then(|| random.one(kinds[kind])) else {
            return "true".to_owned();
        };
        match (kind, random.below(4)) {
            (_, 0) => format!("{column} {}", random.one(&["IS NULL", "IS NOT NULL"])),
            (0, _) => {
                let value = random.one(&["a", "1", "m_1_seconds", "m.2", "gauge", "info", ""]);
                format!("{column} {op} '{value}'")
            }
            (1, 1) => format!("{column} NOT IN ('a', '1', 'm_3_total', 'x', 'y')"),
            (1, _) => {
                let like = random.one(&["LIKE", "NOT LIKE"]).to_owned();
                format!("{column} {like} '{}'", random.one(&["a%", "m\\_%", "%1%", "_"]))
            }
            (2, _) => format!("{column} {op} {}", random.one(&["0", "1", "3", "1.5", "17"])),
            (3, _) => format!("{column} {op} to_timestamp_nanos({})", nanos(random)),
            _ => format!("{column} {op} '{:032x}'", random.below(6)),
        }
    }

    fn filter(&self, random: &mut Random, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(random);
        }
        let [first, second] = [(); 2].map(|()| self.filter(random, depth - 1));
        match random.below(4) {
            0 => format!("({first} AND {second})"),
            1 => format!("({first} OR {second})"),
            2 => format!("NOT ({first})"),
            _ => first,
        }
    }
}

#[test]
fn filters_of_all_tables_give_the_same_rows_whether_the_store_tests_them_or_not() {
    let mut random = Random(0x5eed_0003);
    let place = filled(&mut random);
    let plain = place.engine.without_pushdown();
    for table in &TABLES {
        let mut answered = 0;
        for nth in 0..FILTERS {
            let (name, filter) = (table.name, table.filter(&mut random, nth % 3));
            let mut queries = vec![
                format!("SELECT * FROM {name} WHERE {filter}"),
                format!("SELECT count(*) FROM {name} WHERE {filter}"),
            ];
            if let Some(time) = table.times.first() {
                // Which of the rows with the same time are among the first is open.
                for order in ["", " DESC"] {
                    queries.push(format!(
                        "SELECT {time} FROM {name} WHERE {filter} ORDER BY {time}{order} LIMIT 31"
                    ));
                }
            }
            for query in queries {
                let [pushed, expected] = [&place.engine, &plain].map(|engine| {
                    let mut rows = lines(engine, &query).map_err(|error| error.kind());
                    if let Ok(rows) = &mut rows {
                        rows.sort();
                    }
                    rows
                });
                assert_eq!(pushed, expected, "{query}");
                answered += usize::from(expected.is_ok_and(|rows| !rows.is_empty()));
            }
        }
        assert!(answered > FILTERS, "{}: {answered} answers had rows", table.name);
    }
}

#[test]
fn more_groups_than_are_counted_by_code_are_all_there() {
    const SPANS: u64 = 80_000;
    let ask = |query_memory_bytes: usize| {
        let options = crate::EngineOptions {
            threads: 2,
            query_memory_bytes,
            ..crate::EngineOptions::default()
        };
        let place = Place::new(options);
        place.fill(SPANS);
        let groups = "SELECT name, duration_nanos AS d, count(*) AS n, min(start_time) AS t \
            FROM spans GROUP BY 1, 2";
        let plan = lines(&place.engine, &format!("EXPLAIN FORMAT INDENT {groups}")).unwrap();
        assert!(plan.join("\n").contains("CodeGroups"));
        lines(
            &place.engine,
            &format!("SELECT count(*), sum(n), min(d), max(d), count(DISTINCT t) FROM ({groups})"),
        )
    };
    assert!(SPANS as usize > crate::limits::CODE_GROUPS_MAX);
    let expected = vec![format!("{SPANS} | {SPANS} | 0 | {} | {SPANS}", SPANS - 1)];
    assert_eq!(ask(256 << 20).unwrap(), expected);
    // With less memory they are handed on sooner; with too little the query fails.
    for bytes in [48 << 20, 32 << 20, 24 << 20, 16 << 20, 1 << 20] {
        match ask(bytes) {
            Ok(rows) => assert_eq!(rows, expected, "{bytes}"),
            Err(error) => assert_eq!(error.kind(), "memory", "{bytes}"),
        }
    }
}
