//! Tables turned: `groupingToMatrix` and `transpose`.
//!
//! Cells of numbers that nothing was found for are null unless an option says otherwise, where
//! Grafana puts an empty text between the numbers.

use std::collections::HashMap;

use super::options::Options;
use super::{Outcome, check_cells, special, too_many_fields};
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Field, Frame, Key, Kind, Labels, Value};
use crate::limits;

pub(super) fn grouping(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let [frame] = frames else { return Ok(frames.to_vec()) };
    let names = Names::new(frames);
    let find = |option: &str, default: &str| {
        let name = options.text(option).unwrap_or(default);
        let meant = FieldMatcher::Names(vec![name.to_owned()]).fields(frames, &names, 0);
        Some((name.to_owned(), &frame.fields[*meant.first()?]))
    };
    let (Some((column_name, columns)), Some((row_name, rows)), Some((_, values))) =
        (find("columnField", "Time"), find("rowField", "Time"), find("valueField", "Value"))
    else {
        return Ok(frames.to_vec());
    };
    let (column_keys, column_places) = unique(&columns.values);
    let (row_keys, row_places) = unique(&rows.values);
    if column_keys.len() >= limits::MAX_FIELDS {
        return Err(too_many_fields());
    }
    check_cells((column_keys.len() + 1) * row_keys.len())?;
    let empty = match (options.text("emptyValue"), values.kind) {
        (None | Some("empty"), kind) if kind != Kind::String => Value::Null,
        (name, _) => special(name),
    };
    let mut cells = vec![vec![empty; row_keys.len()]; column_keys.len()];
    for (index, value) in values.values.iter().enumerate() {
        if !value.is_null() {
            cells[column_places[index]][row_places[index]] = value.clone();
        }
    }
    let mut corner = rows.with_values(row_keys);
    corner.name = format!("{row_name}\\{column_name}");
    corner.labels.clear();
    corner.config.remove("displayName");
    let mut fields = vec![corner];
    for (key, cells) in column_keys.iter().zip(cells) {
        let mut field = values.with_values(cells);
        field.name = key.to_text();
        field.labels.clear();
        field.config.remove("displayName");
        field.config.remove("displayNameFromDS");
        fields.push(field);
    }
    Ok(vec![Frame::new(fields).with_ref_id(frame.ref_id.clone().unwrap_or_default())])
}

/// The different values in order of appearance, and for each row which of them it has.
fn unique(values: &[Value]) -> (Vec<Value>, Vec<usize>) {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut keys: Vec<Value> = Vec::new();
    let place = |value: &Value| {
        *places.entry(value.key()).or_insert_with(|| {
            keys.push(value.clone());
            keys.len() - 1
        })
    };
    let rows = values.iter().map(place).collect();
    (keys, rows)
}

pub(super) fn transpose(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        if frame.rows() >= limits::MAX_FIELDS {
            return Err(too_many_fields());
        }
        made.push(transposed(options, frame, names.of_frame(index)));
    }
    Ok(made)
}

fn transposed(options: Options<'_>, frame: &Frame, seen: &[String]) -> Frame {
    let Some(first) = frame.fields.first() else { return frame.clone() };
    let headed = matches!(first.kind, Kind::String | Kind::Time | Kind::Enum);
    let sources = &frame.fields[usize::from(headed)..];
    let first_name = options.text("firstFieldName").unwrap_or("Field");
    let rest_name = options.text("restFieldsName").unwrap_or("Value");
    let kind = match sources.first() {
        Some(one) if sources.iter().all(|field| field.kind == one.kind) => one.kind,
        _ => Kind::String,
    };
    let empty = options.text("emptyValue");
    let text = |field: &Field, row: usize| match field.at(row) {
        Value::Null => special(empty),
        Value::Number(index) if field.kind == Kind::Enum => {
            field.enum_texts().get(*index as usize).map_or_else(|| special(empty), Value::from_json)
        }
        value => value.to_text().into(),
    };
    let names = seen[usize::from(headed)..].iter().map(|name| Some(name.as_str()));
    let mut fields = vec![Field::text(first_name, names)];
    for row in 0..frame.rows() {
        let cell = |field: &Field| match kind {
            Kind::String => text(field, row),
            _ => field.at(row).clone(),
        };
        let label = match headed {
            true => (first.name.clone(), text(first, row).to_text()),
            false => ("row".to_owned(), (row + 1).to_string()),
        };
        let mut field = Field::new(rest_name, kind, sources.iter().map(cell).collect());
        field.labels = Labels::from([label]);
        fields.push(field);
    }
    let ref_id = format!("transpose-{}", frame.ref_id.as_deref().unwrap_or("undefined"));
    frame.with_fields(fields).with_ref_id(ref_id)
}
