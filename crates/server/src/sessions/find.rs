//! Finding sessions: those of some time, or one by its name.

use std::collections::BTreeMap;
use std::ops::Range;

use futures::try_join;
use kymo_engine::EngineError;
use serde::Serialize;

use super::asked::{Asked, Failed};
use super::sql::Which;
use super::summary::{Counts, Records, Seen, Session, TaskCounts};
use crate::limits::{
    MAX_SESSIONS, SESSION_ID_MAX_BYTES, SESSION_RECORDS_BY_ID, SESSIONS_LOOKBACK, SESSIONS_REACH,
};
use crate::router::Shared;
use crate::times::rfc3339_text;
use kymo_engine::table::Table;

/// Sessions by their names.
type Found = BTreeMap<String, Seen>;

/// The answer to a question for sessions.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    sessions: Vec<Session>,
    /// The time in which there was something of them.
    range: RangeText,
    /// Whether there were more.
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct RangeText {
    since: String,
    until: String,
}

/// Sessions of some time, the newest first.
pub(super) async fn list(shared: &Shared, asked: &Asked) -> Result<Listing, Failed> {
    let range = asked.range();
    let mut found = seen(shared, asked, range.clone(), Vec::new()).await?;
    complete(shared, asked, &range, &mut found).await?;
    let mut sessions: Vec<(String, Seen)> = found.into_iter().collect();
    sessions
        .retain(|(_, seen)| asked.state.is_none_or(|state| seen.state(asked.moment()) == state));
    sessions.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.began()));
    let truncated = sessions.len() > asked.limit;
    sessions.truncate(asked.limit);
    // All that was seen of them lies behind the first beginning.
    let since = sessions.iter().filter_map(|(_, seen)| seen.began()).min();
    let from = since.map_or(range.start, |since| since.min(range.start));
    let which =
        Which { range: from..range.end, ids: sessions.iter().map(|(id, _)| id.clone()).collect() };
    let mut counts = counts(shared, asked, &which).await?;
    let shown = sessions.into_iter().map(|(id, seen)| {
        let counts = counts.remove(&id).unwrap_or_default();
        Session::new(id, seen, counts, asked.moment())
    });
    let range = RangeText {
        since: rfc3339_text(range.start),
        until: rfc3339_text(asked.until.unwrap_or(asked.now)),
    };
    Ok(Listing { sessions: shown.collect(), range, truncated })
}

/// How many sessions of some time are in the state that is asked for. It is asked again and again:
/// neither are their tasks counted, nor is their beginning looked for, which says nothing of it.
pub(super) async fn count(shared: &Shared, asked: &Asked) -> Result<usize, Failed> {
    let found = seen(shared, asked, asked.range(), Vec::new()).await?;
    let is_meant = |seen: &&Seen| asked.state.is_none_or(|of| seen.state(asked.moment()) == of);
    Ok(found.values().filter(is_meant).count())
}

/// A session, and the time in which there is something of it.
pub(super) struct One {
    pub(super) session: Session,
    pub(super) which: Which,
}

/// One session by its name; it is looked for in the last day first, and then everywhere.
pub(super) async fn one(shared: &Shared, asked: &Asked, id: &str) -> Result<One, Failed> {
    let all = asked.any_range();
    let day = asked.now.saturating_sub(SESSIONS_LOOKBACK.as_nanos() as i64);
    let recent = all.start.max(day)..all.end;
    let ids = || vec![id.to_owned()];
    let mut range = recent.clone();
    let mut found = seen(shared, asked, recent, ids()).await?;
    let is_whole = found.get(id).is_some_and(|seen| seen.started.is_some());
    if !is_whole && all.start < range.start {
        range = all;
        found = seen(shared, asked, range.clone(), ids()).await?;
    }
    let Some(seen) = found.remove(id) else { return Err(Failed::Unknown(id.to_owned())) };
    let from = seen.began().map_or(range.start, |began| began.min(range.start));
    let which = Which { range: from..range.end, ids: ids() };
    let counts = counts(shared, asked, &which).await?.remove(id).unwrap_or_default();
    let session = Session::new(id.to_owned(), seen, counts, asked.moment());
    Ok(One { session, which })
}

