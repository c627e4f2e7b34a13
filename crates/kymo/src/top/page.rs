//! A page: everything at one moment.

use std::fmt::Write as _;

use serde::Serialize;
use serde::ser::SerializeMap;

use super::ingest::{Counted, Ingest};
use super::section::{Rows, SECTIONS};
use crate::failure::Failure;
use crate::source::Source;
use crate::terminal::{self, Paint};
use crate::units;

/// What was seen.
#[derive(Debug)]
pub(super) struct Page {
    server: String,
    at_nanos: i64,
    ingest: Ingest,
    sections: Vec<(&'static str, Rows)>,
}

impl Page {
    /// Looks, and remembers what was counted for the next look.
    pub(super) fn look(source: &Source, before: &mut Counted) -> Result<Self, Failure> {
        let counted = Counted::read(source)?;
        let ingest = Ingest::between(before, &counted);
        *before = counted;
        let mut sections = Vec::new();
        for section in &SECTIONS {
            sections.push((section.name, section.look(source)?));
        }
        let server = match source {
            Source::Server(client) => client.name(),
            Source::Directory(directory) => directory.path.display().to_string(),
        };
        Ok(Self { server, at_nanos: crate::times::now(), ingest, sections })
    }

    /// For people: on a terminal of so many rows and columns, or without an end.
    pub(super) fn text(&self, size: Option<(usize, usize)>) -> String {
        let paint = Paint::stdout();
        let time = units::time(self.at_nanos);
        let time = time.get(..19).unwrap_or(&time);
        let mut text = format!("{}  {time}Z\n", paint.bold(&format!("kymo top  {}", self.server)));
        let mut write = |title: &str, body: String| {
            let _ = write!(text, "\n{}\n{body}", paint.bold(title));
        };
        write("INGEST", self.ingest.text());
        for (_, rows) in &self.sections {
            if !rows.is_empty() {
                write(rows.title(), rows.table().to_string());
            }
        }
        match size {
            Some((rows, columns)) => fitted(&text, rows, columns, paint),
            None => text,
        }
    }
}

/// As much as a terminal can show.
fn fitted(text: &str, rows: usize, columns: usize, paint: Paint) -> String {
    let mut fitted = String::new();
    let count = text.lines().count();
    let shown = if count > rows { rows.saturating_sub(1) } else { count };
    for line in text.lines().take(shown) {
        // Painted lines are short.
        let is_whole = terminal::width(line) <= columns;
        fitted.push_str(&if is_whole { line.to_owned() } else { terminal::fit(line, columns).0 });
        fitted.push('\n');
    }
    if shown < count {
        fitted.push_str(&paint.dim(&format!("{} more lines", count - shown)));
    }
    fitted
}

impl Serialize for Page {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut page = serializer.serialize_map(None)?;
        page.serialize_entry("server", &self.server)?;
        page.serialize_entry("time", &units::time(self.at_nanos))?;
        page.serialize_entry("ingest", &self.ingest)?;
        for (name, rows) in &self.sections {
            page.serialize_entry(name, &rows.json())?;
        }
        page.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_to_what_a_terminal_shows() {
        let text = "one\ntwo is long\nthree\n";
        assert_eq!(fitted(text, 3, 20, Paint::none()), text);
        assert_eq!(fitted(text, 2, 5, Paint::none()), "one\n2 more lines");
        assert_eq!(fitted("two is long\n", 5, 5, Paint::none()), "two …\n");
        assert_eq!(fitted("", 0, 0, Paint::none()), "");
    }
}
