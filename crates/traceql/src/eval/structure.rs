//! How the spans of a trace are nested, in numbers.
//!
//! A walk through the tree from its roots, children in the order of the spans, counts from 1 and
//! gives each span the count when it is entered (left) and when it is left (right). Spans that no
//! root leads to have zeros.

use super::Trace;
use crate::ast::Intrinsic;

/// No span.
const NONE: u32 = u32::MAX;

/// The numbers of all spans of a trace.
#[derive(Debug, Clone, Default)]
pub struct Structure {
    numbers: Vec<Numbers>,
    /// The first child of each span, and the next with the same parent.
    first_child: Vec<u32>,
    next: Vec<u32>,
    parents: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    left: i64,
    right: i64,
    parent: i64,
    children: i64,
}

impl Structure {
    /// The numbers of the spans of a trace.
    pub fn of(trace: &impl Trace) -> Structure {
        let mut structure = Structure::default();
        structure.read(trace);
        structure
    }

    /// Forgets what it has, and reads another trace.
    pub(super) fn read(&mut self, trace: &impl Trace) {
        let spans = trace.spans();
        for list in [&mut self.first_child, &mut self.next, &mut self.parents] {
            list.clear();
            list.resize(spans, NONE);
        }
        self.numbers.clear();
        self.numbers.resize(spans, Numbers::default());
        // From the last to the first, so that each list of children begins with the first.
        for span in (0..spans).rev() {
            let Some(parent) = trace.parent(span) else { continue };
            if parent == span || parent >= spans || trace.is_root(span) {
                continue;
            }
            self.parents[span] = parent as u32;
            self.next[span] = self.first_child[parent];
            self.first_child[parent] = span as u32;
            self.numbers[parent].children += 1;
        }
        let mut count = 0;
        for root in (0..spans).filter(|span| trace.is_root(*span)) {
            self.number(root, &mut count);
        }
    }

    /// Numbers what is below a root. A root has no parent, and every span one at most, so that no
    /// span is met twice.
    fn number(&mut self, root: usize, count: &mut i64) {
        let mut span = root;
        loop {
            *count += 1;
            let parent = self.parents[span];
            self.numbers[span].left = *count;
            self.numbers[span].parent =
                if parent == NONE { -1 } else { self.numbers[parent as usize].left };
            if self.first_child[span] != NONE {
                span = self.first_child[span] as usize;
                continue;
            }
            // Leave spans until one has another beside it.
            loop {
                *count += 1;
                self.numbers[span].right = *count;
                if span == root {
                    return;
                }
                if self.next[span] != NONE {
                    span = self.next[span] as usize;
                    break;
                }
                span = self.parents[span] as usize;
            }
        }
    }

    /// A number of a span.
    pub(super) fn value(&self, span: usize, which: Intrinsic) -> Option<i64> {
        let numbers = self.numbers.get(span)?;
        Some(match which {
            Intrinsic::NestedSetLeft => numbers.left,
            Intrinsic::NestedSetRight => numbers.right,
            Intrinsic::NestedSetParent => numbers.parent,
            Intrinsic::SpanChildCount => numbers.children,
            _ => return None,
        })
    }

    /// Whether a value is one of these numbers.
    pub(super) fn has(which: Intrinsic) -> bool {
        matches!(
            which,
            Intrinsic::NestedSetLeft
                | Intrinsic::NestedSetRight
                | Intrinsic::NestedSetParent
                | Intrinsic::SpanChildCount
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Family;
    use super::*;

    /// `left right parent children` of each span.
    fn numbers(parents: &[&str]) -> Vec<[i64; 4]> {
        let structure = Structure::of(&Family::new(parents));
        structure.numbers.iter().map(|n| [n.left, n.right, n.parent, n.children]).collect()
    }

    #[test]
    fn spans_are_numbered_from_the_roots() {
        assert_eq!(
            numbers(&["root", "0", "0", "1", "root", "4"]),
            [
                [1, 8, -1, 2],
                [2, 5, 1, 1],
                [6, 7, 1, 0],
                [3, 4, 2, 0],
                [9, 12, -1, 1],
                [10, 11, 9, 0]
            ]
        );
    }

    #[test]
    fn spans_without_a_root_have_zeros() {
        assert_eq!(numbers(&["root", "lost", "1"]), [[1, 2, -1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]);
        // Circles, and a span that is its own parent.
        assert_eq!(numbers(&["1", "0", "2"]), [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]);
    }

    #[test]
    fn a_deep_trace_does_not_fill_the_stack() {
        let parents: Vec<String> = (0..100_000)
            .map(|span: i32| if span == 0 { "root".into() } else { (span - 1).to_string() })
            .collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        assert_eq!(numbers(&parents)[0], [1, 200_000, -1, 1]);
    }
}
