//! What changed in each service.

use std::collections::{BTreeMap, HashMap};

use kymo_wire::text;
use serde::Serialize;

use super::compare::Comparison;
use super::tree::Tree;

/// A service whose spans take so much more or less time together has changed, even if no span of
/// it did: a millisecond, and a twentieth of what it was.
const MIN_DRIFT_NANOS: i128 = 1_000_000;
const DRIFT_PART: i128 = 20;

/// A service in which spans changed, or the time that they take together.
#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Service {
    name: String,
    sum_span_duration_delta_ms: i64,
    modified: usize,
    added: usize,
    removed: usize,
    new_errors: usize,
    resolved_errors: usize,
}

/// What is counted of one service.
#[derive(Debug, Default)]
struct Tally {
    base_nanos: i128,
    compare_nanos: i128,
    modified: usize,
    added: usize,
    removed: usize,
    new_errors: usize,
    resolved_errors: usize,
    /// Its spans are not below the same operations as they were.
    is_rearranged: bool,
}

impl Tally {
    fn has_changed_spans(&self) -> bool {
        self.modified + self.added + self.removed > 0
    }

    fn has_drifted(&self) -> bool {
        is_drift(self.base_nanos, self.compare_nanos - self.base_nanos)
    }

    fn shown(&self, name: &[u8]) -> Service {
        Service {
            name: text(name).into_owned(),
            sum_span_duration_delta_ms: millis(self.compare_nanos - self.base_nanos),
            modified: self.modified,
            added: self.added,
            removed: self.removed,
            new_errors: self.new_errors,
            resolved_errors: self.resolved_errors,
        }
    }
}

fn is_drift(base_nanos: i128, delta_nanos: i128) -> bool {
    let is_large = delta_nanos.abs() >= MIN_DRIFT_NANOS;
    is_large && delta_nanos.abs() * DRIFT_PART >= base_nanos
}

/// Whole milliseconds, cut towards 0.
pub(super) fn millis(nanos: i128) -> i64 {
    let bound = if nanos < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(nanos / 1_000_000).unwrap_or(bound)
}

/// All services, by name.
#[derive(Debug)]
pub(super) struct Services<'c>(BTreeMap<&'c [u8], Tally>);

impl<'c> Services<'c> {
    pub(super) fn of(comparison: &'c Comparison<'c>) -> Self {
        let mut services = Self(BTreeMap::new());
        services.count_durations(comparison);
        services.count_changes(comparison);
        services.mark_rearranged(comparison);
        services
    }

    fn of_span(
        &mut self,
        comparison: &'c Comparison<'c>,
        tree: &Tree<'c>,
        at: usize,
    ) -> &mut Tally {
        self.0.entry(comparison.identity(tree, at).counted_service()).or_default()
    }

