//! Trees to what is evaluated.
//!
//! Constants are computed, comparisons get their constant to the right, runs of `&&` and `||`
//! become lists, and in them comparisons of one value with several texts become a set.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Slots;
use super::constant::folded;
use super::expression::{Expression, Node, Source, Texts};
use super::structure::Structure;
use crate::ast::{Attribute, BinaryOp, Expr, Intrinsic, Literal, Name};
use crate::error::QueryError;
use crate::limits::{LARGE_SET, MAX_PATTERN_BYTES};
use crate::value::{OwnedValue, Value};

pub(super) fn expression(expr: &Expr, slots: &mut Slots) -> Result<Expression, QueryError> {
    Ok(Expression::of(Compiler { slots }.node(expr)?))
}

struct Compiler<'s> {
    slots: &'s mut Slots,
}

impl Compiler<'_> {
    fn node(&mut self, expr: &Expr) -> Result<Node, QueryError> {
        let node = match expr {
            Expr::Literal(literal) => constant(literal),
            Expr::Attribute(attribute) => self.read(attribute),
            Expr::Not(of) => Node::Not(Box::new(self.node(of)?)),
            Expr::Negate(of) => Node::Negate(Box::new(self.node(of)?)),
            Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => self.run(*op, expr)?,
            Expr::Binary { op, left, right } => self.binary(*op, left, right)?,
        };
        Ok(folded(node))
    }

    fn read(&mut self, attribute: &Attribute) -> Node {
        let of_parent = attribute.of_parent;
        if let Name::Intrinsic(which) = attribute.name {
            if which == Intrinsic::Parent {
                return Node::Constant(OwnedValue::Nil);
            }
            if Structure::has(which) {
                return Node::Read(Source::Structure { which, of_parent });
            }
        }
        let slot = self.slots.slot_of(&attribute.name);
        Node::Read(match attribute.name.list() {
            Some(list) => Source::Element { list, slot },
            None => Source::Slot { slot, of_parent },
        })
    }

    /// Operands of one of `&&` and `||`, however they are nested.
    fn run(&mut self, op: BinaryOp, expr: &Expr) -> Result<Node, QueryError> {
        let mut nodes = Vec::new();
        let mut waiting = vec![expr];
        while let Some(expr) = waiting.pop() {
            match expr {
                Expr::Binary { op: inner, left, right } if *inner == op => {
                    waiting.extend([&**right, &**left]);
                }
                _ => nodes.push(self.node(expr)?),
            }
        }
        Ok(match op {
            BinaryOp::And => Node::All(with_sets(nodes, BinaryOp::NotEqual)),
            _ => Node::Any(with_sets(nodes, BinaryOp::Equal)),
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Node, QueryError> {
        match (op, left, right) {
            (BinaryOp::Match | BinaryOp::NotMatch, of, pattern) => self.matched(op, of, pattern),
            (BinaryOp::Equal | BinaryOp::NotEqual, of, Expr::Literal(Literal::Nil))
            | (BinaryOp::Equal | BinaryOp::NotEqual, Expr::Literal(Literal::Nil), of) => {
                self.nil(op == BinaryOp::NotEqual, of)
            }
            (_, Expr::Literal(literal), of) if op.compares() => {
                self.compared(op.mirrored(), of, literal)
            }
            (_, of, Expr::Literal(literal)) if op.compares() => self.compared(op, of, literal),
            _ => {
                let (left, right) = (Box::new(self.node(left)?), Box::new(self.node(right)?));
                Ok(match op.compares() {
                    true => Node::Compare { op, left, right },
                    false => Node::Compute { op, left, right },
                })
            }
        }
    }

    fn compared(&mut self, op: BinaryOp, of: &Expr, with: &Literal) -> Result<Node, QueryError> {
        if asks_for_root(op, of, with) {
            return Ok(Node::Read(Source::IsRoot));
        }
        let left = Box::new(self.node(of)?);
        let right = match (of, with) {
            (Expr::Attribute(attribute), Literal::Text(text)) => {
                Node::Constant(OwnedValue::Text(as_stored(attribute, text)))
            }
            _ => constant(with),
        };
        Ok(Node::Compare { op, left, right: Box::new(right) })
    }

    fn matched(&mut self, op: BinaryOp, of: &Expr, with: &Expr) -> Result<Node, QueryError> {
        let Expr::Literal(Literal::Text(text)) = with else {
            let message = format!("{} needs a regular expression in quotes", op.sign());
            return Err(QueryError::Type { at: None, message });
        };
        let regex = kymo_pattern::compile(text, MAX_PATTERN_BYTES)
            .map_err(|message| QueryError::Type { at: None, message })?;
        let is_negated = op == BinaryOp::NotMatch;
        Ok(Node::Match { of: Box::new(self.node(of)?), regex, is_negated })
    }

    fn nil(&mut self, is_negated: bool, of: &Expr) -> Result<Node, QueryError> {
        if *of == Expr::Literal(Literal::Nil) {
            return Ok(Node::Constant(OwnedValue::Bool(false)));
        }
        let of = Box::new(self.node(of)?);
        let reads = of.reads();
        Ok(Node::Nil { of, is_negated, reads })
    }
}

/// Whether it is `nestedSetParent < 0` or the like. Pages ask for root spans so, and no tree has to
/// be numbered for that.
fn asks_for_root(op: BinaryOp, of: &Expr, with: &Literal) -> bool {
    let parent = Name::Intrinsic(Intrinsic::NestedSetParent);
    let is_asked =
        matches!(of, Expr::Attribute(Attribute { of_parent: false, name }) if *name == parent);
    is_asked
        && matches!(
            (op, with),
            (BinaryOp::Less, Literal::Int(0))
                | (BinaryOp::LessEqual | BinaryOp::Equal, Literal::Int(-1))
        )
}

fn constant(literal: &Literal) -> Node {
    Node::Constant(Value::from(literal).into())
}

/// A text as the value that it is compared with is given: ids are in lower case, those of traces
/// without leading zeros.
fn as_stored(attribute: &Attribute, text: &str) -> String {
    match attribute.name {
        Name::Intrinsic(Intrinsic::TraceId | Intrinsic::LinkTraceId) => {
            text.trim_start_matches('0').to_ascii_lowercase()
        }
        Name::Intrinsic(Intrinsic::SpanId | Intrinsic::SpanParentId | Intrinsic::LinkSpanId) => {
            text.to_ascii_lowercase()
        }
        _ => text.to_owned(),
    }
}

/// Makes sets of comparisons of one value with several texts.
fn with_sets(nodes: Vec<Node>, wanted: BinaryOp) -> Vec<Node> {
    let text_of = |node: &Node| match node {
        Node::Compare { op, left, right } if *op == wanted => match (&**left, &**right) {
            (Node::Read(source), Node::Constant(OwnedValue::Text(text))) => {
                Some((*source, text.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    let mut texts: Vec<Vec<String>> = Vec::new();
    let mut sets: HashMap<Source, usize> = HashMap::new();
    // Each set stands where its first comparison stood.
    let mut places = Vec::new();
    for node in nodes {
        let Some((source, text)) = text_of(&node) else {
            places.push(Err(node));
            continue;
        };
        match sets.entry(source) {
            Entry::Occupied(set) => texts[*set.get()].push(text),
            Entry::Vacant(set) => {
                places.push(Ok((source, texts.len(), node)));
                set.insert(texts.len());
                texts.push(vec![text]);
            }
        }
    }
    let set_of = |place| match place {
        Err(node) => node,
        Ok((of, set, node)) => {
            let texts: Vec<String> = std::mem::take(&mut texts[set]);
            let texts = match texts.len() {
                ..2 => return node,
                2..LARGE_SET => Texts::Few(texts),
                _ => Texts::Many(texts.into_iter().collect()),
            };
            Node::In { of, texts, is_negated: wanted == BinaryOp::NotEqual }
        }
    };
    places.into_iter().map(set_of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::filter;
    use super::*;

    fn root(text: &str) -> Node {
        Expression::new(&filter(text), &mut Slots::new()).unwrap().root
    }

    fn is(node: &Node, value: bool) -> bool {
        matches!(node, Node::Constant(OwnedValue::Bool(found)) if *found == value)
    }

    #[test]
    fn constants_are_computed() {
        assert!(is(&root("{ 1 + 2 * 3 = 7 }"), true));
        assert!(is(&root("{ 2 ^ 3 ^ 2 = 512 }"), true));
        assert!(is(&root("{ \"test\" =~ \"te.*\" && !(1 > 2) }"), true));
        assert!(is(&root("{ nil = nil || nil != nil }"), false));
        assert!(is(&root("{ 1 / 0 = 1 || !(1 % 0 = 1) }"), true));
        assert!(!is(&root("{ .a && true }"), true));
    }

    #[test]
    fn comparisons_with_several_texts_become_a_set() {
        let Node::Any(nodes) = root("{ .a = \"x\" || .b = \"x\" || \"y\" = .a || .a = 1 }") else {
            panic!()
        };
        assert_eq!(nodes.len(), 3);
        assert!(matches!(&nodes[0], Node::In { texts: Texts::Few(t), .. } if t.len() == 2));
        let many: Vec<String> = (0..20).map(|n| format!(".a != \"{n}\"")).collect();
        let Node::All(nodes) = root(&format!("{{ {} }}", many.join(" && "))) else { panic!() };
        assert!(matches!(&nodes[..], [Node::In { texts: Texts::Many(t), is_negated: true, .. }]
            if t.len() == 20));
        // `!=` with `||` means something else.
        let Node::Any(nodes) = root("{ .a != \"x\" || .a != \"y\" }") else { panic!() };
        assert_eq!(nodes.len(), 2);
    }

    #[test]
    fn roots_are_found_without_numbers() {
        for filter in ["nestedSetParent < 0", "0 > nestedSetParent", "nestedSetParent = -1"] {
            let root = root(&format!("{{ {filter} }}"));
            assert!(matches!(root, Node::Read(Source::IsRoot)), "{filter}");
        }
        let root = root("{ nestedSetParent < 1 }");
        assert!(matches!(root, Node::Compare { .. }));
    }

    #[test]
    fn ids_are_compared_as_they_are_given() {
        let text = |filter| match root(filter) {
            Node::Compare { right, .. } => match *right {
                Node::Constant(OwnedValue::Text(text)) => text,
                _ => panic!(),
            },
            _ => panic!(),
        };
        assert_eq!(text("{ trace:id = \"00AB\" }"), "ab");
        assert_eq!(text("{ \"00ab\" = link:traceID }"), "ab");
        assert_eq!(text("{ span:id = \"00AB\" }"), "00ab");
        assert_eq!(text("{ name = \"00AB\" }"), "00AB");
    }
}
