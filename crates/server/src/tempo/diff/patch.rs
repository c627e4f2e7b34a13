//! `trace-patch-v0`: every difference, span by span.

use std::borrow::Cow;

use serde::Serialize;

use super::changes::{Change, Target};
use super::compare::Comparison;
use super::tree::{Path, Tree};
use super::warnings::Warning;

pub(super) const VERSION: &str = "trace-patch-v0";

#[derive(Debug, Serialize)]
pub(super) struct Patch<'c> {
    version: &'static str,
    base: Side,
    compare: Side,
    stats: Stats,
    /// In the order of the second trace, as `added`.
    modified: Vec<Modified<'c>>,
    added: Vec<Alone<'c>>,
    /// In the order of the first trace.
    removed: Vec<Alone<'c>>,
    warnings: &'c [Warning],
}

/// One of the two traces.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Side {
    trace_id: String,
    span_count: usize,
}

/// How many there are of what.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    span_count_a: usize,
    span_count_b: usize,
    matched_spans: usize,
    modified_spans: usize,
    added_spans: usize,
    removed_spans: usize,
    field_changes: usize,
    attribute_changes: usize,
    /// Events are not compared.
    event_changes: usize,
    /// A patch is whole, or it is not sent.
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Modified<'c> {
    span: Located<'c>,
    changes: &'c [Change<'c>],
}

/// An operation, and where it is.
#[derive(Debug, Serialize)]
struct Located<'c> {
    path: Path<'c>,
    service: Cow<'c, str>,
    name: Cow<'c, str>,
    kind: &'static str,
}

/// A span that one trace has alone.
#[derive(Debug, Serialize)]
struct Alone<'c> {
    target: Place<'c>,
    span: Snapshot<'c>,
}

/// From where it is taken, or where it is put.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "span", rename_all = "camelCase")]
struct Place<'c> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Path<'c>>,
    /// Roots are put below nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_path: Option<Path<'c>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Snapshot<'c> {
    #[serde(flatten)]
    located: Located<'c>,
    duration_nanos: i64,
    status: &'static str,
}

impl<'c> Patch<'c> {
    /// The patch, with its paths or with empty lists in their place.
    pub(super) fn of(comparison: &'c Comparison<'c>, shows_paths: bool) -> Self {
        let maker = Maker { comparison, shows_paths };
        let (base, compare) = (&comparison.base, &comparison.compare);
        let modified = comparison.modified.iter().map(|span| Modified {
            span: maker.located(compare, span.compare),
            changes: &span.changes,
        });
        let added = comparison.added.iter().map(|at| {
            let path = maker.path(compare, *at);
            let index = Some(compare.nodes[*at].nth);
            let target = Place { path: None, parent_path: path.parent(), index };
            Alone { target, span: maker.snapshot(compare, *at) }
        });
        let removed = comparison.removed.iter().map(|at| {
            let path = Some(maker.path(base, *at));
            let target = Place { path, parent_path: None, index: None };
            Alone { target, span: maker.snapshot(base, *at) }
        });
        Self {
            version: VERSION,
            base: Side::of(base),
            compare: Side::of(compare),
            stats: Stats::of(comparison),
            modified: modified.collect(),
            added: added.collect(),
            removed: removed.collect(),
            warnings: &comparison.warnings,
        }
    }
}

impl Side {
    fn of(tree: &Tree<'_>) -> Self {
        Self { trace_id: hex(tree.trace_id), span_count: tree.nodes.len() }
    }
}

impl Stats {
    fn of(comparison: &Comparison<'_>) -> Self {
        let (field_changes, attribute_changes) = change_counts(comparison);
        Self {
            span_count_a: comparison.base.nodes.len(),
            span_count_b: comparison.compare.nodes.len(),
            matched_spans: comparison.matched,
            modified_spans: comparison.modified.len(),
            added_spans: comparison.added.len(),
            removed_spans: comparison.removed.len(),
            field_changes,
            attribute_changes,
            event_changes: 0,
            truncated: false,
        }
    }
}

/// Changes of fields, and of attributes.
pub(super) fn change_counts(comparison: &Comparison<'_>) -> (usize, usize) {
    let changes = || comparison.modified.iter().flat_map(|span| &span.changes);
    let fields = changes().filter(|change| matches!(change.target, Target::Field { .. })).count();
    (fields, changes().count() - fields)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the parts of a patch.
struct Maker<'c> {
    comparison: &'c Comparison<'c>,
    shows_paths: bool,
}

