//! Filters on spans that have several events and links.
//!
//! All conditions of a filter on events have to hold on one event, and all on links on one link:
//! there is a pair of an event and a link of which it is true. A span may have ten thousand of
//! each, and their pairs are too many. But most filters are a run of `&&` with operands that are
//! about one of both at most, and these need no pairs: some event has to pass those on events, and
//! some link those on links. Only an operand that is about both, such as
//! `event.id = link.id` or `event:name = "a" || link.b = 1`, is tried on pairs, and only on those
//! whose event and link pass the others.

use super::expression::{At, Node};
use super::reads::Reads;
use super::{List, Trace};

/// How the operands of a run of `&&` are divided by what they are about, in this order: the span
/// alone, events, links, both. What is no run is one operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    /// Where the first three parts end.
    ends: [usize; 3],
}

impl Conditions {
    /// Sorts the operands of a run.
    pub(super) fn of(root: &mut Node) -> Conditions {
        let part = |node: &Node| {
            let Reads { events, links, .. } = node.reads();
            usize::from(events) + 2 * usize::from(links)
        };
        if let Node::All(nodes) = root {
            nodes.sort_by_cached_key(part);
        }
        let mut ends = [0; 3];
        for node in operands(root) {
            ends.iter_mut().skip(part(node)).for_each(|end| *end += 1);
        }
        Conditions { ends }
    }

    /// Whether they are true of a span; `root` is what they were made of.
    pub(super) fn hold<'a, T: Trace>(self, root: &'a Node, at: At<'a, '_, T>) -> bool {
        let (nodes, [span_end, events_end, links_end]) = (operands(root), self.ends);
        let all = |nodes: &'a [Node], at: At<'a, '_, T>| nodes.iter().all(|node| node.holds(&at));
        if !all(&nodes[..span_end], at) {
            return false;
        }
        if span_end == nodes.len() {
            return true;
        }
        let (of_event, of_link) = (&nodes[span_end..events_end], &nodes[events_end..links_end]);
        let of_pair = &nodes[links_end..];
        if of_pair.is_empty() {
            return at.any_of(List::Events, !of_event.is_empty(), |at| all(of_event, at))
                && at.any_of(List::Links, !of_link.is_empty(), |at| all(of_link, at));
        }
        at.any_of(List::Events, true, |at| {
            all(of_event, at)
                && at.any_of(List::Links, true, |at| all(of_link, at) && all(of_pair, at))
        })
    }
}

impl<'a, 's, T: Trace> At<'a, 's, T> {
    /// Whether something holds with one of the events or links; if they are not asked for, or there
    /// are none, without one.
    pub(super) fn any_of(
        self,
        list: List,
        is_read: bool,
        mut holds: impl FnMut(At<'a, 's, T>) -> bool,
    ) -> bool {
        if !is_read {
            return holds(self);
        }
        let count = self.trace.elements(self.span, list);
        (0..count.max(1)).any(|nth| {
            let nth = (nth < count).then_some(nth);
            holds(match list {
                List::Events => At { event: nth, ..self },
                List::Links => At { link: nth, ..self },
            })
        })
    }
}

