//! One session with all that is shown of it.

use futures::try_join;
use serde::Serialize;
use serde_json::Value;

use super::asked::{Asked, Failed};
use super::find::{self, One};
use super::sql::{self, Which};
use super::summary::Session;
use super::tasks::{Attributes, Task, Tasks, attributes_of};
use crate::limits::{DEFAULT_SESSION_ROWS, ROWS_PER_TASK};
use crate::router::Shared;
use crate::times::rfc3339_text;
use kymo_engine::table::Table;

/// A session, its tasks and what else it told.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    session: Whole,
    tasks: Vec<Task>,
    resources: Vec<Update>,
    events: Vec<Event>,
    open_spans: Vec<OpenSpan>,
    truncated: Truncated,
}

/// A session with its resource.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Whole {
    #[serde(flatten)]
    pub(super) session: Session,
    resource: Attributes,
}

/// A resource update.
#[derive(Debug, PartialEq, Serialize)]
struct Update {
    time: String,
    #[serde(flatten)]
    fields: Attributes,
}

/// An event of the program's own.
#[derive(Debug, PartialEq, Serialize)]
struct Event {
    time: String,
    name: String,
    task_id: Option<Value>,
    span_id: Option<String>,
    attributes: Attributes,
}

/// A span that has begun and not arrived.
#[derive(Debug, Serialize)]
struct OpenSpan {
    span_id: String,
    parent_span_id: Option<String>,
    name: String,
    started: String,
}

/// Which lists have more than is shown.
#[derive(Debug, Default, Serialize)]
struct Truncated {
    tasks: bool,
    resources: bool,
    events: bool,
    open_spans: bool,
}

/// The document of a session.
pub(super) async fn of(shared: &Shared, asked: &Asked, id: &str) -> Result<Document, Failed> {
    let One { session, which } = find::one(shared, asked, id).await?;
    let state = session.state;
    let ask =
        |query: String| async move { Table::ask(&shared.engine, &asked.tenants, &query).await };
    // One more than is shown says whether there are more.
    let (tasks, updates, events, open) = try_join!(
        ask(which.tasks(asked.tasks + 1)),
        ask(which.resources(asked.resources + 1)),
        ask(which.events(asked.events + 1)),
        ask(which.open_spans(DEFAULT_SESSION_ROWS + 1)),
    )?;
    let session = whole(shared, asked, &which, session).await?;
    let (mut tasks, has_more_tasks) = Tasks::of(&tasks, asked.tasks)?;
    let names = tasks.names().to_vec();
    for names in sql::portions(&names) {
        let limit = names.len() * ROWS_PER_TASK;
        let (of_logs, of_spans) =
            try_join!(ask(which.task_events(names, limit)), ask(which.task_spans(names, limit)),)?;
        tasks = in_background(shared, move || {
            tasks.add_events(&of_logs)?;
            tasks.add_spans(&of_spans)?;
            Ok(tasks)
        })
        .await?;
        if tasks.lack_steps(names) {
            tasks.add_steps(&ask(which.task_steps(names, limit)).await?)?;
        }
    }
    let truncated = Truncated {
        tasks: has_more_tasks,
        resources: updates.len() > asked.resources,
        events: events.len() > asked.events,
        open_spans: open.len() > DEFAULT_SESSION_ROWS,
    };
    let (most_updates, most_events) = (asked.resources, asked.events);
    in_background(shared, move || {
        Ok(Document {
            session,
            tasks: tasks.finish(state),
            resources: updates_of(&updates, most_updates)?,
            events: events_of(&events, most_events)?,
            open_spans: open_spans_of(&open, DEFAULT_SESSION_ROWS)?,
            truncated,
        })
    })
    .await
}

/// Reads attributes of thousands of rows where it delays no acknowledgement.
async fn in_background<T: Send + 'static>(
    shared: &Shared,
    work: impl FnOnce() -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    shared.engine.blocking(work).await?
}

/// A session with the resource of its first record.
pub(super) async fn whole(
    shared: &Shared,
    asked: &Asked,
    which: &Which,
    session: Session,
) -> Result<Whole, Failed> {
    for table in ["logs", "spans", "points"] {
        let found = Table::ask(&shared.engine, &asked.tenants, &which.resource(table)).await?;
        if !found.is_empty() {
            let text = found.texts("resource")?.into_iter().flatten().next();
            return Ok(Whole { session, resource: attributes_of(text.as_deref()) });
        }
    }
    Ok(Whole { session, resource: Attributes::new() })
}

fn updates_of(table: &Table, limit: usize) -> Result<Vec<Update>, Failed> {
    let (times, attributes) = (table.integers("time")?, table.texts("attributes")?);
    let rows = times.into_iter().zip(attributes).take(limit);
    let mut updates: Vec<Update> = rows
        .map(|(time, attributes)| Update {
            time: rfc3339_text(time.unwrap_or(0)),
            fields: attributes_of(attributes.as_deref()),
        })
        .collect();
    updates.reverse();
    // What was replayed beside what was sent live is here twice.
    updates.dedup();
    Ok(updates)
}

fn events_of(table: &Table, limit: usize) -> Result<Vec<Event>, Failed> {
    let (times, names) = (table.integers("time")?, table.texts("event_name")?);
    let (spans, attributes) = (table.texts("span_id")?, table.texts("attributes")?);
    let mut events = Vec::new();
    for nth in 0..times.len().min(limit) {
        let mut attributes = attributes_of(attributes[nth].as_deref());
        events.push(Event {
            time: rfc3339_text(times[nth].unwrap_or(0)),
            name: names[nth].clone().unwrap_or_default(),
            task_id: attributes.remove("task_id"),
            span_id: spans[nth].clone(),
            attributes,
        });
    }
    events.reverse();
    events.dedup();
    Ok(events)
}

fn open_spans_of(table: &Table, limit: usize) -> Result<Vec<OpenSpan>, Failed> {
    let (ids, parents) = (table.texts("span_id")?, table.texts("parent")?);
    let (names, times) = (table.texts("name")?, table.integers("time")?);
    let spans = (0..times.len().min(limit)).map(|nth| OpenSpan {
        span_id: ids[nth].clone().unwrap_or_default(),
        parent_span_id: parents[nth].clone(),
        name: names[nth].clone().unwrap_or_default(),
        started: rfc3339_text(times[nth].unwrap_or(0)),
    });
    Ok(spans.collect())
}
