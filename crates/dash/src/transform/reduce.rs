//! `reduce`: a table with a row for each field, or each field reduced to one row.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::group::kept_config;
use super::options::Options;
use super::{Outcome, joined_ref_id};
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Field, Frame, Kind, Value, guess_kind};
use crate::reduce::{Reducer, reduce};

pub(super) fn apply(options: Options<'_>, frames: &[Frame]) -> Outcome {
    options.expect("reducers", "a list", Json::is_array)?;
    let read = |id: &&str| Reducer::from_id(id).ok_or(format!("the reducer \"{id}\" is not known"));
    let reducers: Vec<Reducer> = match options.get("reducers").is_null() {
        true => vec![Reducer::Max],
        false => options.texts("reducers").iter().map(read).collect::<Result<_, String>>()?,
    };
    if reducers.is_empty() {
        return Ok(frames.to_vec());
    }
    let to_fields = options.text("mode") == Some("reduceFields");
    let matcher = match options.get("fields") {
        Json::Object(_) => FieldMatcher::read(options.get("fields"))?,
        _ if to_fields && options.truth("includeTimeField") => FieldMatcher::everything(),
        _ => FieldMatcher::not_time(),
    };
    if to_fields {
        return Ok(reduce_fields(frames, &matcher, &reducers));
    }
    if frames.is_empty() {
        return Ok(Vec::new());
    }
    let labels = options.truth("labelsToFields");
    let mut table = series_to_rows(frames, &matcher, &reducers, labels);
    table.ref_id = Some(joined_ref_id("reduce", frames));
    Ok(vec![table])
}

fn series_to_rows(
    frames: &[Frame],
    matcher: &FieldMatcher,
    reducers: &[Reducer],
    labels_to_fields: bool,
) -> Frame {
    let names = Names::new(frames);
    let labels: BTreeSet<&str> = match labels_to_fields {
        true => {
            let fields = frames.iter().flat_map(|frame| &frame.fields);
            fields.flat_map(|field| field.labels.keys()).map(String::as_str).collect()
        }
        false => BTreeSet::new(),
    };
    let mut meant: Vec<(String, &Field)> = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        for at in matcher.fields(frames, &names, index) {
            let field = &frame.fields[at];
            let seen = || names.of(index, at).to_owned();
            meant.push((if labels_to_fields { field.name.clone() } else { seen() }, field));
        }
    }
    let mut fields = vec![Field::text("Field", meant.iter().map(|(name, _)| Some(name.as_str())))];
    for label in labels {
        let value = |(_, field): &(String, &Field)| field.labels.get(label).cloned();
        fields.push(Field::text(label, meant.iter().map(value)));
    }
    let mut columns = vec![Vec::with_capacity(meant.len()); reducers.len()];
    for (_, field) in &meant {
        for (column, result) in columns.iter_mut().zip(reduce(field, reducers)) {
            column.push(result);
        }
    }
    for (reducer, values) in reducers.iter().zip(columns) {
        let kind = match guess_kind(&values) {
            Kind::Other if values.iter().all(Value::is_null) => reducer.kind(Kind::Number),
            kind => kind,
        };
        let mut field = Field::new(reducer.title(), kind, values);
        field.config = common_config(&meant, *reducer);
        fields.push(field);
    }
    Frame::new(fields)
}

/// The display options that all reduced fields share.
fn common_config(meant: &[(String, &Field)], reducer: Reducer) -> crate::frame::Config {
    let mut configs = meant.iter().map(|(_, field)| kept_config(field, reducer));
    let first = configs.next().unwrap_or_default();
    if configs.all(|config| config == first) { first } else { crate::frame::Config::new() }
}

fn reduce_fields(frames: &[Frame], matcher: &FieldMatcher, reducers: &[Reducer]) -> Vec<Frame> {
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let mut fields = Vec::new();
        for at in matcher.fields(frames, &names, index) {
            let field = &frame.fields[at];
            for (reducer, result) in reducers.iter().zip(reduce(field, reducers)) {
                fields.push(reduced(field, *reducer, result, reducers.len() > 1));
            }
        }
        if !fields.is_empty() {
            made.push(frame.with_fields(fields));
        }
    }
    made
}

fn reduced(field: &Field, reducer: Reducer, result: Value, several: bool) -> Field {
    let mut made = field.with_values(vec![result]);
    made.kind = match reducer {
        Reducer::AllValues | Reducer::UniqueValues => Kind::Other,
        Reducer::First | Reducer::FirstNotNull | Reducer::Last | Reducer::LastNotNull => field.kind,
        Reducer::AllIsNull | Reducer::AllIsZero => Kind::Boolean,
        _ if field.kind == Kind::Time => reducer.kind(Kind::Time),
        _ => Kind::Number,
    };
    if !reducer.keeps_unit() {
        made.config.remove("unit");
    }
    if several {
        made.labels.insert("reducer".to_owned(), reducer.title());
    }
    made
}
