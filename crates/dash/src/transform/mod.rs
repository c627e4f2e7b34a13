//! Transformations: what a panel does with the frames of its queries before it draws them.
//!
//! [`apply`] runs a panel's list, each on what the one before made. Results are Grafana's, with
//! these differences by design:
//! - The unit and the other display options of a field stay with what is made of it by reducers that
//!   keep the unit, where Grafana forgets them (`groupBy`, `reduce` to rows).
//! - Values keep their types: 0, false and the empty text are values, not missing.
//! - What is missing for a group is null and does not fail the panel.
//! - Empty cells are null, where Grafana has both null and undefined.
//! - `sortBy` puts nulls first when ascending; `seriesToRows` takes all values of a frame, not the
//!   first field of them alone; `reduce` keeps results of different kinds in one column.
//! - Options that name a field by what people see also find it by its own name.
//!
//! A transformation that is not known, is not supported or has options that make no sense leaves the
//! frames as they are, and a notice says so. What it makes is bounded by [`crate::limits`].

mod calculate;
mod combine;
mod config;
mod convert;
mod extract;
mod filter;
mod filter_by_value;
mod group;
mod histogram;
mod join;
mod labels;
mod matrix;
mod merge;
mod options;
mod organize;
mod reduce;
mod rename;
mod series;
mod sort;
mod split;
mod text;
mod window;

use chrono_tz::Tz;
use serde_json::Value as Json;

use crate::fields::FrameMatcher;
use crate::frame::{Field, Frame, Notice, Value};
use crate::{effort, limits, size};
use options::Options;

/// What a list of transformations made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transformed {
    /// The frames, each with fields of equal length.
    pub frames: Vec<Frame>,
    /// What could not be done.
    pub notices: Vec<Notice>,
}

/// The outcome of one transformation: frames, or a sentence that says why not.
type Outcome = Result<Vec<Frame>, String>;

/// What transformations need to know of the dashboard.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Puts variables into a text. It is asked for every text of the options that could hold one,
    /// and leaves what it does not know (such as the `$1` of a replacement) as it is.
    pub interpolate: &'a dyn Fn(&str) -> String,
    /// The zone in which times are written and read where an option names none.
    pub zone: Tz,
}

/// Runs a panel's list of transformations.
pub fn apply(
    transformations: &[Json],
    mut frames: Vec<Frame>,
    context: &Context<'_>,
) -> Transformed {
    frames.iter_mut().for_each(Frame::square);
    let mut notices = Vec::new();
    if frames.len() > limits::MAX_FRAMES {
        let most = limits::MAX_FRAMES;
        notices.push(Notice::warning(format!("truncated: only the first {most} series are shown")));
        frames.truncate(most);
    }
    if transformations.len() > limits::MAX_TRANSFORMATIONS {
        let most = limits::MAX_TRANSFORMATIONS;
        notices.push(Notice::warning(format!("only the first {most} transformations are run")));
    }
    for transformation in transformations.iter().take(limits::MAX_TRANSFORMATIONS) {
        if !is_wanted(transformation) {
            continue;
        }
        if effort::is_over() {
            let why = "the last transformations are not run: it takes too long";
            notices.push(Notice::warning(why));
            break;
        }
        match one(transformation, &frames, context) {
            Ok(made) => frames = made,
            Err(reason) => {
                let id = transformation.get("id").and_then(Json::as_str).unwrap_or_default();
                notices.push(Notice::warning(format!("transformation \"{id}\": {reason}")));
            }
        }
    }
    Transformed { frames, notices }
}

/// Whether a transformation is switched on and meant for series rather than annotations.
fn is_wanted(transformation: &Json) -> bool {
    let disabled = transformation.get("disabled").and_then(Json::as_bool).unwrap_or(false);
    let topic = transformation.get("topic").and_then(Json::as_str);
    !disabled && topic != Some("annotations")
}

