//! What is said about a translation: what became what, what is not needed, what was lost.
//!
//! Values that may be secrets (passwords, tokens, headers) never appear in notes; names and keys do.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use kymo_yaml::Place;

use crate::limits::MAX_QUOTED_CHARS;

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It has a counterpart, which the note names.
    Translated,
    /// Nothing has to be done, but something is different or not needed.
    Noted,
    /// It is not in the result. Whoever needs it has to do something.
    NotTranslated,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Translated => "translated",
            Self::Noted => "noted",
            Self::NotTranslated => "not translated",
        })
    }
}

/// Something that is said about a piece of the collector's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where that piece stands.
    pub place: Place,
    /// What became of it.
    pub what: String,
    /// How much it matters.
    pub level: Level,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "line {line}, column {column}: {}: {}", self.level, self.what)
    }
}

/// Notes as they come.
#[derive(Debug, Default)]
pub(crate) struct Notes(RefCell<Vec<Note>>);

impl Notes {
    pub(crate) fn translated(&self, place: Place, what: impl Into<String>) {
        self.add(place, what.into(), Level::Translated);
    }

    pub(crate) fn noted(&self, place: Place, what: impl Into<String>) {
        self.add(place, what.into(), Level::Noted);
    }

    pub(crate) fn lost(&self, place: Place, what: impl Into<String>) {
        self.add(place, what.into(), Level::NotTranslated);
    }

    fn add(&self, place: Place, what: String, level: Level) {
        self.0.borrow_mut().push(Note { place, what, level });
    }

    /// All of them, in the order of the file. The same is said once, however many pipelines it was
    /// said for.
    pub(crate) fn into_sorted(self) -> Vec<Note> {
        let mut notes = self.0.into_inner();
        notes.sort_by_key(|note| (note.place.line, note.place.column));
        let mut said = HashSet::new();
        notes.retain(|note| said.insert((note.place.line, note.place.column, note.what.clone())));
        notes
    }
}

/// A piece of a configuration for a note: on one line, and not too long.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MAX_QUOTED_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_in_the_order_of_the_file_and_said_once() {
        let notes = Notes::default();
        notes.lost(Place { line: 9, column: 1 }, "b");
        notes.noted(Place { line: 2, column: 3 }, "a");
        notes.lost(Place { line: 9, column: 1 }, "b");
        let all: Vec<_> = notes.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(all, ["line 2, column 3: noted: a", "line 9, column 1: not translated: b"]);
    }

    #[test]
    fn long_pieces_are_cut_and_stay_on_one_line() {
        let cut = shown(&"x\n".repeat(200));
        assert!(cut.ends_with("…`") && !cut.contains('\n') && cut.chars().count() < 130);
    }
}
