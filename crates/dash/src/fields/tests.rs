//! Configuration, names, thresholds and links of fields, resolved together.

use serde_json::{Value as Json, json};

use super::units::Clock;
use super::{Context, Display, Settings, add_calcs, display, of_kind, resolve};
use crate::frame::{Field, Frame, Labels, Value};
use crate::limits;

fn resolved(field_config: Json, frames: Vec<Frame>) -> (Vec<Frame>, Vec<String>) {
    resolved_as("", field_config, frames)
}

fn resolved_as(
    kind: &str,
    field_config: Json,
    mut frames: Vec<Frame>,
) -> (Vec<Frame>, Vec<String>) {
    let interpolate = |text: &str| text.replace("${env}", "prod");
    let context = Context {
        interpolate: &interpolate,
        url_time_range: "from=1&to=2",
        clock: Clock::default(),
    };
    let notices = resolve(&of_kind(&field_config, kind), &mut frames, &context);
    (frames, notices.into_iter().map(|notice| notice.text).collect())
}

fn gpus() -> Vec<Frame> {
    let gpu = |gpu: &str, values: [f64; 2]| {
        let labels = Labels::from([("gpu".to_owned(), gpu.to_owned())]);
        let values = values.map(Some);
        Frame::new(vec![
            Field::time("Time", [0.0, 60e3]),
            Field::number("Value", values).with_labels(labels),
        ])
        .with_ref_id("A")
    };
    vec![gpu("0", [10.0, 50.0]), gpu("1", [20.0, 90.0])]
}

fn shown(field: &Field, value: impl Into<Value>) -> Display {
    display(field, &value.into(), &Clock::default())
}

#[test]
fn more_overrides_than_anybody_writes_are_cut_and_said() {
    let unit = |unit: &str| json!({"matcher": {"id": "numeric"}, "properties": [{"id": "unit", "value": unit}]});
    let mut overrides = vec![unit("watt"); crate::limits::MAX_OVERRIDES];
    overrides.push(unit("bytes"));
    let (frames, notices) = resolved(json!({ "overrides": overrides }), gpus());
    assert_eq!(frames[0].fields[1].config_text("unit"), Some("watt"));
    assert_eq!(notices, ["only the first 1000 overrides are looked at"]);
}

#[test]
fn what_a_panel_sets_has_a_bound_over_all_fields() {
    let config = json!({"defaults": {"unit": "watt"}});
    let settings = Settings::read(&config, "series", &mut Vec::new());
    assert!(settings.gives(limits::MAX_CONFIG_BYTES) && !settings.is_short.get());
    assert!(!settings.gives(1) && settings.is_short.get());
    let config = json!({"defaults": {"description": "x".repeat(limits::MAX_CONFIG_BYTES / 2)}});
    let (frames, notices) = resolved(config, gpus());
    let fields = frames.iter().flat_map(|frame| &frame.fields);
    assert_eq!(fields.filter(|field| field.config_text("description").is_some()).count(), 1);
    assert!(notices[0].contains("without what the panel sets"));
}

#[test]
fn what_the_field_has_goes_before_the_defaults_and_overrides_go_last() {
    let mut frames = gpus();
    frames[0].fields[1].config.insert("unit".into(), "celsius".into());
    let config = json!({
        "defaults": {"unit": "watt", "min": 0, "custom": {"lineWidth": 1, "fillOpacity": 10}},
        "overrides": [
            {"matcher": {"id": "byName", "options": "1"}, "properties": [
                {"id": "custom.lineWidth", "value": 3},
                {"id": "custom.lineStyle.fill", "value": "dash"},
                {"id": "min", "value": null}]},
            {"matcher": {"id": "byMagic"}, "properties": []}
        ]
    });
    let (frames, notices) = resolved(config, frames);
    let config = |frame: usize| Json::from(frames[frame].fields[1].config.clone());
    let custom = json!({"lineWidth": 1, "fillOpacity": 10});
    assert_eq!(config(0), json!({"unit": "celsius", "min": 0, "custom": custom}));
    let custom = json!({"lineWidth": 3, "fillOpacity": 10, "lineStyle": {"fill": "dash"}});
    assert_eq!(config(1), json!({"unit": "watt", "custom": custom}));
    assert_eq!(notices, ["an override is left out: the matcher \"byMagic\" is not known"]);
}

