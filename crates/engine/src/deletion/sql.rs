//! Conditions in SQL: what stands behind `WHERE`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use kymo_store::deletion::Target;
use kymo_store::scan::{ColumnRef, Predicate, value_types};
use kymo_store::schema::Signal;

use super::by_rows::{self, Found};
use super::{Condition, all_of, invalid, is_of_row, within};
use crate::asked::Asked;
use crate::clock::{Asker, Clock};
use crate::engine::{Core, Engine};
use crate::error::EngineError;
use crate::limits::{DELETION_MAX_ROWS, DELETION_MAX_TRACES, DELETION_TRIES};
use crate::running::Question;
use crate::scan::translate::{Pushed, translate, translate_plainly};
use crate::session::NamedTable;
use crate::sql::{self, Parsed};
use crate::state::QueryState;
use crate::tables::{QueryTable, TableName, TableShape};
use crate::tenants::Tenants;

/// What the store tests of a condition.
struct Tested {
    /// What all rows pass that are meant.
    wide: Predicate,
    /// What just these pass, but for rows that have a key twice; `None` if that cannot be said.
    narrow: Option<Predicate>,
    /// Whether the condition names no attribute, so that `narrow` is exact.
    is_fixed: bool,
}

/// The rows of a signal that fulfil a condition.
pub(super) async fn target(
    engine: &Engine,
    tenant: &str,
    signal: Signal,
    condition: &Condition,
) -> Result<Target, EngineError> {
    let table = table_of(signal);
    check_whole(engine, table, condition).await?;
    for _ in 0..DELETION_TRIES {
        let tested = tested(engine, tenant, table, condition).await?;
        if signal == Signal::Series {
            return of_series(tested, condition);
        }
        let time = condition.time.as_ref();
        let narrow = tested.narrow.map(|narrow| within(signal, narrow, time));
        let narrow = narrow.filter(|narrow| is_of_row(signal, narrow));
        if let (Some(predicate), true) = (&narrow, tested.is_fixed) {
            return Ok(Target { signal, predicate: predicate.clone() });
        }
        let rows = count(engine, tenant, table, condition).await?;
        if let Some(predicate) = narrow {
            let target = Target { signal, predicate };
            if by_rows::passes(engine, tenant, &target, rows).await? {
                return Ok(target);
            }
        }
        let wide = match is_of_row(signal, &tested.wide) {
            true => within(signal, tested.wide, time),
            false => within(signal, Predicate::And(Vec::new()), time),
        };
        let found = Found { rows, ..rows_of(engine, tenant, table, condition).await? };
        if found.is_too_many() {
            return Err(by_rows::too_many());
        }
        let target = found.target(signal, wide);
        if by_rows::passes(engine, tenant, &target, rows).await? {
            return Ok(target);
        }
    }
    Err(by_rows::not_exact())
}

/// Series have many points in a row, which go together.
fn of_series(tested: Tested, condition: &Condition) -> Result<Target, EngineError> {
    let by_labels = "metrics are deleted by series: compare name, type, unit, labels \
                     (\"label.…\") and resource (\"resource.…\") with constants";
    if condition.time.is_some() {
        return Err(invalid(format!("{by_labels}; a time cannot be chosen")));
    }
    match tested.narrow {
        Some(predicate) => Ok(Target { signal: Signal::Series, predicate }),
        None => Err(invalid(format!("{by_labels}; not their time or value"))),
    }
}

/// Traces with a row that fulfils a condition.
pub(super) async fn traces(
    engine: &Engine,
    tenant: &str,
    condition: &Condition,
) -> Result<Vec<[u8; 16]>, EngineError> {
    let signal = match condition.signals.contains(&Signal::Spans) {
        true => Signal::Spans,
        false => Signal::Logs,
    };
    check_whole(engine, table_of(signal), condition).await?;
    let filter = filter(table_of(signal), condition);
    let most = DELETION_MAX_TRACES + 1;
    let query =
        format!("SELECT DISTINCT trace_id FROM {filter} AND trace_id IS NOT NULL LIMIT {most}");
    let mut ids = Vec::new();
    for batch in answer(engine, tenant, &query).await? {
        ids.extend(ids_of::<16>(&batch, 0));
    }
    if ids.len() > DELETION_MAX_TRACES {
        return Err(invalid(format!(
            "more than {DELETION_MAX_TRACES} traces match: choose less time, and delete them bit by bit"
        )));
    }
    Ok(ids)
}

