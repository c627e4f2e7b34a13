//! A map of the collector's configuration whose keys are taken one by one.
//!
//! What nobody took is told when the section is finished, so that no key is lost without a word.

use std::time::Duration;

use kymo_yaml::amounts;
use kymo_yaml::{Entry, Node, Place};

use crate::notes::Notes;
use crate::{references, scalars};

/// A value that was taken, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken<T> {
    pub(crate) value: T,
    pub(crate) at: Place,
}

/// Some keys and values.
pub(crate) struct Section<'a> {
    /// The keys above, joined: `exporters.otlp/hub`.
    pub(crate) path: String,
    /// Where its key stands.
    pub(crate) at: Place,
    entries: Vec<&'a Entry>,
    pub(crate) notes: &'a Notes,
}

impl<'a> Section<'a> {
    /// The keys of a value. Nothing has none; what has no keys is told.
    pub(crate) fn new(path: String, at: Place, node: &'a Node, notes: &'a Notes) -> Self {
        let entries = match node {
            Node::Map(entries) => entries.iter().collect(),
            Node::Null => Vec::new(),
            Node::Scalar(_) | Node::List(_) => {
                notes.lost(at, format!("{path}: expected keys and values"));
                Vec::new()
            }
        };
        Self { path, at, entries, notes }
    }

    /// The same for one entry of a map.
    pub(crate) fn of(parent: &str, entry: &'a Entry, notes: &'a Notes) -> Self {
        let path =
            if parent.is_empty() { entry.key.clone() } else { format!("{parent}.{}", entry.key) };
        Self::new(path, entry.key_at, &entry.node, notes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key.eq_ignore_ascii_case(key))
    }

