//! Deletions as JSON.

use kymo_store::Signal;
use kymo_store::deletion::{Affected, Deletion, HiddenSignal, State};
use serde_json::{Map, Value, json};

use super::asked::Asked;
use crate::times::rfc3339_text;

/// The word for a signal, as those who send it call it.
fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Spans => "traces",
        Signal::Logs => "logs",
        Signal::Series => "metrics",
    }
}

/// What its records are called.
pub(super) fn records_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Spans => "spans",
        Signal::Logs => "log records",
        Signal::Series => "metric points",
    }
}

/// What would go.
pub(super) fn preview(asked: &Asked, affected: &[Affected]) -> Value {
    let signals: Map<String, Value> = affected
        .iter()
        .map(|one| {
            let mut shown = json!({
                "records": one.records,
                "of_records": one.total_records,
                "blocks": one.blocks,
                "block_bytes": one.block_bytes,
            });
            if one.signal == Signal::Spans {
                shown["archived_spans"] = json!(one.archived_spans);
            }
            (signal_name(one.signal).to_owned(), shown)
        })
        .collect();
    json!({
        "dry_run": true,
        "where": asked.condition.text,
        "language": asked.condition.language.name(),
        "whole_traces": asked.condition.whole_traces,
        "signals": signals,
        "records": affected.iter().map(|one| one.records).sum::<u64>(),
        "blocks": affected.iter().map(|one| one.blocks).sum::<u64>(),
        "everything": super::everything(affected).is_some(),
    })
}

/// A deletion, as far as it is.
pub(super) fn deletion(deletion: &Deletion) -> Value {
    let (asked, progress) = (&deletion.asked, &deletion.progress);
    let hidden = deletion.hidden.as_ref();
    let signals: Map<String, Value> =
        hidden.into_iter().flat_map(|hidden| &hidden.signals).map(hidden_signal).collect();
    let sum = |number: fn(&HiddenSignal) -> u64| -> u64 {
        hidden.map_or(0, |hidden| hidden.signals.iter().map(number).sum())
    };
    json!({
        "id": asked.id,
        "state": deletion.state().name(),
        "by": asked.by,
        "where": asked.condition,
        "where_hash": asked.condition_hash,
        "language": asked.language,
        "whole_traces": asked.whole_traces,
        "start": asked.start_nanos.filter(|nanos| *nanos != i64::MIN).map(rfc3339_text),
        "end": asked.end_nanos.filter(|nanos| *nanos != i64::MAX).map(rfc3339_text),
        "asked_at": rfc3339_text(asked.asked_nanos),
        "hidden_at": hidden.map(|hidden| rfc3339_text(hidden.hidden_nanos)),
        "done_at": deletion.done.map(rfc3339_text),
        "signals": signals,
        "records": sum(|signal| signal.records),
        "blocks": sum(|signal| signal.blocks.len() as u64),
        "archived_spans": hidden.map_or(0, |hidden| hidden.archived_spans),
        "blocks_rewritten": progress.blocks_rewritten,
        "rows_erased": progress.rows_erased,
        "bytes_before": sum(|signal| signal.block_bytes),
        "bytes_after": is_rewritten(deletion).then_some(progress.bytes_after),
        "journal_requests_erased": progress.journal_erased,
        "journal_requests_rewritten": progress.journal_replaced,
        "waits_for": progress.waits_for.as_deref().filter(|_| deletion.done.is_none()),
    })
}

fn hidden_signal(hidden: &HiddenSignal) -> (String, Value) {
    let known = Signal::from_name(&hidden.signal).map(signal_name);
    let name = known.unwrap_or(&hidden.signal);
    let shown = json!({
        "records": hidden.records,
        "blocks": hidden.blocks.len(),
        "block_bytes": hidden.block_bytes,
    });
    (name.to_owned(), shown)
}

/// Whether all blocks were seen to be written again: after a crash some may not have been.
fn is_rewritten(deletion: &Deletion) -> bool {
    let blocks = deletion.hidden.iter().flat_map(|hidden| &hidden.signals);
    let blocks: usize = blocks.map(|signal| signal.blocks.len()).sum();
    deletion.state() != State::Asked && deletion.progress.blocks_rewritten >= blocks as u64
}
