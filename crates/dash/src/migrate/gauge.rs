//! Gauges, bar gauges and stats of Grafana 6: options of values that are now options of fields.

use serde_json::{Value, json};

use super::{defaults_of, reducer_of, set_missing};
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object) {
    let Some(options) = read::object(panel, "options") else { return };
    let mut options = options.clone();
    if let Some(Value::Object(old)) = options.remove("fieldOptions") {
        field_options(panel, &mut options, old);
    }
    if let Some(Value::Object(old)) = options.remove("valueOptions") {
        value_options(panel, &mut options, &old);
    }
    first_options(panel, &mut options);
    panel.insert("options".to_owned(), Value::Object(options));
}

/// Grafana 6.1 to 6.7.
fn field_options(panel: &mut Object, options: &mut Object, mut old: Object) {
    let calcs: Vec<Value> = read::list(&old, "calcs").to_vec();
    let calcs = if calcs.is_empty() { vec![json!("mean")] } else { calcs };
    let mut reduce = json!({"calcs": calcs, "values": read::is_true(&old, "values"), "fields": ""});
    if let Some(limit) = read::number(&old, "limit") {
        reduce["limit"] = read::json_number(limit);
    }
    set_missing(options, "reduceOptions", reduce);
    let config = read::object_mut(panel, "fieldConfig");
    if let Some(overrides @ Value::Array(_)) = old.remove("overrides") {
        set_missing(config, "overrides", overrides);
    }
    let outer: Vec<(String, Value)> = ["thresholds", "mappings"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), old.remove(key)?)))
        .collect();
    let defaults = read::object_mut(config, "defaults");
    if let Some(Value::Object(of)) = old.remove("defaults") {
        for (key, value) in of.into_iter().chain(outer) {
            match key.as_str() {
                // How nulls were drawn is now told by the reducer.
                "nullValueMode" => {}
                "title" => set_missing(defaults, "displayName", value),
                _ => set_missing(defaults, &key, value),
            }
        }
    }
}

/// Grafana 6.0.
fn value_options(panel: &mut Object, options: &mut Object, old: &Object) {
    let calc = read::text(old, "stat").and_then(reducer_of).unwrap_or("lastNotNull");
    set_missing(options, "reduceOptions", json!({"calcs": [calc], "values": false, "fields": ""}));
    let defaults = defaults_of(panel);
    if let Some(unit) = read::text(old, "unit") {
        set_missing(defaults, "unit", json!(unit));
    }
    if let Some(decimals) = read::number(old, "decimals") {
        set_missing(defaults, "decimals", read::json_number(decimals));
    }
}

/// The first gauges: bounds, thresholds and mappings as options.
fn first_options(panel: &mut Object, options: &mut Object) {
    for (old, new) in [
        ("minValue", "min"),
        ("maxValue", "max"),
        ("thresholds", "thresholds"),
        ("valueMappings", "mappings"),
    ] {
        if let Some(value) = options.remove(old).filter(|value| !value.is_null()) {
            set_missing(defaults_of(panel), new, value);
        }
    }
}
