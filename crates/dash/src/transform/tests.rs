//! What happens to a list of transformations as a whole.

use chrono_tz::Tz;
use serde_json::{Value as Json, json};

use super::{Context, Transformed, apply};
use crate::effort;
use crate::frame::{Field, Frame};
use crate::limits::{MAX_INTERPOLATED_BYTES, MAX_LISTED_OPTIONS, MAX_NAME_BYTES};

fn run(transformations: Json, frames: Vec<Frame>) -> Transformed {
    let interpolate = |text: &str| text.replace("$host", "a");
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    apply(transformations.as_array().unwrap(), frames, &context)
}

fn table() -> Vec<Frame> {
    let one = |id: &str| {
        Frame::new(vec![
            Field::text("host", [Some("a"), Some("b"), None]),
            Field::number("v", [Some(1.0), Some(2.0), Some(3.0)]),
        ])
        .with_ref_id(id)
    };
    vec![one("A"), one("B")]
}

#[test]
fn what_is_not_known_leaves_the_frames_and_says_so() {
    let made = run(json!([{"id": "magic", "options": {}}, {"id": "spatial"}, {}]), table());
    assert_eq!(made.frames, table());
    let notices: Vec<&str> = made.notices.iter().map(|notice| notice.text.as_str()).collect();
    assert_eq!(
        notices,
        [
            "transformation \"magic\": it is not known, so the data is shown without it",
            "transformation \"spatial\": it needs maps, which are not supported",
            "transformation \"\": it has no id",
        ]
    );
}

#[test]
fn disabled_ones_and_those_of_annotations_are_passed_over() {
    let limit = json!({"limitField": 1});
    let list = json!([
        {"id": "limit", "options": limit, "disabled": true},
        {"id": "limit", "options": limit, "topic": "annotations"}
    ]);
    assert_eq!(run(list, table()).frames, table());
}

#[test]
fn names_that_are_made_of_themselves_grow_to_a_bound() {
    let twice =
        json!({"id": "renameByRegex", "options": {"regex": "/(.*)/", "renamePattern": "$1$1"}});
    let made = run(Json::Array(vec![twice; 100]), table());
    let names = made.frames.iter().flat_map(|frame| &frame.fields);
    let lengths: Vec<usize> =
        names.filter_map(|field| field.config_text("displayName")).map(str::len).collect();
    assert_eq!(lengths, [MAX_NAME_BYTES; 4]);
    let long = "x".repeat(MAX_NAME_BYTES + 1);
    let options = json!({"renameByName": {"v": long}});
    let made = run(json!([{"id": "rename", "options": options}]), table());
    assert_eq!(made.frames[0].fields[1].config_text("displayName"), Some(&long[1..]));
}

#[test]
fn options_that_are_too_long_are_refused() {
    let text = |notices: Vec<crate::frame::Notice>| notices[0].text.clone();
    let list = vec![json!("$host"); MAX_LISTED_OPTIONS + 1];
    let made = run(json!([{"id": "noop", "options": {"list": list}}]), table());
    assert!(text(made.notices).contains("more than 2000 elements"));
    let filled = "x".repeat(MAX_INTERPOLATED_BYTES / 2 + 1);
    let interpolate = |_: &str| filled.clone();
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    let noop = json!([{"id": "noop", "options": {"a": "$a", "b": "$b"}}]);
    let made = apply(noop.as_array().unwrap(), table(), &context);
    assert!(text(made.notices).contains("too long with variables"));
}

#[test]
fn nothing_more_is_run_once_the_time_is_over() {
    let limit = json!([{"id": "limit", "options": {"limitField": 1}}]);
    let made = effort::within(std::time::Duration::ZERO, || run(limit, table()));
    assert_eq!(made.frames, table());
    assert_eq!(made.notices.len(), 1);
}

#[test]
fn a_filter_chooses_the_frames() {
    let filter = json!({"id": "byRefId", "options": "B"});
    let made =
        run(json!([{"id": "limit", "options": {"limitField": 1}, "filter": filter}]), table());
    let shape: Vec<(Option<&str>, usize)> =
        made.frames.iter().map(|frame| (frame.ref_id.as_deref(), frame.rows())).collect();
    assert_eq!(shape, [(Some("A"), 3), (Some("B"), 1)]);
}

#[test]
fn variables_are_put_into_options() {
    let equal = json!({"id": "equal", "options": {"value": "$host"}});
    let filters = json!([{"fieldName": "host", "config": equal}]);
    let made = run(json!([{"id": "filterByValue", "options": {"filters": filters}}]), table());
    assert_eq!(made.frames[0].rows(), 1);
}

