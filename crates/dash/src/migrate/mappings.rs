//! Texts for values: the forms of Grafana 6 and 7, and those of the old single value.

use serde_json::{Map, Value, json};

use crate::model::read::{self, Object};

/// Mappings of today; those that are so already stay.
pub(super) fn modern(old: &Value) -> Value {
    let Value::Array(old) = old else { return json!([]) };
    let is_modern = |mapping: &Value| mapping.get("type").is_some_and(Value::is_string);
    if old.iter().all(is_modern) {
        return Value::Array(old.clone());
    }
    let mut made = Made::default();
    for mapping in old {
        match mapping.as_object() {
            Some(_) if is_modern(mapping) => made.others.push(mapping.clone()),
            Some(of) => made.add(of, read::integer(of, "type") == Some(2)),
            None => {}
        }
    }
    Value::Array(made.finish())
}

/// Mappings of the old single value: by value, or by range if that was chosen.
pub(super) fn of_singlestat(old: &Object) -> Vec<Value> {
    let by_range = read::integer(old, "mappingType") == Some(2);
    let key = if by_range { "rangeMaps" } else { "valueMaps" };
    let mut made = Made::default();
    for mapping in read::list(old, key).iter().filter_map(Value::as_object) {
        made.add(mapping, by_range);
    }
    made.finish()
}

/// Old mappings of a table's column.
pub(super) fn of_style(style: &Object) -> Vec<Value> {
    of_singlestat(style)
}

#[derive(Default)]
struct Made {
    values: Map<String, Value>,
    others: Vec<Value>,
    index: usize,
}

impl Made {
    fn add(&mut self, old: &Object, by_range: bool) {
        let text = |key| read::text_of(read::member(old, key)).unwrap_or_default();
        let mut result = json!({"text": text("text"), "index": self.index});
        if let Some(color) = read::text(old, "color") {
            result["color"] = json!(color);
        }
        self.index += 1;
        if by_range {
            let bound = |key| match read::text_of(read::member(old, key)).as_deref() {
                Some("null") | None => Value::Null,
                Some(number) => number.parse().map_or(Value::Null, read::json_number),
            };
            let is_of_null = text("from") == "null" && text("to") == "null";
            self.others.push(match is_of_null {
                true => special(result),
                false => json!({
                    "type": "range",
                    "options": {"from": bound("from"), "to": bound("to"), "result": result}
                }),
            });
            return;
        }
        match text("value").as_str() {
            "null" => self.others.push(special(result)),
            value => {
                self.values.insert(value.to_owned(), result);
            }
        }
    }

    fn finish(mut self) -> Vec<Value> {
        if !self.values.is_empty() {
            self.others.insert(0, json!({"type": "value", "options": self.values}));
        }
        self.others
    }
}

fn special(result: Value) -> Value {
    json!({"type": "special", "options": {"match": "null", "result": result}})
}
