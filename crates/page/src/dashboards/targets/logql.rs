//! LogQL: lines, and numbers of lines.

use std::sync::Arc;

use kymo_dash::frame::{Field, Frame, Kind, Notice, Value as Cell};
use kymo_dash::interpolate::interval::{LONGEST_MILLIS, interval, parse, short};
use kymo_dash::interpolate::{Held, Style};
use kymo_dash::model::Language;
use kymo_dash::model::read;
use kymo_engine::logql::LogqlValue;
use kymo_logql::ast::Expr;
use kymo_logql::labels::LEVEL_LABELS;
use kymo_logql::plan::{Streams, Value};
use kymo_logql::request::{Direction, Request};
use serde_json::{Map, Value as Json, json};

use super::series::{self, Series, millis};
use super::{Given, Question, Wrong};
use crate::dashboards::limits::{MAX_LINES, USUAL_LINES};
use crate::times::NANOS_PER_MILLI;

pub(super) async fn ask(question: &mut Question<'_>) -> Result<Given, Wrong> {
    let least = question.least_interval().unwrap_or(1_000);
    let factor = read::integer(question.query(), "resolution").unwrap_or(1).clamp(1, 100);
    let interval_millis = interval(question.range_millis(), question.points, least);
    let interval_millis = interval_millis.saturating_mul(factor).min(LONGEST_MILLIS);
    question.context.interval_millis = interval_millis;
    question.context.rate_interval_millis = interval_millis;
    let step = parse(&question.context.fill(question.text("step"), Style::Glob));
    let step_millis = step.unwrap_or(interval_millis).max(1);
    let is_instant =
        question.text("queryType") == "instant" || read::is_true(question.query(), "instant");
    // What one point covers: all of the time, or a step.
    let covered_millis = if is_instant { question.range_millis() } else { step_millis };
    let covered = Held::one(short(covered_millis));
    question.context.scoped.insert("__auto".to_owned(), covered);
    let mut text = question.context.fill(question.text("expr"), Style::Logql);
    if text.trim().is_empty() {
        return Ok(Given::default());
    }
    let mut expr = parsed(&text)?;
    if !question.filters.is_empty() {
        text = question.with_conditions(&text, Language::Logql)?;
        expr = parsed(&text)?;
    }
    let is_metric = matches!(expr, Expr::Metric(_));
    let request = request(question, step_millis, is_instant && is_metric, is_metric);
    let done = question.page.engine.logql(question.tenants, expr, request).await;
    let done = done.map_err(|error| Wrong::of(&text, error))?;
    match done.value {
        LogqlValue::Lines(streams) => Ok(lines(&streams, request.limit, text)),
        LogqlValue::Numbers(value) => {
            let step_millis = if is_instant { 0 } else { step_millis };
            Ok(numbers(question, value, &text, step_millis))
        }
    }
}

fn parsed(text: &str) -> Result<Expr, Wrong> {
    kymo_logql::parser::parse(text)
        .map_err(|error| Wrong::at(text, &error.message, error.line, error.column))
}

fn request(
    question: &Question<'_>,
    step_millis: i64,
    is_instant: bool,
    is_metric: bool,
) -> Request {
    let time = question.time();
    let (from, to) = (time.from_millis * NANOS_PER_MILLI, time.to_millis * NANOS_PER_MILLI);
    let step = step_millis * NANOS_PER_MILLI;
    let mut request = match (is_instant, is_metric) {
        (true, _) => Request::instant(to),
        // Numbers stand on multiples of the step, as Loki's do.
        (_, true) => Request::range(from - from.rem_euclid(step), to - to.rem_euclid(step), step),
        _ => Request::range(from, to, step),
    };
    let asked = read::integer(question.query(), "maxLines").filter(|lines| *lines > 0);
    request.limit = usize::try_from(asked.unwrap_or(USUAL_LINES).min(MAX_LINES)).unwrap_or(1);
    if question.text("direction") == "forward" {
        request.direction = Direction::Forward;
    }
    request
}

/// Lines as a table: time, line, labels.
fn lines(streams: &Streams, limit: usize, query: String) -> Given {
    let entries = &streams.entries;
    let labels = entries.iter().map(|entry| {
        let labels: Map<String, Json> =
            entry.labels().iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        Cell::Object(Arc::new(Json::Object(labels)))
    });
    let level = |entry: &kymo_logql::plan::Found| {
        let labels = entry.labels();
        LEVEL_LABELS.iter().find_map(|key| labels.get(key)).map(str::to_owned)
    };
    let mut frame = Frame::new(vec![
        Field::new(
            "Time",
            Kind::Time,
            entries.iter().map(|entry| millis(entry.time_nanos)).collect(),
        ),
        Field::text("Line", entries.iter().map(|entry| Some(entry.line.as_str()))),
        Field::new("labels", Kind::Other, labels.collect()),
        Field::text("level", entries.iter().map(level)),
        Field::text("tsNs", entries.iter().map(|entry| Some(entry.time_nanos.to_string()))),
    ]);
    frame.meta.insert("preferredVisualisationType".to_owned(), json!("logs"));
    let notices = match entries.len() >= limit {
        true => vec![Notice::warning(format!("truncated: {limit} lines are shown"))],
        false => Vec::new(),
    };
    Given { frames: vec![frame], notices, query }
}

fn numbers(question: &Question<'_>, value: Value, text: &str, step_millis: i64) -> Given {
    let pairs = |labels: &kymo_logql::labels::Labels| {
        labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let mut found: Vec<Series> = match value {
        Value::Scalar { time_nanos, value } => {
            vec![Series {
                points: vec![(time_nanos / NANOS_PER_MILLI, value)],
                ..Series::default()
            }]
        }
        Value::Vector { time_nanos, samples } => samples
            .iter()
            .map(|sample| Series {
                labels: pairs(&sample.labels),
                points: vec![(time_nanos / NANOS_PER_MILLI, sample.value)],
            })
            .collect(),
        Value::Matrix(series) => series
            .iter()
            .map(|series| Series {
                labels: pairs(&series.labels),
                points: series.points.iter().map(|(t, v)| (t / NANOS_PER_MILLI, *v)).collect(),
            })
            .collect(),
    };
    let notices = series::cut(&mut found).into_iter().map(Notice::warning).collect();
    let legend = question.context.fill(question.text("legendFormat"), Style::Text);
    let frames = series::frames(found, &legend, text, step_millis);
    Given { frames, notices, query: text.to_owned() }
}
