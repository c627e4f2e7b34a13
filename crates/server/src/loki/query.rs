//! Queries, at one time or over a range: `/query`, `/query_range`.

use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_logql::ast::Expr;
use kymo_logql::request::{self, Times};

use super::asked::{Asked, Unanswered, ask, json};
use super::json::{Categories, answer_json};
use crate::router::Shared;

/// `/api/v1/query`
pub(super) async fn instant(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_query", async |shared, asked| {
        let time_nanos = asked.time_or_now("time")?;
        let expr = asked.expression()?;
        let request = asked_for(&shared, &asked, Times::Instant { time_nanos })?;
        answer(shared, asked, expr, request).await
    })
    .await
}

/// `/api/v1/query_range`
pub(super) async fn range(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_query_range", async |shared, asked| {
        let range = asked.range()?;
        let step_nanos = asked.step(&range)?;
        let expr = asked.expression()?;
        let times = match expr {
            Expr::Log(_) => {
                Times::Range { start_nanos: range.start, end_nanos: range.end, step_nanos }
            }
            Expr::Metric(_) => aligned(range.start, range.end, step_nanos),
        };
        let request = asked_for(&shared, &asked, times)?;
        answer(shared, asked, expr, request).await
    })
    .await
}

/// Steps of numbers are multiples of the step, as Loki's front has them: the same question a moment
/// later has the same steps.
fn aligned(start: i64, end: i64, step_nanos: i64) -> Times {
    let start_nanos = start.saturating_sub(start.rem_euclid(step_nanos));
    let over = end.rem_euclid(step_nanos);
    let end_nanos = if over == 0 { end } else { end.saturating_add(step_nanos - over) };
    Times::Range { start_nanos, end_nanos, step_nanos }
}

fn asked_for(shared: &Shared, asked: &Asked, times: Times) -> Result<request::Request, Unanswered> {
    let options = shared.engine.logql_options();
    let interval_nanos = asked.duration("interval")?.unwrap_or(0);
    if interval_nanos < 0 {
        return Err("interval must be >= 0".to_owned().into());
    }
    let bounds = request::Bounds { max_series: options.max_series, ..Default::default() };
    Ok(request::Request {
        times,
        limit: asked.limit(options.max_lines)?,
        direction: asked.direction()?,
        interval_nanos,
        bounds,
    })
}

async fn answer(
    shared: Shared,
    asked: Asked,
    expr: Expr,
    request: request::Request,
) -> Result<Response, Unanswered> {
    let categories = Categories::of(&asked.headers);
    let began = Instant::now();
    let answer = shared.engine.logql(asked.tenants, expr, request).await?;
    let took = began.elapsed();
    Ok(shared.encode(move || json(answer_json(&answer, categories, took))).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_multiples_of_the_step() {
        let times = |start, end| match aligned(start, end, 60) {
            Times::Range { start_nanos, end_nanos, .. } => (start_nanos, end_nanos),
            Times::Instant { .. } => (0, 0),
        };
        assert_eq!(times(60, 300), (60, 300));
        assert_eq!(times(61, 299), (60, 300));
        assert_eq!(times(-61, -1), (-120, 0));
        assert_eq!(times(0, i64::MAX).1, i64::MAX);
    }
}
