//! Variables of a process, as a value: a test can have others.

use std::collections::BTreeMap;

/// Variables. One that is empty counts as not set, as in shell scripts of CI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process. What is not text is left out.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |value: std::ffi::OsString| value.into_string().ok();
        let pairs =
            std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Self(pairs.collect())
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether one says `true` or `1`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Sets one.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
