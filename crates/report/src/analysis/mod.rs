//! What a session did, in figures.
//!
//! Everything is computed from the tasks, samples and events of a [`Session`]; nothing is sampled
//! or estimated. Every figure is defined in `docs/sessions/report.md`. The members of the types
//! here are those of the JSON document, which only ever gets more of them.

mod checks;
mod compare;
mod distribution;
mod load;
mod notes;
mod resources;
mod stragglers;
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod waits;

use serde::Serialize;

pub use checks::{CounterCheck, EventCount, FieldSummary};
pub use compare::{Comparison, Figure, compare};
pub use distribution::{Bin, Distribution, Histogram, quantile};
pub use load::{Concurrency, ConcurrencyPoint, Tail, Throughput, ThroughputBin, Window};
pub use resources::{Flow, Gauge, GpuUse, NodeUse, Resources};
pub use stragglers::{Straggler, Stragglers};
pub use tasks::{Counts, FailureGroup, Group, Groups, OpenTask};
pub use timeline::{Bar, HeatRow, Timeline};
pub use waits::{Clock, Waits, duration_secs};

pub(crate) use distribution::{nice_seconds, nice_step};

use crate::recording::{LeftOut, Origin, Process, Session};
use crate::times::rfc3339;

/// What a session did, in figures.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// Which session.
    pub session: About,
    /// Tasks by state.
    pub tasks: Counts,
    /// How long tasks ran, from start to end, in seconds.
    pub duration: Distribution,
    /// How long tasks were known, from the begin of their spans to the end, in seconds.
    pub lifetime: Distribution,
    /// Tasks by the values of their fields.
    pub by: Vec<Groups>,
    /// How many ran at once.
    pub concurrency: Concurrency,
    /// When less than half as many ran as at most.
    pub tail: Tail,
    /// How many ended, over time.
    pub throughput: Throughput,
    /// How long tasks waited, in seconds.
    pub waits: Waits,
    /// What nodes and GPUs did.
    pub resources: Resources,
    /// Tasks that took much longer than others.
    pub stragglers: Stragglers,
    /// Tasks that failed, by type of error.
    pub failures: Vec<FailureGroup>,
    /// Tasks without an end.
    pub open_tasks: Vec<OpenTask>,
    /// Events by name.
    pub events: Vec<EventCount>,
    /// Numbers of the program's own events.
    pub fields: Vec<FieldSummary>,
    /// Counters, and whether they agree.
    pub counters: Vec<CounterCheck>,
    /// Negative times, which were taken for 0.
    pub clock: Clock,
    /// What there was no room for.
    pub left_out: LeftOut,
    /// What a reader should know about these figures.
    pub notes: Vec<String>,
    /// Tasks over time, for a drawing.
    #[serde(skip)]
    pub timeline: Timeline,
    /// The time that all this is about.
    #[serde(skip)]
    pub window: Window,
}

/// Which session.
#[derive(Debug, Clone, Serialize)]
pub struct About {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What makes it a session: `session_id`, `tasks_of_trace` or `trace`.
    pub origin: Origin,
    /// `service.name`.
    pub service: Option<String>,
    /// `host.name`.
    pub host: Option<String>,
    /// Its backend.
    pub backend: Option<String>,
    /// Its trace.
    pub trace_id: Option<String>,
    /// When it began, as RFC 3339.
    pub started: Option<String>,
    /// When it ended; null if that is not known.
    pub ended: Option<String>,
    /// Whether it is known to have ended: `ended` or `running`.
    pub state: &'static str,
    /// How long it took, as it says itself; else from its begin to what is last known of it.
    pub duration_seconds: f64,
    /// Seconds from the first thing known to the last: what charts over time cover.
    pub window_seconds: f64,
    /// Why it failed as a whole.
    pub error: Option<String>,
    /// The command that it is, and what it used; null if it is none.
    pub process: Option<Process>,
    /// Spans of it.
    pub spans: u64,
    /// Spans with the status of an error.
    pub span_errors: u64,
    /// Events of it.
    pub events: u64,
    /// Records that came more than once, and were counted once.
    pub repeated: u64,
    /// Events of tasks that had ended before.
    pub events_after_end: u64,
}

impl Analysis {
    /// Computes the figures.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        let window = Window::of(session);
        let mut clock = Clock::default();
        let tasks = tasks::counts(session);
        let (duration, lifetime) = waits::durations(session, &mut clock);
        let (concurrency, tail) = load::concurrency(session, window);
        let mut analysis = Self {
            session: about(session, window),
            by: tasks::groups(session, duration.total),
            throughput: load::throughput(session, window),
            waits: waits::waits(session, &mut clock),
            resources: resources::resources(&session.samples, window),
            stragglers: stragglers::stragglers(session, window),
            failures: tasks::failures(session, window),
            open_tasks: tasks::open_tasks(session, window),
            events: checks::event_counts(session),
            fields: checks::fields(session),
            counters: checks::counters(session, &tasks, &duration),
            timeline: timeline::timeline(session, window),
            left_out: session.left_out,
            notes: Vec::new(),
            tasks,
            duration,
            lifetime,
            concurrency,
            tail,
            clock,
            window,
        };
        analysis.notes = notes::notes(session, &analysis);
        analysis
    }
}

fn about(session: &Session, window: Window) -> About {
    let known_secs = match (session.start_nanos, session.end_nanos) {
        (Some(start), Some(end)) => end.saturating_sub(start) as f64 / 1e9,
        _ => window.secs(),
    };
    let ended = session.end_nanos.filter(|_| session.has_ended);
    About {
        id: session.id.to_string(),
        name: session.name.to_string(),
        origin: session.origin,
        service: session.service.as_deref().map(str::to_owned),
        host: session.host.as_deref().map(str::to_owned),
        backend: session.backend.as_deref().map(str::to_owned),
        trace_id: session.trace_id.clone(),
        started: session.start_nanos.map(rfc3339),
        ended: ended.map(rfc3339),
        state: if session.has_ended { "ended" } else { "running" },
        duration_seconds: session.said_duration_secs.unwrap_or(known_secs),
        window_seconds: window.secs(),
        error: session.error.as_deref().map(str::to_owned),
        process: session.process.clone(),
        spans: session.spans,
        span_errors: session.span_errors,
        events: session.event_counts.values().sum(),
        repeated: session.repeated,
        events_after_end: session.events_after_end,
    }
}
