//! Labels: names with values, in order.
//!
//! A set of labels is one text and the places in it, shared by all who hold it: a copy costs a
//! count, and two sets compare as two texts. A value may be empty: a parser that found an empty
//! text says so, and log queries show it.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The label that says what went wrong with a line.
pub const ERROR: &str = "__error__";
/// The label that says more about it.
pub const ERROR_DETAILS: &str = "__error_details__";
/// Labels that say how bad a line is, the surest first.
pub const LEVEL_LABELS: [&str; 5] = ["detected_level", "level", "severity_text", "severity", "lvl"];
/// What is put behind the name of a parsed label that a line has from elsewhere already.
pub const EXTRACTED: &str = "_extracted";

/// Labels by name, each once. Cheap to copy.
#[derive(Clone, Default)]
pub struct Labels(Arc<Inner>);

#[derive(Default, PartialEq, Eq)]
struct Inner {
    /// Names and values in turn, without anything between them.
    text: String,
    /// Where each name and its value end.
    ends: Vec<(u32, u32)>,
}

impl Labels {
    /// Labels in any order. Of several with one name the last counts.
    pub fn of<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut pairs: Vec<(N, V)> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        let mut builder = LabelsBuilder::default();
        for (nth, (name, value)) in pairs.iter().enumerate() {
            let is_last = pairs.get(nth + 1).is_none_or(|next| next.0.as_ref() != name.as_ref());
            if is_last {
                builder.push(name.as_ref(), value.as_ref());
            }
        }
        builder.finish()
    }

    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        // Few labels: a walk is quicker than a search.
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Whether there is a label of that name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The labels by name.
    pub fn iter(&self) -> Iter<'_> {
        Iter { labels: &self.0, nth: 0, at: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// Those that `keep` lets through.
    pub fn filtered(&self, keep: impl Fn(&str, &str) -> bool) -> Self {
        if self.iter().all(|(name, value)| keep(name, value)) {
            return self.clone();
        }
        let mut builder = LabelsBuilder::default();
        for (name, value) in self.iter().filter(|(name, value)| keep(name, value)) {
            builder.push(name, value);
        }
        builder.finish()
    }

    /// With one label set, or removed if the value is empty.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let others = self.iter().filter(|(found, _)| *found != name);
        Self::of(others.chain((!value.is_empty()).then_some((name, value))))
    }

    /// What tells this set from others that are held at the same time: who meets the same again
    /// need not compare it. Sets that are equal but were made apart differ in it.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The bytes that the set takes.
    pub fn size_bytes(&self) -> usize {
        self.0.text.len() + self.0.ends.len() * size_of::<(u32, u32)>()
    }
}

/// Makes labels of pairs that come in order.
#[derive(Default)]
pub(crate) struct LabelsBuilder(Inner);

impl LabelsBuilder {
    /// Adds a label. Its name comes after all others.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        let Inner { text, ends } = &mut self.0;
        // Texts of 4 GiB are not read; what were cut here would be a wrong label, never a panic.
        let end = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
        text.push_str(name);
        let name_end = end(text);
        text.push_str(value);
        ends.push((name_end, end(text)));
    }

    /// The labels.
    pub(crate) fn finish(self) -> Labels {
        Labels(Arc::new(self.0))
    }
}

/// Names and values, in order.
#[derive(Clone)]
pub struct Iter<'a> {
    labels: &'a Inner,
    nth: usize,
    at: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (name_end, value_end) = *self.labels.ends.get(self.nth)?;
        let (name_end, value_end) = (name_end as usize, value_end as usize);
        let name = self.labels.text.get(self.at..name_end)?;
        let value = self.labels.text.get(name_end..value_end)?;
        self.at = value_end;
        self.nth += 1;
        Some((name, value))
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = (&'a str, &'a str);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
        self.0.ends.hash(state);
    }
}

impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Labels {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// As Loki writes them: `{a="1", b="2"}`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (nth, (name, value)) in self.iter().enumerate() {
            let separator = if nth == 0 { "" } else { ", " };
            write!(f, "{separator}{name}={}", kymo_pattern::names::quoted(value))?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_order_once_each() {
        let labels = Labels::of([("b", "1"), ("a", "2"), ("b", "3"), ("c", "")]);
        assert_eq!(labels.to_string(), r#"{a="2", b="3", c=""}"#);
        assert_eq!(
            (labels.get("b"), labels.get("c"), labels.get("d")),
            (Some("3"), Some(""), None)
        );
        assert_eq!(labels.len(), 3);
    }

    #[test]
    fn labels_that_run_together_differ() {
        assert_ne!(Labels::of([("ab", "c")]), Labels::of([("a", "bc")]));
        assert_eq!(Labels::of([("ab", "c")]), Labels::of([("ab", "c")]));
        assert!(Labels::of([("a", "1")]) < Labels::of([("a", "1"), ("b", "1")]));
    }

    #[test]
    fn one_label_is_set_and_removed() {
        let labels = Labels::of([("a", "1")]).with("b", "2");
        assert_eq!(labels.with("a", "").to_string(), r#"{b="2"}"#);
        assert_eq!(labels.filtered(|name, _| name == "a").to_string(), r#"{a="1"}"#);
    }
}