/// Looks further back for the beginning of sessions that began before.
async fn complete(
    shared: &Shared,
    asked: &Asked,
    range: &Range<i64>,
    found: &mut Found,
) -> Result<(), Failed> {
    let mut begun_before: Vec<(&String, &Seen)> =
        found.iter().filter(|(_, seen)| seen.started.is_none()).collect();
    if begun_before.is_empty() || range.start <= 0 {
        return Ok(());
    }
    // No more than can be shown, those that were heard of last.
    begun_before.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.last));
    let ids = begun_before.into_iter().take(MAX_SESSIONS).map(|(id, _)| id.clone()).collect();
    let reach = i64::try_from(SESSIONS_REACH.as_nanos()).unwrap_or(i64::MAX);
    let before = range.start.saturating_sub(reach).max(0)..range.start;
    for (id, seen) in seen(shared, asked, before, ids).await? {
        found.entry(id).or_default().join(seen);
    }
    Ok(())
}

/// What all kinds of records of a time say of sessions.
async fn seen(
    shared: &Shared,
    asked: &Asked,
    range: Range<i64>,
    ids: Vec<String>,
) -> Result<Found, Failed> {
    let which = Which { range, ids };
    let (in_logs, in_spans, in_points) = (which.in_logs(), which.in_spans(), which.in_points());
    let in_session_spans = which.in_session_spans();
    let (logs, session_spans, spans, points) = try_join!(
        Table::ask(&shared.engine, &asked.tenants, &in_logs),
        Table::ask(&shared.engine, &asked.tenants, &in_session_spans),
        Table::ask(&shared.engine, &asked.tenants, &in_spans),
        Table::ask(&shared.engine, &asked.tenants, &in_points),
    )?;
    let mut found = Found::new();
    for table in [logs, session_spans, spans, points] {
        for (id, seen) in read(&table)? {
            found.entry(id).or_default().join(seen);
        }
    }
    Ok(found)
}

/// What a table says of sessions; none has all columns.
fn read(table: &Table) -> Result<Vec<(String, Seen)>, Failed> {
    let texts = |name: &str| match table.has(name) {
        true => table.texts(name).map(Vec::into_iter),
        false => Ok(vec![None; table.len()].into_iter()),
    };
    let times = |name: &str| match table.has(name) {
        true => table.integers(name).map(Vec::into_iter),
        false => Ok(vec![None; table.len()].into_iter()),
    };
    let (mut names, mut services, mut hosts) = (texts("name")?, texts("service")?, texts("host")?);
    let (mut traces, mut any_traces) = (texts("trace_id")?, texts("any_trace_id")?);
    let (mut firsts, mut lasts) = (times("first")?, times("last")?);
    let (mut started, mut restarted) = (times("started")?, times("restarted")?);
    let mut opened = texts("opened")?;
    let (mut ended, mut seems_ended) = (times("ended")?, times("seems_ended")?);
    let rows = table.ids("id")?.into_iter().map(|id| {
        let seen = Seen {
            name: names.next().flatten(),
            service: services.next().flatten(),
            host: hosts.next().flatten(),
            trace_id: traces.next().flatten(),
            any_trace_id: any_traces.next().flatten(),
            first: firsts.next().flatten(),
            last: lasts.next().flatten(),
            started: started.next().flatten(),
            restarted: restarted.next().flatten(),
            opened: opened.next().flatten(),
            ended: ended.next().flatten(),
            seems_ended: seems_ended.next().flatten(),
        };
        id.map(|id| (id, seen))
    });
    let is_name = |id: &str| (1..=SESSION_ID_MAX_BYTES).contains(&id.len());
    // All rows are read to their end, since columns are read beside one another.
    let rows: Vec<Option<(String, Seen)>> = rows.collect();
    Ok(rows.into_iter().flatten().filter(|(id, _)| is_name(id)).collect())
}

/// Tasks and spans of some sessions: counted by their ids, but for those of sessions that have more
/// than a query can hold. Of these, records are counted.
async fn counts(
    shared: &Shared,
    asked: &Asked,
    which: &Which,
) -> Result<BTreeMap<String, Counts>, Failed> {
    if which.ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let records = records(shared, asked, which).await?;
    let ids = counted_by_id(&records);
    let mut counted: BTreeMap<String, Counts> =
        records.into_iter().map(|(id, records)| (id, records.counts())).collect();
    if ids.is_empty() {
        return Ok(counted);
    }
    let which = Which { range: which.range.clone(), ids };
    match by_id(shared, asked, &which).await {
        Ok(exact) => counted.extend(exact),
        // Long ids, or little memory.
        Err(Failed::Engine(EngineError::Memory { .. })) => {}
        Err(failed) => return Err(failed),
    }
    Ok(counted)
}

