//! A dashboard as CI teams have it: spans of builds as a table, filtered, grouped and calculated.

use kymo_journal::Signal;
use serde_json::{Value, json};

use super::{panels, post};
use crate::tested::Place;

const BEGIN_SECS: i64 = 1_700_000_000;

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Builds of projects: project, label, minutes, hit rate of the cache.
const BUILDS: [(&str, Option<&str>, i64, Option<f64>); 6] = [
    ("cudf", Some("gpu-l4"), 10, Some(0.5)),
    ("cudf", Some("gpu-l4"), 20, Some(0.0)),
    ("cudf", Some("cpu16"), 6, None),
    ("rmm", Some("cpu16"), 2, Some(1.0)),
    ("rmm", Some("gpu-a100"), 4, Some(0.25)),
    ("rmm", None, 100, None),
];

fn fill(place: &Place) {
    for (n, (project, label, minutes, rate)) in BUILDS.iter().enumerate() {
        let begin = BEGIN_SECS + 60 * i64::try_from(n).unwrap();
        let mut resource = vec![text("service.name", project)];
        resource.extend(label.map(|label| text("rapids.labels", label)));
        let attributes: Vec<Value> = rate
            .iter()
            .map(|rate| json!({"key": "sccache.hit_rate", "value": {"doubleValue": rate}}))
            .collect();
        let span = json!({
            "traceId": format!("{:032x}", n + 1), "spanId": format!("{:016x}", n + 1), "name": "C++ build",
            "startTimeUnixNano": (begin * 1_000_000_000).to_string(),
            "endTimeUnixNano": ((begin + minutes * 60) * 1_000_000_000).to_string(),
            "attributes": attributes
        });
        place.send_json(Signal::Traces, &json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": [span]}]}]}));
    }
}

fn dashboard() -> Value {
    let tempo = json!({"type": "tempo", "uid": "tempo"});
    let query = "{ resource.service.name =~ \"$project\" } | select(resource.service.name, resource.rapids.labels, span.sccache.hit_rate)";
    let target = json!({"refId": "A", "datasource": tempo, "queryType": "traceql", "query": query, "tableType": "spans", "limit": 1000, "spss": 1000});
    let not_null = json!({"id": "filterByValue", "options": {"type": "include", "match": "all", "filters": [
        {"fieldName": "rapids.labels", "config": {"id": "isNotNull", "options": {}}},
        {"fieldName": "rapids.labels", "config": {"id": "regex", "options": {"value": "${label:regex}"}}}]}});
    let minutes = json!({"id": "calculateField", "options": {"mode": "binary", "alias": "minutes",
        "binary": {"left": {"matcher": {"id": "byName", "options": "Duration"}}, "operator": "/", "right": {"fixed": "60000000000"}}}});
    let group = json!({"id": "groupBy", "options": {"fields": {
        "rapids.labels": {"operation": "groupby", "aggregations": []},
        "minutes": {"operation": "aggregate", "aggregations": ["mean", "sum"]}}}});
    let to_enum = json!({"id": "convertFieldType", "options": {"conversions": [
        {"targetField": "rapids.labels", "destinationType": "enum", "enumConfig": {"text": ["cpu16", "gpu-a100", "gpu-l4"]}}]}});
    json!({
        "title": "CI", "schemaVersion": 39, "time": {"from": "now-7d", "to": "now"},
        "templating": {"list": [
            {"name": "project", "type": "query", "datasource": tempo, "multi": true, "includeAll": true, "refresh": 2, "sort": 1,
             "query": {"type": 1, "label": "resource.service.name", "refId": "v"}, "current": {"text": "All", "value": "$__all"}},
            {"name": "label", "type": "custom", "query": "gpu-l4, gpu-a100, cpu16", "multi": true, "includeAll": true, "current": {"value": "$__all"}}]},
        "panels": [
            {"id": 1, "type": "table", "title": "Spans", "datasource": tempo, "targets": [target], "gridPos": {"x": 0, "y": 0, "w": 24, "h": 8}},
            {"id": 2, "type": "barchart", "title": "Minutes by label", "datasource": tempo, "targets": [target],
             "transformations": [not_null, minutes, group, to_enum], "gridPos": {"x": 0, "y": 8, "w": 24, "h": 8},
             "options": {"xField": "rapids.labels"}, "fieldConfig": {"defaults": {"unit": "m"}, "overrides": []}},
            {"id": 3, "type": "stat", "title": "$project", "repeat": "project", "repeatDirection": "h", "maxPerRow": 4,
             "datasource": tempo, "targets": [target], "transformations": [minutes], "gridPos": {"x": 0, "y": 16, "w": 6, "h": 4},
             "options": {"reduceOptions": {"values": true, "fields": "/^minutes$/", "calcs": []}}}]
    })
}

fn column(line: &Value, name: &str) -> Value {
    let fields = line["frames"][0]["fields"].as_array().unwrap_or_else(|| panic!("{line}"));
    let field = fields.iter().find(|field| field["name"] == name);
    field.unwrap_or_else(|| panic!("{name} is not in {line}"))["values"].clone()
}

fn question() -> Value {
    json!({"dashboard": dashboard(), "from": BEGIN_SECS * 1000, "to": (BEGIN_SECS + 7200) * 1000})
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_are_a_table_with_typed_columns() {
    let place = Place::new();
    fill(&place);
    let lines = panels(&place, question(), &["1"]).await;
    let names: Vec<&str> = lines[0]["frames"][0]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|f| f["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "traceIdHidden",
            "traceService",
            "traceName",
            "spanID",
            "time",
            "rapids.labels",
            "sccache.hit_rate",
            "service.name",
            "duration"
        ],
        "{}",
        lines[0]
    );
    // Newest first; a rate of 0 is a rate, and what was not sent is null.
    assert_eq!(column(&lines[0], "sccache.hit_rate"), json!([null, 0.25, 1, null, 0, 0.5]));
    assert_eq!(
        column(&lines[0], "service.name"),
        json!(["rmm", "rmm", "rmm", "cudf", "cudf", "cudf"])
    );
    assert_eq!(column(&lines[0], "duration")[0], json!(6_000_000_000_000_i64));
}

#[tokio::test(flavor = "multi_thread")]
async fn minutes_are_grouped_by_label() {
    let place = Place::new();
    fill(&place);
    let by_label = |line: &Value| -> Vec<(Value, Value, Value)> {
        let (labels, mean, sum) = (
            column(line, "rapids.labels"),
            column(line, "minutes (mean)"),
            column(line, "minutes (sum)"),
        );
        let mut rows: Vec<(Value, Value, Value)> = (0..labels.as_array().unwrap().len())
            .map(|row| (labels[row].clone(), mean[row].clone(), sum[row].clone()))
            .collect();
        rows.sort_by_key(|row| row.0.as_i64());
        rows
    };
    let row = |label: i64, mean: i64, sum: i64| (json!(label), json!(mean), json!(sum));
    let lines = panels(&place, question(), &["2"]).await;
    assert_eq!(by_label(&lines[0]), [row(0, 4, 8), row(1, 4, 4), row(2, 15, 30)], "{}", lines[0]);
    let mut asked = question();
    asked["variables"] = json!({"label": ["gpu-l4", "gpu-a100"], "project": ["cudf", "rmm"]});
    let lines = panels(&place, asked.clone(), &["2"]).await;
    assert_eq!(by_label(&lines[0]), [row(1, 4, 4), row(2, 15, 30)]);
    asked["variables"] = json!({"label": ["$__all"], "project": ["cudf"]});
    let lines = panels(&place, asked, &["2"]).await;
    assert_eq!(by_label(&lines[0]), [row(0, 6, 6), row(2, 15, 30)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_is_repeated_for_each_project() {
    let place = Place::new();
    fill(&place);
    let (_, layout) = post(&place, "/api/dashboards/layout", &question()).await;
    let copies: Vec<(&Value, &Value, &Value)> = layout["panels"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|panel| panel["id"] == 3)
        .map(|panel| (&panel["title"], &panel["gridPos"]["x"], &panel["gridPos"]["w"]))
        .collect();
    assert_eq!(
        copies,
        [(&json!("cudf"), &json!(0), &json!(12)), (&json!("rmm"), &json!(12), &json!(12))],
        "{layout}"
    );
    let mut asked = question();
    asked["panels"] = json!([{"key": "3.1", "scope": {"project": "rmm"}}]);
    let (_, text) =
        super::send(&place, http::Method::POST, "/api/dashboards/query", &asked.to_string()).await;
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(column(&line, "minutes"), json!([100, 4, 2]));
}
