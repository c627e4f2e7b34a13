//! Tempo's API over HTTP: searches, in all their forms, and parts of traces.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;
use std::io::Read;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use harness::otlp::{START_NANOS, attribute, spans, traces};
use harness::raw::{Raw, post};
use harness::traces::{CART, JOB, LOST, START_SECS, requests, server, span};
use harness::{Answer, Server, Signal, eventually};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use prost::Message;
use serde_json::{Value, json};

/// Far more than any of these takes; a query that hangs takes longer.
const SOON: Duration = Duration::from_secs(10);

/// Asks for some form.
#[track_caller]
fn get_as(server: &Server, path: &str, params: &[(&str, &str)], accept: &str) -> Answer {
    let request = server.client.get(server.url(&format!("/tempo{path}"))).query(params);
    Answer::of(request.header("accept", accept))
}

#[track_caller]
fn search(server: &Server, query: &str) -> Value {
    server.tempo("/api/search", &[("q", query)]).expect(200).json()
}

/// Ids of the traces in an answer.
fn ids(document: &Value) -> Vec<&str> {
    let traces = document["traces"].as_array().unwrap();
    traces.iter().map(|trace| trace["traceID"].as_str().unwrap()).collect()
}

/// Names of the spans that a query finds, which must select them.
#[track_caller]
fn names(server: &Server, query: &str) -> Vec<String> {
    let document = search(server, &format!("{query} | select(name)"));
    let mut names = Vec::new();
    for trace in document["traces"].as_array().unwrap() {
        for set in trace["spanSets"].as_array().unwrap() {
            for span in set["spans"].as_array().unwrap() {
                names.push(span["name"].as_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    names
}

fn nanos(after_ms: u64) -> String {
    (START_NANOS + after_ms * 1_000_000).to_string()
}

fn cart() -> String {
    format!("{CART:x}")
}

#[test]
fn a_search_is_answered_exactly_as_tempo_answers_it() {
    let server = server(&[]);
    let query = "{ span.db.rows > 5 && status = error } | select(span.ratio, span.cached, kind)";
    let answer = server.tempo("/api/search", &[("q", query)]).expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let mut document = answer.json();
    let metrics = document.as_object_mut().unwrap().remove("metrics").unwrap();
    let known = [
        "inspectedTraces",
        "inspectedBytes",
        "totalBlocks",
        "completedJobs",
        "totalJobs",
        "totalBlockBytes",
        "inspectedSpans",
    ];
    assert!(metrics.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
    // The order of attributes has no meaning.
    for set in ["/traces/0/spanSet", "/traces/0/spanSets/0"] {
        let path = format!("{set}/spans/0/attributes");
        let attributes = document.pointer_mut(&path).unwrap().as_array_mut().unwrap();
        attributes.sort_by_key(|attribute| attribute["key"].as_str().unwrap().to_owned());
    }
    let set = json!({
        "spans": [{
            "spanID": "0000000000000002",
            "startTimeUnixNano": nanos(10),
            "durationNanos": "50000000",
            "attributes": [
                {"key": "cached", "value": {"boolValue": true}},
                {"key": "db.rows", "value": {"intValue": "7"}},
                {"key": "kind", "value": {"stringValue": "client"}},
                {"key": "ratio", "value": {"doubleValue": 0.5}},
                {"key": "status", "value": {"stringValue": "error"}},
            ],
        }],
        "matched": 1,
    });
    let expected = json!({"traces": [{
        "traceID": cart(),
        "rootServiceName": "shop",
        "rootTraceName": "GET /cart",
        "startTimeUnixNano": nanos(0),
        "durationMs": 120,
        "spanSet": set,
        "spanSets": [set],
        "serviceStats": {
            "db": {"spanCount": 1, "errorCount": 1},
            "shop": {"spanCount": 2},
        },
    }]});
    assert_eq!(document, expected);
}

#[test]
fn traces_come_newest_first_and_what_has_no_root_says_so() {
    let server = server(&[]);
    let document = search(&server, "{ }");
    assert_eq!(ids(&document), [format!("{LOST:x}"), format!("{JOB:x}"), cart()]);
    let lost = &document["traces"][0];
    assert_eq!(lost["rootServiceName"], "<root span not yet received>");
    assert!(lost.get("rootTraceName").is_none(), "{lost}");
    assert_eq!(document["traces"][1]["spanSets"][0]["matched"], 3);

    let limited = server.tempo("/api/search", &[("q", "{ }"), ("limit", "1"), ("spss", "2")]);
    let limited = limited.expect(200).json();
    assert_eq!(ids(&limited), [format!("{LOST:x}")]);
    let spans = server.tempo("/api/search", &[("q", "{ name = \"step\" }"), ("spss", "1")]);
    let set = &spans.expect(200).json()["traces"][0]["spanSets"][0];
    assert_eq!((set["spans"].as_array().unwrap().len(), &set["matched"]), (1, &json!(2)));
    assert_eq!(names(&server, "{ resource.service.name = \"worker\" }"), ["run", "step", "step"]);
}

#[test]
fn groups_and_aggregates_are_attributes_of_spansets() {
    let server = server(&[]);
    let document = search(&server, "{ name = \"step\" } | by(span.step) | avg(duration) > 50ms");
    let sets = document["traces"][0]["spanSets"].as_array().unwrap();
    assert_eq!(sets.len(), 2);
    let mut seen = BTreeSet::new();
    for set in sets {
        let attributes = set["attributes"].as_array().unwrap();
        let value = |key: &str| {
            let found = attributes.iter().find(|attribute| attribute["key"] == key).unwrap();
            found["value"]["stringValue"].as_str().unwrap().to_owned()
        };
        seen.insert((value("by(span.step)"), value("avg(duration)")));
    }
    let expected = [("a", "100ms"), ("b", "300ms")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn the_time_range_leaves_traces_out() {
    let server = server(&[]);
    let within = |start: u64, end: u64| {
        let (start, end) = (start.to_string(), end.to_string());
        let params = [("q", "{ }"), ("start", start.as_str()), ("end", end.as_str())];
        ids(&server.tempo("/api/search", &params).expect(200).json()).len()
    };
    assert_eq!(within(START_SECS - 60, START_SECS + 60), 3);
    assert_eq!(within(START_SECS - 60, START_SECS - 1), 0);
    assert_eq!(within(START_SECS + 10, START_SECS + 60), 0);
    assert_eq!(within(START_SECS + 2, START_SECS + 60), 2, "one began before and ends within");
}

#[test]
fn tags_of_old_are_searched_without_spansets() {
    let server = server(&[]);
    let found = |params: &[(&str, &str)]| {
        let document = server.tempo("/api/search", params).expect(200).json();
        for trace in document["traces"].as_array().unwrap() {
            assert!(trace.get("spanSets").is_none() && trace.get("spanSet").is_none(), "{trace}");
        }
        let mut ids: Vec<String> = ids(&document).into_iter().map(str::to_owned).collect();
        ids.sort();
        ids
    };
    let (job, lost) = (format!("{JOB:x}"), format!("{LOST:x}"));
    assert_eq!(found(&[]).len(), 3);
    assert_eq!(found(&[("q", "")]).len(), 3);
    assert_eq!(found(&[("tags", "service.name=worker")]), [job.as_str()]);
    assert_eq!(found(&[("tags", "http.status_code=500 cached=true")]), [cart()]);
    assert_eq!(found(&[("tags", "error=true")]), [cart()]);
    assert_eq!(found(&[("tags", "status.code=error")]), [cart()]);
    assert_eq!(found(&[("tags", "name=\"GET /cart\"")]), [cart()]);
    assert_eq!(found(&[("tags", "root.name=run root.service.name=worker")]), [job.as_str()]);
    assert_eq!(found(&[("tags", "region=eu")]), [lost.as_str()]);
    assert_eq!(found(&[("tags", "region=mars")]), [""; 0]);
    assert_eq!(found(&[("minDuration", "1s")]), [job.as_str()]);
    // Tags may also be parameters of their own names.
    assert_eq!(found(&[("service.name", "worker"), ("limit", "5")]), [job.as_str()]);
    assert_eq!(found(&[("service.name", "worker"), ("region", "eu")]), [""; 0]);
    assert_eq!(found(&[("tags", "region=eu"), ("x", "y")]), [lost.as_str()]);
    assert_eq!(found(&[("minDuration", "50ms"), ("maxDuration", "1s")]), [cart()]);
}

#[test]
fn wrong_questions_are_told_what_is_wrong() {
    let server = server(&[]);
    for (params, word) in [
        (vec![("q", "{")], "invalid TraceQL query: parse error at line 1, col 2"),
        (vec![("q", "{ name = 1 }")], "invalid TraceQL query: "),
        (vec![("q", "{ .a =~ `[` }")], "invalid TraceQL query: "),
        (vec![("q", "{ }"), ("limit", "0")], "invalid limit: must be a positive number"),
        (vec![("q", "{ }"), ("limit", "-1")], "invalid limit"),
        (vec![("q", "{ }"), ("limit", "262145")], "limit 262145 exceeds max limit 262144"),
        (vec![("q", "{ }"), ("spss", "100001")], "spans per span set exceeds 100000"),
        (vec![("q", "{ }"), ("start", "20"), ("end", "10")], "start must be before end"),
        (vec![("q", "{ }"), ("start", "-20")], "invalid start"),
        (vec![("q", "{ }"), ("end", "tomorrow")], "invalid end"),
        (vec![("q", "{ }"), ("tags", "a=b")], "in the same query"),
        (vec![("q", "{ }"), ("sort", "size")], "invalid sort"),
        (vec![("q", "{ }"), ("cursor", "x")], "invalid cursor"),
        (vec![("tags", "a=\"b")], "invalid tags"),
        (vec![("minDuration", "soon")], "invalid minDuration"),
    ] {
        let answer = server.tempo("/api/search", &params).expect(400);
        assert!(answer.header("content-type").starts_with("text/plain"));
        assert!(answer.text().contains(word), "{params:?}: {}", answer.text());
    }
    let many: Vec<String> = (0..10_000).map(|nth| format!("a{nth}")).collect();
    let url = server.url("/tempo/api/search");
    let answer = Answer::of(server.client.post(url).form(&[("tags", many.join(" "))])).expect(400);
    assert!(answer.text().contains("too many"), "{}", answer.text());
    let bad_escape = server.get("/tempo/api/search?q=%zz").expect(400);
    assert!(bad_escape.text().contains("escape"), "{}", bad_escape.text());
    let tenant = server.client.get(server.url("/tempo/api/search")).header("x-scope-orgid", "a||b");
    assert!(Answer::of(tenant).expect(400).text().contains("is empty"));
    // What nobody sent is not wrong.
    assert_eq!(search(&server, "{ span.nobody.has.this = 1 }")["traces"], json!([]));
    let failed = ["kind=\"search\"", "outcome=\"invalid\""];
    assert_eq!(server.metric("kymo_query_seconds_count", &failed), 18.0);
}

#[test]
fn a_monstrous_query_is_refused_at_once() {
    let server = server(&[]);
    let deep = format!("{{ {}1 = 1{} }}", "(".repeat(10_000), ")".repeat(10_000));
    let not = format!("{{ {}true }}", "!".repeat(50_000));
    let long = format!("{{ .a = \"{}\" }}", "x".repeat(1 << 20));
    let many = format!("{{ {} }}", vec![".a = 1"; 20_000].join(" || "));
    for text in [&deep, &not, &long, &many] {
        let began = Instant::now();
        let form = [("q", text.as_str())];
        for path in ["search", "metrics/query_range"] {
            let url = server.url(&format!("/tempo/api/{path}"));
            // Too long for a URL, so it comes as a form.
            let answer = Answer::of(server.client.post(url).form(&form));
            let is_refused = answer.status == 400 || answer.status == 413;
            assert!(is_refused, "{} {:.200}", answer.status, answer.text());
            assert!(answer.body.len() < 1000, "{}", answer.body.len());
        }
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }
    server.tempo("/api/search", &[("q", &deep)]).expect(400);
    server.tempo("/api/v2/search/tags", &[("q", &deep)]).expect(200);
    // Longer than URLs may be.
    let mut raw = Raw::connect(server.http());
    let line = format!("GET /tempo/api/search?q={} HTTP/1.1\r\n", "x".repeat(100_000));
    raw.write(format!("{line}host: x\r\nconnection: close\r\n\r\n").as_bytes());
    let mut answer = String::new();
    raw.stream().read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 414 "), "{answer}");
    assert_eq!(ids(&search(&server, "{ }")).len(), 3);
}

/// Runs for long over a thousand spans.
const ENDLESS: &str = "SELECT sum(a.duration_nanos * b.duration_nanos + c.duration_nanos) \
                       FROM spans a CROSS JOIN spans b CROSS JOIN spans c";

#[test]
fn who_hangs_up_ends_a_search_and_who_finds_no_room_is_told_when_to_come_again() {
    let server = Server::with(&["--query-max-running", "1", "--query-max-waiting", "1"]);
    server.store(Signal::Traces, spans("load", 0, 1000).encode_to_vec());
    let mut running = Raw::connect(server.http());
    running.write(&post("/api/sql", "text/plain", ENDLESS.as_bytes()));
    let metric = |name: &str| server.metric(name, &[]);
    eventually(SOON, "one runs", || metric("kymo_queries_running") == 1.0);
    let mut waiting = Raw::connect(server.http());
    waiting.write(b"GET /tempo/api/search?q=%7B%7D HTTP/1.1\r\nhost: x\r\n\r\n");
    eventually(SOON, "one waits", || metric("kymo_queries_waiting") == 1.0);
    let refused = server.tempo("/api/search", &[("q", "{ }")]).expect(429);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    drop(waiting);
    eventually(SOON, "it has ended", || {
        let labels = ["kind=\"search\"", "outcome=\"cancelled\""];
        metric("kymo_queries_waiting") == 0.0
            && server.metric("kymo_query_seconds_count", &labels) == 1.0
    });
    drop(running);
    eventually(SOON, "nothing runs", || metric("kymo_queries_running") == 0.0);
    assert_eq!(ids(&search(&server, "{ }")).len(), 1);
}

#[test]
fn a_plan_is_explained() {
    let server = server(&[]);
    let params = [("q", "{ resource.service.name = \"worker\" }")];
    let url = server.url("/api/traceql/explain");
    let answer = Answer::of(server.client.get(&url).query(&params)).expect(200);
    assert!(answer.header("content-type").starts_with("text/plain"));
    assert!(answer.text().contains("service"), "{}", answer.text());
    for (selection, how) in [
        ("{ status = error }", "comparison, counted row by row while scanning; children over"),
        ("{ span:childCount > 1 }", "comparison, counted over the spans of evaluated traces"),
    ] {
        let params = [("q", format!("{{ }} | compare({selection})"))];
        let answer = Answer::of(server.client.get(&url).query(&params)).expect(200).text();
        assert!(answer.contains(how), "{answer}");
        assert_eq!(answer.contains("region"), how.contains("row by row"), "columns: {answer}");
    }
    Answer::of(server.client.get(&url).query(&[("q", "{")])).expect(400);
}

#[test]
fn a_question_may_be_a_form() {
    let server = server(&[]);
    let url = server.url("/tempo/api/search");
    // Where the URL has the name too, the form counts.
    for query in [vec![], vec![("q", "{ .region = \"nowhere\" }")]] {
        let request = server.client.post(&url).query(&query);
        let answer = Answer::of(request.form(&[("q", "{ .region = \"eu\" }")]));
        assert_eq!(ids(&answer.expect(200).json()), [format!("{LOST:x}")]);
    }
}

#[test]
fn a_search_can_be_had_as_protobuf_csv_and_arrow() {
    let server = server(&[]);
    let query =
        "{ resource.service.name = \"worker\" } | select(name, span.attempt, span.priority)";
    let params = [("q", query)];
    let answer = get_as(&server, "/api/search", &params, "text/csv").expect(200);
    assert!(answer.header("content-type").starts_with("text/csv"));
    let text = answer.text();
    let lines: Vec<&str> = text.lines().collect();
    let fixed = "trace_id,root_service,root_name,trace_start_time,trace_duration_nanos,span_set,\
                 span_id,name,start_time,duration_nanos";
    assert!(lines[0].starts_with(fixed), "{}", lines[0]);
    assert_eq!(lines.len(), 4, "every span, where JSON has three: {text}");
    let run = lines.iter().find(|line| line.contains(",run,2026")).unwrap();
    let id = format!("{JOB:032x}");
    assert!(run.starts_with(&format!("{id},worker,run,2026-01-02T03:04:06")), "{run}");

    let arrow = "application/vnd.apache.arrow.stream";
    let answer = get_as(&server, "/api/search", &params, arrow).expect(200);
    assert_eq!(answer.header("content-type"), arrow);
    let reader = arrow_ipc::reader::StreamReader::try_new(&*answer.body, None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let batch = &batches[0];
    assert_eq!(batch.num_rows(), 3);
    let attempts = batch.column_by_name("attempt").unwrap().as_string::<i32>();
    let attempts: BTreeSet<&str> = attempts.iter().flatten().collect();
    assert_eq!(attempts, BTreeSet::from(["1", "two"]), "a mixture is text");
    let priorities = batch.column_by_name("priority").unwrap();
    let priorities = priorities.as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(priorities.iter().flatten().collect::<Vec<_>>(), [3]);

    let answer = get_as(&server, "/api/search", &params, "application/protobuf").expect(200);
    assert_eq!(answer.header("content-type"), "application/protobuf");
    let found = SearchResponse::decode(&*answer.body).unwrap();
    assert_eq!(found.traces[0].trace_id, format!("{JOB:x}"));
}

/// The first fields of Tempo's message.
#[derive(Clone, PartialEq, Message)]
struct SearchResponse {
    #[prost(message, repeated, tag = "1")]
    traces: Vec<FoundTrace>,
}

#[derive(Clone, PartialEq, Message)]
struct FoundTrace {
    #[prost(string, tag = "1")]
    trace_id: String,
}

/// A server with `count` traces: the number of each is its id; it has one to five spans, and the
/// order of durations is another than that of times.
fn many(count: u64) -> Server {
    let server = Server::start();
    let spans = (1..=count).flat_map(|number| {
        let (id, lasts_ms) = (u128::from(number), 10 + number * 7919 % 1009);
        let root = span(id, number * 10, 0, "root", number * 10, lasts_ms);
        let children = (1..=number % 5).map(move |nth| {
            span(id, number * 10 + nth, number * 10, "child", number * 10 + nth, 1)
        });
        std::iter::once(root).chain(children)
    });
    server.store(Signal::Traces, traces("shop", spans.collect()).encode_to_vec());
    server
}

#[test]
fn every_order_can_be_paged_through_to_its_end() {
    let server = many(100);
    let mut all: Vec<Vec<u64>> = Vec::new();
    for sort in ["", "newest", "start", "duration", "spans"] {
        let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
        loop {
            let params =
                [("q", "{ }"), ("limit", "7"), ("sort", sort), ("cursor", cursor.as_str())];
            let answer = server.tempo("/api/search", &params).expect(200);
            let next = answer.header("x-kymo-next-cursor").to_owned();
            let document = answer.json();
            let page = ids(&document).into_iter().map(|id| u64::from_str_radix(id, 16).unwrap());
            found.extend(page);
            pages += 1;
            assert!(pages <= 20, "{sort}: it does not end");
            if next.is_empty() {
                break;
            }
            cursor = next;
        }
        let distinct: BTreeSet<u64> = found.iter().copied().collect();
        assert_eq!((found.len(), distinct.len()), (100, 100), "{sort}: each trace once");
        let descends =
            |key: fn(u64) -> u64| found.is_sorted_by_key(|id| std::cmp::Reverse(key(*id)));
        match sort {
            "start" => assert!(descends(|id| id), "{found:?}"),
            "duration" => assert!(descends(|id| 10 + id * 7919 % 1009), "{found:?}"),
            "spans" => assert!(descends(|id| id % 5), "{found:?}"),
            _ => {}
        }
        all.push(found);
    }
    assert_eq!(all[0], all[1], "newest is the default");
    let longest =
        server.tempo("/api/search", &[("q", "{ }"), ("sort", "duration"), ("limit", "3")]);
    let document = longest.expect(200).json();
    let durations: Vec<u64> = document["traces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["durationMs"].as_u64().unwrap())
        .collect();
    assert!(durations.is_sorted_by(|a, b| a >= b) && durations[0] > 1000, "{durations:?}");
}

#[test]
fn a_part_of_a_trace_can_be_asked_for() {
    let server = server(&[]);
    let get = |params: &[(&str, &str)]| server.tempo(&format!("/api/v2/traces/{}", cart()), params);
    let names = |params: &[(&str, &str)]| {
        let document = get(params).expect(200).json();
        let mut names = Vec::new();
        let groups = document["trace"]["resourceSpans"].as_array().cloned().unwrap_or_default();
        for group in groups {
            for scope in group["scopeSpans"].as_array().unwrap() {
                for span in scope["spans"].as_array().unwrap() {
                    names.push(span["name"].as_str().unwrap().to_owned());
                }
            }
        }
        names.sort();
        (names, document["status"] == "PARTIAL")
    };
    let whole = vec!["GET /cart".to_owned(), "SELECT".to_owned(), "render".to_owned()];
    assert_eq!(names(&[]), (whole.clone(), false));
    // A trace is whole, whatever time it is looked for in.
    assert_eq!(names(&[("start", "1"), ("end", "2")]), (whole.clone(), false));
    assert_eq!(names(&[("q", "{ status = error }")]), (vec!["SELECT".to_owned()], true));
    let above = [("q", "{ status = error }"), ("keep_hierarchy", "true")];
    assert_eq!(names(&above), (vec!["GET /cart".to_owned(), "SELECT".to_owned()], true));
    let below = [("q", "{ kind = server }"), ("match_depth", "-1")];
    assert_eq!(names(&below), (whole, false));
    assert_eq!(names(&[("q", "{ .nobody = 1 }")]), (Vec::new(), true));
    get(&[("q", "{ } | count() > 1")]).expect(400);
    get(&[("q", "{")]).expect(400);
}

#[test]
fn a_tenant_sees_its_own_traces_alone_and_several_can_be_read_together() {
    let server = Server::start();
    for (tenant, request) in ["one", "two"].into_iter().zip(requests()) {
        let sent =
            server.request(Signal::Traces, harness::Encoding::Protobuf, request.encode_to_vec());
        Answer::of(sent.header("x-scope-orgid", tenant)).expect(200);
    }
    let of = |tenant: &str, path: &str| {
        let request = server.client.get(server.url(&format!("/tempo{path}")));
        Answer::of(request.header("x-scope-orgid", tenant)).expect(200).json()
    };
    let matched =
        |tenant| of(tenant, "/api/search?q=%7B%7D")["traces"][0]["spanSet"]["matched"].clone();
    assert_eq!((matched("one"), matched("two")), (json!(2), json!(1)));
    assert_eq!(of("three", "/api/search?q=%7B%7D")["traces"], json!([]));
    let services = of("two", "/api/search/tag/service.name/values");
    assert_eq!(services["tagValues"], json!(["db"]));
    // Parts of one trace.
    assert_eq!(matched("two|one|two"), json!(3));
    let services = of("one|two", "/api/search/tag/service.name/values");
    assert_eq!(services["tagValues"], json!(["db", "shop"]));
}

/// Attributes that a search shows of its first span.
#[track_caller]
fn shown(server: &Server, query: &str) -> Vec<String> {
    let found = search(server, query);
    let span = &found["traces"][0]["spanSets"][0]["spans"][0];
    let attributes = span["attributes"].as_array().cloned().unwrap_or_default();
    let text = |attribute: &Value| {
        let value = attribute["value"].as_object().unwrap().values().next().unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={value}", attribute["key"].as_str().unwrap())
    };
    attributes.iter().map(text).collect()
}

#[test]
fn the_event_that_a_query_means_is_shown_and_names_are_tempos() {
    let server = Server::start();
    let event = |name: &str, attempt: i64| Event {
        name: name.to_owned(),
        attributes: vec![attribute("attempt", Any::IntValue(attempt))],
        ..Event::default()
    };
    let events = vec![event("exception", 1), event("retry", 2), event("done", 3)];
    let sent = Span { events, kind: 3, ..span(0xe1, 1, 0, "call", 0, 5) };
    server.store(Signal::Traces, traces("shop", vec![sent]).encode_to_vec());
    let retry = ["event:name=retry", "attempt=2"];
    assert_eq!(shown(&server, "{ event:name = \"retry\" } | select(event.attempt)"), retry);
    let both = "{ event.attempt < 3 && event:name =~ \"re.*\" } | select(event:name)";
    assert_eq!(shown(&server, both), ["attempt=2", "event:name=retry"]);
    // Of those that are as good, and where nothing is asked, the last.
    assert_eq!(shown(&server, "{ event.attempt < 3 }"), ["attempt=2"]);
    assert_eq!(shown(&server, "{ } | select(event:name)"), ["event:name=done"]);
    // What a span was found for lacking is told, and not what another event has.
    assert_eq!(
        shown(&server, "{ span.absent = nil && kind = client }"),
        ["absent=nil", "kind=client"]
    );
    assert_eq!(shown(&server, "{ span.absent != nil || kind = client }"), ["kind=client"]);
    assert_eq!(shown(&server, "{ event.attempt = nil || event.left = nil }")[1..], ["left=nil"]);
    let service = "{ span.service.name = nil && resource.service.name = \"shop\" }";
    assert_eq!(shown(&server, service), ["service.name=shop"]);
    for (query, series) in [
        ("{ event:name = \"retry\" } | rate() by (event:name)", "event:name=retry"),
        ("{ event.attempt > 1 } | count_over_time() by (event.attempt)", "event.attempt=2"),
        ("{ } | count_over_time() by (event.attempt)", "event.attempt=1"),
    ] {
        let found = server.tempo("/api/metrics/query_range", &[("q", query), ("since", "87600h")]);
        let found = found.expect(200).json();
        let label = &found["series"][0]["labels"][0];
        let value = label["value"].as_object().unwrap().values().next().unwrap();
        let value = value.as_str().unwrap();
        assert_eq!(format!("{}={value}", label["key"].as_str().unwrap()), series, "{query}");
        assert_eq!(found["series"].as_array().unwrap().len(), 1, "{query}: {found}");
    }
    let words = ["kind=client", "status=unset"];
    assert_eq!(shown(&server, "{ span:kind = client && span:status != error }"), words);
}
