//! Fields and frames that stay: `filterFieldsByName`, `filterFields`, `filterByRefId`,
//! `filterFrames`.

use serde_json::{Value as Json, json};

use super::Outcome;
use super::options::Options;
use crate::fields::{FieldMatcher, FrameMatcher, Names, Place};
use crate::frame::Frame;

pub(super) fn fields_by_name(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let by_variable = options.truth("byVariable");
    let include = names_or_pattern(options.within("include"), by_variable)?;
    let exclude = names_or_pattern(options.within("exclude"), by_variable)?;
    Ok(keep_fields(frames, include.as_ref(), exclude.as_ref()))
}

pub(super) fn fields(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let matcher = |key: &str| match options.get(key) {
        Json::Null => Ok(None),
        matcher => FieldMatcher::read(matcher).map(Some),
    };
    Ok(keep_fields(frames, matcher("include")?.as_ref(), matcher("exclude")?.as_ref()))
}

/// The fields that are included and not excluded; frames without any are left out.
pub(super) fn keep_fields(
    frames: &[Frame],
    include: Option<&FieldMatcher>,
    exclude: Option<&FieldMatcher>,
) -> Vec<Frame> {
    if include.is_none() && exclude.is_none() {
        return frames.to_vec();
    }
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let kept = |field: &usize| {
            let place = Place { frames, names: &names, frame: index, field: *field };
            include.is_none_or(|matcher| matcher.matches(&place))
                && exclude.is_none_or(|matcher| !matcher.matches(&place))
        };
        let fields = (0..frame.fields.len()).filter(kept).map(|field| frame.fields[field].clone());
        let fields: Vec<_> = fields.collect();
        if !fields.is_empty() {
            made.push(frame.with_fields(fields));
        }
    }
    made
}

/// Names, a pattern, both, or the names that a variable holds as `{a,b}` or `a,b`.
fn names_or_pattern(
    options: Options<'_>,
    by_variable: bool,
) -> Result<Option<FieldMatcher>, String> {
    if let Some(variable) = options.text("variable").filter(|_| by_variable) {
        let inner = variable.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let names = inner.unwrap_or(variable).split(',').map(str::to_owned).collect();
        return Ok(Some(FieldMatcher::Names(names)));
    }
    let (names, pattern) = (options.texts("names"), options.text("pattern"));
    Ok(match (names.is_empty(), pattern) {
        (true, None) => None,
        (false, None) => Some(FieldMatcher::Names(names.into_iter().map(str::to_owned).collect())),
        _ => Some(FieldMatcher::read(&json!({"id": "byRegexpOrNames", "options": options.0}))?),
    })
}

pub(super) fn frames_by_ref_id(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let matcher = |key: &str| options.text(key).map(FrameMatcher::by_ref_id).transpose();
    Ok(keep_frames(frames, matcher("include")?.as_ref(), matcher("exclude")?.as_ref()))
}

pub(super) fn frames(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let matcher = |key: &str| match options.get(key) {
        Json::Null => Ok(None),
        matcher => FrameMatcher::read(matcher).map(Some),
    };
    Ok(keep_frames(frames, matcher("include")?.as_ref(), matcher("exclude")?.as_ref()))
}

fn keep_frames(
    frames: &[Frame],
    include: Option<&FrameMatcher>,
    exclude: Option<&FrameMatcher>,
) -> Vec<Frame> {
    let kept = |(index, frame): &(usize, &Frame)| {
        include.is_none_or(|matcher| matcher.matches(frame, *index))
            && exclude.is_none_or(|matcher| !matcher.matches(frame, *index))
    };
    frames.iter().enumerate().filter(kept).map(|(_, frame)| frame.clone()).collect()
}
