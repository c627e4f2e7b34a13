//! Traces in a list: what Jaeger UI shows of each trace that was found.

use kymo_engine::EngineError;
use kymo_engine::traceql::FoundTrace;

use super::messages::{ServiceSummary, TraceSummary};
use super::question::Question;
use super::reader::Reader;
use super::{ids, service};

/// Summaries of traces that answer a question, newest first.
pub(super) async fn find(
    reader: &Reader,
    question: &Question,
) -> Result<Vec<TraceSummary>, EngineError> {
    Ok(reader.find(question).await?.into_iter().map(summary).collect())
}

fn summary(trace: FoundTrace) -> TraceSummary {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let end_nanos = trace.start_nanos.saturating_add(trace.duration_nanos);
    TraceSummary {
        trace_id: ids::trace(&trace.trace_id),
        // Where there is no root, there is no name to be shown.
        root_service_name: match trace.root_name {
            Some(_) => service::shown(trace.root_service.unwrap_or_default()),
            None => String::new(),
        },
        root_operation_name: trace.root_name.unwrap_or_default(),
        min_start_time_unix_nano: u64::try_from(trace.start_nanos).unwrap_or(0),
        max_end_time_unix_nano: u64::try_from(end_nanos).unwrap_or(0),
        span_count: count(trace.services.iter().map(|service| service.spans).sum()),
        error_span_count: count(trace.services.iter().map(|service| service.errors).sum()),
        orphan_span_count: count(trace.orphans),
        services: trace
            .services
            .into_iter()
            .map(|service| ServiceSummary {
                name: service::shown(service.service),
                span_count: count(service.spans),
                error_span_count: count(service.errors),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_engine::traceql::ServiceStats;

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
            orphans: 1,
            newest_nanos: 0,
        };
        let summary = summary(found);
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
