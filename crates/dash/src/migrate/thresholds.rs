//! Thresholds in their old forms: a list, or steps whose first has a value.

use serde_json::{Value, json};

use crate::model::read::{self, Object};

/// Brings thresholds of the defaults and of overrides up to date.
pub(super) fn migrate(panel: &mut Object) {
    let Some(Value::Object(config)) = panel.get_mut("fieldConfig") else { return };
    if let Some(Value::Object(defaults)) = config.get_mut("defaults")
        && let Some(thresholds) = defaults.get_mut("thresholds")
    {
        *thresholds = modern(thresholds);
    }
    let Some(Value::Array(overrides)) = config.get_mut("overrides") else { return };
    for one in overrides {
        let Some(Value::Array(properties)) = one.get_mut("properties") else { continue };
        for property in properties.iter_mut().filter_map(Value::as_object_mut) {
            if read::text(property, "id") == Some("thresholds")
                && let Some(value) = property.get_mut("value")
            {
                *value = modern(value);
            }
        }
    }
}

fn modern(old: &Value) -> Value {
    let (mode, steps) = match old {
        Value::Array(steps) => ("absolute", steps.as_slice()),
        Value::Object(of) => {
            (read::text(of, "mode").unwrap_or("absolute"), read::list(of, "steps"))
        }
        _ => return old.clone(),
    };
    let mut steps: Vec<(f64, Value)> = steps
        .iter()
        .filter_map(Value::as_object)
        .map(|step| (value_of(step), color(step)))
        .collect();
    // The first gauges wrote the greatest first.
    steps.sort_by(|left, right| left.0.total_cmp(&right.0));
    let step = |(index, (value, color)): (usize, (f64, Value))| {
        // The first step has no lower bound.
        let value = if index == 0 { Value::Null } else { read::json_number(value) };
        json!({"value": value, "color": color})
    };
    let steps: Vec<Value> = steps.into_iter().enumerate().map(step).collect();
    json!({"mode": mode, "steps": steps})
}

fn value_of(step: &Object) -> f64 {
    read::number(step, "value").unwrap_or(f64::NEG_INFINITY)
}

fn color(step: &Object) -> Value {
    match step.get("color") {
        Some(color @ Value::String(_)) => color.clone(),
        _ => json!("green"),
    }
}