    /// Takes a key with whatever it has. Collectors take `Key` for `key`.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a Entry> {
        let nth = self.entries.iter().position(|entry| entry.key.eq_ignore_ascii_case(key))?;
        Some(self.entries.remove(nth))
    }

    /// Takes all that is left.
    pub(crate) fn take_all(&mut self) -> Vec<&'a Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Takes a key that has keys itself. One without a value is an empty section.
    pub(crate) fn section(&mut self, key: &str) -> Option<Section<'a>> {
        self.take(key).map(|entry| Section::of(&self.path, entry, self.notes))
    }

    /// Takes a text, with its references as this configuration has them. `null` is none.
    pub(crate) fn text(&mut self, key: &str) -> Option<Taken<String>> {
        let entry = self.take(key)?;
        match &entry.node {
            Node::Null => None,
            Node::Scalar(scalar) => {
                Some(Taken { value: self.referring(&scalar.text, entry.at), at: entry.at })
            }
            Node::List(_) | Node::Map(_) => {
                self.wrong(entry, "expected one value");
                None
            }
        }
    }

    /// A text with references as this configuration has them, and notes on what it has not.
    pub(crate) fn referring(&self, text: &str, at: Place) -> String {
        let referring = references::translated(text);
        // The text may be a secret, so it is not shown.
        if referring.has_unknown {
            let what =
                format!("{}: of references, only those to ${{env:…}} are followed", self.path);
            self.notes.lost(at, what);
        }
        if referring.has_unbraced {
            let what = format!(
                "{}: a dollar without braces is text; collectors before 0.104 took what is behind \
                 it for a variable, which is ${{env:…}} here",
                self.path
            );
            self.notes.noted(at, what);
        }
        referring.text
    }

    /// Takes `true` or `false`.
    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        let entry = self.take(key)?;
        let truth = entry.node.as_text().and_then(scalars::truth);
        if truth.is_none() && entry.node != Node::Null {
            self.wrong(entry, "expected true or false");
        }
        truth
    }

    /// Takes a whole number.
    pub(crate) fn number(&mut self, key: &str) -> Option<Taken<u64>> {
        let entry = self.take(key)?;
        match entry.node.as_text().map(amounts::count) {
            Some(Some(value)) => Some(Taken { value, at: entry.at }),
            None if entry.node == Node::Null => None,
            _ => {
                self.wrong(entry, "expected a whole number");
                None
            }
        }
    }

    /// Takes a number that may have a fraction.
    pub(crate) fn fraction(&mut self, key: &str) -> Option<Taken<f64>> {
        let entry = self.take(key)?;
        let value = entry.node.as_text().and_then(|text| text.parse::<f64>().ok());
        match value.filter(|value| value.is_finite()) {
            Some(value) => Some(Taken { value, at: entry.at }),
            None => {
                self.wrong(entry, "expected a number");
                None
            }
        }
    }

    /// Takes a duration as Go writes them, and gives it as this configuration does.
    pub(crate) fn duration(&mut self, key: &str) -> Option<Taken<String>> {
        let text = self.text(key)?;
        if references::refers(&text.value) {
            return Some(text);
        }
        match crate::durations::nanos(&text.value) {
            Some(nanos) => Some(Taken { value: crate::durations::shown(nanos), at: text.at }),
            None => {
                let what = format!("{}.{key}: expected a duration such as 5s", self.path);
                self.notes.lost(text.at, what);
                None
            }
        }
    }

    /// Takes a duration within bounds, which are told where one is beyond them.
    pub(crate) fn duration_within(
        &mut self,
        key: &str,
        least: Duration,
        most: Duration,
    ) -> Option<Taken<String>> {
        let found = self.duration(key)?;
        let Some(nanos) = crate::durations::nanos(&found.value) else { return Some(found) };
        let bound = Duration::from_nanos(nanos).clamp(least, most);
        if bound == Duration::from_nanos(nanos) {
            return Some(found);
        }
        let value = amounts::duration_text(bound);
        self.bounded(key, &found.value, &value, found.at);
        Some(Taken { value, at: found.at })
    }

    /// Takes a whole number within bounds, which are told where one is beyond them.
    pub(crate) fn number_within(&mut self, key: &str, least: u64, most: u64) -> Option<Taken<u64>> {
        let found = self.number(key)?;
        let value = found.value.clamp(least, most);
        if value != found.value {
            self.bounded(key, &found.value.to_string(), &value.to_string(), found.at);
        }
        Some(Taken { value, at: found.at })
    }

    /// Says that something is beyond what can be set.
    pub(crate) fn bounded(&self, key: &str, found: &str, bound: &str, at: Place) {
        let what = format!("{}.{key}: {found} is beyond what can be set; it is {bound}", self.path);
        self.notes.noted(at, what);
    }

    /// Takes a list of texts; one text alone is a list too.
    pub(crate) fn texts(&mut self, key: &str) -> Vec<Taken<String>> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        match &entry.node {
            Node::Null => Vec::new(),
            Node::Scalar(scalar) => {
                vec![Taken { value: self.referring(&scalar.text, entry.at), at: entry.at }]
            }
            Node::Map(_) => {
                self.wrong(entry, "expected a list");
                Vec::new()
            }
            Node::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items {
                    match &item.node {
                        Node::Scalar(scalar) => texts.push(Taken {
                            value: self.referring(&scalar.text, item.at),
                            at: item.at,
                        }),
                        _ => self.notes.lost(
                            item.at,
                            format!("{}.{key}: expected a text in this list", self.path),
                        ),
                    }
                }
                texts
            }
        }
    }

    /// Takes a list of things that have keys.
    pub(crate) fn sections(&mut self, key: &str) -> Vec<Section<'a>> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        match &entry.node {
            Node::Null => Vec::new(),
            Node::List(items) => items
                .iter()
                .enumerate()
                .map(|(nth, item)| {
                    let path = format!("{}.{key}[{nth}]", self.path);
                    Section::new(path, item.at, &item.node, self.notes)
                })
                .collect(),
            Node::Scalar(_) | Node::Map(_) => {
                self.wrong(entry, "expected a list");
                Vec::new()
            }
        }
    }

    /// Takes keys that need no counterpart, saying why.
    pub(crate) fn noted(&mut self, keys: &[&str], why: &str) {
        for key in keys {
            if let Some(entry) = self.take(key) {
                self.notes.noted(entry.key_at, format!("{}.{key}: {why}", self.path));
            }
        }
    }

    /// Takes keys that have no counterpart, saying why.
    pub(crate) fn lost(&mut self, keys: &[&str], why: &str) {
        for key in keys {
            if let Some(entry) = self.take(key) {
                self.notes.lost(entry.key_at, format!("{}.{key}: {why}", self.path));
            }
        }
    }

    fn wrong(&self, entry: &Entry, why: &str) {
        self.notes.lost(entry.at, format!("{}.{}: {why}", self.path, entry.key));
    }

    /// Tells what nobody took.
    pub(crate) fn finish(self) {
        for entry in self.entries {
            let what = format!("{}.{}: this key has no counterpart", self.path, entry.key);
            self.notes.lost(entry.key_at, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_told_with_its_place() {
        let entries = kymo_yaml::parse("a:\n  b: 5s\n  c: ${X}\n  d: true\n  e: [1]\n").unwrap();
        let notes = Notes::default();
        let mut section = Section::of("", &entries[0], &notes);
        assert_eq!(section.duration("b").unwrap().value, "5s");
        assert_eq!(section.text("c").unwrap().value, "${env:X}");
        assert_eq!(section.number("d"), None);
        assert_eq!(section.text("missing"), None);
        section.finish();
        let notes: Vec<_> = notes.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "line 4, column 6: not translated: a.d: expected a whole number",
                "line 5, column 3: not translated: a.e: this key has no counterpart",
            ]
        );
    }
}
