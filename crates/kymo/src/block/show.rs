//! A block as people read it.

use std::time::Duration;

use super::describe::{ColumnKind, Description};
use crate::table::{Align, Facts, Table};
use crate::units;

/// The whole description.
pub(crate) fn text(block: &Description) -> String {
    let file = units::printable(&block.file);
    format!("{file}\n\n{}\n{}\n{}", facts(block), index(block), columns(block))
}

fn facts(block: &Description) -> Facts {
    let mut facts = Facts::default();
    facts.add("signal", block.signal);
    let level = match block.level {
        Some(0) => "0, flushed".to_owned(),
        Some(1) => "1, compacted".to_owned(),
        Some(level) => level.to_string(),
        None => "unknown, the file has another name than it was given".to_owned(),
    };
    facts.add("level", level);
    facts.add("rows", units::count(block.rows));
    if let Some(traces) = block.traces {
        let per_trace = units::ratio(block.rows, traces);
        facts.add("traces", format!("{} ({per_trace:.1} spans each)", units::count(traces)));
    }
    let (from, to) = (block.min_time_nanos, block.max_time_nanos);
    let length = Duration::from_nanos(to.abs_diff(from));
    let times = format!("{} to {}", units::time(from), units::time(to));
    facts.add("time", format!("{times} ({})", units::duration(length)));
    let size = block.size_bytes;
    let size = format!("{} ({})", units::count(size), units::bytes(size));
    facts.add("bytes", format!("{size}, {:.2} per row", block.bytes_per_row));
    let overflow = units::ratio(block.rest_rows, block.rows) * 100.0;
    let rest = format!("{} rows ({overflow:.1} %)", units::count(block.rest_rows));
    facts.add("attributes in rest", rest);
    if let Some((from, to)) = block.journal {
        facts.add("journal", format!("{} to {}", units::count(from), units::count(to)));
    }
    let node = block.node.as_deref().map(|node| format!(", node {node}")).unwrap_or_default();
    let version = block.format_version;
    facts.add("written by", format!("{}{node}, format {version}", units::printable(&block.writer)));
    facts
}

fn index(block: &Description) -> Table {
    let mut table = Table::new(&[
        ("INDEX", Align::Left),
        ("ENTRIES", Align::Right),
        ("BYTES", Align::Right),
        ("PLAIN", Align::Right),
        ("B/ROW", Align::Right),
    ]);
    for part in &block.index {
        table.row(vec![
            part.name.to_owned(),
            part.entries.map_or("-".to_owned(), units::count),
            units::count(part.size_bytes),
            units::count(part.plain_bytes),
            format!("{:.2}", units::ratio(part.size_bytes, block.rows)),
        ]);
    }
    table.row(vec![
        "Parquet footer".to_owned(),
        "-".to_owned(),
        units::count(block.footer_bytes),
        "-".to_owned(),
        format!("{:.2}", units::ratio(block.footer_bytes, block.rows)),
    ]);
    table
}

fn columns(block: &Description) -> Table {
    let mut table = Table::new(&[
        ("COLUMN", Align::Left),
        ("", Align::Left),
        ("TYPE", Align::Left),
        ("ENCODING", Align::Left),
        ("VALUES", Align::Right),
        ("BYTES", Align::Right),
        ("B/ROW", Align::Right),
        ("SHARE", Align::Right),
    ]);
    for column in &block.columns {
        let mark = match (column.kind, column.filtered) {
            (ColumnKind::Attribute, true) => "attribute, filtered",
            (ColumnKind::Attribute, false) => "attribute",
            (ColumnKind::List, _) => "list",
            (ColumnKind::Field, _) => "",
        };
        table.row(vec![
            units::printable(&column.name),
            mark.to_owned(),
            column.value_type.to_owned(),
            column.encoding.to_owned(),
            units::count(column.values),
            units::count(column.size_bytes),
            format!("{:.2}", column.bytes_per_row),
            format!("{:.1} %", column.share * 100.0),
        ]);
    }
    table
}
