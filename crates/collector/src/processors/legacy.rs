//! The processor `filter` in the way from before OTTL: `include` and `exclude`.

use super::drafts::Draft;
use super::matching::{Match, Unsaid, attributes, properties};
use crate::model::Signal;
use crate::section::Section;
use crate::traceql::{all_of, check};

pub(super) fn translate(mut part: Section<'_>, signal: Signal) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (key, is_kept) in [("include", true), ("exclude", false)] {
        let Some(section) = part.section(key) else { continue };
        // What could not be said was told.
        drafts.extend(match signal {
            Signal::Metrics => metrics(section, is_kept).unwrap_or_default(),
            Signal::Traces | Signal::Logs => properties(section, signal)
                .map(|condition| vec![draft(condition, is_kept)])
                .unwrap_or_default(),
        });
    }
    part.finish();
    drafts
}

fn draft(condition: String, is_kept: bool) -> Draft {
    if is_kept { Draft::keeping(condition) } else { Draft::dropping(condition) }
}

/// Metrics are in if their names and resources are; they are out if one of the two is.
fn metrics(mut section: Section<'_>, is_kept: bool) -> Result<Vec<Draft>, Unsaid> {
    let how = Match::take(&mut section)?;
    let mut conditions = Vec::new();
    conditions.extend(how.any("name", &section.texts("metric_names")));
    let of_resource = attributes(&mut section, "resource_attributes", "resource", how)?;
    conditions.extend(all_of(&of_resource));
    let (is_whole, path, at, notes) =
        (section.is_empty(), section.path.clone(), section.at, section.notes);
    section.finish();
    if !is_whole {
        return Err(Unsaid);
    }
    if conditions.is_empty() {
        notes.lost(at, format!("{path}: expected something to match"));
    }
    for condition in &conditions {
        if let Err(why) = check(condition) {
            notes.lost(at, format!("{path}: {why}"));
            return Err(Unsaid);
        }
    }
    Ok(conditions.into_iter().map(|condition| draft(condition, is_kept)).collect())
}
