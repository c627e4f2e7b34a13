//! Reducers by name, and the single values that panels show. Results over many columns are in a
//! golden file.

use serde_json::{Value as Json, json};

use super::shown::{AllShown, Shown, shown};
use super::{Reducer, calcs};
use crate::fields::units::Clock;
use crate::fields::{Context, of_kind, resolve};
use crate::frame::{Field, Frame, Labels};

fn of(options: Json, config: Json, frames: Vec<Frame>) -> Vec<Shown> {
    all(options, config, frames).values
}

fn all(options: Json, config: Json, mut frames: Vec<Frame>) -> AllShown {
    let context = Context {
        interpolate: &|text: &str| text.replace("$env", "prod"),
        url_time_range: "",
        clock: Clock::default(),
    };
    resolve(&of_kind(&config, ""), &mut frames, &context);
    shown(&options, &config, &frames, &context)
}

fn series(gpu: &str, values: [f64; 3]) -> Frame {
    let labels = Labels::from([("gpu".to_owned(), gpu.to_owned())]);
    Frame::new(vec![
        Field::time("Time", [1.0, 2.0, 3.0]),
        Field::number("Value", values.map(Some)).with_labels(labels),
    ])
}

fn table() -> Frame {
    Frame::new(vec![
        Field::text("project", [Some("cudf"), Some("rmm")]),
        Field::number("minutes", [Some(40.0), Some(9.0)]),
        Field::number("runs", [Some(4.0), Some(3.0)]),
    ])
}

fn titles(values: &[Shown]) -> Vec<(&str, String)> {
    values.iter().map(|value| (value.title.as_str(), value.display.whole())).collect()
}

#[test]
fn ids_older_ids_and_titles_are_known() {
    for (id, today, title) in [
        ("current", "lastNotNull", "Last *"),
        ("avg", "mean", "Mean"),
        ("total", "sum", "Total"),
        ("p1", "p1", "1st %"),
        ("p12", "p12", "12th %"),
        ("p92", "p92", "92nd %"),
    ] {
        let reducer = Reducer::from_id(id).unwrap();
        assert_eq!((reducer.id().as_str(), reducer.title().as_str()), (today, title));
    }
    for id in ["", "p0", "p100", "p", "nonsense"] {
        assert_eq!(Reducer::from_id(id), None, "{id}");
    }
}

#[test]
fn calcs_have_the_ids_that_were_asked_for() {
    let field = Field::number("v", [Some(1.0), Some(f64::NAN), Some(4.0)]);
    let calcs = Json::from(calcs(&field, &["current", "avg", "count", "nonsense"]));
    assert_eq!(calcs, json!({"current": 4, "avg": 2.5, "count": 3}));
}

#[test]
fn each_series_is_reduced_by_each_calc() {
    let frames = vec![series("0", [1.0, 2.0, 3.0]), series("1", [10.0, 30.0, 20.0])];
    let values =
        of(json!({"calcs": ["lastNotNull", "max"]}), json!({"defaults": {"unit": "watt"}}), frames);
    let expected = [("0", "3 W"), ("0", "3 W"), ("1", "20 W"), ("1", "30 W")];
    assert_eq!(titles(&values), expected.map(|(title, text)| (title, text.to_owned())));
    assert_eq!(values[2].percent_change, Some(100.0));
    assert_eq!((values[2].frame, values[2].field, values[2].row), (1, 1, None));
}

#[test]
fn a_count_has_not_the_unit_of_what_it_counts() {
    let config = json!({"defaults": {"unit": "bytes"}});
    let values = of(json!({"calcs": ["count"]}), config, vec![series("0", [1.0, 2.0, 3.0])]);
    assert_eq!(values[0].display.whole(), "3");
}

