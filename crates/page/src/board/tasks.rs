//! The table of tasks: those that are asked for, in portions.

use std::cmp::Ordering;

use kymo_engine::table::hex;
use kymo_report::recording::{Status, Task};
use serde::{Deserialize, Serialize};

use super::document::{Then, UNFINISHED};
use super::limits::{MAX_TASK_ROWS, USUAL_TASK_ROWS};
use crate::answer::Failed;
use crate::times;

/// Which tasks, in which order.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Parameters {
    /// The moment of a replay.
    pub(super) at: Option<String>,
    /// States, between commas; `handed_over` is that of all that were, whatever became of them.
    state: Option<String>,
    /// What id, name, node, executable or error contain.
    q: Option<String>,
    node: Option<String>,
    /// `started`, `duration`, `wait`, `name`, `node`, `status` or `id`.
    sort: Option<String>,
    /// `asc` or `desc`.
    order: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// A portion of the table.
#[derive(Debug, Serialize)]
pub(super) struct Tasks {
    /// How many there are.
    total: usize,
    offset: usize,
    tasks: Vec<Row>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    id: String,
    name: String,
    /// As in events, or `unfinished`.
    status: &'static str,
    span_id: Option<String>,
    backend: Option<String>,
    node: Option<String>,
    executable: Option<String>,
    task_type: Option<String>,
    created_ms: Option<f64>,
    submitted_ms: Option<f64>,
    started_ms: Option<f64>,
    ended_ms: Option<f64>,
    /// From when it was submitted to its start, or until now.
    wait_seconds: Option<f64>,
    /// From its start to its end, or until now.
    seconds: Option<f64>,
    error_type: Option<String>,
    error_message: Option<String>,
}

/// The id of a task's span.
pub(super) fn hex_id(task: &Task) -> Option<String> {
    task.span_id.as_ref().map(|id| hex(id))
}

/// What tasks can be ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Started,
    Duration,
    Wait,
    Name,
    Node,
    Status,
    Id,
}

impl Parameters {
    fn sort(&self) -> Result<Sort, Failed> {
        Ok(match self.sort.as_deref() {
            None | Some("" | "started") => Sort::Started,
            Some("duration") => Sort::Duration,
            Some("wait") => Sort::Wait,
            Some("name") => Sort::Name,
            Some("node") => Sort::Node,
            Some("status") => Sort::Status,
            Some("id") => Sort::Id,
            Some(other) => {
                return Err(Failed::Invalid(format!(
                    "sort is {other:?}: expected started, duration, wait, name, node, status or id"
                )));
            }
        })
    }

    fn states(&self) -> Result<Vec<&str>, Failed> {
        let named = self.state.as_deref().unwrap_or_default();
        let named: Vec<&str> = named.split(',').filter(|name| !name.is_empty()).collect();
        let is_known = |name: &str| {
            Status::from_name(name).is_some() || name == UNFINISHED || name == HANDED_OVER
        };
        if let Some(name) = named.iter().find(|name| !is_known(name)) {
            let expected = format!("state is {name:?}: expected one such as running or failed");
            return Err(Failed::Invalid(expected));
        }
        Ok(named)
    }
}

/// What tasks are asked for by that were handed over.
const HANDED_OVER: &str = "handed_over";

/// Whether a task was handed over, whatever became of it.
pub(super) fn was_handed_over(task: &Task) -> bool {
    task.submitted_nanos.is_some()
        || task.queued_nanos.is_some()
        || task.started_nanos.is_some()
        || matches!(task.status, Status::Completed | Status::Failed)
}

fn is_of_state(then: &Then<'_>, task: &Task, state: &str) -> bool {
    match state {
        HANDED_OVER => was_handed_over(task),
        state => then.standing(task) == state,
    }
}

/// The tasks that are asked for, of a session as it was at a moment.
pub(super) fn tasks(then: &Then<'_>, asked: &Parameters) -> Result<Tasks, Failed> {
    let now_nanos = then.at_nanos;
    let (sort, states) = (asked.sort()?, asked.states()?);
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let is_wanted = |task: &&Task| {
        let stands = |state: &&str| is_of_state(then, task, state);
        let node = asked.node.as_deref().filter(|node| !node.is_empty());
        (states.is_empty() || states.iter().any(stands))
            && node.is_none_or(|node| task.node.as_deref() == Some(node))
            && (wanted.is_empty() || contains(task, &wanted))
    };
    let mut found: Vec<&Task> = then.session.tasks.iter().filter(is_wanted).collect();
    found.sort_by(|one, other| ordered(one, other, sort, now_nanos));
    if asked.order.as_deref() == Some("desc") {
        found.reverse();
    }
    let offset = asked.offset.unwrap_or(0);
    let limit = asked.limit.unwrap_or(USUAL_TASK_ROWS).min(MAX_TASK_ROWS);
    let tasks = found.iter().skip(offset).take(limit).map(|task| row(then, task)).collect();
    Ok(Tasks { total: found.len(), offset, tasks })
}

fn contains(task: &Task, wanted: &str) -> bool {
    let texts = [
        Some(&task.id),
        Some(&task.name),
        task.node.as_ref(),
        task.executable.as_ref(),
        task.error_type.as_ref(),
        task.error_message.as_ref(),
    ];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(wanted))
}

fn ordered(one: &Task, other: &Task, sort: Sort, now_nanos: u64) -> Ordering {
    let by_number = |of: fn(&Task, u64) -> Option<f64>| {
        let number = |task: &Task| of(task, now_nanos).unwrap_or(f64::NEG_INFINITY);
        number(one).total_cmp(&number(other))
    };
    let by = match sort {
        Sort::Started => {
            let start = |task: &Task| task.started_nanos.or(task.first_nanos());
            start(one).cmp(&start(other))
        }
        Sort::Duration => by_number(seconds),
        Sort::Wait => by_number(wait_seconds),
        Sort::Name => one.label().cmp(other.label()),
        Sort::Node => one.node.cmp(&other.node),
        Sort::Status => one.status.cmp(&other.status),
        Sort::Id => Ordering::Equal,
    };
    by.then_with(|| (one.id.len(), &one.id).cmp(&(other.id.len(), &other.id)))
}

fn seconds(task: &Task, now_nanos: u64) -> Option<f64> {
    let end = task.ended_nanos.unwrap_or(now_nanos);
    Some(end.saturating_sub(task.started_nanos?) as f64 / 1e9)
}

fn wait_seconds(task: &Task, now_nanos: u64) -> Option<f64> {
    let from = task.submitted_nanos.or(task.queued_nanos).or(task.created_nanos)?;
    let to = task.started_nanos.or(task.ended_nanos).unwrap_or(now_nanos);
    Some(to.saturating_sub(from) as f64 / 1e9)
}

fn row(then: &Then<'_>, task: &Task) -> Row {
    let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
    let millis = |nanos: Option<u64>| nanos.map(times::millis);
    Row {
        id: task.id.to_string(),
        name: task.label().to_owned(),
        status: then.standing(task),
        span_id: hex_id(task),
        backend: text(&task.backend),
        node: text(&task.node),
        executable: text(&task.executable),
        task_type: text(&task.task_type),
        created_ms: millis(task.created_nanos),
        submitted_ms: millis(task.submitted_nanos),
        started_ms: millis(task.started_nanos),
        ended_ms: millis(task.ended_nanos),
        wait_seconds: wait_seconds(task, then.at_nanos),
        seconds: seconds(task, then.at_nanos),
        error_type: text(&task.error_type),
        error_message: text(&task.error_message),
    }
}
