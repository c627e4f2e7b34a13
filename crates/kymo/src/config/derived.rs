//! Settings of metrics that are made of spans.

use std::time::Duration;

use super::setting::{Group, setting};
use super::table::SOME;
use super::value::Kind;

/// More often would be all that a server writes.
const INTERVAL: Kind = Kind::Duration { least: Duration::from_millis(100) };
/// Shorter than an interval, a series would end and begin all the time.
const IDLE: Kind = Kind::Duration { least: Duration::from_secs(60) };
const WAIT: Kind = Kind::Duration { least: Duration::from_millis(100) };
/// Each has a histogram in memory.
const SERIES: Kind = Kind::Count { least: 1, most: 10_000_000 };

/// Metrics of spans, and the service graph.
pub(super) const SPAN_METRICS: Group = Group {
    title: "Span metrics and service graph",
    settings: &[
        setting(
            "span_metrics.enabled",
            Kind::Switch,
            |c| &mut c.server.span_metrics.enabled,
            "Make metrics of spans as they are received: calls, latency and size by service, name, \
             kind and status, and who calls whom. Only where records are kept (store.enabled).",
        )
        .named("span-metrics", "SPAN_METRICS"),
        setting(
            "span_metrics.naming",
            Kind::Choice(&["tempo", "collector"]),
            |c| &mut c.server.span_metrics.settings.naming,
            "Whose names they have: those of Tempo's metrics generator \
             (traces_spanmetrics_calls_total) or of the collector's connector \
             (traces.span.metrics.calls).",
        ),
        setting(
            "span_metrics.interval",
            INTERVAL,
            |c| &mut c.server.span_metrics.interval,
            "How often they are written.",
        ),
        setting(
            "span_metrics.dimensions",
            Kind::List,
            |c| &mut c.server.span_metrics.settings.dimensions,
            "Attributes that are labels too, of the resource or else of the span; resource.KEY and \
             span.KEY say of which.",
        ),
        setting(
            "span_metrics.buckets",
            Kind::Durations,
            |c| &mut c.server.span_metrics.settings.buckets,
            "Upper bounds of the buckets of latencies.",
        ),
        setting(
            "span_metrics.exemplars",
            Kind::Switch,
            |c| &mut c.server.span_metrics.settings.exemplars,
            "Whether latencies have exemplars: for each bucket, one trace of the interval.",
        ),
        setting(
            "span_metrics.target_info",
            Kind::Switch,
            |c| &mut c.server.span_metrics.settings.target_info,
            "Whether resources of spans are told as traces_target_info, and metrics have the labels \
             job and instance to be joined with it.",
        ),
        setting(
            "span_metrics.instance",
            Kind::Text,
            |c| &mut c.server.span_metrics.settings.instance,
            "The label collector_instance_id of all of them, where several servers write metrics of \
             the same services. Without it, store.node if store.url is a bucket.",
        ),
        setting(
            "span_metrics.max_series",
            SERIES,
            |c| &mut c.server.span_metrics.settings.max_series,
            "Combinations of labels of a tenant. What comes beyond is counted as \
             otel_metric_overflow=\"true\", without other labels.",
        ),
        setting(
            "span_metrics.idle_after",
            IDLE,
            |c| &mut c.server.span_metrics.settings.idle_after,
            "A series of which nothing has come for so long ends.",
        ),
        setting(
            "span_metrics.graph.enabled",
            Kind::Switch,
            |c| &mut c.server.span_metrics.settings.graph.enabled,
            "Whether spans of clients and servers are brought together to requests between services.",
        )
        .named("service-graph", "SERVICE_GRAPH"),
        setting(
            "span_metrics.graph.dimensions",
            Kind::List,
            |c| &mut c.server.span_metrics.settings.graph.dimensions,
            "Attributes that are labels of such requests, as client_KEY and server_KEY.",
        ),
        setting(
            "span_metrics.graph.buckets",
            Kind::Durations,
            |c| &mut c.server.span_metrics.settings.graph.buckets,
            "Upper bounds of the buckets of their latencies.",
        ),
        setting(
            "span_metrics.graph.wait",
            WAIT,
            |c| &mut c.server.span_metrics.settings.graph.wait,
            "How long a span waits for its other side.",
        ),
        setting(
            "span_metrics.graph.max_edges",
            SOME,
            |c| &mut c.server.span_metrics.settings.graph.max_edges,
            "How many spans of a tenant may wait.",
        ),
        setting(
            "span_metrics.graph.peer_attributes",
            Kind::List,
            |c| &mut c.server.span_metrics.settings.graph.peer_attributes,
            "Attributes of a client's span that name a server which sends no spans, in this order.",
        ),
    ],
};
