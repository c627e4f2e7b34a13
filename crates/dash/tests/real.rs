//! Dashboards that people share: every panel of them works. They are not ours to ship, and are read
//! from where `KYMO_TEST_DATA` says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::PathBuf;

use kymo_dash::report::{Counts, report};
use serde_json::Value;

fn read(name: &str) -> Option<Value> {
    let Some(folder) = std::env::var_os("KYMO_TEST_DATA").map(PathBuf::from) else {
        eprintln!("left out: set KYMO_TEST_DATA to the folder with {name}");
        return None;
    };
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn is_full(name: &str, panels: usize) {
    let Some(json) = read(name) else { return };
    let report = report(&json).unwrap().report;
    let partial: Vec<_> = report.panels.iter().filter(|panel| !panel.reasons.is_empty()).collect();
    assert!(partial.is_empty(), "{partial:?}");
    assert_eq!(report.counts, Counts { full: panels, ..Counts::default() });
    assert!(report.variables.iter().all(|variable| variable.reasons.is_empty()));
}

#[test]
fn every_panel_of_nvidias_dashboard_works() {
    is_full("dashboards/dcgm-exporter-dashboard.json", 8);
}

#[test]
fn every_panel_of_node_exporter_full_works() {
    is_full("dashboards/node-exporter-full.json", 125);
}

#[test]
fn every_panel_of_graphistrys_dashboards_works() {
    is_full("graphistry/grafana/dcgm-exporter-dashboard.json", 8);
    is_full("graphistry/grafana/node-exporter-dashboard.json", 116);
}
