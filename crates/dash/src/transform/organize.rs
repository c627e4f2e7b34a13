//! `organize` and `order`: which fields a table shows, in which order, under which names.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::options::Options;
use super::{Outcome, filter, rename};
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Frame, Kind};
use crate::natural::natural;

pub(super) fn organize(options: Options<'_>, frames: &[Frame]) -> Outcome {
    for key in ["excludeByName", "includeByName", "indexByName", "renameByName"] {
        options.expect(key, "an object", Json::is_object)?;
    }
    let include = switched_on(options, "includeByName");
    let exclude = switched_on(options, "excludeByName");
    let kept = filter::keep_fields(frames, include.as_ref(), exclude.as_ref());
    rename::by_name(options, &order(options, &kept)?)
}

/// The names that a map switches on.
fn switched_on(options: Options<'_>, key: &str) -> Option<FieldMatcher> {
    let on = |(name, on): (&String, &Json)| on.as_bool().unwrap_or(false).then(|| name.clone());
    let names: Vec<String> = options.map(key)?.iter().filter_map(on).collect();
    (!names.is_empty()).then_some(FieldMatcher::Names(names))
}

pub(super) fn order(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let names = Names::new(frames);
    let automatic = options.text("orderByMode") == Some("auto");
    let ordered = |(index, frame): (usize, &Frame)| {
        let seen = names.of_frame(index);
        let mut places: Vec<usize> = (0..frame.fields.len()).collect();
        if automatic {
            let first_time = frame.fields.iter().position(|field| field.kind == Kind::Time);
            places.sort_by(|&a, &b| {
                let time = (Some(a) != first_time).cmp(&(Some(b) != first_time));
                time.then_with(|| by_rules(options, frame, seen, a, b))
            });
        } else {
            let index = options.map("indexByName");
            let rank = |field: usize| {
                index.and_then(|index| index.get(&seen[field])).and_then(Json::as_i64)
            };
            places.sort_by_key(|&field| rank(field).unwrap_or(i64::MAX));
        }
        frame.with_fields(places.into_iter().map(|field| frame.fields[field].clone()).collect())
    };
    Ok(frames.iter().enumerate().map(ordered).collect())
}

fn by_rules(options: Options<'_>, frame: &Frame, seen: &[String], a: usize, b: usize) -> Ordering {
    for rule in options.list("orderBy") {
        let rule = Options(rule);
        let label = rule.text("name").unwrap_or_default();
        let key = |field: usize| match rule.text("type") {
            Some("label") => frame.fields[field].labels.get(label).map_or("", String::as_str),
            _ => seen[field].as_str(),
        };
        let order = natural(key(a), key(b));
        let order = if rule.truth("desc") { order.reverse() } else { order };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
