//! PromQL: over the time, at its end, or both; as series, as a table, as a heat map.

use kymo_dash::frame::{Field, Frame, Notice};
use kymo_dash::interpolate::interval::{SCRAPE_MILLIS, interval, prometheus_step, rate_interval};
use kymo_dash::interpolate::{Style, names};
use kymo_dash::model::Language;
use kymo_dash::model::read;
use kymo_engine::prometheus::{PromQuery, SeriesQuery};
use kymo_pattern::matcher::LabelMatcher;
use kymo_promql::annotations::Severity;
use kymo_promql::ast::Expr;
use kymo_promql::eval::{Outcome, Times};
use kymo_promql::labels::Labels;
use kymo_promql::sample::Value;
use kymo_promql::walk::selectors;
use serde_json::json;

use super::series::{self, Series};
use super::{Given, Question, RATE_INTERVAL, Wrong};
use crate::dashboards::limits::{MAX_EXEMPLARS, MAX_WARNINGS};

pub(super) async fn ask(question: &mut Question<'_>) -> Result<Given, Wrong> {
    let mut step_millis = intervals(question, 0);
    let mut text = question.context.fill(question.text("expr"), Style::Promql);
    if text.trim().is_empty() {
        return Ok(Given::default());
    }
    let mut expr = parsed(&text)?;
    if names_rate_interval(question)
        && let Some(pace_millis) = question.pace(&expr).await
    {
        step_millis = intervals(question, pace_millis);
        text = question.context.fill(question.text("expr"), Style::Promql);
        expr = parsed(&text)?;
    }
    if !question.filters.is_empty() {
        text = question.with_conditions(&text, Language::Promql)?;
        expr = parsed(&text)?;
    }
    let query = question.query();
    let is_instant = read::is_true(query, "instant");
    let is_range = query.get("range").and_then(serde_json::Value::as_bool).unwrap_or(!is_instant);
    let mut given = Given { query: text.clone(), ..Given::default() };
    if is_range || !is_instant {
        over_time(question, &expr, &text, step_millis, &mut given).await?;
    }
    if is_instant {
        at_the_end(question, &expr, &text, &mut given).await?;
    }
    if read::is_true(query, "exemplar") && !is_instant {
        exemplars(question, &expr, &text, &mut given).await?;
    }
    Ok(given)
}

fn parsed(text: &str) -> Result<Expr, Wrong> {
    kymo_promql::parser::parse(text)
        .map_err(|error| Wrong::at(text, &error.message, error.line, error.column))
}

/// Whether the query is asked over what its metrics' pace says.
fn names_rate_interval(question: &Question<'_>) -> bool {
    let is_named = |key: &str| {
        let names = names(question.text(key));
        names.contains(RATE_INTERVAL) || names.contains("__rate_interval_ms")
    };
    is_named("expr") || is_named("interval")
}

/// Puts the intervals of the query into its context and gives its step. Its metrics come that often, 0 if
/// that is not known; who says a longer interval knows better.
fn intervals(question: &mut Question<'_>, pace_millis: i64) -> i64 {
    let range_millis = question.range_millis();
    let least = question.least_interval();
    // What is scraped less often than the step is asked as often as it is scraped.
    let scrape_millis = least.unwrap_or(SCRAPE_MILLIS);
    let interval_millis = interval(range_millis, question.points, scrape_millis);
    let factor = read::integer(question.query(), "intervalFactor").unwrap_or(1);
    let mut step_millis = prometheus_step(interval_millis, factor, range_millis);
    let rate_millis = rate_interval(step_millis, scrape_millis.max(pace_millis));
    if names(question.text("interval")).contains(RATE_INTERVAL) {
        step_millis = rate_millis;
    }
    question.context.interval_millis = step_millis;
    question.context.rate_interval_millis = rate_millis;
    step_millis
}

fn legend(question: &Question<'_>) -> String {
    question.context.fill(question.text("legendFormat"), Style::Text)
}

async fn evaluate(
    question: &Question<'_>,
    expr: &Expr,
    text: &str,
    times: Times,
    given: &mut Given,
) -> Result<Outcome, Wrong> {
    let query = PromQuery { expr: expr.clone(), times, lookback: None, timeout: None };
    let done = question.page.engine.promql(question.tenants, query).await;
    let done = done.map_err(|error| Wrong::of(text, error))?;
    let warnings = done.annotations.texts(Severity::Warning, text, MAX_WARNINGS);
    given.notices.extend(warnings.into_iter().map(Notice::warning));
    Ok(done.outcome)
}

