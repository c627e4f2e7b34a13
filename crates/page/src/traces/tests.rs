//! Searches and what is made of their results, over a store of its own.

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use kymo_engine::Tenants;
use kymo_journal::Signal;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::over_http;
use crate::tested::Place;

const START: u64 = 1_700_000_000_000_000_000;
const RANGE: &str = "start=1699999999&end=1700001000";

/// `count` traces of two spans; those with an even number failed.
fn place(count: u64) -> Place {
    let place = Place::new();
    for nth in 1..=count {
        let start = START + nth * 1_000_000;
        let span = |id: u64, parent: Value, name: &str, nanos: u64| {
            json!({
                "traceId": format!("{nth:032x}"), "spanId": format!("{:016x}", nth * 10 + id),
                "parentSpanId": parent, "name": name,
                "startTimeUnixNano": start.to_string(),
                "endTimeUnixNano": (start + nanos).to_string(),
                "status": {"code": if nth % 2 == 0 { 2 } else { 0 }},
                "attributes": [
                    {"key": "empty", "value": {"stringValue": ""}},
                    {"key": "zero", "value": {"intValue": "0"}},
                    {"key": "nth", "value": {"intValue": nth.to_string()}},
                ],
            })
        };
        let parent = json!(format!("{:016x}", nth * 10));
        let service = json!({"key": "service.name", "value": {"stringValue": "shop"}});
        place.send_json(
            Signal::Traces,
            &json!({"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": [
                span(0, json!(""), "GET", 1_000 * nth), span(1, parent, "query", 400),
            ]}]}]}),
        );
    }
    place.store.ingest().unwrap();
    place
}

/// The lines of a search.
async fn lines(place: &Place, path: &str) -> Vec<Value> {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    request.extensions_mut().insert(Tenants::from("default"));
    let response = over_http::<()>(place.page.clone()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn traces(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter_map(|line| line["traces"].as_array()).flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_tells_traces_progress_and_its_end() {
    let place = place(5);
    let path = format!(
        "/api/traces/search?q=%7Bname%3D%22query%22%7D&{RANGE}&limit=3&select=span.zero,span.empty"
    );
    let lines = lines(&place, &path).await;
    let found = traces(&lines);
    assert_eq!(found.len(), 3);
    let newest = found[0];
    assert_eq!(newest["id"], format!("{:032x}", 5));
    assert_eq!((&newest["rootName"], &newest["rootService"]), (&json!("GET"), &json!("shop")));
    assert_eq!((&newest["spanCount"], &newest["matched"]), (&json!(2), &json!(1)));
    assert_eq!(newest["start"], (START + 5_000_000).to_string());
    let span = &newest["spanSets"][0]["spans"][0];
    assert_eq!((&span["name"], &span["durationNanos"]), (&json!("query"), &json!(400)));
    let attributes = span["attributes"].as_array().unwrap();
    assert!(attributes.contains(&json!({"key": "span.zero", "type": "int", "value": 0})), "{span}");
    let empty = json!({"key": "span.empty", "type": "string", "value": ""});
    assert!(attributes.contains(&empty), "{span}");
    assert!(lines.iter().any(|line| line["progress"]["inspectedSpans"].as_u64() > Some(0)));
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["traces"], &done["truncated"]), (&json!(3), &json!(true)));
    let cursor = done["cursor"].as_str().unwrap();
    let rest = self::lines(&place, &format!("{path}&cursor={cursor}")).await;
    assert_eq!(traces(&rest).len(), 2);
    assert_eq!(rest.last().unwrap()["done"]["truncated"], false);
}

/// Every intrinsic that tags are told of, and what it is of the span that `one_span` sends.
const INTRINSICS: [(&str, &str); 25] = [
    ("duration", "1000"),
    ("event:name", "retry"),
    ("event:timeSinceStart", "300"),
    ("instrumentation:name", "lib"),
    ("instrumentation:version", "1.2"),
    ("kind", "server"),
    ("link:spanID", "00000000000000bb"),
    ("link:traceID", "000000000000000000000000000000aa"),
    ("name", "GET"),
    ("rootName", "GET"),
    ("rootServiceName", "shop"),
    ("span:duration", "1000"),
    ("span:id", "0000000000000007"),
    ("span:kind", "server"),
    ("span:name", "GET"),
    ("span:parentID", ""),
    ("span:status", "error"),
    ("span:statusMessage", "no money"),
    ("status", "error"),
    ("statusMessage", "no money"),
    ("trace:duration", "1000"),
    ("trace:id", "00000000000000000000000000000001"),
    ("trace:rootName", "GET"),
    ("trace:rootService", "shop"),
    ("traceDuration", "1000"),
];

/// One span that has a value of everything, and the same keys in several scopes.
fn one_span() -> Place {
    let place = Place::new();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": format!("{:032x}", 1), "spanId": format!("{:016x}", 7), "name": "GET", "kind": 2,
        "startTimeUnixNano": START.to_string(), "endTimeUnixNano": (START + 1_000).to_string(),
        "status": {"code": 2, "message": "no money"},
        "attributes": [text("x", "of span"), text("name", "mine"), text("a,b", "comma")],
        "events": [{"name": "retry", "timeUnixNano": (START + 300).to_string(),
                    "attributes": [text("x", "of event")]}],
        "links": [{"traceId": format!("{:032x}", 0xaa), "spanId": format!("{:016x}", 0xbb)}],
    });
    let resource = [text("service.name", "shop"), text("x", "of resource")];
    place.send_json(
        Signal::Traces,
        &json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{
            "scope": {"name": "lib", "version": "1.2"}, "spans": [span],
        }]}]}),
    );
    place.store.ingest().unwrap();
    place
}

