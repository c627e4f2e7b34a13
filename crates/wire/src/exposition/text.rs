//! The text formats, line by line: Prometheus' own, and OpenMetrics.

use std::borrow::Cow;

use super::created::{self, Created};
use super::cursor::{Cursor, Suffix, unescape};
use super::{Entry, Exemplar, ExpositionError, Label, MetricKind, Series};

/// Walks a text. What an entry borrows is kept here until the next one is asked for.
#[derive(Debug)]
pub(super) struct TextParser<'a> {
    cursor: Cursor<'a>,
    /// Set when the text is not UTF-8, or once it was read to its end or to an error.
    state: State,
    name: Cow<'a, str>,
    text: Cow<'a, str>,
    labels: Vec<Label<'a>>,
    exemplar_labels: Vec<Label<'a>>,
    /// The family of the last `# TYPE` line.
    family: Cow<'a, str>,
    kind: MetricKind,
    created: Created,
    is_created_read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The first byte that is not UTF-8 is in this line.
    NotUtf8 {
        line: usize,
    },
    Done,
}

/// What was found, without what it borrows.
#[derive(Debug, Clone, Copy)]
enum Found {
    Type,
    Help,
    Unit,
    Sample { key_start: usize, key_end: usize, suffix: Suffix, start_millis: Option<i64> },
}

impl<'a> TextParser<'a> {
    pub(super) fn new(body: &'a [u8], open_metrics: bool) -> Self {
        let (text, state) = match std::str::from_utf8(body) {
            Ok(text) => (text, State::Reading),
            Err(error) => {
                let valid = body.get(..error.valid_up_to()).unwrap_or_default();
                let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
                ("", State::NotUtf8 { line })
            }
        };
        Self {
            cursor: Cursor { text, at: 0, open_metrics },
            state,
            name: Cow::Borrowed(""),
            text: Cow::Borrowed(""),
            labels: Vec::new(),
            exemplar_labels: Vec::new(),
            family: Cow::Borrowed(""),
            kind: MetricKind::Unknown,
            created: Created::default(),
            is_created_read: true,
        }
    }

