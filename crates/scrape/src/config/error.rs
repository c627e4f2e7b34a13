//! What is wrong in a file, and where.

use std::fmt;
use std::path::Path;

use serde_saphyr::{Location, MessageFormatter, UserMessageFormatter};

/// Why a file is not taken, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// Line and column from one, where they are known.
    pub place: Option<(u64, u64)>,
    /// What was expected, and what to do.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    pub(super) fn new(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.display().to_string(), place: None, message: message.into() }
    }

    pub(super) fn at(file: &Path, location: Location, message: impl Into<String>) -> Self {
        // A location that is not known is at line zero.
        let place = (location.line() > 0).then(|| (location.line(), location.column()));
        Self { place, ..Self::new(file, message) }
    }

    pub(super) fn from_yaml(file: &Path, error: &serde_saphyr::Error) -> Self {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                unknown(field, expected)
            }
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("{key} is there twice")
            }
            error => UserMessageFormatter.format_message(error).into_owned(),
        };
        Self::at(file, location, message)
    }
}

/// What to say of a key that is not known.
fn unknown(field: &str, expected: &[&str]) -> String {
    let field: String = field.chars().filter(|c| !c.is_control()).take(100).collect();
    if field.ends_with("_sd_configs") {
        let known = ["file_sd_configs", "http_sd_configs"];
        return match known.iter().all(|known| expected.contains(known)) {
            true => format!(
                "{field} is not supported; use static_configs, {} or {}",
                known[0], known[1]
            ),
            false => format!("{field} is not supported; use static_configs"),
        };
    }
    let distance = |name: &str| strsim::damerau_levenshtein(&field, name);
    let nearest = expected.iter().min_by_key(|name| distance(name));
    match nearest.filter(|name| distance(name) <= 1 + field.chars().count() / 4) {
        Some(name) => format!("{field} is not a known key; did you mean {name}?"),
        None => format!("{field} is not a known key; known are {}", expected.join(", ")),
    }
}
