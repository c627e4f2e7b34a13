//! `sortBy` and `limit`: which rows come first, and how many stay.

use super::Outcome;
use super::options::Options;
use crate::fields::Names;
use crate::frame::{Frame, Kind, Value};

/// Rows that stay where the option says nothing.
const DEFAULT_LIMIT: f64 = 10.0;

pub(super) fn sort_by(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let Some(rule) = options.list("sort").first() else { return Ok(frames.to_vec()) };
    let rule = Options(rule);
    let names = Names::new(frames);
    let sorted = |(index, frame): (usize, &Frame)| {
        let wanted = rule.text("field").unwrap_or_default();
        let alone = Names::new(std::slice::from_ref(frame));
        let find = |names: &[String]| names.iter().position(|name| name == wanted);
        let field = rule.number("index").map(|index| index as usize);
        let field =
            field.or_else(|| find(alone.of_frame(0))).or_else(|| find(names.of_frame(index)));
        let field = field.or_else(|| frame.fields.iter().position(|field| field.name == wanted));
        match field {
            Some(field) => rows_by(frame, field, rule.truth("desc")),
            None => frame.clone(),
        }
    };
    Ok(frames.iter().enumerate().map(sorted).collect())
}

/// The rows of a frame, ordered by one of its fields; equal ones keep their order.
pub(super) fn rows_by(frame: &Frame, field: usize, descending: bool) -> Frame {
    let Some(column) = frame.fields.get(field) else { return frame.clone() };
    let text = |value: &Value| match (column.kind, value.as_number()) {
        (Kind::Enum, Some(index)) => {
            column.enum_texts().get(index as usize).map_or(value.clone(), Value::from_json)
        }
        _ => value.clone(),
    };
    let keys: Vec<Value> = column.values.iter().map(text).collect();
    let mut rows: Vec<usize> = (0..frame.rows()).collect();
    let compare = |a: &usize, b: &usize| keys[*a].compare(&keys[*b]);
    match descending {
        true => rows.sort_by(|a, b| compare(b, a)),
        false => rows.sort_by(compare),
    }
    frame.with_rows(&rows)
}

pub(super) fn limit(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let limit = match options.get("limitField") {
        value if value.is_null() => DEFAULT_LIMIT,
        _ => options.number("limitField").ok_or("expected the limit to be a number")?,
    };
    let count = limit.abs() as usize;
    let limited = |frame: &Frame| {
        let rows = frame.rows();
        if rows <= count {
            return frame.clone();
        }
        // A negative limit keeps the last rows.
        let kept: Vec<usize> =
            if limit < 0.0 { (rows - count..rows).collect() } else { (0..count).collect() };
        frame.with_rows(&kept)
    };
    Ok(frames.iter().map(limited).collect())
}