    pub(super) fn next_entry(&mut self) -> Result<Option<Entry<'_>>, ExpositionError> {
        let found = match self.state {
            State::Done => return Ok(None),
            State::NotUtf8 { line } => {
                self.state = State::Done;
                let problem = "expected UTF-8, found other bytes".to_owned();
                return Err(ExpositionError::Line { line, problem });
            }
            State::Reading => self.advance(),
        };
        let Ok(Some(found)) = found else {
            self.state = State::Done;
            return found.map(|_| None);
        };
        Ok(Some(self.entry(found)))
    }

    fn entry(&self, found: Found) -> Entry<'_> {
        let name = &*self.name;
        match found {
            Found::Type => Entry::Type { name, kind: self.kind },
            Found::Help => Entry::Help { name, help: &self.text },
            Found::Unit => Entry::Unit { name, unit: &self.text },
            Found::Sample { key_start, key_end, suffix, start_millis } => Entry::Series(Series {
                key: self.cursor.text.as_bytes().get(key_start..key_end).unwrap_or_default(),
                name,
                labels: &self.labels,
                value: suffix.value,
                timestamp_millis: suffix.timestamp_millis,
                start_millis,
                exemplar: suffix.exemplar.map(|(value, timestamp_millis)| Exemplar {
                    labels: &self.exemplar_labels,
                    value,
                    timestamp_millis,
                }),
            }),
        }
    }

    fn advance(&mut self) -> Result<Option<Found>, ExpositionError> {
        loop {
            self.cursor.blanks();
            let found = match self.cursor.peek() {
                None if self.cursor.open_metrics => {
                    return Err(self.cursor.expected("`# EOF` as the last line"));
                }
                None => return Ok(None),
                Some(b'\n') if !self.cursor.open_metrics => {
                    self.cursor.at += 1;
                    None
                }
                Some(b'#') => {
                    if self.is_eof()? {
                        return Ok(None);
                    }
                    self.metadata()?
                }
                Some(_) => self.sample()?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Whether this is the last line of OpenMetrics, and the last it is.
    fn is_eof(&mut self) -> Result<bool, ExpositionError> {
        if !self.cursor.open_metrics || !self.cursor.eat_text("# EOF") {
            return Ok(false);
        }
        self.cursor.eat_text("\n");
        match self.cursor.peek() {
            None => Ok(true),
            Some(_) => Err(self.cursor.expected("nothing after `# EOF`")),
        }
    }

    /// A line that begins with `#`: metadata, or a comment, which is skipped.
    fn metadata(&mut self) -> Result<Option<Found>, ExpositionError> {
        let Some(found) = self.keyword() else {
            if self.cursor.open_metrics {
                return Err(self.cursor.expected("`# HELP`, `# TYPE`, `# UNIT` or `# EOF`"));
            }
            self.cursor.line();
            return Ok(None);
        };
        self.cursor.blanks();
        self.name = self.cursor.family_name()?;
        let rest = self.cursor.line();
        let text = match rest.strip_prefix(' ') {
            Some(text) => text,
            None if self.cursor.open_metrics => {
                return Err(self.cursor.expected("a space and a text after the name"));
            }
            None if rest.is_empty() => rest,
            None => match rest.strip_prefix('\t') {
                Some(text) => text,
                None => {
                    let problem = format!("expected a space after the name, found {rest:?}");
                    return Err(self.cursor.error(problem));
                }
            },
        };
        let is_escaped = matches!(found, Found::Help) && text.contains('\\');
        self.text = if is_escaped {
            Cow::Owned(unescape(text, self.cursor.open_metrics))
        } else {
            Cow::Borrowed(text)
        };
        match found {
            Found::Type => self.set_type(text)?,
            Found::Unit => self.check_unit()?,
            Found::Help | Found::Sample { .. } => {}
        }
        // The line ends here, or the text does.
        if !self.cursor.eat_text("\n") && self.cursor.open_metrics {
            return Err(self.cursor.expected("`# EOF` as the last line"));
        }
        Ok(Some(found))
    }

    fn keyword(&mut self) -> Option<Found> {
        let start = self.cursor;
        self.cursor.at += 1;
        let before = self.cursor.at;
        if self.cursor.open_metrics {
            self.cursor.eat_text(" ");
        }
        self.cursor.blanks();
        let found = if self.cursor.at == before {
            None
        } else if self.cursor.eat_text("HELP") {
            Some(Found::Help)
        } else if self.cursor.eat_text("TYPE") {
            Some(Found::Type)
        } else if self.cursor.open_metrics && self.cursor.eat_text("UNIT") {
            Some(Found::Unit)
        } else {
            None
        };
        let is_word = match self.cursor.peek() {
            Some(b' ') => true,
            Some(b'\t') => !self.cursor.open_metrics,
            _ => false,
        };
        if found.is_none() || !is_word {
            self.cursor = start;
            return None;
        }
        self.cursor.at += 1;
        found
    }

    fn set_type(&mut self, text: &str) -> Result<(), ExpositionError> {
        let open_metrics = self.cursor.open_metrics;
        let word = if open_metrics { text } else { text.trim_matches([' ', '\t']) };
        self.kind = match word {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            "histogram" => MetricKind::Histogram,
            "summary" => MetricKind::Summary,
            "untyped" if !open_metrics => MetricKind::Unknown,
            "unknown" if open_metrics => MetricKind::Unknown,
            "gaugehistogram" if open_metrics => MetricKind::GaugeHistogram,
            "info" if open_metrics => MetricKind::Info,
            "stateset" if open_metrics => MetricKind::StateSet,
            _ => {
                let known = if open_metrics {
                    "counter, gauge, histogram, gaugehistogram, summary, info, stateset or unknown"
                } else {
                    "counter, gauge, histogram, summary or untyped"
                };
                return Err(self.cursor.error(format!("expected {known}, found {word:?}")));
            }
        };
        self.family = self.name.clone();
        self.created.clear();
        self.is_created_read = !open_metrics || !self.kind.has_start();
        Ok(())
    }

    fn check_unit(&self) -> Result<(), ExpositionError> {
        let unit = &*self.text;
        let is_suffix = || {
            self.name.strip_suffix(unit).is_some_and(|rest| rest.len() > 1 && rest.ends_with('_'))
        };
        if unit.is_empty() || is_suffix() {
            return Ok(());
        }
        let problem = format!("expected a metric whose name ends in _{unit}, found {}", self.name);
        Err(self.cursor.error(problem))
    }

    /// A sample; `None` for one that only says when others started.
    fn sample(&mut self) -> Result<Option<Found>, ExpositionError> {
        if !self.is_created_read {
            self.is_created_read = true;
            self.created.read(self.cursor, &self.family, self.kind);
        }
        let line = self.cursor;
        let key_start = self.cursor.at;
        self.labels.clear();
        self.exemplar_labels.clear();
        let mut name = self.cursor.plain_name(true).map(Cow::Borrowed);
        let mut key_end = self.cursor.at;
        self.cursor.blanks();
        if self.cursor.peek() == Some(b'{') {
            self.cursor.labels(self.kind, Some(&mut name), &mut self.labels)?;
            key_end = self.cursor.at;
        }
        self.name = match name {
            Some(name) if !name.is_empty() => name,
            _ => return Err(line.expected("the name of a metric, `{\"name\"` or `#`")),
        };
        let suffix = self.cursor.suffix(&mut self.exemplar_labels)?;
        let is_of_family = self.kind.has_start() && self.cursor.open_metrics;
        if is_of_family && self.name.ends_with(created::SUFFIX) {
            return Ok(None);
        }
        let start_millis = if is_of_family && self.name.starts_with(&*self.family) {
            self.created.start(self.kind, &self.labels)
        } else {
            None
        };
        Ok(Some(Found::Sample { key_start, key_end, suffix, start_millis }))
    }
}
