//! Grafana's Explore: `panes={"id":{"queries":[…],"range":{…}}}`, before that `left={…}`, and before
//! that `left=["now-1h","now","source",{…}]`.
//!
//! The first pane with a query that can be asked here is shown, with all its queries of that kind.

use std::collections::BTreeMap;

use serde_json::Value;

use super::jaeger;
use super::parameters::{Link, Parameters};
use super::times::Span;
use super::trace_id;
use super::traceql::{Conditions, attribute, is_duration, is_literal, quoted};
use crate::limits::MAX_LINK_QUERIES;

/// Where an Explore link leads: to the overview, if nothing in it can be asked here.
pub(super) fn link(parameters: &Parameters) -> Link {
    let panes = parameters.first("panes").and_then(json).map(panes_of_object);
    let left = parameters.first("left").and_then(json).and_then(pane_of_left);
    let panes = panes.into_iter().flatten().chain(left);
    panes.filter_map(|pane| pane.link()).next().unwrap_or_else(|| Link::to("/"))
}

/// One pane.
struct Pane {
    /// The name or the description of where its queries go.
    source: Value,
    queries: Vec<Value>,
    span: Span,
}

/// What a query is about, with what it asks.
enum Asked {
    /// One trace.
    Trace(String),
    /// TraceQL.
    Traces(Option<String>),
    /// PromQL.
    Metrics(String),
    /// LogQL.
    Logs(String),
}

impl Pane {
    fn link(self) -> Option<Link> {
        let queries = self.queries.iter().take(MAX_LINK_QUERIES);
        let asked: Vec<Asked> = queries.filter_map(|query| asked(query, &self.source)).collect();
        let link = match asked.first()? {
            Asked::Trace(id) => return Some(Link::to(format!("/trace/{id}"))),
            Asked::Traces(query) => Link::to("/traces").with_some("q", query.as_deref()),
            Asked::Logs(query) => Link::to("/explore/logs").with("q", query),
            Asked::Metrics(_) => {
                let expressions = asked.iter().filter_map(|asked| match asked {
                    Asked::Metrics(expression) => Some(expression),
                    _ => None,
                });
                expressions.fold(Link::to("/explore/metrics"), |link, expression| {
                    link.with("q", expression)
                })
            }
        };
        Some(self.span.add_to(link))
    }
}

fn panes_of_object(panes: Value) -> Vec<Pane> {
    let Value::Object(panes) = panes else { return Vec::new() };
    panes.into_iter().filter_map(|(_, pane)| pane_of_object(&pane)).collect()
}

fn pane_of_object(pane: &Value) -> Option<Pane> {
    let queries = pane.get("queries")?.as_array()?.clone();
    let source = pane.get("datasource").cloned().unwrap_or_default();
    let range = |end: &str| pane.get("range").and_then(|range| text(range, end));
    let span = Span::of_texts(range("from").as_deref(), range("to").as_deref());
    Some(Pane { source, queries, span })
}

fn pane_of_left(left: Value) -> Option<Pane> {
    let Value::Array(parts) = &left else { return pane_of_object(&left) };
    let [from, to, source, queries @ ..] = parts.as_slice() else { return None };
    let span = Span::of_texts(from.as_str(), to.as_str());
    Some(Pane { source: source.clone(), queries: queries.to_vec(), span })
}

/// What a query asks, by where it goes, or by how it looks if that is not known.
fn asked(query: &Value, pane_source: &Value) -> Option<Asked> {
    let source = query.get("datasource").filter(|source| !source.is_null()).unwrap_or(pane_source);
    let source = text(source, "type").or_else(|| source.as_str().map(str::to_owned));
    let source = source.unwrap_or_default().to_ascii_lowercase();
    let is_of = |names: &[&str]| names.iter().any(|name| source.contains(name));
    let expression = text(query, "expr").filter(|text| !text.trim().is_empty());
    if is_of(&["tempo", "jaeger", "zipkin"]) {
        return traces(query);
    }
    match expression {
        Some(expression) if is_of(&["loki"]) => Some(Asked::Logs(expression)),
        Some(expression) if is_of(&["prom", "mimir"]) => Some(Asked::Metrics(expression)),
        Some(expression) if looks_like_logs(&expression) => Some(Asked::Logs(expression)),
        Some(expression) => Some(Asked::Metrics(expression)),
        None => traces(query),
    }
}