#[test]
fn all_values_of_a_chosen_field_are_named_by_their_texts() {
    let options = json!({"values": true, "fields": "/^minutes$/"});
    let values = of(options, json!({}), vec![table()]);
    let expected = [("cudf minutes", "40"), ("rmm minutes", "9")];
    assert_eq!(titles(&values), expected.map(|(title, text)| (title, text.to_owned())));
    // A name without slashes is the name itself.
    let by_name = of(json!({"values": true, "fields": "runs"}), json!({}), vec![table()]);
    assert_eq!(by_name[0].display.numeric, Some(4.0));
}

#[test]
fn a_table_shows_all_rows_of_its_first_numbers_where_nothing_is_said() {
    assert_eq!(of(json!({}), json!({}), vec![table()]).len(), 2);
    assert_eq!(of(json!({"values": false}), json!({}), vec![table()]).len(), 2);
    let reduced = of(json!({"values": false, "calcs": ["sum"]}), json!({}), vec![table()]);
    assert_eq!(titles(&reduced)[0], ("minutes", "49".to_owned()));
}

#[test]
fn rows_are_limited_and_coloured_by_overrides_of_their_names() {
    let config = json!({"overrides": [{"matcher": {"id": "byName", "options": "rmm minutes"},
        "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "blue"}}]}]});
    let options = json!({"values": true, "fields": "minutes", "limit": 2});
    let values = of(options, config.clone(), vec![table(), table()]);
    assert_eq!(values.len(), 2);
    assert_eq!(values[1].display.color.as_deref(), Some("blue"));
}

#[test]
fn every_series_is_reduced_and_what_is_left_out_is_said() {
    let frames = |count: usize| -> Vec<Frame> {
        (0..count).map(|n| series(&n.to_string(), [1.0, 2.0, 3.0])).collect()
    };
    let many = all(json!({"calcs": ["max"], "limit": 3}), json!({}), frames(60));
    assert_eq!((many.values.len(), many.notice), (60, None), "the limit is one of rows");
    let too_many = all(json!({"calcs": ["min", "max"]}), json!({}), frames(600));
    assert_eq!(too_many.values.len(), 1_000);
    assert!(too_many.notice.unwrap().text.contains("1000 of 1200 values"));
    let rows = || {
        let texts: Vec<String> = (0..40).map(|n| format!("r{n}")).collect();
        let numbers = (0..40).map(|n| Some(f64::from(n)));
        let name = Field::text("name", texts.iter().map(|text| Some(text.as_str())));
        vec![Frame::new(vec![name, Field::number("v", numbers)])]
    };
    let cut = all(json!({"values": true}), json!({}), rows());
    assert_eq!(cut.values.len(), 25);
    assert!(cut.notice.unwrap().text.contains("25 of 40 values"));
    let wanted = all(json!({"values": true, "limit": 5}), json!({}), rows());
    assert_eq!((wanted.values.len(), wanted.notice), (5, None), "its author wants no more");
}

#[test]
fn titles_may_be_made_of_cells_labels_and_calcs() {
    let name = |template: &str| json!({"defaults": {"displayName": template}});
    let rows = json!({"values": true, "fields": "minutes"});
    // The defaults name every field, so the meant one is found by its own name.
    let values = of(rows, name("${__data.fields.project} in $env"), vec![table()]);
    assert_eq!(values.len(), 2);
    let values = of(
        json!({"calcs": ["max"]}),
        name("${__calc} of ${__field.labels.gpu}"),
        vec![series("7", [1.0, 2.0, 3.0])],
    );
    assert_eq!(values[0].title, "max of 7");
}

#[test]
fn a_panel_without_data_shows_its_text_for_that() {
    assert!(of(json!({}), json!({"defaults": {}}), vec![]).is_empty());
    let values = of(json!({}), json!({"defaults": {"noValue": "none yet"}}), vec![]);
    assert_eq!(values[0].display.text, "none yet");
    let mapping =
        json!([{"type": "special", "options": {"match": "null", "result": {"text": "N/A"}}}]);
    let values = of(json!({}), json!({"defaults": {"mappings": mapping}}), vec![]);
    assert_eq!(values[0].display.text, "N/A");
}
