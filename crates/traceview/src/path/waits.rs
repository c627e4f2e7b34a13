//! What one span waited for among its children, and what it would have waited for otherwise.
//!
//! Nothing says which child had to wait for which. It is inferred: a child began after all that had
//! ended by then, so long after the last of them, its predecessor. So a child that would end later
//! than that one moves those that began after both. That is careful: slack is rather said too small
//! than too large.
//!
//! ```text
//! parent  ├──────────────────────────────────────┤
//! a         ├──────────┤                            waited for
//! b           ├────┤                                could end when a does
//! c                     ├───────────────────┤       waited for; a is its predecessor
//! d                  ├───────────────┤              could end when c does; if a took no time, c
//!                                                   would end before d: that bounds what a saves
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::forest::Place;

/// A child as far as it lies within its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    pub(super) span: u32,
    pub(super) from_nanos: i64,
    pub(super) to_nanos: i64,
    pub(super) is_waited_for: bool,
    /// By how much it could end later before its parent does.
    pub(super) slack_nanos: i64,
    /// Of those waited for: by how much the parent would end earlier if this took no time.
    pub(super) saving_nanos: i64,
    /// Of those waited for: from its end back to where the parent would wait for another.
    pub(super) room_nanos: i64,
}

impl Child {
    pub(super) fn outside(span: u32, from_nanos: i64, to_nanos: i64) -> Self {
        Self {
            span,
            from_nanos,
            to_nanos,
            is_waited_for: false,
            slack_nanos: 0,
            saving_nanos: 0,
            room_nanos: 0,
        }
    }

    fn nanos(&self) -> i64 {
        self.to_nanos.saturating_sub(self.from_nanos)
    }
}

/// What a span waited for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Children that take some time within the span, by end.
    pub(super) children: Vec<Child>,
    /// Children that do not.
    pub(super) outside: Vec<u32>,
    /// Those waited for, by time: places in `children`.
    chain: Vec<usize>,
}

impl Waits {
    pub(super) fn of(
        places: &[Place],
        (from_nanos, to_nanos): (i64, i64),
        children: impl Iterator<Item = u32>,
    ) -> Self {
        let mut waits = Self::default();
        for span in children {
            let place = &places[span as usize];
            let from = place.start_nanos.max(from_nanos);
            let to = place.end_nanos.min(to_nanos);
            if from < to {
                waits.children.push(Child::outside(span, from, to));
            } else {
                waits.outside.push(span);
            }
        }
        // Of those that ended at once, the one that really ended last, then the longest.
        waits.children.sort_unstable_by_key(|child| {
            let end_nanos = places[child.span as usize].end_nanos;
            (child.to_nanos, end_nanos, Reverse(child.from_nanos), Reverse(child.span))
        });
        let segments = waits.follow(to_nanos);
        let predecessors = waits.predecessors();
        waits.add_slack(&predecessors);
        waits.add_savings(&segments, &predecessors);
        waits
    }

    /// Those waited for, by time.
    pub(super) fn waited_for(&self) -> impl Iterator<Item = &Child> {
        self.chain.iter().map(|nth| &self.children[*nth])
    }

    /// By how much what ended at a time could have ended later.
    pub(super) fn slack_at(&self, nanos: i64) -> i64 {
        let behind = self.chain.partition_point(|nth| self.children[*nth].to_nanos < nanos);
        let Some(nth) = self.chain.get(behind) else { return 0 };
        let child = &self.children[*nth];
        if child.from_nanos < nanos { child.to_nanos.saturating_sub(nanos) } else { 0 }
    }

    /// Finds those waited for, and for each child during which of them it ended.
    fn follow(&mut self, to_nanos: i64) -> Vec<usize> {
        let mut segments = vec![0; self.children.len()];
        let mut at = to_nanos;
        for nth in (0..self.children.len()).rev() {
            if self.children[nth].to_nanos <= at {
                let before = nth.checked_sub(1).map(|before| self.children[before].to_nanos);
                let child = &mut self.children[nth];
                let runner_up = before.unwrap_or(i64::MIN).max(child.from_nanos);
                child.is_waited_for = true;
                child.room_nanos = child.to_nanos.saturating_sub(runner_up);
                at = child.from_nanos;
                self.chain.push(nth);
            }
            // It ran beside the one that was found last, or is it.
            segments[nth] = self.chain.len() - 1;
        }
        self.chain.reverse();
        for segment in &mut segments {
            *segment = self.chain.len() - 1 - *segment;
        }
        segments
    }

    /// For each child the one that had ended last when it began.
    fn predecessors(&self) -> Vec<Option<usize>> {
        let ended_by = |nanos| self.children.partition_point(|child| child.to_nanos <= nanos);
        self.children.iter().map(|child| ended_by(child.from_nanos).checked_sub(1)).collect()
    }

    /// A child can end as late as the parent does not notice: all that began after it had ended can
    /// begin no later than their predecessors and their own slack allow.
    fn add_slack(&mut self, predecessors: &[Option<usize>]) {
        // The least slack of those whose predecessor a child is.
        let mut slack_behind = vec![i64::MAX; self.children.len()];
        let mut latest = self.children.last().map_or(0, |last| last.to_nanos);
        // Who began after another ended later, so that what it may is known by then. The predecessor
        // of those that began after a child is that child, or one that ended later.
        for nth in (0..self.children.len()).rev() {
            let child = &mut self.children[nth];
            latest = latest.min(child.to_nanos.saturating_add(slack_behind[nth]));
            child.slack_nanos = latest.saturating_sub(child.to_nanos);
            if let Some(before) = predecessors[nth] {
                slack_behind[before] = slack_behind[before].min(child.slack_nanos);
            }
        }
    }

    /// If one that was waited for took no time, all that began after it would come earlier. Those
    /// that did not would be waited for at some point, since they end later beside the others: the
    /// slack of each bounds what can be saved by all that come behind the last one it did begin
    /// after, up to the one it ended with.
    fn add_savings(&mut self, segments: &[usize], predecessors: &[Option<usize>]) {
        let mut bounds: Vec<(usize, usize, i64)> = Vec::new();
        // Behind how many of those waited for a child began.
        let mut begun_behind = vec![0; self.children.len()];
        for nth in 0..self.children.len() {
            begun_behind[nth] = match predecessors[nth] {
                _ if self.children[nth].is_waited_for => segments[nth] + 1,
                Some(before) => begun_behind[before],
                None => 0,
            };
            let (first, last) = (begun_behind[nth], segments[nth]);
            if first <= last {
                bounds.push((first, last, self.children[nth].slack_nanos));
            }
        }
        bounds.sort_unstable_by_key(|(first, ..)| *first);
        let mut bounds = bounds.into_iter().peekable();
        let mut open: BinaryHeap<(Reverse<i64>, usize)> = BinaryHeap::new();
        for (segment, nth) in self.chain.iter().enumerate() {
            while let Some((_, last, nanos)) = bounds.next_if(|(first, ..)| *first <= segment) {
                open.push((Reverse(nanos), last));
            }
            while open.peek().is_some_and(|(_, last)| *last < segment) {
                open.pop();
            }
            let least = open.peek().map_or(i64::MAX, |(Reverse(nanos), _)| *nanos);
            let child = &mut self.children[*nth];
            child.saving_nanos = child.nanos().min(least);
        }
    }
}
