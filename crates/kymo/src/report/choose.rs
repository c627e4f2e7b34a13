//! Which sessions and tasks a report is about.

use std::collections::BTreeSet;

use kymo_report::recording::{Origin, Task};
use kymo_report::{Found, Session};

use super::read::Read;
use crate::failure::Failure;
use crate::units;

/// Traces without a session that are reported on without being asked for: a file of many is no
/// recording of a session.
const MAX_TRACES: usize = 8;
/// Names that a message lists.
const MAX_NAMES: usize = 8;

/// The sessions that were asked for, or all.
pub(super) fn sessions(read: Read, wanted: &[String]) -> Result<Vec<Session>, Failure> {
    let Read { mut sessions, found, faults } = read;
    if sessions.is_empty() {
        return Err(Failure::Other(nothing(&found, faults)));
    }
    if !wanted.is_empty() {
        let known: Vec<String> = sessions.iter().map(|session| session.id.to_string()).collect();
        if let Some(unknown) = wanted.iter().find(|id| !known.contains(id)) {
            let known = listed(known.into_iter());
            return Err(Failure::Other(format!("there is no session {unknown}: there is {known}")));
        }
        sessions.retain(|session| wanted.iter().any(|id| **id == *session.id));
        return Ok(sessions);
    }
    let are_traces = sessions.iter().all(|session| session.origin != Origin::SessionId);
    if are_traces && sessions.len() > MAX_TRACES {
        let count = units::count(sessions.len() as u64);
        sessions.sort_by_key(|session| std::cmp::Reverse(session.spans));
        let ids = listed(sessions.iter().map(|session| session.id.to_string()));
        return Err(Failure::Other(format!(
            "there is no session, but {count} traces: choose some with --session TRACE_ID, of the \
             largest {ids}"
        )));
    }
    Ok(sessions)
}

/// What there is instead of a session, and what makes one.
fn nothing(found: &Found, faults: u64) -> String {
    let makes = "a session is what has a resource attribute session_id, or a trace with task_id on \
                 its spans or with a single root";
    let Found { spans, records, points, traces, services } = found;
    if spans + records + points == 0 {
        return match faults {
            0 => format!("there is no session, since there is nothing at all: {makes}"),
            _ => format!("there is no session in what could be read: {makes}"),
        };
    }
    let from =
        if services.is_empty() { String::new() } else { format!(" from {}", services.join(", ")) };
    format!(
        "there is no session, but {} spans in {} traces, {} log records and {} points of metrics\
         {from}: {makes}",
        units::count(*spans),
        units::count(*traces),
        units::count(*records),
        units::count(*points)
    )
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Keeps the tasks that were asked for.
pub(super) fn tasks(
    sessions: &mut [Session],
    task_types: &[String],
    executables: &[String],
) -> Result<(), Failure> {
    type Field = fn(&Task) -> Option<&str>;
    let filters: [(&str, &[String], Field); 2] = [
        ("--task-type", task_types, |task| task.task_type.as_deref()),
        ("--executable", executables, |task| task.executable.as_deref()),
    ];
    for (flag, wanted, field) in filters {
        if wanted.is_empty() {
            continue;
        }
        let is_wanted =
            |task: &Task| field(task).is_some_and(|value| wanted.iter().any(|w| w == value));
        if !sessions.iter().flat_map(|session| &session.tasks).any(is_wanted) {
            let values = sessions.iter().flat_map(|session| &session.tasks).filter_map(field);
            let values: BTreeSet<&str> = values.collect();
            let known = match values.is_empty() {
                true => "no task says so of itself".to_owned(),
                false => format!("there is {}", listed(values.into_iter().map(str::to_owned))),
            };
            let wanted = wanted.join(", ");
            return Err(Failure::Other(format!("no task has {flag} {wanted}: {known}")));
        }
        for session in sessions.iter_mut() {
            session.tasks.retain(is_wanted);
            // They count all tasks.
            session.counters.clear();
        }
    }
    Ok(())
}
