//! Plain tables: columns aligned with spaces, no frames, easy to read and to `grep`.

use std::fmt::{self, Display};

use crate::terminal::width;

/// Space between columns.
const GAP: &str = "  ";

/// On which side a column's cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table with a line of headings.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn widths(&self) -> Vec<usize> {
        let cell_width = |nth: usize, cells: &Vec<String>| cells.get(nth).map_or(0, |c| width(c));
        self.columns
            .iter()
            .enumerate()
            .map(|(nth, (heading, _))| {
                let cells = self.rows.iter().map(|row| cell_width(nth, row)).max();
                cells.unwrap_or(0).max(width(heading))
            })
            .collect()
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let headings: Vec<String> = self.columns.iter().map(|(h, _)| (*h).to_owned()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), total) in row.iter().zip(&self.columns).zip(&widths) {
                let padding = " ".repeat(total - width(cell));
                match align {
                    Align::Left => line.extend([cell, &padding, GAP]),
                    Align::Right => line.extend([&padding, cell, GAP]),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Names and values below each other.
#[derive(Debug, Default)]
pub(crate) struct Facts(Vec<(String, String)>);

impl Facts {
    pub(crate) fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }
}

impl Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.0.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, value) in &self.0 {
            let padding = " ".repeat(widest - width(name));
            writeln!(f, "{name}{padding}{GAP}{value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_and_lines_end_without_spaces() {
        let mut table = Table::new(&[("name", Align::Left), ("bytes", Align::Right)]);
        table.row(vec!["a".into(), "1,000,000".into()]);
        table.row(vec!["größer".into(), "2".into()]);
        assert_eq!(table.to_string(), "name        bytes\na       1,000,000\ngrößer          2\n");
        let mut facts = Facts::default();
        facts.add("rows", "3");
        facts.add("time range", "always");
        assert_eq!(facts.to_string(), "rows        3\ntime range  always\n");
    }
}