#[test]
fn names_are_made_of_labels_and_variables() {
    let name = |template: &str| {
        let config = json!({"defaults": {"displayName": template}});
        resolved(config, gpus()).0[1].fields[1].state.clone().unwrap().display_name
    };
    assert_eq!(name("GPU ${__field.labels.gpu} in ${env}"), "GPU 1 in prod");
    assert_eq!(name("${__field.name}${__field.labels.none}"), "Value");
    assert_eq!(name("${__field.displayName}!"), "1!");
    assert_eq!(name("${__series.name}"), "1");
    assert_eq!(name("$1 ${other}"), "$1 ${other}");
}

#[test]
fn states_hold_the_place_for_colours_and_the_scale_of_all_fields_of_a_unit() {
    let (frames, _) = resolved(json!({"defaults": {"min": 0}}), gpus());
    let state = |frame: usize, field: usize| frames[frame].fields[field].state.clone().unwrap();
    assert_eq!(state(0, 0).series_index, None);
    assert_eq!((state(0, 1).series_index, state(1, 1).series_index), (Some(0), Some(1)));
    assert_eq!(state(0, 1).range, Some((0.0, 90.0)));
    let mut mixed = gpus();
    mixed[1].fields[1].config.insert("unit".into(), "ns".into());
    let (frames, _) = resolved(json!({}), mixed);
    assert_eq!(frames[0].fields[1].state.as_ref().unwrap().range, Some((10.0, 50.0)));
    let (frames, _) = resolved(json!({"defaults": {"fieldMinMax": true}}), gpus());
    assert_eq!(frames[0].fields[1].state.as_ref().unwrap().range, Some((10.0, 50.0)));
}

#[test]
fn thresholds_give_colours_by_value_or_by_part_of_the_scale() {
    let steps = json!([{"value": null, "color": "green"}, {"value": 80, "color": "red"}]);
    let config = |mode: &str| json!({"defaults": {"max": 100, "min": 50, "thresholds": {"mode": mode, "steps": steps}}});
    let (frames, _) = resolved(config("absolute"), gpus());
    let color = |frames: &[Frame], value: f64| shown(&frames[0].fields[1], value).color.unwrap();
    assert_eq!(color(&frames, 79.9), "green");
    assert_eq!(color(&frames, 80.0), "red");
    let (frames, _) = resolved(config("percentage"), gpus());
    assert_eq!(color(&frames, 80.0), "green");
    assert_eq!(color(&frames, 90.0), "red");
}

#[test]
fn values_have_units_mappings_and_a_text_for_nothing() {
    let mappings = json!([{"type": "value", "options": {"0": {"text": "idle", "color": "blue"}}}]);
    let config = json!({"defaults": {"unit": "bytes", "noValue": "-", "mappings": mappings}});
    let (frames, _) = resolved(config, gpus());
    let field = &frames[0].fields[1];
    assert_eq!(shown(field, 1536.0).whole(), "1.50 KiB");
    assert_eq!(shown(field, 0.0).whole(), "idle");
    assert_eq!(shown(field, 0.0).color.as_deref(), Some("blue"));
    assert_eq!(shown(field, Value::Null).whole(), "-");
    assert_eq!(shown(&frames[0].fields[0], 60e3).whole(), "1970-01-01 00:01:00");
}

#[test]
fn colours_of_palettes_and_gradients_are_left_to_the_page() {
    for mode in ["palette-classic", "palette-classic-by-name", "continuous-GrYlRd", "shades"] {
        let (frames, _) = resolved(json!({"defaults": {"color": {"mode": mode}}}), gpus());
        let display = shown(&frames[0].fields[1], 50.0);
        assert_eq!((display.color, display.percent), (None, Some(0.5)), "{mode}");
    }
    let fixed = json!({"defaults": {"color": {"mode": "fixed", "fixedColor": "purple"}}});
    let (frames, _) = resolved(fixed, gpus());
    assert_eq!(shown(&frames[0].fields[1], 1.0).color.as_deref(), Some("purple"));
}

#[test]
fn a_kind_has_colours_of_its_own_where_the_panel_says_nothing() {
    let mode =
        |config: &Json, kind: &str| of_kind(config, kind).json()["defaults"]["color"].clone();
    let palette = json!({"mode": "palette-classic"});
    assert_eq!(mode(&json!({}), "piechart"), palette);
    assert_eq!(mode(&json!({"defaults": {"unit": "s"}, "overrides": []}), "barchart"), palette);
    assert_eq!(mode(&json!({}), "stat"), Json::Null);
    assert_eq!(mode(&json!({}), "state-timeline"), json!({"mode": "continuous-GrYlRd"}));
    let fixed = json!({"mode": "fixed", "fixedColor": "red"});
    assert_eq!(mode(&json!({"defaults": {"color": fixed}}), "piechart"), fixed);
}

