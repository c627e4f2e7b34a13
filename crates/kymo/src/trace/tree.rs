//! Which span is below which.
//!
//! Traces come as they are: parents that were never received, several roots, a span that names
//! itself or a descendant as its parent, the same id twice. Every span is shown exactly once, and
//! what is odd about its place is said. Nothing here recurses: a trace may be as deep as it is long.

use std::collections::HashMap;

use super::spans::Span;

/// A span at its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Which span.
    pub(crate) span: usize,
    /// How many are above it.
    pub(crate) depth: usize,
    /// Whether it is the last child of its parent, or the last root.
    pub(crate) is_last: bool,
    pub(crate) has_children: bool,
    /// The span above it.
    pub(crate) parent: Option<usize>,
    /// Why it is where it is.
    pub(crate) oddity: Option<Oddity>,
}

/// What is odd about a place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// The parent it names is not there.
    ParentMissing,
    /// It is its own ancestor; the circle is cut here.
    Circle,
}

/// All spans in the order in which they are drawn: parents before children, by their start.
pub(crate) fn order(spans: &[Span]) -> Vec<Node> {
    let parents = parents(spans);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    let mut roots = Vec::new();
    for (span, place) in parents.iter().enumerate() {
        match place {
            Place::Below(parent) => children[*parent].push(span),
            Place::Root(oddity) => roots.push((span, *oddity)),
        }
    }
    let by_start = |span: &usize| (spans[*span].start_nanos, *span);
    for siblings in &mut children {
        siblings.sort_by_key(by_start);
    }
    roots.sort_by_key(|(span, _)| by_start(span));

    let mut nodes = Vec::with_capacity(spans.len());
    let mut waiting: Vec<Node> = Vec::new();
    let last_root = roots.len().saturating_sub(1);
    for (nth, (span, oddity)) in roots.iter().enumerate().rev() {
        waiting.push(Node {
            span: *span,
            depth: 0,
            is_last: nth == last_root,
            has_children: !children[*span].is_empty(),
            parent: None,
            oddity: *oddity,
        });
    }
    while let Some(node) = waiting.pop() {
        let below = &children[node.span];
        for (nth, child) in below.iter().enumerate().rev() {
            waiting.push(Node {
                span: *child,
                depth: node.depth + 1,
                is_last: nth + 1 == below.len(),
                has_children: !children[*child].is_empty(),
                parent: Some(node.span),
                oddity: None,
            });
        }
        nodes.push(node);
    }
    nodes
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Below(usize),
    Root(Option<Oddity>),
}

/// The place of each span, such that following parents ends at a root.
fn parents(spans: &[Span]) -> Vec<Place> {
    let mut by_id: HashMap<&[u8], usize> = HashMap::with_capacity(spans.len());
    for (nth, span) in spans.iter().enumerate() {
        // Of two with the same id the first has the children.
        by_id.entry(&span.id).or_insert(nth);
    }
    let mut places: Vec<Place> = spans
        .iter()
        .map(|span| match by_id.get(span.parent_id.as_slice()) {
            _ if span.parent_id.is_empty() => Place::Root(None),
            Some(parent) => Place::Below(*parent),
            None => Place::Root(Some(Oddity::ParentMissing)),
        })
        .collect();
    // Each walk upwards marks its way; one that meets its own mark went in a circle, one that meets
    // an older mark ends where that one ended.
    let mut marks = vec![usize::MAX; spans.len()];
    for first in 0..spans.len() {
        let mut at = first;
        while marks[at] == usize::MAX {
            marks[at] = first;
            let Place::Below(parent) = places[at] else { break };
            if marks[parent] == first {
                let earliest = earliest_of_circle(spans, &places, parent);
                places[earliest] = Place::Root(Some(Oddity::Circle));
                break;
            }
            at = parent;
        }
    }
    places
}

/// Where a circle is cut: at its span that started first, whichever is met first.
fn earliest_of_circle(spans: &[Span], places: &[Place], member: usize) -> usize {
    let mut earliest = member;
    let mut at = member;
    while let Place::Below(parent) = places[at] {
        at = parent;
        if (spans[at].start_nanos, at) < (spans[earliest].start_nanos, earliest) {
            earliest = at;
        }
        if at == member {
            break;
        }
    }
    earliest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans as `(id, parent, start)`.
    fn spans(list: &[(u32, u32, u64)]) -> Vec<Span> {
        let id = |id: u32| if id == 0 { Vec::new() } else { id.to_be_bytes().to_vec() };
        let span = |(own, parent, start): &(u32, u32, u64)| Span {
            id: id(*own),
            parent_id: id(*parent),
            start_nanos: *start,
            ..Span::default()
        };
        list.iter().map(span).collect()
    }

    fn shape(list: &[(u32, u32, u64)]) -> Vec<(u32, usize, Option<Oddity>)> {
        let nodes = order(&spans(list));
        nodes.iter().map(|node| (list[node.span].0, node.depth, node.oddity)).collect()
    }

    #[test]
    fn children_follow_their_parent_by_start() {
        let shape = shape(&[(3, 1, 30), (1, 0, 10), (4, 2, 25), (2, 1, 20)]);
        assert_eq!(shape, [(1, 0, None), (2, 1, None), (4, 2, None), (3, 1, None)]);
    }

    #[test]
    fn orphans_and_further_roots_stand_at_the_top() {
        let shape = shape(&[(2, 9, 5), (1, 0, 10), (3, 0, 20), (4, 2, 6)]);
        let missing = Some(Oddity::ParentMissing);
        assert_eq!(shape, [(2, 0, missing), (4, 1, None), (1, 0, None), (3, 0, None)]);
    }

    #[test]
    fn circles_are_cut_and_nothing_is_lost() {
        let circle = Some(Oddity::Circle);
        assert_eq!(shape(&[(1, 1, 5)]), [(1, 0, circle)]);
        let two = shape(&[(5, 2, 30), (1, 2, 20), (2, 1, 10), (3, 1, 25), (4, 0, 1)]);
        let expected = [(4, 0, None), (2, 0, circle), (1, 1, None), (3, 2, None), (5, 1, None)];
        assert_eq!(two, expected);
    }

    #[test]
    fn the_same_id_twice_is_shown_twice() {
        assert_eq!(shape(&[(1, 0, 1), (1, 0, 2), (2, 1, 3)]).len(), 3);
    }

    #[test]
    fn deep_and_wide_traces_need_no_stack() {
        let deep: Vec<_> = (1..=100_000).map(|n| (n, n - 1, u64::from(n))).collect();
        assert_eq!(order(&spans(&deep)).last().unwrap().depth, 99_999);
        let wide: Vec<_> = (1..=100_000).map(|n| (n, u32::from(n > 1), u64::from(n))).collect();
        assert_eq!(order(&spans(&wide)).iter().filter(|node| node.depth == 1).count(), 99_999);
    }
}
