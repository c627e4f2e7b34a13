//! Tasks by state, by field, and those that stand out.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::distribution::Distribution;
use super::waits::duration_secs;
use crate::limits::{MAX_GROUPS, MAX_LISTED};
use crate::recording::{Session, Status, Task};

/// Tasks by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All that are known.
    pub total: u64,
    /// Those that were handed over.
    pub submitted: u64,
    /// Those that began to run.
    pub started: u64,
    /// Those that ended well.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were called off.
    pub canceled: u64,
    /// Started, with no end known. Never less than 0.
    pub running: u64,
    /// Neither started nor ended.
    pub waiting: u64,
    /// Running or waiting, though the session has ended.
    pub unfinished: u64,
    /// Ended, but not known to have started.
    pub ended_without_start: u64,
}

pub(super) fn counts(session: &Session) -> Counts {
    let mut counts = Counts { total: session.tasks.len() as u64, ..Counts::default() };
    for task in &session.tasks {
        let has_started = task.started_nanos.is_some();
        counts.submitted += u64::from(task.submitted_nanos.is_some());
        counts.started += u64::from(has_started);
        match task.status {
            Status::Completed => counts.completed += 1,
            Status::Failed => counts.failed += 1,
            Status::Canceled => counts.canceled += 1,
            _ if has_started => counts.running += 1,
            _ => counts.waiting += 1,
        }
        counts.ended_without_start += u64::from(task.status.is_end() && !has_started);
    }
    if session.has_ended {
        counts.unfinished = counts.running + counts.waiting;
    }
    counts
}

/// Tasks by the values of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Groups {
    /// The field: `name`, `executable`, `task_type`, `backend` or `node_id`.
    pub field: &'static str,
    /// Those that took the most time first.
    pub groups: Vec<Group>,
    /// Values that are not listed.
    pub not_listed: u64,
}

/// Tasks that have one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The value.
    pub value: String,
    /// How many tasks.
    pub tasks: u64,
    /// Of those, how many completed.
    pub completed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many were canceled.
    pub canceled: u64,
    /// Their part of the time that all tasks ran.
    pub share_of_time: f64,
    /// How long they ran, in seconds.
    pub duration: Distribution,
}

/// By every field that has more than one value, and by the first that has one at all.
pub(super) fn groups(session: &Session, total_secs: f64) -> Vec<Groups> {
    type Field = (&'static str, fn(&Task) -> Option<&Arc<str>>);
    let fields: [Field; 5] = [
        ("name", |task| Some(&task.name)),
        ("executable", |task| task.executable.as_ref()),
        ("task_type", |task| task.task_type.as_ref()),
        ("backend", |task| task.backend.as_ref()),
        ("node_id", |task| task.node.as_ref()),
    ];
    let all = fields.into_iter().map(|(name, of)| by_field(&session.tasks, name, of, total_secs));
    all.filter(|groups| groups.groups.len() > 1).collect()
}

fn by_field(
    tasks: &[Task],
    field: &'static str,
    of: fn(&Task) -> Option<&Arc<str>>,
    total_secs: f64,
) -> Groups {
    let mut by_value: HashMap<&Arc<str>, (Group, Vec<f64>)> = HashMap::new();
    for task in tasks {
        let Some(value) = of(task) else { continue };
        let (group, durations) = by_value.entry(value).or_insert_with(|| {
            let group = Group {
                value: value.to_string(),
                tasks: 0,
                completed: 0,
                failed: 0,
                canceled: 0,
                share_of_time: 0.0,
                duration: Distribution::default(),
            };
            (group, Vec::new())
        });
        group.tasks += 1;
        match task.status {
            Status::Completed => group.completed += 1,
            Status::Failed => group.failed += 1,
            Status::Canceled => group.canceled += 1,
            _ => {}
        }
        durations.extend(duration_secs(task));
    }
    let is_worth_it = by_value.len() <= MAX_GROUPS || by_value.len() * 2 <= tasks.len();
    let mut groups: Vec<Group> = by_value
        .into_values()
        .map(|(mut group, mut durations)| {
            durations.sort_unstable_by(f64::total_cmp);
            group.duration = Distribution::of_sorted(&durations);
            group.share_of_time = group.duration.total / total_secs.max(f64::MIN_POSITIVE);
            group
        })
        .collect();
    groups.sort_by(|one, other| {
        let by_time = other.duration.total.total_cmp(&one.duration.total);
        by_time.then_with(|| one.value.cmp(&other.value))
    });
    let not_listed = groups.len().saturating_sub(MAX_GROUPS) as u64;
    // A value of its own for nearly every task is an id, not a kind.
    groups.truncate(if is_worth_it { MAX_GROUPS } else { 0 });
    Groups { field, groups, not_listed }
}

/// Tasks that failed with one type of error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureGroup {
    /// The type.
    pub error_type: String,
    /// How many tasks.
    pub count: u64,
    /// What one of them said.
    pub message: Option<String>,
    /// Some of them.
    pub tasks: Vec<String>,
    /// The first failure, in seconds from the begin of the session.
    pub first_at_seconds: Option<f64>,
}

/// Tasks that are named for a type of error.
const TASKS_NAMED: usize = 3;

pub(super) fn failures(session: &Session, window: super::load::Window) -> Vec<FailureGroup> {
    let unknown: Arc<str> = "unknown".into();
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    for task in session.tasks.iter().filter(|task| task.status == Status::Failed) {
        let error_type = task.error_type.as_ref().unwrap_or(&unknown);
        let place = *places.entry(error_type.clone()).or_insert_with(|| {
            groups.push(FailureGroup {
                error_type: error_type.to_string(),
                count: 0,
                message: None,
                tasks: Vec::new(),
                first_at_seconds: None,
            });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.count += 1;
        if group.message.is_none() {
            group.message = task.error_message.as_deref().map(str::to_owned);
        }
        if group.tasks.len() < TASKS_NAMED {
            group.tasks.push(task.id.to_string());
        }
        let at = task.ended_nanos.map(|nanos| window.offset_secs(nanos));
        group.first_at_seconds = match (group.first_at_seconds, at) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
    }
    groups.sort_by(|one, other| {
        other.count.cmp(&one.count).then_with(|| one.error_type.cmp(&other.error_type))
    });
    groups
}

/// A task without an end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenTask {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// For how long it has been there, at the end of the report's time.
    pub for_seconds: f64,
    /// Where it runs.
    pub node: Option<String>,
}

/// Tasks without an end, those that have been so for longest first.
pub(super) fn open_tasks(session: &Session, window: super::load::Window) -> Vec<OpenTask> {
    let mut open: Vec<OpenTask> = session
        .tasks
        .iter()
        .filter(|task| !task.status.is_end())
        .map(|task| {
            let states = [
                task.started_nanos,
                task.queued_nanos,
                task.submitted_nanos,
                task.created_nanos,
                task.span_nanos.map(|(start, _)| start),
            ];
            let since = states.into_iter().flatten().next();
            let end = window.offset_secs(window.end_nanos);
            OpenTask {
                id: task.id.to_string(),
                name: task.label().into(),
                status: task.status,
                for_seconds: since.map_or(0.0, |since| end - window.offset_secs(since)),
                node: task.node.as_deref().map(str::to_owned),
            }
        })
        .collect();
    open.sort_by(|one, other| {
        other.for_seconds.total_cmp(&one.for_seconds).then_with(|| one.id.cmp(&other.id))
    });
    open.truncate(MAX_LISTED);
    open
}
