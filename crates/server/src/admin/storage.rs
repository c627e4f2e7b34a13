//! Blocks and bytes by tenant, signal and day; what is still in memory; the journal; retention.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::response::Response;
use kymo_engine::EngineError;
use kymo_store::schema::Signal;
use kymo_store::{Store, StoreError};
use serde_json::{Value, json};

use super::answered;
use crate::limits::ADMIN_MAX_PARTITIONS;
use crate::router::Shared;
use crate::start::About;

/// Blocks of one tenant, signal and day.
#[derive(Debug, Default)]
struct Partition {
    blocks: u64,
    compacted: u64,
    rows: u64,
    bytes: u64,
    from_nanos: i64,
    to_nanos: i64,
}

pub(super) async fn show(State(shared): State<Shared>) -> Response {
    answered(storage(&shared).await)
}

async fn storage(shared: &Shared) -> Result<Value, EngineError> {
    let about = shared.about.clone();
    let store = shared.store.clone();
    // Logs of tenants are read.
    let reading = move || {
        let partitions = if about.has_store { partitions(&store) } else { Ok(BTreeMap::new()) };
        partitions.map(|partitions| document(&store, &about, &partitions))
    };
    shared.engine.blocking(reading).await?.map_err(EngineError::Store)
}

/// By day first, so that the last ones are the newest, whoever's they are.
type Partitions = BTreeMap<(i64, String, &'static str), Partition>;

fn partitions(store: &Store) -> Result<Partitions, StoreError> {
    let mut all = Partitions::new();
    for tenant in store.tenants()? {
        for signal in Signal::ALL {
            for block in store.snapshot(&tenant, signal)?.blocks() {
                let key = (block.day, tenant.clone(), name(signal));
                let is_new = !all.contains_key(&key);
                let partition = all.entry(key).or_default();
                partition.blocks += 1;
                partition.compacted += u64::from(block.level > 0);
                partition.rows += block.rows;
                partition.bytes += block.size_bytes;
                if is_new {
                    partition.from_nanos = block.min_time_nanos;
                    partition.to_nanos = block.max_time_nanos;
                }
                partition.from_nanos = partition.from_nanos.min(block.min_time_nanos);
                partition.to_nanos = partition.to_nanos.max(block.max_time_nanos);
            }
        }
    }
    Ok(all)
}

/// The newest partitions, and at most so many.
fn newest(partitions: &Partitions, most: usize) -> Value {
    let shown = partitions.iter().rev().take(most);
    let described = shown.map(|((day, tenant, signal), partition)| {
        json!({
            "tenant": tenant,
            "signal": signal,
            "day": day,
            "blocks": partition.blocks,
            "compacted": partition.compacted,
            "rows": partition.rows,
            "bytes": partition.bytes,
            "from_nanos": partition.from_nanos.to_string(),
            "to_nanos": partition.to_nanos.to_string(),
        })
    });
    described.collect()
}

/// What all partitions come to, also those that are not shown.
fn totals(partitions: &Partitions) -> Value {
    let sum = |of: fn(&Partition) -> u64| -> u64 { partitions.values().map(of).sum() };
    json!({
        "blocks": sum(|partition| partition.blocks),
        "rows": sum(|partition| partition.rows),
        "bytes": sum(|partition| partition.bytes),
    })
}

fn document(store: &Store, about: &About, partitions: &Partitions) -> Value {
    let status = store.status();
    let counts = store.counters();
    let journal = store.journal().stats();
    let heads = status.signals.iter().map(|signal| {
        json!({
            "signal": name(signal.signal),
            "rows": signal.head_rows,
            "bytes": signal.head_bytes,
            "since_nanos": signal.since_nanos.map(|nanos| nanos.to_string()),
        })
    });
    json!({
        "data": about.data,
        "totals": totals(partitions),
        "partitions": newest(partitions, ADMIN_MAX_PARTITIONS),
        "partitions_left_out": partitions.len().saturating_sub(ADMIN_MAX_PARTITIONS),
        "heads": heads.collect::<Vec<_>>(),
        "journal": {
            "lag_bytes": status.lag_bytes,
            "unapplied_bytes": status.unapplied_bytes,
            "records": journal.records,
            "bytes": journal.bytes,
            "syncs": journal.syncs,
            "failed_segments": journal.failed_segments,
            "quarantined_bytes": journal.quarantined_bytes,
        },
        "flushed_nanos": status.flushed_nanos.map(|nanos| nanos.to_string()),
        "compaction": {
            "enabled": about.is_compacting,
            "compactions": counts.compactions.total(),
            "blocks_joined": counts.blocks_joined.total(),
            "blocks_written": counts.blocks_compacted.total(),
            "duplicates_dropped": counts.duplicates_dropped.total(),
        },
        "flushes": counts.flushes.total(),
        "flushes_failed": counts.flushes_failed.load(std::sync::atomic::Ordering::Relaxed),
        "blocks_expired": counts.blocks_expired.total(),
        "blocks_damaged": counts.blocks_damaged.load(std::sync::atomic::Ordering::Relaxed),
        "deletions_pending": store.deletions_pending(),
        "retention": retention(about, partitions),
    })
}

/// What holds for the tenants that there are, as far as anything is given up.
fn retention(about: &About, partitions: &Partitions) -> Value {
    let tenants: BTreeSet<&String> = partitions.keys().map(|(_, tenant, _)| tenant).collect();
    let of = |tenant: &String| {
        Signal::ALL.map(|signal| {
            let retention = about.retention.of(tenant, signal);
            json!({
                "tenant": tenant,
                "signal": name(signal),
                "max_age_seconds": retention.max_age.map(|age| age.as_secs()),
                "max_bytes": retention.max_bytes,
            })
        })
    };
    tenants.into_iter().flat_map(of).collect()
}

/// The word for a signal, as those who send it call it.
fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Spans => "traces",
        Signal::Logs => "logs",
        Signal::Series => "metrics",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Partitions {
        let mut partitions = Partitions::new();
        for day in 0..10 {
            for tenant in ["ada", "zoe"] {
                let partition = Partition { blocks: 2, rows: 3, bytes: 5, ..Partition::default() };
                partitions.insert((day, tenant.to_owned(), "traces"), partition);
            }
        }
        partitions
    }

    #[test]
    fn the_newest_days_of_all_tenants_are_shown() {
        let shown = newest(&made(), 4);
        let kept: Vec<_> = shown
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["day"].as_i64().unwrap(), one["tenant"].as_str().unwrap()))
            .collect();
        assert_eq!(kept, [(9, "zoe"), (9, "ada"), (8, "zoe"), (8, "ada")]);
    }

    #[test]
    fn totals_are_of_all_days() {
        let totals = totals(&made());
        assert_eq!(totals, json!({ "blocks": 40, "rows": 60, "bytes": 100 }));
    }
}
