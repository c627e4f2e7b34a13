//! OTLP: bytes to views and back.
//!
//! The hot path never builds an object tree. A request arrives as protobuf; [`inspect`] walks it
//! once, checks it, and hands the same bytes on. Whoever needs the content walks it with views:
//! small structs of borrowed fields, filled in one pass over one message, whose repeated fields
//! are iterators.
//!
//! ```text
//! OTLP/JSON ── json, lines ──┐
//!                            ▼
//! OTLP protobuf ───────> inspect ──> admitted bytes ──> trace, logs, metrics (views)
//!                            ▲                               │
//!                          limits                            ├──> json (text)
//! columns ── encode ──> OTLP protobuf                        └──> whoever stores or forwards
//! ```
//!
//! ```
//! use kymo_wire::{Limits, TracesView, View, WireError, inspect_traces, text};
//!
//! fn names(request: &[u8]) -> Result<Vec<String>, WireError> {
//!     let inspected = inspect_traces(request, &Limits::default())?;
//!     let mut names = Vec::new();
//!     for resource in TracesView::parse(&inspected.body)?.resources {
//!         for scope in resource?.scopes {
//!             for span in scope?.items {
//!                 names.push(text(span?.name).into_owned());
//!             }
//!         }
//!     }
//!     Ok(names)
//! }
//! # assert_eq!(names(&[]), Ok(vec![]));
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`proto`] | the protobuf wire format, one field at a time |
//! | [`repeated`], [`numbers`] | repeated fields as iterators |
//! | [`common`], [`groups`] | attributes, resources, scopes and how records are grouped by them |
//! | [`trace`], [`logs`], [`metrics`], [`points`] | the records of each signal |
//! | [`inspect`] | the admission check: refuse, repair, count |
//! | [`limits`] | every limit, with its reason |
//! | [`encode`] | protobuf writer |
//! | [`places`] | times and trace ids, changed in place |
//! | [`remote_write`] | Prometheus' remote-write: views, check, writer |
//! | [`exposition`] | Prometheus' text, OpenMetrics and protobuf formats |
//! | [`metric_names`] | names of metrics and attributes in Prometheus |
//! | [`remote_read`] | Prometheus' remote-read: what is asked, and the answer |
//! | [`loki`] | what is pushed to Loki, as OTLP |
//! | [`json`], [`lines`] | OTLP/JSON, and files of one request per line |

pub mod common;
pub mod encode;
pub mod exposition;
pub mod groups;
pub mod inspect;
pub mod json;
pub mod limits;
pub mod lines;
pub mod logs;
pub mod loki;
pub mod metric_names;
pub mod metrics;
pub mod numbers;
pub mod places;
pub mod points;
pub mod proto;
pub mod remote_read;
pub mod remote_write;
pub mod repeated;
mod schema;
mod signal;
mod tags;
pub mod trace;

// Test helpers that the fuzz targets share name the crate as its users do.
#[cfg(test)]
extern crate self as kymo_wire;
#[cfg(test)]
mod tests;

pub use common::{
    AnyValueView, EntityRefView, KeyValueView, ResourceView, ScopeView, array_values,
    kvlist_entries, text,
};
pub use groups::{RequestView, ResourceGroupView, ScopeGroupView};
pub use inspect::{
    Inspected, RefusalReason, Refused, RepairReason, Repaired, inspect_logs, inspect_metrics,
    inspect_traces,
};
pub use json::JsonError;
pub use limits::Limits;
pub use logs::{LogRecordView, LogsView, ResourceLogsView, ScopeLogsView};
pub use metrics::{
    ExponentialHistogramView, GaugeView, HistogramView, MetricData, MetricView, MetricsView,
    ResourceMetricsView, ScopeMetricsView, SumView, SummaryView,
};
pub use numbers::Numbers;
pub use points::{
    BucketsView, ExemplarView, ExponentialHistogramPointView, HistogramPointView, NumberPointView,
    NumberValue, QuantileView, SummaryPointView,
};
pub use proto::{Reader, WireError, WireErrorKind};
pub use repeated::{Repeated, View};
pub use signal::Signal;
pub use trace::{
    EventView, LinkView, ResourceSpansView, ScopeSpansView, SpanView, StatusView, TracesView,
};
