//! Label sets: names and values, each name once, in the order of the names.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// The label with the metric's name.
pub const METRIC_NAME: &str = "__name__";

/// A label set. An empty value is the same as no label, so none is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// No labels.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of a label; empty if it is not there.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        let at = self.0.binary_search_by(|(other, _)| other.as_str().cmp(name));
        at.ok().and_then(|at| self.0.get(at)).map_or("", |(_, value)| value.as_str())
    }

    /// Whether the label is there.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    /// Sets a label; an empty value removes it.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.binary_search_by(|(other, _)| other.as_str().cmp(name)) {
            Ok(at) if value.is_empty() => drop(self.0.remove(at)),
            Ok(at) => self.0[at].1 = value,
            Err(_) if value.is_empty() => {}
            Err(at) => self.0.insert(at, (name.to_owned(), value)),
        }
    }

    /// Removes a label.
    pub fn remove(&mut self, name: &str) {
        self.set(name, "");
    }

    /// Keeps the labels of which `keep` holds, by their names.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many labels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A hash that is the same in every process.
    #[must_use]
    pub fn stable_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        for (name, value) in self.iter() {
            hash.update(name.as_bytes());
            hash.update(&[0xff]);
            hash.update(value.as_bytes());
            hash.update(&[0xff]);
        }
        hash.digest()
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name}={value:?}")?;
        }
        f.write_str("}")
    }
}

impl<N: AsRef<str>, V: Into<String>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut labels = Self::new();
        for (name, value) in pairs {
            labels.set(name.as_ref(), value);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_set_is_ordered_and_has_no_empty_values() {
        let mut labels: Labels = [("b", "2"), ("a", "1"), ("c", "")].into_iter().collect();
        assert_eq!(labels.to_string(), r#"{a="1", b="2"}"#);
        labels.set("b", "");
        labels.set("a", "3");
        assert_eq!(labels.iter().collect::<Vec<_>>(), [("a", "3")]);
        assert_eq!((labels.get("a"), labels.get("b"), labels.contains("b")), ("3", "", false));
        let other: Labels = [("a", "3")].into_iter().collect();
        assert_eq!(labels.stable_hash(), other.stable_hash());
    }
}
