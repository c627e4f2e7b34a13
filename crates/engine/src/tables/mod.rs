//! The tables that queries see, and where their columns come from.
//!
//! A table is made for each query: the fixed columns, and of the attributes just those that the
//! query names. Thousands of keys cost nothing, and `*` stays readable.

mod columns;
mod metric;
mod metric_filter;
mod provider;
mod tested;
mod traces;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use kymo_store::scan::{ColumnRef, Elements, Scope};
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::spans;

pub(crate) use columns::{duration_column, time_column};
pub(crate) use metric::{METRIC_PARTS, MetricNames};
pub(crate) use provider::QueryTable;
pub(crate) use traces::TraceColumn;

use crate::error::EngineError;
use crate::state::{QueryState, Reading};
use traces::TracesTable;

/// A table of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TableName {
    Spans,
    Events,
    Links,
    Logs,
    Points,
    /// A row for each trace, made of its spans.
    Traces,
}

impl TableName {
    pub(crate) const ALL: [Self; 6] =
        [Self::Spans, Self::Events, Self::Links, Self::Logs, Self::Points, Self::Traces];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Events => "events",
            Self::Links => "links",
            Self::Logs => "logs",
            Self::Points => "points",
            Self::Traces => "traces",
        }
    }

    /// The table of that name, in lower case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// All names, for messages.
    pub(crate) fn list() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Where its rows are.
    pub(crate) fn signal(self) -> Signal {
        match self {
            Self::Spans | Self::Events | Self::Links | Self::Traces => Signal::Spans,
            Self::Logs => Signal::Logs,
            Self::Points => Signal::Series,
        }
    }

    /// What its rows are, if not those of the signal.
    pub(crate) fn elements(self) -> Option<Elements> {
        match self {
            Self::Spans | Self::Logs | Self::Traces => None,
            Self::Events => Some(Elements::List(spans::list::EVENTS)),
            Self::Links => Some(Elements::List(spans::list::LINKS)),
            Self::Points => Some(Elements::Points),
        }
    }

    /// The scope of that name in attribute columns; `None` if the table has none.
    fn scope(self, scope: AttributeScope) -> Option<Scope> {
        let own = |is_own: bool, scope: Scope| is_own.then_some(scope);
        // A trace has none of its own.
        if self == Self::Traces {
            return None;
        }
        match scope {
            AttributeScope::Resource => Some(Scope::Resource),
            AttributeScope::Scope => Some(Scope::Scope),
            AttributeScope::Span => own(self.signal() == Signal::Spans, Scope::Own),
            AttributeScope::Log => own(self == Self::Logs, Scope::Own),
            AttributeScope::Label => own(self == Self::Points, Scope::Own),
            AttributeScope::Event => own(self == Self::Events, Scope::Event),
            AttributeScope::Link => own(self == Self::Links, Scope::Link),
        }
    }

    /// Whether its rows have attributes of that scope.
    pub(crate) fn has(self, scope: AttributeScope) -> bool {
        self.scope(scope).is_some()
    }
}

/// Whose an attribute is: the first part of its column's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeScope {
    Span,
    Event,
    Link,
    Log,
    Label,
    Resource,
    Scope,
}

impl AttributeScope {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Span, "span"),
        (Self::Event, "event"),
        (Self::Link, "link"),
        (Self::Log, "log"),
        (Self::Label, "label"),
        (Self::Resource, "resource"),
        (Self::Scope, "scope"),
    ];

    /// The scope of that name, in lower case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(scope, _)| *scope)
    }

    /// Scope and key of an attribute column; `None` if it is none.
    pub(crate) fn split(column: &str) -> Option<(Self, &str)> {
        let (scope, key) = column.split_once('.')?;
        Some((Self::from_name(scope)?, key)).filter(|(_, key)| !key.is_empty())
    }
}

/// Where a column comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    /// From the store as it is.
    Stored(ColumnRef),
    /// The name that a metric has in Prometheus, made of what the store has of it.
    Metric,
    /// Of all spans of a trace.
    Trace(TraceColumn),
}

impl Column {
    /// The store's column; `None` if it is made of several.
    pub(crate) fn stored(&self) -> Option<&ColumnRef> {
        match self {
            Self::Stored(column) => Some(column),
            Self::Metric | Self::Trace(_) => None,
        }
    }
}

/// A table as one query sees it.
#[derive(Debug)]
pub(crate) struct TableShape {
    pub(crate) name: TableName,
    /// Where the columns come from, by place in `schema`.
    pub(crate) columns: Vec<Column>,
    pub(crate) schema: SchemaRef,
}

/// A table for one query over a snapshot of its signal. Finds out the types of the attributes that
/// are asked for, which reads files: for a thread that may wait.
pub(crate) fn table(
    name: TableName,
    snapshot: &Arc<Snapshot>,
    attributes: &BTreeSet<String>,
    reading: &Reading,
    state: &Arc<QueryState>,
) -> Result<Arc<dyn TableProvider>, EngineError> {
    Ok(match name {
        TableName::Traces => Arc::new(TracesTable::new(snapshot, reading, state)),
        other => Arc::new(QueryTable::new(other, snapshot, attributes, reading, state)?),
    })
}

/// The type of texts: by code, from a dictionary.
pub(crate) fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Whether values are texts by code.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(key, value) => **key == DataType::Int32 && **value == DataType::Utf8,
        _ => false,
    }
}

/// Name and place of each column of a table, attributes last.
pub(crate) fn columns_of(table: TableName, attributes: &BTreeSet<String>) -> Vec<(String, Column)> {
    let fixed = columns::fixed(table).into_iter().map(|(name, column)| (name.to_owned(), column));
    let named = attributes.iter().filter_map(|name| {
        let (scope, key) = AttributeScope::split(name)?;
        let column = ColumnRef::attribute(table.scope(scope)?, key);
        Some((name.clone(), Column::Stored(column)))
    });
    fixed.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_an_attribute_is_what_stands_before_the_first_dot() {
        let split = AttributeScope::split("span.http.method");
        assert_eq!(split, Some((AttributeScope::Span, "http.method")));
        for other in ["span", "span.", "http.method", "Span.a", ""] {
            assert_eq!(AttributeScope::split(other), None, "{other}");
        }
    }

    #[test]
    fn a_table_has_its_fixed_columns_and_of_the_attributes_its_own() {
        let named = ["log.a", "resource.b", "span.c"].map(str::to_owned);
        let columns = columns_of(TableName::Spans, &BTreeSet::from(named));
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["trace_id", "span_id", "parent_span_id"]);
        assert_eq!(names[names.len() - 2..], ["resource.b", "span.c"]);
    }
}
