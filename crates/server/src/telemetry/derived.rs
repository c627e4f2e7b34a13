//! What the worker counts that makes metrics of spans.

use std::fmt;

use prometheus_client::metrics::MetricType;

use super::gauges::{Out, Sources};
use crate::derive::TenantStatus;

/// A number of a tenant.
type OfTenant = (&'static str, &'static str, MetricType, fn(&TenantStatus) -> u64);

const OF_TENANTS: [OfTenant; 5] = [
    ("span_metrics_spans", "Spans that metrics were made of", MetricType::Counter, |t| t.spans),
    ("span_metrics_series", "Combinations of labels of span metrics", MetricType::Gauge, |t| {
        t.series as u64
    }),
    (
        "span_metrics_overflowed",
        "Spans and requests that were counted without labels since there were too many",
        MetricType::Counter,
        |t| t.overflowed,
    ),
    (
        "span_metrics_unpaired_spans",
        "Spans whose other side did not come",
        MetricType::Counter,
        |t| t.unpaired,
    ),
    (
        "span_metrics_dropped_spans",
        "Spans that could not wait for their other side",
        MetricType::Counter,
        |t| t.dropped,
    ),
];

impl Sources {
    pub(super) fn derived(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let Some(status) = &self.derived else { return Ok(()) };
        let tenants = status.tenants();
        for (name, help, kind, number) in OF_TENANTS {
            let counts = tenants.iter().map(|(tenant, status)| (&**tenant, number(status)));
            out.of_tenants(name, help, kind, counts)?;
        }
        let (lag_bytes, left_out) = (status.lag_bytes(), status.left_out());
        out.gauge(
            "span_metrics_lag_bytes",
            "Bytes of the journal of which span metrics are not stored yet",
            lag_bytes,
        )?;
        let left_out_help = "Requests whose spans are in no metric";
        out.counter("span_metrics_left_out_requests", left_out_help, left_out)?;
        let failed = status.failed_writes();
        out.counter("span_metrics_failed_writes", "Writes that failed and were repeated", failed)
    }
}
