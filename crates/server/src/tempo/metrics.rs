//! `GET /tempo/api/metrics/query_range` and `/tempo/api/metrics/query`: series of numbers, and one
//! number of each.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_engine::traceql::{MetricsAnswer, MetricsQuery, Points};
use kymo_traceql::ast::{Body as QueryBody, Literal, Query};
use kymo_traceql::metrics::Grid;

use super::asked::{self, Asked, Unanswered};
use super::messages::{QueryInstantResponse, QueryRangeResponse};
use super::{json, range};
use crate::limits::{DEFAULT_EXEMPLARS, DEFAULT_METRICS_RANGE, MAX_EXEMPLARS};
use crate::parameters::{Parameters, quoted};
use crate::router::Shared;
use crate::times;

/// How a query is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Points, so many nanoseconds apart; `None` to choose.
    Range(Option<i64>),
    /// One point.
    Instant,
}

/// A query for series, over HTTP or gRPC.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) query: String,
    pub(super) start_nanos: i64,
    pub(super) end_nanos: i64,
    pub(super) shape: Shape,
    pub(super) exemplars: Option<usize>,
}

impl Wanted {
    fn of(parameters: &Parameters, shape: Shape, now_nanos: i64) -> Result<Self, String> {
        let query = parameters.get("q").or(parameters.get("query")).unwrap_or("").to_owned();
        let (start_nanos, end_nanos) = bounds(parameters, now_nanos)?;
        let shape = match shape {
            Shape::Instant => Shape::Instant,
            Shape::Range(_) => Shape::Range(parameters.read(
                "step",
                "seconds or a duration such as 30s",
                |text| range::step(text).filter(|step| *step > 0),
            )?),
        };
        let exemplars = parameters.number("exemplars")?;
        Ok(Self { query, start_nanos, end_nanos, shape, exemplars })
    }

    /// What the engine is asked.
    pub(super) async fn metrics_query(self, shared: &Shared) -> Result<MetricsQuery, Unanswered> {
        let Self { start_nanos, end_nanos, .. } = self;
        let is_instant = self.shape == Shape::Instant;
        let say = move |error| match is_instant {
            true => format!("compiling query: {error}"),
            false => error,
        };
        let query = asked::parse(shared, self.query, say).await?;
        if !matches!(query.body, QueryBody::Metrics(_)) {
            let message = "not a metrics query: end it with a function such as | rate()";
            return Err(message.to_owned().into());
        }
        let points = match self.shape {
            Shape::Instant => Points::One,
            Shape::Range(step) => {
                Points::Every(step.unwrap_or_else(|| Grid::default_step(start_nanos, end_nanos)))
            }
        };
        let exemplars = match is_instant {
            true => 0,
            false => exemplars_of(&query, self.exemplars),
        };
        Ok(MetricsQuery { query, start_nanos, end_nanos, points, exemplars })
    }
}

/// Examples of spans: as the query says, or the parameter, or as many as usual.
fn exemplars_of(query: &Query, asked: Option<usize>) -> usize {
    let hint = query.hints.iter().find(|hint| hint.name == "exemplars").map(|hint| &hint.value);
    let wanted = match hint {
        Some(Literal::Bool(false)) => 0,
        Some(Literal::Int(count)) => usize::try_from(*count).unwrap_or(0),
        _ => asked.unwrap_or(DEFAULT_EXEMPLARS),
    };
    wanted.min(MAX_EXEMPLARS)
}

/// Start and end: as they are given; else until now, and from an hour or `since` before that.
fn bounds(parameters: &Parameters, now_nanos: i64) -> Result<(i64, i64), String> {
    let time = |name| {
        let parse = |text| {
            times::timestamp(text).ok_or_else(|| {
                format!(
                    "could not parse '{name}' parameter: expected seconds or nanoseconds since \
                     1970, or a time such as 2026-01-02T03:04:05Z, not {}",
                    quoted(text)
                )
            })
        };
        parameters.get(name).map(parse).transpose()
    };
    let since = match parameters.get("since") {
        None => DEFAULT_METRICS_RANGE.as_nanos() as i64,
        Some(text) => times::duration(text).filter(|nanos| *nanos > 0).ok_or_else(|| {
            format!(
                "could not parse 'since' parameter: expected a duration such as 6h, not {}",
                quoted(text)
            )
        })?,
    };
    let end = time("end")?.unwrap_or(now_nanos);
    let start = match time("start")? {
        Some(start) => start,
        None => end.min(now_nanos).saturating_sub(since).max(0),
    };
    if start >= end {
        return Err(format!("start must be before end. received start={start} end={end}"));
    }
    Ok((start, end))
}

pub(super) async fn range(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let found = async |asked: Asked| {
        let wanted = Wanted::of(&asked.parameters, Shape::Range(None), times::now_nanos())?;
        let query = wanted.metrics_query(&shared).await?;
        let answer = shared.engine.metrics(&asked.tenants, query).await?;
        let json = |answer: &MetricsAnswer| json::series(answer);
        Ok(asked::encode(&shared, asked.form, answer, json, QueryRangeResponse::from).await)
    };
    asked::answer(&shared, "metrics", request, found).await
}

pub(super) async fn instant(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let found = async |asked: Asked| {
        let wanted = Wanted::of(&asked.parameters, Shape::Instant, times::now_nanos())?;
        let query = wanted.metrics_query(&shared).await?;
        let answer = shared.engine.metrics(&asked.tenants, query).await?;
        let json = |answer: &MetricsAnswer| json::values(answer);
        Ok(asked::encode(&shared, asked.form, answer, json, QueryInstantResponse::from).await)
    };
    asked::answer(&shared, "metrics", request, found).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const NOW: i64 = 1_767_323_045 * SECOND;

    fn wanted(text: &str) -> Result<Wanted, String> {
        Wanted::of(&Parameters::parse(text).unwrap(), Shape::Range(None), NOW)
    }

    #[test]
    fn the_last_hour_is_asked_for_unless_something_else_is() {
        let hour = wanted("query=x").unwrap();
        assert_eq!((hour.start_nanos, hour.end_nanos), (NOW - 3600 * SECOND, NOW));
        assert_eq!((hour.query.as_str(), hour.shape), ("x", Shape::Range(None)));
        let day = wanted("q=x&since=1d&step=60").unwrap();
        assert_eq!(day.start_nanos, NOW - 86_400 * SECOND);
        assert_eq!(day.shape, Shape::Range(Some(60 * SECOND)));
        // The time before an end that is still to come is counted from now.
        let future = wanted("end=2026-01-03T00:00:00Z").unwrap();
        assert_eq!(future.start_nanos, NOW - 3600 * SECOND);
        let exact = wanted("start=1000&end=2000000000000&step=1m&exemplars=0").unwrap();
        assert_eq!((exact.start_nanos, exact.end_nanos), (1000 * SECOND, 2000 * SECOND));
        assert_eq!(exact.exemplars, Some(0));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, word) in [
            ("start=2000&end=1000", "before end"),
            ("start=soon", "'start'"),
            ("end=-1", "'end'"),
            ("since=x", "'since'"),
            ("since=-1h", "'since'"),
            ("step=0", "invalid step"),
            ("step=-1s", "invalid step"),
            ("step=NaN", "invalid step"),
            ("exemplars=many", "invalid exemplars"),
        ] {
            let error = wanted(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
