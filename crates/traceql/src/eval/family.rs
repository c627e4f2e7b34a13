//! Children, descendants, parents, ancestors and siblings among the spans of a trace.
//!
//! Only links between spans that are there count; no root is needed. Each question takes time in
//! proportion to the number of spans, and ends even if links go in circles.

use super::Trace;
use crate::ast::{Mode, Relation};

/// No span.
const NONE: u32 = u32::MAX;

/// The parents of all spans of a trace, and memory to answer questions with.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    parents: Vec<u32>,
    /// Something about each span; what, depends on the question.
    marks: Vec<u32>,
    /// Spans that were passed on the way up.
    path: Vec<u32>,
}

impl Family {
    /// Forgets what it has, and reads another trace.
    pub(super) fn read(&mut self, trace: &impl Trace) {
        let spans = trace.spans();
        self.parents.clear();
        self.parents.extend((0..spans).map(|span| match trace.parent(span) {
            Some(parent) if parent != span && parent < spans => parent as u32,
            _ => NONE,
        }));
    }

    /// What a structural operator gives: spans in ascending order.
    pub(super) fn combine(
        &mut self,
        relation: Relation,
        mode: Mode,
        left: &[u32],
        right: &[u32],
        out: &mut Vec<u32>,
    ) {
        match mode {
            Mode::Related => self.related(relation, left, right, true, out),
            Mode::Unrelated => self.related(relation, left, right, false, out),
            Mode::Both => {
                self.related(relation, left, right, true, out);
                self.related(inverse(relation), right, left, true, out);
                out.sort_unstable();
                out.dedup();
            }
        }
    }

    /// The spans of the right side that are related to one of the left side, or those that are
    /// not.
    fn related(
        &mut self,
        relation: Relation,
        left: &[u32],
        right: &[u32],
        wanted: bool,
        out: &mut Vec<u32>,
    ) {
        self.marks.clear();
        self.marks.resize(self.parents.len(), 0);
        let Family { parents, marks, path } = self;
        let parent = |span: u32| parents[span as usize];
        let mut keep = |is_related: &mut dyn FnMut(u32) -> bool| {
            out.extend(right.iter().copied().filter(|span| is_related(*span) == wanted));
        };
        match relation {
            Relation::Child => {
                left.iter().for_each(|span| marks[*span as usize] = 1);
                keep(&mut |span| parent(span) != NONE && marks[parent(span) as usize] == 1);
            }
            Relation::Parent => {
                for span in left.iter().map(|span| parent(*span)).filter(|span| *span != NONE) {
                    marks[span as usize] = 1;
                }
                keep(&mut |span| marks[span as usize] == 1);
            }
            Relation::Ancestor => {
                for span in left {
                    let mut above = parent(*span);
                    while above != NONE && marks[above as usize] == 0 {
                        marks[above as usize] = 1;
                        above = parent(above);
                    }
                }
                keep(&mut |span| marks[span as usize] == 1);
            }
            Relation::Descendant => {
                left.iter().for_each(|span| marks[*span as usize] = IS_LEFT);
                keep(&mut |span| is_below(span, parents, marks, path));
            }
            Relation::Sibling => {
                // How many of the left side each parent has; the span itself does not count.
                for span in left.iter().map(|span| parent(*span)).filter(|span| *span != NONE) {
                    marks[span as usize] += 1;
                }
                keep(&mut |span| {
                    let itself = u32::from(left.binary_search(&span).is_ok());
                    parent(span) != NONE && marks[parent(span) as usize] > itself
                });
            }
        }
    }
}

/// It is of the left side.
const IS_LEFT: u32 = 1;
/// It is below one of the left side.
const IS_BELOW: u32 = 2;
/// It is below none.
const IS_NOT_BELOW: u32 = 4;
/// It is on the way that is being gone.
const IS_PASSED: u32 = 8;

