//! What the store, the journal and the engine count themselves, read when somebody asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kymo_engine::Engine;
use kymo_forward::destination::Destinations;
use kymo_store::status::ByTenant;
use kymo_store::{Signal, Store};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::tenants::Tenants;
use crate::body::Budget;
use crate::derive::DeriveStatus;

/// Where the numbers are.
pub(crate) struct Sources {
    store: Arc<Store>,
    engine: Engine,
    receiving: Arc<Budget>,
    jaeger: Arc<Budget>,
    pub(super) destinations: Arc<Destinations>,
    pub(super) derived: Option<Arc<DeriveStatus>>,
    tenants: Arc<Tenants>,
}

impl Sources {
    pub(super) fn new(watched: Watched, tenants: Arc<Tenants>) -> Self {
        let Watched { store, engine, receiving, jaeger, destinations, derived } = watched;
        Self { store, engine, receiving, jaeger, destinations, derived, tenants }
    }
}

/// What is watched beside what requests are counted by.
pub(crate) struct Watched {
    pub(crate) store: Arc<Store>,
    pub(crate) engine: Engine,
    pub(crate) receiving: Arc<Budget>,
    pub(crate) jaeger: Arc<Budget>,
    pub(crate) destinations: Arc<Destinations>,
    /// What makes metrics of spans, if something does.
    pub(crate) derived: Option<Arc<DeriveStatus>>,
}

/// The word for a signal, as those who send it call it.
fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Spans => "traces",
        Signal::Logs => "logs",
        Signal::Series => "metrics",
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

/// Writes metrics one after the other.
pub(super) struct Out<'a, 'e> {
    pub(super) encoder: DescriptorEncoder<'e>,
    tenants: &'a Tenants,
}

/// A number with at most one label.
type Labelled<'l> = (Option<(&'static str, &'l str)>, u64);

