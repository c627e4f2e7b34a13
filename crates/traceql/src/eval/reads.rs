//! What an expression needs besides values of the span itself.

use super::List;
use super::expression::{Node, Source};

/// What is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) events: bool,
    pub(super) links: bool,
    /// How spans are nested, in numbers.
    pub(super) structure: bool,
    /// Values of the parent.
    pub(super) parent: bool,
    /// Whether the span is a root.
    pub(super) is_root: bool,
}

impl Reads {
    fn and(self, other: Reads) -> Reads {
        Reads {
            events: self.events || other.events,
            links: self.links || other.links,
            structure: self.structure || other.structure,
            parent: self.parent || other.parent,
            is_root: self.is_root || other.is_root,
        }
    }
}

impl Node {
    pub(super) fn reads(&self) -> Reads {
        match self {
            Node::Constant(_) => Reads::default(),
            Node::Read(source) | Node::In { of: source, .. } => source.reads(),
            Node::Nil { reads, .. } => *reads,
            Node::Not(of) | Node::Negate(of) | Node::Match { of, .. } => of.reads(),
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().map(Node::reads).fold(Reads::default(), Reads::and)
            }
            Node::Compare { left, right, .. } | Node::Compute { left, right, .. } => {
                left.reads().and(right.reads())
            }
        }
    }
}

impl Source {
    fn reads(self) -> Reads {
        let none = Reads::default();
        match self {
            Source::Slot { of_parent, .. } => Reads { parent: of_parent, ..none },
            Source::Structure { of_parent, .. } => {
                Reads { structure: true, parent: of_parent, ..none }
            }
            Source::Element { list: List::Events, .. } => Reads { events: true, ..none },
            Source::Element { list: List::Links, .. } => Reads { links: true, ..none },
            Source::IsRoot => Reads { is_root: true, ..none },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filter;
    use super::super::{Expression, Slots};

    #[test]
    fn only_values_of_the_span_itself_are_of_its_row() {
        let is_of_row = |text: &str| {
            Expression::new(&filter(text), &mut Slots::new()).unwrap().reads_row_only()
        };
        for text in [
            "{ }",
            "{ .a = 1 && -span.b < 2 && !(resource.c =~ \"x\") }",
            "{ name = \"a\" || name = \"b\" || status = error || .d = nil }",
            "{ trace:duration > 1s }",
        ] {
            assert!(is_of_row(text), "{text}");
        }
        for text in [
            "{ parent.a = 1 }",
            "{ parent.name = \"a\" || parent.name = \"b\" }",
            "{ .a = 1 && !(parent.b != nil) }",
            "{ nestedSetLeft > 1 }",
            "{ span:childCount + 1 > 1 }",
            "{ nestedSetParent < 0 }",
            "{ .a = 1 || event.b = 1 }",
            "{ link:spanID = \"a\" }",
        ] {
            assert!(!is_of_row(text), "{text}");
        }
    }
}