/// The operands of a run of `&&`; another node is its only operand.
fn operands(root: &Node) -> &[Node] {
    match root {
        Node::All(nodes) => nodes,
        other => std::slice::from_ref(other),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::tests::{Random, filter};
    use super::super::{Expression, Slots, Structure};
    use super::*;
    use crate::ast::Name;
    use crate::value::Value;

    /// A span, and how often it was asked for a value.
    struct Busy {
        names: Vec<Name>,
        own: i64,
        events: Vec<[i64; 2]>,
        links: Vec<[i64; 2]>,
        asked: Cell<usize>,
    }

    impl Busy {
        fn value_of(&self, slot: usize, of: [i64; 2]) -> Value<'_> {
            self.asked.set(self.asked.get() + 1);
            match self.names[slot].to_string().ends_with('a') {
                true => Value::Int(of[0]),
                false => Value::Int(of[1]),
            }
        }
    }

    impl Trace for Busy {
        fn spans(&self) -> usize {
            1
        }
        fn value(&self, _span: usize, slot: usize) -> Value<'_> {
            self.value_of(slot, [self.own; 2])
        }
        fn elements(&self, _span: usize, list: List) -> usize {
            match list {
                List::Events => self.events.len(),
                List::Links => self.links.len(),
            }
        }
        fn element_value(&self, _span: usize, slot: usize, nth: usize) -> Value<'_> {
            let of = match self.names[slot].list() {
                Some(List::Links) => self.links[nth],
                _ => self.events[nth],
            };
            self.value_of(slot, of)
        }
        fn parent(&self, _span: usize) -> Option<usize> {
            None
        }
        fn is_root(&self, _span: usize) -> bool {
            true
        }
    }

    #[test]
    fn events_and_links_are_not_paired_unless_a_condition_is_about_both() {
        let mut slots = Slots::new();
        let text = "{ event.a = 1 && link.a = 1 && span.a = 1 && event.b = 2 && link.b = 2 }";
        let expression = Expression::new(&filter(text), &mut slots).unwrap();
        let many = |last| {
            let mut elements = vec![[1, 0]; 10_000];
            elements.push(last);
            elements
        };
        let mut busy = Busy {
            names: slots.names().to_vec(),
            own: 1,
            events: many([1, 2]),
            links: many([1, 2]),
            asked: Cell::new(0),
        };
        assert!(expression.matches(&busy, 0));
        assert!(busy.asked.get() <= 2 * 20_002 + 1, "{}", busy.asked.get());
        busy.links = many([0, 2]);
        assert!(!expression.matches(&busy, 0));
        // The span is asked first, and once.
        (busy.own, busy.asked) = (0, Cell::new(0));
        assert!(!expression.matches(&busy, 0));
        assert_eq!(busy.asked.get(), 1);
    }

    /// Something true or false of the span, of events, of links, or of several of them.
    fn condition(random: &mut Random, depth: usize) -> String {
        let value = |random: &mut Random| {
            let names = ["event.a", "event.b", "link.a", "link.b", "span.a"];
            names[random.below(names.len())]
        };
        match random.below(if depth == 0 { 3 } else { 7 }) {
            0 | 1 => format!("{} = {}", value(random), random.below(3)),
            2 => format!("{} != {}", value(random), value(random)),
            3 => format!("!({})", condition(random, depth - 1)),
            4 => format!("({} || {})", condition(random, depth - 1), condition(random, depth - 1)),
            _ => format!("({} && {})", condition(random, depth - 1), condition(random, depth - 1)),
        }
    }

    #[test]
    fn a_filter_is_true_if_there_is_a_pair_of_which_it_is() {
        let mut random = Random(11);
        let mut found = [0; 2];
        for _ in 0..3_000 {
            let text = format!("{{ {} }}", condition(&mut random, 3));
            let mut slots = Slots::new();
            let expression = Expression::new(&filter(&text), &mut slots).unwrap();
            let elements = |random: &mut Random| -> Vec<[i64; 2]> {
                let count = random.below(4);
                (0..count).map(|_| [random.below(3) as i64, random.below(3) as i64]).collect()
            };
            let busy = Busy {
                names: slots.names().to_vec(),
                own: random.below(3) as i64,
                events: elements(&mut random),
                links: elements(&mut random),
                asked: Cell::new(0),
            };
            let structure = Structure::default();
            let expected =
                expression.any_pair(&busy, &structure, 0, |at| expression.root.holds(&at));
            assert_eq!(expression.matches(&busy, 0), expected, "{text}");
            found[usize::from(expected)] += 1;
        }
        assert!(found.iter().all(|count| *count > 500), "{found:?}");
    }
}
