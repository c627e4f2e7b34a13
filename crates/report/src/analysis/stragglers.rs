//! Tasks that took much longer than others of their kind, and what that cost.
//!
//! A kind is what has the same name, executable and type. A straggler took longer than 95 of a
//! hundred of its kind, and more than three times their median. Kinds of fewer than five tasks are
//! judged together: where every task has a name of its own, all are one kind.

use std::collections::HashMap;

use serde::Serialize;

use super::distribution::quantile;
use super::load::Window;
use super::waits::duration_secs;
use crate::limits::{MAX_LISTED, MIN_TASKS_OF_A_KIND, STRAGGLER_MEDIANS};
use crate::recording::{Session, Task};

/// Stragglers, the longest over their kind first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stragglers {
    /// How many there are.
    pub count: u64,
    /// What they took beyond the medians of their kinds.
    pub excess_seconds: f64,
    /// How much earlier the last task would have ended, had each taken the median of its kind from
    /// when it started.
    pub delay_seconds: f64,
    /// The first of them.
    pub tasks: Vec<Straggler>,
}

/// A straggler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Straggler {
    /// The task.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Where it ran.
    pub node: Option<String>,
    /// When it started, in seconds from the begin of the session.
    pub started_at_seconds: f64,
    /// How long it took.
    pub seconds: f64,
    /// The median of its kind.
    pub median_seconds: f64,
    /// How many times that it took; 0 if the median is 0.
    pub times_median: f64,
    /// How much earlier the last task would have ended without this straggler alone.
    pub delay_seconds: f64,
}

/// Name, executable, type.
type Kind<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn kind(task: &Task) -> Kind<'_> {
    (&task.name, task.executable.as_deref(), task.task_type.as_deref())
}

/// What is usual for a kind, and from where on a task is slow.
#[derive(Clone, Copy)]
struct Usual {
    median: f64,
    slow_from: f64,
}

pub(super) fn stragglers(session: &Session, window: Window) -> Stragglers {
    let mut by_kind: HashMap<Kind<'_>, Vec<f64>> = HashMap::new();
    for task in &session.tasks {
        if let Some(secs) = duration_secs(task) {
            by_kind.entry(kind(task)).or_default().push(secs);
        }
    }
    let mut rare = Vec::new();
    let mut usual: HashMap<Kind<'_>, Usual> = HashMap::new();
    for (kind, durations) in by_kind {
        if durations.len() < MIN_TASKS_OF_A_KIND {
            rare.extend(durations);
        } else if let Some(found) = usual_of(durations) {
            usual.insert(kind, found);
        }
    }
    let usual_of_rare = usual_of(rare);
    let mut found = Stragglers::default();
    let mut last = Latest::default();
    let mut last_without = 0u64;
    let mut slow: Vec<(u64, Straggler)> = Vec::new();
    for task in &session.tasks {
        let (Some(start), Some(end)) = (task.started_nanos, task.ended_nanos) else { continue };
        let secs = duration_secs(task).unwrap_or_default();
        let end = end.max(start);
        last.add(end);
        match usual.get(&kind(task)).copied().or(usual_of_rare) {
            Some(Usual { median, slow_from }) if secs > slow_from => {
                found.count += 1;
                found.excess_seconds += secs - median;
                last_without = last_without.max(start.saturating_add((median * 1e9) as u64));
                slow.push((end, straggler(task, window.offset_secs(start), secs, median)));
            }
            _ => last_without = last_without.max(end),
        }
    }
    found.delay_seconds = last.first.saturating_sub(last_without) as f64 / 1e9;
    slow.sort_by(|(_, one), (_, other)| {
        let excess = |of: &Straggler| of.seconds - of.median_seconds;
        excess(other).total_cmp(&excess(one)).then_with(|| one.id.cmp(&other.id))
    });
    slow.truncate(MAX_LISTED);
    for (end, straggler) in &mut slow {
        if *end == last.first {
            let instead = end.saturating_sub(
                ((straggler.seconds - straggler.median_seconds).max(0.0) * 1e9) as u64,
            );
            let without = instead.max(last.second);
            straggler.delay_seconds = last.first.saturating_sub(without) as f64 / 1e9;
        }
    }
    found.tasks = slow.into_iter().map(|(_, straggler)| straggler).collect();
    found
}

fn straggler(task: &Task, started_at_seconds: f64, seconds: f64, median: f64) -> Straggler {
    Straggler {
        id: task.id.to_string(),
        name: task.label().into(),
        node: task.node.as_deref().map(str::to_owned),
        started_at_seconds,
        seconds,
        median_seconds: median,
        times_median: if median > 0.0 { seconds / median } else { 0.0 },
        delay_seconds: 0.0,
    }
}

fn usual_of(mut durations: Vec<f64>) -> Option<Usual> {
    if durations.len() < MIN_TASKS_OF_A_KIND {
        return None;
    }
    durations.sort_unstable_by(f64::total_cmp);
    let median = quantile(&durations, 0.5);
    let slow_from = quantile(&durations, 0.95).max(STRAGGLER_MEDIANS * median);
    Some(Usual { median, slow_from })
}

/// The latest end, and the one before.
#[derive(Default)]
struct Latest {
    first: u64,
    second: u64,
}

impl Latest {
    fn add(&mut self, end: u64) {
        if end >= self.first {
            self.second = std::mem::replace(&mut self.first, end);
        } else {
            self.second = self.second.max(end);
        }
    }
}
