//! What a session is made of.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use kymo_service::ExportSettings;
use opentelemetry::KeyValue;
use opentelemetry_sdk::logs::LogProcessor;
use opentelemetry_sdk::metrics::MeterProviderBuilder;
use opentelemetry_sdk::trace::SpanProcessor;

use crate::error::SessionError;
use crate::limits::{
    FLUSH_EVERY, KEEP_SPANS, MAX_NAME_BYTES, METRICS_EVERY, MIN_FLUSH_EVERY, MIN_POLL_EVERY,
    POLL_EVERY, QUEUE_EVENTS,
};

/// Where the file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkpoint {
    /// Nowhere.
    None,
    /// Into a directory, which is made if it is not there, as `<session id>.kymo.jsonl`.
    Directory(PathBuf),
    /// A file of that name. One that is there is not written over: a number is added.
    File(PathBuf),
}

/// What becomes of a call while the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits for room: nothing is lost.
    Block,
    /// It returns, the event is lost and counted: nothing waits.
    Drop,
}

/// The span that a session lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// What the variable `TRACEPARENT` says; none if it is not set. One that cannot be read is
    /// ignored, with a warning.
    Environment,
    /// None: a trace of its own.
    None,
    /// A W3C traceparent.
    Traceparent(String),
}

/// Changes how the session's metrics are read, as in `|builder| builder.with_reader(…)`.
pub type MeterSetup = Box<dyn FnOnce(MeterProviderBuilder) -> MeterProviderBuilder + Send>;

/// How a call waits for room in the queue: it is given what waits, and must call it once. For
/// languages that hold a lock of their own while they call.
pub type AroundWait = fn(&mut (dyn FnMut() + Send));

/// How a session is set up. All of it has defaults but the name.
pub struct SessionOptions {
    /// What it is called, for people.
    pub name: String,
    /// Its id; unless given, the name and eight random digits.
    pub id: Option<String>,
    /// `service.name`; unless given `OTEL_SERVICE_NAME`, else the name.
    pub service_name: Option<String>,
    /// What runs the tasks of events that do not say.
    pub backend: Option<String>,
    /// More attributes of the resource.
    pub attributes: Vec<KeyValue>,
    /// The file; in the working directory.
    pub checkpoint: Checkpoint,
    /// Within which time everything is in the file; 1 s.
    pub flush_every: Duration,
    /// How often node and GPUs are looked at, at least 0.1 s; 5 s. None: never.
    pub poll_every: Option<Duration>,
    /// How many events may wait; 65,536.
    pub queue_events: usize,
    /// What happens when more do; they block.
    pub when_full: WhenFull,
    /// How a call waits when the queue is full and it blocks.
    pub around_wait: Option<AroundWait>,
    /// How many finished spans stay in memory; 100,000.
    pub keep_spans: usize,
    /// How often instruments are written to the file; 10 s.
    pub metrics_every: Duration,
    /// The span that the session lies in; the environment's.
    pub parent: Parent,
    /// `telemetry.sdk.language`.
    pub language: &'static str,
    /// A server to send to; none.
    pub export: Option<ExportSettings>,
    /// Exporters of the ecosystem for spans: `on_end` is called with each, on the worker's thread.
    /// There is no span of the SDK, so `on_start` is not.
    pub span_processors: Vec<Box<dyn SpanProcessor>>,
    /// The same for events and logs.
    pub log_processors: Vec<Box<dyn LogProcessor>>,
    /// The same for metrics.
    pub meter: Option<MeterSetup>,
}

impl SessionOptions {
    /// Defaults, and a name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            service_name: None,
            backend: None,
            attributes: Vec::new(),
            checkpoint: Checkpoint::Directory(PathBuf::from(".")),
            flush_every: FLUSH_EVERY,
            poll_every: Some(POLL_EVERY),
            queue_events: QUEUE_EVENTS,
            when_full: WhenFull::Block,
            around_wait: None,
            keep_spans: KEEP_SPANS,
            metrics_every: METRICS_EVERY,
            parent: Parent::Environment,
            language: "rust",
            export: None,
            span_processors: Vec::new(),
            log_processors: Vec::new(),
            meter: None,
        }
    }

    /// Whether a session can be made of them.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        check_name("session's name", &self.name)?;
        if let Some(id) = &self.id {
            check_name("session's id", id)?;
        }
        let at_least = |what, given: Duration, least: Duration| match given >= least {
            true => Ok(()),
            false => Err(SessionError::Setting {
                what,
                given: format!("{given:?}"),
                expected: format!("{least:?} or more"),
            }),
        };
        at_least("the flush interval", self.flush_every, MIN_FLUSH_EVERY)?;
        at_least("the interval of metrics", self.metrics_every, MIN_POLL_EVERY)?;
        if let Some(poll_every) = self.poll_every {
            at_least("the poll interval", poll_every, MIN_POLL_EVERY)?;
        }
        if self.queue_events == 0 {
            return Err(SessionError::Setting {
                what: "the size of the queue",
                given: "0".to_owned(),
                expected: "1 or more".to_owned(),
            });
        }
        Ok(())
    }
}

/// Names become parts of file names and labels.
fn check_name(what: &'static str, name: &str) -> Result<(), SessionError> {
    let wrong = |why| Err(SessionError::Name { what, name: name.chars().take(80).collect(), why });
    if name.trim().is_empty() {
        return wrong("it is empty");
    }
    if name.len() > MAX_NAME_BYTES {
        return wrong("it is too long");
    }
    if name.chars().any(char::is_control) {
        return wrong("it has control characters");
    }
    Ok(())
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("name", &self.name)
            .field("id", &self.id)
            .field("checkpoint", &self.checkpoint)
            .field("flush_every", &self.flush_every)
            .field("poll_every", &self.poll_every)
            .field("queue_events", &self.queue_events)
            .field("when_full", &self.when_full)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_with_the_reason() {
        assert!(SessionOptions::new("train").check().is_ok());
        let wrong = |change: fn(&mut SessionOptions)| {
            let mut options = SessionOptions::new("train");
            change(&mut options);
            options.check().expect_err("is wrong").to_string()
        };
        let poll = wrong(|options| options.poll_every = Some(Duration::from_millis(10)));
        assert_eq!(poll, "the poll interval is 10ms: expected 100ms or more");
        assert!(wrong(|options| options.name = " ".into()).contains("it is empty"));
        assert!(wrong(|options| options.id = Some("a\nb".into())).contains("control characters"));
        assert!(wrong(|options| options.queue_events = 0).contains("1 or more"));
        assert!(wrong(|options| options.flush_every = Duration::ZERO).contains("flush interval"));
    }
}
