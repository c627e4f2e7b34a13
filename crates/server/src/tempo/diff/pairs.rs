//! Which span of one trace is which span of the other.
//!
//! Spans of one identity are alike. First those are paired that have parents of one identity too,
//! or are both roots; then those that are left, so that a span that came in between, or a branch
//! that moved, does not make all that is below it new. Among equals the order of the tree decides.

use kymo_traceview::pairs::{self, Member};

use super::spans::IdentityId;
use super::tree::Tree;

/// The span of the first trace that each span of the second is.
pub(super) fn pair(base: &Tree<'_>, compare: &Tree<'_>) -> Vec<Option<usize>> {
    pairs::pair(&members(base), &members(compare))
}

fn members(tree: &Tree<'_>) -> Vec<Member<IdentityId>> {
    let nodes = tree.nodes.iter();
    nodes.map(|node| Member { identity: node.span.identity, parent: node.parent }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, span};
    use crate::tempo::diff::spans::{Flat, Identities};
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;

    /// Ids of the base for each id of the other, in the order of its tree.
    fn pairs(base: Vec<Sent>, compare: Vec<Sent>) -> Vec<(u8, Option<u8>)> {
        let (base, compare) = (encoded(base), encoded(compare));
        let mut identities = Identities::default();
        let base = Tree::of(Flat::read(&base, &mut identities).unwrap());
        let compare = Tree::of(Flat::read(&compare, &mut identities).unwrap());
        let id = |tree: &Tree<'_>, at: usize| tree.nodes[at].span.id[7];
        let paired = pair(&base, &compare).into_iter().enumerate();
        paired.map(|(at, from)| (id(&compare, at), from.map(|from| id(&base, from)))).collect()
    }

    #[test]
    fn a_span_in_between_leaves_what_is_below_it_paired() {
        let base = vec![
            span(1, 0, "gateway", "GET", 0, 200),
            span(2, 1, "auth", "authorize", 10, 180),
            span(3, 2, "db", "persist", 20, 150),
        ];
        let compare = vec![
            span(11, 0, "gateway", "GET", 0, 200),
            span(12, 11, "proxy", "forward", 5, 190),
            span(13, 12, "auth", "authorize", 10, 180),
            span(14, 13, "db", "persist", 20, 150),
        ];
        let expected = [(11, Some(1)), (12, None), (13, Some(2)), (14, Some(3))];
        assert_eq!(pairs(base, compare), expected);
    }

    #[test]
    fn parents_tell_equal_spans_apart() {
        let branch = |id, service, start| {
            let call = span(id, 1, service, "call", start, start + 40);
            [call, span(id + 1, id, "db", "SELECT", start + 1, start + 9)]
        };
        let root = || vec![span(1, 0, "gateway", "GET", 0, 200)];
        let with = |branches: &[[Sent; 2]]| [root(), branches.concat()].concat();
        // The first branch is gone.
        let base = with(&[branch(2, "alpha", 10), branch(4, "beta", 100)]);
        let found = pairs(base.clone(), with(&[branch(4, "beta", 100)]));
        assert_eq!(found, [(1, Some(1)), (4, Some(4)), (5, Some(5))]);
        // A new branch comes before, and takes nothing from the one that stays.
        let compare = with(&[branch(6, "new", 10), branch(4, "beta", 100)]);
        let found = pairs(with(&[branch(4, "beta", 100)]), compare);
        assert_eq!(found[1..3], [(6, None), (7, None)]);
        assert_eq!(found[3..], [(4, Some(4)), (5, Some(5))]);
        // A branch of another name takes what is left.
        let compare = with(&[branch(6, "new", 10), branch(4, "beta", 100)]);
        let found = pairs(base, compare);
        assert_eq!(found[2], (7, Some(3)));
    }

    #[test]
    fn equals_are_paired_in_order() {
        let root = span(1, 0, "s", "root", 0, 100);
        let calls = |ids: std::ops::Range<u64>| ids.map(|id| span(id, 1, "s", "call", id, id + 1));
        let base: Vec<Sent> = [root.clone()].into_iter().chain(calls(2..5)).collect();
        let compare: Vec<Sent> = [root].into_iter().chain(calls(2..4)).collect();
        assert_eq!(pairs(base, compare), [(1, Some(1)), (2, Some(2)), (3, Some(3))]);
    }
}
