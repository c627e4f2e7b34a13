//! Flames: spans merged by their path, of one trace or of many, of one side or of two.
//!
//! Spans with the same service and name under the same node are one node. Siblings are by weight,
//! the heaviest first. A node's **weight** is its own time and the weight of the nodes under it: it is
//! what nodes are drawn by, since children that ran at once took more together than their parent.
//!
//! Two sides, A and B, can be merged into one flame, for traces of before and after, or of two
//! branches. Each node has the numbers of both, so that what is slower can be coloured.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Serialize;

use crate::columns::cut;
use crate::limits::{FLAME_MAX_NODES, TEXT_MAX_BYTES};
use crate::tree::TraceTree;

/// Which side a trace is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is looked at.
    A,
    /// What it is compared with.
    B,
}

/// A flame, as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flame {
    /// Traces of side A and, if there are any, of side B.
    pub traces: Vec<usize>,
    /// Spans of the same.
    pub spans: Vec<u64>,
    /// Nodes in tree order: a parent before its children, siblings by weight.
    pub nodes: Vec<FlameNode>,
    /// Whether there were more: their time counts for the node above.
    pub truncated: bool,
}

/// Spans of one path.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlameNode {
    /// The node above; -1 at the top.
    pub parent: i64,
    /// 0 at the top.
    pub depth: u32,
    /// The name of the spans.
    pub name: String,
    /// Their service.
    pub service: String,
    /// Numbers of side A.
    pub a: FlameNumbers,
    /// Numbers of side B, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<FlameNumbers>,
}

/// Numbers of the spans of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlameNumbers {
    /// How many.
    pub count: u64,
    /// How many have the status error.
    pub errors: u64,
    /// What they took, all together.
    pub total_nanos: f64,
    /// The same without their children.
    pub self_nanos: f64,
    /// Own time of them and of all below.
    pub weight_nanos: f64,
    /// What of the critical paths is theirs.
    pub critical_nanos: f64,
}

impl FlameNumbers {
    fn add(&mut self, tree: &TraceTree, row: usize) {
        self.count += 1;
        self.errors += u64::from(tree.is_error(row));
        self.total_nanos += tree.nanos(row) as f64;
        self.self_nanos += tree.laid[row].self_nanos as f64;
        self.critical_nanos += tree.laid[row].critical_nanos as f64;
    }
}

/// Merges traces.
#[derive(Debug, Default)]
pub struct Flames {
    traces: [usize; 2],
    spans: [u64; 2],
    texts: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
    known: HashMap<(u32, u32, u32), u32>,
    nodes: Vec<Node>,
    is_truncated: bool,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    depth: u32,
    name: u32,
    service: u32,
    numbers: [FlameNumbers; 2],
}

/// No node: what is at the top has it above.
const NONE: u32 = u32::MAX;

impl Flames {
    /// Merges a trace into one side.
    pub fn add(&mut self, tree: &TraceTree, side: Side) {
        let side = side as usize;
        self.traces[side] += 1;
        self.spans[side] += tree.len() as u64;
        // The node of each row. A parent comes before its children.
        let mut node_of: Vec<u32> = Vec::with_capacity(tree.len());
        for (row, laid) in tree.laid.iter().enumerate() {
            let above = laid.parent.map_or(NONE, |parent| node_of[parent as usize]);
            let node = self.node(above, tree, row);
            if let Some(known) = self.nodes.get_mut(node as usize) {
                if node == above {
                    // There was no room for a node: its time is part of the one above.
                    let numbers = &mut known.numbers[side];
                    numbers.self_nanos += laid.self_nanos as f64;
                    numbers.critical_nanos += laid.critical_nanos as f64;
                } else {
                    known.numbers[side].add(tree, row);
                }
            }
            node_of.push(node);
        }
    }

