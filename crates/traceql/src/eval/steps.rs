//! The stages of a pipeline, compiled, and how spansets go through them.

use super::evaluator::{Scratch, Spanset};
use super::groups::Groups;
use super::scalar::{Shown, Test};
use super::sets::{Sets, Spans};
use super::{Slots, SpanValue, Trace};
use crate::ast::{Pipeline, Spansets, Stage};
use crate::error::QueryError;
use crate::value::OwnedValue;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Spansets(Sets),
    Scalars(Test),
    By { key: String, of: SpanValue },
    Coalesce,
}

pub(super) fn compile(pipeline: &Pipeline, slots: &mut Slots) -> Result<Vec<Step>, QueryError> {
    let mut steps = Vec::with_capacity(pipeline.stages.len());
    for stage in &pipeline.stages {
        steps.push(match stage {
            // Alone, a pipeline in parentheses is its stages: what they see is the same.
            Stage::Spansets(Spansets::Pipeline(inner)) => {
                steps.extend(compile(inner, slots)?);
                continue;
            }
            Stage::Spansets(spansets) => Step::Spansets(Sets::new(spansets, slots)?),
            Stage::Scalars(filter) => Step::Scalars(Test::new(filter, slots)?),
            Stage::By(of) => {
                Step::By { key: format!("by({of})"), of: SpanValue::new(of, pipeline, slots)? }
            }
            Stage::Coalesce => Step::Coalesce,
            // It is about what answers show.
            Stage::Select(_) => continue,
        });
    }
    Ok(steps)
}

impl Step {
    pub(super) fn needs_structure(&self) -> bool {
        match self {
            Step::Spansets(sets) => sets.any(&|sets| match sets {
                Sets::Filter(of) => of.needs_structure(),
                Sets::Pipeline(steps) => steps.iter().any(Step::needs_structure),
                _ => false,
            }),
            Step::Scalars(test) => test.needs_structure(),
            Step::By { of, .. } => of.needs_structure(),
            Step::Coalesce => false,
        }
    }

    pub(super) fn needs_family(&self) -> bool {
        match self {
            Step::Spansets(sets) => sets.any(&|sets| match sets {
                Sets::Structural { .. } => true,
                Sets::Pipeline(steps) => steps.iter().any(Step::needs_family),
                _ => false,
            }),
            Step::Scalars(test) => test.needs_family(),
            Step::By { .. } | Step::Coalesce => false,
        }
    }
}

/// Runs spans of a trace through all steps.
pub(super) fn run(
    steps: &[Step],
    trace: &impl Trace,
    input: Spans<'_>,
    scratch: &mut Scratch,
) -> Vec<Spanset> {
    let (mut found, rest) = match steps {
        // Most traces end here, so that not even a list of their spans is made.
        [Step::Spansets(sets), rest @ ..] => (sets.choose(trace, input, &[], scratch), rest),
        _ => {
            let mut spans = scratch.take();
            input.filter_into(&mut spans, |_| true);
            (one_set(spans, Vec::new(), scratch), steps)
        }
    };
    for step in rest {
        if found.is_empty() {
            break;
        }
        found = apply(step, trace, found, scratch);
    }
    found
}

fn apply(
    step: &Step,
    trace: &impl Trace,
    found: Vec<Spanset>,
    scratch: &mut Scratch,
) -> Vec<Spanset> {
    match step {
        Step::Coalesce => coalesced(found, scratch),
        Step::Scalars(test) => tested(test, trace, found, scratch),
        Step::By { key, of } => {
            let group = |set: Spanset| {
                let mut groups = Groups::default();
                for span in &set.spans {
                    let value = of.of(trace, &scratch.structure, *span as usize);
                    groups.add(value, *span);
                }
                groups.groups.into_iter().map(move |(value, spans)| {
                    let mut attributes = set.attributes.clone();
                    attach(&mut attributes, key, value);
                    Spanset { spans, attributes }
                })
            };
            found.into_iter().flat_map(group).collect()
        }
        Step::Spansets(sets) => {
            // Relatives may be in another spanset.
            let joins = found.len() > 1 && sets.is_structural();
            let found = if joins { coalesced(found, scratch) } else { found };
            let mut kept = Vec::new();
            for set in found {
                let spans = Spans::These(&set.spans);
                kept.extend(sets.choose(trace, spans, &set.attributes, scratch));
                scratch.give(set.spans);
            }
            kept
        }
    }
}

fn tested(
    test: &Test,
    trace: &impl Trace,
    mut found: Vec<Spanset>,
    scratch: &mut Scratch,
) -> Vec<Spanset> {
    let of_trace = test.of_trace(trace, scratch);
    found.retain_mut(|set| {
        let mut shown = Shown::new();
        let structure = &scratch.structure;
        let holds = test.holds(trace, structure, &set.spans, &of_trace, &mut shown);
        if holds {
            for (key, value) in shown {
                attach(&mut set.attributes, key, value.into());
            }
        }
        holds
    });
    found
}

/// Adds an attribute of a spanset; a later one of the same key is the one that counts.
fn attach(attributes: &mut Vec<(String, OwnedValue)>, key: &str, value: OwnedValue) {
    match attributes.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = value,
        None => attributes.push((key.to_owned(), value)),
    }
}

fn coalesced(found: Vec<Spanset>, scratch: &mut Scratch) -> Vec<Spanset> {
    let mut spans = scratch.take();
    for set in found {
        spans.extend_from_slice(&set.spans);
        scratch.give(set.spans);
    }
    spans.sort_unstable();
    spans.dedup();
    one_set(spans, Vec::new(), scratch)
}

/// One spanset, or none if it has no spans.
fn one_set(
    spans: Vec<u32>,
    attributes: Vec<(String, OwnedValue)>,
    scratch: &mut Scratch,
) -> Vec<Spanset> {
    if spans.is_empty() {
        scratch.give(spans);
        return Vec::new();
    }
    vec![Spanset { spans, attributes }]
}
