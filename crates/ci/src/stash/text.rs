//! What all formats of a stash have in common: lines with any end, names made of paths, bounds of
//! texts, and what is said of lines that cannot be understood.

use super::limits::{MAX_BAD_LINES, MAX_NAME_BYTES, MAX_TEXT_BYTES};
use crate::warnings::Warnings;

/// The lines of a text with their numbers, whichever of the three line ends it has.
pub(super) fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines =
        text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
    lines.enumerate().map(|(index, line)| (index + 1, line))
}

/// A text that a job wrote, no longer than its limit.
pub(super) fn bounded_text(text: &str) -> String {
    bounded(text, MAX_TEXT_BYTES)
}

/// A name that a job wrote, no longer than its limit.
pub(super) fn bounded_name(name: &str) -> String {
    bounded(name, MAX_NAME_BYTES)
}

/// The start of a text, with a mark where it is cut.
fn bounded(text: &str, max_bytes: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(MARK.len()));
    let start = text.get(..end).unwrap_or_default();
    format!("{start}{MARK}")
}

/// Whether a character may be in a word, as regular expressions have it.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A part of an attribute's name made of a path: whatever is no word becomes `_`, none at the ends.
pub(super) fn word_key(path: &str) -> String {
    let words: Vec<&str> =
        path.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// A name for the log, in one line: a job chose it, and a line of its own in the log of GitHub may
/// be a command.
pub(super) fn in_one_line(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// The name that is not taken yet: itself, or with the first number that makes it another.
pub(super) fn free_name(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(wanted) {
        return wanted.to_owned();
    }
    let mut number = 2_u64;
    loop {
        let name = format!("{wanted}_{number}");
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// Says which lines of a file are wrong, the first ones each and the rest as a number.
pub(super) struct BadLines<'a> {
    file: &'a str,
    count: usize,
    warnings: &'a mut Warnings,
}

impl<'a> BadLines<'a> {
    pub(super) fn new(file: &'a str, warnings: &'a mut Warnings) -> Self {
        Self { file, count: 0, warnings }
    }

    /// Of this line it is said what is wrong.
    pub(super) fn add(&mut self, number: usize, what: &str) {
        self.count += 1;
        if self.count <= MAX_BAD_LINES {
            self.warnings.add(format!("{}: line {number} {what}", self.file));
        }
    }

    /// There are no more lines.
    pub(super) fn finish(self) {
        if let Some(more @ 1..) = self.count.checked_sub(MAX_BAD_LINES) {
            self.warnings.add(format!("{}: {more} more lines are left out", self.file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_counts_once() {
        let lines: Vec<_> = numbered_lines("a\nb\r\nc\rd\n\ne").collect();
        assert_eq!(lines, [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, ""), (6, "e")]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöüß", 6), "ä…");
        assert_eq!(bounded("abc", 0), "…");
    }

    #[test]
    fn a_name_for_the_log_stays_in_its_line() {
        assert_eq!(in_one_line("a\n::error::b\u{1b}[31m"), "a\u{fffd}::error::b\u{fffd}[31m");
    }

    #[test]
    fn keys_are_words_and_never_the_same_twice() {
        assert_eq!(word_key("cpp/build-12.9/"), "cpp_build_12_9");
        assert_eq!(free_name("a", |_| false), "a");
        assert_eq!(free_name("a", |name| ["a", "a_2"].contains(&name)), "a_3");
    }

    #[test]
    fn many_bad_lines_are_a_number() {
        let mut warnings = Warnings::new();
        let mut bad = BadLines::new("f", &mut warnings);
        (1..=MAX_BAD_LINES + 3).for_each(|number| bad.add(number, "is odd"));
        bad.finish();
        assert_eq!(warnings.all().len(), MAX_BAD_LINES + 1);
        assert_eq!(warnings.all()[0], "f: line 1 is odd");
        assert_eq!(warnings.all()[MAX_BAD_LINES], "f: 3 more lines are left out");
    }
}
