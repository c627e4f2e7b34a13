//! The level of an entry, for those who want it although nobody sent it: of its labels and metadata,
//! or else of the number of its severity, or else of words in its line.

use std::borrow::Cow;

use kymo_logql::labels::Labels;
use kymo_logql::selection::{Names, Needs};

use super::options::LogqlOptions;
use super::pushdown::DETECTED_LEVEL;

/// Labels that say what the level is, the first that there is.
const LABELS: [&str; 13] = [
    "level",
    "LEVEL",
    "Level",
    "log_level",
    "severity",
    "SEVERITY",
    "Severity",
    "SeverityText",
    "lvl",
    "LVL",
    "Lvl",
    "severity_text",
    "Severity_Text",
];
const SEVERITY_NUMBER: &str = "severity_number";
/// Bytes of a line that are looked through for a word.
const LINE_BYTES: usize = 1 << 10;

/// The levels, and words for them.
const LEVELS: [(&str, &[&str]); 7] = [
    ("trace", &["trace", "trc"]),
    ("debug", &["debug", "dbg"]),
    ("info", &["info", "inf", "information"]),
    ("warn", &["warn", "wrn", "warning"]),
    ("error", &["error", "err"]),
    ("critical", &["critical"]),
    ("fatal", &["fatal"]),
];

/// What has to be known of an entry, and whether its level is to be found out: if it is to be and
/// somebody asks for it.
pub(super) fn needs(needs: &Needs, options: &LogqlOptions) -> (Needs, bool) {
    let mut needs = needs.clone();
    let is_asked = options.detects_level && needs.labels.has(DETECTED_LEVEL);
    if let Names::Only(names) = &mut needs.labels
        && is_asked
    {
        names.extend(LABELS.iter().map(|name| (*name).to_owned()));
        names.insert(SEVERITY_NUMBER.to_owned());
    }
    needs.line |= is_asked;
    (needs, is_asked)
}

/// Adds the level to the metadata of an entry.
pub(super) fn add<'m>(
    metadata: &mut Vec<(Cow<'m, str>, Cow<'m, str>)>,
    stream: &Labels,
    line: &str,
) {
    if metadata.iter().any(|(name, _)| name == DETECTED_LEVEL) {
        return;
    }
    let of_metadata =
        |wanted: &str| metadata.iter().find(|(name, _)| name == wanted).map(|(_, value)| &**value);
    let said = LABELS.iter().find_map(|name| stream.get(name).or_else(|| of_metadata(name)));
    let level = match said {
        Some(said) => of_word(said).unwrap_or("unknown"),
        None => {
            let number = of_metadata(SEVERITY_NUMBER).and_then(|number| number.parse().ok());
            number.and_then(of_number).or_else(|| of_line(line)).unwrap_or("unknown")
        }
    };
    metadata.push((Cow::Borrowed(DETECTED_LEVEL), Cow::Borrowed(level)));
}

fn of_number(number: i64) -> Option<&'static str> {
    match number {
        1..=4 => Some("trace"),
        5..=8 => Some("debug"),
        9..=12 => Some("info"),
        13..=16 => Some("warn"),
        17..=20 => Some("error"),
        21..=24 => Some("fatal"),
        _ => None,
    }
}

fn of_word(word: &str) -> Option<&'static str> {
    let is_word = |known: &&str| known.eq_ignore_ascii_case(word);
    LEVELS.iter().find(|(_, words)| words.iter().any(is_word)).map(|(level, _)| *level)
}

/// The first word of a line that is one for a level.
fn of_line(line: &str) -> Option<&'static str> {
    let end = (0..=line.len().min(LINE_BYTES)).rev().find(|end| line.is_char_boundary(*end));
    let words = line[..end.unwrap_or(0)].split(|c: char| !c.is_ascii_alphabetic());
    words.filter(|word| !word.is_empty()).find_map(of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(stream: &[(&str, &str)], metadata: &[(&str, &str)], line: &str) -> String {
        let stream = Labels::of(stream.iter().copied());
        let mut metadata: Vec<(Cow<'_, str>, Cow<'_, str>)> =
            metadata.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        add(&mut metadata, &stream, line);
        metadata.last().unwrap().1.to_string()
    }

    #[test]
    fn labels_count_before_numbers_and_numbers_before_words() {
        assert_eq!(level(&[("level", "WARNING")], &[("severity_number", "9")], "error"), "warn");
        assert_eq!(level(&[], &[("severity_number", "9")], "error"), "info");
        assert_eq!(level(&[], &[], "2026 [ERR] no disk"), "error");
        assert_eq!(level(&[], &[], "terror in the interim"), "unknown");
        assert_eq!(level(&[("level", "strange")], &[], "error"), "unknown");
        assert_eq!(level(&[], &[], &"ä".repeat(LINE_BYTES)), "unknown");
    }
}
