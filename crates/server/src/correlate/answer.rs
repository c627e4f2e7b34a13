//! Everything that was found, as it is written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::question::{Question, Subject};
use super::traces::end;
use crate::limits::{CORRELATE_MAX_EXCEPTIONS, CORRELATE_MAX_EXEMPLARS, CORRELATE_MAX_HOSTS};

/// What belongs to a subject.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Correlated {
    /// What was asked about.
    pub subject: Subject,
    /// When the first of it began, in nanoseconds since 1970, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time_unix_nano: Option<String>,
    /// When the last of it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time_unix_nano: Option<String>,
    /// Traces, the newest first.
    pub traces: Vec<Trace>,
    /// Exceptions, by time.
    pub exceptions: Vec<Exception>,
    /// Log records, by time.
    pub logs: Vec<Line>,
    /// Exemplars, by metric and time.
    pub exemplars: Vec<Exemplar>,
    /// Hosts that spans ran on.
    pub hosts: Vec<String>,
    /// What these hosts and their GPUs did in that time.
    pub machines: Vec<Measure>,
    /// Of what there may be more than was given.
    pub truncated: Vec<&'static str>,
}

/// A trace.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// Its id.
    #[serde(rename = "traceID")]
    pub trace_id: String,
    /// The service of its root, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_service_name: Option<String>,
    /// The name of its root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_trace_name: Option<String>,
    /// When it began.
    pub start_time_unix_nano: String,
    /// How long it took.
    pub duration_nanos: i64,
    /// Spans by service.
    pub services: BTreeMap<String, usize>,
    /// Spans with an error.
    pub errors: usize,
    /// Spans that belong to the subject.
    pub matched: usize,
    #[serde(skip)]
    pub(super) start_nanos: i64,
    /// When the first of the spans that belong to the subject began and ended.
    #[serde(skip)]
    pub(super) matched_nanos: Option<Range<i64>>,
}

/// An exception, which an event of a span tells of.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    /// The span's trace.
    #[serde(rename = "traceID")]
    pub trace_id: String,
    /// The span.
    #[serde(rename = "spanID")]
    pub span_id: String,
    /// When.
    pub time_unix_nano: String,
    /// Attributes of the event: `exception.type`, `exception.message` and others.
    pub attributes: serde_json::Value,
}

/// A log record.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// When.
    pub time_unix_nano: String,
    /// What it says.
    pub line: String,
    /// Labels of its stream and its structured metadata.
    pub labels: BTreeMap<String, String>,
    #[serde(skip)]
    pub(super) time_nanos: i64,
}

/// A single observation of a metric.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exemplar {
    /// Labels of the series.
    pub metric: BTreeMap<String, String>,
    /// Its own labels, `trace_id` among them.
    pub labels: BTreeMap<String, String>,
    /// What was observed; text, since it may be no number of JSON.
    pub value: String,
    /// When.
    pub time_unix_nano: String,
}

/// One measure of a machine over the time of the subject.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measure {
    /// `host` or `gpu`.
    pub of: &'static str,
    /// What is measured.
    pub name: &'static str,
    /// In what.
    pub unit: &'static str,
    /// The expression that was asked.
    pub query: String,
    /// Seconds from one point to the next: a point stands for so long.
    pub step: f64,
    /// Series: their labels and points (seconds since 1970, value).
    pub series: Vec<Points>,
}

/// A series of a measure.
#[derive(Debug, Clone, Serialize)]
pub struct Points {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Seconds since 1970, and the value.
    pub points: Vec<(f64, f64)>,
}

impl Correlated {
    pub(super) fn of(question: &Question) -> Self {
        Self {
            subject: question.subject.clone(),
            start_time_unix_nano: None,
            end_time_unix_nano: None,
            traces: Vec::new(),
            exceptions: Vec::new(),
            logs: Vec::new(),
            exemplars: Vec::new(),
            hosts: Vec::new(),
            machines: Vec::new(),
            truncated: Vec::new(),
        }
    }

    pub(super) fn trace_ids(&self) -> Vec<String> {
        self.traces.iter().map(|trace| trace.trace_id.clone()).collect()
    }

    /// The time from the first to the last of what was found, if anything was; of a span its own, of
    /// hosts the one that is asked about.
    pub(super) fn window(&self, question: &Question) -> Option<Range<i64>> {
        if let Subject::Hosts { .. } = &self.subject {
            return Some(question.time.clone());
        }
        if let (Subject::Span { .. }, [trace]) = (&self.subject, &self.traces[..])
            && trace.matched_nanos.is_some()
        {
            return trace.matched_nanos.clone();
        }
        let starts = self.traces.iter().map(|trace| trace.start_nanos);
        let ends = self.traces.iter().map(|trace| end(trace.start_nanos, trace.duration_nanos));
        let lines = || self.logs.iter().map(|line| line.time_nanos);
        Some(starts.chain(lines()).min()?..ends.chain(lines()).max()?)
    }

    /// Says of what there may be more.
    pub(super) fn settle_bounds(&mut self, question: &Question) {
        // Hosts that are named are all there are.
        let max_hosts = match question.subject {
            Subject::Hosts { .. } => usize::MAX,
            _ => CORRELATE_MAX_HOSTS,
        };
        let bounds = [
            ("traces", self.traces.len(), question.max_traces),
            ("logs", self.logs.len(), question.max_logs),
            ("exceptions", self.exceptions.len(), CORRELATE_MAX_EXCEPTIONS),
            ("exemplars", self.exemplars.len(), CORRELATE_MAX_EXEMPLARS),
            ("hosts", self.hosts.len(), max_hosts),
        ];
        let full = bounds.iter().filter(|(_, found, most)| found >= most);
        self.truncated = full.map(|(name, ..)| *name).collect();
    }

    /// Says when all that was.
    pub(super) fn settle_window(&mut self, question: &Question) {
        if let Some(window) = self.window(question) {
            self.start_time_unix_nano = Some(window.start.to_string());
            self.end_time_unix_nano = Some(window.end.to_string());
        }
    }
}
