//! All events of a trace's spans in the order of time: the trace as a log.

use std::collections::BinaryHeap;

use kymo_wire::{EventView, View, text};
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

/// An event's time, row, place in its span, and bytes: of a span with many, none is looked for again.
type At<'t> = (u64, usize, usize, &'t [u8]);

impl Events {
    /// At most `limit` events behind the first `offset`.
    pub fn of(tree: &TraceTree, offset: usize, limit: usize) -> Result<Self, TraceError> {
        let limit = limit.clamp(1, EVENTS_MAX);
        let end = offset.saturating_add(limit);
        // The first of them, the last on top: of a million events few are held.
        let mut first: BinaryHeap<At<'_>> = BinaryHeap::new();
        let mut total = 0;
        for row in (0..tree.len()).filter(|row| tree.spans[*row].events > 0) {
            for (nth, event) in tree.view(row)?.events.into_iter().enumerate() {
                let event = event?;
                total += 1;
                first.push((event.time_unix_nano, row, nth, event.raw));
                if first.len() > end {
                    first.pop();
                }
            }
        }
        let chosen = first.into_sorted_vec().into_iter().skip(offset);
        let events = chosen.map(shown).collect::<Result<Vec<_>, _>>()?;
        let next = Some(end).filter(|end| *end < total);
        let (revision, t0) = (tree.revision(), tree.start_nanos.to_string());
        Ok(Self { revision, t0, events, total, truncated: next.is_some(), next })
    }
}

fn shown((time, row, _, raw): At<'_>) -> Result<ShownEvent, TraceError> {
    let event = EventView::parse(raw)?;
    Ok(ShownEvent {
        time: time.to_string(),
        row,
        name: text(event.name).into_owned(),
        attributes: attributes_of(event.attributes)?,
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

    #[test]
    fn a_span_with_a_hundred_thousand_events_takes_no_longer_than_many_spans() {
        let begun = std::time::Instant::now();
        let mut span = sent(1, 0, "s", "a", 1_000, 900_000);
        span.events = (0..100_000).map(|nth| (1_000 + nth, "step")).collect();
        let events = Events::of(&tree(&[span]), 90_000, 10_000).unwrap();
        assert_eq!((events.total, events.events.len(), events.next), (100_000, 10_000, None));
        assert_eq!(events.events[9_999].time, "100999");
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
