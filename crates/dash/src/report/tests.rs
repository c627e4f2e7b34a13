//! What is said of panels and variables, and that what is said to work does.

use serde_json::json;

use super::*;

fn of(dashboard: Value) -> Report {
    report(&dashboard).unwrap().report
}

#[test]
fn panels_are_full_partial_or_unsupported_with_reasons() {
    let prometheus = json!({"type": "prometheus", "uid": "x"});
    let report = of(json!({"title": "T", "panels": [
        {"id": 1, "type": "stat", "datasource": prometheus, "targets": [{"expr": "up"}]},
        {"id": 2, "type": "geomap", "datasource": prometheus, "targets": [{"expr": "up"}]},
        {"id": 3, "type": "stat", "datasource": {"type": "influxdb"}, "targets": [{"query": "x"}]},
        {"id": 4, "type": "stat", "datasource": "-- Mixed --", "targets": [
            {"expr": "up", "datasource": prometheus}, {"datasource": {"type": "mssql"}}]},
        {"id": 5, "type": "table", "datasource": prometheus, "targets": [{"expr": "up"}],
         "transformations": [{"id": "regression"}]},
        {"id": 6, "type": "text", "options": {"content": "hi"}},
    ]}));
    let shown: Vec<(i64, Status)> = report.panels.iter().map(|p| (p.id, p.status)).collect();
    use Status::{Full, Partial, Unsupported};
    assert_eq!(
        shown,
        [(1, Full), (2, Unsupported), (3, Unsupported), (4, Partial), (5, Partial), (6, Full)]
    );
    assert!(report.panels[1].reasons[0].contains("geomap"));
    assert!(report.panels[2].reasons[0].contains("influxdb"));
    assert_eq!(report.counts, Counts { full: 2, partial: 2, unsupported: 2 });
}

#[test]
fn a_data_source_variable_decides_for_its_panels() {
    let with = |kind: &str| {
        of(json!({
            "panels": [{"id": 1, "type": "stat", "datasource": "$ds", "targets": [{"refId": "A"}]}],
            "templating": {"list": [{"name": "ds", "type": "datasource", "query": kind}]}
        }))
    };
    assert_eq!(with("prometheus").panels[0].status, Status::Full);
    let other = with("graphite");
    assert_eq!(other.panels[0].status, Status::Unsupported);
    assert!(other.panels[0].reasons[0].contains("graphite"));
    assert_eq!(other.variables[0].status, Status::Unsupported);
}

#[test]
fn an_unknown_variable_and_an_annotation_are_named() {
    let report = of(json!({
        "panels": [],
        "templating": {"list": [{"name": "x", "type": "snapshot"}, {"name": "y", "type": "custom"}]},
        "annotations": {"list": [{"builtIn": 1, "name": "A"}, {"name": "Deploys", "enable": true}]}
    }));
    assert_eq!(report.variables[0].status, Status::Unsupported);
    assert_eq!(report.variables[1].status, Status::Full);
    assert!(report.notes.iter().any(|note| note.text.contains("Deploys")));
}

#[test]
fn annotations_that_are_asked_are_not_named_as_lost() {
    let report = of(json!({
        "panels": [],
        "annotations": {"list": [
            {"name": "Restarts", "datasource": {"type": "prometheus"}, "expr": "changes(x[5m])",
             "filter": {"exclude": true, "ids": [1]}},
            {"name": "Graph", "datasource": {"type": "tempo"}, "target": {"queryType": "serviceMap"}},
            {"name": "Own", "datasource": "-- Grafana --", "type": "tags"}]}
    }));
    let texts: Vec<&str> = report.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("`Graph`") && texts[0].contains("serviceMap"), "{texts:?}");
    assert!(texts[1].contains("`Own`"), "{texts:?}");
}

#[test]
fn lists_of_dashboards_are_drawn_and_what_they_do_not_heed_is_said() {
    let list = |options: Value| {
        let grafana = json!({"type": "datasource", "uid": "grafana"});
        let panel = json!({"id": 1, "type": "dashlist", "options": options, "datasource": grafana,
            "targets": [{"refId": "A"}]});
        of(json!({"panels": [panel]})).panels.remove(0)
    };
    let by_tags = list(json!({"tags": ["gpu"], "showSearch": true, "folderUID": ""}));
    assert_eq!((by_tags.status, by_tags.reasons), (Status::Full, Vec::new()));
    let other = list(json!({"showStarred": true, "folderUID": "x", "keepTime": true}));
    assert_eq!((other.status, other.reasons.len()), (Status::Partial, 3), "{:?}", other.reasons);
}

#[test]
fn variables_that_change_no_query_say_so() {
    let report = of(json!({"panels": [], "templating": {"list": [
        {"name": "by", "type": "groupby", "datasource": {"type": "prometheus"}},
        {"name": "rows", "type": "adhoc", "datasource": {"type": "postgres"}},
        {"name": "series", "type": "adhoc", "datasource": {"type": "prometheus"}}]}}));
    let status: Vec<Status> = report.variables.iter().map(|variable| variable.status).collect();
    assert_eq!(status, [Status::Partial, Status::Unsupported, Status::Full]);
    let [grouped, looked_for, named] = report.variables[0].reasons.as_slice() else {
        panic!("{:?}", report.variables[0].reasons)
    };
    assert!(grouped.contains("not grouped") && looked_for.contains("not looked for"));
    assert!(named.contains("$by"), "{named}");
    assert!(report.variables[1].reasons[0].contains("SQL"));
}

