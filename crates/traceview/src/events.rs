//! All events of a trace's spans in the order of time: the trace as a log.

use std::collections::BinaryHeap;

use kymo_wire::text;
use serde::Serialize;

use crate::details::{Attribute, attributes_of};
use crate::error::TraceError;
use crate::limits::EVENTS_MAX;
use crate::tree::TraceTree;

/// Some events of a trace.
#[derive(Debug, Serialize)]
pub struct Events {
    /// See [`TraceTree::revision`].
    pub revision: String,
    /// The first start of the trace.
    pub t0: String,
    /// Events by time.
    pub events: Vec<ShownEvent>,
    /// How many there are in all.
    pub total: usize,
    /// Whether there are more behind these.
    pub truncated: bool,
    /// Where to go on then.
    pub next: Option<usize>,
}

/// An event.
#[derive(Debug, Serialize)]
pub struct ShownEvent {
    /// Nanoseconds since 1970.
    pub time: String,
    /// Whose it is.
    pub row: usize,
    /// What happened.
    pub name: String,
    attributes: Vec<Attribute>,
}

/// An event's time, row, and place in its span.
type At = (u64, usize, usize);

impl Events {
    /// At most `limit` events behind the first `offset`.
    pub fn of(tree: &TraceTree, offset: usize, limit: usize) -> Result<Self, TraceError> {
        let limit = limit.clamp(1, EVENTS_MAX);
        let end = offset.saturating_add(limit);
        // The first of them, the last on top: of a million events few are held.
        let mut first: BinaryHeap<At> = BinaryHeap::new();
        let mut total = 0;
        for row in (0..tree.len()).filter(|row| tree.spans[*row].events > 0) {
            for (nth, event) in tree.view(row)?.events.into_iter().enumerate() {
                total += 1;
                first.push((event?.time_unix_nano, row, nth));
                if first.len() > end {
                    first.pop();
                }
            }
        }
        let chosen = first.into_sorted_vec().into_iter().skip(offset);
        let events = chosen.map(|at| shown(tree, at)).collect::<Result<Vec<_>, _>>()?;
        let next = Some(end).filter(|end| *end < total);
        let (revision, t0) = (tree.revision(), tree.start_nanos.to_string());
        Ok(Self { revision, t0, events, total, truncated: next.is_some(), next })
    }
}

fn shown(tree: &TraceTree, (time, row, nth): At) -> Result<ShownEvent, TraceError> {
    let event = tree.view(row)?.events.into_iter().nth(nth).transpose()?;
    let attributes = event.map(|event| attributes_of(event.attributes)).transpose()?;
    Ok(ShownEvent {
        time: time.to_string(),
        row,
        name: event.map(|event| text(event.name).into_owned()).unwrap_or_default(),
        attributes: attributes.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};

    #[test]
    fn events_of_all_spans_are_in_the_order_of_time() {
        let mut spans =
            vec![sent(1, 0, "s", "a", 1_000, 1_100), sent(2, 1, "s", "b", 1_010, 1_020)];
        spans[0].events = vec![(1_050, "last"), (1_001, "first")];
        spans[1].events = vec![(1_015, "second")];
        let tree = tree(&spans);
        let shown = |offset, limit| {
            let events = Events::of(&tree, offset, limit).unwrap();
            assert_eq!(events.total, 3);
            let names: Vec<_> = events.events.into_iter().map(|e| (e.name, e.row)).collect();
            (names, events.next)
        };
        let event = |name: &str, row| (name.to_owned(), row);
        let all = vec![event("first", 0), event("second", 1), event("last", 0)];
        assert_eq!(shown(0, 10), (all.clone(), None));
        assert_eq!(shown(0, 2), (all[..2].to_vec(), Some(2)));
        assert_eq!(shown(2, 2), (all[2..].to_vec(), None));
    }
}
