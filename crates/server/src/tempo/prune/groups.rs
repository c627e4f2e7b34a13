//! Which spans become one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use kymo_wire::WireError;

use super::Pruning;
use super::key::Keys;
use super::tree::Tree;

/// So many parents have to be alike.
const MIN_PARENTS: usize = 2;

/// Spans that become one.
#[derive(Debug)]
pub(super) struct Group {
    /// In the order of the trace.
    pub(super) members: Vec<usize>,
    /// The longest of them, and the first of those.
    pub(super) template: usize,
    /// The id of the summary.
    pub(super) summary_id: [u8; 8],
}

/// All groups of a trace.
#[derive(Debug)]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// The group of each span that is in one.
    by_node: Vec<Option<usize>>,
}

impl Groups {
    pub(super) fn of(tree: &Tree<'_>, pruning: &Pruning) -> Result<Self, WireError> {
        let mut groups = Self { groups: Vec::new(), by_node: vec![None; tree.nodes.len()] };
        let mut keys = Keys::new(tree, &pruning.group_by);
        let mut ids = SummaryIds::new(tree);
        let is_leaf = |node: &usize| tree.nodes[*node].children == 0;
        let leaves = (0..tree.nodes.len()).filter(|node| is_leaf(node) && !shares_id(tree, *node));
        let alike = alike(leaves, |node| keys.of_leaf(node))?;
        let mut grouped = groups.add(tree, alike, pruning.min_spans, &mut ids);

        let mut ungrouped_children: Vec<usize> =
            tree.nodes.iter().map(|node| node.children).collect();
        for _ in 0..pruning.max_parent_depth {
            let parents = freed(tree, &grouped, &mut ungrouped_children);
            if parents.is_empty() {
                break;
            }
            let alike = self::alike(parents, |node| keys.of_parent(node))?;
            grouped = groups.add(tree, alike, MIN_PARENTS, &mut ids);
        }
        Ok(groups)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group that a span is in.
    pub(super) fn of_node(&self, node: usize) -> Option<&Group> {
        self.by_node.get(node).copied().flatten().and_then(|group| self.groups.get(group))
    }

    /// Makes groups of those that are large enough, and gives the spans in them.
    fn add(
        &mut self,
        tree: &Tree<'_>,
        alike: Vec<Vec<usize>>,
        min_spans: usize,
        ids: &mut SummaryIds<'_, '_>,
    ) -> Vec<usize> {
        let mut grouped = Vec::new();
        for members in alike.into_iter().filter(|members| members.len() >= min_spans) {
            // The least is the first of equals; the greatest would be the last.
            let longest_first = |node: &usize| Reverse(tree.nodes[*node].duration_nanos());
            let Some(template) = members.iter().copied().min_by_key(longest_first) else {
                continue;
            };
            for member in &members {
                self.by_node[*member] = Some(self.groups.len());
            }
            grouped.extend_from_slice(&members);
            self.groups.push(Group { members, template, summary_id: ids.next() });
        }
        grouped
    }
}

fn shares_id(tree: &Tree<'_>, node: usize) -> bool {
    tree.nodes[node].shares_id
}

/// Spans with equal keys, by the first of them.
fn alike(
    nodes: impl IntoIterator<Item = usize>,
    mut key: impl FnMut(usize) -> Result<Vec<u8>, WireError>,
) -> Result<Vec<Vec<usize>>, WireError> {
    let mut by_key: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut alike: Vec<Vec<usize>> = Vec::new();
    for node in nodes {
        match by_key.entry(key(node)?) {
            Entry::Occupied(found) => alike[*found.get()].push(node),
            Entry::Vacant(place) => {
                place.insert(alike.len());
                alike.push(vec![node]);
            }
        }
    }
    Ok(alike)
}

/// Parents of which now all children are in groups, in the order of the trace. Counting children
/// down finds each of them once, however many rounds its children take; a ring never gets there.
fn freed(tree: &Tree<'_>, grouped: &[usize], ungrouped_children: &mut [usize]) -> Vec<usize> {
    let mut freed = Vec::new();
    for child in grouped {
        let Some(parent) = tree.nodes[*child].parent else { continue };
        ungrouped_children[parent] -= 1;
        let has_parent = tree.nodes[parent].parent.is_some();
        if ungrouped_children[parent] == 0 && has_parent && !shares_id(tree, parent) {
            freed.push(parent);
        }
    }
    freed.sort_unstable();
    freed
}

/// Ids that no span of the trace has, and the same ones whenever it is asked for: a walk through
/// all 64-bit numbers from a place that the trace's id gives (SplitMix64, which repeats none).
#[derive(Debug)]
struct SummaryIds<'t, 'a> {
    tree: &'t Tree<'a>,
    state: u64,
}

impl<'t, 'a> SummaryIds<'t, 'a> {
    fn new(tree: &'t Tree<'a>) -> Self {
        let state = tree.trace_id.last_chunk().copied().map_or(0, u64::from_be_bytes);
        Self { tree, state }
    }

    fn next(&mut self) -> [u8; 8] {
        loop {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.state;
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let id = (mixed ^ mixed >> 31).to_be_bytes();
            if id != [0; 8] && !self.tree.by_id.contains_key(id.as_slice()) {
                return id;
            }
        }
    }
}
