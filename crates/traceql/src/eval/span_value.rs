//! The one value of a span where there can be only one: in groups, and where something is measured.
//! Of several events or links one is meant.

use super::expression::Expression;
use super::{List, Slots, Structure, Trace};
use crate::ast::{Attribute, BinaryOp, Expr, Pipeline, Spansets, Stage};
use crate::error::QueryError;
use crate::value::Value;

/// The one value of a span that an expression has behind the filters of a pipeline.
#[derive(Debug, Clone)]
pub struct SpanValue(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Expression(Expression),
    Element(Element),
}

/// An attribute of events or links, of which one is meant: the first that meets most of what the
/// query asks of this attribute, and has it.
///
/// ```text
/// { event:name = "retry" } | rate() by (event:name)
///   exception ── meets none
///   retry ────── is meant
/// ```
#[derive(Debug, Clone)]
struct Element {
    list: List,
    slot: usize,
    comparisons: Vec<Expression>,
}

impl SpanValue {
    /// Compiles it.
    pub fn new(of: &Expr, pipeline: &Pipeline, slots: &mut Slots) -> Result<Self, QueryError> {
        let element = match of {
            Expr::Attribute(attribute) => Element::new(attribute, pipeline, slots)?,
            _ => None,
        };
        Ok(Self(match element {
            Some(element) => Kind::Element(element),
            None => Kind::Expression(Expression::new(of, slots)?),
        }))
    }

    /// Whether it needs to know how spans are nested.
    pub fn needs_structure(&self) -> bool {
        matches!(&self.0, Kind::Expression(of) if of.needs_structure())
    }

    /// The value.
    pub fn of<'a>(
        &'a self,
        trace: &'a impl Trace,
        structure: &Structure,
        span: usize,
    ) -> Value<'a> {
        match &self.0 {
            Kind::Expression(of) => of.value_in(trace, structure, span),
            Kind::Element(element) => element.value(trace, span),
        }
    }
}

impl Element {
    /// `None` if the attribute is not of events or links.
    fn new(
        attribute: &Attribute,
        pipeline: &Pipeline,
        slots: &mut Slots,
    ) -> Result<Option<Self>, QueryError> {
        let Some(list) = list_of(attribute) else { return Ok(None) };
        let mut comparisons = Vec::new();
        for (_, comparison) in element_comparisons(pipeline) {
            if comparison.attributes().into_iter().all(|other| other == attribute) {
                comparisons.push(Expression::new(comparison, slots)?);
            }
        }
        Ok(Some(Self { list, slot: slots.slot_of(&attribute.name), comparisons }))
    }

    fn value<'a>(&self, trace: &'a impl Trace, span: usize) -> Value<'a> {
        let mut meant = (Value::Nil, None);
        for nth in 0..trace.elements(span, self.list) {
            let value = trace.element_value(span, self.slot, nth);
            let met = self.comparisons.iter();
            let met = met.filter(|of| of.matches_element(trace, span, self.list, nth)).count();
            let rank = Some((met, value != Value::Nil));
            if rank > meant.1 {
                meant = (value, rank);
            }
        }
        meant.0
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