impl Out<'_, '_> {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter, &[(None, value)])
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, &[(None, value)])
    }

    /// A number of each tenant.
    pub(super) fn of_tenants<'t>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        counts: impl Iterator<Item = (&'t str, u64)>,
    ) -> fmt::Result {
        let mut labelled: BTreeMap<String, u64> = BTreeMap::new();
        for (tenant, count) in counts {
            *labelled.entry(self.tenants.label(tenant)).or_default() += count;
        }
        let values: Vec<Labelled<'_>> =
            labelled.iter().map(|(tenant, count)| (Some(("tenant", &**tenant)), *count)).collect();
        self.family(name, help, kind, &values)
    }

    fn by_tenant(&mut self, name: &str, help: &str, counts: &ByTenant) -> fmt::Result {
        let mut encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for signal in Signal::ALL {
            let mut labelled: BTreeMap<String, u64> = BTreeMap::new();
            for (tenant, count) in counts.tenants(signal) {
                *labelled.entry(self.tenants.label(&tenant)).or_default() += count;
            }
            for (tenant, count) in labelled {
                let labels = [("signal", signal_name(signal)), ("tenant", &tenant)];
                ConstCounter::new(count).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        values: &[Labelled<'_>],
    ) -> fmt::Result {
        let mut encoder = self.encoder.encode_descriptor(name, help, None, kind)?;
        for (label, value) in values {
            let write = |encoder: prometheus_client::encoding::MetricEncoder<'_>| match kind {
                MetricType::Counter => ConstCounter::new(*value).encode(encoder),
                _ => ConstGauge::new(i64::try_from(*value).unwrap_or(i64::MAX)).encode(encoder),
            };
            match label {
                Some(label) => write(encoder.encode_family(&[*label])?)?,
                None => return write(encoder),
            }
        }
        Ok(())
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Collector for Sources {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut Out { encoder, tenants: &self.tenants };
        self.store_counts(out)?;
        self.store_status(out)?;
        self.journal(out)?;
        self.queries(out)?;
        self.destinations(out)?;
        self.derived(out)?;
        out.gauge(
            "receiving_bytes",
            "Bytes of requests that are being received",
            self.receiving.used_bytes() as u64,
        )?;
        out.gauge(
            "jaeger_bytes",
            "Bytes of traces that wait for readers of Jaeger's APIs, and of files to be shown there",
            self.jaeger.used_bytes() as u64,
        )
    }
}

impl Sources {
    fn store_counts(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let counts = self.store.counters();
        out.by_tenant(
            "store_records_applied",
            "Records taken into memory",
            &counts.records_applied,
        )?;
        out.by_tenant(
            "store_requests_undecodable",
            "Requests of the journal that could not be decoded",
            &counts.requests_undecodable,
        )?;
        out.by_tenant("store_flushes", "Flushes committed", &counts.flushes)?;
        out.by_tenant("store_flushed_rows", "Rows written by flushes", &counts.flushed_rows)?;
        out.by_tenant("store_flushed_bytes", "Bytes written by flushes", &counts.flushed_bytes)?;
        out.counter(
            "store_flushes_failed",
            "Flushes that failed and were tried again",
            get(&counts.flushes_failed),
        )?;
        out.by_tenant("store_compactions", "Compactions committed", &counts.compactions)?;
        out.by_tenant(
            "store_blocks_joined",
            "Blocks that compaction joined",
            &counts.blocks_joined,
        )?;
        out.by_tenant(
            "store_blocks_compacted",
            "Blocks that compaction wrote",
            &counts.blocks_compacted,
        )?;
        out.by_tenant(
            "store_duplicates_dropped",
            "Rows that compaction dropped as exact duplicates",
            &counts.duplicates_dropped,
        )?;
        out.by_tenant(
            "store_blocks_expired",
            "Blocks dropped because they are beyond retention",
            &counts.blocks_expired,
        )?;
        out.by_tenant(
            "store_rows_expired",
            "Rows of blocks dropped because they are beyond retention",
            &counts.rows_expired,
        )?;
        out.counter(
            "deletions_requested",
            "Deletions that were asked for",
            get(&counts.deletions_requested),
        )?;
        out.gauge(
            "deletions_pending",
            "Deletions whose records are hidden and not yet gone from all files",
            self.store.deletions_pending() as u64,
        )?;
        out.by_tenant(
            "deleted_records_hidden",
            "Records that deletions have hidden",
            &counts.rows_hidden,
        )?;
        out.by_tenant(
            "deleted_rows_erased",
            "Rows left out of blocks that were written again because they are deleted",
            &counts.rows_erased,
        )?;
        out.counter(
            "store_files_deleted",
            "Files deleted because nobody needs them",
            get(&counts.files_deleted),
        )?;
        out.counter(
            "store_blocks_damaged",
            "Blocks left out of answers because they are damaged",
            get(&counts.blocks_damaged),
        )
    }

    fn store_status(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let status = self.store.status();
        let mut by_signal = |name, help, number: fn(&kymo_store::status::SignalStatus) -> u64| {
            let values: Vec<Labelled<'_>> = status
                .signals
                .iter()
                .map(|signal| (Some(("signal", signal_name(signal.signal))), number(signal)))
                .collect();
            out.family(name, help, MetricType::Gauge, &values)
        };
        by_signal("store_head_rows", "Rows in memory", |signal| signal.head_rows as u64)?;
        by_signal("store_head_bytes", "Bytes of rows in memory", |signal| {
            signal.head_bytes as u64
        })?;
        by_signal("store_blocks", "Blocks that are visible", |signal| signal.blocks as u64)?;
        by_signal("store_block_bytes", "Bytes of visible blocks", |signal| signal.block_bytes)?;
        out.gauge("store_lag_bytes", "Bytes of the journal not in blocks", status.lag_bytes)?;
        out.gauge(
            "store_unapplied_bytes",
            "Bytes of the journal not yet in memory",
            status.unapplied_bytes,
        )
    }

    fn journal(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let stats = self.store.journal().stats();
        out.counter("journal_records", "Requests written to the journal", stats.records)?;
        out.counter("journal_bytes", "Bytes written to the journal", stats.bytes)?;
        out.counter("journal_syncs", "Calls of fdatasync", stats.syncs)?;
        out.counter(
            "journal_failed_segments",
            "Segments given up after a failed write or sync",
            stats.failed_segments,
        )?;
        out.counter("journal_busy", "Requests refused because consumers lag", stats.refused_busy)?;
        out.counter("journal_quarantined_bytes", "Damaged bytes set aside", stats.quarantined_bytes)
    }

    fn queries(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let stats = self.engine.stats();
        out.gauge("queries_running", "Queries that run", stats.running as u64)?;
        out.gauge("queries_waiting", "Queries that wait for their turn", stats.waiting as u64)?;
        out.counter("queries_finished", "Queries answered to the end", stats.finished)?;
        out.counter("queries_cancelled", "Queries whose reader went away", stats.cancelled)?;
        let failed: Vec<Labelled<'_>> =
            stats.failed.iter().map(|(kind, count)| (Some(("reason", *kind)), *count)).collect();
        out.family("queries_failed", "Queries that failed", MetricType::Counter, &failed)?;
        out.counter("query_rows_scanned", "Rows that scans looked into", stats.rows_scanned)?;
        out.counter("query_rows", "Rows of all answers", stats.rows_answered)?;
        out.gauge("query_memory_bytes", "Bytes that queries hold", stats.memory_bytes as u64)
    }
}
