//! Traces in a list: what Jaeger UI shows of each trace that was found.

use std::collections::HashSet;

use futures::TryStreamExt;
use kymo_engine::EngineError;
use kymo_engine::traceql::FoundTrace;
use kymo_store::otlp::TraceResult;
use kymo_wire::{TracesView, View, WireError};

use super::ids;
use super::messages::{ServiceSummary, TraceSummary};
use super::question::Question;
use super::reader::Reader;

/// Summaries of traces that answer a question, newest first.
pub(super) async fn find(
    reader: &Reader,
    question: &Question,
) -> Result<Vec<TraceSummary>, EngineError> {
    let found = reader.find(question).await?;
    let trace_ids = found.iter().map(|trace| trace.trace_id).collect();
    // A search tells all but this, for which the whole trace has to be looked at.
    let orphans: Vec<_> = reader.traces(trace_ids, orphans).try_collect().await?;
    let summaries = found.into_iter().zip(orphans);
    Ok(summaries.map(|(trace, (_, orphans))| summary(trace, orphans.unwrap_or(0))).collect())
}

fn summary(trace: FoundTrace, orphans: usize) -> TraceSummary {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let end_nanos = trace.start_nanos.saturating_add(trace.duration_nanos);
    TraceSummary {
        trace_id: ids::trace(&trace.trace_id),
        root_service_name: trace.root_service.unwrap_or_default(),
        root_operation_name: trace.root_name.unwrap_or_default(),
        min_start_time_unix_nano: u64::try_from(trace.start_nanos).unwrap_or(0),
        max_end_time_unix_nano: u64::try_from(end_nanos).unwrap_or(0),
        span_count: count(trace.services.iter().map(|service| service.spans).sum()),
        error_span_count: count(trace.services.iter().map(|service| service.errors).sum()),
        orphan_span_count: count(orphans),
        services: trace
            .services
            .into_iter()
            .map(|service| ServiceSummary {
                name: service.service,
                span_count: count(service.spans),
                error_span_count: count(service.errors),
            })
            .collect(),
    }
}

/// Spans whose parent is not in the trace.
fn orphans(trace: &TraceResult) -> Result<usize, WireError> {
    let mut ids: HashSet<&[u8]> = HashSet::with_capacity(trace.spans);
    let mut parents = Vec::with_capacity(trace.spans);
    for group in TracesView::parse(&trace.body)?.resources {
        for scope in group?.scopes {
            for span in scope?.items {
                let span = span?;
                ids.insert(span.span_id);
                if ids::is_set(span.parent_span_id) {
                    parents.push(span.parent_span_id);
                }
            }
        }
    }
    Ok(parents.iter().filter(|parent| !ids.contains(*parent)).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_engine::traceql::ServiceStats;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    #[test]
    fn spans_without_their_parent_are_orphans() {
        let span = |id: u8, parent: &[u8]| Span {
            span_id: vec![id; 8],
            parent_span_id: parent.to_vec(),
            ..Default::default()
        };
        let spans = vec![span(1, &[]), span(2, &[0; 8]), span(3, &[1; 8]), span(4, &[9; 8])];
        let group = ResourceSpans {
            scope_spans: vec![ScopeSpans { spans, ..Default::default() }],
            ..Default::default()
        };
        let body = ExportTraceServiceRequest { resource_spans: vec![group] }.encode_to_vec();
        assert_eq!(orphans(&TraceResult { body, spans: 4, damaged_blocks: 0 }), Ok(1));
    }

    #[test]
    fn a_summary_adds_up_its_services() {
        let service =
            |name: &str, spans, errors| ServiceStats { service: name.to_owned(), spans, errors };
        let found = FoundTrace {
            trace_id: [1; 16],
            root_service: None,
            root_name: None,
            start_nanos: 1000,
            duration_nanos: 500,
            span_sets: Vec::new(),
            services: vec![service("a", 2, 1), service("b", 3, 0)],
            newest_nanos: 0,
        };
        let summary = summary(found, 1);
        assert_eq!((summary.span_count, summary.error_span_count), (5, 1));
        assert_eq!(summary.orphan_span_count, 1);
        assert_eq!(
            (summary.min_start_time_unix_nano, summary.max_end_time_unix_nano),
            (1000, 1500)
        );
        assert_eq!(summary.trace_id, "01010101010101010101010101010101");
        assert_eq!(summary.services[1].span_count, 3);
    }
}
