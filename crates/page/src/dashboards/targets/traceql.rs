//! TraceQL: searches as tables, series over time, one trace by its id.

use kymo_dash::frame::{Frame, Notice};
use kymo_dash::interpolate::Style;
use kymo_dash::interpolate::interval::{interval, parse};
use kymo_dash::model::Language;
use kymo_dash::model::read;
use kymo_engine::traceql::{MetricsQuery, Points, Search, Sort};
use kymo_traceql::ast::Body;
use kymo_traceql::{OwnedValue, Query};
use serde_json::json;

use super::found::{self, cell};
use super::series::{self, Series};
use super::{Given, Question, Wrong, search, sql};
use crate::dashboards::limits::{MAX_TRACE_SPANS, MAX_TRACES, USUAL_SPANS_PER_SET, USUAL_TRACES};
use crate::times::NANOS_PER_MILLI;

/// The label of `histogram_over_time` that says the bucket.
const BUCKET: &str = "__bucket";

/// A query of Tempo's data source.
pub(super) async fn ask(question: &mut Question<'_>) -> Result<Given, Wrong> {
    intervals(question);
    let context = &question.context;
    let text = match question.text("queryType") {
        "traceqlSearch" => search::of_filters(question.query(), context),
        "nativeSearch" => search::of_parts(question.query(), context),
        kind @ ("serviceMap" | "upload") => {
            return Err(Wrong::invalid(
                "",
                format!("Tempo's query type `{kind}` is not supported"),
            ));
        }
        "clear" => return Ok(Given::default()),
        _ => context.fill(question.text("query"), Style::Traceql),
    };
    answer(question, &text, question.text("tableType")).await
}

/// A query of Jaeger's data source.
pub(super) async fn ask_as_jaeger(question: &mut Question<'_>) -> Result<Given, Wrong> {
    intervals(question);
    let text = match question.text("queryType") {
        "search" => search::of_parts(question.query(), &question.context),
        kind @ ("dependencyGraph" | "upload") => {
            return Err(Wrong::invalid(
                "",
                format!("Jaeger's query type `{kind}` is not supported"),
            ));
        }
        _ => question.context.fill(question.text("query"), Style::Traceql),
    };
    answer(question, &text, "traces").await
}

fn intervals(question: &mut Question<'_>) {
    let least = question.least_interval().unwrap_or(1);
    let interval_millis = interval(question.range_millis(), question.points, least);
    question.context.interval_millis = interval_millis;
    question.context.rate_interval_millis = interval_millis;
}

async fn answer(question: &Question<'_>, text: &str, table: &str) -> Result<Given, Wrong> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Given::default());
    }
    if trimmed.len() <= 32 && trimmed.len() >= 16 && trimmed.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return one_trace(question, &format!("{trimmed:0>32}")).await;
    }
    let mut query = parsed(text)?;
    let mut text = text.to_owned();
    if !question.filters.is_empty() {
        text = question.with_conditions(&text, Language::Traceql)?;
        query = parsed(&text)?;
    }
    match &query.body {
        Body::Metrics(_) => metrics(question, query, &text).await,
        Body::Spans(_) => spans(question, query, &text, table).await,
    }
}

fn parsed(text: &str) -> Result<Query, Wrong> {
    kymo_traceql::parse(text).map_err(|error| match error.position() {
        Some(at) => Wrong::at(text, error.message(), at.line, at.column),
        None => Wrong::invalid(text, error.to_string()),
    })
}

async fn spans(
    question: &Question<'_>,
    query: Query,
    text: &str,
    table: &str,
) -> Result<Given, Wrong> {
    let member = |key: &str, usual: i64| {
        read::integer(question.query(), key)
            .filter(|n| *n > 0)
            .unwrap_or(usual)
            .clamp(1, MAX_TRACES)
    };
    let (limit, per_set) = (member("limit", USUAL_TRACES), member("spss", USUAL_SPANS_PER_SET));
    let time = question.time();
    let search = Search {
        query,
        time: Some(time.from_millis * NANOS_PER_MILLI..time.to_millis * NANOS_PER_MILLI),
        limit: usize::try_from(limit).unwrap_or(1),
        spans_per_set: usize::try_from(per_set).unwrap_or(1),
        sort: Sort::Newest,
        after: None,
    };
    let wrong = |error| Wrong::of(text, error);
    let searching = question.page.engine.search(question.tenants, search).await.map_err(wrong)?;
    let done = searching.all().await.map_err(wrong)?;
    let is_cut = done.next.is_some();
    let is_by_traces = !matches!(table, "spans" | "raw");
    let work = move || match is_by_traces {
        true => found::traces(&done.traces),
        false => found::spans(&done.traces),
    };
    let (frame, left_out) = question.page.engine.blocking(work).await.map_err(wrong)?;
    let mut notices = Vec::new();
    if is_cut {
        notices.push(Notice::warning(format!("truncated: the newest {limit} traces are shown")));
    }
    if left_out > 0 {
        notices
            .push(Notice::warning(format!("truncated: {left_out} matching spans are not shown")));
    }
    Ok(Given { frames: vec![frame], notices, query: text.to_owned() })
}

