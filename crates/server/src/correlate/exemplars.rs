//! Exemplars of a subject: single observations of metrics that name its traces, or its share key.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_engine::EngineError;
use kymo_engine::logql::label_name;
use kymo_engine::prometheus::{self, SeriesQuery};
use kymo_promql::labels::Labels;
use kymo_promql::matcher::{LabelMatcher, MatchOp};
use kymo_promql::number::format_float;

use super::answer::Exemplar;
use super::question::Subject;
use super::traces::Asked;
use crate::limits::{CORRELATE_MAX_EXEMPLARS, CORRELATE_REACH};

const NANOS_PER_MILLI: i64 = 1_000_000;

impl Asked<'_> {
    /// Exemplars in the time of the subject, and a little around it: they are collected and sent
    /// some time after the observation. If nothing else is known of the subject, those in the time
    /// that is asked about, if one is: all that there ever were are too many to look at.
    pub(super) async fn exemplars(
        &self,
        ids: &[String],
        window: Option<Range<i64>>,
    ) -> Result<Vec<Exemplar>, EngineError> {
        let reach = i64::try_from(CORRELATE_REACH.as_nanos()).unwrap_or(i64::MAX);
        let asked = &self.question.time;
        let window = match window {
            Some(window) => window.start.saturating_sub(reach)..window.end.saturating_add(reach),
            None if self.question.is_of_any_time() => return Ok(Vec::new()),
            None => asked.clone(),
        };
        let all = LabelMatcher::new("__name__", MatchOp::NotEqual, "")
            .map_err(|error| EngineError::Internal(error.to_string()))?;
        let query = SeriesQuery {
            matchers: vec![vec![all]],
            start: window.start / NANOS_PER_MILLI,
            end: window.end / NANOS_PER_MILLI,
        };
        let found = self.engine.prom_exemplars(self.tenants, query).await?;
        let mut exemplars = Vec::new();
        for (series, of_series) in found {
            let wanted = of_series.iter().filter(|exemplar| self.concerns(exemplar, &series, ids));
            exemplars.extend(wanted.map(|exemplar| Exemplar {
                metric: pairs(&series),
                labels: pairs(&exemplar.labels),
                value: format_float(exemplar.value),
                time_unix_nano: exemplar.time.saturating_mul(NANOS_PER_MILLI).to_string(),
            }));
            if exemplars.len() >= CORRELATE_MAX_EXEMPLARS {
                exemplars.truncate(CORRELATE_MAX_EXEMPLARS);
                break;
            }
        }
        Ok(exemplars)
    }

    fn concerns(&self, exemplar: &prometheus::Exemplar, series: &Labels, ids: &[String]) -> bool {
        let of_exemplar = |name: &str| exemplar.labels.get(name);
        let is_of = |trace: &String| of_exemplar("trace_id") == Some(trace.as_str());
        match &self.question.subject {
            Subject::Trace { trace } => is_of(trace),
            Subject::Span { trace, span } => {
                trace.as_ref().is_none_or(is_of) && of_exemplar("span_id") == Some(span.as_str())
            }
            Subject::Key { key, value } => {
                let name = label_name(key);
                let has_key = [key.as_str(), &name].into_iter().any(|name| {
                    of_exemplar(name).or_else(|| series.get(name)) == Some(value.as_str())
                });
                has_key || ids.iter().any(is_of)
            }
            Subject::Hosts { .. } => false,
        }
    }
}

fn pairs(labels: &Labels) -> BTreeMap<String, String> {
    labels.iter().map(|label| (label.name.to_string(), label.value.to_string())).collect()
}
