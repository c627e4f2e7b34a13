//! Why a text is no configuration of a collector.

use kymo_yaml::{Entry, Place, Problem, nearest};
use thiserror::Error;

use crate::model::{Part, Signal};

/// Why a configuration cannot be translated at all. What a part of it cannot be said in is a
/// [`Note`](crate::Note) instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CollectorError {
    /// It is larger than any configuration is.
    #[error("{bytes} bytes are no configuration of a collector: expected at most {limit}")]
    TooLarge {
        /// What it has.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
    /// It has more parts than any configuration has.
    #[error("more than {limit} {what}: expected the configuration of a collector")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// It is not YAML.
    #[error("not YAML: {0}")]
    NotYaml(Problem),
    /// It has no pipelines, so nothing of it would be used.
    #[error("expected service.pipelines, which a collector's configuration has")]
    NoPipelines,
    /// A key at the top that collectors do not know.
    #[error("line {}, column {}: {key} is not a part of a collector's configuration; {hint}", .at.line, .at.column)]
    UnknownPart {
        /// Where it stands.
        at: Place,
        /// The key.
        key: String,
        /// What was meant.
        hint: String,
    },
    /// A pipeline that is not of traces, metrics or logs.
    #[error("line {}, column {}: pipeline {name} has no known signal; {hint}", .at.line, .at.column)]
    UnknownSignal {
        /// Where it stands.
        at: Place,
        /// The pipeline.
        name: String,
        /// What was meant.
        hint: String,
    },
    /// A pipeline that has nothing to receive from, or to send to.
    #[error("line {}, column {}: {path} has no {what}", .at.line, .at.column)]
    Empty {
        /// Where it stands.
        at: Place,
        /// The pipeline.
        path: String,
        /// What it lacks.
        what: &'static str,
    },
    /// A name that nothing has.
    #[error(
        "line {}, column {}: {by} names {name}, which is not defined below {part}{}",
        .at.line, .at.column, did_you_mean(meant.as_deref())
    )]
    Undefined {
        /// Where it stands.
        at: Place,
        /// The name.
        name: String,
        /// What uses it.
        by: String,
        /// Where it should be defined.
        part: &'static str,
        /// The nearest name that is defined there.
        meant: Option<String>,
    },
}

fn did_you_mean(meant: Option<&str>) -> String {
    meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
}

impl CollectorError {
    pub(crate) fn unknown_part(entry: &Entry) -> Self {
        let known = Part::ALL.iter().map(|part| part.word()).chain(["service"]);
        Self::UnknownPart {
            at: entry.key_at,
            key: entry.key.escape_debug().to_string(),
            hint: hint(&entry.key, known.collect()),
        }
    }

    pub(crate) fn unknown_signal(entry: &Entry) -> Self {
        let word = entry.key.split('/').next().unwrap_or_default();
        Self::UnknownSignal {
            at: entry.key_at,
            name: entry.key.escape_debug().to_string(),
            hint: hint(word, Signal::ALL.iter().map(|signal| signal.word()).collect()),
        }
    }
}

fn hint(word: &str, known: Vec<&str>) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("expected one of {}", known.join(", ")),
    }
}
