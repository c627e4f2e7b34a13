//! Which event or link of a span stands for it where it can be only one: in groups, and where
//! something is measured.

use super::expression::{At, Expression};
use super::{List, Slots, Structure, Trace};
use crate::ast::{Attribute, BinaryOp, Expr, Pipeline, Spansets, Stage};
use crate::error::QueryError;
use crate::value::Value;

/// An attribute of events or links, of which one is meant: the first that meets most of what the
/// query asks of this attribute, and has it.
///
/// ```text
/// { event:name = "retry" } | rate() by (event:name)
///   exception ── meets none
///   retry ────── is meant
/// ```
#[derive(Debug, Clone)]
pub struct Meant {
    list: List,
    slot: usize,
    comparisons: Vec<Expression>,
}

impl Meant {
    /// For an attribute behind the filters of a pipeline; `None` if it is not of events or links.
    pub fn of(
        attribute: &Attribute,
        pipeline: &Pipeline,
        slots: &mut Slots,
    ) -> Result<Option<Meant>, QueryError> {
        let Some(list) = list_of(attribute) else { return Ok(None) };
        let is_about_it = |expr: &&Expr| expr.attributes().iter().all(|other| *other == attribute);
        let mut comparisons = Vec::new();
        for (_, comparison) in element_comparisons(pipeline) {
            if is_about_it(&comparison) {
                comparisons.push(Expression::new(comparison, slots)?);
            }
        }
        Ok(Some(Meant { list, slot: slots.slot_of(&attribute.name), comparisons }))
    }

    /// The value of the one that is meant.
    pub fn value<'a, T: Trace>(&self, trace: &'a T, span: usize) -> Value<'a> {
        let mut meant = (Value::Nil, None);
        for nth in 0..trace.elements(span, self.list) {
            let value = trace.element_value(span, self.slot, nth);
            let rank = Some((self.met(trace, span, nth), value != Value::Nil));
            if rank > meant.1 {
                meant = (value, rank);
            }
        }
        meant.0
    }

    /// How many comparisons one meets.
    fn met<T: Trace>(&self, trace: &T, span: usize, nth: usize) -> usize {
        let structure = Structure::default();
        let at = At::new(trace, &structure, span);
        let at = match self.list {
            List::Events => At { event: Some(nth), ..at },
            List::Links => At { link: Some(nth), ..at },
        };
        self.comparisons.iter().filter(|comparison| comparison.holds_at(&at)).count()
    }
}

/// The comparisons in the filters of a pipeline that are about events alone, or about links alone.
/// What is negated does not tell which one is meant.
pub fn element_comparisons(pipeline: &Pipeline) -> Vec<(List, &Expr)> {
    let mut found = Vec::new();
    in_pipeline(pipeline, &mut found);
    found
}

fn in_pipeline<'q>(pipeline: &'q Pipeline, found: &mut Vec<(List, &'q Expr)>) {
    for stage in &pipeline.stages {
        if let Stage::Spansets(spansets) = stage {
            in_spansets(spansets, found);
        }
    }
}

fn in_spansets<'q>(spansets: &'q Spansets, found: &mut Vec<(List, &'q Expr)>) {
    match spansets {
        Spansets::Filter(condition) => in_condition(condition, found),
        Spansets::Pipeline(pipeline) => in_pipeline(pipeline, found),
        Spansets::Binary { left, right, .. } => {
            in_spansets(left, found);
            in_spansets(right, found);
        }
    }
}

fn in_condition<'q>(condition: &'q Expr, found: &mut Vec<(List, &'q Expr)>) {
    match condition {
        Expr::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            in_condition(left, found);
            in_condition(right, found);
        }
        Expr::Binary { .. } => {
            let mut lists = condition.attributes().into_iter().map(list_of);
            if let Some(Some(list)) = lists.next()
                && lists.all(|other| other == Some(list))
            {
                found.push((list, condition));
            }
        }
        _ => {}
    }
}

fn list_of(attribute: &Attribute) -> Option<List> {
    if attribute.of_parent { None } else { attribute.name.list() }
}