fn table_of(signal: Signal) -> TableName {
    match signal {
        Signal::Spans => TableName::Spans,
        Signal::Logs => TableName::Logs,
        Signal::Series => TableName::Points,
    }
}

/// Refuses a condition that closes the parentheses it is put into, as `true) OR (false` does: what is
/// said of time beside it would not hold for all of it.
async fn check_whole(
    engine: &Engine,
    table: TableName,
    condition: &Condition,
) -> Result<(), EngineError> {
    let query = format!("SELECT 1 FROM {} WHERE\n{}\n", table.name(), condition.text);
    // On the engine's threads, whose stacks are large.
    engine.blocking(move || sql::parse(&Asked::from(query.as_str())).map(drop)).await?
}

/// A table and a condition, as a query has them. A comment at its end goes no further.
fn filter(table: TableName, condition: &Condition) -> String {
    let mut filter = format!("{} WHERE (\n{}\n)", table.name(), condition.text);
    let column = if table == TableName::Spans { "start_time" } else { "time" };
    let time = condition.time.clone().unwrap_or(i64::MIN..i64::MAX);
    if time.start != i64::MIN {
        filter.push_str(&format!(" AND {column} >= to_timestamp_nanos({})", time.start));
    }
    if time.end != i64::MAX {
        filter.push_str(&format!(" AND {column} < to_timestamp_nanos({})", time.end));
    }
    filter
}

async fn answer(
    engine: &Engine,
    tenant: &str,
    query: &str,
) -> Result<Vec<RecordBatch>, EngineError> {
    let mut rows = engine.sql(tenant, query).await?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        batches.push(batch?);
    }
    Ok(batches)
}

async fn count(
    engine: &Engine,
    tenant: &str,
    table: TableName,
    condition: &Condition,
) -> Result<u64, EngineError> {
    let query = format!("SELECT count(*) FROM {}", filter(table, condition));
    let batches = answer(engine, tenant, &query).await?;
    let counted = batches.iter().filter(|batch| batch.num_rows() == 1).find_map(|batch| {
        batch.column(0).as_primitive_opt::<Int64Type>().map(|counts| counts.value(0))
    });
    counted
        .and_then(|rows| u64::try_from(rows).ok())
        .ok_or_else(|| EngineError::Internal("a count is not a number".to_owned()))
}

/// What names the rows that match: ids of spans, times of log records.
async fn rows_of(
    engine: &Engine,
    tenant: &str,
    table: TableName,
    condition: &Condition,
) -> Result<Found, EngineError> {
    let (filter, most) = (filter(table, condition), DELETION_MAX_ROWS + 1);
    let mut found = Found::default();
    if table == TableName::Logs {
        let query = format!("SELECT DISTINCT time FROM {filter} LIMIT {most}");
        for batch in answer(engine, tenant, &query).await? {
            if let Some(times) = batch.column(0).as_primitive_opt::<TimestampNanosecondType>() {
                found.times.extend(times.iter().flatten());
            }
        }
        return Ok(found);
    }
    let query = format!("SELECT DISTINCT trace_id, span_id FROM {filter} LIMIT {most}");
    for batch in answer(engine, tenant, &query).await? {
        found.traces.extend(ids_of::<16>(&batch, 0));
        found.spans.extend(ids_of::<8>(&batch, 1));
    }
    found.traces = BTreeSet::from_iter(found.traces).into_iter().collect();
    Ok(found)
}

fn ids_of<const N: usize>(batch: &RecordBatch, column: usize) -> Vec<[u8; N]> {
    let Some(ids) = batch.column(column).as_fixed_size_binary_opt() else { return Vec::new() };
    (0..ids.len()).filter_map(|row| <[u8; N]>::try_from(ids.value(row)).ok()).collect()
}

/// What the store tests of a condition, by the plan of a query that has it.
async fn tested(
    engine: &Engine,
    tenant: &str,
    table: TableName,
    condition: &Condition,
) -> Result<Tested, EngineError> {
    let query = format!("SELECT 1 FROM {} WHERE (\n{}\n)", table.name(), condition.text);
    let core = engine.core().clone();
    let tenants = Tenants::from(tenant);
    let mut asker = Asker::new(engine.counters());
    let mut turn = core.queries.turn(tenants.line()).await?;
    let clock = asker.starts(core.options.query_timeout);
    turn.note(core.register.note(Question::new("sql", &query), &tenants, &clock));
    let of_look = clock.clone();
    let looking = move || {
        let _turn = turn;
        let parsed = sql::parse(&Asked::from(query.as_str()))?;
        look(&core, &tenants, table, parsed, &of_look)
    };
    let looked = engine.runtime().blocking_within(&clock, looking).await;
    asker.answered(&looked);
    looked
}

