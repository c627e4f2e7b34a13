//! Expressions over one span, compiled.

use std::collections::HashSet;

use regex::Regex;

use super::conditions::Conditions;
use super::reads::Reads;
use super::structure::Structure;
use super::{List, Slots, Trace, arithmetic, compare, compile};
use crate::ast::{BinaryOp, Expr, Intrinsic};
use crate::error::QueryError;
use crate::value::{OwnedValue, Value};

/// An expression that is ready to be evaluated on spans.
#[derive(Debug, Clone)]
pub struct Expression {
    pub(super) root: Node,
    pub(super) reads: Reads,
    pub(super) conditions: Conditions,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Constant(OwnedValue),
    Read(Source),
    Not(Box<Node>),
    Negate(Box<Node>),
    /// `&&` of several.
    All(Vec<Node>),
    /// `||` of several.
    Any(Vec<Node>),
    Compare {
        op: BinaryOp,
        left: Box<Node>,
        right: Box<Node>,
    },
    Match {
        of: Box<Node>,
        regex: Regex,
        is_negated: bool,
    },
    /// `of = nil`, or `of != nil`.
    Nil {
        of: Box<Node>,
        is_negated: bool,
        reads: Reads,
    },
    /// `of = "a" || of = "b" …`, or `of != "a" && of != "b" …`.
    In {
        of: Source,
        texts: Texts,
        is_negated: bool,
    },
    Compute {
        op: BinaryOp,
        left: Box<Node>,
        right: Box<Node>,
    },
}

/// Where a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Slot {
        slot: usize,
        of_parent: bool,
    },
    Structure {
        which: Intrinsic,
        of_parent: bool,
    },
    Element {
        list: List,
        slot: usize,
    },
    /// Whether the span is a root.
    IsRoot,
}

/// Texts to compare with.
#[derive(Debug, Clone)]
pub(super) enum Texts {
    Few(Vec<String>),
    Many(HashSet<String>),
}

impl Texts {
    fn contains(&self, text: &str) -> bool {
        match self {
            Texts::Few(texts) => texts.iter().any(|one| one == text),
            Texts::Many(texts) => texts.contains(text),
        }
    }
}

/// A span, with one of its events and one of its links if it has any.
pub(super) struct At<'a, 's, T> {
    pub(super) trace: &'a T,
    pub(super) structure: &'s Structure,
    pub(super) span: usize,
    pub(super) event: Option<usize>,
    pub(super) link: Option<usize>,
}

impl<'a, 's, T> At<'a, 's, T> {
    /// A span without an event or a link.
    pub(super) fn new(trace: &'a T, structure: &'s Structure, span: usize) -> Self {
        Self { trace, structure, span, event: None, link: None }
    }
}

// Derived, they would ask the same of the trace.
impl<T> Clone for At<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<'_, '_, T> {}

impl Expression {
    pub(super) fn of(mut root: Node) -> Expression {
        let conditions = Conditions::of(&mut root);
        Expression { reads: root.reads(), conditions, root }
    }

    /// Compiles an expression. The names it reads get their numbers in `slots`.
    pub fn new(expr: &Expr, slots: &mut Slots) -> Result<Expression, QueryError> {
        compile::expression(expr, slots)
    }

    /// Whether it reads numbers of [`Structure`]. Then [`Expression::matches_in`] is faster than
    /// [`Expression::matches`], which would compute them for each span anew.
    pub fn needs_structure(&self) -> bool {
        self.reads.structure
    }

    /// Whether it is decided by the span's own values: evaluating it asks for nothing but
    /// [`Trace::value`] of that span. It is about no parent, event or link, not about how spans are
    /// nested, and not about whether the span is a root.
    pub fn reads_row_only(&self) -> bool {
        self.reads == Reads::default()
    }

    /// Whether it is true of a span: of one of its events, and one of its links, if it is about
    /// these.
    pub fn matches<T: Trace>(&self, trace: &T, span: usize) -> bool {
        self.matches_in(trace, &self.structure(trace), span)
    }

    /// Whether it is true of a span of a trace with this structure.
    pub fn matches_in<T: Trace>(&self, trace: &T, structure: &Structure, span: usize) -> bool {
        self.conditions.hold(&self.root, At::new(trace, structure, span))
    }

    /// Its value on a span: on the first event and the first link, if it is about these.
    pub fn value<'a, T: Trace>(&'a self, trace: &'a T, span: usize) -> Value<'a> {
        self.value_in(trace, &self.structure(trace), span)
    }

