//! Sending spans, metrics and log records: where to, how, and what happens if nobody answers.
//!
//! ```text
//!  Asked, environment ──> ExportSettings ──┬─> span_exporter, metric_exporter, log_exporter
//!                                          │      (traits of OpenTelemetry's SDK)
//!  spans(…), metrics(…), logs(…) ──────────┴─> Outlet: bounded queues, batches, again and again
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | `settings` | where each signal goes, and how |
//! | [`resolve`] | what wins over what: program, `KYMO_OTLP_ENDPOINT`, `OTEL_…`, default |
//! | `exporter` | exporters of the SDK over gRPC, HTTP and to stdout |
//! | `outlet` | queues that never make the program wait |
//! | `processors` | what puts an SDK's spans, metrics and log records into an outlet |
//!
//! Neither exporters nor outlets need a runtime of the program: connections live on one thread of
//! this crate, which starts with the first of them. Nothing of what that thread does is telemetry of
//! the program.

mod exporter;
mod grpc;
mod http;
mod lane;
mod notices;
mod outlet;
mod processors;
mod refusal;
pub mod resolve;
mod runtime;
mod secrets;
mod settings;

pub use exporter::{
    LogExporter, MetricExporter, SpanExporter, log_exporter, metric_exporter, span_exporter,
};
pub use lane::SignalCounts;
pub use notices::{Notice, NoticeHandler};
pub use outlet::{ExportCounts, Outlet, OutletOptions, ScopedLogRecord};
pub use processors::{OutletLogProcessor, OutletMetricExporter, OutletSpanProcessor};
pub use resolve::{Asked, process_environment};
pub use settings::{Compression, Destination, ExportSettings, OtlpSettings, Protocol, Signal};
