//! `trace-summary-v0-native`: where to look, in a document that stays small.
//!
//! Figures are those of the traces themselves, not sums of the patch: a patch leaves out what lies
//! within tolerances, which may be much if it is so everywhere.

use std::borrow::Cow;

use serde::Serialize;

use super::compare::Comparison;
use super::patch::{change_counts, hex};
use super::services::{Service, Services, millis};
use super::tree::Tree;
use super::values::double;
use super::warnings::Warning;

pub(super) const VERSION: &str = "trace-summary-v0-native";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary<'c> {
    version: &'static str,
    base: Side<'c>,
    compare: Side<'c>,
    signals: Signals,
    trust: Trust,
    stats: Stats,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'c [Warning],
    changed_services: Vec<String>,
    services: Vec<Service>,
}

/// One of the two traces.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Side<'c> {
    trace_id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    root_service: Cow<'c, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    root_name: Cow<'c, str>,
    span_count: usize,
    error_span_count: usize,
    /// From the first start to the last end.
    duration_ms: i64,
    sum_span_duration_ms: i64,
    #[serde(skip)]
    duration_nanos: i128,
    #[serde(skip)]
    sum_nanos: i128,
}

/// Where figures went. Whether that is good is not for us to say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Signals {
    trace_latency: Signal,
    sum_span_duration: Signal,
    errors: Signal,
    span_count: Signal,
    structure: Signal,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Signal {
    Increased,
    Decreased,
    Unchanged,
    Changed,
}

impl Signal {
    fn of(delta: i64) -> Self {
        match delta.cmp(&0) {
            std::cmp::Ordering::Greater => Self::Increased,
            std::cmp::Ordering::Less => Self::Decreased,
            std::cmp::Ordering::Equal => Self::Unchanged,
        }
    }
}

/// How much of the traces could be compared at all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Trust {
    /// Of the larger trace.
    #[serde(serialize_with = "double")]
    matched_span_ratio: f64,
    /// Of the smaller: 1 if the other holds all of it.
    #[serde(serialize_with = "double")]
    structure_overlap: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    trace_latency_delta_ms: i64,
    sum_span_duration_delta_ms: i64,
    span_count_delta: i64,
    error_span_delta: i64,
    matched_spans: usize,
    modified_spans: usize,
    added_spans: usize,
    removed_spans: usize,
    field_changes: usize,
    attribute_changes: usize,
}

impl<'c> Summary<'c> {
    pub(super) fn of(comparison: &'c Comparison<'c>) -> Self {
        let base = Side::of(comparison, &comparison.base);
        let compare = Side::of(comparison, &comparison.compare);
        let services = Services::of(comparison);
        let stats = Stats::of(comparison, &base, &compare);
        Self {
            version: VERSION,
            signals: Signals::of(&stats, &services),
            trust: Trust::of(base.span_count, compare.span_count, comparison.matched),
            base,
            compare,
            stats,
            warnings: &comparison.warnings,
            changed_services: services.changed(),
            services: services.shown(),
        }
    }
}

impl<'c> Side<'c> {
    fn of(comparison: &'c Comparison<'c>, tree: &'c Tree<'c>) -> Self {
        let root = (!tree.nodes.is_empty()).then(|| comparison.identity(tree, 0));
        let is_error = |at: &usize| Comparison::is_error(tree, *at);
        let (duration_nanos, sum_nanos) = durations(tree);
        Self {
            trace_id: hex(tree.trace_id),
            root_service: root.map(|root| root.service()).unwrap_or_default(),
            root_name: root.map(|root| root.name()).unwrap_or_default(),
            span_count: tree.nodes.len(),
            error_span_count: (0..tree.nodes.len()).filter(is_error).count(),
            duration_ms: millis(duration_nanos),
            sum_span_duration_ms: millis(sum_nanos),
            duration_nanos,
            sum_nanos,
        }
    }
}

