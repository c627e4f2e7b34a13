//! What the engine says to the questions of variables.

use std::collections::BTreeSet;

use kymo_dash::interpolate::TimeRange;
use kymo_dash::model::Choice;
use kymo_dash::variables::Question;
use kymo_engine::prometheus::{PromQuery, SeriesQuery};
use kymo_engine::traceql::TagQuery;
use kymo_engine::{EngineError, Tenants};
use kymo_pattern::matcher::{LabelMatcher, MatchOp};
use kymo_promql::ast::Node;
use kymo_promql::eval::{Outcome, Times};

use super::limits::MAX_ROWS;
use super::targets::sql_columns;
use crate::Page;
use crate::times::NANOS_PER_MILLI;

/// Far before and behind everything, and yet so that sums do not overflow.
const EARLIEST_MILLIS: i64 = 0;
const LATEST_MILLIS: i64 = i64::MAX / 4_000_000;

/// Answers a question. `time` is that of the dashboard; without, all that is kept counts.
pub(super) async fn answer(
    page: &Page,
    tenants: &Tenants,
    question: &Question,
    time: TimeRange,
    is_within: bool,
) -> Result<Vec<Choice>, String> {
    let engine = &page.engine;
    let series = |selector: Option<&str>| series_query(selector, is_within.then_some(time));
    let said = |error: EngineError| error.to_string();
    let plain = |values: Vec<String>| values.into_iter().map(Choice::plain).collect::<Vec<_>>();
    match question {
        Question::MetricLabelValues { selector, label } => {
            let query = series(selector.as_deref())?;
            let values = engine.prom_label_values(tenants, label.clone(), query).await;
            values.map(plain).map_err(said)
        }
        Question::MetricLabelNames { selector } => {
            let query = series(selector.as_deref())?;
            engine.prom_label_names(tenants, query).await.map(plain).map_err(said)
        }
        Question::MetricNames { pattern } => {
            let anywhere = format!(".*(?:{pattern}).*");
            let matcher = LabelMatcher::new("__name__", MatchOp::Matches, &anywhere)
                .map_err(|error| kymo_pattern::complaint(pattern, &error))?;
            let query = SeriesQuery { matchers: vec![vec![matcher]], ..series(None)? };
            let names = engine.prom_label_values(tenants, "__name__".to_owned(), query).await;
            names.map(plain).map_err(said)
        }
        Question::MetricSamples { expr } => samples(page, tenants, expr, time).await.map(plain),
        Question::MetricSeries { selector } => {
            let found = engine.prom_series(tenants, series(Some(selector))?).await.map_err(said)?;
            Ok(found
                .iter()
                .take(MAX_ROWS)
                .map(|labels| Choice::plain(labels.to_string()))
                .collect())
        }
        Question::TagNames | Question::TagValues { .. } => {
            let within = is_within.then(|| nanos(time));
            tags(page, tenants, question, within).await
        }
        Question::LogLabelNames | Question::LogLabelValues { .. } => {
            logs(page, tenants, question, if is_within { time } else { whole() }).await
        }
        Question::Sql { query } => sql(page, tenants, query).await,
    }
}

fn whole() -> TimeRange {
    TimeRange { from_millis: EARLIEST_MILLIS, to_millis: LATEST_MILLIS }
}

fn nanos(time: TimeRange) -> std::ops::Range<i64> {
    time.from_millis.saturating_mul(NANOS_PER_MILLI)..time.to_millis.saturating_mul(NANOS_PER_MILLI)
}

/// Conditions of a selector, which is parsed as PromQL.
pub(super) fn matchers(selector: &str) -> Result<Vec<LabelMatcher>, String> {
    let expr = kymo_promql::parser::parse(selector).map_err(|error| error.to_string())?;
    let Node::Selector(found) = expr.node else {
        return Err(format!(
            "expected a selector such as metric{{label=\"value\"}}, not {selector}"
        ));
    };
    let name = found.name.as_deref().map(|name| LabelMatcher::equal("__name__", name));
    Ok(name.into_iter().chain(found.matchers).collect())
}

