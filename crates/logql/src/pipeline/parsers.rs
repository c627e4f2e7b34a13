//! Stages that read labels out of the line.
//!
//! A parser takes only the labels that are asked for further on, and does nothing if none are. Of
//! two values under one name the first counts. A name that the entry has from elsewhere gets
//! `_extracted` behind it.
//!
//! A line that a parser cannot read keeps none of the labels that it found before it noticed,
//! unless all that the query asks for are among them: who wants one label of a line that breaks
//! off later gets it.

use super::row::{Row, RowLabels};
use crate::ast::{Extraction, LogfmtStage};
use crate::entry::Entry;
use crate::extract::{ExtractError, JsonPaths, Logfmt, PatternParser, RegexpParser, json, unpack};
use crate::labels::{ERROR, EXTRACTED};
use crate::selection::Names;

const JSON_ERROR: &str = "JSONParserErr";
const LOGFMT_ERROR: &str = "LogfmtParserErr";

/// The labels that a parser is asked for.
#[derive(Debug)]
pub(crate) enum Wanted {
    All,
    /// These; and those that become one of these if the entry has them already.
    Only(Vec<String>),
}

impl Wanted {
    pub(crate) fn new(names: &Names) -> Self {
        match names {
            Names::All => Self::All,
            Names::Only(names) => Self::Only(names.iter().cloned().collect()),
        }
    }

    /// Whether a label is asked for.
    #[inline]
    fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|wanted| wanted == name),
        }
    }

    /// Whether a label is asked for that may be found under that name.
    #[inline]
    fn may_have(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|wanted| {
                wanted.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest == EXTRACTED)
            }),
        }
    }

    /// Whether everything that was asked for was found.
    fn are_made(&self, labels: &RowLabels) -> bool {
        match self {
            Self::All => false,
            Self::Only(names) => names.iter().all(|name| name != ERROR && labels.is_made(name)),
        }
    }
}

/// A parser.
#[derive(Debug)]
pub(crate) struct ParserStep {
    pub(crate) kind: ParserKind,
    /// By later stages and the result.
    pub(crate) wanted: Wanted,
    /// By any stage, and the result.
    pub(crate) asked: Wanted,
}

#[derive(Debug)]
pub(crate) enum ParserKind {
    Json,
    JsonPaths(JsonPaths),
    Logfmt(Logfmt, Vec<Extraction>),
    Regexp(RegexpParser),
    Pattern(PatternParser),
    Unpack,
}

impl ParserKind {
    pub(crate) fn json_paths(paths: &[Extraction]) -> Result<Self, String> {
        let pairs: Vec<(&str, &str)> =
            paths.iter().map(|path| (path.name.as_str(), path.path.as_str())).collect();
        JsonPaths::parse(&pairs).map(Self::JsonPaths).map_err(|error| error.to_string())
    }

    pub(crate) fn logfmt(stage: &LogfmtStage) -> Self {
        let parser = Logfmt { strict: stage.is_strict, keep_empty: stage.keeps_empty };
        Self::Logfmt(parser, stage.extractions.clone())
    }
}

impl ParserStep {
    /// Reads the line of a row.
    pub(crate) fn run(&self, entry: &Entry<'_>, row: &mut Row) {
        match &self.kind {
            ParserKind::Unpack => self.unpack(entry, row),
            _ => row.with_line(entry, |line, labels| self.read(entry, line, labels)),
        }
    }

    fn read(&self, entry: &Entry<'_>, line: &str, labels: &mut RowLabels) {
        let before = labels.made_count();
        let wanted = &self.wanted;
        let result = match &self.kind {
            ParserKind::Json => {
                json::flatten(line, &|name| wanted.may_have(name), &mut |name, value| {
                    self.found(entry, labels, name, value);
                })
            }
            ParserKind::JsonPaths(paths) => paths.extract(line, &mut |name, value| {
                self.found_by_path(entry, labels, name, value);
            }),
            ParserKind::Logfmt(logfmt, extractions) if !extractions.is_empty() => {
                return self.logfmt_by_name(*logfmt, extractions, entry, line, labels);
            }
            ParserKind::Logfmt(logfmt, _) => {
                let wanted = |name: &str| wanted.may_have(name);
                let result = logfmt.extract(line, &wanted, &mut |name, value| {
                    self.found(entry, labels, name, value);
                });
                return self.logfmt_end(result, labels);
            }
            ParserKind::Regexp(regexp) => {
                regexp.extract(line, &mut |name, value| self.found(entry, labels, name, value));
                Ok(())
            }
            ParserKind::Pattern(pattern) => {
                pattern.extract(line, &mut |name, value| self.found(entry, labels, name, value));
                Ok(())
            }
            // Makes a line too, and is run elsewhere.
            ParserKind::Unpack => Ok(()),
        };
        if let Err(error) = result
            && !self.asked.are_made(labels)
        {
            labels.forget_made(before);
            labels.set_unread(JSON_ERROR, error);
        }
    }

    /// Takes what was found, if it is asked for and new.
    #[inline]
    fn found(&self, entry: &Entry<'_>, labels: &mut RowLabels, name: &str, value: &str) {
        if !labels.is_taken(entry, name) {
            if self.wanted.has(name) && !labels.is_made(name) {
                labels.make([name, ""], value);
            }
            return;
        }
        let renamed = format!("{name}{EXTRACTED}");
        if self.wanted.has(&renamed) && !labels.is_made(&renamed) {
            // Metadata that was renamed for the same reason gives way.
            labels.set(entry, &renamed, value);
        }
    }

    /// What was asked for by path replaces what was found before. A path that found nothing does
    /// not stand beside a label that the entry has.
    fn found_by_path(&self, entry: &Entry<'_>, labels: &mut RowLabels, name: &str, value: &str) {
        if !labels.is_taken(entry, name) {
            labels.set(entry, name, value);
        } else if !value.is_empty() {
            labels.set(entry, &format!("{name}{EXTRACTED}"), value);
        }
    }

    fn logfmt_by_name(
        &self,
        logfmt: Logfmt,
        extractions: &[Extraction],
        entry: &Entry<'_>,
        line: &str,
        labels: &mut RowLabels,
    ) {
        for extraction in extractions {
            self.found_by_path(entry, labels, &extraction.name, "");
        }
        let wanted = |name: &str| extractions.iter().any(|extraction| extraction.path == name);
        let result = logfmt.extract(line, &wanted, &mut |key, value| {
            for extraction in extractions.iter().filter(|extraction| extraction.path == key) {
                self.found_by_path(entry, labels, &extraction.name, value);
            }
        });
        self.logfmt_end(result, labels);
    }

    /// Pairs that were read before a wrong one stay: they are whole.
    fn logfmt_end(&self, result: Result<(), ExtractError>, labels: &mut RowLabels) {
        if let Err(error) = result
            && !self.asked.are_made(labels)
        {
            labels.set_unread(LOGFMT_ERROR, error);
        }
    }

    fn unpack(&self, entry: &Entry<'_>, row: &mut Row) {
        row.make_line(entry, |line, labels, out| {
            let unpacked =
                unpack::unpack(line, &mut |name, value| self.found(entry, labels, name, value));
            match unpacked {
                Ok(Some(line)) => {
                    *out = line;
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    labels.set_unread(JSON_ERROR, error);
                    false
                }
            }
        });
    }
}
