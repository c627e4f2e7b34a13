//! A session as a store has it, read back for a report.
//!
//! ```text
//!  next_query ──> SQL, of an engine or of a server ──> rows ──> add ──> requests ──> Recording
//! ```
//!
//! Rows become requests of OTLP again, one for each batch, and are recorded as those of a file are:
//! what a report makes of a record does not depend on where it was kept. Who asks the queries, and
//! how, is not said here, so that the page of a server, a command that asks a server, and one that
//! reads a directory go the same way.
//!
//! Every query is a plain scan, whose rows come as they are found, or gives one row: neither side
//! holds more than a batch beside the recording, whose room is bounded ([`Limits`]).

mod attributes;
mod requests;

use std::time::Duration;

use arrow_array::RecordBatch;
use futures::StreamExt;
use kymo_engine::table::hex;
use kymo_engine::{Engine, EngineError, Tenants};
use kymo_report::limits::Limits;
use kymo_report::recording::METRICS;
use kymo_report::{Recording, ReportError, Session};
use kymo_wire::Signal;

use crate::sql::{list, moment, quoted};
use requests::{SPAN_EVENTS, SpanEvents};

/// Why rows cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// An answer has not the columns that were asked for.
    #[error("expected a column {name} of {expected}: is the server of another version?")]
    Column {
        /// Which.
        name: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
    /// The request that was made of rows.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What is asked for, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing yet.
    New,
    /// Whether it began lately: then not everything has to be looked through.
    Begin,
    Logs,
    /// Events of spans, which are needed when the spans come.
    Events,
    Spans,
    Points,
    /// When anything of it was heard: of lines of logs and other points nothing else is asked.
    HeardLogs,
    HeardPoints,
    /// What programs that know of no session wrote into its trace.
    OtherLogs,
    OtherEvents,
    OtherSpans,
    Done,
}

impl Stage {
    fn next(self) -> Self {
        match self {
            Self::New => Self::Begin,
            Self::Begin => Self::Logs,
            Self::Logs => Self::Events,
            Self::Events => Self::Spans,
            Self::Spans => Self::Points,
            Self::Points => Self::HeardLogs,
            Self::HeardLogs => Self::HeardPoints,
            Self::HeardPoints => Self::OtherLogs,
            Self::OtherLogs => Self::OtherEvents,
            Self::OtherEvents => Self::OtherSpans,
            Self::OtherSpans | Self::Done => Self::Done,
        }
    }
}

/// A session that is read from the tables of SQL.
///
/// ```
/// use kymo_report::limits::Limits;
/// use kymo_page::StoredSession;
///
/// let mut stored = StoredSession::new("train.1", 0, Limits::default());
/// while let Some(query) = stored.next_query() {
///     assert!(query.starts_with("SELECT "));
///     // for batch in answers to the query: stored.add(&batch)?;
/// }
/// assert!(stored.finish().is_none());
/// ```
#[derive(Debug)]
pub struct StoredSession {
    id: String,
    since: Option<i64>,
    until: Option<i64>,
    /// Where to begin if nothing tells otherwise.
    lately: i64,
    stage: Stage,
    recording: Recording,
    events: SpanEvents,
}

impl StoredSession {
    /// The session of that name. It is looked for in the last day before `now_nanos` first, and
    /// everywhere if it did not begin then: so one that was run again under its name is reported
    /// with what is up to a day older than the last run, unless a time is named.
    #[must_use]
    pub fn new(id: &str, now_nanos: i64, limits: Limits) -> Self {
        Self {
            id: id.to_owned(),
            since: None,
            until: None,
            lately: now_nanos.saturating_sub(DAY),
            stage: Stage::New,
            recording: Recording::within(limits),
            events: SpanEvents::within(limits),
        }
    }

    /// Only what happened then, in nanoseconds since 1970.
    #[must_use]
    pub fn within(self, since: Option<i64>, until: Option<i64>) -> Self {
        let day_before = until.map_or(i64::MAX, |until| until.saturating_sub(DAY));
        Self { since, until, lately: self.lately.min(day_before), ..self }
    }

    /// What is to be asked next, once all rows of the last answer were added.
    pub fn next_query(&mut self) -> Option<String> {
        self.stage = self.stage.next();
        if self.stage == Stage::Begin && self.since.is_some() {
            self.stage = Stage::Logs;
        }
        let stage = self.stage;
        let is_other = matches!(stage, Stage::OtherLogs | Stage::OtherEvents | Stage::OtherSpans);
        let of_trace = match (is_other, self.recording.trace_of(&self.id)) {
            (true, Some(trace)) => {
                format!("trace_id = '{}' AND \"resource.session_id\" IS NULL", hex(&trace))
            }
            // It has no trace, or nothing is known of it.
            (true, None) => return None,
            (false, _) => String::new(),
        };
        let of_session = || format!("{SESSION} = {}", quoted(&self.id));
        Some(match stage {
            Stage::Begin => format!(
                "SELECT min(time) AS began FROM logs WHERE {} AND event_name = 'SessionStarted' \
                 AND time >= '{}'",
                self.timed("time", of_session()),
                moment(self.lately)
            ),
            Stage::Logs => logs(&self.timed("time", of_session())),
            Stage::Events => events(&of_session()),
            Stage::Spans => spans(&self.timed("start_time", of_session())),
            Stage::Points => format!(
                "SELECT time, start_time, name, type, value, count, sum, attributes, resource \
                 FROM points WHERE {} AND name IN ({})",
                self.timed("time", of_session()),
                list(&METRICS)
            ),
            Stage::HeardLogs => heard("logs", &self.timed("time", of_session())),
            Stage::HeardPoints => heard("points", &self.timed("time", of_session())),
            Stage::OtherLogs => logs(&self.timed("time", of_trace)),
            Stage::OtherEvents => events(&of_trace),
            Stage::OtherSpans => spans(&self.timed("start_time", of_trace)),
            Stage::New | Stage::Done => return None,
        })
    }