fn one(transformation: &Json, frames: &[Frame], context: &Context<'_>) -> Outcome {
    let id = transformation.get("id").and_then(Json::as_str).unwrap_or_default();
    let options = transformation.get("options").cloned().unwrap_or_default();
    if !options.is_null() && !options.is_object() {
        return Err("expected the options to be an object".to_owned());
    }
    let options = options::interpolated(&options, context.interpolate)?;
    let zone = context.zone;
    let filter = transformation.get("filter").filter(|filter| has_options(filter));
    let Some(filter) = filter else { return bounded(run(id, Options(&options), frames, zone)?) };
    let matcher = FrameMatcher::read(filter)?;
    let meant = |(index, frame): &(usize, &Frame)| matcher.matches(frame, *index);
    let chosen: Vec<Frame> =
        frames.iter().enumerate().filter(meant).map(|(_, f)| f.clone()).collect();
    let others: Vec<(usize, &Frame)> =
        frames.iter().enumerate().filter(|frame| !meant(frame)).collect();
    let mut made = run(id, Options(&options), &chosen, zone)?;
    // What was not meant stays where the first of it was.
    let place = others.first().map_or(0, |(index, _)| *index).min(made.len());
    made.splice(place..place, others.into_iter().map(|(_, frame)| frame.clone()));
    bounded(made)
}

