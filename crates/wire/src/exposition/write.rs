//! Writing the text formats, for `/metrics` and federation.
//!
//! Families come one after another, each with its samples. The writer takes care of escapes, of
//! numbers, and of what differs between the formats; that the samples of a family belong to it is
//! the caller's business.

use super::escape::{Escaping, is_legacy_label_name, is_legacy_metric_name};
use super::number::{format_float, format_open_metrics_float};
use super::{Format, MetricKind};

/// A measurement to write beside a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleExemplar<'a> {
    /// Its labels.
    pub labels: &'a [(&'a str, &'a str)],
    /// Its value.
    pub value: f64,
    /// Its time in milliseconds since 1970, if known.
    pub timestamp_millis: Option<i64>,
}

/// Writes a text.
#[derive(Debug)]
pub struct TextWriter {
    out: String,
    open_metrics: bool,
    escaping: Escaping,
}

impl TextWriter {
    /// An empty text. Whatever is not OpenMetrics is written as Prometheus' own format.
    #[must_use]
    pub fn new(format: Format, escaping: Escaping) -> Self {
        Self { out: String::new(), open_metrics: format == Format::OpenMetrics, escaping }
    }

    /// Begins a family. Help and unit may be empty; the older format has no units.
    ///
    /// OpenMetrics names a counter's family without `_total`, and its samples with it: a counter
    /// whose name lacks it is of unknown kind there.
    pub fn family(&mut self, name: &str, kind: MetricKind, help: &str, unit: &str) {
        let (name, kind) = self.named(name, kind);
        if !help.is_empty() {
            self.out.push_str("# HELP ");
            self.family_name(name);
            self.out.push(' ');
            push_escaped(&mut self.out, help, self.open_metrics);
            self.out.push('\n');
        }
        self.out.push_str("# TYPE ");
        self.family_name(name);
        self.out.push(' ');
        self.out.push_str(kind);
        self.out.push('\n');
        let is_suffix = name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_'));
        if self.open_metrics && !unit.is_empty() && is_suffix {
            self.out.push_str("# UNIT ");
            self.family_name(name);
            self.out.push(' ');
            self.out.push_str(unit);
            self.out.push('\n');
        }
    }

    /// The name and the type of a family in the format.
    fn named<'n>(&self, name: &'n str, kind: MetricKind) -> (&'n str, &'static str) {
        if self.open_metrics {
            return match kind {
                MetricKind::Counter => match name.strip_suffix("_total") {
                    Some(name) => (name, kind.name()),
                    None => (name, MetricKind::Unknown.name()),
                },
                MetricKind::Info => (name.strip_suffix("_info").unwrap_or(name), kind.name()),
                _ => (name, kind.name()),
            };
        }
        let kind = match kind {
            MetricKind::Info | MetricKind::StateSet => MetricKind::Gauge.name(),
            MetricKind::GaugeHistogram => MetricKind::Histogram.name(),
            MetricKind::Unknown => "untyped",
            _ => kind.name(),
        };
        (name, kind)
    }

    /// Writes a sample. Exemplars are written in OpenMetrics alone.
    pub fn sample<'l>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        value: f64,
        timestamp_millis: Option<i64>,
        exemplar: Option<SampleExemplar<'_>>,
    ) {
        let is_quoted = self.is_quoted(name);
        let mut separator = '{';
        if is_quoted {
            self.out.push_str("{\"");
            push_escaped(&mut self.out, name, true);
            self.out.push('"');
            separator = ',';
        } else {
            self.escaping.push(&mut self.out, name);
        }
        self.labels(labels, separator);
        self.out.push(' ');
        self.value(value);
        self.time(timestamp_millis);
        if let Some(exemplar) = exemplar.filter(|_| self.open_metrics) {
            self.out.push_str(" # ");
            if exemplar.labels.is_empty() {
                self.out.push_str("{}");
            }
            self.labels(exemplar.labels.iter().copied(), '{');
            self.out.push(' ');
            self.value(exemplar.value);
            self.time(exemplar.timestamp_millis);
        }
        self.out.push('\n');
    }

    /// The text, with the line that ends it where the format has one.
    #[must_use]
    pub fn finish(mut self) -> String {
        if self.open_metrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }

    /// How many bytes were written so far.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.out.len()
    }

    fn is_quoted(&self, name: &str) -> bool {
        self.escaping == Escaping::AllowUtf8 && !is_legacy_metric_name(name)
    }

    fn family_name(&mut self, name: &str) {
        if self.is_quoted(name) {
            self.out.push('"');
            push_escaped(&mut self.out, name, true);
            self.out.push('"');
        } else {
            self.escaping.push(&mut self.out, name);
        }
    }

    fn labels<'l>(
        &mut self,
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        mut separator: char,
    ) {
        for (name, value) in labels {
            self.out.push(separator);
            separator = ',';
            if self.escaping == Escaping::AllowUtf8 && !is_legacy_label_name(name) {
                self.out.push('"');
                push_escaped(&mut self.out, name, true);
                self.out.push('"');
            } else if is_legacy_label_name(name) && self.escaping != Escaping::Dots {
                self.out.push_str(name);
            } else {
                let start = self.out.len();
                self.escaping.push(&mut self.out, name);
                // Metrics may have colons, labels may not.
                let escaped = self.out.split_off(start).replace(':', "_");
                self.out.push_str(&escaped);
            }
            self.out.push_str("=\"");
            push_escaped(&mut self.out, value, true);
            self.out.push('"');
        }
        if separator == ',' {
            self.out.push('}');
        }
    }

    fn value(&mut self, value: f64) {
        if self.open_metrics {
            format_open_metrics_float(&mut self.out, value);
        } else {
            format_float(&mut self.out, value);
        }
    }

    /// Milliseconds in the older format, seconds in OpenMetrics.
    fn time(&mut self, millis: Option<i64>) {
        let Some(millis) = millis else { return };
        self.out.push(' ');
        if !self.open_metrics {
            self.out.push_str(&millis.to_string());
            return;
        }
        let sign = if millis < 0 { "-" } else { "" };
        let (seconds, millis) = (millis.unsigned_abs() / 1_000, millis.unsigned_abs() % 1_000);
        let text = format!("{sign}{seconds}.{millis:03}");
        self.out.push_str(text.trim_end_matches('0').trim_end_matches('.'));
    }
}

/// Appends a text with its line breaks and backslashes escaped, and its quotes where they would
/// end it.
fn push_escaped(out: &mut String, text: &str, with_quotes: bool) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            '"' if with_quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}
