//! Which span of one trace is which span of another.
//!
//! Spans of one identity are alike. First those are paired that have parents of one identity too,
//! or are both at the top; then those that are left, so that a span that came in between, or a branch
//! that moved, does not make all that is below it new. Among equals the order of the tree decides.

use std::hash::Hash;

use hashbrown::HashMap;

/// A span in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<I> {
    /// What it is: the same for spans that are alike, in both traces.
    pub identity: I,
    /// The place of its parent in the same list.
    pub parent: Option<usize>,
}

/// For each of `compare` the one of `base` that it is.
pub fn pair<I: Hash + Eq + Copy>(base: &[Member<I>], compare: &[Member<I>]) -> Vec<Option<usize>> {
    let mut paired = vec![None; compare.len()];
    let mut is_taken = vec![false; base.len()];
    let with_parent = |members: &[Member<I>], at: usize| {
        let parent = members[at].parent.map(|parent| members[parent].identity);
        (members[at].identity, parent)
    };
    pair_by(base, compare, with_parent, &mut paired, &mut is_taken);
    pair_by(base, compare, |members, at| members[at].identity, &mut paired, &mut is_taken);
    paired
}

/// Pairs what is left and has the same key. Each is looked at once, however many are alike.
fn pair_by<I, K: Hash + Eq>(
    base: &[Member<I>],
    compare: &[Member<I>],
    key: impl Fn(&[Member<I>], usize) -> K,
    paired: &mut [Option<usize>],
    is_taken: &mut [bool],
) {
    // From the last to the first, so that the first is taken from the end.
    let mut free: HashMap<K, Vec<usize>> = HashMap::new();
    for at in (0..base.len()).rev().filter(|at| !is_taken[*at]) {
        free.entry(key(base, at)).or_default().push(at);
    }
    for (at, slot) in paired.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
        *slot = free.get_mut(&key(compare, at)).and_then(Vec::pop);
        if let Some(taken) = *slot {
            is_taken[taken] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(members: &[(usize, Option<usize>)]) -> Vec<Member<usize>> {
        members
            .iter()
            .map(|(identity, parent)| Member { identity: *identity, parent: *parent })
            .collect()
    }

    #[test]
    fn a_span_in_between_leaves_what_is_below_it_paired() {
        let base = members(&[(1, None), (2, Some(0)), (3, Some(1))]);
        let compare = members(&[(1, None), (9, Some(0)), (2, Some(1)), (3, Some(2))]);
        assert_eq!(pair(&base, &compare), [Some(0), None, Some(1), Some(2)]);
    }

    #[test]
    fn parents_tell_equals_apart() {
        let base = members(&[(1, None), (2, Some(0)), (5, Some(1)), (3, Some(0)), (5, Some(3))]);
        let compare = members(&[(1, None), (3, Some(0)), (5, Some(1))]);
        assert_eq!(pair(&base, &compare), [Some(0), Some(3), Some(4)]);
    }

    #[test]
    fn equals_are_paired_in_order() {
        let of = |count: usize| {
            let calls = (0..count).map(|_| (2, Some(0)));
            members(&[(1, None)].into_iter().chain(calls).collect::<Vec<_>>())
        };
        assert_eq!(pair(&of(3), &of(2)), [Some(0), Some(1), Some(2)]);
        assert_eq!(pair(&of(1), &of(2)), [Some(0), Some(1), None]);
    }
}