/// Sessions whose tasks and spans are counted by their ids: the smallest, as long as there is room.
fn counted_by_id(records: &BTreeMap<String, Records>) -> Vec<String> {
    let mut all: Vec<(i64, &String)> =
        records.iter().map(|(id, records)| (records.number(), id)).collect();
    all.sort_unstable();
    let mut room = SESSION_RECORDS_BY_ID;
    let fits = |(number, _): &(i64, &String)| {
        room -= number;
        room >= 0
    };
    all.into_iter().take_while(fits).map(|(_, id)| id.clone()).collect()
}

/// Records of some sessions. What this holds grows with sessions, not with what they have.
async fn records(
    shared: &Shared,
    asked: &Asked,
    which: &Which,
) -> Result<BTreeMap<String, Records>, Failed> {
    let (of_tasks, of_spans) = (which.task_records(), which.span_records());
    let (tasks, spans) = try_join!(
        Table::ask(&shared.engine, &asked.tenants, &of_tasks),
        Table::ask(&shared.engine, &asked.tenants, &of_spans),
    )?;
    let mut found: BTreeMap<String, Records> = BTreeMap::new();
    let (are_spans, told) = (numbers(&tasks, "of_span")?, numbers(&tasks, "told")?);
    let counts = numbers(&tasks, "records")?;
    for (nth, id) in tasks.texts("id")?.into_iter().enumerate() {
        let records = found.entry(id.unwrap_or_default()).or_default();
        let of = if are_spans[nth] == 0 { &mut records.events } else { &mut records.task_spans };
        *of.entry(told[nth]).or_default() += counts[nth];
    }
    let (of_spans, errors) = (numbers(&spans, "spans")?, numbers(&spans, "errors")?);
    for (nth, id) in spans.texts("id")?.into_iter().enumerate() {
        let records = found.entry(id.unwrap_or_default()).or_default();
        records.spans += of_spans[nth];
        records.errors += errors[nth];
    }
    Ok(found)
}

/// A column of counts.
fn numbers(table: &Table, name: &str) -> Result<Vec<i64>, Failed> {
    Ok(table.integers(name)?.into_iter().map(Option::unwrap_or_default).collect())
}

/// Tasks and spans of some sessions by their ids: what came twice counts once.
async fn by_id(
    shared: &Shared,
    asked: &Asked,
    which: &Which,
) -> Result<BTreeMap<String, Counts>, Failed> {
    let mut counted: BTreeMap<String, Counts> = BTreeMap::new();
    let (of_tasks, of_spans) = (which.task_counts(), which.span_counts());
    let (tasks, spans) = try_join!(
        Table::ask(&shared.engine, &asked.tenants, &of_tasks),
        Table::ask(&shared.engine, &asked.tenants, &of_spans),
    )?;
    let names = ["created", "submitted", "running", "completed", "failed", "canceled"];
    let columns = names.map(|name| numbers(&tasks, name));
    let [created, submitted, running, completed, failed, canceled] = columns;
    let (created, submitted, running) = (created?, submitted?, running?);
    let (completed, failed, canceled) = (completed?, failed?, canceled?);
    for (nth, id) in tasks.texts("id")?.into_iter().enumerate() {
        let tasks = TaskCounts {
            created: created[nth],
            submitted: submitted[nth],
            running: running[nth],
            completed: completed[nth],
            failed: failed[nth],
            canceled: canceled[nth],
            unfinished: 0,
        };
        counted.entry(id.unwrap_or_default()).or_default().tasks = tasks;
    }
    let (of_spans, errors) = (numbers(&spans, "spans")?, numbers(&spans, "errors")?);
    for (nth, id) in spans.texts("id")?.into_iter().enumerate() {
        let counts = counted.entry(id.unwrap_or_default()).or_default();
        (counts.spans, counts.errors) = (of_spans[nth], errors[nth]);
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sessions_are_counted_by_records() {
        let of = |spans| Records { spans, ..Records::default() };
        let sessions = |sizes: &[(&str, i64)]| -> BTreeMap<String, Records> {
            sizes.iter().map(|(id, spans)| ((*id).to_owned(), of(*spans))).collect()
        };
        let most = SESSION_RECORDS_BY_ID;
        let few = sessions(&[("a", most - 2), ("b", 1), ("c", 1)]);
        assert_eq!(counted_by_id(&few), ["b", "c", "a"]);
        let many = sessions(&[("a", most), ("b", 2), ("c", 1)]);
        assert_eq!(counted_by_id(&many), ["c", "b"]);
        assert!(counted_by_id(&sessions(&[("a", most + 1)])).is_empty());
    }
}