fn look(
    core: &Arc<Core>,
    tenants: &Tenants,
    table: TableName,
    parsed: Parsed,
    clock: &Arc<Clock>,
) -> Result<Tested, EngineError> {
    if parsed.tables != BTreeSet::from([table]) {
        return Err(one_expression(table));
    }
    let memory = core.query_memory();
    let state = Arc::new(QueryState::new(memory, clock, &core.counters, true));
    let reading = &core.reading;
    let snapshot = Arc::new(reading.store.snapshot_of(tenants.names(), table.signal())?);
    let provider =
        Arc::new(QueryTable::new(table, &snapshot, &parsed.attributes, reading, &state)?);
    let named: NamedTable = (table.name(), provider.clone());
    let sessions = &core.sessions;
    let session = sessions.session(vec![named], None, Vec::new(), state.memory().clone());
    let planned = session.and_then(|session| {
        let context = SessionContext::new_with_state(session);
        let session = context.state();
        let planning = session.statement_to_plan(parsed.statement.clone());
        let logical = tokio::runtime::Handle::current().block_on(planning)?;
        session.optimize(&logical)
    });
    let plan = planned.map_err(|error| EngineError::of(error, &state))?;
    let Some(filters) = filters_of(&plan).ok_or_else(|| one_expression(table))? else {
        let never = Predicate::Or(Vec::new());
        return Ok(Tested { wide: never.clone(), narrow: Some(never), is_fixed: true });
    };
    let shape = provider.shape();
    let filters: Vec<&Expr> = filters.iter().flat_map(split_conjunction).collect();
    let (pushed, _) = translate(shape, &filters);
    let wide = predicate_of(table.signal(), pushed).unwrap_or(Predicate::And(Vec::new()));
    let attributes = attributes_of(shape, &filters);
    let mut is_plain = true;
    let sources = match attributes.is_empty() {
        true => Vec::new(),
        false => reading.store.sources(&snapshot, None)?,
    };
    for column in &attributes {
        let cache = reading.store.column_cache();
        is_plain &= value_types(&sources, table.signal(), column, None, cache)?.len() <= 1;
    }
    let (pushed, left) = translate_plainly(shape, &filters);
    let is_whole = is_plain && left.is_empty();
    let narrow = is_whole.then(|| predicate_of(table.signal(), pushed)).flatten();
    Ok(Tested { wide, narrow, is_fixed: attributes.is_empty() })
}

fn one_expression(table: TableName) -> EngineError {
    invalid(format!(
        "expected one condition on rows of {}, as behind WHERE: no other table, subquery or function \
         of several rows",
        table.name()
    ))
}

/// The filters of a plan that is a scan and nothing else: `Some(None)` if no row passes, `None` if it
/// is something else.
#[allow(clippy::option_option, reason = "two ways to have no filters, that mean opposite things")]
fn filters_of(plan: &LogicalPlan) -> Option<Option<Vec<Expr>>> {
    match plan {
        LogicalPlan::Projection(projection) => filters_of(&projection.input),
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() => Some(Some(scan.filters.clone())),
        LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row => Some(None),
        _ => None,
    }
}

/// What was pushed as one predicate; `None` for a time of points, which is not of their rows.
fn predicate_of(signal: Signal, pushed: Pushed) -> Option<Predicate> {
    if signal == Signal::Series && pushed.time.is_some() {
        return None;
    }
    let predicate = all_of(pushed.predicate);
    Some(within(signal, predicate, pushed.time.as_ref()))
}

/// Attributes that filters name.
fn attributes_of(shape: &TableShape, filters: &[&Expr]) -> Vec<ColumnRef> {
    let named = filters.iter().flat_map(|filter| filter.column_refs());
    let places = named.filter_map(|column| shape.schema.index_of(column.name()).ok());
    let columns = places.filter_map(|place| shape.columns[place].stored());
    columns.filter(|column| matches!(column, ColumnRef::Attribute { .. })).cloned().collect()
}
