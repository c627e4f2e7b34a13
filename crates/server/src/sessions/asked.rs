//! What is asked about sessions, and why it is not answered.

use std::ops::Range;

use axum::body::Body;
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_engine::{EngineError, Tenants};

use super::summary::State;
use crate::limits::{
    DEFAULT_SESSION_ROWS, DEFAULT_SESSIONS, MAX_SESSION_ROWS, MAX_SESSIONS, SESSION_ID_MAX_BYTES,
    SESSIONS_LOOKBACK, UNAVAILABLE_RETRY,
};
use crate::live;
use crate::parameters::{Parameters, invalid, quoted};
use crate::reply::{self, json_error, retry};
use crate::{tenant, times};

/// What a moment may be, in the words of an error.
const MOMENT: &str = "a time such as 2026-01-02T03:04:05Z, seconds since 1970, or a duration \
                      before now such as 1h";

/// Why a question is not answered.
#[derive(Debug)]
pub(super) enum Failed {
    /// It is wrong: what is said about it.
    Wrong(String),
    /// There is no such session.
    Unknown(String),
    /// The engine could not answer it.
    Engine(EngineError),
    /// Too many pages are asked for.
    Busy,
    /// Nobody else can watch.
    Watch(live::Refused),
    /// Something that must not happen.
    Internal(String),
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Failed {
    /// A word for metrics.
    pub(super) fn outcome<T>(answered: &Result<T, Self>) -> &'static str {
        match answered {
            Ok(_) => "ok",
            Err(Self::Wrong(_) | Self::Unknown(_)) => "invalid",
            Err(Self::Engine(error)) => error.kind(),
            Err(Self::Watch(_) | Self::Busy) => "busy",
            Err(Self::Internal(_)) => "internal",
        }
    }

    /// As HTTP says it.
    pub(super) fn response(self) -> Response {
        match self {
            Self::Wrong(message) => json_error(StatusCode::BAD_REQUEST, &message),
            Self::Unknown(id) => {
                let message = format!(
                    "there is no session {}: a session is what was sent with a resource attribute \
                     session_id of that value, for this tenant (X-Scope-OrgID); GET /api/sessions \
                     lists those of some time",
                    quoted(&id)
                );
                json_error(StatusCode::NOT_FOUND, &message)
            }
            Self::Engine(error) => {
                reply::failed(&error, |status, message| json_error(status, &message))
            }
            Self::Watch(refused) => {
                let status = match refused {
                    live::Refused::TooMany | live::Refused::TooManyOfTenant => {
                        StatusCode::TOO_MANY_REQUESTS
                    }
                    live::Refused::Stopping => StatusCode::SERVICE_UNAVAILABLE,
                };
                retry(json_error(status, &refused.to_string()), UNAVAILABLE_RETRY)
            }
            Self::Busy => {
                let message = "other reports are being made; try again in a moment";
                retry(json_error(StatusCode::TOO_MANY_REQUESTS, message), UNAVAILABLE_RETRY)
            }
            Self::Internal(message) => {
                tracing::error!(message, "a question about sessions failed");
                json_error(StatusCode::INTERNAL_SERVER_ERROR, &message)
            }
        }
    }
}

/// A question.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) tenants: Tenants,
    /// Nanoseconds since 1970, if the question names a time.
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    pub(super) state: Option<State>,
    /// Sessions in a list.
    pub(super) limit: usize,
    /// Rows of each kind that are shown of one session.
    pub(super) tasks: usize,
    pub(super) events: usize,
    pub(super) resources: usize,
    /// Now, in nanoseconds since 1970: one moment for the whole answer.
    pub(super) now: i64,
}

impl Asked {
    pub(super) fn of(request: &Request<Body>) -> Result<Self, Failed> {
        let tenants = tenant::readable(request.headers())?;
        let parameters = Parameters::of(request.uri())?;
        Ok(Self::read(tenants, &parameters, times::now_nanos())?)
    }

