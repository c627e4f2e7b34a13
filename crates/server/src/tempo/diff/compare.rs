//! Two traces, compared. Documents are made of this.

use kymo_wire::WireError;

use super::changes::{Change, changes};
use super::pairs::pair;
use super::spans::{Flat, Identities, Identity, Status};
use super::tree::Tree;
use super::warnings::{Warning, warnings};

/// Spans that are one operation, and differ. Where they are in their trees.
#[derive(Debug)]
pub(super) struct Modified<'a> {
    pub(super) base: usize,
    pub(super) compare: usize,
    pub(super) changes: Vec<Change<'a>>,
}

#[derive(Debug)]
pub(super) struct Comparison<'a> {
    identities: Identities<'a>,
    pub(super) base: Tree<'a>,
    pub(super) compare: Tree<'a>,
    /// Spans that both have.
    pub(super) matched: usize,
    pub(super) modified: Vec<Modified<'a>>,
    /// Spans of the second trace alone.
    pub(super) added: Vec<usize>,
    /// Spans of the first alone.
    pub(super) removed: Vec<usize>,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Comparison<'a> {
    /// Compares two encoded `TracesData`. Takes time in proportion to their spans, but for sorting.
    pub(super) fn of(base: &'a [u8], compare: &'a [u8]) -> Result<Self, WireError> {
        let mut identities = Identities::default();
        let base = Tree::of(Flat::read(base, &mut identities)?);
        let compare = Tree::of(Flat::read(compare, &mut identities)?);
        let warnings = warnings(&base, &compare, &identities);
        let (modified, added, removed) = (Vec::new(), Vec::new(), Vec::new());
        let mut comparison =
            Self { identities, base, compare, matched: 0, modified, added, removed, warnings };
        comparison.fill()?;
        Ok(comparison)
    }

    fn fill(&mut self) -> Result<(), WireError> {
        let mut is_left = vec![true; self.base.nodes.len()];
        for (compare, base) in pair(&self.base, &self.compare).into_iter().enumerate() {
            let Some(base) = base else {
                self.added.push(compare);
                continue;
            };
            is_left[base] = false;
            self.matched += 1;
            let (before, after) = (&self.base.nodes[base].span, &self.compare.nodes[compare].span);
            let changes = changes(before, after)?;
            if !changes.is_empty() {
                self.modified.push(Modified { base, compare, changes });
            }
        }
        self.removed.extend((0..is_left.len()).filter(|at| is_left[*at]));
        Ok(())
    }

    pub(super) fn identity(&self, tree: &Tree<'a>, at: usize) -> &Identity<'a> {
        self.identities.get(tree.nodes[at].span.identity)
    }

    /// Whether a span of a tree failed.
    pub(super) fn is_error(tree: &Tree<'_>, at: usize) -> bool {
        tree.nodes[at].span.status == Status::Error
    }

    /// What paths take in a patch, between their brackets.
    pub(super) fn path_bytes(&self) -> u64 {
        let (base, compare) = (&self.base, &self.compare);
        let modified = self.modified.iter().map(|span| compare.nodes[span.compare].path_bytes);
        let added = self.added.iter().copied();
        let added = added.map(|at| compare.nodes[at].path_bytes + compare.parent_path_bytes(at));
        let removed = self.removed.iter().map(|at| 2 * base.nodes[*at].path_bytes);
        modified.chain(added).chain(removed).sum()
    }
}