/// Nanoseconds from the first start to the last end, and those of all spans together. Times that
/// cannot be believed do not count.
fn durations(tree: &Tree<'_>) -> (i128, i128) {
    let (mut first_start, mut last_end, mut sum) = (u64::MAX, 0, 0);
    for span in tree.nodes.iter().map(|node| &node.span) {
        if let Some(nanos) = span.duration_nanos() {
            first_start = first_start.min(span.start_nanos);
            last_end = last_end.max(span.end_nanos);
            sum += i128::from(nanos);
        }
    }
    (i128::from(last_end.saturating_sub(first_start)), sum)
}

impl Stats {
    fn of(comparison: &Comparison<'_>, base: &Side<'_>, compare: &Side<'_>) -> Self {
        let delta = |base: usize, compare: usize| compare as i64 - base as i64;
        let (field_changes, attribute_changes) = change_counts(comparison);
        Self {
            // Of what was measured, not of what is shown: cut twice, a nanosecond could make one.
            trace_latency_delta_ms: millis(compare.duration_nanos - base.duration_nanos),
            sum_span_duration_delta_ms: millis(compare.sum_nanos - base.sum_nanos),
            span_count_delta: delta(base.span_count, compare.span_count),
            error_span_delta: delta(base.error_span_count, compare.error_span_count),
            matched_spans: comparison.matched,
            modified_spans: comparison.modified.len(),
            added_spans: comparison.added.len(),
            removed_spans: comparison.removed.len(),
            field_changes,
            attribute_changes,
        }
    }
}

impl Signals {
    fn of(stats: &Stats, services: &Services<'_>) -> Self {
        // A span that came or went is in a place that another count of spans has.
        let is_changed = services.are_rearranged();
        Self {
            trace_latency: Signal::of(stats.trace_latency_delta_ms),
            sum_span_duration: Signal::of(stats.sum_span_duration_delta_ms),
            errors: Signal::of(stats.error_span_delta),
            span_count: Signal::of(stats.span_count_delta),
            structure: if is_changed { Signal::Changed } else { Signal::Unchanged },
        }
    }
}

