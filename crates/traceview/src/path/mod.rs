//! The critical path: what the end of a trace waited for, and what else could have been.
//!
//! From the end of a span backwards: its child that ended last is what it waited for; before that
//! child began, it waited for the one that had ended last by then, and so on (`waits`). What lies
//! between is the span itself. Children are taken as far as they lie within their parent, so that
//! clocks that differ and work that outlasts who began it do no harm.
//!
//! If a trace has one root, it is the root's path; spans whose parent is missing count as its
//! children. If it has none or several, the path leads from the first start to the last end
//! over all that stand at the top, and where nothing ran it has stretches without a span.
//!
//! Slack adds up from a span to the top: what its parent does not notice does not make the trace
//! longer, and beyond that the parent has slack of its own. Savings do not: a span can save no more
//! than the least of those above it.
//!
//! Each span is visited once, and its children are sorted once: O(n log n), without recursion.

mod waits;

use crate::forest::{Forest, Place};
use waits::{Child, Waits};

/// A stretch of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Whose it is; `None` where nothing ran.
    pub span: Option<u32>,
    /// Spans of the path above it.
    pub depth: u32,
    /// Where it begins.
    pub from_nanos: i64,
    /// Where it ends.
    pub to_nanos: i64,
    /// By how much the span could take less before its parent would wait for another child
    /// instead.
    pub room_nanos: i64,
}

/// The path, and what every span has to do with it, by its number in the forest.
#[derive(Debug, Default)]
pub struct Paths {
    /// The path by time. Stretches follow each other without a gap, so that they add up to the whole.
    pub stretches: Vec<Stretch>,
    /// Whether the path leads through a span.
    pub is_critical: Vec<bool>,
    /// By how much a span could end later without making the trace longer.
    pub slack_nanos: Vec<i64>,
    /// By how much the trace would be shorter if a span took no time. If it took `x` less, by the
    /// lesser of both.
    pub saving_nanos: Vec<i64>,
}

impl Paths {
    /// From the begin of the path to its end.
    pub fn duration_nanos(&self) -> i64 {
        let ends = self.stretches.first().zip(self.stretches.last());
        ends.map_or(0, |(first, last)| last.to_nanos.saturating_sub(first.from_nanos))
    }
}

/// Finds the path.
pub fn paths(places: &[Place], forest: &Forest) -> Paths {
    let mut walk = Walk {
        places,
        forest,
        found: Paths {
            stretches: Vec::new(),
            is_critical: vec![false; places.len()],
            slack_nanos: vec![0; places.len()],
            saving_nanos: vec![0; places.len()],
        },
        left: Vec::new(),
        path_end_nanos: 0,
    };
    walk.begin();
    while let Some(visit) = walk.left.pop() {
        if let Some(span) = visit.span {
            walk.visit(&visit, forest.children(span).iter().copied());
        }
    }
    let mut found = walk.found;
    found.stretches.sort_unstable_by_key(|stretch| stretch.from_nanos);
    found
}

struct Walk<'a> {
    places: &'a [Place],
    forest: &'a Forest,
    found: Paths,
    /// Spans whose children were not looked at.
    left: Vec<Visit>,
    path_end_nanos: i64,
}

/// A span, as far as it lies within its parent.
#[derive(Debug, Clone, Copy)]
struct Visit {
    /// `None` for the top of a trace that has not one root.
    span: Option<u32>,
    depth: u32,
    from_nanos: i64,
    to_nanos: i64,
    is_critical: bool,
    slack_nanos: i64,
    saving_nanos: i64,
    room_nanos: i64,
}

