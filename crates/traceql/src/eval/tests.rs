//! Filters and traces for tests.

use super::{List, Trace};
use crate::ast::{Body, Expr, Spansets, Stage};
use crate::parse;
use crate::value::Value;

/// The filter that a query is.
pub(super) fn filter(text: &str) -> Expr {
    let Body::Spans(mut pipeline) = parse(text).unwrap().body else { panic!("{text}") };
    match pipeline.stages.remove(0) {
        Stage::Spansets(Spansets::Filter(expr)) => expr,
        other => panic!("{other:?}"),
    }
}

/// Spans that are only parents of each other.
pub(super) struct Family {
    parents: Vec<Option<usize>>,
    roots: Vec<bool>,
}

impl Family {
    /// Of each span the number of its parent; or "root", or "lost" if its parent is missing.
    pub(super) fn new(parents: &[&str]) -> Family {
        Family {
            parents: parents.iter().map(|parent| parent.parse().ok()).collect(),
            roots: parents.iter().map(|parent| *parent == "root").collect(),
        }
    }
}

impl Trace for Family {
    fn spans(&self) -> usize {
        self.parents.len()
    }
    fn value(&self, _span: usize, _slot: usize) -> Value<'_> {
        Value::Nil
    }
    fn elements(&self, _span: usize, _list: List) -> usize {
        0
    }
    fn element_value(&self, _span: usize, _slot: usize, _nth: usize) -> Value<'_> {
        Value::Nil
    }
    fn parent(&self, span: usize) -> Option<usize> {
        self.parents[span]
    }
    fn is_root(&self, span: usize) -> bool {
        self.roots[span]
    }
}

/// Numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}
