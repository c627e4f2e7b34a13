//! Configuration out of data: `rowsToFields` and `configFromData`.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::options::Options;
use super::{Outcome, map_fields, too_many_fields};
use crate::fields::{FieldMatcher, Names, Place};
use crate::frame::{Config, Field, Frame, Kind, Value};
use crate::limits;
use crate::reduce::Reducer;

/// What a field of the source is used for.
#[derive(Debug, Clone, PartialEq)]
enum Use {
    Ignore,
    Name,
    Value,
    Label,
    /// Sets that property of the configuration.
    Property(String),
    /// Adds a threshold from that value on.
    Threshold,
    MappedValue,
    MappedText,
    MappedColor,
}

impl Use {
    fn from_key(key: &str) -> Self {
        match key {
            "field.name" => Self::Name,
            "field.value" => Self::Value,
            "field.label" => Self::Label,
            "threshold1" => Self::Threshold,
            "mappings.value" => Self::MappedValue,
            "mappings.text" => Self::MappedText,
            "mappings.color" => Self::MappedColor,
            "__ignore" | "ignore" => Self::Ignore,
            other => Self::Property(other.to_owned()),
        }
    }

    /// The use that a name suggests where nobody chose one.
    fn from_name(name: &str) -> Option<Self> {
        let known = ["max", "min", "unit", "decimals", "color", "displayName"];
        let key = known.iter().find(|key| key.eq_ignore_ascii_case(name));
        key.map(|key| Self::Property((*key).to_owned()))
    }

    /// Sets what a value says.
    fn set(&self, config: &mut Config, value: &Value) {
        let number = || value.to_number().map(Json::from);
        match self {
            Self::Property(key) if ["max", "min", "decimals"].contains(&key.as_str()) => {
                if let Some(number) = number() {
                    config.insert(key.clone(), number);
                }
            }
            Self::Property(key) if key == "color" => {
                let color = json!({"mode": "fixed", "fixedColor": value.to_text()});
                config.insert(key.clone(), color);
            }
            Self::Property(key) => _ = config.insert(key.clone(), value.to_text().into()),
            Self::Threshold => {
                if let Some(number) = number() {
                    add_threshold(config, number);
                }
            }
            _ => {}
        }
    }
}

fn add_threshold(config: &mut Config, value: Json) {
    let base = json!({"mode": "absolute", "steps": [{"value": null, "color": "green"}]});
    let thresholds = config.entry("thresholds").or_insert(base);
    if let Some(steps) = thresholds.get_mut("steps").and_then(Json::as_array_mut) {
        steps.push(json!({"value": value, "color": "red"}));
    }
}

/// The uses that options choose, by the name of the field, with the reducer for each.
fn mappings(options: Options<'_>) -> HashMap<&str, (Use, Option<Reducer>)> {
    let mapping = |mapping| {
        let mapping = Options(mapping);
        let key = mapping.text("handlerKey").unwrap_or("__ignore");
        let reducer = mapping.text("reducerId").and_then(Reducer::from_id);
        Some((mapping.text("fieldName")?, (Use::from_key(key), reducer)))
    };
    options.list("mappings").iter().filter_map(mapping).collect()
}

/// Each row becomes a field: a name, one value, and labels or configuration out of the others.
pub(super) fn rows_to_fields(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let names = Names::new(frames);
    let chosen = mappings(options);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let seen = names.of_frame(index);
        let mut uses: Vec<Option<Use>> = seen
            .iter()
            .zip(&frame.fields)
            .map(|(seen, field)| {
                let found = chosen.get(seen.as_str()).or_else(|| chosen.get(field.name.as_str()));
                found.map(|(used, _)| used.clone()).or_else(|| Use::from_name(&field.name))
            })
            .collect();
        let find = |uses: &[Option<Use>], wanted: Use, kind: Kind| {
            let free = |field: &usize| uses[*field].is_none() && frame.fields[*field].kind == kind;
            let given = uses.iter().position(|used| used.as_ref() == Some(&wanted));
            given.or_else(|| (0..uses.len()).find(free))
        };
        let name = find(&uses, Use::Name, Kind::String);
        let value = find(&uses, Use::Value, Kind::Number);
        let (Some(name), Some(value)) = (name, value) else {
            made.push(frame.clone());
            continue;
        };
        uses[name] = Some(Use::Name);
        uses[value] = Some(Use::Value);
        if frame.rows() > limits::MAX_FIELDS {
            return Err(too_many_fields());
        }
        let fields = (0..frame.rows()).map(|row| row_field(frame, &uses, name, value, row));
        made.push(frame.with_fields(fields.collect()));
    }
    Ok(made)
}

