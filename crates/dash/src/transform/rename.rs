//! `rename` and `renameByRegex`: other names for fields, as people see them.

use serde_json::Value as Json;

use super::options::Options;
use super::{Outcome, map_fields};
use crate::fields::{Names, pattern};
use crate::frame::{Field, Frame};

pub(super) fn by_name(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let Some(renames) = options.map("renameByName").filter(|map| !map.is_empty()) else {
        return Ok(frames.to_vec());
    };
    let seen = seen_alone(frames);
    Ok(map_fields(frames, |frame, at, field| {
        let new = renames.get(&seen[frame][at]).or_else(|| renames.get(&field.name));
        match new.and_then(Json::as_str).filter(|name| !name.is_empty()) {
            Some(name) => renamed(field, name),
            None => field.clone(),
        }
    }))
}

pub(super) fn by_pattern(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let text = options.text("regex").unwrap_or("(.*)");
    let template = options.get("renamePattern").as_str().unwrap_or("$1");
    let regex = pattern::compile(text)?;
    let all = pattern::is_global(text);
    let seen = seen_alone(frames);
    Ok(map_fields(frames, |frame, at, field| {
        let seen = &seen[frame][at];
        if !regex.is_match(seen) {
            return field.clone();
        }
        renamed(field, &regex.replace(seen, template, all))
    }))
}

/// The names of all fields, each within its frame alone.
fn seen_alone(frames: &[Frame]) -> Vec<Vec<String>> {
    let names = |frame: &Frame| Names::new(std::slice::from_ref(frame)).into_seen();
    frames.iter().flat_map(names).collect()
}

fn renamed(field: &Field, name: &str) -> Field {
    field.clone().with_config("displayName", name)
}