/// A search for traces, or one trace.
fn traces(query: &Value) -> Option<Asked> {
    let query_type = text(query, "queryType").unwrap_or_default();
    if query_type == "serviceMap" {
        return None;
    }
    let asked = text(query, "query").filter(|text| !text.trim().is_empty());
    // A short id is one only if it is said to be.
    let is_id = |text: &&str| query_type == "traceId" || text.trim().len() >= 16;
    if let Some(id) = asked.as_deref().filter(is_id).and_then(trace_id) {
        return Some(Asked::Trace(id));
    }
    match query_type.as_str() {
        "traceqlSearch" => Some(Asked::Traces(filters(query).or(asked))),
        "search" | "nativeSearch" => {
            let get = |names: [&str; 2]| names.into_iter().find_map(|name| text(query, name));
            let (service, operation) =
                (get(["service", "serviceName"]), get(["operation", "spanName"]));
            let tags = tags(&get(["tags", "search"]).unwrap_or_default());
            let bounds = [text(query, "minDuration"), text(query, "maxDuration")];
            let bounds = bounds.each_ref().map(|bound| bound.as_deref());
            let conditions =
                jaeger::conditions(service.as_deref(), operation.as_deref(), &tags, bounds);
            Some(Asked::Traces(conditions.query()))
        }
        _ => asked.map(|asked| Asked::Traces(Some(asked))),
    }
}

/// The search form for TraceQL: one condition for each filter that has a value.
fn filters(query: &Value) -> Option<String> {
    let mut conditions = Conditions::default();
    for filter in query.get("filters")?.as_array()?.iter().take(MAX_LINK_QUERIES) {
        conditions_of(filter).into_iter().for_each(|condition| conditions.add(condition));
    }
    conditions.query()
}

fn conditions_of(filter: &Value) -> Option<String> {
    let operator = text(filter, "operator").unwrap_or_else(|| "=".to_owned());
    if !["=", "!=", "=~", "!~", ">", ">=", "<", "<="].contains(&operator.as_str()) {
        return None;
    }
    let tag = text(filter, "tag")?;
    let scope = text(filter, "scope").unwrap_or_default();
    let subject = match (scope.as_str(), tag.as_str()) {
        (_, "duration" | "span:duration") => "duration".to_owned(),
        (_, "traceDuration" | "trace:duration") => "traceDuration".to_owned(),
        (
            "intrinsic" | "",
            "name" | "status" | "kind" | "statusMessage" | "rootName" | "rootServiceName",
        ) => tag.clone(),
        ("resource" | "span" | "event" | "link" | "instrumentation", key) => attribute(&scope, key),
        ("unscoped" | "", key) => attribute("", key),
        _ => return None,
    };
    let value_type = text(filter, "valueType").unwrap_or_default();
    let values: Vec<String> = match filter.get("value")? {
        Value::Array(values) => {
            values.iter().filter_map(|one| one.as_str()).map(str::to_owned).collect()
        }
        Value::String(value) if !value.is_empty() => vec![value.clone()],
        _ => return None,
    };
    let compared = values.iter().filter_map(|value| {
        let is_word = || value.bytes().all(|b| b.is_ascii_lowercase());
        let literal = match value_type.as_str() {
            "keyword" if is_word() => value.clone(),
            "int" | "float" | "bool" if is_literal(value) => value.clone(),
            "duration" if is_duration(value) => value.clone(),
            "keyword" | "duration" => return None,
            _ if subject.ends_with("uration") => {
                Some(value).filter(|text| is_duration(text))?.clone()
            }
            _ => quoted(value),
        };
        Some(format!("{subject} {operator} {literal}"))
    });
    match compared.collect::<Vec<_>>().as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("({})", several.join(" || "))),
    }
}

/// Tags as people type them: `key=value other="with spaces"`; JSON in newer versions.
fn tags(written: &str) -> BTreeMap<String, String> {
    if let Ok(tags) = serde_json::from_str(written) {
        return tags;
    }
    let mut tags = BTreeMap::new();
    let mut rest = written.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        tags.insert(key.trim().to_owned(), value.to_owned());
        rest = after.trim_start();
    }
    tags
}