#[test]
fn every_row_has_its_links() {
    let links = json!([{"title": "t", "url": "/x/${__value.raw}?${__url_time_range}"}]);
    let (frames, _) = resolved(json!({"defaults": {"links": links}}), gpus());
    let state = frames[1].fields[1].state.clone().unwrap();
    assert_eq!(state.links[1][0].url, "/x/90?from=1&to=2");
}

#[test]
fn a_panel_without_thresholds_is_green_and_from_80_red() {
    let color = |kind: &str, config: &Json, value: f64| {
        let (frames, _) = resolved_as(kind, config.clone(), gpus());
        shown(&frames[0].fields[1], value).color
    };
    for kind in ["stat", "gauge", "bargauge", "table", "status-history"] {
        assert_eq!(color(kind, &json!({}), 79.0).as_deref(), Some("green"), "{kind}");
        let null = json!({"defaults": {"thresholds": null}});
        assert_eq!(color(kind, &null, 80.0).as_deref(), Some("red"), "{kind}");
    }
    let none = json!({"defaults": {"thresholds": {"mode": "absolute", "steps": []}}});
    assert_eq!(color("stat", &none, 80.0), None);
    assert_eq!(color("piechart", &json!({}), 80.0), None);
    assert_eq!(color("heatmap", &json!({}), 80.0), None);
    let (frames, _) = resolved_as("timeseries", json!({}), gpus());
    assert!(frames[0].fields[1].config.contains_key("thresholds"));
    assert!(!frames[0].fields[0].config.contains_key("thresholds"), "a time has none");
}

#[test]
fn a_panel_has_room_for_so_many_links_and_says_what_is_left_out() {
    let series = || {
        let frame = |_| {
            let times = (0..1_000).map(f64::from);
            let values = (0..1_000).map(|row| Some(f64::from(row)));
            Frame::new(vec![Field::time("Time", times), Field::number("Value", values)])
        };
        (0..100).map(frame).collect::<Vec<_>>()
    };
    let config = json!({"defaults": {"links": [{"title": "t", "url": "/x/${__value.raw}"}]}});
    let links = |frames: &[Frame]| -> Vec<usize> {
        let fields = frames.iter().flat_map(|frame| &frame.fields);
        fields.map(|field| field.state.as_ref().unwrap().links.len()).collect()
    };
    let (frames, notices) = resolved_as("timeseries", config.clone(), series());
    assert_eq!(links(&frames), [100; 200]);
    assert_eq!(
        notices,
        ["truncated: 20000 of 200000 values have their links: a panel has room for 20000"]
    );
    // What is drawn has its own there, but for those that a query gave.
    let mut with_exemplar = series();
    with_exemplar[0].fields[1].config.insert("links".into(), json!([{"url": "/trace"}]));
    let (frames, notices) = resolved_as("stat", config, with_exemplar);
    assert_eq!(links(&frames).iter().sum::<usize>(), 1_000);
    assert_eq!((links(&frames)[1], notices), (1_000, Vec::new()));
}

#[test]
fn calcs_of_a_legend_are_added() {
    let (mut frames, _) = resolved(json!({}), gpus());
    add_calcs(&mut frames, &["mean", "lastNotNull", "none such"]);
    let calcs = Json::from(frames[0].fields[1].state.clone().unwrap().calcs);
    assert_eq!(calcs, json!({"mean": 30, "lastNotNull": 50}));
}

#[test]
fn configuration_of_wrong_types_does_no_harm() {
    for config in [
        json!(null),
        json!({"defaults": 1, "overrides": {}}),
        json!({"defaults": {"custom": 1, "links": 2, "thresholds": [], "mappings": {}, "color": 3,
            "min": "a", "max": [], "decimals": -1e300, "unit": 5}}),
        json!({"overrides": [1, {}, {"matcher": {"id": "numeric"}, "properties": [1, {"id": ""},
            {"id": "unit.x.y", "value": 1}, {"id": "a..b", "value": []}]}]}),
    ] {
        let (frames, _) = resolved(config, gpus());
        shown(&frames[0].fields[1], 5.0);
    }
}
