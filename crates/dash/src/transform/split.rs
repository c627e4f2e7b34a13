//! `partitionByValues`: a frame for each combination of values of some fields.

use super::Outcome;
use super::group::Groups;
use super::options::Options;
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Field, Frame, Kind};
use crate::limits;

pub(super) fn partition(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let wanted: Vec<String> = options.texts("fields").into_iter().map(str::to_owned).collect();
    if wanted.is_empty() {
        return Ok(frames.to_vec());
    }
    let matcher = FieldMatcher::Names(wanted);
    let names = Names::new(frames);
    let keep = options.truth("keepFields");
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let keys = matcher.fields(frames, &names, index);
        if keys.is_empty() {
            made.push(frame.clone());
            continue;
        }
        let groups = Groups::of(frame, &keys);
        if made.len() + groups.rows.len() > limits::MAX_FRAMES {
            return Err(format!("it would make more than {} frames", limits::MAX_FRAMES));
        }
        for rows in groups.rows {
            let part = frame.with_rows(&rows);
            let values: Vec<(String, String)> = keys
                .iter()
                .map(|&key| (part.fields[key].name.clone(), part.fields[key].at(0).to_text()))
                .collect();
            let kept = part.fields.iter().enumerate();
            let kept = kept.filter(|(field, _)| keep || !keys.contains(field));
            let fields: Vec<Field> = kept.map(|(_, field)| field.clone()).collect();
            made.push(named(options.within("naming"), part.with_fields(fields), &values));
        }
    }
    Ok(made)
}

/// The part with the values that set it apart, as labels of its fields or in its name.
fn named(options: Options<'_>, mut part: Frame, values: &[(String, String)]) -> Frame {
    if options.get("asLabels").as_bool().unwrap_or(true) {
        for field in part.fields.iter_mut().filter(|field| field.kind != Kind::Time) {
            field.labels.extend(values.iter().cloned());
        }
        return part;
    }
    let between = options.text("separator1").unwrap_or("=");
    let after = options.text("separator2").unwrap_or(" ");
    let with_names = options.truth("withNames");
    let value = |(name, value): &(String, String)| match with_names {
        true => format!("{name}{between}{value}"),
        false => value.clone(),
    };
    let label = values.iter().map(value).collect::<Vec<_>>().join(after);
    part.name = match options.truth("append") && !part.name.is_empty() {
        true => format!("{} {label}", part.name),
        false => label,
    };
    part
}
