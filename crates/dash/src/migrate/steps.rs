//! Transformations that did more once than they do today.

use serde_json::{Value, json};

use crate::model::read::Object;

/// The first version of the schema in which `labelsToFields` leaves its frames apart.
pub(super) const LABELS_APART_SINCE: i64 = 31;

/// Before that it merged what it made into one table, which is a step of its own now.
pub(super) fn merge_labels(panel: &mut Object) {
    let Some(Value::Array(steps)) = panel.get_mut("transformations") else { return };
    let is_meant = |step: &Value| step.get("id").and_then(Value::as_str) == Some("labelsToFields");
    let with_merge = |step: Value| {
        let merge = is_meant(&step).then(|| json!({"id": "merge", "options": {}}));
        std::iter::once(step).chain(merge)
    };
    *steps = std::mem::take(steps).into_iter().flat_map(with_merge).collect();
}