/// Whether a span is below one of the left side. What is found out about spans on the way up is
/// kept in their marks.
fn is_below(span: u32, parents: &[u32], marks: &mut [u32], path: &mut Vec<u32>) -> bool {
    path.clear();
    let mut at = span;
    let found = loop {
        let mark = marks[at as usize];
        if mark & IS_BELOW != 0 {
            break true;
        }
        // In a circle, all of which was passed, there is none.
        if mark & (IS_NOT_BELOW | IS_PASSED) != 0 {
            break false;
        }
        marks[at as usize] |= IS_PASSED;
        path.push(at);
        let parent = parents[at as usize];
        if parent == NONE {
            break false;
        }
        if marks[parent as usize] & IS_LEFT != 0 {
            break true;
        }
        at = parent;
    };
    for passed in path.drain(..) {
        let mark = &mut marks[passed as usize];
        *mark = *mark & !IS_PASSED | if found { IS_BELOW } else { IS_NOT_BELOW };
    }
    found
}

fn inverse(relation: Relation) -> Relation {
    match relation {
        Relation::Child => Relation::Parent,
        Relation::Parent => Relation::Child,
        Relation::Descendant => Relation::Ancestor,
        Relation::Ancestor => Relation::Descendant,
        Relation::Sibling => Relation::Sibling,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    const RELATIONS: [Relation; 5] = [
        Relation::Child,
        Relation::Descendant,
        Relation::Parent,
        Relation::Ancestor,
        Relation::Sibling,
    ];

    fn family(parents: &[u32]) -> Family {
        Family { parents: parents.to_vec(), ..Family::default() }
    }

    fn ask(family: &mut Family, relation: Relation, mode: Mode, l: &[u32], r: &[u32]) -> Vec<u32> {
        let mut out = Vec::new();
        family.combine(relation, mode, l, r, &mut out);
        out
    }

    /// Whether `other` is related to `span`, by definition.
    fn is_related(parents: &[u32], relation: Relation, span: u32, other: u32) -> bool {
        let above = |span: u32| {
            let mut seen = Vec::new();
            let mut at = parents[span as usize];
            while at != NONE && !seen.contains(&at) {
                seen.push(at);
                at = parents[at as usize];
            }
            seen
        };
        let (parent, other_parent) = (parents[span as usize], parents[other as usize]);
        match relation {
            Relation::Child => other_parent == span,
            Relation::Parent => parent == other,
            Relation::Descendant => above(other).contains(&span),
            Relation::Ancestor => above(span).contains(&other),
            Relation::Sibling => span != other && parent != NONE && parent == other_parent,
        }
    }

    #[test]
    fn operators_give_what_their_definitions_say() {
        let mut random = Random(7);
        for _ in 0..3000 {
            let spans = 1 + random.below(9) as u32;
            // Any links: also circles, and several trees.
            let parents: Vec<u32> = (0..spans)
                .map(|span| match random.below(spans as usize + 2) as u32 {
                    parent if parent >= spans || parent == span => NONE,
                    parent => parent,
                })
                .collect();
            let mut side = || (0..spans).filter(|_| random.below(2) == 0).collect::<Vec<u32>>();
            let (left, right) = (side(), side());
            let mut family = family(&parents);
            for relation in RELATIONS {
                let of_right =
                    |r: &u32| left.iter().any(|l| is_related(&parents, relation, *l, *r));
                let of_left =
                    |l: &u32| right.iter().any(|r| is_related(&parents, relation, *l, *r));
                let related: Vec<u32> = right.iter().copied().filter(|r| of_right(r)).collect();
                let unrelated: Vec<u32> = right.iter().copied().filter(|r| !of_right(r)).collect();
                let mut both = related.clone();
                both.extend(left.iter().copied().filter(|l| of_left(l)));
                both.sort_unstable();
                both.dedup();
                for (mode, expected) in
                    [(Mode::Related, related), (Mode::Unrelated, unrelated), (Mode::Both, both)]
                {
                    assert_eq!(
                        ask(&mut family, relation, mode, &left, &right),
                        expected,
                        "{parents:?} {left:?} {relation:?} {mode:?} {right:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_deep_trace_is_walked_once() {
        let spans = 200_000u32;
        let parents: Vec<u32> = (0..spans).map(|span| span.wrapping_sub(1)).collect();
        let all: Vec<u32> = (0..spans).collect();
        let mut family = family(&parents);
        for relation in RELATIONS {
            for mode in [Mode::Related, Mode::Unrelated, Mode::Both] {
                ask(&mut family, relation, mode, &all, &all);
                ask(&mut family, relation, mode, &all[..1], &all);
                ask(&mut family, relation, mode, &all, &all[..1]);
                ask(&mut family, relation, mode, &all[spans as usize - 1..], &all);
            }
        }
    }
}
