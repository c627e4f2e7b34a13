//! A page: everything at one moment.

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
    /// None for those who may not see it.
    ingest: Option<Ingest>,
    sections: Vec<(&'static str, Rows)>,
}

impl Page {
    /// Looks, and remembers what was counted for the next look.
    pub(super) fn look(source: &Source, before: &mut Option<Counted>) -> Result<Self, Failure> {
        let counted = Counted::read(source)?;
        let both = before.as_ref().zip(counted.as_ref());
        let ingest = both.map(|(before, counted)| Ingest::between(before, counted));
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
        let title = format!("kymo top  {}", self.server);
        let mut lines =
            vec![Line { heading_bytes: title.len(), text: format!("{title}  {time}Z") }];
        let mut write = |title: &str, body: String| {
            lines.push(Line::plain(""));
            lines.push(Line { heading_bytes: title.len(), text: title.to_owned() });
            lines.extend(body.lines().map(Line::plain));
        };
        let denied = || "shown to those who may read all tenants".to_owned();
        write("INGEST", self.ingest.as_ref().map_or_else(denied, Ingest::text));
        for (_, rows) in &self.sections {
            if !rows.is_empty() {
                write(rows.title(), rows.table().to_string());
            }
        }
        match size {
            Some((rows, columns)) => fitted(&lines, rows, columns, paint),
            None => lines.iter().map(|line| format!("{}\n", line.painted(paint))).collect(),
        }
    }
}

/// A line without colours, which have no width.
#[derive(Debug)]
struct Line {
    text: String,
    /// Of its beginning.
    heading_bytes: usize,
}

impl Line {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), heading_bytes: 0 }
    }

    fn painted(&self, paint: Paint) -> String {
        let end = self.text.floor_char_boundary(self.heading_bytes);
        let (heading, rest) = self.text.split_at(end);
        format!("{}{rest}", paint.bold(heading))
    }
}

/// As much as a terminal can show.
fn fitted(lines: &[Line], rows: usize, columns: usize, paint: Paint) -> String {
    let mut fitted = String::new();
    let count = lines.len();
    let shown = if count > rows { rows.saturating_sub(1) } else { count };
    for line in lines.iter().take(shown) {
        let text = terminal::fit(&line.text, columns);
        fitted.push_str(&Line { text, ..*line }.painted(paint));
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
        let lines = ["one", "two is long", "three"].map(Line::plain);
        let none = Paint::none();
        assert_eq!(fitted(&lines, 3, 20, none), "one\ntwo is long\nthree\n");
        assert_eq!(fitted(&lines, 2, 5, none), "one\n2 more lines");
        assert_eq!(fitted(&lines[1..2], 5, 5, none), "two …\n");
        assert_eq!(fitted(&[], 0, 0, none), "");
    }

    #[test]
    fn colours_take_no_columns() {
        let line = Line { text: "größe 12:00".to_owned(), heading_bytes: "größe".len() };
        let shown = |columns| fitted(std::slice::from_ref(&line), 1, columns, Paint::always());
        assert_eq!(shown(11), "\u{1b}[1mgröße\u{1b}[0m 12:00\n");
        assert_eq!(shown(7), "\u{1b}[1mgröße\u{1b}[0m …\n");
        assert_eq!(shown(3), "\u{1b}[1mgr…\u{1b}[0m\n");
    }
}
