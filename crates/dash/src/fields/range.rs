//! The ends of scales: set, or found in the data.

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

/// The least and the greatest number of all fields of numbers.
pub(super) fn of_frames(frames: &[Frame]) -> Option<(f64, f64)> {
    let fields = frames.iter().flat_map(|frame| &frame.fields);
    of_values(fields.filter(|field| field.kind == Kind::Number).flat_map(|field| &field.values))
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

/// The scale of a field: its own where it asks for that, else that of all fields.
pub(super) fn of_field(field: &Field, all: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let is_set = |key: &str| field.config.get(key).is_some_and(Json::is_number);
    if is_set("min") && is_set("max") {
        return Some(within(field, (0.0, 0.0)));
    }
    if field.kind != Kind::Number {
        return None;
    }
    let own = field.config.get("fieldMinMax").and_then(Json::as_bool).unwrap_or(false);
    if own { Some(local(field)) } else { Some(within(field, all.unwrap_or((0.0, 0.0)))) }
}
