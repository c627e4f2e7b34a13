//! Conditions of deletions: in SQL or TraceQL, as what the store can test of a row, exactly.
//!
//! ```text
//! condition ─┬─ the store tests just that ──────────────────────────> a predicate
//!            ├─ it tests more ─> rows that match, by id or time, ───> a predicate that names them,
//!            │                   few enough to be named               if no other row passes it
//!            └─ neither ────────────────────────────────────────────> refused
//! ```
//!
//! Promised: no row passes that does not fulfil the condition. A predicate that was not made of the
//! condition alone is held against the answer to a query: it must pass as many rows, and it passes
//! all of them by the way it is made, so it passes no others. What it is not exact about is told: of
//! a row that has a key twice, one value is enough in TraceQL.
//!
//! Metrics are deleted by series: by name, type, unit, labels and resource, never by time or value.

mod by_rows;
mod sql;
mod traceql;

use std::ops::Range;

use kymo_store::deletion::{Affected, Deletion, Order, Target};
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::schema::Signal;
use kymo_store::tables::{logs, spans};

use crate::engine::Engine;
use crate::error::{EngineError, Fault};

/// What a condition is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// What stands behind `WHERE`.
    Sql,
    /// A filter, as in `{ span.user = "ada" }`.
    TraceQl,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::TraceQl => "traceql",
        }
    }

    /// The one that a condition looks like: TraceQL begins with a brace, SQL never does.
    pub fn guess(condition: &str) -> Self {
        let is_filter =
            condition.trim_start().trim_start_matches('(').trim_start().starts_with('{');
        if is_filter { Self::TraceQl } else { Self::Sql }
    }
}

/// What is to be deleted.
#[derive(Debug, Clone)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// In what.
    pub language: Language,
    /// Of which signals.
    pub signals: Vec<Signal>,
    /// Only rows of this time, by their start: nanoseconds since 1970.
    pub time: Option<Range<i64>>,
    /// Whether traces go as a whole of which a row matches.
    pub whole_traces: bool,
}

impl Engine {
    /// The rows that a condition means, for each of its signals.
    pub async fn deletion_targets(
        &self,
        tenant: &str,
        condition: &Condition,
    ) -> Result<Vec<Target>, EngineError> {
        if condition.whole_traces {
            return self.whole_traces(tenant, condition).await;
        }
        let mut targets = Vec::new();
        for signal in &condition.signals {
            targets.push(match condition.language {
                Language::Sql => sql::target(self, tenant, *signal, condition).await?,
                Language::TraceQl if *signal == Signal::Spans => {
                    traceql::target(self, tenant, condition).await?
                }
                Language::TraceQl => {
                    return Err(invalid(
                        "TraceQL is about spans: choose traces, or write the condition in SQL",
                    ));
                }
            });
        }
        Ok(targets)
    }

    async fn whole_traces(
        &self,
        tenant: &str,
        condition: &Condition,
    ) -> Result<Vec<Target>, EngineError> {
        if condition.signals.contains(&Signal::Series) {
            return Err(invalid("metrics belong to no trace: choose traces, logs or both"));
        }
        let ids = match condition.language {
            Language::Sql => sql::traces(self, tenant, condition).await?,
            Language::TraceQl => traceql::traces(self, tenant, condition).await?,
        };
        let values: Vec<Scalar> = ids.into_iter().map(|id| Scalar::Bytes(id.to_vec())).collect();
        let target = |signal: &Signal| {
            let field = match signal {
                Signal::Spans => spans::field::TRACE_ID,
                _ => logs::field::TRACE_ID,
            };
            let (column, values) = (ColumnRef::Field(field), values.clone());
            Target { signal: *signal, predicate: Predicate::In { column, values } }
        };
        Ok(condition.signals.iter().map(target).collect())
    }

    /// What a deletion would remove.
    pub async fn preview_deletion(
        &self,
        tenant: &str,
        targets: &[Target],
    ) -> Result<Vec<Affected>, EngineError> {
        let (core, tenant, targets) = (self.core().clone(), tenant.to_owned(), targets.to_vec());
        let looking = move || Ok(core.reading.store.preview_deletion(&tenant, &targets)?);
        self.runtime().blocking(looking).await
    }