#[test]
fn options_that_are_not_heeded_are_named_and_those_that_say_nothing_are_not() {
    let one = |kind: &str, options: Value, custom: Value, overrides: Value| {
        let panel = json!({"id": 1, "type": kind, "options": options,
            "datasource": {"type": "prometheus"}, "targets": [{"expr": "up"}],
            "fieldConfig": {"defaults": {"custom": custom}, "overrides": overrides}});
        let panel = of(json!({"panels": [panel]})).panels.remove(0);
        (panel.status, panel.reasons.join("; "))
    };
    let full = (Status::Full, String::new());
    let heat = json!({"color": {"mode": "opacity", "fill": "red", "reverse": true, "steps": 8},
        "yAxis": {"reverse": true, "min": 1, "axisPlacement": "left", "axisLabel": ""},
        "rowsFrame": {"layout": "ge"}, "filterValues": {"le": 1}, "legend": {"show": false}});
    assert_eq!(one("heatmap", heat, json!({}), json!([])), full);
    let sides = json!({"yAxis": {"axisPlacement": "right", "axisLabel": "size"}});
    let why = "options that are not heeded: `yAxis.axisLabel`, `yAxis.axisPlacement`";
    assert_eq!(one("heatmap", sides, json!({}), json!([])), (Status::Partial, why.to_owned()));
    let stat = json!({"wideLayout": true, "percentChangeColorMode": "standard", "text": {}});
    assert_eq!(one("stat", stat, json!({}), json!([])), full);
    let stat = json!({"percentChangeColorMode": "inverted"});
    assert_eq!(one("stat", stat, json!({}), json!([])).0, Status::Partial);
    let by_name = |id: &str, value: Value| json!([{"matcher": {"id": "byName", "options": "a"}, "properties": [{"id": id, "value": value}]}]);
    let custom = json!({"axisColorMode": "text", "stacking": {"mode": "normal", "group": "A"}});
    let transform = by_name("custom.transform", json!("negative-Y"));
    assert_eq!(one("timeseries", json!({}), custom, transform), full);
    let why = "options that are not heeded: `custom.axisColorMode`";
    let series = by_name("custom.axisColorMode", json!("series"));
    let partial = (Status::Partial, why.to_owned());
    assert_eq!(one("timeseries", json!({}), json!({}), series), partial);
    let cells = json!({"cellOptions": {"type": "actions"}});
    let why = "options that are not heeded: `custom.cellOptions.type: actions`";
    assert_eq!(one("table", json!({}), cells, json!([])), (Status::Partial, why.to_owned()));
}

#[test]
fn expressions_that_cannot_be_read_are_named() {
    let report = of(json!({
        "panels": [{"id": 1, "type": "table", "datasource": {"type": "prometheus"},
            "targets": [{"expr": "up"}],
            "fieldConfig": {"defaults": {"mappings": [
                {"type": "regex", "options": {"pattern": "/^(?!.*test).*$/", "result": {"text": "a"}}},
                {"type": "regex", "options": {"pattern": "/(/", "result": {"text": "b"}}}]},
                "overrides": [{"matcher": {"id": "byRegexp", "options": "/a"}, "properties": []},
                    {"matcher": {"id": "byRegexp", "options": "/$v(/"}, "properties": []}]},
            "transformations": [
                {"id": "renameByRegex", "options": {"regex": "[", "renamePattern": "x"}},
                {"id": "filterByValue", "options": {"filters": [{"fieldName": "a",
                    "config": {"id": "regex", "options": {"value": "*"}}}]}}]}],
        "templating": {"list": [
            {"name": "v", "type": "custom", "query": "a", "regex": "/(?<=a)b/"},
            {"name": "w", "type": "query", "query": "label_values(a)", "regex": "/(/"},
            {"name": "x", "type": "query", "query": "label_values(a)", "regex": "/$v(/"},
            {"name": "y", "type": "query", "query": "label_values(a)", "regex": "/^$v-.*/"}]}
    }));
    let reasons = &report.panels[0].reasons;
    let begins = [
        "an override",
        "a value mapping",
        "the transformation `renameByRegex`",
        "the transformation `filterByValue`",
    ];
    assert_eq!(reasons.len(), begins.len(), "{reasons:?}");
    for (reason, begin) in reasons.iter().zip(begins) {
        assert!(reason.starts_with(begin), "{reasons:?}");
    }
    assert_eq!(report.panels[0].status, Status::Partial);
    assert_eq!(report.variables[0].status, Status::Full);
    for variable in &report.variables[1..3] {
        assert!(variable.reasons[0].contains("regular expression"), "{:?}", variable.reasons);
    }
    assert!(report.variables[3].reasons.is_empty(), "{:?}", report.variables[3].reasons);
}
