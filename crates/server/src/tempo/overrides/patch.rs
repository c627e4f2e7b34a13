//! One JSON document changed by another, as RFC 7396 has it.

use serde_json::{Map, Value};

/// Changes `document`: members of objects are changed each for itself, `null` takes one away, and
/// all else takes the place of what was there.
pub(super) fn merge(document: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *document = patch;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Value::Object(members) = document else { return };
    for (name, value) in patch {
        match value {
            Value::Null => drop(members.remove(&name)),
            value => merge(members.entry(name).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_changes_what_it_names() {
        for (before, patch, after) in [
            (
                json!({"a": 1, "b": {"c": 2}}),
                json!({"b": {"d": 3}}),
                json!({"a": 1, "b": {"c": 2, "d": 3}}),
            ),
            (
                json!({"a": 1, "b": {"c": 2}}),
                json!({"a": null, "b": {"c": null}}),
                json!({"b": {}}),
            ),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (json!({"a": 1}), json!({"a": {"b": {"c": null}}}), json!({"a": {"b": {}}})),
            (json!({"a": {"b": 1}}), json!({"a": 2}), json!({"a": 2})),
            (json!({"a": 1}), json!({}), json!({"a": 1})),
        ] {
            let mut document = before;
            merge(&mut document, patch);
            assert_eq!(document, after);
        }
    }
}
