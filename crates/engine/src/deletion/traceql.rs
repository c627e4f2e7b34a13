//! Conditions in TraceQL.

use kymo_store::deletion::Target;
use kymo_store::schema::Signal;
use kymo_traceql::ast::{Body, Query};

use super::by_rows::{self, Found};
use super::{Condition, invalid, is_of_row, within};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::{DELETION_MAX_ROWS, DELETION_MAX_TRACES, DELETION_TRIES};
use crate::traceql::{Search, Sort};

/// The spans that pass a filter.
pub(super) async fn target(
    engine: &Engine,
    tenant: &str,
    condition: &Condition,
) -> Result<Target, EngineError> {
    let query = parse(engine, condition).await?;
    for _ in 0..DELETION_TRIES {
        let Some(tested) = engine.tested_filter(tenant, query.clone()).await? else {
            return Err(invalid(
                "expected one filter, as in { span.user = \"ada\" }: what comes behind it, and what \
                 joins several, chooses traces rather than spans; delete those whole",
            ));
        };
        let signal = Signal::Spans;
        let predicate = within(signal, tested.predicate, condition.time.as_ref());
        if tested.is_exact && is_of_row(signal, &predicate) {
            return Ok(Target { signal, predicate });
        }
        // What is said of traces is looked up once, and the spans that were found are named.
        let wide = match is_of_row(signal, &predicate) {
            true => predicate,
            false => within(
                signal,
                kymo_store::scan::Predicate::And(Vec::new()),
                condition.time.as_ref(),
            ),
        };
        let found = spans(engine, tenant, &query, condition).await?;
        if found.is_too_many() {
            return Err(by_rows::too_many());
        }
        let target = found.target(signal, wide);
        if by_rows::passes(engine, tenant, &target, found.rows).await? {
            return Ok(target);
        }
    }
    Err(by_rows::not_exact())
}

/// The spans that a search finds.
async fn spans(
    engine: &Engine,
    tenant: &str,
    query: &Query,
    condition: &Condition,
) -> Result<Found, EngineError> {
    let search = search(query, condition, DELETION_MAX_ROWS + 1, DELETION_MAX_ROWS + 1);
    let answer = engine.search(tenant, search).await?.all().await?;
    let is_within = |nanos: &i64| condition.time.as_ref().is_none_or(|time| time.contains(nanos));
    let mut found = Found::default();
    for trace in answer.traces {
        found.traces.push(trace.trace_id);
        let spans = trace.span_sets.iter().flat_map(|set| &set.spans);
        for span in spans.filter(|span| is_within(&span.start_nanos)) {
            found.rows += 1;
            found.spans.push(span.span_id);
        }
    }
    Ok(found)
}

/// Traces that a search finds.
pub(super) async fn traces(
    engine: &Engine,
    tenant: &str,
    condition: &Condition,
) -> Result<Vec<[u8; 16]>, EngineError> {
    let query = parse(engine, condition).await?;
    let search = search(&query, condition, DELETION_MAX_TRACES + 1, 1);
    let answer = engine.search(tenant, search).await?.all().await?;
    if answer.traces.len() > DELETION_MAX_TRACES {
        return Err(invalid(format!(
            "more than {DELETION_MAX_TRACES} traces match: choose less time, and delete them bit by bit"
        )));
    }
    Ok(answer.traces.into_iter().map(|trace| trace.trace_id).collect())
}

fn search(query: &Query, condition: &Condition, limit: usize, spans_per_set: usize) -> Search {
    let (query, time) = (query.clone(), condition.time.clone());
    Search { query, time, limit, spans_per_set, sort: Sort::Newest, after: None }
}

async fn parse(engine: &Engine, condition: &Condition) -> Result<Query, EngineError> {
    let text = condition.text.clone();
    // On the engine's threads, whose stacks are large.
    let parsed = engine.blocking(move || kymo_traceql::parse(&text)).await?;
    let query = parsed.map_err(|error| invalid(error.to_string()))?;
    match query.body {
        Body::Spans(_) => Ok(query),
        Body::Metrics(_) => Err(invalid("a query for series chooses no spans: expected a filter")),
    }
}
