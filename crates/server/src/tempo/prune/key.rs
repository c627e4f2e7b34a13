//! What makes spans alike, as bytes: spans whose keys are equal become one.
//!
//! Each part begins with its length or has a fixed one, so that no two lists of parts are the same
//! bytes.

use std::collections::{BTreeMap, HashMap};

use kymo_wire::{
    AnyValueView, KeyValueView, SpanView, View, WireError, array_values, kvlist_entries, text,
};

use super::pattern::Patterns;
use super::tree::Tree;

/// Makes the keys of a trace's spans.
#[derive(Debug)]
pub(super) struct Keys<'t, 'a> {
    tree: &'t Tree<'a>,
    group_by: &'t Patterns,
    /// Whether an attribute counts: a trace has many attributes of few names.
    counts: HashMap<&'a [u8], bool>,
}

impl<'t, 'a> Keys<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, group_by: &'t Patterns) -> Self {
        Self { tree, group_by, counts: HashMap::new() }
    }

    /// Of a span below which others became summaries.
    pub(super) fn of_parent(&self, node: usize) -> Result<Vec<u8>, WireError> {
        let mut key = Vec::with_capacity(64);
        common(&mut key, &SpanView::parse(self.tree.nodes[node].raw)?);
        Ok(key)
    }

    /// Of a span that nothing is below.
    pub(super) fn of_leaf(&mut self, node: usize) -> Result<Vec<u8>, WireError> {
        let node = &self.tree.nodes[node];
        let span = SpanView::parse(node.raw)?;
        let mut key = Vec::with_capacity(128);
        common(&mut key, &span);
        key.push(node.parent.is_some().into());
        if let Some(parent) = node.parent {
            part(&mut key, self.tree.nodes[parent].name);
        }
        if !self.group_by.is_empty() {
            let counted = by_name(span.attributes.into_iter(), |name| self.counts(name))?;
            entries(&mut key, counted)?;
        }
        Ok(key)
    }

    fn counts(&mut self, name: &'a [u8]) -> bool {
        let group_by = self.group_by;
        *self.counts.entry(name).or_insert_with(|| group_by.fits(&text(name)))
    }
}

fn common(key: &mut Vec<u8>, span: &SpanView<'_>) {
    part(key, span.name);
    key.extend_from_slice(&span.kind.to_le_bytes());
    key.extend_from_slice(&span.status.map_or(0, |status| status.code).to_le_bytes());
    // Spans that were sampled differently stand for different numbers of spans.
    part(key, span.trace_state);
}

fn part(key: &mut Vec<u8>, bytes: &[u8]) {
    key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    key.extend_from_slice(bytes);
}

/// In order of names; of a name that comes twice the last value counts.
type ByName<'a> = BTreeMap<&'a [u8], AnyValueView<'a>>;

fn by_name<'a>(
    entries: impl Iterator<Item = Result<KeyValueView<'a>, WireError>>,
    mut counts: impl FnMut(&'a [u8]) -> bool,
) -> Result<ByName<'a>, WireError> {
    let mut found = ByName::new();
    for entry in entries {
        let entry = entry?;
        if counts(entry.key) {
            found.insert(entry.key, entry.value);
        }
    }
    Ok(found)
}

fn entries(key: &mut Vec<u8>, entries: ByName<'_>) -> Result<(), WireError> {
    for (name, value_of) in entries {
        part(key, name);
        value(key, value_of)?;
    }
    Ok(())
}

/// Lists in lists are as deep as admission lets them be.
fn value(key: &mut Vec<u8>, value_of: AnyValueView<'_>) -> Result<(), WireError> {
    match value_of {
        AnyValueView::Empty | AnyValueView::StringIndex(_) => key.push(b'-'),
        AnyValueView::String(bytes) => {
            key.push(b's');
            part(key, bytes);
        }
        AnyValueView::Bytes(bytes) => {
            key.push(b'x');
            part(key, bytes);
        }
        AnyValueView::Bool(flag) => key.extend_from_slice(&[b'b', flag.into()]),
        AnyValueView::Int(number) => {
            key.push(b'i');
            key.extend_from_slice(&number.to_le_bytes());
        }
        AnyValueView::Double(number) => {
            key.push(b'd');
            key.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        AnyValueView::Array(raw) => {
            let mut inner = Vec::new();
            array_values(raw).try_for_each(|element| value(&mut inner, element?))?;
            key.push(b'a');
            part(key, &inner);
        }
        AnyValueView::KvList(raw) => {
            let mut inner = Vec::new();
            entries(&mut inner, by_name(kvlist_entries(raw), |_| true)?)?;
            key.push(b'o');
            part(key, &inner);
        }
    }
    Ok(())
}
