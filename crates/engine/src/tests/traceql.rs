//! What the store tests for TraceQL is what TraceQL means: random queries over awkward traces, once
//! with all that can be pushed down to the store and once with nothing, wherever the spans lie.

use kymo_store::compact::Effort;
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::Body;

use super::differential::Random;
use super::support::Place;
use crate::Tenants;
use crate::traceql::{Cursor, MetricsQuery, Points, Search, Sort};
use crate::{Engine, EngineError};

const START_NANOS: i64 = 1_700_000_000_000_000_000;
const TRACES: usize = 60;
const PARTS: usize = 5;
const QUERIES: usize = 500;

const TEXTS: [&str; 6] = ["", "a", "ab", "B", "é", "200"];
const INTS: [i64; 5] = [0, 1, -1, 200, (1 << 53) + 1];
const FLOATS: [&str; 4] = ["0.5", "1.0", "-1.5", "200.0"];

fn value(random: &mut Random, kind: usize) -> String {
    match kind {
        0 => format!("{{\"stringValue\":\"{}\"}}", random.one(&TEXTS)),
        1 => format!("{{\"intValue\":\"{}\"}}", INTS[random.below(INTS.len())]),
        2 => format!("{{\"doubleValue\":{}}}", random.one(&FLOATS)),
        3 => format!("{{\"boolValue\":{}}}", random.below(2) == 0),
        _ => {
            let members: Vec<String> =
                (0..random.below(3)).map(|_| value(random, kind - 4)).collect();
            format!("{{\"arrayValue\":{{\"values\":[{}]}}}}", members.join(","))
        }
    }
}

/// Keys, and the kinds of their values.
const KEYS: [(&str, &[usize]); 7] = [
    ("text", &[0]),
    ("int", &[1]),
    ("float", &[2]),
    ("flag", &[3]),
    ("mixed", &[0, 1, 2, 3]),
    ("texts", &[0, 4]),
    ("ints", &[1, 5]),
];

fn attributes(random: &mut Random, share: usize) -> String {
    let mut found = Vec::new();
    for (key, kinds) in KEYS {
        if random.below(share) == 0 {
            let kind = kinds[random.below(kinds.len())];
            found.push(format!("{{\"key\":\"{key}\",\"value\":{}}}", value(random, kind)));
        }
    }
    format!("[{}]", found.join(","))
}

fn span(random: &mut Random, trace: usize, nth: usize, spans: usize) -> String {
    let parent = match random.below(8) {
        0 if nth > 0 => String::new(),
        1 => "ffffffffffffffff".to_owned(),
        _ if nth > 0 => format!("{:08x}{:08x}", trace + 1, random.below(nth) + 1),
        _ => String::new(),
    };
    let start = START_NANOS + (trace as i64) * 50_000_000 + random.below(100_000_000) as i64;
    // Some clocks go backwards.
    let end = start + random.below(200_000_000) as i64
        - if random.below(9) == 0 { 100_000_000 } else { 0 };
    let events: Vec<String> = (0..random.below(3))
        .map(|_| {
            let time = start + random.below(1_000_000) as i64;
            let name = random.one(&["exception", "retry"]).to_owned();
            let attributes = attributes(random, 4);
            format!(
                "{{\"timeUnixNano\":\"{time}\",\"name\":\"{name}\",\"attributes\":{attributes}}}"
            )
        })
        .collect();
    let links = match random.below(5) {
        0 => {
            let id = format!("{:032x}", random.below(TRACES) + 1);
            let span = format!("{:08x}{:08x}", 1, random.below(spans) + 1);
            format!(
                "[{{\"traceId\":\"{id}\",\"spanId\":\"{span}\",\"attributes\":{}}}]",
                attributes(random, 4)
            )
        }
        _ => "[]".to_owned(),
    };
    format!(
        "{{\"traceId\":\"{:032x}\",\"spanId\":\"{:08x}{:08x}\",\"parentSpanId\":\"{parent}\",\
         \"name\":\"{}\",\"kind\":{},\"startTimeUnixNano\":\"{start}\",\"endTimeUnixNano\":\"{end}\",\
         \"attributes\":{},\"status\":{{\"code\":{},\"message\":\"{}\"}},\"events\":[{}],\"links\":{links}}}",
        trace + 1,
        trace + 1,
        nth + 1,
        random.one(&["GET /", "SELECT", "call", ""]),
        random.below(6),
        attributes(random, 2),
        random.below(3),
        random.one(&["", "timeout"]),
        events.join(","),
    )
}

