//! How long tasks took and waited. Clocks that step back give negative times: those count as 0, and
//! are counted.

use serde::Serialize;

use super::distribution::Distribution;
use crate::recording::{Session, Task};

/// Times between states of tasks, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Submitted to queued: how long it takes to choose where a task runs.
    pub routing: Distribution,
    /// Queued to started.
    pub queue: Distribution,
    /// Submitted to started.
    pub start: Distribution,
    /// Submitted to the end.
    pub end_to_end: Distribution,
    /// From when an event happened to when it was emitted.
    pub emit: Distribution,
}

/// Times that came out negative and were taken for 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Clock {
    /// Started to ended.
    pub negative_durations: u64,
    /// Submitted to queued.
    pub negative_routing: u64,
    /// Queued to started.
    pub negative_queue: u64,
    /// Submitted to started.
    pub negative_start: u64,
    /// Submitted to the end.
    pub negative_end_to_end: u64,
    /// Events that were emitted before they happened.
    pub negative_emit: u64,
}

impl Clock {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.negative_durations
            + self.negative_routing
            + self.negative_queue
            + self.negative_start
            + self.negative_end_to_end
            + self.negative_emit
    }
}

/// How long a task ran, in seconds; none if its start or its end is not known.
#[must_use]
pub fn duration_secs(task: &Task) -> Option<f64> {
    Some(between(task.started_nanos?, task.ended_nanos?).max(0.0))
}

/// Seconds from one moment to another; negative if that comes first.
pub(super) fn between(from: u64, to: u64) -> f64 {
    if to >= from { (to - from) as f64 / 1e9 } else { -((from - to) as f64 / 1e9) }
}

pub(super) fn waits(session: &Session, clock: &mut Clock) -> Waits {
    // A start that was assumed says nothing of waiting.
    let started = |task: &Task| task.started_nanos.filter(|_| !task.is_start_assumed);
    let tasks = &session.tasks;
    let all = |from: &dyn Fn(&Task) -> Option<u64>,
               to: &dyn Fn(&Task) -> Option<u64>,
               negative: &mut u64| {
        let times = tasks.iter().filter_map(|task| Some(between(from(task)?, to(task)?)));
        clamped(times, negative)
    };
    let submitted = |task: &Task| task.submitted_nanos;
    let queued = |task: &Task| task.queued_nanos;
    let emitted = session.emit_nanos.iter().map(|nanos| *nanos as f64 / 1e9);
    Waits {
        routing: all(&submitted, &queued, &mut clock.negative_routing),
        queue: all(&queued, &started, &mut clock.negative_queue),
        start: all(&submitted, &started, &mut clock.negative_start),
        end_to_end: all(&submitted, &|task| task.ended_nanos, &mut clock.negative_end_to_end),
        emit: clamped(emitted, &mut clock.negative_emit),
    }
}

pub(super) fn clamped(times: impl Iterator<Item = f64>, negative: &mut u64) -> Distribution {
    let clamp = |secs: f64| {
        *negative += u64::from(secs < 0.0);
        secs.max(0.0)
    };
    Distribution::of(times.map(clamp).collect())
}

/// How long tasks ran, and how long their spans are.
pub(super) fn durations(session: &Session, clock: &mut Clock) -> (Distribution, Distribution) {
    let ran = session.tasks.iter();
    let ran = ran.filter_map(|task| Some(between(task.started_nanos?, task.ended_nanos?)));
    let durations = clamped(ran, &mut clock.negative_durations);
    let lifetimes = session.tasks.iter().filter_map(|task| {
        let (from, to) = match (task.span_nanos, task.ended_nanos) {
            (Some(span), _) => span,
            (None, Some(ended)) => (task.first_nanos()?, ended),
            (None, None) => return None,
        };
        // First to last of one task: never negative.
        Some(between(from, to).max(0.0))
    });
    (durations, Distribution::of(lifetimes.collect()))
}
