//! What every question has, and how it ends. What went wrong is said in plain text, as Loki does.

use std::future::Future;
use std::ops::Range;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, Request, StatusCode};
use kymo_engine::Tenants;
use kymo_logql::ast::Expr;
use kymo_logql::matcher::LabelMatcher;
use kymo_logql::parser::{parse, parse_selector};
use kymo_logql::request::Direction;

use super::times::{self, DURATION, TIME};
use crate::limits::LOKI_DEFAULT_LINES;
use crate::parameters::Parameters;
pub(super) use crate::question::PlainUnanswered as Unanswered;
use crate::question::{self, Question};
use crate::reply::typed;
use crate::router::Shared;
use crate::times::{NANOS_PER_SECOND, now_nanos, timestamp};

/// How far back a question looks that does not say.
const HOUR_NANOS: i64 = 3600 * NANOS_PER_SECOND;

/// A question: whose, and its parameters, from the URL or a form.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) tenants: Tenants,
    pub(super) parameters: Parameters,
    pub(super) headers: HeaderMap,
    now_nanos: i64,
}

impl Asked {
    pub(super) async fn read(shared: &Shared, request: Request<Body>) -> Result<Self, Unanswered> {
        let Question { tenants, parameters, headers } = Question::read(shared, request).await?;
        Ok(Self { tenants, parameters, headers, now_nanos: now_nanos() })
    }

    /// A moment, in nanoseconds since 1970.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, Unanswered> {
        Ok(self.parameters.read(name, TIME, timestamp)?)
    }

    /// A moment, or now.
    pub(super) fn time_or_now(&self, name: &str) -> Result<i64, Unanswered> {
        Ok(self.time(name)?.unwrap_or(self.now_nanos))
    }

    /// A duration, in nanoseconds.
    pub(super) fn duration(&self, name: &str) -> Result<Option<i64>, Unanswered> {
        Ok(self.parameters.read(name, DURATION, times::duration)?)
    }

    /// From `start` to before `end`. Without a start it is an hour, or as long as `since` says, before
    /// the end; without an end that is now.
    pub(super) fn range(&self) -> Result<Range<i64>, Unanswered> {
        let end = self.time_or_now("end")?;
        let since = self.duration("since")?.unwrap_or(HOUR_NANOS);
        // What is asked up to a time that has not come goes back from now.
        let start = match self.time("start")? {
            Some(start) => start,
            None => end.min(self.now_nanos).saturating_sub(since),
        };
        if end < start {
            return Err("end timestamp must not be before or equal to start time"
                .to_owned()
                .into());
        }
        Ok(start..end)
    }

    /// The step of a range: as it is asked for, or so that there are some 250.
    pub(super) fn step(&self, range: &Range<i64>) -> Result<i64, Unanswered> {
        let length_secs = range.end.saturating_sub(range.start) / NANOS_PER_SECOND;
        let usual = (length_secs / 250).max(1) * NANOS_PER_SECOND;
        let step = self.duration("step")?.unwrap_or(usual);
        if step <= 0 {
            let why = "zero or negative query resolution step widths are not accepted. Try a \
                       positive integer";
            return Err(why.to_owned().into());
        }
        Ok(step)
    }

    /// How many of something are wanted, at least one.
    pub(super) fn count(&self, name: &str, usual: usize) -> Result<usize, Unanswered> {
        let count = self.parameters.number::<i64>(name)?;
        match count.map(usize::try_from) {
            None => Ok(usual),
            Some(Ok(count @ 1..)) => Ok(count),
            Some(_) => Err(format!("{name} must be a positive value").into()),
        }
    }

    /// How many lines are wanted, of those that an answer may have.
    pub(super) fn limit(&self, max_lines: usize) -> Result<usize, Unanswered> {
        let limit = self.count("limit", LOKI_DEFAULT_LINES)?;
        if limit > max_lines {
            let why = format!(
                "max entries limit per query exceeded, limit > max_entries_limit_per_query \
                 ({limit} > {max_lines})"
            );
            return Err(why.into());
        }
        Ok(limit)
    }

    /// Which end of the lines is wanted, and comes first.
    pub(super) fn direction(&self) -> Result<Direction, Unanswered> {
        let direction =
            self.parameters.read("direction", "forward or backward", |text| {
                match text.to_ascii_lowercase().as_str() {
                    "forward" => Some(Direction::Forward),
                    "backward" => Some(Direction::Backward),
                    _ => None,
                }
            })?;
        Ok(direction.unwrap_or_default())
    }

    /// The query.
    pub(super) fn expression(&self) -> Result<Expr, Unanswered> {
        Ok(parse(&self.parameters.text("query")).map_err(|error| error.to_string())?)
    }

    /// The selector in `query`, if there is one. It must select by something.
    pub(super) fn selector(&self) -> Result<Option<Vec<LabelMatcher>>, Unanswered> {
        let Some(text) = self.parameters.get("query") else { return Ok(None) };
        let matchers = parse_selector(text).map_err(|error| error.to_string())?;
        if matchers.iter().all(|matcher| matcher.matches("")) {
            let why = "queries require at least one regexp or equality matcher that does not have \
                       an empty-compatible value. For instance, app=~\".*\" does not meet this \
                       requirement, but app=~\".+\" will";
            return Err(why.to_owned().into());
        }
        Ok(Some(matchers))
    }
}

/// Reads a question and answers it.
pub(super) async fn ask<F: Future<Output = Result<Response, Unanswered>>>(
    shared: Shared,
    request: Request<Body>,
    api: &'static str,
    answer: impl FnOnce(Shared, Asked) -> F,
) -> Response {
    let answering = async { answer(shared.clone(), Asked::read(&shared, request).await?).await };
    question::counted(&shared, api, answering).await
}

/// An answer in JSON.
pub(super) fn json(body: impl Into<Body>) -> Response {
    typed(StatusCode::OK, "application/json; charset=UTF-8", body)
}
