//! `labelsToFields` and `joinByLabels`: labels of series as columns of a table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::options::Options;
use super::{Outcome, check_cells, too_many_fields};
use crate::fields::Names;
use crate::frame::{Field, Frame, Kind, Value};
use crate::limits;

pub(super) fn to_fields(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let kept = options.texts("keepLabels");
    if options.text("mode") == Some("rows") {
        return Ok(to_rows(&kept, frames));
    }
    let value_label = options.text("valueLabel");
    let mut made = Vec::new();
    let mut cells = 0;
    for frame in frames {
        let mut fields = Vec::new();
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for field in &frame.fields {
            let mut plain = field.clone();
            plain.labels.clear();
            if !field.labels.is_empty() {
                // These may hold labels that are columns now.
                plain.config.remove("displayName");
                plain.config.remove("displayNameFromDS");
            }
            for (label, value) in &field.labels {
                if !kept.is_empty() && !kept.contains(&label.as_str()) {
                    continue;
                }
                if value_label == Some(label) {
                    plain.name.clone_from(value);
                    continue;
                }
                let values = found.entry(label).or_default();
                if !values.contains(&value.as_str()) {
                    values.push(value);
                }
            }
            fields.push(plain);
        }
        cells += (fields.len() + found.values().map(Vec::len).sum::<usize>()) * frame.rows();
        check_cells(cells)?;
        let pairs = found.iter().flat_map(|(label, values)| values.iter().map(move |v| (label, v)));
        for (label, value) in pairs {
            if fields.len() >= limits::MAX_FIELDS {
                return Err(too_many_fields());
            }
            let values = vec![Value::from(*value); frame.rows()];
            fields.push(Field::new(*label, Kind::String, values));
        }
        made.push(frame.with_fields(fields));
    }
    Ok(made)
}

/// A frame of names and values for each field with labels.
fn to_rows(kept: &[&str], frames: &[Frame]) -> Vec<Frame> {
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        for (at, field) in frame.fields.iter().enumerate() {
            let pairs: Vec<(&str, Option<&str>)> = match kept.is_empty() {
                true => field.labels.iter().map(|(k, v)| (k.as_str(), Some(v.as_str()))).collect(),
                false => {
                    kept.iter().map(|k| (*k, field.labels.get(*k).map(String::as_str))).collect()
                }
            };
            if field.labels.is_empty() || pairs.is_empty() {
                continue;
            }
            let labels = pairs.iter().map(|(label, _)| Some(*label));
            let values = pairs.iter().map(|(_, value)| *value);
            let fields = vec![Field::text("label", labels), Field::text("value", values)];
            made.push(frame.with_fields(fields).with_name(names.of(index, at)));
        }
    }
    made
}

/// A column for each value of one label, a row for each value of the others.
pub(super) fn join(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let Some(label) = options.text("value") else {
        return Err("expected the label whose values become columns".to_owned());
    };
    let chosen = options.texts("join");
    let fields = || frames.iter().flat_map(|frame| &frame.fields);
    let known: BTreeSet<&str> =
        fields().flat_map(|field| field.labels.keys()).map(String::as_str).collect();
    if !known.contains(label) {
        return Err(format!("no series has the label \"{label}\""));
    }
    let keys: Vec<&str> = match chosen.is_empty() {
        true => known.into_iter().filter(|known| *known != label).collect(),
        false => chosen,
    };
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<(Vec<&str>, HashMap<&str, &Field>)> = Vec::new();
    for field in fields().filter(|field| field.labels.contains_key(label)) {
        let value = field.labels[label].as_str();
        let key: Vec<&str> =
            keys.iter().map(|key| field.labels.get(*key).map_or("", String::as_str)).collect();
        if !columns.contains(&value) {
            columns.push(value);
        }
        match rows.iter_mut().find(|(known, cells)| *known == key && !cells.contains_key(value)) {
            Some((_, cells)) => _ = cells.insert(value, field),
            None => rows.push((key, HashMap::from([(value, field)]))),
        }
        if columns.len() + keys.len() > limits::MAX_FIELDS {
            return Err(too_many_fields());
        }
    }
    let length: usize = rows.iter().map(|(_, cells)| length(cells)).sum();
    check_cells(length.saturating_mul(keys.len() + columns.len()))?;
    Ok(vec![joined(&keys, &columns, &rows)])
}

/// How many rows the series of one key make.
fn length(cells: &HashMap<&str, &Field>) -> usize {
    cells.values().map(|field| field.values.len()).max().unwrap_or(0)
}

fn joined(keys: &[&str], columns: &[&str], rows: &[(Vec<&str>, HashMap<&str, &Field>)]) -> Frame {
    let mut fields = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let values = rows
            .iter()
            .flat_map(|(key, cells)| std::iter::repeat_n(Value::from(key[index]), length(cells)));
        fields.push(Field::new(*key, Kind::String, values.collect()));
    }
    for column in columns {
        let first = rows.iter().find_map(|(_, cells)| cells.get(column));
        let values = rows.iter().flat_map(|(_, cells)| {
            let field = cells.get(column);
            let cell = move |row| field.map_or(Value::Null, |field| field.at(row).clone());
            (0..length(cells)).map(cell)
        });
        let mut field = Field::new(*column, Kind::Number, values.collect());
        if let Some(first) = first {
            field.kind = first.kind;
            field.config.clone_from(&first.config);
            field.config.remove("displayNameFromDS");
        }
        fields.push(field);
    }
    Frame::new(fields)
}
