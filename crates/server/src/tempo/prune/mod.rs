//! Span pruning: `span_pruning=true` of `/tempo/api/v2/traces/{id}` shows a summary in place of
//! many spans that are alike, as OpenTelemetry's span pruning processor makes it.
//!
//! | parameter | what it says | default |
//! |---|---|---|
//! | `span_pruning_group_by` | attributes whose values must be the same, as patterns | none |
//! | `span_pruning_min_spans` | so many leaves must be alike | 5 |
//! | `span_pruning_max_parent_depth` | so many levels above them may become summaries too; -1 for all | 1 |
//!
//! ```text
//!  leaves ──> alike? ──> summaries ──> parents that have nothing else below them ──> alike? ──> …
//! ```
//!
//! Leaves are alike if they have the same name, kind, status code, trace state and values of those
//! attributes, below parents of the same name. Two parents are enough, and their attributes do not
//! count; roots, and spans whose parent is not there, stay.
//!
//! | module | what it holds |
//! |---|---|
//! | `tree` | who is below whom |
//! | `pattern`, `key` | what makes spans alike |
//! | `groups` | which spans become one |
//! | `summary` | the span that stands for them |
//!
//! A trace is walked in rounds from its leaves upwards, and each span is looked at a fixed number
//! of times: it may be a chain of a hundred thousand spans, or a ring.

mod groups;
mod key;
mod pattern;
mod summary;
mod tree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use kymo_wire::encode::Writer;
use kymo_wire::{TracesView, View, WireError};

use crate::parameters::Parameters;
use groups::Groups;
use pattern::{EXPECTED, Patterns};
use tree::Tree;

/// How spans are to be pruned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pruning {
    group_by: Patterns,
    min_spans: usize,
    max_parent_depth: usize,
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pruned {
    /// It has not enough spans that are alike.
    Nothing,
    /// It has summaries already. Summaries of these would count wrongly, so it stays as it is.
    Before,
    /// It is this now.
    Now(Vec<u8>),
}

impl Pruning {
    /// What the parameters ask for; `None` for a trace as it is.
    pub(super) fn of(parameters: &Parameters) -> Result<Option<Self>, String> {
        if !parameters.switch("span_pruning")? {
            return Ok(None);
        }
        let group_by = parameters
            .read("span_pruning_group_by", EXPECTED, Patterns::parse)?
            .unwrap_or_default();
        let min_spans =
            parameters.read("span_pruning_min_spans", "a whole number from 2 on", |text| {
                text.parse().ok().filter(|count| *count >= 2)
            })?;
        let depth = "a number of levels or -1";
        let max_parent_depth =
            parameters.read("span_pruning_max_parent_depth", depth, |text| match text {
                "-1" => Some(usize::MAX),
                _ => text.parse().ok(),
            })?;
        Ok(Some(Self {
            group_by,
            min_spans: min_spans.unwrap_or(5),
            max_parent_depth: max_parent_depth.unwrap_or(1),
        }))
    }

    /// Prunes a trace, an encoded `TracesData`.
    pub(super) fn prune(&self, trace: &[u8]) -> Result<Pruned, WireError> {
        let tree = Tree::read(trace)?;
        if tree.has_summary {
            return Ok(Pruned::Before);
        }
        let groups = Groups::of(&tree, self)?;
        match groups.is_empty() {
            true => Ok(Pruned::Nothing),
            false => rewrite(trace, &tree, &groups).map(Pruned::Now),
        }
    }
}

/// The trace with each summary where the span was that it is made from. Scopes and resources that
/// have no span left are left out.
fn rewrite(trace: &[u8], tree: &Tree<'_>, groups: &Groups) -> Result<Vec<u8>, WireError> {
    let mut out = Writer::with_capacity(trace.len() / 2);
    let mut nodes = 0..;
    for resource in TracesView::parse(trace)?.resources {
        let resource = resource?;
        let mut scopes = Writer::new();
        for scope in resource.scopes {
            let scope = scope?;
            let mut spans = Writer::new();
            for (span, node) in scope.items.raws().zip(nodes.by_ref()) {
                match groups.of_node(node) {
                    None => spans.item_raw(span?),
                    Some(group) if group.template == node => {
                        summary::write(&mut spans, tree, groups, group)?;
                    }
                    Some(_) => {}
                }
            }
            if !spans.as_slice().is_empty() {
                scopes.scope_group(|out| {
                    scope.scope.iter().for_each(|scope| out.scope_raw(scope.raw));
                    out.raw(spans.as_slice());
                    out.scope_schema_url(scope.schema_url);
                });
            }
        }
        if !scopes.as_slice().is_empty() {
            out.resource_group(|out| {
                resource.resource.iter().for_each(|resource| out.resource_raw(resource.raw));
                out.raw(scopes.as_slice());
                out.resource_schema_url(resource.schema_url);
            });
        }
    }
    Ok(out.into_bytes())
}
