//! The table `traces`: a row for each trace, made of its spans wherever they lie.
//!
//! ```text
//!  no time asked for, or nearly all ──> one scan of the columns needed ──> summaries
//!  ORDER BY start_time DESC LIMIT n ──> walk, newest first ──> whole traces, until n are sure
//!  start_time within a range        ──> walk over the range ──> whole traces, those that begin in it
//! ```
//!
//! A trace lies in several blocks as long as they are not compacted, and long ones always do. So
//! whoever asks for a range gets traces by a walk over it, and each of them is read whole by the
//! index of traces: start, count and root are those of the trace, not of the range.
//!
//! | module | what it holds |
//! |---|---|
//! | `summary` | spans to rows |
//! | `rows` | rows to batches |
//! | `scan` | the leaf: which way is taken, filters, first rows |
//! | `provider` | the table for DataFusion |

mod provider;
mod rows;
mod scan;
mod summary;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

pub(crate) use provider::TracesTable;

use super::text_type;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceColumn {
    TraceId,
    /// Name of the earliest span without a parent; NULL if there is none.
    RootName,
    RootService,
    /// The earliest start of a span.
    StartTime,
    /// The latest end of a span.
    EndTime,
    Duration,
    /// The status of the root.
    Status,
    SpanCount,
    ErrorCount,
    ServiceCount,
    /// Names of services, sorted.
    Services,
}

impl TraceColumn {
    /// All columns, in the order that `*` shows them.
    pub(crate) const ALL: [(&'static str, Self); 11] = [
        ("trace_id", Self::TraceId),
        ("root_name", Self::RootName),
        ("root_service", Self::RootService),
        ("start_time", Self::StartTime),
        ("end_time", Self::EndTime),
        ("duration_nanos", Self::Duration),
        ("status", Self::Status),
        ("span_count", Self::SpanCount),
        ("error_count", Self::ErrorCount),
        ("service_count", Self::ServiceCount),
        ("services", Self::Services),
    ];

    fn data_type(self) -> DataType {
        match self {
            Self::TraceId => DataType::FixedSizeBinary(16),
            Self::RootName | Self::RootService | Self::Status => text_type(),
            Self::StartTime | Self::EndTime => {
                DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
            }
            Self::Duration | Self::SpanCount | Self::ErrorCount | Self::ServiceCount => {
                DataType::Int64
            }
            Self::Services => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
        }
    }
}

/// Names and types of all columns.
pub(crate) fn schema() -> SchemaRef {
    let fields = TraceColumn::ALL.map(|(name, column)| Field::new(name, column.data_type(), true));
    Arc::new(Schema::new(fields.to_vec()))
}
