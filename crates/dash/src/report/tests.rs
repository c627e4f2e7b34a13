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
