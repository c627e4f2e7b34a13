//! Expressions that are the same on every span.

use super::expression::{At, Expression, Node};
use super::structure::Structure;
use super::{List, Slots, Trace};
use crate::ast::Expr;
use crate::value::{OwnedValue, Value};

/// Whether an expression is true, if it names no attribute: then it is so of every span, or of
/// none. Nothing if it names one, or cannot be compiled.
#[must_use]
pub fn constant(expr: &Expr) -> Option<bool> {
    if !expr.attributes().is_empty() {
        return None;
    }
    match Expression::new(expr, &mut Slots::new()).ok()?.root {
        Node::Constant(value) => Some(value == OwnedValue::Bool(true)),
        _ => None,
    }
}

/// The value of a node of constants.
pub(super) fn folded(node: Node) -> Node {
    let is_constant = |node: &Node| matches!(node, Node::Constant(_));
    let can_fold = match &node {
        Node::Constant(_) | Node::Read(_) | Node::In { .. } => false,
        Node::Not(of) | Node::Negate(of) | Node::Match { of, .. } | Node::Nil { of, .. } => {
            is_constant(of)
        }
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().all(is_constant),
        Node::Compare { left, right, .. } | Node::Compute { left, right, .. } => {
            is_constant(left) && is_constant(right)
        }
    };
    if !can_fold {
        return node;
    }
    let structure = Structure::default();
    Node::Constant(node.eval(&At::new(&Nowhere, &structure, 0)).into())
}

impl Expression {
    /// Whether it is true where there is nothing: no attribute, no event, no link, and no root.
    #[must_use]
    pub fn matches_nothing(&self) -> bool {
        self.matches(&Nowhere, 0)
    }
}

/// A trace without spans: constants need none.
struct Nowhere;

impl Trace for Nowhere {
    fn spans(&self) -> usize {
        0
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
    fn parent(&self, _span: usize) -> Option<usize> {
        None
    }
    fn is_root(&self, _span: usize) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filter;
    use super::*;
    use crate::ast::{BinaryOp, Literal};

    #[test]
    fn what_names_no_attribute_is_true_or_not() {
        for (text, expected) in [
            ("{ }", Some(true)),
            ("{ 1 + 2 * 3 = 7 && !(1 > 2) }", Some(true)),
            ("{ \"test\" =~ \"te\" || 1s > 1m }", Some(false)),
            ("{ 1 / 0 = 1 }", Some(false)),
            ("{ nil = nil }", Some(false)),
            ("{ .a = 1 }", None),
            ("{ .a = 1 && false }", None),
        ] {
            assert_eq!(constant(&filter(text)), expected, "{text}");
        }
    }

    #[test]
    fn where_nothing_is_a_condition_holds_that_asks_for_nothing() {
        for (text, expected) in [
            ("{ }", true),
            ("{ .a = nil && !(.b = 1) }", true),
            ("{ .a != 1 }", false),
            ("{ event:name = \"x\" }", false),
            ("{ nestedSetParent < 0 }", false),
        ] {
            let expression = Expression::new(&filter(text), &mut Slots::new()).unwrap();
            assert_eq!(expression.matches_nothing(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_not_true() {
        assert_eq!(constant(&Expr::Literal(Literal::Int(1))), Some(false));
        let text = |text: &str| Expr::Literal(Literal::Text(text.to_owned()));
        assert_eq!(constant(&Expr::compare(BinaryOp::Match, text("a"), text("["))), None);
    }
}
