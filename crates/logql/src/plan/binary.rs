//! Operators between series.
//!
//! Series go together by the labels that the operator names. At each step one side may have one
//! series of a kind; the other too, unless the operator groups. Errors say what would help.

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use super::grid::GridSeries;
use super::rolling::Points;
use crate::ast::{Binary, BinaryOp, GroupSide, Matching};
use crate::error::EvalError;
use crate::labels::Labels;
use crate::operate::operate;

/// Series and a number. A comparison without `bool` keeps the values of the series.
pub(super) fn with_number(
    binary: &Binary,
    mut series: Vec<GridSeries>,
    number: f64,
    is_number_left: bool,
) -> Vec<GridSeries> {
    for series in &mut series {
        series.points.retain_mut(|(_, value)| {
            let (left, right) = if is_number_left { (number, *value) } else { (*value, number) };
            apply(binary, left, right, *value).map(|result| *value = result).is_some()
        });
    }
    series.retain(|series| !series.points.is_empty());
    series
}

/// The result of an operator; none if a comparison fails. `kept` is what stays if it holds.
fn apply(binary: &Binary, left: f64, right: f64, kept: f64) -> Option<f64> {
    let result = operate(binary.op, left, right);
    match binary.op {
        BinaryOp::Compare(_) if !binary.returns_bool => (result == 1.0).then_some(kept),
        _ => Some(result),
    }
}

/// Series and series.
pub(super) fn with_series(
    binary: &Binary,
    left: Vec<GridSeries>,
    right: Vec<GridSeries>,
) -> Result<Vec<GridSeries>, EvalError> {
    let matching = &binary.matching;
    match binary.op {
        BinaryOp::And => Ok(filtered(matching, left, &right, true)),
        BinaryOp::Unless => Ok(filtered(matching, left, &right, false)),
        BinaryOp::Or => Ok(united(matching, left, right)),
        _ => matched(binary, left, right),
    }
}

/// The labels by which series go together.
fn signature(matching: &Matching, labels: &Labels) -> Labels {
    let is_named = |name: &str| matching.names.iter().any(|named| named == name);
    labels.filtered(|name, value| !value.is_empty() && is_named(name) == matching.is_on)
}

/// The steps at which a signature is there.
fn steps(matching: &Matching, series: &[GridSeries]) -> HashMap<Labels, HashSet<u32>> {
    let mut steps: HashMap<Labels, HashSet<u32>> = HashMap::new();
    for series in series {
        let known = steps.entry(signature(matching, &series.labels)).or_default();
        known.extend(series.points.iter().map(|(step, _)| *step));
    }
    steps
}

/// `and` and `unless`
fn filtered(
    matching: &Matching,
    left: Vec<GridSeries>,
    right: &[GridSeries],
    wants_match: bool,
) -> Vec<GridSeries> {
    let right = steps(matching, right);
    let mut kept = left;
    for series in &mut kept {
        let known = right.get(&signature(matching, &series.labels));
        series
            .points
            .retain(|(step, _)| known.is_some_and(|known| known.contains(step)) == wants_match);
    }
    kept.retain(|series| !series.points.is_empty());
    kept
}

/// `or`
fn united(matching: &Matching, left: Vec<GridSeries>, right: Vec<GridSeries>) -> Vec<GridSeries> {
    let right = filtered(matching, right, &left, false);
    let mut joined: HashMap<Labels, Points> = HashMap::new();
    for series in left.into_iter().chain(right) {
        joined.entry(series.labels).or_default().extend(series.points);
    }
    let joined = joined.into_iter().map(|(labels, mut points)| {
        points.sort_by_key(|(step, _)| *step);
        GridSeries { labels, points }
    });
    joined.collect()
}

/// Arithmetic and comparisons.
fn matched(
    binary: &Binary,
    left: Vec<GridSeries>,
    right: Vec<GridSeries>,
) -> Result<Vec<GridSeries>, EvalError> {
    let matching = &binary.matching;
    let is_right_many = matching.group == Some(GroupSide::Right);
    let (many, one) = if is_right_many { (right, left) } else { (left, right) };
    let ones = the_one_side(matching, &one, if is_right_many { "left" } else { "right" })?;
    // Which series of the many side took a match at a step, for operators that do not group.
    let mut taken: HashSet<(Labels, u32)> = HashSet::new();
    let mut results: HashMap<Labels, Points> = HashMap::new();
    for series in &many {
        let signature = signature(matching, &series.labels);
        let Some(candidates) = ones.get(&signature) else { continue };
        let mut labels_of: HashMap<usize, Labels> = HashMap::new();
        for (step, value) in &series.points {
            let Some((nth, other)) = candidates.get(step) else { continue };
            if matching.group.is_none() && !taken.insert((signature.clone(), *step)) {
                return Err(EvalError::Matching(format!(
                    "multiple matches for labels {signature}: many-to-one matching must be \
                     explicit (group_left/group_right)"
                )));
            }
            let (left, right) = if is_right_many { (*other, *value) } else { (*value, *other) };
            let Some(result) = apply(binary, left, right, left) else { continue };
            let labels = match labels_of.entry(*nth) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(result_labels(matching, &series.labels, &one[*nth].labels))
                }
            };
            results.entry(labels.clone()).or_default().push((*step, result));
        }
    }
    let mut found = Vec::with_capacity(results.len());
    for (labels, mut points) in results {
        points.sort_by_key(|(step, _)| *step);
        if points.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(EvalError::Matching(format!(
                "multiple matches for labels {labels}: grouping labels must ensure unique matches"
            )));
        }
        found.push(GridSeries { labels, points });
    }
    Ok(found)
}

/// By signature and step: which series, and its value.
type OneSide = HashMap<Labels, HashMap<u32, (usize, f64)>>;

fn the_one_side(
    matching: &Matching,
    series: &[GridSeries],
    side: &str,
) -> Result<OneSide, EvalError> {
    let mut ones = OneSide::new();
    for (nth, series) in series.iter().enumerate() {
        let signature = signature(matching, &series.labels);
        let steps = ones.entry(signature.clone()).or_default();
        for (step, value) in &series.points {
            if steps.insert(*step, (nth, *value)).is_some() {
                return Err(EvalError::Matching(format!(
                    "found duplicate series on the {side} hand-side for labels {signature}: \
                     many-to-many matching not allowed: matching labels must be unique on one side"
                )));
            }
        }
    }
    Ok(ones)
}

/// The labels of a result: those of the many side, and what is taken over from the other.
fn result_labels(matching: &Matching, many: &Labels, one: &Labels) -> Labels {
    let mut labels = match matching.group {
        None => signature(matching, many),
        Some(_) => many.clone(),
    };
    for name in &matching.include {
        labels = labels.with(name, one.get(name).unwrap_or_default());
    }
    labels
}
