//! Rows of `critical_path`: what the end of a trace waited for.
//!
//! From the end of a span backwards: its child that ended last is what it waited for; before that
//! child began, it waited for the one that had ended last by then, and so on. What lies between is
//! the span itself. Children are taken as far as they lie within their parent, so that clocks that
//! differ and work that outlasts who began it do no harm.
//!
//! If a trace has one root, it is the root's path; spans whose parent is missing count as its
//! children. If it has none or several, the path leads from the first start to the last end
//! over all that stand at the top, and where nothing ran it has rows without a span.
//!
//! The rows follow each other without a gap, so that their times add up to the whole.

use super::forest::Forest;
use super::spans::Span;

/// A stretch of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Whose it is; `None` where nothing ran.
    pub(super) span: Option<u32>,
    pub(super) depth: u32,
    pub(super) from: i64,
    pub(super) to: i64,
    /// By how much the span could take less before its parent would wait for another child
    /// instead.
    pub(super) slack_nanos: i64,
}

/// The path, by time.
pub(super) fn stretches(spans: &[Span], forest: &Forest) -> Vec<Stretch> {
    let walk = Walk { spans, forest };
    let Some(mut frames) = walk.begin().map(|first| vec![first]) else { return Vec::new() };
    let mut found = Vec::new();
    while let Some(frame) = frames.last_mut() {
        let child = walk.next(frame);
        let from = child.as_ref().map_or(frame.from, |child| child.at);
        if from < frame.at {
            found.push(Stretch {
                span: frame.span,
                depth: frame.depth,
                from,
                to: frame.at,
                slack_nanos: frame.slack_nanos,
            });
        }
        match child {
            Some(child) => {
                frame.at = child.from;
                frames.push(child);
            }
            None => drop(frames.pop()),
        }
    }
    found.reverse();
    found
}

struct Walk<'a> {
    spans: &'a [Span],
    forest: &'a Forest,
}

/// A span on the path, on the way back through it.
struct Frame {
    span: Option<u32>,
    depth: u32,
    /// Where it begins, as far as it is looked at.
    from: i64,
    /// How far back the path is.
    at: i64,
    slack_nanos: i64,
    /// Children by end, those that ended last at the end.
    children: Vec<Child>,
}

/// A child as far as it lies within its parent.
#[derive(Debug, Clone, Copy)]
struct Child {
    span: u32,
    from: i64,
    to: i64,
}

