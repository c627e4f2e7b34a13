//! Thresholds in their old forms: a list, or steps whose first has a value.

use serde_json::{Value, json};

use crate::model::read::{self, Object};

/// Thresholds of today.
pub(super) fn modern(old: &Value) -> Value {
    match old {
        // Of a list, which is the older form, only values and colours mean something today.
        Value::Array(list) => {
            let bare = |step: &Object| -> Object {
                ["value", "color"]
                    .into_iter()
                    .filter_map(|key| Some((key.to_owned(), step.get(key)?.clone())))
                    .collect()
            };
            json!({"mode": "absolute", "steps": steps(list, bare)})
        }
        Value::Object(of) => {
            let mut made = of.clone();
            if read::text(of, "mode").is_none() {
                made.insert("mode".to_owned(), json!("absolute"));
            }
            let steps = steps(read::list(of, "steps"), Object::clone);
            made.insert("steps".to_owned(), Value::Array(steps));
            Value::Object(made)
        }
        _ => old.clone(),
    }
}

/// Steps from the least, the first of which has no lower bound. Other members that they have stay.
fn steps(old: &[Value], kept: impl Fn(&Object) -> Object) -> Vec<Value> {
    let mut steps: Vec<&Object> = old.iter().filter_map(Value::as_object).collect();
    // The first gauges wrote the greatest first.
    steps.sort_by(|left, right| value_of(left).total_cmp(&value_of(right)));
    let step = |(index, step): (usize, &Object)| {
        let mut made = kept(step);
        let value = if index == 0 { Value::Null } else { read::json_number(value_of(step)) };
        made.insert("value".to_owned(), value);
        made.insert("color".to_owned(), color(step));
        Value::Object(made)
    };
    steps.into_iter().enumerate().map(step).collect()
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
