//! Which patterns a line is compared with: those of as many parts, with the same first word and of
//! the same severity. An error is never of the same pattern as a warning, however alike they are.

use hashbrown::HashMap;

use super::tokens::Token;
use crate::limits::MAX_MINED_BRANCHES;

/// Stands for any word: for those with digits, and where there are too many.
const ANY: &str = "";

/// Among so many first words the severity is looked for.
const HEAD_WORDS: usize = 8;

const SEVERITIES: [&str; 10] =
    ["trace", "debug", "info", "notice", "warn", "warning", "error", "critical", "fatal", "panic"];

/// The numbers of patterns, by parts, first word and severity.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    by_length: HashMap<usize, Branch<Branch<Vec<u64>>>>,
}

type Branch<T> = HashMap<Box<str>, T>;

/// The words of a line that tell its kind: the first, unless it is variable, and its severity.
pub(super) fn path<'a>(tokens: &[Token<'a>]) -> [&'a str; 2] {
    let mut words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) if !word.contains(|c: char| c.is_ascii_digit()) => Some(*word),
        Token::Word(_) | Token::Variable => Some(ANY),
        Token::Gap(_) => None,
    });
    let is_severity = |word: &&str| SEVERITIES.iter().any(|name| name.eq_ignore_ascii_case(word));
    let severity = words.clone().take(HEAD_WORDS).find(is_severity);
    [words.next().unwrap_or(ANY), severity.unwrap_or(ANY)]
}

impl Tree {
    /// The patterns that lines of a path are compared with, the oldest first.
    pub(super) fn leaf(&self, length: usize, path: [&str; 2]) -> Option<&[u64]> {
        let first = self.by_length.get(&length)?;
        let second = first.get(path[0]).or_else(|| first.get(ANY))?;
        second.get(path[1]).or_else(|| second.get(ANY)).map(Vec::as_slice)
    }

    /// The path that a new pattern is kept under: its own, unless there are too many at a place.
    pub(super) fn open(&self, length: usize, path: [&str; 2]) -> [Box<str>; 2] {
        let first = self.by_length.get(&length);
        let first_word = allowed(first, path[0]);
        let second = first.and_then(|first| first.get(first_word));
        [first_word.into(), allowed(second, path[1]).into()]
    }

    pub(super) fn insert(&mut self, length: usize, path: &[Box<str>; 2], id: u64) {
        let first = self.by_length.entry(length).or_default();
        let second = first.entry(path[0].clone()).or_default();
        second.entry(path[1].clone()).or_default().push(id);
    }

    /// Takes a pattern out, and places that are empty then.
    pub(super) fn remove(&mut self, length: usize, path: &[Box<str>; 2], id: u64) {
        let Some(first) = self.by_length.get_mut(&length) else { return };
        if let Some(second) = first.get_mut(&path[0]) {
            if let Some(ids) = second.get_mut(&path[1]) {
                ids.retain(|known| *known != id);
                if ids.is_empty() {
                    second.remove(&path[1]);
                }
            }
            if second.is_empty() {
                first.remove(&path[0]);
            }
        }
        if first.is_empty() {
            self.by_length.remove(&length);
        }
    }
}

fn allowed<'w, T>(branch: Option<&Branch<T>>, word: &'w str) -> &'w str {
    match branch {
        Some(branch) if branch.len() >= MAX_MINED_BRANCHES && !branch.contains_key(word) => ANY,
        _ => word,
    }
}
