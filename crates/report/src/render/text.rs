//! A report for a terminal: tables, and charts of block characters.

use std::fmt::Write as _;

use super::tables::{self, Table};
use crate::analysis::{Analysis, Comparison, Histogram};
use crate::spark::{self, HEIGHTS, bar};
use crate::units::{count, fit, number, percent, seconds, width};

/// Lines of a chart over time.
const CHART_LINES: usize = 5;
/// The narrowest page that is drawn.
const MIN_COLUMNS: usize = 40;
/// The widest cell of a text.
const MAX_CELL_COLUMNS: usize = 48;

/// How a page looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Columns of the terminal.
    pub columns: usize,
    /// Whether it shows colours.
    pub colours: bool,
}

impl Look {
    fn paint(self, code: &str, text: &str) -> String {
        match self.colours && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    fn heading(self, out: &mut String, text: &str) {
        let _ = writeln!(out, "\n{}", self.paint("1", text));
    }
}

/// The colour of a state.
fn colour(state: &str) -> &'static str {
    match state {
        "completed" => "32",
        "failed" => "31",
        "canceled" => "33",
        _ => "36",
    }
}

/// Sessions below each other.
#[must_use]
pub fn render(sessions: &[Analysis], comparison: Option<&Comparison>, look: Look) -> String {
    let look = Look { columns: look.columns.max(MIN_COLUMNS), ..look };
    let mut out = String::new();
    if let Some(comparison) = comparison {
        write_comparison(&mut out, comparison, look);
    }
    for session in sessions {
        if !out.is_empty() {
            let _ = writeln!(out, "\n{}", look.paint("2", &"─".repeat(look.columns)));
        }
        write_session(&mut out, session, look);
    }
    out
}

fn write_comparison(out: &mut String, of: &Comparison, look: Look) {
    let _ = writeln!(out, "{}", look.paint("1", "Sessions compared"));
    for (nth, session) in of.sessions.iter().enumerate() {
        let _ = writeln!(out, "  {}  {}", letter(nth), fit(session, look.columns - 5));
    }
    let mut columns = vec![("", false)];
    const LETTERS: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];
    columns.extend(of.sessions.iter().zip(LETTERS).map(|(_, letter)| (letter, true)));
    let mut table = Table { columns, ..Table::default() };
    let source = tables::comparison(of);
    for (nth, figure) in of.figures.iter().enumerate() {
        let mut row = vec![figure.name.to_owned()];
        let cells = source.rows.iter().filter_map(|cells| cells.get(nth + 1).cloned());
        row.extend(cells.take(LETTERS.len()));
        table.rows.push(row);
    }
    if of.sessions.len() > LETTERS.len() {
        table.after = Some(format!("{} more are below", of.sessions.len() - LETTERS.len()));
    }
    write_table(out, &table, look);
}

fn letter(nth: usize) -> char {
    char::from(b'A' + (nth % 26) as u8)
}

fn write_session(out: &mut String, of: &Analysis, look: Look) {
    let facts = tables::facts(of);
    let widest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or_default();
    for (name, value) in &facts {
        let name = look.paint("2", &padded(name, widest));
        let _ = writeln!(out, "{name}  {}", fit(value, look.columns.saturating_sub(widest + 2)));
    }
    write_states(out, of, look);
    if !of.notes.is_empty() {
        look.heading(out, "Notes");
        for note in &of.notes {
            let _ = writeln!(out, "· {}", crate::units::printable(note));
        }
    }
    if let Some(histogram) = of.duration.histogram.as_ref().filter(|_| of.duration.count > 1) {
        look.heading(out, "Duration of tasks");
        write_histogram(out, histogram, look);
    }
    if of.concurrency.max > 0 {
        let text = format!(
            "Running at once: max {} at +{}, mean {}",
            count(of.concurrency.max),
            seconds(of.concurrency.max_at_seconds),
            number(of.concurrency.mean)
        );
        look.heading(out, &text);
        let series: Vec<f64> = of.concurrency.series.iter().map(|point| point.max as f64).collect();
        write_chart(out, &series, of.window.secs(), "36", look);
        let tail = format!(
            "tail: less than half of that for the last {}, {} of the busy time",
            seconds(of.tail.seconds),
            percent(of.tail.share * 100.0)
        );
        let _ = writeln!(out, "{}", look.paint("2", &tail));
    }
    if of.tasks.completed > 0 {
        let text = format!(
            "Completed per second: mean {}, max {}",
            number(of.throughput.mean_per_second),
            number(of.throughput.max_per_second)
        );
        look.heading(out, &text);
        let width = of.throughput.bin_seconds.max(f64::MIN_POSITIVE);
        let bins = of.throughput.bins.iter().map(|bin| bin.completed as f64 / width);
        write_chart(out, &bins.collect::<Vec<_>>(), of.window.secs(), "32", look);
    }
    write_use(out, of, look);
    for table in tables::all(of) {
        look.heading(out, &table.title);
        write_table(out, &table, look);
    }
}