    fn node(&mut self, above: u32, tree: &TraceTree, row: usize) -> u32 {
        if self.nodes.len() >= FLAME_MAX_NODES && self.is_truncated {
            let key = (above, self.known_text(tree.name(row)), self.known_text(tree.service(row)));
            return self.known.get(&key).copied().unwrap_or(above);
        }
        let key = (above, self.text(tree.name(row)), self.text(tree.service(row)));
        if let Some(node) = self.known.get(&key) {
            return *node;
        }
        if self.nodes.len() >= FLAME_MAX_NODES {
            self.is_truncated = true;
            return above;
        }
        let depth = self.nodes.get(above as usize).map_or(0, |above| above.depth + 1);
        let (parent, name, service) = key;
        self.nodes.push(Node { parent, depth, name, service, numbers: Default::default() });
        let node = self.nodes.len() as u32 - 1;
        self.known.insert(key, node);
        node
    }

    fn text(&mut self, bytes: &[u8]) -> u32 {
        if let Some(code) = self.texts.get(bytes) {
            return *code;
        }
        let code = self.names.len() as u32;
        self.names.push(cut(bytes, TEXT_MAX_BYTES).into_owned());
        self.texts.insert(bytes.to_vec(), code);
        code
    }

    fn known_text(&self, bytes: &[u8]) -> u32 {
        self.texts.get(bytes).copied().unwrap_or(NONE)
    }

    /// The flame. It has a side B if `has_b`, also if no trace is on it.
    pub fn finish(mut self, has_b: bool) -> Flame {
        self.add_weights();
        let order = self.order();
        let mut new_numbers = vec![-1i64; self.nodes.len()];
        let mut nodes = Vec::with_capacity(order.len());
        for (place, old) in order.into_iter().enumerate() {
            let node = &self.nodes[old as usize];
            new_numbers[old as usize] = place as i64;
            nodes.push(FlameNode {
                parent: new_numbers.get(node.parent as usize).copied().unwrap_or(-1),
                depth: node.depth,
                name: self.names[node.name as usize].clone(),
                service: self.names[node.service as usize].clone(),
                a: node.numbers[0],
                b: has_b.then_some(node.numbers[1]),
            });
        }
        let sides = if has_b { 2 } else { 1 };
        Flame {
            traces: self.traces[..sides].to_vec(),
            spans: self.spans[..sides].to_vec(),
            nodes,
            truncated: self.is_truncated,
        }
    }

    fn add_weights(&mut self) {
        // A node is made after the one above it.
        for node in (0..self.nodes.len()).rev() {
            let parent = self.nodes[node].parent as usize;
            for side in 0..2 {
                let numbers = &mut self.nodes[node].numbers[side];
                numbers.weight_nanos += numbers.self_nanos;
                let weight = numbers.weight_nanos;
                if let Some(above) = self.nodes.get_mut(parent) {
                    above.numbers[side].weight_nanos += weight;
                }
            }
        }
    }

    /// Nodes in tree order, siblings by weight.
    fn order(&self) -> Vec<u32> {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut tops = Vec::new();
        for (node, of) in self.nodes.iter().enumerate() {
            children.get_mut(of.parent as usize).unwrap_or(&mut tops).push(node as u32);
        }
        let weight = |node: u32| {
            let numbers = &self.nodes[node as usize].numbers;
            numbers[0].weight_nanos + numbers[1].weight_nanos
        };
        // The heaviest is taken from the end first.
        let lightest_first = |a: &u32, b: &u32| {
            let text = |node: u32| {
                let node = &self.nodes[node as usize];
                (&self.names[node.name as usize], &self.names[node.service as usize])
            };
            weight(*a).total_cmp(&weight(*b)).then_with(|| text(*b).cmp(&text(*a)))
        };
        tops.sort_unstable_by(lightest_first);
        let mut left = tops;
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = left.pop() {
            order.push(node);
            let mut below = std::mem::take(&mut children[node as usize]);
            below.sort_unstable_by(lightest_first);
            left.append(&mut below);
        }
        order
    }
}

/// The flame of one trace.
pub fn flame(tree: &TraceTree) -> Flame {
    let mut flames = Flames::default();
    flames.add(tree, Side::A);
    flames.finish(false)
}