#[test]
fn options_of_wrong_types_are_said_and_change_nothing() {
    for (id, options) in [
        ("groupBy", json!({"fields": 1})),
        ("groupBy", json!([])),
        ("filterByValue", json!({"filters": [{"fieldName": "v", "config": {"id": "no such"}}]})),
        (
            "filterByValue",
            json!({"filters": [{"fieldName": "v", "config": {"id": "regex", "options": {"value": "("}}}]}),
        ),
        ("convertFieldType", json!({"conversions": "x"})),
        ("organize", json!({"renameByName": []})),
        ("reduce", json!({"reducers": ["no such"]})),
        ("calculateField", json!({"mode": "no such"})),
        ("limit", json!({"limitField": "x"})),
        ("renameByRegex", json!({"regex": "/(/"})),
    ] {
        let made = run(json!([{"id": id, "options": options}]), table());
        assert_eq!(made.frames, table(), "{id}");
        assert_eq!(made.notices.len(), 1, "{id}");
    }
}

#[test]
fn what_would_become_too_large_is_refused() {
    let names: Vec<Option<String>> = (0..5000).map(|row| Some(format!("r{row}"))).collect();
    let frame = Frame::new(vec![
        Field::text("name", names),
        Field::number("v", (0..5000).map(|row| Some(f64::from(row)))),
    ]);
    for id in ["rowsToFields", "transpose"] {
        let made = run(json!([{"id": id, "options": {}}]), vec![frame.clone()]);
        assert_eq!(
            made.notices[0].text,
            format!("transformation \"{id}\": it would make more than 2000 fields")
        );
    }
    let same = Frame::new(vec![Field::text("k", vec![Some("x"); 5000])]);
    let join = json!([{"id": "joinByField", "options": {"byField": "k", "mode": "inner"}}]);
    let made = run(join, vec![same.clone(), same]);
    assert_eq!(
        made.notices[0].text,
        "transformation \"joinByField\": it would make more than 4000000 cells"
    );
}

#[test]
fn what_multiplies_is_refused_before_it_is_made() {
    let refused = |transformation: Json, frames: Vec<Frame>| {
        let made = run(json!([transformation]), frames.clone());
        assert_eq!(made.frames, frames, "{transformation}");
        made.notices[0].text.clone()
    };
    let cells = "it would make more than 4000000 cells";
    // A row and a column for each series: 900 times 900, each with 10 values.
    let series = |n: i32| {
        let labels = [("host".to_owned(), format!("h{n}")), ("id".to_owned(), format!("i{n}"))];
        let values = (0..10).map(|value| Some(f64::from(value)));
        Frame::new(vec![Field::number("v", values).with_labels(labels.into())])
    };
    let join = json!({"id": "joinByLabels", "options": {"value": "host"}});
    assert!(refused(join, (0..900).map(series).collect()).ends_with(cells));
    let long = Frame::new(vec![Field::number("v", vec![Some(1.0); 100_000])]);
    let wide: Vec<Frame> = std::iter::once(long).chain((0..100).map(series)).collect();
    assert!(refused(json!({"id": "concatenate"}), wide).ends_with(cells));
    // Each number has a bucket of its own, with a count for each of the fields.
    let numbers = (0..5_000).map(|n| Some(f64::from(n)));
    let mut fields = vec![Field::number("v", numbers)];
    fields.extend((0..1_000).map(|n| Field::number(format!("v{n}"), [Some(0.0)])));
    let histogram = json!({"id": "histogram", "options": {"bucketSize": 1}});
    assert!(refused(histogram, vec![with_nulls(fields)]).ends_with(cells));
}

/// A frame whose short fields end with nulls.
fn with_nulls(fields: Vec<Field>) -> Frame {
    let mut frame = Frame::new(fields);
    frame.square();
    frame
}

#[test]
fn buckets_without_a_size_are_refused() {
    let frame = Frame::new(vec![
        Field::time("Time", [1.7e12, 1.8e12]),
        Field::number("v", [Some(1.0), Some(2.0)]),
    ]);
    let options = json!({"xBuckets": {"mode": "size", "value": 1e-300}});
    let made = run(json!([{"id": "heatmap", "options": options}]), vec![frame.clone()]);
    assert_eq!(made.frames, [frame]);
    assert!(made.notices[0].text.contains("choose larger buckets"), "{:?}", made.notices);
}

#[test]
fn more_series_than_are_shown_are_cut_and_said() {
    let one = Frame::new(vec![Field::number("v", [Some(1.0)])]);
    let made = run(json!([]), vec![one; crate::limits::MAX_FRAMES + 1]);
    assert_eq!(made.frames.len(), crate::limits::MAX_FRAMES);
    assert_eq!(made.notices[0].text, "truncated: only the first 10000 series are shown");
}