fn row_field(frame: &Frame, uses: &[Option<Use>], name: usize, value: usize, row: usize) -> Field {
    let source = &frame.fields[value];
    let mut field = source.with_values(vec![source.at(row).clone()]);
    field.name = frame.fields[name].at(row).to_text();
    field.config.remove("displayName");
    field.config.remove("displayNameFromDS");
    for (used, other) in uses.iter().zip(&frame.fields) {
        match used {
            // What nobody has a use for tells the fields apart.
            None | Some(Use::Label) if other.kind == Kind::String || used.is_some() => {
                field.labels.insert(other.name.clone(), other.at(row).to_text());
            }
            Some(used) if !other.at(row).is_null() => used.set(&mut field.config, other.at(row)),
            _ => {}
        }
    }
    field
}

/// The frame of one query configures the fields of the others.
pub(super) fn from_data(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let ref_id = options.text("configRefId").unwrap_or("config");
    let is_config = |frame: &&Frame| frame.ref_id.as_deref() == Some(ref_id);
    let Some(source) = frames.iter().find(is_config) else { return Ok(frames.to_vec()) };
    let matcher = match options.get("applyTo") {
        Json::Object(_) => FieldMatcher::read(options.get("applyTo"))?,
        _ => FieldMatcher::Kinds(vec![Kind::Number]),
    };
    let config = read_config(options, source);
    let others: Vec<Frame> = frames.iter().filter(|frame| !is_config(frame)).cloned().collect();
    let names = Names::new(&others);
    Ok(map_fields(&others, |frame, at, field| {
        let mut field = field.clone();
        if matcher.matches(&Place { frames: &others, names: &names, frame, field: at }) {
            field.config.extend(config.clone());
        }
        field
    }))
}

fn read_config(options: Options<'_>, source: &Frame) -> Config {
    let chosen = mappings(options);
    let names = Names::new(std::slice::from_ref(source));
    let mut config = Config::new();
    let mut mapped: [Option<&Field>; 3] = [None; 3];
    for (seen, field) in names.of_frame(0).iter().zip(&source.fields) {
        let found = chosen.get(seen.as_str()).or_else(|| chosen.get(field.name.as_str()));
        let (used, reducer) = match found {
            Some((used, reducer)) => (used.clone(), *reducer),
            None => match Use::from_name(&field.name) {
                Some(used) => (used, None),
                None => continue,
            },
        };
        match used {
            Use::MappedValue => mapped[0] = Some(field),
            Use::MappedText => mapped[1] = Some(field),
            Use::MappedColor => mapped[2] = Some(field),
            used => {
                let value = reducer.unwrap_or(Reducer::LastNotNull).reduce(field);
                if !value.is_null() {
                    used.set(&mut config, &value);
                }
            }
        }
    }
    if let Some(values) = mapped[0] {
        config.insert("mappings".to_owned(), value_mappings(values, mapped[1], mapped[2]));
    }
    config
}

fn value_mappings(values: &Field, texts: Option<&Field>, colors: Option<&Field>) -> Json {
    let mut entries = Map::new();
    for (row, value) in values.values.iter().enumerate() {
        let mut result = Map::new();
        for (key, field) in [("text", texts), ("color", colors)] {
            if let Some(value) = field.map(|field| field.at(row)).filter(|value| !value.is_null()) {
                result.insert(key.to_owned(), value.to_text().into());
            }
        }
        result.insert("index".to_owned(), row.into());
        entries.insert(value.to_text(), result.into());
    }
    json!([{"type": "value", "options": entries}])
}
