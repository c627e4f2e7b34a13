//! Deletions for people.

use serde_json::Value;

use crate::table::{Align, Facts, Table};
use crate::units::{bytes, count, printable};

/// What would go, by signal.
pub(super) fn preview(preview: &Value) -> String {
    let mut table = Table::new(&[
        ("SIGNAL", Align::Left),
        ("RECORDS", Align::Right),
        ("OF", Align::Right),
        ("BLOCKS", Align::Right),
        ("BYTES OF BLOCKS", Align::Right),
        ("ARCHIVED SPANS", Align::Right),
    ]);
    for (signal, one) in preview["signals"].as_object().into_iter().flatten() {
        let number = |key: &str| one[key].as_u64().unwrap_or(0);
        table.row(vec![
            printable(signal),
            count(number("records")),
            count(number("of_records")),
            count(number("blocks")),
            bytes(number("block_bytes")),
            one["archived_spans"].as_u64().map(count).unwrap_or_default(),
        ]);
    }
    let mut text = table.to_string();
    if preview["everything"] == true {
        text.push_str("That is everything that there is.\n");
    }
    text
}

/// A deletion.
pub(super) fn deletion(deletion: &Value) -> String {
    let mut facts = Facts::default();
    let text = |key: &str| deletion[key].as_str().map(printable);
    let number = |key: &str| deletion[key].as_u64().unwrap_or(0);
    let condition = text("where").or_else(|| text("where_hash")).unwrap_or_default();
    facts.add("id", text("id").unwrap_or_default());
    facts.add("state", text("state").unwrap_or_default());
    facts.add("where", condition);
    facts.add("asked by", text("by").unwrap_or_default());
    for (name, key) in [("asked", "asked_at"), ("hidden", "hidden_at"), ("done", "done_at")] {
        if let Some(at) = text(key) {
            facts.add(name, at);
        }
    }
    for (signal, one) in deletion["signals"].as_object().into_iter().flatten() {
        let number = |key: &str| one[key].as_u64().unwrap_or(0);
        let (records, blocks) = (count(number("records")), count(number("blocks")));
        facts.add(printable(signal), format!("{records} records in {blocks} blocks"));
    }
    if number("archived_spans") > 0 {
        facts.add("archive", format!("{} spans", count(number("archived_spans"))));
    }
    let before = bytes(number("bytes_before"));
    facts.add(
        "bytes of blocks",
        match deletion["bytes_after"].as_u64() {
            Some(after) => format!("{before} before, {} after", bytes(after)),
            None => format!("{before} before"),
        },
    );
    let (erased, rewritten) =
        (number("journal_requests_erased"), number("journal_requests_rewritten"));
    if erased + rewritten > 0 {
        let (erased, rewritten) = (count(erased), count(rewritten));
        facts.add("journal", format!("{erased} requests erased, {rewritten} rewritten"));
    }
    if let Some(waits_for) = text("waits_for") {
        facts.add("waits for", waits_for);
    }
    facts.to_string()
}

/// Several, a line each.
pub(super) fn list(all: &Value) -> String {
    let mut table = Table::new(&[
        ("ID", Align::Left),
        ("STATE", Align::Left),
        ("RECORDS", Align::Right),
        ("ASKED", Align::Left),
        ("BY", Align::Left),
        ("WHERE", Align::Left),
    ]);
    for deletion in all["deletions"].as_array().into_iter().flatten() {
        let text = |key: &str| printable(deletion[key].as_str().unwrap_or_default());
        let asked = text("asked_at");
        let condition = match deletion["where"].as_str() {
            Some(condition) => printable(condition),
            None => text("where_hash"),
        };
        table.row(vec![
            text("id"),
            text("state"),
            count(deletion["records"].as_u64().unwrap_or(0)),
            asked.split('.').next().unwrap_or_default().to_owned(),
            text("by"),
            condition,
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_deletion_is_shown_as_far_as_it_is() {
        let shown = deletion(&json!({
            "id": "01", "state": "rewriting", "by": "eve", "where": null,
            "where_hash": "sha256:ab", "asked_at": "2026-01-02T03:04:05.000000000Z",
            "hidden_at": null, "done_at": null,
            "signals": {"traces": {"records": 12, "blocks": 2}}, "archived_spans": 0,
            "bytes_before": 2048, "bytes_after": null, "waits_for": "files\u{7}",
            "journal_requests_erased": 1, "journal_requests_rewritten": 0,
        }));
        assert_eq!(
            shown,
            "id               01\nstate            rewriting\nwhere            sha256:ab\n\
             asked by         eve\nasked            2026-01-02T03:04:05.000000000Z\n\
             traces           12 records in 2 blocks\nbytes of blocks  2.0 KiB before\n\
             journal          1 requests erased, 0 rewritten\nwaits for        files\\u{7}\n"
        );
    }

    #[test]
    fn what_would_go_is_counted_by_signal() {
        let shown = preview(&json!({
            "signals": {"logs": {"records": 3, "of_records": 3, "blocks": 1, "block_bytes": 10}},
            "everything": true,
        }));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("SIGNAL  RECORDS"), "{shown}");
        assert!(lines[1].starts_with("logs"), "{shown}");
        assert_eq!(lines[2], "That is everything that there is.");
    }
}