impl Walk<'_> {
    fn begin(&self) -> Option<Frame> {
        let tops = &self.forest.tops;
        if let Some(root) = self.forest.only_root(self.spans) {
            let span = &self.spans[root as usize];
            let others = tops.iter().filter(|top| **top != root);
            let children = self.forest.children(root).iter().chain(others).copied();
            return Some(self.frame(Some(root), 0, span.start, span.end(), children));
        }
        let from = tops.iter().map(|top| self.spans[*top as usize].start).min()?;
        let to = tops.iter().map(|top| self.spans[*top as usize].end()).max()?;
        Some(self.frame(None, 0, from, to, tops.iter().copied()))
    }

    fn frame(
        &self,
        span: Option<u32>,
        depth: u32,
        from: i64,
        to: i64,
        children: impl Iterator<Item = u32>,
    ) -> Frame {
        let within = |child: u32| {
            let of = &self.spans[child as usize];
            Child { span: child, from: of.start.max(from), to: of.end().min(to) }
        };
        let mut children: Vec<Child> =
            children.map(within).filter(|child| child.from < child.to).collect();
        // Of those that ended at once, the one that really ended last, then the longest.
        children.sort_by(|a, b| {
            let end = |child: &Child| self.spans[child.span as usize].end();
            let order = a.to.cmp(&b.to).then_with(|| end(a).cmp(&end(b)));
            order.then(b.from.cmp(&a.from)).then(b.span.cmp(&a.span))
        });
        Frame { span, depth, from, at: to, slack_nanos: to.saturating_sub(from), children }
    }

    /// The child that a frame waited for before it is where it is now.
    fn next(&self, frame: &mut Frame) -> Option<Frame> {
        let child = loop {
            let child = frame.children.pop()?;
            // One that ended later ran beside what the path leads through.
            if child.to <= frame.at {
                break child;
            }
        };
        // The top of a trace without a root is no span that has a depth.
        let depth = if frame.span.is_some() { frame.depth + 1 } else { 0 };
        let children = self.forest.children(child.span).iter().copied();
        let mut next = self.frame(Some(child.span), depth, child.from, child.to, children);
        let runner_up = frame.children.last().map_or(child.from, |other| other.to.max(child.from));
        next.slack_nanos = child.to.saturating_sub(runner_up);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::forest::tests::span;
    use super::super::spans::sorted;
    use super::*;

    fn shown(spans: &[Span]) -> Vec<(String, i64, i64, i64)> {
        let name = |span: Option<u32>| {
            span.map_or("-".to_owned(), |nth| spans[nth as usize].name.to_string())
        };
        let path = stretches(spans, &Forest::new(spans));
        for pair in path.windows(2) {
            assert_eq!(pair[0].to, pair[1].from, "{path:?}");
        }
        path.iter().map(|s| (name(s.span), s.from, s.to, s.slack_nanos)).collect()
    }

    fn rows(rows: &[(&str, i64, i64, i64)]) -> Vec<(String, i64, i64, i64)> {
        rows.iter()
            .map(|(name, from, to, slack)| ((*name).to_owned(), *from, *to, *slack))
            .collect()
    }

    #[test]
    fn the_path_leads_through_the_children_that_ended_last() {
        let spans = sorted([
            span(1, 0, 0, 100),
            span(2, 1, 10, 40),
            span(3, 1, 10, 60),
            span(4, 1, 70, 90),
            span(5, 3, 20, 50),
        ]);
        let expected = [
            ("s1", 0, 10, 100),
            ("s3", 10, 20, 20),
            ("s5", 20, 50, 30),
            ("s3", 50, 60, 20),
            ("s1", 60, 70, 100),
            ("s4", 70, 90, 20),
            ("s1", 90, 100, 100),
        ];
        assert_eq!(shown(&spans), rows(&expected));
    }

    #[test]
    fn clocks_that_differ_and_work_that_outlasts_its_parent_do_no_harm() {
        let spans = sorted([
            span(1, 0, 100, 200),
            // Begins before its parent, ends after it, and one that is over before it begins.
            span(2, 1, 50, 150),
            span(3, 1, 180, 500),
            span(4, 1, 10, 20),
            span(5, 1, 300, 400),
            span(6, 1, 170, 160),
        ]);
        let expected = [("s2", 100, 150, 50), ("s1", 150, 180, 100), ("s3", 180, 200, 20)];
        assert_eq!(shown(&spans), rows(&expected));
    }

    #[test]
    fn without_one_root_it_leads_from_the_first_start_to_the_last_end() {
        let missing = sorted([span(2, 9, 0, 10), span(3, 9, 20, 30), span(4, 3, 22, 24)]);
        let expected = [
            ("s2", 0, 10, 10),
            ("-", 10, 20, 30),
            ("s3", 20, 22, 10),
            ("s4", 22, 24, 2),
            ("s3", 24, 30, 10),
        ];
        assert_eq!(shown(&missing), rows(&expected));
        // An orphan counts as the one root's child.
        let orphan = sorted([span(1, 0, 0, 10), span(2, 9, 4, 8)]);
        let expected = [("s1", 0, 4, 10), ("s2", 4, 8, 4), ("s1", 8, 10, 10)];
        assert_eq!(shown(&orphan), rows(&expected));
        let circle = sorted([span(1, 2, 0, 10), span(2, 1, 2, 6)]);
        let expected = [("s1", 0, 2, 10), ("s2", 2, 6, 4), ("s1", 6, 10, 10)];
        assert_eq!(shown(&circle), rows(&expected));
        assert_eq!(shown(&[]), rows(&[]));
        assert_eq!(shown(&[span(1, 0, 5, 5)]), rows(&[]));
    }

    #[test]
    fn fifty_thousand_children_and_a_chain_as_long_are_done_in_no_time() {
        let begun = std::time::Instant::now();
        let wide = (2..=50_001).map(|id| span(id, 1, id as i64, id as i64 + 1));
        let wide = sorted(wide.chain([span(1, 0, 0, 60_000)]));
        assert_eq!(stretches(&wide, &Forest::new(&wide)).len(), 50_002);
        let deep: Vec<Span> =
            (1..=50_000).map(|id| span(id, id - 1, id as i64, 200_000 - id as i64)).collect();
        assert_eq!(stretches(&deep, &Forest::new(&deep)).len(), 99_999);
        // All end at once: each on the path in turn.
        let at_once: Vec<Span> =
            (1..=50_000).map(|id| span(id, u64::from(id > 1), id as i64, 90_000)).collect();
        assert_eq!(stretches(&at_once, &Forest::new(&at_once)).len(), 2);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
