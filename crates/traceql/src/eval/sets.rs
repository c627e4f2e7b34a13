//! Which spans of a trace: filters, pipelines and operators between them, compiled.

use super::evaluator::{Scratch, Spanset};
use super::expression::Expression;
use super::steps::{Step, compile, run};
use super::{Slots, Trace};
use crate::ast::{Mode, Relation, SpansetOp, Spansets};
use crate::error::QueryError;
use crate::value::OwnedValue;

/// Which spans.
#[derive(Debug, Clone)]
pub(super) enum Sets {
    Filter(Expression),
    /// Of an operator.
    Pipeline(Vec<Step>),
    And(Box<[Sets; 2]>),
    Or(Box<[Sets; 2]>),
    Structural {
        relation: Relation,
        mode: Mode,
        sides: Box<[Sets; 2]>,
    },
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
    pub(super) fn filter_into(self, out: &mut Vec<u32>, holds: impl Fn(usize) -> bool) {
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

impl Sets {
    pub(super) fn new(spansets: &Spansets, slots: &mut Slots) -> Result<Sets, QueryError> {
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
    pub(super) fn any(&self, wanted: &impl Fn(&Sets) -> bool) -> bool {
        let of_sides = |sides: &[Sets; 2]| sides.iter().any(|side| side.any(wanted));
        wanted(self)
            || match self {
                Sets::Filter(_) | Sets::Pipeline(_) => false,
                Sets::And(sides) | Sets::Or(sides) => of_sides(sides),
                Sets::Structural { sides, .. } => of_sides(sides),
            }
    }

    /// Whether it asks for relatives anywhere, but for numbers of the whole trace.
    pub(super) fn is_structural(&self) -> bool {
        self.any(&|sets| match sets {
            Sets::Structural { .. } => true,
            Sets::Pipeline(steps) => steps
                .iter()
                .any(|step| matches!(step, Step::Spansets(sets) if sets.is_structural())),
            _ => false,
        })
    }

    /// What it makes of a spanset.
    pub(super) fn choose(
        &self,
        trace: &impl Trace,
        input: Spans<'_>,
        attributes: &[(String, OwnedValue)],
        scratch: &mut Scratch,
    ) -> Vec<Spanset> {
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