    /// Deletes rows: hides them at once, and lets the store do the rest.
    pub async fn begin_deletion(
        &self,
        tenant: &str,
        order: Order,
    ) -> Result<Deletion, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let hiding = move || Ok(core.reading.store.begin_deletion(&tenant, order)?);
        self.runtime().blocking(hiding).await
    }

    /// The deletions of a tenant, the latest first, at most so many.
    pub async fn deletions(
        &self,
        tenant: &str,
        limit: usize,
    ) -> Result<Vec<Deletion>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let listing = move || Ok(core.reading.store.deletions(&tenant, limit)?);
        self.runtime().blocking(listing).await
    }

    /// A deletion; `None` if there is no such.
    pub async fn deletion(&self, tenant: &str, id: &str) -> Result<Option<Deletion>, EngineError> {
        let (core, tenant, id) = (self.core().clone(), tenant.to_owned(), id.to_owned());
        let reading = move || Ok(core.reading.store.deletion(&tenant, &id)?);
        self.runtime().blocking(reading).await
    }
}

fn invalid(fault: impl Into<Fault>) -> EngineError {
    EngineError::Invalid(fault.into())
}

/// Where the time of a row is.
fn time_field(signal: Signal) -> usize {
    match signal {
        Signal::Spans => spans::field::START_TIME,
        _ => logs::field::TIME,
    }
}

/// All of these.
fn all_of(parts: impl IntoIterator<Item = Predicate>) -> Predicate {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Predicate::And(parts) => all.extend(parts),
            other => all.push(other),
        }
    }
    Predicate::And(all)
}

/// A predicate, of rows of a time only.
fn within(signal: Signal, predicate: Predicate, time: Option<&Range<i64>>) -> Predicate {
    let Some(time) = time else { return predicate };
    let bound = |op, nanos| Predicate::Compare {
        column: ColumnRef::Field(time_field(signal)),
        op,
        value: Scalar::Int(nanos),
    };
    // The ends of time are what is said where no end was.
    let least = (time.start != i64::MIN).then(|| bound(Op::Ge, time.start));
    let most = (time.end != i64::MAX).then(|| bound(Op::Lt, time.end));
    all_of([predicate].into_iter().chain(least).chain(most))
}

/// Whether a predicate can be decided from a row alone: what is said of its trace cannot, where its
/// spans lie in several places.
fn is_of_row(signal: Signal, predicate: &Predicate) -> bool {
    let is_own = |column: &ColumnRef| match (signal, column) {
        (Signal::Spans, ColumnRef::Field(field)) => ![
            spans::field::ROOT_NAME,
            spans::field::ROOT_SERVICE,
            spans::field::TRACE_START_TIME,
            spans::field::TRACE_DURATION,
        ]
        .contains(field),
        _ => true,
    };
    match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter().all(|part| is_of_row(signal, part))
        }
        Predicate::Not(inner) => is_of_row(signal, inner),
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::Match { column, .. }
        | Predicate::Contains { column, .. }
        | Predicate::Exists(column) => is_own(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_begins_with_a_brace_is_traceql() {
        for text in ["{ name = \"x\" }", " {}", "({ a = 1 })"] {
            assert_eq!(Language::guess(text), Language::TraceQl, "{text}");
        }
        for text in ["name = 'x'", "(name = '{')", ""] {
            assert_eq!(Language::guess(text), Language::Sql, "{text}");
        }
    }

    #[test]
    fn what_is_said_of_a_trace_is_not_of_a_row() {
        let is = |field| Predicate::Exists(ColumnRef::Field(field));
        let of_row = |predicate: Predicate| is_of_row(Signal::Spans, &predicate);
        assert!(of_row(Predicate::And(vec![is(spans::field::NAME)])));
        assert!(!of_row(Predicate::Not(Box::new(is(spans::field::ROOT_NAME)))));
        assert!(!of_row(Predicate::Or(vec![is(spans::field::TRACE_DURATION)])));
    }

    #[test]
    fn a_time_without_an_end_has_one_bound() {
        let all = Predicate::And(Vec::new());
        let bounds = |time: Range<i64>| match within(Signal::Logs, all.clone(), Some(&time)) {
            Predicate::And(parts) => parts.len(),
            _ => 0,
        };
        assert_eq!([bounds(1..2), bounds(1..i64::MAX), bounds(i64::MIN..2)], [2, 1, 1]);
    }
}
