//! Log records of a subject.

use std::collections::BTreeMap;

use kymo_engine::EngineError;
use kymo_engine::logql::{LogqlValue, label_name};
use kymo_logql::ast::{Expr, LabelFilter, LogExpr, Stage};
use kymo_logql::matcher::LabelMatcher;
use kymo_logql::request::{Direction, Request};

use super::answer::Line;
use super::question::Subject;
use super::traces::Asked;

impl Asked<'_> {
    /// Records of the traces, of the span, or that have the share key themselves.
    pub(super) async fn logs(&self, ids: &[String]) -> Result<Vec<Line>, EngineError> {
        let of_traces = || any(ids.iter().map(|id| equal("trace_id", id)).collect());
        let filter = match &self.question.subject {
            Subject::Trace { trace } => equal("trace_id", trace),
            Subject::Span { trace, span } => {
                let of_span = equal("span_id", span);
                match trace {
                    Some(id) => both(equal("trace_id", id), of_span),
                    None => of_span,
                }
            }
            Subject::Key { key, value } => {
                let of_key = equal(&label_name(key), value);
                match of_traces() {
                    Some(of_traces) => either(of_key, of_traces),
                    None => of_key,
                }
            }
            Subject::Hosts { .. } => return Ok(Vec::new()),
        };
        let log = LogExpr { matchers: Vec::new(), stages: vec![Stage::Labels(filter)] };
        let time = &self.question.time;
        let request = Request {
            limit: self.question.max_logs,
            direction: Direction::Forward,
            ..Request::range(time.start, time.end, 1)
        };
        let answer = self.engine.logql(self.tenants, Expr::Log(log), request).await?;
        let LogqlValue::Lines(streams) = answer.value else { return Ok(Vec::new()) };
        Ok(streams
            .entries
            .into_iter()
            .map(|entry| {
                let pairs = entry.stream.iter().chain(entry.metadata.iter());
                let labels: BTreeMap<String, String> =
                    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                let time_unix_nano = entry.time_nanos.to_string();
                Line { time_unix_nano, line: entry.line, labels, time_nanos: entry.time_nanos }
            })
            .collect())
    }
}

fn equal(name: &str, value: &str) -> LabelFilter {
    LabelFilter::Text(LabelMatcher::equal(name, value))
}

fn both(left: LabelFilter, right: LabelFilter) -> LabelFilter {
    LabelFilter::And(Box::new(left), Box::new(right))
}

fn either(left: LabelFilter, right: LabelFilter) -> LabelFilter {
    LabelFilter::Or(Box::new(left), Box::new(right))
}

/// One of many, as a tree that is no deeper than it has to be.
fn any(mut filters: Vec<LabelFilter>) -> Option<LabelFilter> {
    if filters.len() <= 1 {
        return filters.pop();
    }
    let right = filters.split_off(filters.len() / 2);
    Some(either(any(filters)?, any(right)?))
}
