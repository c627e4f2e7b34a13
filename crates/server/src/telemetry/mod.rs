//! The server's own metrics, for `/metrics`.
//!
//! Everything received, refused, changed and dropped is counted by signal, tenant and reason;
//! latencies are histograms. What the store, the journal and the engine count themselves is read
//! when somebody asks (`gauges`, `destinations`, `derived`).

mod derived;
mod destinations;
mod gauges;
mod tenants;
mod timed;
mod totals;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kymo_admit::{Admitted, Signal};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use gauges::Sources;
pub(crate) use gauges::Watched;
use tenants::Tenants;
pub(crate) use timed::Timed;
use totals::Counting;
pub(crate) use totals::Totals;

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Grpc,
    HttpProtobuf,
    HttpJson,
    RemoteWrite,
    /// What is pushed to Loki.
    Loki,
    /// Events of other systems.
    Webhook,
    /// What the server makes: of its machine, of itself, and of what is stored.
    Own,
    /// What targets told that the server asked.
    Scraped,
    /// A demo that runs in the server.
    Demo,
}

impl Protocol {
    /// Whether nobody sent it: the server gathered it.
    pub(crate) fn is_gathered(self) -> bool {
        matches!(self, Self::Own | Self::Scraped)
    }
}

impl EncodeLabelValue for Protocol {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        let name = match self {
            Self::Grpc => "grpc",
            Self::HttpProtobuf => "http_protobuf",
            Self::HttpJson => "http_json",
            Self::RemoteWrite => "remote_write",
            Self::Loki => "loki",
            Self::Webhook => "webhook",
            Self::Own => "own",
            Self::Scraped => "scraped",
            Self::Demo => "demo",
        };
        name.encode(encoder)
    }
}