/// Whether an expression is for logs: a selector and what is done with its lines.
fn looks_like_logs(expression: &str) -> bool {
    ["|=", "|~", "| json", "| logfmt", "| line_format"].iter().any(|part| expression.contains(part))
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// A text or a number of an object.
fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::redirect;
    use super::*;

    /// A link whose parameter has this JSON, and what it becomes.
    fn to(name: &str, json: &str) -> String {
        let way = Link::to("/explore").with("schemaVersion", "1").with(name, json);
        redirect("/grafana", &way.finish().unwrap()).unwrap()
    }

    /// The path, and the decoded value of a parameter.
    fn page(link: &str, name: &str) -> (String, Vec<String>) {
        let (path, query) = link.split_once('?').unwrap_or((link, ""));
        let values = Parameters::parse(query);
        (path.to_owned(), values.all(name).map(str::to_owned).collect())
    }

    #[test]
    fn metrics_logs_and_traces_lead_to_their_pages() {
        let panes = r#"{"a1":{"datasource":"x","queries":[
            {"refId":"A","expr":"rate(up[5m])","datasource":{"type":"prometheus","uid":"x"}},
            {"refId":"B","expr":"down","datasource":{"type":"prometheus","uid":"x"}}],
            "range":{"from":"now-1h","to":"now"}}}"#;
        let link = to("panes", panes);
        let expected = ("/explore/metrics".to_owned(), vec!["rate(up[5m])".into(), "down".into()]);
        assert_eq!(page(&link, "q"), expected);
        assert_eq!(page(&link, "from").1, ["now-1h"]);
        let panes =
            r#"{"a":{"queries":[{"expr":"{app=\"x\"} |= \"err\"","datasource":{"type":"loki"}}]}}"#;
        let expected = ("/explore/logs".to_owned(), vec!["{app=\"x\"} |= \"err\"".to_owned()]);
        assert_eq!(page(&to("panes", panes), "q"), expected);
        let panes = r#"{"a":{"datasource":"t","queries":[{"queryType":"traceql","query":"{ status = error }","datasource":{"type":"tempo"}}],"range":{"from":1700000000000,"to":"1700000001000"}}}"#;
        let link = to("panes", panes);
        assert_eq!(page(&link, "q"), ("/traces".to_owned(), vec!["{ status = error }".to_owned()]));
        assert_eq!(page(&link, "from").1, ["1700000000000"]);
    }

    #[test]
    fn a_trace_is_found_by_its_id_as_pipelines_link_to_it() {
        let id = "0123456789abcdef0123456789abcdef";
        let left = format!(
            r#"{{"datasource":"Tempo","queries":[{{"refId":"A","queryType":"traceql","query":"{id}"}}],"range":{{"from":"now-15m","to":"now"}}}}"#
        );
        assert_eq!(to("left", &left), format!("/trace/{id}"));
        let short = r#"{"datasource":"Tempo","queries":[{"queryType":"traceId","query":"ABC"}]}"#;
        assert_eq!(to("left", short), "/trace/00000000000000000000000000000abc");
        let oldest = format!(r#"["now-1h","now","Tempo",{{"query":"{id}"}}]"#);
        assert_eq!(to("left", &oldest), format!("/trace/{id}"));
    }

    #[test]
    fn older_links_are_read() {
        let oldest =
            r#"["now-6h","now","Prometheus",{"expr":"up"},{"ui":[true,true,true,"none"]}]"#;
        assert_eq!(to("left", oldest), "/explore/metrics?q=up&from=now-6h&to=now");
    }

    #[test]
    fn the_search_form_becomes_traceql() {
        let panes = r#"{"a":{"queries":[{"queryType":"traceqlSearch","datasource":{"type":"tempo"},"filters":[
            {"id":"service-name","tag":"service.name","operator":"=","scope":"resource","value":["shop","cart"],"valueType":"string"},
            {"id":"status","tag":"status","operator":"=","scope":"intrinsic","value":"error","valueType":"keyword"},
            {"id":"min-duration","tag":"duration","operator":">","valueType":"duration","value":"100ms"},
            {"id":"code","tag":"http.status_code","operator":">=","scope":"span","value":"500","valueType":"int"},
            {"id":"bad","tag":"x","operator":"} || {","scope":"span","value":"1"},
            {"id":"empty","operator":"=","scope":"span"}]}]}}"#;
        let (path, queries) = page(&to("panes", panes), "q");
        assert_eq!(path, "/traces");
        assert_eq!(
            queries,
            [
                "{ (resource.service.name = \"shop\" || resource.service.name = \"cart\") && status = error && duration > 100ms && span.http.status_code >= 500 }"
            ]
        );
        assert!(kymo_traceql::parse(&queries[0]).is_ok());
    }

    #[test]
    fn searches_of_jaeger_in_grafana_become_traceql() {
        let left = r#"{"datasource":"Jaeger","queries":[{"queryType":"search","service":"shop","operation":"all","tags":"error=true a=\"b c\"","minDuration":"1s"}]}"#;
        let (_, queries) = page(&to("left", left), "q");
        let expected = "{ resource.service.name = \"shop\" && .a = \"b c\" && status = error && duration >= 1s }";
        assert_eq!(queries, [expected]);
    }

    #[test]
    fn what_cannot_be_read_leads_to_the_overview() {
        for json in
            ["", "x", "[]", "{}", "null", "[1,2]", r#"{"queries":[]}"#, r#"{"queries":[{}]}"#]
        {
            assert_eq!(to("left", json), "/", "{json}");
            assert_eq!(to("panes", json), "/", "{json}");
        }
        let deep = "[".repeat(5000);
        assert_eq!(to("left", &deep), "/");
    }
}
