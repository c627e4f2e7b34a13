//! The old single value, as a stat, or as a gauge if it was drawn as one.

use serde_json::{Value, json};

use super::notes::Notes;
use super::{defaults_of, mappings, reducer_of, set_missing};
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    let old = panel.clone();
    let gauge = read::object(&old, "gauge").filter(|gauge| read::is_true(gauge, "show"));
    let kind = if gauge.is_some() { "gauge" } else { "stat" };
    notes.changed(format!("the old single value is drawn as {kind}"));
    panel.insert("type".to_owned(), json!(kind));
    fields(panel, &old);
    options(panel, &old, notes);
    if let Some(gauge) = gauge {
        let defaults = defaults_of(panel);
        for (key, old_key) in [("min", "minValue"), ("max", "maxValue")] {
            if let Some(bound) = read::number(gauge, old_key) {
                set_missing(defaults, key, read::json_number(bound));
            }
        }
        let options = read::object_mut(panel, "options");
        for key in ["thresholdMarkers", "thresholdLabels"] {
            let new = format!("show{}{}", key[..1].to_uppercase(), &key[1..]);
            options.insert(new, json!(read::is_true(gauge, key)));
        }
    }
    for member in [
        "cacheTimeout",
        "colorBackground",
        "colorPostfix",
        "colorPrefix",
        "colorValue",
        "colors",
        "decimals",
        "format",
        "gauge",
        "mappingType",
        "mappingTypes",
        "nullPointMode",
        "nullText",
        "postfix",
        "postfixFontSize",
        "prefix",
        "prefixFontSize",
        "rangeMaps",
        "sparkline",
        "tableColumn",
        "thresholds",
        "valueFontSize",
        "valueMaps",
        "valueName",
    ] {
        panel.remove(member);
    }
}

/// Unit, decimals, colours and texts for values.
fn fields(panel: &mut Object, old: &Object) {
    let defaults = defaults_of(panel);
    if let Some(unit) = read::text(old, "format") {
        set_missing(defaults, "unit", json!(unit));
    }
    if let Some(decimals) = read::number(old, "decimals") {
        set_missing(defaults, "decimals", read::json_number(decimals));
    }
    if let Some(text) = read::text(old, "nullText") {
        set_missing(defaults, "noValue", json!(text));
    }
    let colors: Vec<&str> = read::list(old, "colors").iter().filter_map(Value::as_str).collect();
    if let Some(steps) = steps(read::text(old, "thresholds").unwrap_or_default(), &colors) {
        set_missing(defaults, "thresholds", json!({"mode": "absolute", "steps": steps}));
    }
    let mappings = mappings::of_singlestat(old);
    if !mappings.is_empty() {
        set_missing(defaults, "mappings", json!(mappings));
    }
    set_missing(defaults, "color", json!({"mode": "thresholds"}));
}

/// `50,80` and three colours, as steps.
fn steps(thresholds: &str, colors: &[&str]) -> Option<Vec<Value>> {
    let first = colors.first()?;
    let mut steps = vec![json!({"value": null, "color": first})];
    let values = thresholds.split(',').filter_map(|value| value.trim().parse::<f64>().ok());
    for (value, color) in values.zip(colors.iter().skip(1)) {
        steps.push(json!({"value": read::json_number(value), "color": color}));
    }
    Some(steps)
}

fn options(panel: &mut Object, old: &Object, notes: &mut Notes) {
    let name = read::text(old, "valueName").unwrap_or("avg");
    let mut text_mode = "auto";
    let calc = match (name, reducer_of(name)) {
        (_, Some(calc)) => calc,
        ("name", _) => {
            text_mode = "name";
            "lastNotNull"
        }
        _ => {
            notes.lost(format!("its value `{name}` is not known: the last value is shown"));
            "lastNotNull"
        }
    };
    let column = read::text(old, "tableColumn").filter(|column| *column != "Value");
    let fields = column.map_or_else(String::new, |column| format!("/^{}$/", regex::escape(column)));
    let color_mode = match (read::is_true(old, "colorBackground"), read::is_true(old, "colorValue"))
    {
        (true, _) => "background",
        (_, true) => "value",
        _ => "none",
    };
    let draws_line = read::object(old, "sparkline").is_some_and(|s| read::is_true(s, "show"));
    for affix in ["prefix", "postfix"] {
        if read::text(old, affix).is_some() {
            notes.lost(format!("the {affix} of the value is not kept: use a unit"));
        }
    }
    let options = read::object_mut(panel, "options");
    for (key, value) in [
        ("reduceOptions", json!({"calcs": [calc], "fields": fields, "values": false})),
        ("colorMode", json!(color_mode)),
        ("graphMode", json!(if draws_line { "area" } else { "none" })),
        ("textMode", json!(text_mode)),
        ("justifyMode", json!("auto")),
        ("orientation", json!("horizontal")),
    ] {
        set_missing(options, key, value);
    }
}
