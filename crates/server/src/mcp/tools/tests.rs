//! What tools make of their arguments.

use std::collections::BTreeSet;

use super::*;

fn made(name: &str, arguments: Value) -> Made {
    let tool = find(name).unwrap();
    (tool.make)(&Given::read(tool.arguments, arguments.as_object().unwrap())?)
}

#[track_caller]
fn asked(name: &str, arguments: Value) -> (String, String) {
    match made(name, arguments).unwrap() {
        Action::Ask(ask) | Action::Search(ask, _) | Action::Trace(ask) => (ask.url, ask.body),
        Action::Say(text) => panic!("{text}"),
    }
}

fn pair(url: &str, body: &str) -> (String, String) {
    (url.to_owned(), body.to_owned())
}

const START: &str = "2026-01-02T03:04:05.5Z";
const END: &str = "2026-01-02T03:04:06.5Z";

#[test]
fn tools_have_tempos_names_and_sql() {
    let names: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let expected = [
        "docs-config",
        "docs-traceql",
        "get-attribute-names",
        "get-attribute-values",
        "get-trace",
        "sql",
        "trace-diff",
        "traceql-metrics-instant",
        "traceql-metrics-range",
        "traceql-search",
    ];
    assert_eq!(names, expected.into());
    for tool in TOOLS {
        let listed = tool.listed();
        assert_eq!(listed["inputSchema"]["type"], "object", "{listed}");
        assert_eq!(listed["annotations"]["readOnlyHint"], true, "{listed}");
    }
}

#[test]
fn a_search_is_about_the_whole_seconds_around_its_time() {
    let arguments = json!({"query": "{ }", "start": START, "end": END, "limit": 7});
    assert_eq!(
        asked("traceql-search", arguments),
        pair("/tempo/api/search", "q=%7B%20%7D&start=1767323045&end=1767323047&limit=7")
    );
    let (_, body) = asked("traceql-search", json!({"query": "{ }"}));
    assert!(body.contains("&start=") && body.contains("&end="), "{body}");
}

#[test]
fn metrics_are_about_the_very_nanoseconds() {
    let arguments = json!({"query": "{ } | rate()", "start": START, "end": END});
    let body = "q=%7B%20%7D%20%7C%20rate%28%29&start=1767323045500000000&end=1767323046500000000";
    assert_eq!(
        asked("traceql-metrics-instant", arguments.clone()),
        pair("/tempo/api/metrics/query", body)
    );
    let mut with_step = arguments;
    with_step["step"] = json!("5m");
    assert_eq!(
        asked("traceql-metrics-range", with_step),
        pair("/tempo/api/metrics/query_range", &format!("{body}&step=5m"))
    );
}

#[test]
fn a_trace_may_be_cut_and_pruned() {
    let whole = asked("get-trace", json!({"trace_id": "a/b"}));
    assert_eq!(whole, pair("/tempo/api/v2/traces/a%2Fb", ""));
    let arguments = json!({"trace_id": "0a", "q": "{}", "span_pruning": true});
    let url = "/tempo/api/v2/traces/0a?q=%7B%7D&span_pruning=true";
    assert_eq!(asked("get-trace", arguments), pair(url, ""));
}

#[test]
fn a_comparison_has_two_traces_and_a_form() {
    let ids = json!({"base_trace_id": "1", "compare_trace_id": "2"});
    let (url, body) = asked("trace-diff", ids.clone());
    assert_eq!(url, "/tempo/api/v2/traces/diff");
    let document: Value = serde_json::from_str(&body).unwrap();
    let expected = json!({
        "base": {"traceId": "1"},
        "compare": {"traceId": "2"},
        "format": "trace-summary-v0-composed",
    });
    assert_eq!(document, expected);

    let mut ranged = ids.clone();
    ranged["base_start"] = json!(START);
    assert!(made("trace-diff", ranged.clone()).unwrap_err().contains("base_end"));
    ranged["base_end"] = json!(END);
    let document: Value = serde_json::from_str(&asked("trace-diff", ranged).1).unwrap();
    assert_eq!(
        document["base"],
        json!({"traceId": "1", "start": 1_767_323_045, "end": 1_767_323_047})
    );
    let mut other = ids;
    other["format"] = json!("html");
    assert!(made("trace-diff", other).unwrap_err().contains("trace-patch-v0"));
}

#[test]
fn names_and_values_of_attributes_are_asked_for() {
    assert_eq!(asked("get-attribute-names", json!({})).0, "/tempo/api/v2/search/tags");
    let scoped = asked("get-attribute-names", json!({"scope": "span"}));
    assert_eq!(scoped.0, "/tempo/api/v2/search/tags?scope=span");
    let arguments = json!({"name": "span.a b", "filter-query": "{}"});
    let url = "/tempo/api/v2/search/tag/span.a%20b/values?q=%7B%7D";
    assert_eq!(asked("get-attribute-values", arguments).0, url);
}

#[test]
fn sql_is_sent_as_a_document() {
    let arguments = json!({"query": "SELECT 'a\"b'"});
    assert_eq!(asked("sql", arguments), pair("/api/sql", r#"{"query":"SELECT 'a\"b'"}"#));
}

#[test]
fn documents_are_said_by_name() {
    for (tool, name, word) in [
        ("docs-traceql", "basic", "{ status = error }"),
        ("docs-traceql", "aggregates", "count()"),
        ("docs-traceql", "structural", ">>"),
        ("docs-traceql", "metrics", "rate()"),
        ("docs-traceql", "reference", "Tempo"),
        ("docs-config", "overview", "KYMO_"),
        ("docs-config", "reference", "query.timeout"),
    ] {
        let Action::Say(text) = made(tool, json!({"name": name})).unwrap() else {
            panic!("{tool} {name} asks");
        };
        assert!(text.contains(word), "{tool} {name}");
    }
    assert!(made("docs-traceql", json!({"name": "poetry"})).unwrap_err().contains("structural"));
}
