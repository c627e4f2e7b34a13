//! What happens to a list of transformations as a whole.

use chrono_tz::Tz;
use serde_json::{Value as Json, json};

use super::{Context, Transformed, apply};
use crate::frame::{Field, Frame};

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
