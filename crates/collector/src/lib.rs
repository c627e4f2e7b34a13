//! Configurations of an OpenTelemetry Collector, said in those of kymo.
//!
//! [`translate`] reads a collector's YAML and writes kymo's, with a note for everything that is
//! different, not needed, or could not be said. Nothing is dropped without a note: every key is
//! taken by something, or named with its place.
//!
//! ```text
//! text ─> model (components, pipelines) ─┬─> receivers ──> addresses, probe, prometheus.yml ─┐
//!                                        ├─> processors ─> rules, sampling, routes           ├─> output ─> YAML
//!                                        ├─> exporters ──> destinations, expose              │
//!                                        └─> extensions, telemetry ──────────────────────────┘
//! ```
//!
//! What it promises:
//! - What is written is valid YAML, and every condition in it parses as TraceQL.
//! - A rule means what the processor meant. Where that cannot be said, it is a note and no rule.
//! - `${env:X}` stays a reference. No note has a value that may be a secret.
//! - No text makes it panic.
//!
//! ```
//! use kymo_collector::{Level, translate};
//!
//! let collector = r#"
//! receivers: {otlp: {protocols: {grpc: {endpoint: "0.0.0.0:4317"}}}}
//! processors:
//!   filter/health: {traces: {span: ['IsMatch(attributes["http.route"], "^/health")']}}
//! exporters: {otlphttp: {endpoint: "https://hub.example"}}
//! service:
//!   pipelines:
//!     traces: {receivers: [otlp], processors: [filter/health], exporters: [otlphttp]}
//! "#;
//! let translation = translate(collector)?;
//! assert!(translation.yaml.contains(r#"where: 'span.http.route =~ "/health.*"'"#));
//! assert!(translation.notes.iter().all(|note| note.level != Level::NotTranslated));
//! # Ok::<(), kymo_collector::CollectorError>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `model`, `section` | components and pipelines; keys that are taken one by one |
//! | `receivers`, `processors`, `exporters` | what each kind of component becomes |
//! | `extensions`, `telemetry` | the rest of a configuration |
//! | `ottl` | conditions and statements, said in TraceQL |
//! | `traceql`, `pattern` | pieces of TraceQL as text, regular expressions |
//! | `references`, `durations`, `scalars` | `${env:X}`, `1m30s`, numbers and truths |
//! | `output`, `document` | what is written, and how |
//! | `notes`, `error` | what is said about it |
//! | [`limits`] | every limit, with its reason |

mod document;
mod durations;
mod error;
mod exporters;
mod extensions;
pub mod limits;
mod model;
mod notes;
mod ottl;
mod output;
mod pattern;
mod processors;
mod receivers;
mod references;
mod scalars;
mod section;
mod telemetry;
mod traceql;

pub use error::CollectorError;
pub use notes::{Level, Note};
pub use output::ExtraFile;

use model::{Collector, Part};
use notes::Notes;
use output::Output;

/// A configuration of kymo that does what a collector's did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// The configuration.
    pub yaml: String,
    /// Files that it names, to be written beside it.
    pub files: Vec<ExtraFile>,
    /// What there is to say, in the order of the collector's file.
    pub notes: Vec<Note>,
}

impl Translation {
    /// Whether everything has a counterpart or needs none.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.notes.iter().all(|note| note.level != Level::NotTranslated)
    }
}

/// What a translation works with.
pub(crate) struct Translator<'a> {
    pub(crate) collector: &'a Collector<'a>,
    pub(crate) notes: &'a Notes,
    pub(crate) out: Output,
}

/// Translates a collector's configuration.
///
/// # Errors
///
/// The text is not YAML, or nothing that a collector would start with.
pub fn translate(text: &str) -> Result<Translation, CollectorError> {
    translate_into(text, "")
}

/// The same, with the files that the configuration names in a directory.
///
/// # Errors
///
/// As [`translate`].
pub fn translate_into(text: &str, directory: &str) -> Result<Translation, CollectorError> {
    if text.len() > limits::MAX_TEXT_BYTES {
        let (bytes, limit) = (text.len(), limits::MAX_TEXT_BYTES);
        return Err(CollectorError::TooLarge { bytes, limit });
    }
    let entries = kymo_yaml::parse(text).map_err(CollectorError::NotYaml)?;
    let notes = Notes::default();
    let mut collector = Collector::read(&entries, &notes)?;
    let telemetry = collector.telemetry.take();
    let mut translator =
        Translator { collector: &collector, notes: &notes, out: Output::in_directory(directory) };
    receivers::translate(&mut translator);
    processors::translate_rules(&mut translator);
    exporters::translate(&mut translator);
    processors::translate_routes(&mut translator);
    extensions::translate(&mut translator);
    if let Some(section) = telemetry {
        telemetry::translate(section, &mut translator.out);
    }
    note_unused(&collector, &notes);
    let (body, files) = translator.out.into_yaml();
    drop(collector);
    let yaml = format!("# Translated from a collector's configuration.\n{body}");
    Ok(Translation { yaml, files, notes: notes.into_sorted() })
}

/// Names what no pipeline uses: a collector does nothing with it either.
fn note_unused(collector: &Collector<'_>, notes: &Notes) {
    for part in [Part::Receivers, Part::Processors, Part::Exporters] {
        let used = collector.used(part);
        for component in collector.components.iter().filter(|known| known.part == part) {
            let is_used = used.iter().any(|(used, _)| std::ptr::eq(used.entry, component.entry));
            if !is_used {
                let what = format!("{}.{}: no pipeline uses it", part.word(), component.entry.key);
                notes.noted(component.entry.key_at, what);
            }
        }
    }
}
