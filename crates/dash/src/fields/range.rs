//! The ends of scales: set, or found in the data.
//!
//! Fields share a scale with those of the same unit, so that bars can be compared. In Grafana they
//! share it with all, where a column of nanoseconds leaves no bar to one of minutes.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::frame::{Field, Frame, Kind, Value};

/// The least and the greatest number of some values; a scale has no room for infinity.
pub(super) fn of_values<'a>(values: impl Iterator<Item = &'a Value>) -> Option<(f64, f64)> {
    let numbers = values.filter_map(Value::as_number).filter(|number| number.is_finite());
    numbers.fold(None, |range, number| {
        let (least, greatest) = range.unwrap_or((number, number));
        Some((number.min(least), number.max(greatest)))
    })
}

/// The least and the greatest number of all fields of numbers, for each unit.
pub(super) struct Shared(HashMap<String, (f64, f64)>);

impl Shared {
    pub(super) fn of(frames: &[Frame]) -> Self {
        let mut ranges: HashMap<String, (f64, f64)> = HashMap::new();
        let fields = frames.iter().flat_map(|frame| &frame.fields);
        for field in fields.filter(|field| field.kind == Kind::Number) {
            let Some((least, greatest)) = of_values(field.values.iter()) else { continue };
            let range = ranges.entry(unit(field)).or_insert((least, greatest));
            *range = (range.0.min(least), range.1.max(greatest));
        }
        Self(ranges)
    }
}

fn unit(field: &Field) -> String {
    field.config_text("unit").unwrap_or_default().to_owned()
}

/// The scale of a field by its own values, from 0 to 100 where it has none.
pub(super) fn local(field: &Field) -> (f64, f64) {
    let found = if field.kind == Kind::Number { of_values(field.values.iter()) } else { None };
    within(field, found.unwrap_or((0.0, 100.0)))
}

/// The ends that a field's configuration sets, else those given.
pub(super) fn within(field: &Field, (least, greatest): (f64, f64)) -> (f64, f64) {
    let set = |key: &str| field.config.get(key).and_then(Json::as_f64);
    (set("min").unwrap_or(least), set("max").unwrap_or(greatest))
}

/// The scale of a field: its own where it asks for that, else that of all fields of its unit.
pub(super) fn of_field(field: &Field, shared: &Shared) -> Option<(f64, f64)> {
    let is_set = |key: &str| field.config.get(key).is_some_and(Json::is_number);
    if is_set("min") && is_set("max") {
        return Some(within(field, (0.0, 0.0)));
    }
    if field.kind != Kind::Number {
        return None;
    }
    let own = field.config.get("fieldMinMax").and_then(Json::as_bool).unwrap_or(false);
    let shared = shared.0.get(&unit(field)).copied().unwrap_or((0.0, 0.0));
    if own { Some(local(field)) } else { Some(within(field, shared)) }
}