    fn count_durations(&mut self, comparison: &'c Comparison<'c>) {
        let nanos = |tree: &Tree<'_>, at: usize| {
            i128::from(tree.nodes[at].span.duration_nanos().unwrap_or(0))
        };
        for at in 0..comparison.base.nodes.len() {
            let tally = self.of_span(comparison, &comparison.base, at);
            tally.base_nanos += nanos(&comparison.base, at);
        }
        for at in 0..comparison.compare.nodes.len() {
            let tally = self.of_span(comparison, &comparison.compare, at);
            tally.compare_nanos += nanos(&comparison.compare, at);
        }
    }

    fn count_changes(&mut self, comparison: &'c Comparison<'c>) {
        let (base, compare) = (&comparison.base, &comparison.compare);
        for span in &comparison.modified {
            let was_error = Comparison::is_error(base, span.base);
            let is_error = Comparison::is_error(compare, span.compare);
            let tally = self.of_span(comparison, compare, span.compare);
            tally.modified += 1;
            tally.new_errors += usize::from(is_error && !was_error);
            tally.resolved_errors += usize::from(was_error && !is_error);
        }
        for at in &comparison.added {
            let tally = self.of_span(comparison, compare, *at);
            tally.added += 1;
            tally.new_errors += usize::from(Comparison::is_error(compare, *at));
        }
        for at in &comparison.removed {
            let tally = self.of_span(comparison, base, *at);
            tally.removed += 1;
            tally.resolved_errors += usize::from(Comparison::is_error(base, *at));
        }
    }

    /// Whatever the order of siblings: how often each operation is below each other one.
    fn mark_rearranged(&mut self, comparison: &'c Comparison<'c>) {
        let mut surplus: HashMap<_, (i64, &'c [u8])> = HashMap::new();
        for (tree, one) in [(&comparison.base, -1), (&comparison.compare, 1)] {
            for (at, node) in tree.nodes.iter().enumerate() {
                let service = comparison.identity(tree, at).counted_service();
                let place = (node.span.identity, tree.parent_identity(at));
                surplus.entry(place).or_insert((0, service)).0 += one;
            }
        }
        for (count, service) in surplus.into_values() {
            self.0.entry(service).or_default().is_rearranged |= count != 0;
        }
    }

    pub(super) fn are_rearranged(&self) -> bool {
        self.0.values().any(|tally| tally.is_rearranged)
    }

    /// Names of all in which something changed.
    pub(super) fn changed(&self) -> Vec<String> {
        let changed = self.0.iter().filter(|(_, tally)| {
            tally.has_changed_spans() || tally.has_drifted() || tally.is_rearranged
        });
        changed.map(|(name, _)| text(name).into_owned()).collect()
    }

    /// Those with figures, and the largest first.
    pub(super) fn shown(&self) -> Vec<Service> {
        let mut shown: Vec<Service> = self
            .0
            .iter()
            .filter(|(_, tally)| tally.has_changed_spans() || tally.has_drifted())
            .map(|(name, tally)| tally.shown(name))
            .collect();
        // Of equal ones the name decides, by which they come.
        shown.sort_by_key(|service| {
            let delta_ms = service.sum_span_duration_delta_ms.unsigned_abs();
            std::cmp::Reverse((delta_ms, service.new_errors))
        });
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, failed, span};
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;

    fn services(base: Vec<Sent>, compare: Vec<Sent>) -> (Vec<String>, Vec<Service>) {
        let (base, compare) = (encoded(base), encoded(compare));
        let comparison = Comparison::of(&base, &compare).unwrap();
        let services = Services::of(&comparison);
        (services.changed(), services.shown())
    }

    fn service(name: &str, delta_ms: i64) -> Service {
        Service { sum_span_duration_delta_ms: delta_ms, ..Tally::default().shown(name.as_bytes()) }
    }

    #[test]
    fn time_drifts_where_no_span_changes() {
        let trace = |lasts| {
            vec![
                span(1, 0, "front", "GET", 0, lasts),
                span(2, 1, "back", "work", 10, 10 + lasts),
                span(3, 2, "db", "SELECT", 20, 20 + lasts),
            ]
        };
        let (changed, shown) = services(trace(100), trace(113));
        assert_eq!(changed, ["back", "db", "front"]);
        assert_eq!(shown, [service("back", 13), service("db", 13), service("front", 13)]);
        assert_eq!(services(trace(100), trace(104)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn drift_is_a_millisecond_and_a_twentieth() {
        let max = i128::from(i64::MAX);
        for (base, delta, expected) in [
            (0, 1_000_000, true),
            (0, 999_999, false),
            (100_000_000, 5_000_000, true),
            (100_000_000, 4_999_999, false),
            (100_000_000, -5_000_000, true),
            (max, max / 20, false),
            (max, max / 20 + 1, true),
        ] {
            assert_eq!(is_drift(base, delta), expected, "{base} {delta}");
        }
    }

    #[test]
    fn errors_that_come_and_go_are_both_counted() {
        let trace = |first: Sent, second| vec![span(1, 0, "a", "root", 0, 100), first, second];
        let (x, y) = (|| span(2, 1, "a", "x", 10, 20), || span(3, 1, "a", "y", 30, 40));
        let (_, shown) = services(trace(x(), failed(y())), trace(failed(x()), y()));
        let expected =
            Service { modified: 2, new_errors: 1, resolved_errors: 1, ..service("a", 0) };
        assert_eq!(shown, [expected]);
        let z = span(4, 1, "a", "z", 10, 20);
        let (_, shown) = services(trace(failed(x()), y()), trace(failed(z), y()));
        let expected =
            Service { added: 1, removed: 1, new_errors: 1, resolved_errors: 1, ..service("a", 0) };
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn a_span_that_moves_changes_its_service_and_no_figure() {
        let trace = |parent| {
            vec![
                span(1, 0, "shop", "GET", 0, 100),
                span(2, 1, "auth", "authorize", 10, 20),
                span(3, parent, "db", "SELECT", 20, 30),
            ]
        };
        assert_eq!(services(trace(1), trace(2)), (vec!["db".to_owned()], Vec::new()));
        // Siblings that change places do not.
        let mut other = trace(1);
        other[2] = span(3, 1, "db", "SELECT", 5, 15);
        assert_eq!(services(trace(1), other), (Vec::new(), Vec::new()));
    }

    #[test]
    fn the_largest_change_comes_first_and_then_errors() {
        let trace = |slow, fails: fn(Sent) -> Sent| {
            let calm = |id, name| span(id, 0, name, "op", 0, 10);
            vec![calm(1, "b"), calm(2, "a"), fails(calm(3, "c")), span(4, 0, "z", "op", 0, slow)]
        };
        let mut compare = trace(1000, failed);
        for span in &mut compare[..2] {
            span.status = None;
        }
        let (_, shown) = services(trace(10, |span| span), compare);
        let names: Vec<&str> = shown.iter().map(|service| &*service.name).collect();
        assert_eq!(names, ["z", "c", "a", "b"]);
    }

    #[test]
    fn spans_without_a_service_are_counted_under_one_name() {
        let trace = || vec![span(1, 0, "", "x", 0, 1), span(2, 0, "<unknown>", "y", 2, 3)];
        let (changed, shown) = services(trace(), trace().into_iter().map(failed).collect());
        assert_eq!(changed, ["<unknown>"]);
        assert_eq!(shown, [Service { modified: 2, new_errors: 2, ..service("<unknown>", 0) }]);
    }

    #[test]
    fn sums_do_not_overflow() {
        let endless = |id| {
            let mut span = span(id, 0, "a", "x", 0, 1);
            (span.start_time_unix_nano, span.end_time_unix_nano) = (1, 1 << 63);
            span
        };
        let (_, shown) = services(Vec::new(), (1..4).map(endless).collect());
        assert_eq!(shown[0].sum_span_duration_delta_ms, 27_670_116_110_564);
        assert_eq!((millis(i128::MAX), millis(i128::MIN)), (i64::MAX, i64::MIN));
    }
}
