//! Events counted, numbers of the program's own events, and counters held against what was counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::distribution::Distribution;
use super::tasks::Counts;
use crate::limits::MAX_FIELDS;
use crate::recording::Session;

/// Sums of seconds agree if they differ by no more than this part: they were added up in another
/// order, from times of another precision.
const SUM_TOLERANCE: f64 = 0.01;

/// Events of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventCount {
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// A number of the program's own events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldSummary {
    /// The event.
    pub event: String,
    /// Its field.
    pub field: String,
    /// How many events have it.
    pub count: u64,
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The last one.
    pub last: f64,
}

/// A counter of the session beside what was counted from its tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterCheck {
    /// The counter.
    pub name: &'static str,
    /// What it said last.
    pub counter: f64,
    /// What was counted.
    pub counted: f64,
    /// Whether they are the same.
    pub agrees: bool,
}

pub(super) fn event_counts(session: &Session) -> Vec<EventCount> {
    let counts = session.event_counts.iter();
    let mut counts: Vec<EventCount> =
        counts.map(|(name, count)| EventCount { name: name.to_string(), count: *count }).collect();
    counts
        .sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
    counts
}

pub(super) fn fields(session: &Session) -> Vec<FieldSummary> {
    let mut fields: BTreeMap<(&Arc<str>, &Arc<str>), FieldSummary> = BTreeMap::new();
    for event in &session.events {
        for (field, value) in &event.numbers {
            let key = (&event.name, field);
            if !fields.contains_key(&key) && fields.len() >= MAX_FIELDS {
                continue;
            }
            let summary = fields.entry(key).or_insert_with(|| FieldSummary {
                event: event.name.to_string(),
                field: field.to_string(),
                count: 0,
                min: f64::INFINITY,
                mean: 0.0,
                max: f64::NEG_INFINITY,
                last: 0.0,
            });
            summary.count += 1;
            summary.min = summary.min.min(*value);
            summary.max = summary.max.max(*value);
            // A running mean does not overflow.
            summary.mean += (value - summary.mean) / summary.count as f64;
            summary.last = *value;
        }
    }
    fields.into_values().collect()
}

pub(super) fn counters(
    session: &Session,
    counts: &Counts,
    durations: &Distribution,
) -> Vec<CounterCheck> {
    let ended = counts.completed + counts.failed + counts.canceled;
    let counted = [
        ("tasks_submitted", counts.submitted as f64),
        ("tasks_started", counts.started as f64),
        ("tasks_completed", counts.completed as f64),
        ("tasks_failed", counts.failed as f64),
        ("tasks_canceled", counts.canceled as f64),
        ("tasks_running", counts.running as f64),
        ("task_duration_seconds_count", ended as f64),
        ("task_duration_seconds_sum", durations.total),
    ];
    // Spans alone tell neither when tasks were submitted nor when they started.
    let is_of_spans = session.tasks.iter().any(|task| task.is_start_assumed);
    let is_unknown = |name: &str| {
        is_of_spans && ["tasks_submitted", "task_duration_seconds_sum"].contains(&name)
    };
    counted
        .into_iter()
        .filter(|(name, _)| !is_unknown(name))
        .filter_map(|(name, counted)| {
            let counter = *session.counters.get(name)?;
            let tolerance = match name {
                "task_duration_seconds_sum" => counted.abs().max(counter.abs()) * SUM_TOLERANCE,
                _ => 0.0,
            };
            let agrees = (counter - counted).abs() <= tolerance + 1e-9;
            Some(CounterCheck { name, counter, counted, agrees })
        })
        .collect()
}