/// Requests, over which the spans of each trace are spread.
fn requests(random: &mut Random) -> Vec<String> {
    let mut parts: Vec<Vec<String>> = vec![Vec::new(); PARTS];
    for trace in 0..TRACES {
        let spans = 1 + random.below(9);
        let is_spread = random.below(3) > 0;
        let home = random.below(PARTS);
        for nth in 0..spans {
            let part = if is_spread { random.below(PARTS) } else { home };
            parts[part].push(span(random, trace, nth, spans));
        }
    }
    let request = |spans: Vec<String>, random: &mut Random| {
        let groups: Vec<String> = spans
            .chunks(4)
            .map(|spans| {
                let service = match random.below(4) {
                    0 => String::new(),
                    _ => format!(
                        "{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"{}\"}}}}",
                        random.one(&["shop", "db", "auth"])
                    ),
                };
                let scope = random.one(&["", "\"scope\":{\"name\":\"lib\",\"version\":\"1\",\"attributes\":[{\"key\":\"text\",\"value\":{\"stringValue\":\"ab\"}}]},"]).to_owned();
                let more = attributes(random, 4);
                let all = match (service.is_empty(), more.len() > 2) {
                    (true, _) => more,
                    (false, false) => format!("[{service}]"),
                    (false, true) => format!("[{service},{}", &more[1..]),
                };
                format!(
                    "{{\"resource\":{{\"attributes\":{all}}},\"scopeSpans\":[{{{scope}\"spans\":[{}]}}]}}",
                    spans.join(",")
                )
            })
            .collect();
        format!("{{\"resourceSpans\":[{}]}}", groups.join(","))
    };
    parts.into_iter().map(|spans| request(spans, random)).collect()
}

fn literal(random: &mut Random, kind: usize) -> String {
    match kind {
        0 => format!("\"{}\"", random.one(&TEXTS)),
        1 => INTS[random.below(INTS.len())].to_string(),
        2 => random.one(&FLOATS).to_owned(),
        _ => random.one(&["true", "false"]).to_owned(),
    }
}

fn leaf(random: &mut Random) -> String {
    let order = random.one(&["=", "!=", "<", "<=", ">", ">="]).to_owned();
    let equal = random.one(&["=", "!="]).to_owned();
    let scope =
        random.one(&["span.", ".", "resource.", "instrumentation.", "parent.", "event.", "link."]);
    let (key, _) = KEYS[random.below(KEYS.len())];
    let attribute = format!("{scope}{key}");
    match random.below(22) {
        20 => {
            let kind = random.below(3);
            let truth = random.one(&["true", "false"]).to_owned();
            format!("({attribute} {order} {}) = {truth}", literal(random, kind))
        }
        21 => format!("({attribute} = nil) {equal} {}", random.one(&["true", "false"])),
        0..4 => {
            let kind = random.below(3);
            format!("{attribute} {order} {}", literal(random, kind))
        }
        4 => format!("{attribute} {equal} {}", literal(random, 3)),
        5 => format!("{attribute} {equal} nil"),
        6 => {
            let op = random.one(&["=~", "!~"]).to_owned();
            format!("{attribute} {op} \"{}\"", random.one(&["a.*", "", "B|é", "[ab]+", ".*0"]))
        }
        7 => format!("{} {order} {attribute}", literal(random, 1)),
        8 => format!("{attribute} + 1 {order} {}", literal(random, 1)),
        9 => format!("name {equal} \"{}\"", random.one(&["GET /", "SELECT", ""])),
        10 => format!("status {equal} {}", random.one(&["ok", "error", "unset"])),
        11 => format!("kind {equal} {}", random.one(&["server", "client", "unspecified"])),
        12 => format!("duration {order} {}ms", random.below(200)),
        13 => format!("traceDuration {order} {}ms", random.below(300)),
        14 => format!("rootName {equal} \"{}\"", random.one(&["GET /", "SELECT"])),
        15 => format!("resource.service.name {equal} \"{}\"", random.one(&["shop", "db", "none"])),
        16 => format!("statusMessage {order} \"{}\"", random.one(&["", "timeout"])),
        17 => random
            .one(&[
                "nestedSetParent < 0",
                "span:parentID = \"\"",
                "nestedSetLeft > 2",
                "span:childCount > 1",
                "event:name = \"exception\"",
                "event:timeSinceStart > 500us",
                "trace:id = \"5\"",
                "span:id = \"0000000200000001\"",
                "instrumentation:name != nil",
                "instrumentation:name = \"lib\"",
                "rootServiceName = \"shop\"",
            ])
            .to_owned(),
        18 => attribute,
        _ => format!("!{attribute}"),
    }
}