/// Whose and what a request was.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) tenant: String,
    pub(crate) signal: Signal,
    pub(crate) protocol: Protocol,
    /// Bytes of its body as it came.
    pub(crate) received_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Received {
    signal: &'static str,
    tenant: String,
    protocol: Protocol,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTenant {
    signal: &'static str,
    tenant: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reasoned {
    signal: &'static str,
    tenant: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ruled {
    signal: &'static str,
    tenant: String,
    rule: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfProtocol {
    signal: &'static str,
    protocol: Protocol,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Query {
    kind: &'static str,
    outcome: &'static str,
}

/// Bounds of latencies in seconds, 0.25 ms to 16 s.
fn latency_bounds() -> impl Iterator<Item = f64> {
    (0..17).map(|n| 0.000_25 * f64::from(1 << n))
}

/// The word for a signal in metrics.
fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "traces",
        Signal::Metrics => "metrics",
        Signal::Logs => "logs",
    }
}

fn latencies() -> Histogram {
    Histogram::new(latency_bounds())
}

/// All metrics of the server.
#[derive(Debug)]
pub(crate) struct Telemetry {
    registry: Mutex<Registry>,
    tenants: Arc<Tenants>,
    requests: Family<Received, Counter>,
    bytes: Family<Received, Counter>,
    records: Family<OfTenant, Counter>,
    duplicates: Family<OfTenant, Counter>,
    refused_requests: Family<Reasoned, Counter>,
    refused_records: Family<Reasoned, Counter>,
    changed: Family<Reasoned, Counter>,
    dropped: Family<Ruled, Counter>,
    deduplicated: Family<OfTenant, Counter>,
    acknowledged: Family<OfProtocol, Histogram, fn() -> Histogram>,
    queries: Family<Query, Histogram, fn() -> Histogram>,
    connections: Counter,
    totals: Counting,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Telemetry {
    pub(crate) fn new() -> Self {
        let telemetry = Self {
            registry: Mutex::new(Registry::with_prefix("kymo")),
            tenants: Arc::default(),
            requests: Family::default(),
            bytes: Family::default(),
            records: Family::default(),
            duplicates: Family::default(),
            refused_requests: Family::default(),
            refused_records: Family::default(),
            changed: Family::default(),
            dropped: Family::default(),
            deduplicated: Family::default(),
            acknowledged: Family::new_with_constructor(latencies),
            queries: Family::new_with_constructor(latencies),
            connections: Counter::default(),
            totals: Counting::default(),
        };
        telemetry.register();
        telemetry
    }

    fn register(&self) {
        let mut registry = lock(&self.registry);
        let r = &mut *registry;
        r.register("received_requests", "Requests accepted and durable", self.requests.clone());
        r.register("received_bytes", "Bytes of accepted requests as they came", self.bytes.clone());
        r.register(
            "received_records",
            "Spans, log records and data points accepted and durable",
            self.records.clone(),
        );
        r.register(
            "duplicate_requests",
            "Requests that were there already, acknowledged and not stored again",
            self.duplicates.clone(),
        );
        r.register(
            "refused_requests",
            "Requests refused as a whole",
            self.refused_requests.clone(),
        );
        r.register(
            "refused_records",
            "Records left out of accepted requests",
            self.refused_records.clone(),
        );
        r.register(
            "changed_records",
            "Repairs, cuts and drops inside accepted records",
            self.changed.clone(),
        );
        r.register(
            "dropped_records",
            "Records that a rule or the audience left out",
            self.dropped.clone(),
        );
        r.register(
            "deduplicated_records",
            "Log records that were kept already, or better in the same request",
            self.deduplicated.clone(),
        );
        r.register(
            "acknowledge_seconds",
            "Time from a complete request to its acknowledgement",
            self.acknowledged.clone(),
        );
        r.register("query_seconds", "Time of queries", self.queries.clone());
        r.register("connections", "Connections accepted", self.connections.clone());
    }

    /// Adds what the store, the journal and the engine count.
    pub(crate) fn watch(&self, watched: Watched) {
        let sources = Sources::new(watched, self.tenants.clone());
        lock(&self.registry).register_collector(Box::new(sources));
    }

    /// A request was accepted.
    pub(crate) fn received(&self, receipt: &Receipt, admitted: &Admitted, duplicate: bool) {
        let (signal, tenant) = (signal_name(receipt.signal), self.tenants.label(&receipt.tenant));
        let of_tenant = OfTenant { signal, tenant: tenant.clone() };
        for (reasons, counter) in
            [(&admitted.refused, &self.refused_records), (&admitted.changed, &self.changed)]
        {
            for counted in reasons {
                let labels = Reasoned { signal, tenant: tenant.clone(), reason: counted.reason };
                counter.get_or_create(&labels).inc_by(counted.count);
            }
        }
        for dropped in &admitted.dropped {
            let (tenant, rule) = (tenant.clone(), dropped.rule.to_string());
            let labels = Ruled { signal, tenant, rule };
            self.dropped.get_or_create(&labels).inc_by(dropped.count);
        }
        if admitted.deduplicated > 0 {
            self.deduplicated.get_or_create(&of_tenant).inc_by(admitted.deduplicated);
        }
        if duplicate {
            self.duplicates.get_or_create(&of_tenant).inc();
        } else {
            self.records.get_or_create(&of_tenant).inc_by(admitted.items);
            if receipt.protocol != Protocol::Own {
                self.totals.received(receipt.signal, admitted.items);
            }
        }
        self.totals.refused(admitted.refused.iter().map(|counted| counted.count).sum());
        let labels = Received { signal, tenant, protocol: receipt.protocol };
        self.requests.get_or_create(&labels).inc();
        self.bytes.get_or_create(&labels).inc_by(receipt.received_bytes);
    }

    /// A request was refused as a whole.
    pub(crate) fn request_refused(&self, tenant: &str, signal: Signal, reason: &'static str) {
        let labels =
            Reasoned { signal: signal_name(signal), tenant: self.tenants.label(tenant), reason };
        self.refused_requests.get_or_create(&labels).inc();
        self.totals.refused(1);
    }

    /// A request was acknowledged.
    pub(crate) fn acknowledged(&self, signal: Signal, protocol: Protocol, after: Duration) {
        let labels = OfProtocol { signal: signal_name(signal), protocol };
        self.acknowledged.get_or_create(&labels).observe(after.as_secs_f64());
    }

    /// A query ended.
    pub(crate) fn query(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.queries.get_or_create(&Query { kind, outcome }).observe(took.as_secs_f64());
    }

    /// What senders sent and targets told, over all.
    pub(crate) fn totals(&self) -> &Counting {
        &self.totals
    }

    /// A connection was accepted.
    pub(crate) fn connected(&self) {
        self.connections.inc();
    }

    /// All metrics as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail; a collector that fails leaves its part out.
        if text::encode(&mut out, &lock(&self.registry)).is_err() {
            tracing::warn!("some metrics could not be written");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_METRIC_TENANTS;

    #[test]
    fn tenants_beyond_the_bound_share_a_label() {
        let telemetry = Telemetry::new();
        for n in 0..MAX_METRIC_TENANTS + 5 {
            telemetry.request_refused(&format!("t{n}"), Signal::Traces, "busy");
        }
        let text = telemetry.text();
        assert!(text.contains(
            "kymo_refused_requests_total{signal=\"traces\",tenant=\"other\",reason=\"busy\"} 5"
        ));
        assert!(!text.contains(&format!("t{MAX_METRIC_TENANTS}\"")));
    }

    #[test]
    fn latencies_are_histograms() {
        let telemetry = Telemetry::new();
        telemetry.acknowledged(Signal::Logs, Protocol::Grpc, Duration::from_millis(3));
        let text = telemetry.text();
        let labels = "signal=\"logs\",protocol=\"grpc\"";
        assert!(text.contains(&format!("kymo_acknowledge_seconds_count{{{labels}}} 1")), "{text}");
        assert!(text.contains("kymo_acknowledge_seconds_bucket{le=\"0.004\","), "{text}");
    }
}