impl<'c> Maker<'c> {
    fn path(&self, tree: &'c Tree<'c>, at: usize) -> Path<'c> {
        Path { tree, at, is_shown: self.shows_paths }
    }

    fn located(&self, tree: &'c Tree<'c>, at: usize) -> Located<'c> {
        let identity = self.comparison.identity(tree, at);
        let (service, name) = (identity.service(), identity.name());
        Located { path: self.path(tree, at), service, name, kind: identity.kind }
    }

    fn snapshot(&self, tree: &'c Tree<'c>, at: usize) -> Snapshot<'c> {
        let span = &tree.nodes[at].span;
        Snapshot {
            located: self.located(tree, at),
            duration_nanos: span.duration_nanos().unwrap_or(0),
            status: span.status.word(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, failed, span, string, with};
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;
    use serde_json::{Value, json};

    fn patch(base: Vec<Sent>, compare: Vec<Sent>) -> Value {
        let (base, compare) = (encoded(base), encoded(compare));
        let comparison = Comparison::of(&base, &compare).unwrap();
        let text = serde_json::to_string(&Patch::of(&comparison, true)).unwrap();
        let without = serde_json::to_string(&Patch::of(&comparison, false)).unwrap();
        assert_eq!(text.len() as u64, without.len() as u64 + comparison.path_bytes());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_patch_is_written_as_tempo_writes_it() {
        let base = vec![
            span(1, 0, "shop", "POST /checkout", 0, 100),
            with(span(2, 1, "inventory", "reserve", 10, 90), "cache.hit", string("yes")),
            span(3, 1, "fraud", "check", 95, 99),
        ];
        let retry = span(13, 12, "inventory", "retry", 20, 30);
        let compare = vec![
            span(11, 0, "shop", "POST /checkout", 0, 100),
            failed(span(12, 11, "inventory", "reserve", 10, 90)),
            retry,
            span(14, 0, "cron", "tick", 500, 501),
        ];
        let expected = json!({
            "version": "trace-patch-v0",
            "base": {"traceId": "07070707070707070707070707070707", "spanCount": 3},
            "compare": {"traceId": "07070707070707070707070707070707", "spanCount": 4},
            "stats": {
                "spanCountA": 3, "spanCountB": 4, "matchedSpans": 2, "modifiedSpans": 1,
                "addedSpans": 2, "removedSpans": 1, "fieldChanges": 1, "attributeChanges": 1,
                "eventChanges": 0, "truncated": false,
            },
            "modified": [{
                "span": {
                    "path": [0, 0], "service": "inventory", "name": "reserve", "kind": "client",
                },
                "changes": [
                    {"op": "modify", "target": {"type": "field", "name": "status"},
                     "before": "ok", "after": "error"},
                    {"op": "remove",
                     "target": {"type": "attribute", "scope": "span", "key": "cache.hit"},
                     "before": "yes", "after": null},
                ],
            }],
            "added": [
                {
                    "target": {"type": "span", "parentPath": [0, 0], "index": 0},
                    "span": {
                        "path": [0, 0, 0], "service": "inventory", "name": "retry",
                        "kind": "client", "duration_nanos": 10_000_000, "status": "ok",
                    },
                },
                {
                    "target": {"type": "span", "index": 1},
                    "span": {
                        "path": [1], "service": "cron", "name": "tick",
                        "kind": "client", "duration_nanos": 1_000_000, "status": "ok",
                    },
                },
            ],
            "removed": [{
                "target": {"type": "span", "path": [0, 1]},
                "span": {
                    "path": [0, 1], "service": "fraud", "name": "check",
                    "kind": "client", "duration_nanos": 4_000_000, "status": "ok",
                },
            }],
            "warnings": [],
        });
        assert_eq!(patch(base, compare), expected);
    }

    #[test]
    fn a_trace_is_not_different_from_itself() {
        let trace = || vec![span(1, 0, "a", "x", 0, 9), span(2, 1, "a", "y", 1, 2)];
        let patch = patch(trace(), trace());
        assert_eq!(patch["stats"]["matchedSpans"], 2);
        for list in ["modified", "added", "removed", "warnings"] {
            assert_eq!(patch[list], json!([]), "{list}");
        }
    }

    #[test]
    fn a_new_subtree_is_added_from_the_top() {
        let root = || span(1, 0, "a", "root", 0, 200);
        let compare = vec![
            root(),
            span(4, 3, "db", "third", 30, 50),
            span(3, 2, "cache", "second", 20, 60),
            span(2, 1, "b", "first", 10, 120),
        ];
        let patch = patch(vec![root()], compare);
        let added = patch["added"].as_array().unwrap();
        let names: Vec<&Value> = added.iter().map(|added| &added["span"]["name"]).collect();
        assert_eq!(names, ["first", "second", "third"]);
        let above: Vec<&Value> = added.iter().map(|added| &added["target"]["parentPath"]).collect();
        assert_eq!(above, [&json!([0]), &json!([0, 0]), &json!([0, 0, 0])]);
    }

    #[test]
    fn a_span_without_duration_is_shown_with_none() {
        let mut unset = span(2, 1, "a", "unset", 10, 20);
        unset.start_time_unix_nano = 0;
        let root = || span(1, 0, "a", "root", 0, 200);
        let patch = patch(vec![root()], vec![root(), unset]);
        assert_eq!(patch["added"][0]["span"]["duration_nanos"], 0);
        assert_eq!(patch["warnings"][0]["code"], "invalid_duration");
    }

    #[test]
    fn spans_of_circles_and_of_one_id_are_all_compared() {
        let trace = |name: &str| {
            vec![
                span(1, 2, "a", "x", 0, 9),
                span(2, 1, "a", "y", 1, 2),
                span(2, 1, "a", "z", 2, 3),
                span(3, 3, "a", name, 3, 4),
            ]
        };
        let stats = &patch(trace("before"), trace("after"))["stats"];
        let counts = ["spanCountA", "spanCountB", "matchedSpans", "addedSpans", "removedSpans"];
        assert_eq!(counts.map(|count| stats[count].as_u64().unwrap()), [4, 4, 3, 1, 1]);
    }

    #[test]
    fn empty_traces_have_an_empty_patch() {
        let patch = patch(Vec::new(), Vec::new());
        assert_eq!(patch["base"], json!({"traceId": "", "spanCount": 0}));
        assert_eq!(patch["warnings"].as_array().unwrap().len(), 2);
    }
}
