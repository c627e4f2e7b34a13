//! Templates in labels and annotations of alerts: Go's `text/template` with Prometheus' functions.
//!
//! ```text
//! text ─> lexer ─> parser ─> tree ─> run ─> text
//!                                     └─ asks a query ─> answered outside ─> run again
//! ```
//!
//! [`Template::parse`] finds what is wrong with the text, [`Template::expand`] fills it in. Errors
//! are those of Go where people meet them often. Steps, output, nesting and queries are bounded by
//! [`limits`](crate::limits). Not there: functions for pages of HTML, and `call`.

mod clock;
mod compare;
mod functions;
mod humanize;
mod lexer;
mod parser;
mod printf;
mod run;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_promql::labels::Labels;
use kymo_promql::sample::Value as SampleValue;
use thiserror::Error;

use crate::evaluate::{BoxFuture, VectorSample};
use crate::limits::MAX_TEMPLATE_QUERIES;
use functions::{Answers, Surroundings};
use run::{Stopped, run};
use tree::Tree;
use value::{AlertData, Sample, Value};

/// Stands before each template, so that `$labels` and the like are there.
const PRELUDE: &str = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}\
                       {{$externalURL := .ExternalURL}}{{$value := .Value}}";

/// What is wrong with a template, or with what it does.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TemplateError(String);

impl TemplateError {
    fn parsing(name: &str, text: &str, at: usize, message: &str) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        Self(format!("error parsing template {name}: template: {name}:{line}: {message}"))
    }

    fn executing(name: &str, text: &str, at: usize, shown: &str, message: &str) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        Self(format!(
            "error executing template {name}: template: {name}:{line}:{column}: executing \
             {name:?} at <{shown}>: {message}"
        ))
    }
}

/// A template that can be filled in.
#[derive(Debug, Clone)]
pub struct Template {
    name: String,
    /// With what stands before it.
    text: String,
    tree: Arc<Tree>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        // The tree follows from the text.
        self.name == other.name && self.text == other.text
    }
}

/// What a template of an alert is filled in with.
#[derive(Debug, Clone)]
pub struct TemplateData {
    alert: Arc<AlertData>,
    time_nanos: i64,
}

impl TemplateData {
    /// A sample of the alert's expression, what is known of this server, and when the rule is
    /// evaluated.
    #[must_use]
    pub fn new(
        found: &VectorSample,
        external_labels: &BTreeMap<String, String>,
        external_url: &str,
        time_nanos: i64,
    ) -> Self {
        let alert = AlertData {
            labels: label_map(&found.labels),
            external_labels: Arc::new(external_labels.clone()),
            external_url: external_url.into(),
            value: sample_value(&found.value),
        };
        Self { alert: Arc::new(alert), time_nanos }
    }
}

/// Answers the queries of templates at the time of the evaluation.
pub type TemplateQuery<'a> =
    &'a (dyn Fn(String) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> + Send + Sync);

impl Template {
    /// Reads a template of an alert.
    pub fn parse(alert: &str, text: &str) -> Result<Self, TemplateError> {
        let name = format!("__alert_{alert}");
        let text = format!("{PRELUDE}{text}");
        let tree = Arc::new(parser::parse(&name, &text)?);
        Ok(Self { name, text, tree })
    }

    /// The template as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.text.strip_prefix(PRELUDE).unwrap_or_default()
    }

    /// Fills the template in.
    pub async fn expand(
        &self,
        data: &TemplateData,
        query: TemplateQuery<'_>,
    ) -> Result<String, TemplateError> {
        if !self.source().contains("{{") {
            return Ok(self.source().to_owned());
        }
        let value = Value::Alert(data.alert.clone());
        let mut answers = Answers::new();
        loop {
            let around = Surroundings {
                time_nanos: data.time_nanos,
                external_url: &data.alert.external_url,
                answers: &answers,
            };
            let asked = match run(&self.name, &self.text, &self.tree, value.clone(), &around) {
                Ok(text) => return Ok(text),
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::Asks(asked)) => asked,
            };
            let answer = match answers.len() < MAX_TEMPLATE_QUERIES {
                true => query(asked.clone()).await,
                false => Err(format!("more than {MAX_TEMPLATE_QUERIES} queries in one template")),
            };
            answers.insert(asked, answer.map(|samples| samples.iter().map(sample).collect()));
        }
    }
}

fn label_map(labels: &Labels) -> value::LabelMap {
    let pairs = labels.iter().map(|label| (label.name.to_string(), label.value.to_string()));
    Arc::new(pairs.collect())
}

fn sample_value(value: &SampleValue) -> Value {
    match value {
        SampleValue::Float(number) => Value::Float(*number),
        SampleValue::Histogram(histogram) => Value::Histogram(histogram.clone()),
    }
}

fn sample(found: &VectorSample) -> Value {
    let (labels, value) = (label_map(&found.labels), sample_value(&found.value));
    Value::Sample(Arc::new(Sample { labels, value }))
}
