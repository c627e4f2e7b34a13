//! The stages of a pipeline, compiled, and how spansets go through them.

use super::evaluator::{Scratch, Spanset};
use super::expression::Expression;
use super::groups::Groups;
use super::scalar::{Shown, Test};
use super::{Slots, Trace};
use crate::ast::{Mode, Pipeline, Relation, SpansetOp, Spansets, Stage};
use crate::error::QueryError;
use crate::value::OwnedValue;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Spansets(Sets),
    Scalars(Test),
    By { key: String, of: Expression },
    Coalesce,
}

/// Which spans.
#[derive(Debug, Clone)]
pub(super) enum Sets {
    Filter(Expression),
    Pipeline(Vec<Step>),
    And(Box<[Sets; 2]>),
    Or(Box<[Sets; 2]>),
    Structural { relation: Relation, mode: Mode, sides: Box<[Sets; 2]> },
}

/// Spans to choose from, in ascending order.
#[derive(Clone, Copy)]
pub(super) enum Spans<'a> {
    /// So many: all of the trace.
    All(usize),
    These(&'a [u32]),
}

impl Spans<'_> {
    /// Those of which something holds.
    fn filter_into(self, out: &mut Vec<u32>, holds: impl Fn(usize) -> bool) {
        match self {
            Spans::All(count) => {
                out.extend((0..count as u32).filter(|span| holds(*span as usize)));
            }
            Spans::These(spans) => {
                out.extend(spans.iter().copied().filter(|span| holds(*span as usize)));
            }
        }
    }
}

pub(super) fn compile(pipeline: &Pipeline, slots: &mut Slots) -> Result<Vec<Step>, QueryError> {
    let mut steps = Vec::with_capacity(pipeline.stages.len());
    for stage in &pipeline.stages {
        steps.push(match stage {
            Stage::Spansets(spansets) => Step::Spansets(Sets::new(spansets, slots)?),
            Stage::Scalars(filter) => Step::Scalars(Test::new(filter, slots)?),
            Stage::By(of) => Step::By { key: format!("by({of})"), of: Expression::new(of, slots)? },
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
                    let value = of.value_in(trace, &scratch.structure, *span as usize);
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
            let is_structural = sets.any(&|sets| matches!(sets, Sets::Structural { .. }));
            let found =
                if is_structural && found.len() > 1 { coalesced(found, scratch) } else { found };
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

impl Sets {
    fn new(spansets: &Spansets, slots: &mut Slots) -> Result<Sets, QueryError> {
        Ok(match spansets {
            Spansets::Filter(expr) => Sets::Filter(Expression::new(expr, slots)?),
            Spansets::Pipeline(pipeline) => Sets::Pipeline(compile(pipeline, slots)?),
            Spansets::Binary { op, left, right } => {
                let sides = Box::new([Sets::new(left, slots)?, Sets::new(right, slots)?]);
                match *op {
                    SpansetOp::And => Sets::And(sides),
                    SpansetOp::Or => Sets::Or(sides),
                    SpansetOp::Structural { relation, mode } => {
                        Sets::Structural { relation, mode, sides }
                    }
                }
            }
        })
    }

    /// Whether something is true of it or of what it is made of.
    fn any(&self, wanted: &impl Fn(&Sets) -> bool) -> bool {
        let of_sides = |sides: &[Sets; 2]| sides.iter().any(|side| side.any(wanted));
        wanted(self)
            || match self {
                Sets::Filter(_) | Sets::Pipeline(_) => false,
                Sets::And(sides) | Sets::Or(sides) => of_sides(sides),
                Sets::Structural { sides, .. } => of_sides(sides),
            }
    }

    /// What it makes of a spanset.
    fn choose(
        &self,
        trace: &impl Trace,
        input: Spans<'_>,
        attributes: &[(String, OwnedValue)],
        scratch: &mut Scratch,
    ) -> Vec<Spanset> {
        if let Sets::Pipeline(steps) = self {
            // Alone, it may give several, with what it has found out about them.
            let mut found = run(steps, trace, input, scratch);
            for set in &mut found {
                let own = std::mem::replace(&mut set.attributes, attributes.to_vec());
                own.into_iter().for_each(|(key, value)| attach(&mut set.attributes, &key, value));
            }
            return found;
        }
        let mut spans = scratch.take();
        self.spans(trace, input, scratch, &mut spans);
        if spans.is_empty() {
            scratch.give(spans);
            return Vec::new();
        }
        vec![Spanset { spans, attributes: attributes.to_vec() }]
    }

    /// The spans, in ascending order.
    fn spans<T: Trace>(
        &self,
        trace: &T,
        input: Spans<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) {
        match self {
            Sets::Filter(of) => {
                let structure = &scratch.structure;
                input.filter_into(out, |span| of.matches_in(trace, structure, span));
            }
            Sets::Pipeline(steps) => {
                for set in run(steps, trace, input, scratch) {
                    out.extend_from_slice(&set.spans);
                    scratch.give(set.spans);
                }
                out.sort_unstable();
                out.dedup();
            }
            Sets::And(sides) => both(sides, trace, input, scratch, [false, true], |l, r, _| {
                if !l.is_empty() && !r.is_empty() {
                    union(l, r, out);
                }
            }),
            Sets::Or(sides) => {
                both(sides, trace, input, scratch, [false, false], |l, r, _| union(l, r, out));
            }
            Sets::Structural { relation, mode, sides } => {
                let needs_left = *mode != Mode::Unrelated;
                both(sides, trace, input, scratch, [!needs_left, needs_left], |l, r, scratch| {
                    scratch.family.combine(*relation, *mode, l, r, out);
                });
            }
        }
    }
}

/// Both sides of an operator. `[right_first, needs_first]`: whether the right side is evaluated
/// first, and whether nothing is left to do if the first side is empty.
fn both(
    sides: &[Sets; 2],
    trace: &impl Trace,
    input: Spans<'_>,
    scratch: &mut Scratch,
    [right_first, needs_first]: [bool; 2],
    combine: impl FnOnce(&[u32], &[u32], &mut Scratch),
) {
    let needs_first = needs_first || right_first;
    let (mut first, mut second) = (scratch.take(), scratch.take());
    sides[usize::from(right_first)].spans(trace, input, scratch, &mut first);
    if !(needs_first && first.is_empty()) {
        sides[usize::from(!right_first)].spans(trace, input, scratch, &mut second);
        match right_first {
            false => combine(&first, &second, scratch),
            true => combine(&second, &first, scratch),
        }
    }
    scratch.give(first);
    scratch.give(second);
}

/// All of two lists in ascending order.
fn union(left: &[u32], right: &[u32], out: &mut Vec<u32>) {
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    out.sort_unstable();
    out.dedup();
}
