//! `rename` and `renameByRegex`: other names for fields, as people see them.

use serde_json::Value as Json;

use super::options::Options;
use super::{Outcome, map_fields, too_much_text};
use crate::fields::{Names, pattern};
use crate::frame::{Field, Frame};
use crate::limits;

pub(super) fn by_name(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let Some(renames) = options.map("renameByName").filter(|map| !map.is_empty()) else {
        return Ok(frames.to_vec());
    };
    let seen = seen_alone(frames);
    renamed(frames, |frame, at, field| {
        let new = renames.get(&seen[frame][at]).or_else(|| renames.get(&field.name));
        let name = new.and_then(Json::as_str).filter(|name| !name.is_empty())?;
        Some(name[..name.floor_char_boundary(limits::MAX_NAME_BYTES)].to_owned())
    })
}

pub(super) fn by_pattern(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let text = options.text("regex").unwrap_or("(.*)");
    let template = options.get("renamePattern").as_str().unwrap_or("$1");
    let regex = pattern::compile(text)?;
    let all = pattern::is_global(text);
    let seen = seen_alone(frames);
    renamed(frames, |frame, at, _| {
        let seen = &seen[frame][at];
        regex.is_match(seen).then(|| regex.replace(seen, template, all))
    })
}

/// The names of all fields, each within its frame alone.
fn seen_alone(frames: &[Frame]) -> Vec<Vec<String>> {
    let names = |frame: &Frame| Names::new(std::slice::from_ref(frame)).into_seen();
    frames.iter().flat_map(names).collect()
}

/// All fields, with other names where there are any, as far as there is room for so many.
fn renamed(frames: &[Frame], name: impl Fn(usize, usize, &Field) -> Option<String>) -> Outcome {
    let mut bytes = 0_usize;
    let made = map_fields(frames, |frame, at, field| match name(frame, at, field) {
        Some(name) if bytes <= limits::MAX_TEXT_BYTES => {
            bytes += name.len();
            field.clone().with_config("displayName", name)
        }
        _ => field.clone(),
    });
    if bytes > limits::MAX_TEXT_BYTES {
        return Err(too_much_text());
    }
    Ok(made)
}
