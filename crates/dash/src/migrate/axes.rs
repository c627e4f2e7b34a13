//! Axes of the old graph: unit, bounds, label and scale of the left one for all fields; the right one
//! is used by series overrides, which take its properties from here.

use serde_json::{Value, json};

use super::{defaults_of, push_override};
use crate::model::read::{self, Object};

/// The left axis as defaults, and the time axis.
pub(super) fn migrate(panel: &mut Object, old: &Object) {
    if let Some(left) = axis(old, 0) {
        let properties = properties(left, read::number(old, "decimals"));
        let defaults = defaults_of(panel);
        for (id, value) in properties {
            match id.strip_prefix("custom.") {
                Some(id) => read::object_mut(defaults, "custom").insert(id.to_owned(), value),
                None => defaults.insert(id.to_owned(), value),
            };
        }
    } else if let Some(unit) = read::list(old, "y_formats").first().and_then(Value::as_str) {
        // From before there were `yaxes`.
        defaults_of(panel).insert("unit".to_owned(), json!(unit));
    }
    let time = read::object(old, "xaxis");
    if time.is_some_and(|axis| axis.get("show") == Some(&Value::Bool(false))) {
        let hidden = json!({"id": "custom.axisPlacement", "value": "hidden"});
        push_override(panel, json!({"id": "byType", "options": "time"}), vec![hidden]);
    }
}

/// An axis of the old graph: 0 left, 1 right.
fn axis(old: &Object, index: usize) -> Option<&Object> {
    read::list(old, "yaxes").get(index)?.as_object()
}

/// What a series on the right axis needs.
pub(super) fn right(old: &Object) -> Vec<Value> {
    let mut found = vec![json!({"id": "custom.axisPlacement", "value": "right"})];
    let Some(right) = axis(old, 1) else { return found };
    let of_axis = properties(right, None).into_iter();
    let wanted = of_axis.filter(|(id, _)| *id != "custom.axisPlacement");
    found.extend(wanted.map(|(id, value)| json!({"id": id, "value": value})));
    if right.get("show") == Some(&Value::Bool(false)) {
        found[0] = json!({"id": "custom.axisPlacement", "value": "hidden"});
    }
    found
}

fn properties(axis: &Object, decimals: Option<f64>) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    if let Some(unit) = read::text(axis, "format") {
        found.push(("unit", json!(unit)));
    }
    if let Some(decimals) = read::number(axis, "decimals").or(decimals) {
        found.push(("decimals", read::json_number(decimals)));
    }
    for bound in ["min", "max"] {
        if let Some(number) = read::number(axis, bound) {
            found.push((bound, read::json_number(number)));
        }
    }
    if let Some(label) = read::text(axis, "label") {
        found.push(("custom.axisLabel", json!(label)));
    }
    if let Some(base) = read::number(axis, "logBase").filter(|base| *base > 1.0) {
        let scale = json!({"type": "log", "log": read::json_number(base)});
        found.push(("custom.scaleDistribution", scale));
    }
    if axis.get("show") == Some(&Value::Bool(false)) {
        found.push(("custom.axisPlacement", json!("hidden")));
    }
    found
}