impl Walk<'_> {
    fn begin(&mut self) {
        let (places, forest) = (self.places, self.forest);
        let tops = forest.tops.iter().copied();
        match forest.only_root(places) {
            Some(root) => {
                let place = &places[root as usize];
                let top = self.top(Some(root), place.start_nanos, place.end_nanos);
                let children = forest.children(root).iter().copied();
                self.visit(&top, children.chain(tops.filter(|top| *top != root)));
            }
            None => {
                let from = tops.clone().map(|top| places[top as usize].start_nanos).min();
                let to = tops.clone().map(|top| places[top as usize].end_nanos).max();
                if let Some((from, to)) = from.zip(to) {
                    let top = self.top(None, from, to);
                    self.visit(&top, tops);
                }
            }
        }
    }

    fn top(&mut self, span: Option<u32>, from_nanos: i64, to_nanos: i64) -> Visit {
        let whole = to_nanos.saturating_sub(from_nanos);
        self.path_end_nanos = to_nanos;
        if let Some(span) = span {
            self.found.is_critical[span as usize] = whole > 0;
            self.found.saving_nanos[span as usize] = whole;
        }
        Visit {
            span,
            depth: 0,
            from_nanos,
            to_nanos,
            is_critical: whole > 0,
            slack_nanos: 0,
            saving_nanos: whole,
            room_nanos: whole,
        }
    }

    fn visit(&mut self, visit: &Visit, children: impl Iterator<Item = u32>) {
        let window = (visit.from_nanos, visit.to_nanos);
        let waits = Waits::of(self.places, window, children);
        if visit.is_critical {
            self.add_stretches(visit, &waits);
        }
        for child in &waits.children {
            let slack_nanos = visit.slack_nanos.saturating_add(child.slack_nanos);
            let is_critical = visit.is_critical && child.is_waited_for;
            let saving_nanos =
                if is_critical { visit.saving_nanos.min(child.saving_nanos) } else { 0 };
            self.enter(visit, child, is_critical, slack_nanos, saving_nanos);
        }
        for outside in &waits.outside {
            self.enter_outside(visit, &waits, *outside);
        }
    }

    fn enter(
        &mut self,
        above: &Visit,
        child: &Child,
        is_critical: bool,
        slack_nanos: i64,
        saving_nanos: i64,
    ) {
        let span = child.span as usize;
        self.found.is_critical[span] = is_critical;
        self.found.slack_nanos[span] = slack_nanos;
        self.found.saving_nanos[span] = saving_nanos;
        let has_children = !self.forest.children(child.span).is_empty();
        if is_critical || has_children {
            self.left.push(Visit {
                span: Some(child.span),
                // The top of a trace without a root is no span that has a depth.
                depth: if above.span.is_some() { above.depth + 1 } else { 0 },
                from_nanos: child.from_nanos,
                to_nanos: child.to_nanos,
                is_critical,
                slack_nanos,
                saving_nanos,
                room_nanos: child.room_nanos,
            });
        }
    }

    /// Enters a span that takes no time within its parent. If it lies there, it could end with what
    /// its parent waited for then; else nobody waits for it, and only the trace's end bounds it.
    fn enter_outside(&mut self, above: &Visit, waits: &Waits, span: u32) {
        let Place { start_nanos, end_nanos, .. } = self.places[span as usize];
        let is_within = start_nanos >= above.from_nanos && end_nanos <= above.to_nanos;
        let slack_nanos = if is_within {
            above.slack_nanos.saturating_add(waits.slack_at(end_nanos))
        } else {
            self.path_end_nanos.saturating_sub(end_nanos).max(0)
        };
        let child = Child::outside(span, start_nanos, end_nanos);
        self.enter(above, &child, false, slack_nanos, 0);
    }

    /// What of a span on the path is its own.
    fn add_stretches(&mut self, visit: &Visit, waits: &Waits) {
        let mut add = |from_nanos: i64, to_nanos: i64| {
            if from_nanos < to_nanos {
                let Visit { span, depth, room_nanos, .. } = *visit;
                let stretch = Stretch { span, depth, from_nanos, to_nanos, room_nanos };
                self.found.stretches.push(stretch);
            }
        };
        let mut from = visit.from_nanos;
        for child in waits.waited_for() {
            add(from, child.from_nanos);
            from = child.to_nanos;
        }
        add(from, visit.to_nanos);
    }
}

#[cfg(test)]
mod tests;