fn filter(random: &mut Random, depth: usize) -> String {
    match (random.below(6), depth) {
        (0 | 1, 1..) => format!("{} && {}", filter(random, depth - 1), leaf(random)),
        (2 | 3, 1..) => format!("({}) || {}", filter(random, depth - 1), leaf(random)),
        (4, 1..) => format!("!({})", filter(random, depth - 1)),
        _ => leaf(random),
    }
}

fn spansets(random: &mut Random) -> String {
    let depth = random.below(3);
    let first = format!("{{ {} }}", filter(random, depth));
    match random.below(8) {
        0 => {
            let ops = [
                "&&", "||", ">", ">>", "<", "<<", "~", "!>", "!>>", "!<", "!<<", "!~", "&>", "&>>",
                "&<", "&<<", "&~",
            ];
            let second = format!("{{ {} }}", leaf(random));
            format!("{first} {} {second}", random.one(&ops))
        }
        1 => format!("{first} | count() {} {}", random.one(&["=", ">", "<"]), random.below(4)),
        2 => format!("{first} | avg(duration) > {}ms", random.below(150)),
        3 => format!("{first} | {{ {} }}", leaf(random)),
        _ => first,
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn search(
    engine: &Engine,
    text: &str,
    change: impl FnOnce(&mut Search),
) -> Result<Vec<String>, EngineError> {
    let query = kymo_traceql::parse(text)
        .map_err(|error| EngineError::Invalid(error.to_string().into()))?;
    let mut search = Search {
        query,
        time: None,
        limit: 1000,
        spans_per_set: 1000,
        sort: Sort::Newest,
        after: None,
    };
    change(&mut search);
    let found = wait(async { engine.search(&tenants(), search).await?.all().await })?;
    Ok(found.traces.into_iter().map(|trace| format!("{trace:?}")).collect())
}

/// Series of points of their own, and of windows that overlap.
fn series(engine: &Engine, text: &str) -> Result<Vec<String>, EngineError> {
    let query = kymo_traceql::parse(text)
        .map_err(|error| EngineError::Invalid(error.to_string().into()))?;
    let mut shown = Vec::new();
    let step_nanos = 500_000_000;
    for points in [Points::Every(step_nanos), Points::Sliding { step_nanos, window: 3 }] {
        if points != Points::Every(step_nanos) && text.contains("compare(") {
            continue;
        }
        let query = MetricsQuery {
            query: query.clone(),
            start_nanos: START_NANOS,
            end_nanos: START_NANOS + 4_000_000_000,
            points,
            exemplars: 0,
        };
        let answer = wait(engine.metrics(&tenants(), query))?;
        shown.extend(answer.series.into_iter().map(|series| format!("{series:?}")));
    }
    Ok(shown)
}

/// All who may have spans.
fn tenants() -> Tenants {
    Tenants::new(["default", "other", "third"].map(str::to_owned))
}

/// The same spans: in memory; in blocks and in memory; in one block; of several tenants.
fn places(random: &mut Random) -> Vec<Place> {
    let requests = requests(random);
    let place_of = |tenants: &[&str], flush_after: &dyn Fn(usize) -> bool| {
        let place = super::place();
        for (nth, request) in requests.iter().enumerate() {
            place.append(tenants[nth % tenants.len()], request);
            if flush_after(nth) {
                place.store.flush().unwrap();
            }
        }
        place
    };
    let place = |flush_after: &dyn Fn(usize) -> bool| place_of(&["default"], flush_after);
    let compacted = place(&|_| true);
    compacted.store.compact(Effort::Everything).unwrap();
    let of_several = place_of(&["default", "other", "third"], &|nth| nth < PARTS - 1);
    vec![place(&|_| false), place(&|nth| nth < PARTS - 1), compacted, of_several]
}

#[test]
fn queries_give_the_same_whether_the_store_tests_them_or_not_and_wherever_spans_lie() {
    let mut random = Random(0x7ace_0001);
    let places = places(&mut random);
    let plain = places[0].engine.without_pushdown();
    let mut answered = 0;
    for _ in 0..QUERIES {
        let text = spansets(&mut random);
        let start = START_NANOS + random.below(3_500_000_000) as i64 - 200_000_000;
        let end = start + random.below(1_000_000_000) as i64;
        let time = (random.below(2) == 0).then_some(start..end);
        let within = |search: &mut Search| search.time = time.clone();
        let expected = match search(&plain, &text, within) {
            Ok(expected) => expected,
            Err(EngineError::Invalid(_)) => continue,
            Err(error) => panic!("{text}: {error}"),
        };
        answered += usize::from(!expected.is_empty());
        for (nth, place) in places.iter().enumerate() {
            let found = search(&place.engine, &text, within).unwrap();
            let differing = found.iter().zip(&expected).find(|(found, expected)| found != expected);
            assert_eq!(differing, None, "{text} in place {nth} within {time:?}");
            assert_eq!(found.len(), expected.len(), "{text} in place {nth}");
        }
    }
    assert!(answered > QUERIES / 4, "{answered} answers had traces");
}

#[test]
fn series_are_the_same_by_rows_and_by_traces_and_wherever_spans_lie() {
    let mut random = Random(0x7ace_0002);
    let places = places(&mut random);
    let plain = places[0].engine.without_pushdown();
    let functions = [
        "rate()",
        "count_over_time()",
        "sum_over_time(span.int)",
        "avg_over_time(duration)",
        "min_over_time(span.mixed)",
        "max_over_time(traceDuration)",
        "sum_over_time(.int)",
        "avg_over_time(.mixed)",
        "max_over_time(nestedSetRight)",
        "compare({ status = error })",
        "compare({ nestedSetParent < 0 && .flag }, 3)",
        "quantile_over_time(duration, 0.5, 0.99)",
        "histogram_over_time(duration)",
    ];
    let groups = [
        "",
        " by (resource.service.name)",
        " by (.text, kind)",
        " by (status, span.mixed)",
        " by (rootName)",
        " by (nestedSetLeft)",
        " by (span:childCount, parent.text)",
        " by (span.texts)",
        " by (span.flag, name, statusMessage)",
    ];
    let mut answered = 0;
    for _ in 0..QUERIES / 2 {
        let spans = spansets(&mut random);
        let function = random.one(&functions).to_owned();
        let by = if function.starts_with("compare") { "" } else { random.one(&groups) };
        let text = format!("{spans} | {function}{by}");
        let expected = match series(&plain, &text) {
            Ok(expected) => expected,
            Err(EngineError::Invalid(_)) => continue,
            Err(error) => panic!("{text}: {error}"),
        };
        answered += usize::from(!expected.is_empty());
        for (nth, place) in places.iter().enumerate() {
            assert_eq!(series(&place.engine, &text).unwrap(), expected, "{text} in place {nth}");
        }
    }
    assert!(answered > QUERIES / 10, "{answered} answers had series");
}

#[test]
fn pages_of_any_size_give_every_trace_once_in_every_order() {
    let mut random = Random(0x7ace_0003);
    let places = places(&mut random);
    let text = "{ duration > 20ms }";
    for place in &places {
        for sort in [Sort::Newest, Sort::Start, Sort::Duration, Sort::Spans] {
            let all = search(&place.engine, text, |search| search.sort = sort).unwrap();
            assert!(all.len() > 20);
            for limit in [1, 7, all.len(), all.len() + 1] {
                let mut paged = Vec::new();
                let mut after: Option<Cursor> = None;
                loop {
                    let query = kymo_traceql::parse(text).unwrap();
                    assert!(matches!(query.body, Body::Spans(_)));
                    let search =
                        Search { query, time: None, limit, spans_per_set: 1000, sort, after };
                    let found = wait(async {
                        place.engine.search(&tenants(), search).await.unwrap().all().await.unwrap()
                    });
                    paged.extend(found.traces.iter().map(|trace| format!("{trace:?}")));
                    // As clients send it back.
                    let Some(next) = found.next else { break };
                    after = Cursor::parse(&next.to_string());
                    assert_eq!(after, Some(next));
                }
                assert_eq!(paged, all, "{sort:?} by {limit}");
            }
        }
    }
}

#[test]
fn spans_that_were_sent_twice_are_found_once_wherever_they_lie() {
    let mut random = Random(0x7ace_0004);
    let requests = requests(&mut random);
    let once = super::place();
    requests.iter().for_each(|request| once.append("default", request));
    for flushes in [0, 1, 2] {
        let twice = super::place();
        for round in 0..2 {
            for request in &requests {
                // Not the same request again, which the journal would know.
                twice.append("default", &format!("{request}{}", " ".repeat(round)));
            }
            if round < flushes {
                twice.store.flush().unwrap();
            }
        }
        for _ in 0..100 {
            let text = spansets(&mut random);
            if let Ok(expected) = search(&once.engine, &text, |_| {}) {
                let found = search(&twice.engine, &text, |_| {}).unwrap();
                let differing = found.iter().zip(&expected).find(|(a, b)| a != b);
                assert_eq!(differing, None, "{text} after {flushes} flushes");
                assert_eq!(found.len(), expected.len(), "{text} after {flushes} flushes");
            }
        }
    }
}

#[test]
fn spans_that_were_deleted_are_not_found_and_make_no_difference() {
    let mut random = Random(0x7ace_0005);
    let place = super::place();
    for request in requests(&mut random) {
        place.append("default", &request);
        place.store.flush().unwrap();
    }
    place.store.compact(Effort::Everything).unwrap();
    let long = Predicate::Compare {
        column: ColumnRef::Field(field::DURATION),
        op: Op::Gt,
        value: Scalar::Int(120_000_000),
    };
    place.store.delete("default", Signal::Spans, &long).unwrap();
    let plain = place.engine.without_pushdown();
    assert!(search(&plain, "{ duration > 120ms }", |_| {}).unwrap().is_empty());
    for _ in 0..200 {
        let text = spansets(&mut random);
        if let Ok(expected) = search(&plain, &text, |_| {}) {
            assert_eq!(search(&place.engine, &text, |_| {}).unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn of_an_attribute_with_too_many_values_the_spans_are_compared_all_the_same() {
    let place = super::place();
    let (count, parts) = (kymo_traceql::limits::MAX_COMPARED_VALUES + 1, 3);
    for part in 0..parts {
        let spans = (part..count).step_by(parts).map(|nth| {
            let few = if part == 0 { "" } else { r#",{"key":"few","value":{"intValue":"1"}}"# };
            format!(
                r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"{}","startTimeUnixNano":"{START_NANOS}",
                    "attributes":[{{"key":"id","value":{{"stringValue":"id-{nth}"}}}}{few}]}}"#,
                nth + 1,
                nth + 1,
                nth % 2,
            )
        });
        let spans: Vec<String> = spans.collect();
        let spans = spans.join(",");
        let request = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
        place.append("default", &request);
        if part < 2 {
            place.store.flush().unwrap();
        }
    }
    let text = "{ } | compare({ name = \"1\" })";
    let compared = series(&place.engine, text).unwrap();
    assert_eq!(compared, series(&place.engine.without_pushdown(), text).unwrap());
    let ids: Vec<&String> = compared.iter().filter(|series| series.contains("span.id")).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    for (shown, label, spans) in [
        (ids[0], "__too_many_values__", "points: []".to_owned()),
        (ids[1], "baseline_total", format!(", {}.0)", count.div_ceil(2))),
        (ids[2], "selection_total", format!(", {}.0)", count / 2)),
    ] {
        assert!(shown.contains(label) && shown.contains(&spans), "{label} {spans} {shown}");
    }
    let few = compared.iter().filter(|series| series.contains("span.few")).count();
    assert_eq!(few, 4, "its value and all values, in both sides");
}

#[test]
fn children_are_compared_of_whole_traces() {
    let place = super::place();
    // A root with two children, the second of which arrives later and has a child of its own.
    let spans =
        [("01", "", "root"), ("02", "01", "early"), ("03", "01", "late"), ("04", "03", "leaf")];
    for part in spans.chunks(2) {
        let spans = part.iter().map(|(id, parent, name)| {
            let parent = if parent.is_empty() { String::new() } else { format!("{parent:0>16}") };
            format!(
                r#"{{"traceId":"{:032x}","spanId":"{id:0>16}","parentSpanId":"{parent}","name":"{name}",
                    "startTimeUnixNano":"{START_NANOS}"}}"#,
                1
            )
        });
        let spans = spans.collect::<Vec<_>>().join(",");
        let request = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
        place.append("default", &request);
        if part[0].0 == "01" {
            place.store.flush().unwrap();
        }
    }
    let text = r#"{ name != "leaf" } | compare({ name = "root" })"#;
    let compared = series(&place.engine, text).unwrap();
    assert_eq!(compared, series(&place.engine.without_pushdown(), text).unwrap());
    let children: Vec<&String> =
        compared.iter().filter(|series| series.contains("span:childCount")).collect();
    assert_eq!(children.len(), 5, "{children:?}");
    for (shown, side, value) in [
        (children[0], "\"baseline\"", "Int(0)"),
        (children[1], "\"baseline\"", "Int(1)"),
        (children[2], "baseline_total", "Nil"),
        (children[3], "\"selection\"", "Int(2)"),
        (children[4], "selection_total", "Nil"),
    ] {
        assert!(shown.contains(side) && shown.contains(value), "{side} {value} {shown}");
    }
}
