//! What CI teams do today with a table of spans: filter by a variable, group, name, convert to
//! minutes, and draw one bar for each project. The numbers are computed by hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use chrono_tz::Tz;
use kymo_dash::fields::units::Clock;
use kymo_dash::fields::{Context as FieldContext, of_kind, resolve};
use kymo_dash::frame::{Field, Frame, Kind, Value};
use kymo_dash::reduce::shown::shown;
use kymo_dash::transform::{Context, apply};
use serde_json::{Value as Json, json};

const MINUTE_NANOS: f64 = 60e9;

/// Seven spans: one without a project, one of a runner that is not chosen.
fn spans() -> Frame {
    let names = ["build", "build", "test", "build", "test", "build", "build"];
    let projects =
        [Some("cudf"), Some("cudf"), Some("rmm"), Some("cuml"), Some("rmm"), None, Some("cudf")];
    let runners = [
        Some("gpu-l4"),
        Some("gpu.a100"),
        Some("gpu-l4"),
        Some("gpu-l4"),
        Some("gpu.a100"),
        Some("gpu-l4"),
        Some("cpu"),
    ];
    let minutes = [10.0, 30.0, 6.0, 0.0, 3.0, 99.0, 500.0];
    let rates = [Some(0.0), Some(0.5), Some(1.0), None, Some(0.25), Some(1.0), Some(1.0)];
    Frame::new(vec![
        Field::text("traceIdHidden", names.map(Some))
            .with_config("custom", json!({"hidden": true})),
        Field::text("name", names.map(Some)).with_config("displayName", "Name"),
        Field::text("project", projects),
        Field::text("runner", runners),
        Field::number("cache_rate", rates),
        Field::number("duration", minutes.map(|minutes| Some(minutes * MINUTE_NANOS)))
            .with_config("displayName", "Duration")
            .with_config("unit", "ns"),
    ])
    .with_ref_id("A")
}

fn transformations() -> Json {
    let not_null = json!({"id": "isNotNull", "options": {}});
    let chosen = json!({"id": "regex", "options": {"value": "^(${runner:regex})$"}});
    json!([
        {"id": "filterByValue", "options": {"type": "include", "match": "all", "filters": [
            {"fieldName": "project", "config": not_null},
            {"fieldName": "runner", "config": chosen}]}},
        {"id": "groupBy", "options": {"fields": {
            "project": {"operation": "groupby", "aggregations": []},
            "cache_rate": {"operation": "aggregate", "aggregations": ["mean"]},
            "Duration": {"operation": "aggregate", "aggregations": ["mean", "sum"]}}}},
        {"id": "convertFieldType", "options": {"conversions": [
            {"targetField": "project", "destinationType": "enum",
             "enumConfig": {"text": ["cuml", "cudf", "rmm"]}}]}},
        {"id": "calculateField", "options": {"mode": "binary", "alias": "minutes", "binary": {
            "left": {"matcher": {"id": "byName", "options": "Duration (sum)"}},
            "operator": "/", "right": {"fixed": "60000000000"}}}}
    ])
}

fn transformed() -> Frame {
    let list = transformations();
    // The variable holds two values, escaped as a regular expression wants them.
    let interpolate = |text: &str| text.replace("${runner:regex}", "gpu-l4|gpu\\.a100");
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    let mut made = apply(list.as_array().unwrap(), vec![spans()], &context);
    assert_eq!(made.notices, []);
    assert_eq!(made.frames.len(), 1);
    made.frames.remove(0)
}

fn numbers(field: &Field) -> Vec<Option<f64>> {
    field.values.iter().map(Value::as_number).collect()
}

#[test]
fn spans_are_filtered_grouped_and_converted() {
    let frame = transformed();
    let names: Vec<&str> = frame.fields.iter().map(|field| field.name.as_str()).collect();
    let expected = ["project", "cache_rate (mean)", "Duration (mean)", "Duration (sum)", "minutes"];
    assert_eq!(names, expected);
    // cudf comes first, then rmm, then cuml, by the texts of the enumeration: 1, 2, 0.
    assert_eq!(frame.fields[0].kind, Kind::Enum);
    assert_eq!(numbers(&frame.fields[0]), [Some(1.0), Some(2.0), Some(0.0)]);
    // A rate of 0 is a rate; what was never sent is none.
    assert_eq!(numbers(&frame.fields[1]), [Some(0.25), Some(0.625), None]);
    let mean = [Some(20.0 * MINUTE_NANOS), Some(4.5 * MINUTE_NANOS), Some(0.0)];
    assert_eq!(numbers(&frame.fields[2]), mean);
    let sum = [Some(40.0 * MINUTE_NANOS), Some(9.0 * MINUTE_NANOS), Some(0.0)];
    assert_eq!(numbers(&frame.fields[3]), sum);
    assert_eq!(numbers(&frame.fields[4]), [Some(40.0), Some(9.0), Some(0.0)]);
}

#[test]
fn the_unit_stays_with_sums_and_means() {
    let frame = transformed();
    let units: Vec<Option<&str>> =
        frame.fields.iter().map(|field| field.config_text("unit")).collect();
    assert_eq!(units, [None, None, Some("ns"), Some("ns"), None]);
}

#[test]
fn every_project_has_a_bar_of_the_chosen_field() {
    let field_config = json!({
        "defaults": {"decimals": 1, "thresholds": {"mode": "absolute", "steps": [
            {"value": null, "color": "green"}, {"value": 30, "color": "red"}]}},
        "overrides": [{"matcher": {"id": "byName", "options": "minutes"},
            "properties": [{"id": "unit", "value": "m"}]}]
    });
    let mut frames = vec![transformed()];
    let context =
        FieldContext { interpolate: &str::to_owned, url_time_range: "", clock: Clock::default() };
    assert_eq!(resolve(&of_kind(&field_config, "bargauge"), &mut frames, &context), []);
    let options = json!({"values": true, "calcs": [], "fields": "/^minutes$/"});
    let bars: Vec<(String, Option<f64>, String, Option<String>)> =
        shown(&options, &field_config, &frames, &context)
            .values
            .into_iter()
            .map(|bar| (bar.title, bar.display.numeric, bar.display.whole(), bar.display.color))
            .collect();
    let bar = |title: &str, minutes: f64, text: &str, color: &str| {
        (title.to_owned(), Some(minutes), text.to_owned(), Some(color.to_owned()))
    };
    let expected = [
        bar("cudf minutes", 40.0, "40.0 min", "red"),
        bar("rmm minutes", 9.0, "9.0 min", "green"),
        bar("cuml minutes", 0.0, "0.0 min", "green"),
    ];
    assert_eq!(bars, expected);
}

#[test]
fn one_value_of_the_variable_leaves_its_spans() {
    let list = transformations();
    let interpolate = |text: &str| text.replace("${runner:regex}", "gpu\\.a100");
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    let made = apply(list.as_array().unwrap(), vec![spans()], &context);
    assert_eq!(numbers(&made.frames[0].fields[4]), [Some(30.0), Some(3.0)]);
}