fn series_query(selector: Option<&str>, time: Option<TimeRange>) -> Result<SeriesQuery, String> {
    let time = time.unwrap_or_else(whole);
    let matchers = selector.map(matchers).transpose()?.into_iter().collect();
    Ok(SeriesQuery { matchers, start: time.from_millis, end: time.to_millis })
}

/// Samples as text: `name{label="value"} number time`.
async fn samples(
    page: &Page,
    tenants: &Tenants,
    expr: &str,
    time: TimeRange,
) -> Result<Vec<String>, String> {
    let expr = kymo_promql::parser::parse(expr).map_err(|error| error.to_string())?;
    let times = Times::instant(time.to_millis);
    let query = PromQuery { expr, times, lookback: None, timeout: None };
    let done = page.engine.promql(tenants, query).await.map_err(|error| error.to_string())?;
    Ok(match done.outcome {
        Outcome::Scalar { time, value } => vec![format!("scalar {value} {time}")],
        Outcome::Text { value, .. } => vec![value],
        Outcome::Vector { time, samples } => samples
            .iter()
            .filter_map(|sample| match &sample.value {
                kymo_promql::sample::Value::Float(value) => {
                    Some(format!("{} {value} {time}", sample.labels))
                }
                _ => None,
            })
            .take(MAX_ROWS)
            .collect(),
        Outcome::Matrix(_) => Vec::new(),
    })
}

async fn tags(
    page: &Page,
    tenants: &Tenants,
    question: &Question,
    time: Option<std::ops::Range<i64>>,
) -> Result<Vec<Choice>, String> {
    let said = |error: EngineError| error.to_string();
    let Question::TagValues { attribute, filter } = question else {
        let query = TagQuery { time, filter: None, limit: None };
        let scopes = page.engine.tag_names(tenants, query).await.map_err(said)?;
        let names = scopes.into_iter().flat_map(|of| {
            let scope = of.scope.name();
            of.names.into_iter().map(move |name| Choice::plain(format!("{scope}.{name}")))
        });
        return Ok(names.collect());
    };
    let attribute = kymo_traceql::parse_attribute(attribute).map_err(|error| error.to_string())?;
    let filter = match filter {
        Some(filter) => kymo_traceql::parse_filter_leniently(filter),
        None => None,
    };
    let query = TagQuery { time, filter, limit: None };
    let values = page.engine.tag_values(tenants, attribute, query).await.map_err(said)?;
    Ok(values.into_iter().map(|value| Choice::plain(value.text)).collect())
}

async fn logs(
    page: &Page,
    tenants: &Tenants,
    question: &Question,
    time: TimeRange,
) -> Result<Vec<Choice>, String> {
    let (selector, label) = match question {
        Question::LogLabelValues { selector, label } => (selector.as_deref(), Some(label.as_str())),
        _ => (None, None),
    };
    let parse = |selector: &str| {
        kymo_logql::parser::parse_selector(selector).map_err(|error| error.to_string())
    };
    let selectors = selector.map(parse).transpose()?.into_iter().collect();
    let streams = page.engine.log_series(tenants, selectors, nanos(time)).await;
    let streams = streams.map_err(|error| error.to_string())?;
    let found: BTreeSet<&str> = match label {
        Some(label) => streams.iter().filter_map(|labels| labels.get(label)).collect(),
        None => streams.iter().flat_map(|labels| labels.iter().map(|(name, _)| name)).collect(),
    };
    Ok(found.into_iter().map(Choice::plain).collect())
}

/// The columns `__text` and `__value`, else the first.
async fn sql(page: &Page, tenants: &Tenants, query: &str) -> Result<Vec<Choice>, String> {
    let frame = sql_columns(page, tenants, query).await?;
    let column = |name: &str| frame.fields.iter().find(|field| field.name == name);
    let first = frame.fields.first().ok_or("its query gives no column")?;
    let values = column("__value").unwrap_or(first);
    let texts = column("__text").unwrap_or(values);
    let pairs = values.values.iter().zip(&texts.values).filter(|(value, _)| !value.is_null());
    Ok(pairs.map(|(value, text)| Choice { text: text.to_text(), value: value.to_text() }).collect())
}
