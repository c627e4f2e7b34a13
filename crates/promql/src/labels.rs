//! The labels of a series.

use std::fmt;
use std::sync::Arc;

/// The label that holds the metric's name.
pub const NAME: &str = "__name__";
/// The label that holds the metric's type.
pub const TYPE: &str = "__type__";
/// The label that holds the metric's unit.
pub const UNIT: &str = "__unit__";

/// A label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Its name.
    pub name: Arc<str>,
    /// Its value, never empty: a label with an empty value is no label.
    pub value: Arc<str>,
}

/// Labels by name, each once. Cheap to copy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Labels(Arc<[Label]>);

impl Labels {
    /// Labels in any order. Of several with one name the last counts, and empty
    /// ones are left out.
    pub fn new(mut labels: Vec<Label>) -> Self {
        if !labels.is_sorted_by(|a, b| a.name < b.name) {
            labels.sort_by(|a, b| a.name.cmp(&b.name));
            labels.reverse();
            labels.dedup_by(|later, kept| later.name == kept.name);
            labels.reverse();
        }
        labels.retain(|label| !label.value.is_empty());
        Self(labels.into())
    }

    /// Labels of texts.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let label = |(name, value): (&str, &str)| Label { name: name.into(), value: value.into() };
        Self::new(pairs.into_iter().map(label).collect())
    }

    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.label(name).map(|label| &*label.value)
    }

    /// The label of that name.
    pub fn label(&self, name: &str) -> Option<&Label> {
        // Few labels: a walk is quicker than a search.
        self.0.iter().find(|label| &*label.name == name)
    }

    /// The metric's name; empty if there is none.
    pub fn metric_name(&self) -> &str {
        self.get(NAME).unwrap_or_default()
    }

    /// The labels by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Label> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that `keep` lets through.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        if self.0.iter().all(|label| keep(&label.name)) {
            return self.clone();
        }
        Self(self.0.iter().filter(|label| keep(&label.name)).cloned().collect())
    }

    /// All but those that say what the metric is: name, type and unit.
    pub fn without_metadata(&self) -> Self {
        self.filtered(|name| !matches!(name, NAME | TYPE | UNIT))
    }

    /// With one label set, or removed if the value is empty.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut labels: Vec<Label> =
            self.0.iter().filter(|label| &*label.name != name).cloned().collect();
        if !value.is_empty() {
            let at = labels.partition_point(|label| &*label.name < name);
            labels.insert(at, Label { name: name.into(), value: value.into() });
        }
        Self(labels.into())
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = &'a Label;
    type IntoIter = std::slice::Iter<'a, Label>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Label> for Labels {
    fn from_iter<T: IntoIterator<Item = Label>>(labels: T) -> Self {
        Self::new(labels.into_iter().collect())
    }
}

/// As Prometheus writes them: `{a="1", b="2"}`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (nth, label) in self.0.iter().enumerate() {
            let separator = if nth == 0 { "" } else { ", " };
            let name = &*label.name;
            if crate::names::is_legacy_label(name) {
                write!(f, "{separator}{name}=")?;
            } else {
                write!(f, "{separator}{}=", crate::names::quoted(name))?;
            }
            f.write_str(&crate::names::quoted(&label.value))?;
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
    fn labels_are_in_order_once_each_and_not_empty() {
        let labels = Labels::of([("b", "1"), ("a", "2"), ("b", "3"), ("c", "")]);
        assert_eq!(labels.to_string(), r#"{a="2", b="3"}"#);
        assert_eq!(labels.with("aa", "x").to_string(), r#"{a="2", aa="x", b="3"}"#);
        assert_eq!(labels.with("a", "").to_string(), r#"{b="3"}"#);
        assert_eq!((labels.get("b"), labels.get("c")), (Some("3"), None));
    }

    #[test]
    fn names_that_are_not_plain_are_quoted() {
        let labels = Labels::of([("a.b", "x\"\n")]);
        assert_eq!(labels.to_string(), r#"{"a.b"="x\"\n"}"#);
    }
}
