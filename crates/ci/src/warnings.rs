//! What was odd, for whoever reads the log of a job. Nothing that is warned of stops anything.

/// Warnings, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings(Vec<String>);

impl Warnings {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. The same words are not said twice.
    pub fn add(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.0
    }
}
