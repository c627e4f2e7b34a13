//! The board of a session: where its tasks stand, how fast they go, what stands out.

use std::borrow::Cow;

use kymo_report::Session;
use kymo_report::analysis::{Analysis, ConcurrencyPoint, FailureGroup, Throughput};
use kymo_report::limits::LOST_AFTER;
use kymo_report::recording::{LeftOut, Status, Task};
use serde::Serialize;

use super::lanes::{self, Idle, Lanes};
use super::limits::{MAX_LISTED, RATE_WINDOW};
use super::replay::{self, Replay};
use super::stragglers::{Straggler, stragglers};
use super::tasks::was_handed_over;
use crate::times::millis;

/// What is drawn of a session at a moment.
#[derive(Debug, Serialize)]
pub(super) struct Board {
    session: About,
    /// The moment that it is about.
    pub(super) at_ms: f64,
    /// Whether that is in the past, as somebody asked for.
    is_replay: bool,
    pub(super) funnel: Funnel,
    throughput: Throughput,
    concurrency: Vec<ConcurrencyPoint>,
    /// Tasks that ended per second lately, and how long the others take at that rate.
    pub(super) rate_per_second: f64,
    pub(super) eta_seconds: Option<f64>,
    waits: Waits,
    pub(super) lanes: Lanes,
    pub(super) idle_gpus: Vec<Idle>,
    pub(super) stragglers: Vec<Straggler>,
    /// How many there are, of which those are the first.
    stragglers_total: u64,
    failures: Vec<FailureGroup>,
    replay: Replay,
    /// What there was no room for.
    left_out: LeftOut,
    notes: Vec<String>,
}

/// Which session.
#[derive(Debug, Serialize)]
struct About {
    id: String,
    name: String,
    service: Option<String>,
    host: Option<String>,
    backend: Option<String>,
    trace_id: Option<String>,
    /// `running`, `ended` or `lost`, at the moment that the board is about.
    state: &'static str,
    start_ms: Option<f64>,
    end_ms: Option<f64>,
    seconds: f64,
    error: Option<String>,
}

/// Where tasks stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Funnel {
    /// All that are known.
    pub(super) created: usize,
    /// Those that were handed over, whatever became of them.
    pub(super) submitted: usize,
    /// Those that wait.
    pub(super) queued: usize,
    pub(super) running: usize,
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) canceled: usize,
    /// Without an end, though their session has one.
    pub(super) unfinished: usize,
}

/// How long tasks waited and ran, in seconds.
#[derive(Debug, Serialize)]
struct Waits {
    queue_p50_seconds: f64,
    queue_p95_seconds: f64,
    run_p50_seconds: f64,
    run_p95_seconds: f64,
}

/// Which moment, and which part of the time lanes are drawn of, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct When {
    pub(super) at: Option<u64>,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    pub(super) now: u64,
}

/// What is said of a session that goes on.
const RUNNING: &str = "running";
/// What is said of a task without an end, in a session that does not go on.
pub(super) const UNFINISHED: &str = "unfinished";

/// A session as it is asked about. Only what was known at an earlier moment is a copy.
pub(super) struct Then<'a> {
    pub(super) session: Cow<'a, Session>,
    /// The moment that this is.
    pub(super) at_nanos: u64,
    /// `running`, `ended` or `lost`, at that moment.
    state: &'static str,
}

impl Then<'_> {
    pub(super) fn goes_on(&self) -> bool {
        self.state == RUNNING
    }

    /// Where a task stands: nothing runs or waits in a session that does not go on.
    pub(super) fn standing(&self, task: &Task) -> &'static str {
        let is_settled = self.goes_on() || task.status.is_end();
        if is_settled { task.status.name() } else { UNFINISHED }
    }
}

/// A session as it was or is at a moment.
pub(super) fn then(session: &Session, when: When) -> Then<'_> {
    let (_, last) = replay::bounds(session);
    let session = match when.at {
        Some(at) => Cow::Owned(replay::as_of(session, at)),
        None => Cow::Borrowed(session),
    };
    let state = state(&session, when, last);
    let at_nanos = match when.at {
        Some(at) => at.min(last),
        None if state == RUNNING => when.now.max(last),
        None => last,
    };
    Then { session, at_nanos, state }
}