#[test]
fn rows_give_their_fields_configuration() {
    let frame = Frame::new(vec![
        Field::text("Name", [Some("a"), Some("b")]),
        Field::number("Value", [Some(1.0), Some(2.0)]).with_config("unit", "watt"),
        Field::number("Max", [Some(10.0), None]),
        Field::text("Colour", [Some("red"), None]),
        Field::number("Limit", [Some(8.0), Some(9.0)]),
    ]);
    let mappings = json!([{"fieldName": "Colour", "handlerKey": "color"},
        {"fieldName": "Limit", "handlerKey": "threshold1"}]);
    let made = run(json!([{"id": "rowsToFields", "options": {"mappings": mappings}}]), vec![frame]);
    let config = |field: usize| Json::from(made.frames[0].fields[field].config.clone());
    let thresholds = |value: f64| {
        json!({"mode": "absolute", "steps": [
            {"value": null, "color": "green"}, {"value": value, "color": "red"}]})
    };
    let color = json!({"mode": "fixed", "fixedColor": "red"});
    let first = json!({"unit": "watt", "max": 10.0, "color": color, "thresholds": thresholds(8.0)});
    assert_eq!(config(0), first);
    assert_eq!(config(1), json!({"unit": "watt", "thresholds": thresholds(9.0)}));
}

#[test]
fn a_query_gives_the_others_mappings() {
    let texts = Frame::new(vec![
        Field::number("code", [Some(0.0), Some(1.0)]),
        Field::text("means", [Some("idle"), Some("busy")]),
    ])
    .with_ref_id("M");
    let data = Frame::new(vec![Field::number("state", [Some(1.0)])]).with_ref_id("A");
    let mappings = json!([{"fieldName": "code", "handlerKey": "mappings.value"},
        {"fieldName": "means", "handlerKey": "mappings.text"}]);
    let options = json!({"configRefId": "M", "mappings": mappings});
    let made = run(json!([{"id": "configFromData", "options": options}]), vec![data, texts]);
    assert_eq!(made.frames.len(), 1);
    let config = Json::from(made.frames[0].fields[0].config.clone());
    let expected = json!({"0": {"text": "idle", "index": 0}, "1": {"text": "busy", "index": 1}});
    assert_eq!(config["mappings"], json!([{"type": "value", "options": expected}]));
}

#[test]
fn groups_hold_their_rows_as_tables() {
    let frame = Frame::new(vec![
        Field::text("host", [Some("a"), Some("b"), Some("a")]),
        Field::number("v", [Some(1.0), Some(2.0), Some(3.0)]),
        Field::text("note", [Some("x"), Some("y"), Some("z")]),
    ]);
    let options = json!({"fields": {
        "host": {"operation": "groupby", "aggregations": []},
        "v": {"operation": "aggregate", "aggregations": ["sum"]}}});
    let made = run(json!([{"id": "groupToNestedTable", "options": options}]), vec![frame]);
    let outer = &made.frames[0];
    let names: Vec<&str> = outer.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["host", "v (sum)", "__nestedFrames"]);
    let nested = outer.fields[2].values[0].to_json();
    assert_eq!(nested[0]["fields"][0]["values"], json!(["x", "z"]));
    assert_eq!(nested[0]["fields"].as_array().map(Vec::len), Some(1));
}

#[test]
fn series_become_rows_with_trends() {
    let series = |host: &str| {
        let labels = [("host".to_owned(), host.to_owned())].into();
        Frame::new(vec![
            Field::time("Time", [1.0, 2.0]),
            Field::number("Value", [Some(5.0), Some(7.0)]).with_labels(labels),
        ])
        .with_ref_id("A")
    };
    let options = json!({"A": {"stat": "max"}});
    let made =
        run(json!([{"id": "timeSeriesTable", "options": options}]), vec![series("a"), series("b")]);
    let table = &made.frames[0];
    assert_eq!((made.frames.len(), table.rows()), (1, 2));
    assert_eq!(table.fields[0].values[1].to_text(), "b");
    assert_eq!(table.fields[1].name, "Trend #A");
    let trend = table.fields[1].values[0].to_json();
    assert_eq!(trend["fields"][1]["values"], json!([5, 7]));
    assert_eq!(trend["meta"]["custom"], json!({"stat": "max", "value": 7}));
}

#[test]
fn rows_that_cannot_be_merged_in_time_are_refused() {
    let same = |from: i32| {
        let rows = 8000;
        Frame::new(vec![
            Field::text("k", vec![Some("x"); rows as usize]),
            Field::number("v", (from..from + rows).map(|row| Some(f64::from(row)))),
        ])
    };
    let made = run(json!([{"id": "merge"}]), vec![same(0), same(8000)]);
    // Both fields are keys here, so every row is a key of its own.
    assert_eq!(made.frames[0].rows(), 16_000);
    let mut other = same(0);
    other.fields[1].name = "w".to_owned();
    let made = run(json!([{"id": "merge"}]), vec![same(0), other]);
    assert!(made.notices[0].text.contains("too many rows"), "{:?}", made.notices);
}
