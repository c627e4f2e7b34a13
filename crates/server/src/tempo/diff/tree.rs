//! A trace as a tree: each span after its parent, siblings by start.
//!
//! Every span has a place, whatever is said of parents. One whose parent is missing is a root. Of
//! spans that are their own ancestors the first is a root. Where several spans have one id, their
//! children are under the first of them.

use std::collections::HashMap;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::spans::{Flat, IdentityId, Span};

/// A span in its place.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) span: Span<'a>,
    /// Where in the tree its parent is.
    pub(super) parent: Option<usize>,
    /// How many siblings are before it.
    pub(super) nth: usize,
    /// Bytes of its path as JSON, between the brackets. Known without making the path: those of a
    /// deep trace have together the square of its depth.
    pub(super) path_bytes: u64,
}

#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) trace_id: &'a [u8],
    pub(super) nodes: Vec<Node<'a>>,
    /// Spans whose id an earlier one has.
    pub(super) repeated_ids: usize,
}

impl<'a> Tree<'a> {
    pub(super) fn of(flat: Flat<'a>) -> Self {
        let mut spans = flat.spans;
        spans.sort_by_key(|span| (span.start_nanos, span.id));
        let (parents, repeated_ids) = parents(&spans);
        Self { trace_id: flat.trace_id, nodes: placed(&spans, &parents), repeated_ids }
    }

    pub(super) fn parent_identity(&self, at: usize) -> Option<IdentityId> {
        self.nodes[at].parent.map(|parent| self.nodes[parent].span.identity)
    }

    pub(super) fn parent_path_bytes(&self, at: usize) -> u64 {
        self.nodes[at].parent.map_or(0, |parent| self.nodes[parent].path_bytes)
    }
}

/// The parent of each span, and how many spans have an id that an earlier one has.
fn parents(spans: &[Span<'_>]) -> (Vec<Option<usize>>, usize) {
    let mut first_of = HashMap::with_capacity(spans.len());
    let mut repeated = 0;
    for (at, span) in spans.iter().enumerate().filter(|(_, span)| !span.id.is_empty()) {
        let first = *first_of.entry(span.id).or_insert(at);
        repeated += usize::from(first != at);
    }
    (spans.iter().map(|span| first_of.get(span.parent_id).copied()).collect(), repeated)
}

/// All spans in the order of the tree. Without recursion: a trace may be as deep as it is long.
fn placed<'a>(spans: &[Span<'a>], parents: &[Option<usize>]) -> Vec<Node<'a>> {
    let mut children = vec![Vec::new(); spans.len()];
    for (at, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(at);
        }
    }
    let mut nodes: Vec<Node<'a>> = Vec::with_capacity(spans.len());
    let mut is_placed = vec![false; spans.len()];
    let mut roots = 0;
    let true_roots = (0..spans.len()).filter(|at| parents[*at].is_none());
    // What no root leads to is a circle, and has to be entered somewhere.
    for root in true_roots.chain(0..spans.len()) {
        if is_placed[root] {
            continue;
        }
        let mut waiting = vec![(root, None, roots)];
        roots += 1;
        while let Some((at, parent, nth)) = waiting.pop() {
            is_placed[at] = true;
            let above = parent.map_or(0, |parent: usize| nodes[parent].path_bytes + 1);
            let path_bytes = above + digits(nth);
            let here = nodes.len();
            nodes.push(Node { span: spans[at], parent, nth, path_bytes });
            let below = children[at].iter().filter(|child| !is_placed[**child]);
            let first = waiting.len();
            waiting.extend(below.enumerate().map(|(nth, child)| (*child, Some(here), nth)));
            waiting[first..].reverse();
        }
    }
    nodes
}

fn digits(number: usize) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

/// The way from a root to a span: how many siblings are before each span on it. Made only while it
/// is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'c> {
    pub(super) tree: &'c Tree<'c>,
    pub(super) at: usize,
    /// Where paths alone are more than may be sent, they are empty lists.
    pub(super) is_shown: bool,
}

impl<'c> Path<'c> {
    /// That of the parent; `None` for a root.
    pub(super) fn parent(self) -> Option<Self> {
        let at = self.tree.nodes[self.at].parent?;
        Some(Self { at, ..self })
    }

    fn steps(&self) -> Vec<usize> {
        let mut steps = Vec::new();
        let mut next = self.is_shown.then_some(self.at);
        while let Some(at) = next {
            steps.push(self.tree.nodes[at].nth);
            next = self.tree.nodes[at].parent;
        }
        steps.reverse();
        steps
    }
}

