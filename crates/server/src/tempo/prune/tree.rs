//! The spans of a trace and who is below whom, as numbers.

use std::collections::HashMap;

use kymo_wire::{AnyValueView, SpanView, TracesView, View, WireError};

use super::summary::IS_SUMMARY;

/// A span.
#[derive(Debug)]
pub(super) struct Node<'a> {
    /// The whole message; few spans are looked into more than once.
    pub(super) raw: &'a [u8],
    pub(super) parent_id: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    /// The place of the parent, if it is there.
    pub(super) parent: Option<usize>,
    /// How many spans name this one as their parent.
    pub(super) children: usize,
    /// Other spans have the same id, and whose children are whose cannot be told. Such spans stay.
    pub(super) shares_id: bool,
}

impl<'a> Node<'a> {
    fn new(span: &SpanView<'a>) -> Self {
        Self {
            raw: span.raw,
            parent_id: span.parent_span_id,
            name: span.name,
            start_nanos: span.start_time_unix_nano,
            end_nanos: span.end_time_unix_nano,
            parent: None,
            children: 0,
            shares_id: false,
        }
    }

    /// The duration, below zero if the clock was set back.
    pub(super) fn duration_nanos(&self) -> i64 {
        let nanos = i128::from(self.end_nanos) - i128::from(self.start_nanos);
        nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The spans of a trace, in its order.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// The first span of each id.
    pub(super) by_id: HashMap<&'a [u8], usize>,
    /// Whether a span is a summary already.
    pub(super) has_summary: bool,
    /// The id of the trace.
    pub(super) trace_id: &'a [u8],
}

impl<'a> Tree<'a> {
    pub(super) fn read(trace: &'a [u8]) -> Result<Self, WireError> {
        let mut tree = Self::default();
        for resource in TracesView::parse(trace)?.resources {
            for scope in resource?.scopes {
                for span in scope?.items {
                    tree.add(&span?)?;
                }
            }
        }
        tree.relate();
        Ok(tree)
    }

    fn add(&mut self, span: &SpanView<'a>) -> Result<(), WireError> {
        let mut node = Node::new(span);
        let first = *self.by_id.entry(span.span_id).or_insert(self.nodes.len());
        if let Some(first) = self.nodes.get_mut(first) {
            first.shares_id = true;
            node.shares_id = true;
        }
        self.nodes.push(node);
        self.trace_id = span.trace_id;
        self.has_summary = self.has_summary || is_summary(span)?;
        Ok(())
    }

    fn relate(&mut self) {
        for node in 0..self.nodes.len() {
            let parent_id = self.nodes[node].parent_id;
            let parent = self.by_id.get(parent_id).copied().filter(|_| !parent_id.is_empty());
            self.nodes[node].parent = parent;
            if let Some(parent) = parent {
                self.nodes[parent].children += 1;
            }
        }
    }
}

fn is_summary(span: &SpanView<'_>) -> Result<bool, WireError> {
    for attribute in span.attributes {
        let attribute = attribute?;
        if attribute.key == IS_SUMMARY && attribute.value == AnyValueView::Bool(true) {
            return Ok(true);
        }
    }
    Ok(false)
}