fn write_states(out: &mut String, of: &Analysis, look: Look) {
    let total = of.tasks.total;
    // A command need not have tasks.
    if total == 0 && of.session.process.is_some() {
        return;
    }
    look.heading(out, &format!("Tasks: {}", count(total)));
    if total == 0 {
        return;
    }
    let states = tables::states(of);
    let mut bar = String::new();
    let mut drawn = 0;
    let mut so_far = 0;
    for (state, number) in &states {
        so_far += number;
        let until = (so_far as f64 / total as f64 * look.columns as f64).round() as usize;
        // What is there is seen, however small.
        let length = until.saturating_sub(drawn).max(1).min(look.columns - drawn.min(look.columns));
        let block = match *state {
            "completed" => "█",
            "failed" => "▓",
            "canceled" => "▒",
            _ => "░",
        };
        bar.push_str(&look.paint(colour(state), &block.repeat(length)));
        drawn += length;
    }
    let legend: Vec<String> = states
        .iter()
        .map(|(state, number)| {
            let share = percent(*number as f64 / total as f64 * 100.0);
            let text = format!("{} {state} ({share})", count(*number));
            look.paint(colour(state), &text)
        })
        .collect();
    let _ = writeln!(out, "{bar}\n{}", legend.join("   "));
}

fn write_histogram(out: &mut String, of: &Histogram, look: Look) {
    let is_seen = |bin: &crate::analysis::Bin| bin.count > 0;
    let first = of.bins.iter().position(is_seen).unwrap_or_default();
    let last = of.bins.iter().rposition(is_seen).unwrap_or_default();
    let bins = of.bins.get(first..=last).unwrap_or_default();
    let label = |bin: &crate::analysis::Bin| format!("{} – {}", seconds(bin.from), seconds(bin.to));
    let widest = bins.iter().map(|bin| width(&label(bin))).max().unwrap_or_default();
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or_default();
    let number_width = count(most).len();
    let room = look.columns.saturating_sub(widest + number_width + 3).max(8);
    for bin in bins {
        let bar = bar(bin.count as f64, most as f64, room);
        let label = right(&label(bin), widest);
        let line = format!(
            "{label}  {} {}",
            right(&count(bin.count), number_width),
            look.paint("36", &bar)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// Columns of blocks, with the largest number at the side and times below.
fn write_chart(out: &mut String, series: &[f64], secs: f64, code: &str, look: Look) {
    let most = series.iter().copied().fold(0.0, f64::max);
    let label = number(most);
    let side = width(&label).max(1);
    let columns = look.columns.saturating_sub(side + 2).min(series.len().max(1) * 2).max(8);
    let values: Vec<f64> = (0..columns)
        .map(|column| {
            let (from, to) =
                (column * series.len() / columns, (column + 1) * series.len() / columns);
            let part = &series[from.min(series.len())..to.max(from + 1).min(series.len())];
            // The most of what shares a column: a peak that is told must be seen.
            part.iter().copied().fold(0.0, f64::max)
        })
        .collect();
    let steps = CHART_LINES * HEIGHTS.len();
    for line in (0..CHART_LINES).rev() {
        let cells: String = values
            .iter()
            .map(|value| {
                let height = if most > 0.0 { value / most * steps as f64 } else { 0.0 };
                let mut height = height.round() as usize;
                if *value > 0.0 {
                    height = height.max(1);
                }
                match height.saturating_sub(line * HEIGHTS.len()) {
                    0 => ' ',
                    over => HEIGHTS[over.min(HEIGHTS.len()) - 1],
                }
            })
            .collect();
        let text = match line {
            0 => "0",
            _ if line == CHART_LINES - 1 => label.as_str(),
            _ => "",
        };
        let mark = if text.is_empty() { '│' } else { '┤' };
        let cells = look.paint(code, cells.trim_end());
        let _ = writeln!(out, "{} {mark}{cells}", right(text, side));
    }
    let (end, middle) = (format!("+{}", seconds(secs)), format!("+{}", seconds(secs / 2.0)));
    let before = (columns / 2).saturating_sub(1 + width(&middle) / 2);
    let between = columns.saturating_sub(1 + before + width(&middle) + width(&end));
    let _ = writeln!(
        out,
        "{}0{}{middle}{}{end}",
        " ".repeat(side + 2),
        " ".repeat(before),
        " ".repeat(between)
    );
}

/// A line of blocks for each node and GPU.
fn write_use(out: &mut String, of: &Analysis, look: Look) {
    const MAX_LINES: usize = 24;
    let mut lines: Vec<(String, Vec<Option<f64>>, f64)> = Vec::new();
    for node in &of.resources.nodes {
        let gauges = [
            ("CPU", &node.cpu_percent),
            ("memory", &node.memory_percent),
            ("GPU", &node.gpu_percent),
        ];
        for (what, gauge) in gauges {
            if let Some(gauge) = gauge {
                let label = format!("{} {what}", fit(&node.node, 24));
                lines.push((label, gauge.held(), gauge.mean));
            }
        }
    }
    for gpu in &of.resources.gpus {
        if let Some(gauge) = &gpu.gpu_percent {
            let label = format!("{} GPU {}", fit(&gpu.node, 24), fit(&gpu.gpu, 12));
            lines.push((label, gauge.held(), gauge.mean));
        }
    }
    if lines.is_empty() {
        return;
    }
    look.heading(out, "Use over time, 0 to 100 %");
    let widest = lines.iter().map(|(label, ..)| width(label)).max().unwrap_or_default();
    let room = look.columns.saturating_sub(widest + 14).max(8);
    for (label, series, mean) in lines.iter().take(MAX_LINES) {
        let drawn = look.paint("35", &spark::line_to(series, room, 100.0));
        let _ = writeln!(out, "{}  {drawn}  mean {}", padded(label, widest), percent(*mean));
    }
    if lines.len() > MAX_LINES {
        let _ = writeln!(out, "{} more are in the tables below", lines.len() - MAX_LINES);
    }
}

fn write_table(out: &mut String, table: &Table, look: Look) {
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| fit(cell, MAX_CELL_COLUMNS)).collect())
        .collect();
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(nth, (heading, _))| {
            let widest = cells.iter().filter_map(|row| row.get(nth)).map(|cell| width(cell)).max();
            widest.unwrap_or_default().max(width(heading))
        })
        .collect();
    let line = |row: &[String]| {
        let mut text = String::new();
        for ((cell, (_, is_number)), columns) in row.iter().zip(&table.columns).zip(&widths) {
            let cell = if *is_number { right(cell, *columns) } else { padded(cell, *columns) };
            text.push_str(&cell);
            text.push_str("  ");
        }
        text.trim_end().to_owned()
    };
    let headings: Vec<String> = table.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let _ = writeln!(out, "{}", look.paint("2", &line(&headings)));
    for row in &cells {
        let _ = writeln!(out, "{}", line(row));
    }
    if let Some(after) = &table.after {
        let _ = writeln!(out, "{}", look.paint("2", &crate::units::printable(after)));
    }
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}