fn has_options(filter: &Json) -> bool {
    match filter.get("options") {
        None | Some(Json::Null) => false,
        Some(Json::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// A transformation: its options, the frames, and the zone that times are written in.
type Step = fn(Options<'_>, &[Frame], Tz) -> Outcome;

/// All transformations by id.
const STEPS: &[(&str, Step)] = &[
    ("filterByValue", |options, frames, _| filter_by_value::apply(options, frames)),
    ("groupBy", |options, frames, _| group::group_by(options, frames)),
    ("groupToNestedTable", |options, frames, _| group::nested(options, frames)),
    ("convertFieldType", convert::apply),
    ("calculateField", |options, frames, _| calculate::apply(options, frames)),
    ("organize", |options, frames, _| organize::organize(options, frames)),
    ("order", |options, frames, _| organize::order(options, frames)),
    ("rename", |options, frames, _| rename::by_name(options, frames)),
    ("renameByRegex", |options, frames, _| rename::by_pattern(options, frames)),
    ("filterFieldsByName", |options, frames, _| filter::fields_by_name(options, frames)),
    ("filterFields", |options, frames, _| filter::fields(options, frames)),
    ("filterByRefId", |options, frames, _| filter::frames_by_ref_id(options, frames)),
    ("filterFrames", |options, frames, _| filter::frames(options, frames)),
    ("sortBy", |options, frames, _| sort::sort_by(options, frames)),
    ("limit", |options, frames, _| sort::limit(options, frames)),
    ("merge", |_, frames, _| merge::apply(frames)),
    ("joinByField", |options, frames, _| join::by_field(options, frames)),
    ("seriesToColumns", |options, frames, _| join::by_field(options, frames)),
    ("joinByLabels", |options, frames, _| labels::join(options, frames)),
    ("ensureColumns", |_, frames, _| join::ensure_columns(frames)),
    ("reduce", |options, frames, _| reduce::apply(options, frames)),
    ("labelsToFields", |options, frames, _| labels::to_fields(options, frames)),
    ("seriesToRows", |_, frames, _| series::to_rows(frames)),
    ("prepareTimeSeries", |options, frames, _| series::prepare(options, frames)),
    ("timeSeriesTable", |options, frames, _| series::table(options, frames)),
    ("concatenate", |options, frames, _| combine::concatenate(options, frames)),
    ("append", |_, frames, _| merge::apply(frames)),
    ("rowsToFields", |options, frames, _| config::rows_to_fields(options, frames)),
    ("configFromData", |options, frames, _| config::from_data(options, frames)),
    ("extractFields", |options, frames, _| extract::apply(options, frames)),
    ("groupingToMatrix", |options, frames, _| matrix::grouping(options, frames)),
    ("transpose", |options, frames, _| matrix::transpose(options, frames)),
    ("formatTime", text::format_time),
    ("formatString", |options, frames, _| text::format_string(options, frames)),
    ("partitionByValues", |options, frames, _| split::partition(options, frames)),
    ("histogram", |options, frames, _| histogram::histogram(options, frames)),
    ("heatmap", |options, frames, _| histogram::heatmap(options, frames)),
    ("noop", |_, frames, _| Ok(frames.to_vec())),
];

fn step(id: &str) -> Option<Step> {
    STEPS.iter().find(|(known, _)| *known == id).map(|(_, step)| *step)
}

/// Whether there is a transformation of that id.
pub fn is_supported(id: &str) -> bool {
    step(id).is_some()
}

fn run(id: &str, options: Options<'_>, frames: &[Frame], zone: Tz) -> Outcome {
    match (step(id), id) {
        (Some(step), _) => step(options, frames, zone),
        (None, "fieldLookup" | "spatial") => {
            Err("it needs maps, which are not supported".to_owned())
        }
        (None, "regression" | "smoothing" | "convertFrameType") => {
            Err("it is not supported".to_owned())
        }
        (None, "") => Err("it has no id".to_owned()),
        (None, _) => Err("it is not known, so the data is shown without it".to_owned()),
    }
}

/// Refuses what is too large to be kept, and makes all fields of a frame equally long.
fn bounded(mut frames: Vec<Frame>) -> Outcome {
    if frames.len() > limits::MAX_FRAMES {
        return Err(format!("it would make more than {} frames", limits::MAX_FRAMES));
    }
    if frames.iter().any(|frame| frame.fields.len() > limits::MAX_FIELDS) {
        return Err(too_many_fields());
    }
    frames.iter_mut().for_each(Frame::square);
    // A field without rows takes room too.
    check_cells(frames.iter().map(|frame| frame.rows().max(1) * frame.fields.len()).sum())?;
    if size::text_bytes(&frames) > limits::MAX_TEXT_BYTES {
        return Err(too_much_text());
    }
    Ok(frames)
}

/// Refuses to make that many cells. Called before what multiplies is made.
fn check_cells(cells: usize) -> Result<(), String> {
    if cells > limits::MAX_CELLS {
        return Err(format!("it would make more than {} cells", limits::MAX_CELLS));
    }
    Ok(())
}

fn too_much_text() -> String {
    format!("it would make more than {} bytes of text", limits::MAX_TEXT_BYTES)
}

fn too_many_fields() -> String {
    format!("it would make more than {} fields", limits::MAX_FIELDS)
}

/// Maps every field of every frame.
fn map_fields(frames: &[Frame], mut map: impl FnMut(usize, usize, &Field) -> Field) -> Vec<Frame> {
    let frame = |(index, frame): (usize, &Frame)| {
        let fields = frame.fields.iter().enumerate();
        frame.with_fields(fields.map(|(at, field)| map(index, at, field)).collect())
    };
    frames.iter().enumerate().map(frame).collect()
}

/// The query ids of frames that became one, as Grafana joins them: `merge-A-B`.
fn joined_ref_id(id: &str, frames: &[Frame]) -> String {
    let ids: Vec<&str> =
        frames.iter().map(|frame| frame.ref_id.as_deref().unwrap_or("undefined")).collect();
    format!("{id}-{}", ids.join("-"))
}

/// The value for cells that nothing was found for, by the name that options give it.
fn special(name: Option<&str>) -> Value {
    match name {
        Some("true") => true.into(),
        Some("false") => false.into(),
        Some("null") => Value::Null,
        Some("zero") => Value::Number(0.0),
        _ => "".into(),
    }
}

#[cfg(test)]
mod tests;