/// What a trace is called: name and service of its main row.
pub fn title(tree: &TraceTree) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let row = tree.main_row()?;
    Some((cut(tree.name(row), TEXT_MAX_BYTES), cut(tree.service(row), TEXT_MAX_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Sent, sent, tree};

    fn shown(flame: &Flame) -> Vec<(i64, &str, u64, f64, f64, f64)> {
        let numbers =
            |node: &FlameNode| (node.a.total_nanos, node.a.self_nanos, node.a.weight_nanos);
        let show = |node: &'_ FlameNode| {
            let (total, own, weight) = numbers(node);
            (node.parent, node.a.count, total, own, weight)
        };
        flame
            .nodes
            .iter()
            .map(|node| {
                let (parent, count, total, own, weight) = show(node);
                (parent, &*node.name, count, total, own, weight)
            })
            .collect()
    }

    #[test]
    fn spans_of_one_path_are_one_node_and_the_heaviest_come_first() {
        let flame = flame(&tree(&[
            sent(1, 0, "s", "root", 1_000, 1_100),
            sent(2, 1, "s", "light", 1_000, 1_010),
            // At once: together more than their parent took.
            sent(3, 1, "s", "heavy", 1_000, 1_090),
            sent(4, 1, "s", "heavy", 1_000, 1_080),
            sent(5, 4, "s", "below", 1_000, 1_050),
            sent(6, 1, "other", "heavy", 1_000, 1_001),
        ]));
        let expected = [
            (-1, "root", 1, 100.0, 10.0, 191.0),
            (0, "heavy", 2, 170.0, 120.0, 170.0),
            (1, "below", 1, 50.0, 50.0, 50.0),
            (0, "light", 1, 10.0, 10.0, 10.0),
            (0, "heavy", 1, 1.0, 1.0, 1.0),
        ];
        assert_eq!(shown(&flame), expected);
        assert_eq!((flame.traces, flame.spans), (vec![1], vec![6]));
    }

    #[test]
    fn two_sides_have_numbers_each() {
        let mut flames = Flames::default();
        flames.add(&tree(&[sent(1, 0, "s", "root", 1_000, 1_010)]), Side::A);
        let b = [sent(1, 0, "s", "root", 1_000, 1_030), sent(2, 1, "s", "new", 1_000, 1_020)];
        flames.add(&tree(&b), Side::B);
        flames.add(&tree(&b), Side::B);
        let flame = flames.finish(true);
        assert_eq!(flame.traces, [1, 2]);
        let counts = |node: &FlameNode| (node.a.count, node.b.map(|b| b.count));
        let counts: Vec<_> = flame.nodes.iter().map(counts).collect();
        assert_eq!(counts, [(1, Some(2)), (0, Some(2))]);
    }

    #[test]
    fn there_are_no_more_nodes_than_can_be_drawn_and_no_time_is_lost() {
        let deep: Vec<Sent> =
            (1..=60_000).map(|id| sent(id, id - 1, "s", "link", id, 300_000 - id)).collect();
        let deep = flame(&tree(&deep));
        assert_eq!((deep.nodes.len(), deep.truncated), (FLAME_MAX_NODES, true));
        let whole = deep.nodes[0].a;
        assert_eq!(whole.weight_nanos, whole.total_nanos);
        let critical_nanos: f64 = deep.nodes.iter().map(|node| node.a.critical_nanos).sum();
        assert_eq!(critical_nanos, whole.total_nanos);
        let wide = (2..=60_000).map(|id| sent(id, 1, "s", &format!("n{id}"), id, id + 1));
        let wide: Vec<Sent> = wide.chain([sent(1, 0, "s", "root", 1, 60_001)]).collect();
        let wide = flame(&tree(&wide));
        assert_eq!((wide.nodes.len(), wide.nodes[0].a.weight_nanos), (FLAME_MAX_NODES, 60_000.0));
    }

    #[test]
    fn no_spans_are_no_nodes() {
        assert!(flame(&tree(&[])).nodes.is_empty());
    }
}