    /// Adds rows of the answer to the last query.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<(), StoredError> {
        let (signal, request) = match self.stage {
            Stage::New | Stage::Done => return Ok(()),
            Stage::Begin => {
                let began = requests::first_moment(rows, "began")?;
                // Clocks of machines differ.
                self.since = began.map(|began| began.saturating_sub(DAY));
                return Ok(());
            }
            Stage::Events | Stage::OtherEvents => return self.events.add(rows),
            Stage::Logs | Stage::OtherLogs => (Signal::Logs, requests::logs(rows)?),
            Stage::Spans | Stage::OtherSpans => {
                (Signal::Traces, requests::spans(rows, &self.events)?)
            }
            Stage::Points => (Signal::Metrics, requests::points(rows)?),
            Stage::HeardLogs | Stage::HeardPoints => {
                (Signal::Logs, requests::heard(rows, &self.id)?)
            }
        };
        Ok(self.recording.add(signal, &request)?)
    }

    /// Asks everything of an engine; the session, if there is something of it.
    pub async fn read(
        mut self,
        engine: &Engine,
        tenants: &Tenants,
    ) -> Result<Option<Session>, StoredError> {
        while let Some(query) = self.next_query() {
            let mut rows = engine.sql(tenants, &query).await?;
            while let Some(batch) = rows.next().await {
                let batch = batch?;
                // Where it delays no acknowledgement.
                self = engine.blocking(move || self.add(&batch).map(|()| self)).await??;
            }
        }
        Ok(engine.blocking(move || self.finish()).await?)
    }

    /// The session, if there is something of it.
    #[must_use]
    pub fn finish(self) -> Option<Session> {
        drop(self.events);
        let (sessions, _) = self.recording.finish();
        sessions.into_iter().find(|session| *session.id == *self.id)
    }

    /// Conditions, with those on time.
    fn timed(&self, column: &str, mut conditions: String) -> String {
        for (bound, sign) in [(self.since, ">="), (self.until, "<")] {
            if let Some(bound) = bound {
                conditions += &format!(" AND {column} {sign} '{}'", moment(bound));
            }
        }
        conditions
    }
}

/// Time before now in which a session is looked for first.
const LOOKBACK: Duration = Duration::from_secs(24 * 3600);
const DAY: i64 = LOOKBACK.as_nanos() as i64;
/// The id of a session, whatever its type: what is no text counts by the text that SQL has for it.
const SESSION: &str = "CAST(\"resource.session_id\" AS VARCHAR)";

fn logs(conditions: &str) -> String {
    format!(
        "SELECT time, observed_time, event_name, trace_id, span_id, body, attributes, resource \
         FROM logs WHERE {conditions} AND event_name IS NOT NULL"
    )
}

fn events(conditions: &str) -> String {
    format!(
        "SELECT span_id, time, name, attributes FROM events WHERE {conditions} AND name IN ({})",
        list(&SPAN_EVENTS)
    )
}

fn spans(conditions: &str) -> String {
    format!(
        "SELECT trace_id, span_id, parent_span_id, name, start_time, end_time, status, \
         status_message, attributes, resource FROM spans WHERE {conditions}"
    )
}

/// The first and the last moment of a table, and what it calls the session.
fn heard(table: &str, conditions: &str) -> String {
    format!(
        "SELECT min(time) AS first, max(time) AS last, min(\"resource.session.name\") AS name, \
         min(\"resource.service.name\") AS service, min(\"resource.host.name\") AS host \
         FROM {table} WHERE {conditions}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, TimestampNanosecondArray};

    use super::*;

    fn queries(mut stored: StoredSession, began: Option<i64>) -> Vec<String> {
        let mut queries = Vec::new();
        while let Some(query) = stored.next_query() {
            if query.contains("AS began") {
                let began = Arc::new(TimestampNanosecondArray::from(vec![began])) as ArrayRef;
                stored.add(&RecordBatch::try_from_iter([("began", began)]).unwrap()).unwrap();
            }
            queries.push(query);
        }
        queries
    }

    #[test]
    fn everything_is_looked_through_unless_the_session_began_lately() {
        let stored = || StoredSession::new("it's", 3 * DAY, Limits::default());
        let all = queries(stored(), None);
        assert_eq!(all.len(), 7);
        assert!(all[1..].iter().all(|query| query.contains("= 'it''s'") && !query.contains(">=")));
        let lately = queries(stored(), Some(2 * DAY));
        assert!(lately[1].contains("time >= '1970-01-02T00:00:00"), "{}", lately[1]);
        // Events of spans are not found by their time.
        assert!(!lately[2].contains(">="), "{}", lately[2]);
        let told = queries(stored().within(Some(DAY), Some(2 * DAY)), None);
        assert_eq!(told.len(), 6);
        assert!(told[0].contains("time < '1970-01-03T00:00:00"), "{}", told[0]);
        // What was run again since is not what is asked for.
        let earlier = queries(stored().within(None, Some(2 * DAY)), None);
        assert!(earlier[0].contains("time < '1970-01-03T00:00:00"), "{}", earlier[0]);
        assert!(earlier[0].contains("time >= '1970-01-02T00:00:00"), "{}", earlier[0]);
    }
}
