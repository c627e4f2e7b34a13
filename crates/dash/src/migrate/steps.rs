//! Transformations that did more once than they do today, or were written otherwise.

use serde_json::{Map, Value, json};

use super::set_missing;
use crate::model::read::{self, Object};

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

/// `timeSeriesTable` had the reducers of its queries in a map of their own.
pub(super) fn name_reducers(panel: &mut Object) {
    let Some(Value::Array(steps)) = panel.get_mut("transformations") else { return };
    for step in steps.iter_mut().filter_map(Value::as_object_mut) {
        if read::text(step, "id") != Some("timeSeriesTable") {
            continue;
        }
        let Some(Value::Object(options)) = step.get_mut("options") else { continue };
        let Some(Value::Object(reducers)) = options.remove("refIdToStat") else { continue };
        for (ref_id, reducer) in reducers {
            let of_query = options.entry(ref_id).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(of_query) = of_query {
                set_missing(of_query, "stat", reducer);
            }
        }
    }
}