/// The board.
pub(super) fn board(session: &Session, when: When) -> Board {
    let then = then(session, when);
    let mut analysis = Analysis::of(&then.session);
    let funnel = funnel(&then);
    let (rate_per_second, eta_seconds) = estimate(&then, &funnel);
    let part = (when.from.unwrap_or(0), when.to.unwrap_or(u64::MAX));
    analysis.failures.truncate(MAX_LISTED);
    let of_use = lanes::Use { resources: &analysis.resources, window: analysis.window };
    let (stragglers, stragglers_total) = stragglers(&then, &analysis.stragglers);
    Board {
        lanes: lanes::lanes(&then, of_use, part),
        idle_gpus: lanes::idle(&then),
        stragglers,
        stragglers_total,
        session: about(&analysis, &then),
        at_ms: millis(then.at_nanos),
        is_replay: when.at.is_some(),
        funnel,
        rate_per_second,
        eta_seconds,
        waits: Waits {
            queue_p50_seconds: analysis.waits.start.p50,
            queue_p95_seconds: analysis.waits.start.p95,
            run_p50_seconds: analysis.duration.p50,
            run_p95_seconds: analysis.duration.p95,
        },
        throughput: analysis.throughput,
        concurrency: analysis.concurrency.series,
        failures: analysis.failures,
        replay: replay::replay(session),
        left_out: session.left_out,
        notes: analysis.notes,
    }
}

fn state(then: &Session, when: When, last: u64) -> &'static str {
    let silence = u128::from(when.now.saturating_sub(last));
    match then.has_ended {
        true => "ended",
        // In a replay it goes on until the last thing that is known.
        false if when.at.is_some_and(|at| at < last) => RUNNING,
        false if silence > LOST_AFTER.as_nanos() => "lost",
        false => RUNNING,
    }
}

fn about(analysis: &Analysis, then: &Then<'_>) -> About {
    let session = &analysis.session;
    let start = analysis.window.start_nanos;
    About {
        id: session.id.clone(),
        name: session.name.clone(),
        service: session.service.clone(),
        host: session.host.clone(),
        backend: session.backend.clone(),
        trace_id: session.trace_id.clone(),
        state: then.state,
        start_ms: Some(millis(start)).filter(|_| start > 0),
        end_ms: (!then.goes_on()).then_some(millis(analysis.window.end_nanos)),
        seconds: match then.goes_on() {
            true => then.at_nanos.saturating_sub(start) as f64 / 1e9,
            false => session.duration_seconds,
        },
        error: session.error.clone(),
    }
}

fn funnel(then: &Then<'_>) -> Funnel {
    let mut funnel = Funnel { created: then.session.tasks.len(), ..Funnel::default() };
    for task in &then.session.tasks {
        funnel.submitted += usize::from(was_handed_over(task));
        match task.status {
            Status::Completed => funnel.completed += 1,
            Status::Failed => funnel.failed += 1,
            Status::Canceled => funnel.canceled += 1,
            _ if !then.goes_on() => funnel.unfinished += 1,
            Status::Running => funnel.running += 1,
            Status::Queued | Status::Submitted => funnel.queued += 1,
            Status::Created => {}
        }
    }
    funnel
}

/// How fast tasks end, over the last minute or the last fifth of the session, and how long what is
/// left takes at that rate.
fn estimate(then: &Then<'_>, funnel: &Funnel) -> (f64, Option<f64>) {
    let (session, at) = (&then.session, then.at_nanos);
    let first = session.tasks.iter().filter_map(|task| task.first_nanos()).min();
    let Some(first) = first else { return (0.0, None) };
    let elapsed = at.saturating_sub(first);
    let least = u64::try_from(RATE_WINDOW.as_nanos()).unwrap_or(u64::MAX);
    let window = (elapsed / 5).max(least).min(elapsed).max(1);
    let since = at.saturating_sub(window);
    let is_recent = |ended: &u64| (since..=at).contains(ended);
    let ended = session.tasks.iter().filter_map(|task| task.ended_nanos).filter(is_recent).count();
    let rate = ended as f64 / (window as f64 / 1e9);
    let left = funnel.created - funnel.completed - funnel.failed - funnel.canceled;
    let eta = (then.goes_on() && left > 0 && rate > 0.0).then(|| left as f64 / rate);
    (rate, eta)
}