impl Serialize for Path<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = self.steps();
        let mut list = serializer.serialize_seq(Some(steps.len()))?;
        for step in &steps {
            list.serialize_element(step)?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, span};
    use crate::tempo::diff::spans::Identities;
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;

    /// Names and paths, in the order of the tree; paths are as long as they are said to be.
    fn paths(sent: Vec<Sent>) -> (Vec<(String, String)>, usize) {
        let bytes = encoded(sent);
        let mut identities = Identities::default();
        let tree = Tree::of(Flat::read(&bytes, &mut identities).unwrap());
        let path = |at| {
            let path = Path { tree: &tree, at, is_shown: true };
            let written = serde_json::to_string(&path).unwrap();
            assert_eq!(tree.nodes[at].path_bytes, written.len() as u64 - 2);
            let name = identities.get(tree.nodes[at].span.identity).name();
            (name.into_owned(), written)
        };
        ((0..tree.nodes.len()).map(path).collect(), tree.repeated_ids)
    }

    #[track_caller]
    fn assert_paths(sent: Vec<Sent>, expected: &[(&str, &str)], repeated_ids: usize) {
        let (paths, repeated) = paths(sent);
        let paths: Vec<_> = paths.iter().map(|(name, path)| (&**name, &**path)).collect();
        assert_eq!((&*paths, repeated), (expected, repeated_ids));
    }

    #[test]
    fn spans_come_after_their_parents_and_siblings_by_start() {
        let sent = vec![
            span(5, 1, "s", "payment", 30, 45),
            span(4, 3, "s", "reserve", 20, 45),
            span(1, 0, "s", "root", 0, 100),
            span(3, 1, "s", "inventory", 20, 50),
            span(2, 1, "s", "auth", 10, 20),
        ];
        let expected = [
            ("root", "[0]"),
            ("auth", "[0,0]"),
            ("inventory", "[0,1]"),
            ("reserve", "[0,1,0]"),
            ("payment", "[0,2]"),
        ];
        assert_paths(sent, &expected, 0);
    }

    #[test]
    fn equal_starts_are_ordered_by_id() {
        let sent = vec![span(3, 0, "s", "c", 0, 1), span(2, 0, "s", "b", 0, 1)];
        assert_paths(sent, &[("b", "[0]"), ("c", "[1]")], 0);
    }

    #[test]
    fn orphans_are_roots_and_circles_are_entered_at_their_first_span() {
        let sent = vec![
            span(1, 2, "s", "a", 10, 20),
            span(2, 1, "s", "b", 0, 30),
            span(3, 2, "s", "below b", 5, 6),
            span(4, 4, "s", "own parent", 50, 60),
            span(5, 99, "s", "orphan", 70, 80),
        ];
        let expected = [
            ("orphan", "[0]"),
            ("b", "[1]"),
            ("below b", "[1,0]"),
            ("a", "[1,1]"),
            ("own parent", "[2]"),
        ];
        assert_paths(sent, &expected, 0);
    }

    #[test]
    fn spans_of_one_id_stay_and_the_first_has_the_children() {
        let sent = vec![
            span(1, 0, "s", "root", 0, 9),
            span(2, 1, "s", "client", 1, 8),
            span(2, 1, "s", "server", 2, 7),
            span(3, 2, "s", "below", 3, 4),
        ];
        let expected =
            [("root", "[0]"), ("client", "[0,0]"), ("below", "[0,0,0]"), ("server", "[0,1]")];
        assert_paths(sent, &expected, 1);
    }

    #[test]
    fn spans_without_an_id_are_roots_or_leaves() {
        let mut nameless = span(1, 0, "s", "x", 0, 9);
        nameless.span_id.clear();
        let sent = vec![nameless.clone(), nameless, span(2, 0, "s", "y", 1, 2)];
        assert_paths(sent, &[("x", "[0]"), ("x", "[1]"), ("y", "[2]")], 0);
    }

    #[test]
    fn paths_of_more_than_nine_siblings_are_as_long_as_they_are_said_to_be() {
        let mut sent = vec![span(1, 0, "s", "root", 0, 9)];
        sent.extend((2..200).map(|id| span(id, 1, "s", "child", id, id + 1)));
        let (paths, _) = paths(sent);
        assert_eq!(paths[198].1, "[0,197]");
    }
}
