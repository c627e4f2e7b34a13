//! The result of a check as people read it.

use super::check::{BlocksReport, Checked};
use super::journal::JournalReport;
use crate::table::{Align, Facts, Table};
use crate::units;

/// The whole result.
pub(crate) fn text(checked: &Checked) -> String {
    let mut facts = Facts::default();
    facts.add("store", units::printable(&checked.place));
    match &checked.blocks {
        Some(blocks) => add_blocks(&mut facts, blocks),
        None => facts.add("blocks", "not here; check the place they are in as well"),
    }
    if let Some(journal) = &checked.journal {
        add_journal(&mut facts, journal);
    }
    facts.add("result", if checked.good { "good" } else { "NOT good, see below" });
    let mut findings = Table::new(&[("FINDING", Align::Left), ("WHERE", Align::Left)]);
    let mut any = false;
    for finding in checked.blocks.iter().flat_map(|blocks| &blocks.findings) {
        any = true;
        let detail = match (&finding.why, finding.size_bytes) {
            (Some(why), _) if why.contains(&finding.what) => why.clone(),
            (Some(why), _) => format!("{}: {why}", finding.what),
            (None, Some(bytes)) => format!("{} ({})", finding.what, units::bytes(bytes)),
            (None, None) => finding.what.clone(),
        };
        findings.row(vec![finding.kind.to_owned(), units::printable(&detail)]);
    }
    for range in checked.journal.iter().flat_map(|journal| &journal.damaged) {
        any = true;
        let positions = format!("journal, positions {} to {}", range.from, range.to);
        findings.row(vec!["damaged".to_owned(), positions]);
    }
    if any { format!("{facts}\n{findings}") } else { facts.to_string() }
}

fn add_blocks(facts: &mut Facts, blocks: &BlocksReport) {
    facts.add("tenants", units::count(blocks.tenants as u64));
    facts.add("blocks", units::count(blocks.blocks as u64));
    facts.add("rows", units::count(blocks.rows));
    let size = blocks.size_bytes;
    let per_row = units::ratio(size, blocks.rows);
    let total = format!("{} ({})", units::count(size), units::bytes(size));
    facts.add("bytes", format!("{total}, {per_row:.2} per row"));
    if blocks.archived_pieces > 0 {
        facts.add("archived pieces", units::count(blocks.archived_pieces as u64));
    }
    if blocks.settings > 0 {
        facts.add("versions of settings", units::count(blocks.settings as u64));
    }
    facts.add("damaged", units::count(blocks.damaged as u64));
    facts.add("missing", units::count(blocks.missing as u64));
    facts.add("unreadable", units::count(blocks.unreadable as u64));
    facts.add("orphans", units::count(blocks.orphans as u64));
}

fn add_journal(facts: &mut Facts, journal: &JournalReport) {
    let records = units::count(journal.records);
    facts.add("journal", format!("{records} records, {}", units::bytes(journal.size_bytes)));
    if journal.torn_bytes > 0 {
        let torn = units::bytes(journal.torn_bytes);
        facts.add("journal tail", format!("{torn} never acknowledged, cut at the next start"));
    }
    if journal.damaged_records > 0 {
        facts.add("journal damaged", format!("{} records", units::count(journal.damaged_records)));
    }
    if journal.missing_records > 0 {
        facts.add("journal missing", format!("{} records", units::count(journal.missing_records)));
    }
}
