//! What was odd, for whoever reads the log of a job. Nothing that is warned of stops anything.

use std::collections::HashSet;

use crate::limits::MAX_WARNINGS;

/// Warnings, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings {
    all: Vec<String>,
    known: HashSet<String>,
}

impl Warnings {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. The same words are not said twice, and nobody reads a thousand of them.
    pub fn add(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if self.known.len() > MAX_WARNINGS || !self.known.insert(warning.clone()) {
            return;
        }
        let is_last = self.known.len() > MAX_WARNINGS;
        self.all.push(if is_last { "there is more to warn of".to_owned() } else { warning });
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_said_once_and_not_too_many() {
        let mut warnings = Warnings::new();
        for number in 0..10 * MAX_WARNINGS {
            warnings.add("again");
            warnings.add(number.to_string());
        }
        assert_eq!(warnings.all().len(), MAX_WARNINGS + 1);
        assert_eq!(warnings.all().last().unwrap(), "there is more to warn of");
    }
}