/// Values of the one span that a search finds, as texts, by their keys.
async fn values_of(place: &Place, query: &str, select: &str) -> Vec<(String, String)> {
    let path = format!("/api/traces/search?q={query}&{RANGE}&select={select}");
    let lines = lines(place, &path).await;
    let span = &traces(&lines)[0]["spanSets"][0]["spans"][0];
    let attributes = span["attributes"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    attributes.map(|one| (text(&one["key"]), text(&one["value"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_intrinsic_that_is_selected_is_answered_by_its_name() {
    let place = one_span();
    let select = INTRINSICS.map(|(name, _)| name).join(",");
    let values = values_of(&place, "%7B%7D", &select).await;
    let expected = INTRINSICS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(values, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_several_scopes_are_kept_apart() {
    let place = one_span();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let query = "%7Bresource.x%21%3Dnil%7D";
    let all = values_of(&place, query, "span.x,event.x,.x,span.name,span.%22a%2Cb%22").await;
    assert_eq!(
        all,
        [
            pair("span.x", "of span"),
            pair("event.x", "of event"),
            pair(".x", "of span"),
            pair("span.name", "mine"),
            pair("span.\"a,b\"", "comma"),
            pair("resource.x", "of resource"),
        ]
    );
    // What a span has not is not told by what another scope has.
    assert_eq!(
        values_of(&place, query, "link.x,resource.x").await,
        [pair("resource.x", "of resource")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_queries_have_their_place() {
    let place = place(1);
    // Two units of UTF-16 for the letter outside of the first plane.
    let query = "%7B%20name%20%3D%20%22%F0%9F%98%80%22%20%26%26%0A%20status%20%3D%20%7D";
    let (status, answer) = place.ask(&format!("/api/traces/search?q={query}")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["position"], json!({"offset": 27, "line": 2, "column": 11}));
    assert!(answer["error"].as_str().unwrap().contains("expected"), "{answer}");
    for (path, word) in [
        ("/api/traces/search?limit=0", "limit is 0"),
        ("/api/traces/search?sort=size", "newest, start"),
        ("/api/traces/search?select=)", "no attribute"),
        ("/api/traces/search?start=x", "start is"),
        ("/api/traces/facets?q=%7B%7D%7Crate()", "asks for series"),
    ] {
        let (status, answer) = place.ask(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {answer}");
        assert!(answer["error"].as_str().unwrap().contains(word), "{path} {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_count_spans_by_value() {
    let place = place(5);
    let answer = place.get(&format!("/api/traces/facets?{RANGE}&keys=name,status,span.nth")).await;
    let facet = |nth: usize| &answer["facets"][nth];
    assert_eq!((&facet(0)["key"], &facet(0)["total"]), (&json!("name"), &json!(10)));
    assert_eq!(facet(0)["values"][0], json!({"type": "string", "value": "GET", "count": 5}));
    assert_eq!(facet(1)["values"][1], json!({"type": "status", "value": "error", "count": 4}));
    assert_eq!(facet(2)["values"].as_array().unwrap().len(), 5);
    assert_eq!(facet(2)["values"][0], json!({"type": "int", "value": 1, "count": 2}));
    let quoted = format!("/api/traces/facets?{RANGE}&keys=span.%22a%2Cb%22,name");
    let quoted = one_span().get(&quoted).await;
    assert_eq!(quoted["facets"][0]["key"], "span.\"a,b\"");
    assert_eq!(quoted["facets"][0]["values"][0]["value"], "comma");
    assert_eq!(quoted["facets"][1]["key"], "name");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flame_merges_traces_of_two_queries() {
    let place = place(5);
    let a = "q=%7Bstatus%3Derror%7D";
    let one = place.get(&format!("/api/traces/flame?{a}&{RANGE}")).await;
    assert_eq!(one["a"], json!({"matched": 2, "merged": 2, "truncated": false}));
    assert_eq!(one["flame"]["nodes"][0]["a"]["totalNanos"], 6_000.0);
    let both = format!("/api/traces/flame?{a}&qb=%7Bstatus%21%3Derror%7D&{RANGE}");
    let both = place.get(&both).await;
    assert_eq!(both["flame"]["traces"], json!([2, 3]));
    let root = &both["flame"]["nodes"][0];
    assert_eq!((&root["a"]["count"], &root["b"]["count"]), (&json!(2), &json!(3)));
    // The same query at another time: before there was anything.
    let before = format!("/api/traces/flame?{a}&{RANGE}&startb=1699990000&endb=1699999000");
    let before = place.get(&before).await;
    assert_eq!(before["flame"]["traces"], json!([2, 0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_flame_says_of_which_query_it_is() {
    let place = place(1);
    let (good, bad) = ("%7Bstatus%3Derror%7D", "%7B%20status%20%3D%7D");
    for (a, b, parameter) in [(bad, good, "q"), (good, bad, "qb"), (good, "%7B%7D%7Crate()", "qb")]
    {
        let (status, answer) = place.ask(&format!("/api/traces/flame?q={a}&qb={b}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["parameter"], parameter, "{answer}");
    }
    let (_, answer) = place.ask(&format!("/api/traces/flame?q={good}&qb={bad}")).await;
    assert_eq!(answer["position"]["column"], 11, "{answer}");
}
