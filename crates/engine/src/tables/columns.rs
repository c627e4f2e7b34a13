//! The fixed columns of each table, in the order that `*` shows them.

use kymo_store::scan::{ColumnRef, Elements, Scope};
use kymo_store::tables::{logs, series, spans};

use super::{Column, TableName, TraceColumn};

/// A name and where the column comes from.
type Named = (&'static str, Column);

/// The column by which the rows of a table are found in time; `None` if they are found by that of
/// others. Spans and logs are ordered by it, too.
pub(crate) fn time_column(table: TableName) -> Option<ColumnRef> {
    match table {
        TableName::Spans => Some(ColumnRef::Field(spans::field::START_TIME)),
        TableName::Logs => Some(ColumnRef::Field(logs::field::TIME)),
        TableName::Points => {
            Some(ColumnRef::Element { elements: Elements::Points, member: series::point::TIME })
        }
        TableName::Events | TableName::Links | TableName::Traces => None,
    }
}

/// The column that says how long a row took, if it has one that is never NULL.
pub(crate) fn duration_column(table: TableName) -> Option<ColumnRef> {
    (table == TableName::Spans).then_some(ColumnRef::Field(spans::field::DURATION))
}

/// Name and place of each fixed column.
pub(super) fn fixed(table: TableName) -> Vec<Named> {
    match table {
        TableName::Spans => of_spans(),
        TableName::Events => of_events(),
        TableName::Links => of_links(),
        TableName::Logs => of_logs(),
        TableName::Points => of_points(),
        TableName::Traces => {
            TraceColumn::ALL.map(|(name, column)| (name, Column::Trace(column))).to_vec()
        }
    }
}

fn stored(name: &'static str, column: ColumnRef) -> Named {
    (name, Column::Stored(column))
}

fn field(name: &'static str, field: usize) -> Named {
    stored(name, ColumnRef::Field(field))
}

/// Attributes of row, resource and scope as JSON.
fn attributes() -> [Named; 3] {
    [("attributes", Scope::Own), ("resource", Scope::Resource), ("scope", Scope::Scope)]
        .map(|(name, scope)| stored(name, ColumnRef::Attributes(scope)))
}

fn of_spans() -> Vec<Named> {
    use spans::field as place;
    let mut columns = vec![
        field("trace_id", place::TRACE_ID),
        field("span_id", place::SPAN_ID),
        field("parent_span_id", place::PARENT_SPAN_ID),
        field("name", place::NAME),
        field("kind", place::KIND),
        field("start_time", place::START_TIME),
        stored("end_time", ColumnRef::EndTime),
        field("duration_nanos", place::DURATION),
        field("status", place::STATUS),
        field("status_message", place::STATUS_MESSAGE),
        field("trace_state", place::TRACE_STATE),
        field("flags", place::FLAGS),
        field("scope_name", place::SCOPE_NAME),
        field("scope_version", place::SCOPE_VERSION),
        field("root_name", place::ROOT_NAME),
        field("root_service", place::ROOT_SERVICE),
        field("trace_start_time", place::TRACE_START_TIME),
        field("trace_duration_nanos", place::TRACE_DURATION),
    ];
    columns.extend(attributes());
    columns
}

fn of_events() -> Vec<Named> {
    let elements = Elements::List(spans::list::EVENTS);
    let member = |name, member| stored(name, ColumnRef::Element { elements, member });
    vec![
        field("trace_id", spans::field::TRACE_ID),
        field("span_id", spans::field::SPAN_ID),
        member("time", spans::list::EVENT_TIME),
        member("name", spans::list::EVENT_NAME),
        member("attributes", spans::list::EVENT_ATTRIBUTES),
    ]
}

fn of_links() -> Vec<Named> {
    let elements = Elements::List(spans::list::LINKS);
    let member = |name, member| stored(name, ColumnRef::Element { elements, member });
    vec![
        field("trace_id", spans::field::TRACE_ID),
        field("span_id", spans::field::SPAN_ID),
        member("linked_trace_id", spans::list::LINK_TRACE_ID),
        member("linked_span_id", spans::list::LINK_SPAN_ID),
        member("trace_state", spans::list::LINK_TRACE_STATE),
        member("attributes", spans::list::LINK_ATTRIBUTES),
    ]
}

fn of_logs() -> Vec<Named> {
    use logs::field as place;
    let mut columns = vec![
        field("time", place::TIME),
        field("observed_time", place::OBSERVED_TIME),
        field("severity", place::SEVERITY),
        field("severity_number", place::SEVERITY_NUMBER),
        field("body", place::BODY),
        field("event_name", place::EVENT_NAME),
        field("trace_id", place::TRACE_ID),
        field("span_id", place::SPAN_ID),
        field("flags", place::FLAGS),
        field("scope_name", place::SCOPE_NAME),
    ];
    columns.extend(attributes());
    columns
}

fn of_points() -> Vec<Named> {
    use series::point;
    let elements = Elements::Points;
    let member = |name, member| stored(name, ColumnRef::Element { elements, member });
    let mut columns = vec![
        member("time", point::TIME),
        ("metric", Column::Metric),
        field("name", series::field::NAME),
        field("type", series::field::TYPE),
        field("unit", series::field::UNIT),
        member("value", point::VALUE),
        member("count", point::COUNT),
        member("sum", point::SUM),
        member("min", point::MIN),
        member("max", point::MAX),
        member("bucket_bounds", point::BUCKET_BOUNDS),
        member("bucket_counts", point::BUCKET_COUNTS),
        member("start_time", point::START_TIME),
    ];
    columns.extend(attributes());
    columns
}