    fn read(tenants: Tenants, parameters: &Parameters, now: i64) -> Result<Self, String> {
        let moment = |name: &str| {
            parameters.read(name, MOMENT, |text| {
                let before = || times::duration(text).filter(|nanos| *nanos >= 0);
                times::timestamp(text).or_else(|| Some(now.saturating_sub(before()?)))
            })
        };
        let (since, until) = (moment("since")?, moment("until")?);
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err("since must be before until".to_owned());
        }
        let rows = |name: &str| count(parameters, name, DEFAULT_SESSION_ROWS, 0, MAX_SESSION_ROWS);
        Ok(Self {
            tenants,
            since,
            until,
            state: parameters.read("state", "running, ended or lost", State::of)?,
            limit: count(parameters, "limit", DEFAULT_SESSIONS, 1, MAX_SESSIONS)?,
            tasks: rows("tasks")?,
            events: rows("events")?,
            resources: rows("resources")?,
            now,
        })
    }

    /// The time that a list looks at: up to now unless told otherwise.
    pub(super) fn range(&self) -> Range<i64> {
        let end = self.end();
        let lookback = i64::try_from(SESSIONS_LOOKBACK.as_nanos()).unwrap_or(i64::MAX);
        let before = || self.until.unwrap_or(self.now).saturating_sub(lookback);
        self.since.unwrap_or_else(before)..end
    }

    /// All time, but for what is asked: for who knows what it is looking for.
    pub(super) fn any_range(&self) -> Range<i64> {
        self.since.unwrap_or(0)..self.end()
    }

    /// The moment at which states are told: what came after `until` is not looked at.
    pub(super) fn moment(&self) -> i64 {
        self.until.map_or(self.now, |until| until.min(self.now))
    }

    /// Clocks differ: what comes from the future is there too unless an end is named.
    fn end(&self) -> i64 {
        self.until.unwrap_or(i64::MAX)
    }
}

/// A number within bounds.
fn count(
    parameters: &Parameters,
    name: &str,
    default: usize,
    least: usize,
    most: usize,
) -> Result<usize, String> {
    let expected = format!("a whole number from {least} to {most}");
    let number = parameters.number::<usize>(name)?;
    match number {
        None => Ok(default),
        Some(number) if (least..=most).contains(&number) => Ok(number),
        Some(number) => Err(invalid(name, &expected, &number.to_string())),
    }
}

/// The name of a session in a path.
pub(super) fn session_id(id: &str) -> Result<&str, Failed> {
    match id.len() {
        1..=SESSION_ID_MAX_BYTES => Ok(id),
        size_bytes => Err(Failed::Wrong(format!(
            "the name of a session has 1 to {SESSION_ID_MAX_BYTES} bytes, not {size_bytes}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * times::NANOS_PER_SECOND;

    fn asked(query: &str) -> Result<Asked, String> {
        Asked::read(Tenants::from("a"), &Parameters::parse(query).unwrap(), 100 * HOUR)
    }

    #[test]
    fn a_list_looks_at_a_day_unless_told_otherwise() {
        assert_eq!(asked("").unwrap().range(), 76 * HOUR..i64::MAX);
        assert_eq!(asked("since=1h").unwrap().range(), 99 * HOUR..i64::MAX);
        assert_eq!(asked("since=0").unwrap().range(), 0..i64::MAX);
        assert_eq!(asked("until=1970-01-03T00:00:00Z").unwrap().range(), 24 * HOUR..48 * HOUR);
        let both = asked("since=3600&until=7200").unwrap();
        assert_eq!((both.range(), both.any_range()), (HOUR..2 * HOUR, HOUR..2 * HOUR));
        assert_eq!(asked("").unwrap().any_range(), 0..i64::MAX);
        assert_eq!(both.moment(), 2 * HOUR);
        assert_eq!(asked("").unwrap().moment(), asked("").unwrap().now);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_words() {
        for (query, word) in [
            ("since=yesterday", "since"),
            ("since=-1h", "since"),
            ("since=7200&until=3600", "before until"),
            ("state=dead", "running, ended or lost"),
            ("limit=0", "from 1 to"),
            ("limit=100000", "from 1 to"),
            ("tasks=-1", "tasks"),
            ("events=100000000", "from 0 to"),
        ] {
            let message = asked(query).unwrap_err();
            assert!(message.contains(word), "{query}: {message}");
        }
        assert!(session_id("").is_err() && session_id(&"x".repeat(257)).is_err());
        assert_eq!(session_id("it's").unwrap(), "it's");
    }
}
