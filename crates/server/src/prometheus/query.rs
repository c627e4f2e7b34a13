//! Expressions, evaluated at one time or at many.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_engine::prometheus::PromQuery;
use kymo_promql::annotations::Severity;
use kymo_promql::ast::{Expr, ValueType};
use kymo_promql::eval::{Evaluation, Outcome, Times};

use super::asked::{Asked, Unanswered, ask, enveloped, said};
use super::json::write_outcome;
use crate::limits::{PROMETHEUS_MAX_NOTES, PROMETHEUS_MAX_POINTS};
use crate::router::Shared;

/// `/api/v1/query`
pub(super) async fn instant(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_query", async |shared, asked| {
        let time = asked.time("time")?.unwrap_or_else(now_millis);
        let (text, expr) = asked.expression(&shared)?;
        answer(shared, asked, text, expr, Times::instant(time)).await
    })
    .await
}

/// `/api/v1/query_range`
pub(super) async fn range(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_query_range", async |shared, asked| {
        let times = range_times(&asked)?;
        let (text, expr) = asked.expression(&shared)?;
        let value_type = expr.value_type();
        if !matches!(value_type, ValueType::Scalar | ValueType::Vector) {
            let why = format!(
                "invalid expression type {:?} for range query, must be Scalar or instant Vector",
                value_type.title()
            );
            return Err(Unanswered::parameter("query", why));
        }
        answer(shared, asked, text, expr, times).await
    })
    .await
}

fn range_times(asked: &Asked) -> Result<Times, Unanswered> {
    let required = |name: &str| {
        let missing = || Unanswered::parameter(name, "cannot parse \"\" to a valid timestamp");
        asked.time(name)?.ok_or_else(missing)
    };
    let (start, end) = (required("start")?, required("end")?);
    if end < start {
        return Err(Unanswered::parameter("end", "end timestamp must not be before start time"));
    }
    let missing = || Unanswered::parameter("step", "cannot parse \"\" to a valid duration");
    let step = asked.duration("step")?.ok_or_else(missing)?;
    if step <= 0 {
        let why = "zero or negative query resolution step widths are not accepted. Try a positive \
                   integer";
        return Err(Unanswered::parameter("step", why));
    }
    if (end - start) / step > PROMETHEUS_MAX_POINTS {
        return Err(Unanswered::Wrong(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query \
             resolution (?step=XX)"
                .to_owned(),
        ));
    }
    Ok(Times { start, end, step })
}

async fn answer(
    shared: Shared,
    asked: Asked,
    text: String,
    expr: Expr,
    times: Times,
) -> Result<Response, Unanswered> {
    let limit = asked.limit()?;
    let with_stats = asked.parameters.get("stats").is_some();
    let positive = |name: &str| -> Result<Option<Duration>, Unanswered> {
        let Some(millis) = asked.duration(name)? else { return Ok(None) };
        let why = "a duration greater than 0 is expected";
        let millis = u64::try_from(millis).ok().filter(|millis| *millis > 0);
        Ok(Some(Duration::from_millis(millis.ok_or_else(|| Unanswered::parameter(name, why))?)))
    };
    let (lookback, timeout) = (positive("lookback_delta")?, positive("timeout")?);
    let began = Instant::now();
    let query = PromQuery { expr, times, lookback, timeout };
    let evaluation = shared.engine.promql(asked.tenants, query).await?;
    let took = began.elapsed();
    let respond = move || respond(evaluation, &text, limit, with_stats.then_some(took));
    Ok(shared.encode(respond).await)
}

/// A result as Prometheus' API has it, for who evaluated an expression without it.
pub fn prometheus_json(evaluation: &Evaluation, text: &str) -> String {
    let mut data = String::new();
    write_outcome(&evaluation.outcome, &mut data);
    data.push('}');
    let notes = |severity| evaluation.annotations.texts(severity, text, PROMETHEUS_MAX_NOTES);
    enveloped(&data, &notes(Severity::Warning), &notes(Severity::Info))
}

fn respond(
    mut evaluation: Evaluation,
    text: &str,
    limit: usize,
    stats: Option<Duration>,
) -> Response {
    let notes = &evaluation.annotations;
    let mut warnings = notes.texts(Severity::Warning, text, PROMETHEUS_MAX_NOTES);
    let infos = notes.texts(Severity::Info, text, PROMETHEUS_MAX_NOTES);
    let count = match &evaluation.outcome {
        Outcome::Vector { samples, .. } => samples.len(),
        Outcome::Matrix(series) => series.len(),
        _ => 0,
    };
    if limit > 0 && count > limit {
        match &mut evaluation.outcome {
            Outcome::Vector { samples, .. } => samples.truncate(limit),
            Outcome::Matrix(series) => series.truncate(limit),
            _ => {}
        }
        warnings.push("results truncated due to limit".to_owned());
    }
    let mut data = String::new();
    write_outcome(&evaluation.outcome, &mut data);
    if let Some(took) = stats {
        let (secs, samples) = (took.as_secs_f64(), evaluation.samples_read);
        let stats = serde_json::json!({
            "timings": {
                "evalTotalTime": secs,
                "resultSortTime": 0,
                "queryPreparationTime": 0,
                "innerEvalTime": secs,
                "execQueueTime": 0,
                "execTotalTime": secs,
            },
            "samples": { "totalQueryableSamples": samples, "peakSamples": samples },
        });
        data.push_str(",\"stats\":");
        data.push_str(&stats.to_string());
    }
    data.push('}');
    said(&data, &warnings, &infos)
}

/// Milliseconds since 1970.
pub(super) fn now_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