    /// Its value on a span of a trace with this structure.
    pub fn value_in<'a, T: Trace>(
        &'a self,
        trace: &'a T,
        structure: &Structure,
        span: usize,
    ) -> Value<'a> {
        let mut value = Value::Nil;
        self.any_pair(trace, structure, span, |at| {
            value = self.root.eval(&at);
            true
        });
        value
    }

    /// Whether it is true of a span with this one of its events or links. It must not be about
    /// both, nor about how spans are nested.
    pub fn matches_element(&self, trace: &impl Trace, span: usize, list: List, nth: usize) -> bool {
        let structure = Structure::default();
        let at = At::new(trace, &structure, span);
        self.root.holds(&match list {
            List::Events => At { event: Some(nth), ..at },
            List::Links => At { link: Some(nth), ..at },
        })
    }

    /// Its values on a span: one for each event and link, if it is about these.
    pub(super) fn each_value<'a, T: Trace>(
        &'a self,
        trace: &'a T,
        structure: &Structure,
        span: usize,
        mut take: impl FnMut(Value<'a>),
    ) {
        self.any_pair(trace, structure, span, |at| {
            take(self.root.eval(&at));
            false
        });
    }

    fn structure(&self, trace: &impl Trace) -> Structure {
        if self.reads.structure { Structure::of(trace) } else { Structure::default() }
    }

    /// Tries a span with each event and each link that matters, until something holds.
    pub(super) fn any_pair<'a, T: Trace>(
        &self,
        trace: &'a T,
        structure: &Structure,
        span: usize,
        mut holds: impl FnMut(At<'a, '_, T>) -> bool,
    ) -> bool {
        At::new(trace, structure, span).any_of(List::Events, self.reads.events, |at| {
            at.any_of(List::Links, self.reads.links, &mut holds)
        })
    }
}

impl Node {
    pub(super) fn eval<'a, T: Trace>(&'a self, at: &At<'a, '_, T>) -> Value<'a> {
        match self {
            Node::Constant(value) => value.as_value(),
            Node::Read(source) => source.read(at),
            Node::Not(of) => match of.eval(at) {
                Value::Bool(value) => Value::Bool(!value),
                _ => Value::Nil,
            },
            Node::Negate(of) => arithmetic::negate(of.eval(at)),
            Node::All(nodes) => Value::Bool(nodes.iter().all(|node| node.holds(at))),
            Node::Any(nodes) => Value::Bool(nodes.iter().any(|node| node.holds(at))),
            Node::Compare { op, left, right } => {
                Value::Bool(compare::compare(*op, left.eval(at), right.eval(at)))
            }
            Node::Match { of, regex, is_negated } => {
                Value::Bool(compare::matches(of.eval(at), regex, *is_negated))
            }
            Node::Nil { of, is_negated, reads } => {
                let has_no_element =
                    reads.events && at.event.is_none() || reads.links && at.link.is_none();
                let is_nil = of.eval(at) == Value::Nil;
                Value::Bool(!has_no_element && is_nil != *is_negated)
            }
            Node::In { of, texts, is_negated } => {
                Value::Bool(compare::over_text(of.read(at), *is_negated, |text| {
                    texts.contains(text)
                }))
            }
            Node::Compute { op, left, right } => {
                arithmetic::compute(*op, left.eval(at), right.eval(at))
            }
        }
    }

    pub(super) fn holds<T: Trace>(&self, at: &At<'_, '_, T>) -> bool {
        self.eval(at) == Value::Bool(true)
    }
}

impl Source {
    fn read<'a, T: Trace>(self, at: &At<'a, '_, T>) -> Value<'a> {
        let span = |of_parent: bool| {
            if of_parent { at.trace.parent(at.span) } else { Some(at.span) }
        };
        match self {
            Source::IsRoot => Value::Bool(at.trace.is_root(at.span)),
            Source::Slot { slot, of_parent } => {
                span(of_parent).map_or(Value::Nil, |span| at.trace.value(span, slot))
            }
            Source::Structure { which, of_parent } => span(of_parent)
                .and_then(|span| at.structure.value(span, which))
                .map_or(Value::Nil, Value::Int),
            Source::Element { list, slot } => {
                let nth = match list {
                    List::Events => at.event,
                    List::Links => at.link,
                };
                nth.map_or(Value::Nil, |nth| at.trace.element_value(at.span, slot, nth))
            }
        }
    }
}
