//! A report as Markdown, for issues, pull requests and wikis. Text from data cannot break out of
//! its cell.

use std::fmt::Write as _;

use super::tables::{self, Table};
use crate::analysis::{Analysis, Comparison};
use crate::spark;
use crate::units::{count, number, printable, seconds};

/// Characters of a chart.
const CHART_COLUMNS: usize = 60;

/// Sessions as one document.
#[must_use]
pub fn render(sessions: &[Analysis], comparison: Option<&Comparison>) -> String {
    let mut out = String::new();
    if let Some(comparison) = comparison {
        write_table(&mut out, &transposed(tables::comparison(comparison)), 2);
    }
    for session in sessions {
        write_session(&mut out, session);
    }
    out
}

/// Names of figures down the side: sessions are fewer than figures.
fn transposed(table: Table) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (nth, (name, _)) in table.columns.iter().enumerate() {
        let mut row = vec![(*name).to_owned()];
        row.extend(table.rows.iter().filter_map(|cells| cells.get(nth).cloned()));
        rows.push(row);
    }
    let columns = (0..=table.rows.len()).map(|nth| ("", nth > 0)).collect();
    Table { title: table.title, columns, rows, after: table.after }
}

fn write_session(out: &mut String, of: &Analysis) {
    let _ = writeln!(out, "# {}\n", escaped(&of.session.name));
    for (name, value) in tables::facts(of) {
        let _ = writeln!(out, "- {name}: {}", escaped(&value));
    }
    let states = tables::states(of);
    let states: Vec<String> =
        states.iter().map(|(name, number)| format!("{} {name}", count(*number))).collect();
    let joined = if states.is_empty() { String::new() } else { format!(": {}", states.join(", ")) };
    let _ = writeln!(out, "\n**{} tasks**{joined}\n", count(of.tasks.total));
    if of.concurrency.max > 0 {
        let curve: Vec<Option<f64>> =
            of.concurrency.series.iter().map(|point| Some(point.mean)).collect();
        let ended: Vec<Option<f64>> =
            of.throughput.bins.iter().map(|bin| Some(bin.completed as f64)).collect();
        let _ = writeln!(
            out,
            "```text\nrunning    {}  max {}, mean {}\ncompleted  {}  {}/s, max {}/s\n```\n",
            spark::line(&curve, CHART_COLUMNS),
            of.concurrency.max,
            number(of.concurrency.mean),
            spark::line(&ended, CHART_COLUMNS),
            number(of.throughput.mean_per_second),
            number(of.throughput.max_per_second)
        );
        let _ = writeln!(
            out,
            "Tail: less than half as many tasks ran as at most for the last {}, {:.0} % of the busy \
             time.\n",
            seconds(of.tail.seconds),
            of.tail.share * 100.0
        );
    }
    for table in tables::all(of) {
        write_table(out, &table, 2);
    }
    if !of.notes.is_empty() {
        out.push_str("## Notes\n\n");
        for note in &of.notes {
            let _ = writeln!(out, "- {}", escaped(note));
        }
        out.push('\n');
    }
}

fn write_table(out: &mut String, table: &Table, level: usize) {
    let _ = writeln!(out, "{} {}\n", "#".repeat(level), escaped(&table.title));
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let mut text = String::from("|");
        for cell in cells {
            let _ = write!(text, " {cell} |");
        }
        text
    };
    let headings = line(&mut table.columns.iter().map(|(name, _)| escaped(name)));
    let rule = line(
        &mut table
            .columns
            .iter()
            .map(|(_, is_number)| (if *is_number { "---:" } else { "---" }).to_owned()),
    );
    let _ = writeln!(out, "{headings}\n{rule}");
    for row in &table.rows {
        let _ = writeln!(out, "{}", line(&mut row.iter().map(|cell| escaped(cell))));
    }
    if let Some(after) = &table.after {
        let _ = writeln!(out, "\n{}", escaped(after));
    }
    out.push('\n');
}

/// Text on one line that has no meaning in Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            _ => safe.push(c),
        }
    }
    safe
}