impl Trust {
    fn of(base: usize, compare: usize, matched: usize) -> Self {
        let part = |whole: usize| match (base, compare, whole) {
            (0, 0, _) => 1.0,
            (_, _, 0) => 0.0,
            _ => matched as f64 / whole as f64,
        };
        Self {
            matched_span_ratio: part(base.max(compare)),
            structure_overlap: part(base.min(compare)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, failed, span, string, with};
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;
    use serde_json::{Value, json};

    fn text(base: Vec<Sent>, compare: Vec<Sent>) -> String {
        let (base, compare) = (encoded(base), encoded(compare));
        let comparison = Comparison::of(&base, &compare).unwrap();
        serde_json::to_string(&Summary::of(&comparison)).unwrap()
    }

    fn summary(base: Vec<Sent>, compare: Vec<Sent>) -> Value {
        serde_json::from_str(&text(base, compare)).unwrap()
    }

    fn trace(version: &str, root_ms: u64, select_ms: u64) -> Vec<Sent> {
        let root = span(1, 0, "checkout", "GET /checkout", 0, root_ms);
        vec![
            with(root, "service.version", string(version)),
            span(2, 1, "checkout", "cache lookup", 10, 20),
            span(3, 1, "checkout", "db query", 20, 20 + select_ms),
        ]
    }

    #[test]
    fn a_summary_is_written_as_tempo_writes_it() {
        let mut compare = trace("v2", 110, 32);
        compare[1] = failed(compare[1].clone());
        let expected = concat!(
            r#"{"version":"trace-summary-v0-native","#,
            r#""base":{"traceId":"07070707070707070707070707070707","rootService":"checkout","#,
            r#""rootName":"GET /checkout","spanCount":3,"errorSpanCount":0,"durationMs":100,"#,
            r#""sumSpanDurationMs":140},"#,
            r#""compare":{"traceId":"07070707070707070707070707070707","rootService":"checkout","#,
            r#""rootName":"GET /checkout","spanCount":3,"errorSpanCount":1,"durationMs":110,"#,
            r#""sumSpanDurationMs":152},"#,
            r#""signals":{"traceLatency":"increased","sumSpanDuration":"increased","#,
            r#""errors":"increased","spanCount":"unchanged","structure":"unchanged"},"#,
            r#""trust":{"matchedSpanRatio":1,"structureOverlap":1},"#,
            r#""stats":{"traceLatencyDeltaMs":10,"sumSpanDurationDeltaMs":12,"spanCountDelta":0,"#,
            r#""errorSpanDelta":1,"matchedSpans":3,"modifiedSpans":2,"addedSpans":0,"#,
            r#""removedSpans":0,"fieldChanges":1,"attributeChanges":1},"#,
            r#""changedServices":["checkout"],"#,
            r#""services":[{"name":"checkout","sumSpanDurationDeltaMs":12,"modified":2,"added":0,"#,
            r#""removed":0,"newErrors":1,"resolvedErrors":0}]}"#,
        );
        assert_eq!(text(trace("v1", 100, 30), compare), expected);
    }

    #[test]
    fn signals_go_their_own_ways() {
        let root = |lasts| span(1, 0, "a", "GET", 0, lasts);
        let compare = vec![root(150), span(2, 1, "a", "x", 1, 2)];
        let expected = json!({
            "traceLatency": "increased", "sumSpanDuration": "increased", "errors": "decreased",
            "spanCount": "increased", "structure": "changed",
        });
        assert_eq!(summary(vec![failed(root(100))], compare)["signals"], expected);
    }

    #[test]
    fn the_structure_changes_when_a_span_moves_or_is_another() {
        let trace = |parent, name| {
            vec![
                span(1, 0, "a", "GET", 0, 100),
                span(2, 1, "a", "x", 1, 50),
                span(3, parent, "a", name, 2, 3),
            ]
        };
        let structure = |compare| summary(trace(1, "y"), compare)["signals"]["structure"].clone();
        assert_eq!(structure(trace(1, "y")), "unchanged");
        assert_eq!(structure(trace(2, "y")), "changed");
        assert_eq!(structure(trace(1, "z")), "changed");
    }

    #[test]
    fn times_that_cannot_be_believed_do_not_count() {
        let mut unset = span(2, 1, "checkout", "cache lookup", 10, 900);
        unset.start_time_unix_nano = 0;
        let root = span(1, 0, "checkout", "GET", 0, 100);
        let summary = summary(vec![root.clone(), unset.clone()], vec![root, unset]);
        assert_eq!(summary["base"]["durationMs"], 100);
        assert_eq!(summary["base"]["sumSpanDurationMs"], 100);
        assert_eq!(summary["signals"]["traceLatency"], "unchanged");
        assert_eq!(summary["warnings"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn deltas_are_those_of_nanoseconds() {
        let trace = |nanos| {
            let mut span = span(1, 0, "a", "GET", 0, 1);
            span.end_time_unix_nano = span.start_time_unix_nano + nanos;
            vec![span]
        };
        let summary = summary(trace(1_999_999), trace(2_000_000));
        assert_eq!(
            (&summary["base"]["durationMs"], &summary["compare"]["durationMs"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(summary["stats"]["traceLatencyDeltaMs"], 0);
        assert_eq!(summary["signals"]["traceLatency"], "unchanged");
    }

    #[test]
    fn trust_is_what_could_be_matched() {
        let ratios = |base, compare, matched| {
            let trust = Trust::of(base, compare, matched);
            (trust.matched_span_ratio, trust.structure_overlap)
        };
        assert_eq!(ratios(0, 0, 0), (1.0, 1.0));
        assert_eq!(ratios(0, 5, 0), (0.0, 0.0));
        assert_eq!(ratios(2, 8, 2), (0.25, 1.0));
        assert_eq!(ratios(10_000, 10_000, 9_999), (0.9999, 0.9999));
    }

    #[test]
    fn a_circle_has_a_root_and_nothing_has_none() {
        let circle = vec![span(1, 2, "a", "x", 10, 20), span(2, 1, "a", "y", 0, 30)];
        let summary = summary(circle, Vec::new());
        assert_eq!(summary["base"]["rootName"], "y");
        assert!(summary["compare"].get("rootName").is_none());
        assert_eq!(summary["compare"]["durationMs"], 0);
        assert_eq!(summary["warnings"][0]["code"], "zero_span_trace");
    }
}