async fn over_time(
    question: &Question<'_>,
    expr: &Expr,
    text: &str,
    step_millis: i64,
    given: &mut Given,
) -> Result<(), Wrong> {
    // On multiples of the step, so that the same points come back when the time moves on.
    let aligned = |millis: i64| millis - millis.rem_euclid(step_millis);
    let time = question.time();
    let times =
        Times { start: aligned(time.from_millis), end: aligned(time.to_millis), step: step_millis };
    let outcome = evaluate(question, expr, text, times, given).await?;
    let mut found = Vec::new();
    let mut histograms = 0;
    match outcome {
        Outcome::Matrix(matrix) => {
            for series in matrix {
                histograms += usize::from(!series.histograms.is_empty());
                let points = match series.floats.is_empty() {
                    // A native histogram is drawn by how much was observed.
                    true => series.histograms.iter().map(|(time, h)| (*time, h.count)).collect(),
                    false => series.floats,
                };
                found.push(Series { labels: pairs(&series.labels), points });
            }
        }
        Outcome::Scalar { time, value } => {
            found.push(Series { points: vec![(time, value)], ..Series::default() });
        }
        Outcome::Text { .. } | Outcome::Vector { .. } => {}
    }
    if histograms > 0 {
        let why = "native histograms are drawn by their counts: use histogram_quantile()";
        given.notices.push(Notice::warning(why));
    }
    given.notices.extend(series::cut(&mut found).map(Notice::warning));
    match question.text("format") {
        "heatmap" => given.frames.push(series::heat_map(found)),
        "table" => given.frames.push(series::table(&found, &value_name(question))),
        _ => given.frames.extend(series::frames(found, &legend(question), text, step_millis)),
    }
    Ok(())
}

async fn at_the_end(
    question: &Question<'_>,
    expr: &Expr,
    text: &str,
    given: &mut Given,
) -> Result<(), Wrong> {
    let times = Times::instant(question.time().to_millis);
    let outcome = evaluate(question, expr, text, times, given).await?;
    let mut found = Vec::new();
    match outcome {
        Outcome::Vector { time, samples } => {
            for sample in samples {
                let value = match &sample.value {
                    Value::Float(value) => *value,
                    Value::Histogram(histogram) => histogram.count,
                };
                found.push(Series { labels: pairs(&sample.labels), points: vec![(time, value)] });
            }
        }
        Outcome::Scalar { time, value } => {
            found.push(Series { points: vec![(time, value)], ..Series::default() });
        }
        Outcome::Matrix(matrix) => {
            for series in matrix {
                found.push(Series { labels: pairs(&series.labels), points: series.floats });
            }
        }
        Outcome::Text { time, value } => {
            let fields =
                vec![Field::time("Time", [time as f64]), Field::text("Value", [Some(value)])];
            given.frames.push(Frame::new(fields));
        }
    }
    given.notices.extend(series::cut(&mut found).map(Notice::warning));
    match question.text("format") {
        "table" => given.frames.push(series::table(&found, &value_name(question))),
        "heatmap" => given.frames.push(series::heat_map(found)),
        _ => given.frames.extend(series::frames(found, &legend(question), text, 0)),
    }
    Ok(())
}

/// Columns of several tables are told apart by the query.
fn value_name(question: &Question<'_>) -> String {
    match question.is_one_of_several {
        true => format!("Value #{}", question.target.ref_id),
        false => "Value".to_owned(),
    }
}

fn pairs(labels: &Labels) -> std::collections::BTreeMap<String, String> {
    labels.iter().map(|label| (label.name.to_string(), label.value.to_string())).collect()
}

/// Exemplars of the series that the query selects, as a frame of their own.
async fn exemplars(
    question: &Question<'_>,
    expr: &Expr,
    text: &str,
    given: &mut Given,
) -> Result<(), Wrong> {
    let matchers = selectors(expr).into_iter().map(|selector| {
        let name = selector.name.as_deref().map(|name| LabelMatcher::equal("__name__", name));
        name.into_iter().chain(selector.matchers.iter().cloned()).collect()
    });
    let time = question.time();
    let query =
        SeriesQuery { matchers: matchers.collect(), start: time.from_millis, end: time.to_millis };
    let found = question.page.engine.prom_exemplars(question.tenants, query).await;
    let found = found.map_err(|error| Wrong::of(text, error))?;
    let mut all: Vec<_> = found
        .iter()
        .flat_map(|(labels, exemplars)| exemplars.iter().map(move |exemplar| (labels, exemplar)))
        .collect();
    if all.is_empty() {
        return Ok(());
    }
    if all.len() > MAX_EXEMPLARS {
        // The largest are those that one looks for.
        all.sort_by(|left, right| right.1.value.total_cmp(&left.1.value));
        all.truncate(MAX_EXEMPLARS);
    }
    all.sort_by_key(|(_, exemplar)| exemplar.time);
    let label = |name: &str| -> Vec<Option<String>> {
        all.iter().map(|(_, exemplar)| exemplar.labels.get(name).map(str::to_owned)).collect()
    };
    let mut frame = Frame::new(vec![
        Field::time("Time", all.iter().map(|(_, exemplar)| exemplar.time as f64)),
        Field::number("Value", all.iter().map(|(_, exemplar)| Some(exemplar.value))),
        Field::text("traceID", label("trace_id")),
        Field::text("spanID", label("span_id")),
        Field::text("series", all.iter().map(|(labels, _)| Some(labels.to_string()))),
    ]);
    frame.name = super::EXEMPLARS.to_owned();
    frame.meta.insert("custom".to_owned(), json!({"resultType": "exemplar"}));
    given.frames.push(frame);
    Ok(())
}