async fn metrics(question: &Question<'_>, query: Query, text: &str) -> Result<Given, Wrong> {
    let time = question.time();
    let step = parse(&question.context.fill(question.text("step"), Style::Glob));
    let step_millis = step.unwrap_or(question.context.interval_millis).max(1);
    let is_instant = question.text("metricsQueryType") == "instant";
    let points = match is_instant {
        true => Points::One,
        false => Points::Every(step_millis * NANOS_PER_MILLI),
    };
    let exemplars = read::integer(question.query(), "exemplars").unwrap_or(0).clamp(0, 500);
    let asked = MetricsQuery {
        query,
        start_nanos: time.from_millis * NANOS_PER_MILLI,
        end_nanos: time.to_millis * NANOS_PER_MILLI,
        points,
        exemplars: usize::try_from(exemplars).unwrap_or(0),
    };
    let done = question.page.engine.metrics(question.tenants, asked).await;
    let done = done.map_err(|error| Wrong::of(text, error))?;
    let mut series: Vec<Series> = Vec::new();
    for one in &done.series {
        let labels = one.labels.iter().map(|(key, value)| (key.clone(), shown(value))).collect();
        let points = one.points.iter().map(|(nanos, value)| (nanos / NANOS_PER_MILLI, *value));
        series.push(Series { labels, points: points.collect() });
    }
    let mut notices: Vec<Notice> =
        series::cut(&mut series).into_iter().map(Notice::warning).collect();
    let legend = legend(question, &series);
    let step_millis = if is_instant { 0 } else { step_millis };
    let are_buckets = series.iter().all(|series| series.labels.contains_key(BUCKET));
    let mut frames = series::frames(series, &legend, text, step_millis);
    if are_buckets {
        // Each holds what is in it alone, unlike PromQL's, and must not be taken apart again.
        for frame in &mut frames {
            frame.meta.insert("type".to_owned(), json!("heatmap-rows"));
        }
    }
    frames.extend(found::exemplars(&done.series));
    if done.stats.damaged_blocks > 0 {
        notices.push(Notice::warning("some data is damaged and was left out"));
    }
    Ok(Given { frames, notices, query: text.to_owned() })
}

/// What the query says; else the value, if series differ by one label, as Tempo's names are.
fn legend(question: &Question<'_>, series: &[Series]) -> String {
    let written = question.context.fill(question.text("legendFormat"), Style::Text);
    if !written.is_empty() {
        return written;
    }
    let mut keys: Vec<&String> = series.iter().flat_map(|series| series.labels.keys()).collect();
    keys.sort();
    keys.dedup();
    match keys.as_slice() {
        [one] => format!("{{{{{one}}}}}"),
        _ => String::new(),
    }
}

/// A label's value as text.
fn shown(value: &OwnedValue) -> String {
    cell(value).to_text()
}

/// One trace: its spans, and which it is, for panels that draw it.
async fn one_trace(question: &Question<'_>, id: &str) -> Result<Given, Wrong> {
    let query = format!(
        "SELECT span_id AS \"spanID\", parent_span_id AS \"parentSpanID\", name AS \"operationName\", \
         \"resource.service.name\" AS \"serviceName\", kind, status AS \"statusCode\", \
         start_time AS \"startTime\", duration_nanos AS duration, attributes AS tags \
         FROM spans WHERE trace_id = '{id}' ORDER BY start_time LIMIT {MAX_TRACE_SPANS}"
    );
    let wrong = |message: String| Wrong::invalid(&query, message);
    let mut frame: Frame =
        sql::columns(question.page, question.tenants, &query).await.map_err(wrong)?;
    if let Some(duration) = frame.fields.iter_mut().find(|field| field.name == "duration") {
        duration.config.insert("unit".to_owned(), json!("ns"));
    }
    frame.meta.insert("preferredVisualisationType".to_owned(), json!("trace"));
    frame.meta.insert("traceId".to_owned(), json!(id));
    let notices = match frame.rows() {
        0 => vec![Notice::warning(format!("there is no trace {id}"))],
        MAX_TRACE_SPANS => {
            vec![Notice::warning(format!("truncated: the first {MAX_TRACE_SPANS} spans are shown"))]
        }
        _ => Vec::new(),
    };
    Ok(Given { frames: vec![frame], notices, query: id.to_owned() })
}
