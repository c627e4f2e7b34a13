//! Sending spans, metrics and log records: where to, how, and what happens if nobody answers.
//!
//! ```text
//!  Asked, environment ──> ExportSettings ──┐
//!                                          ▼
//!  spans(…), metrics(…), logs(…) ──> Outlet: bounded queues, batches, again and again
//!                                          │
//!                                          └──> OTLP (kymo-forward) ──> server; or stdout
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | `settings` | where each signal goes |
//! | [`resolve`] | what wins over what: program, `KYMO_OTLP_ENDPOINT`, `OTEL_…`, default |
//! | `items` | spans, metrics and log records of the SDK as OTLP, and on stdout |
//! | `exporter` | one batch to where it goes, and what became of it |
//! | `lane` | a bounded queue, and the task that empties it |
//! | `notices` | what is said of servers that are away or refuse |
//! | `outlet` | the queues of a program, which never make it wait |
//! | `processors` | what puts an SDK's spans, metrics and log records into an outlet |
//!
//! The exporters of the SDK's makers are not used: they take an answer that refuses half of a
//! request for one that takes it all, and tell what else went wrong in words only.
//!
//! An outlet needs no runtime of the program: connections live on one thread of this crate, which
//! starts with the first of them. Nothing of what that thread does is telemetry of the program.

mod exporter;
mod items;
mod lane;
mod notices;
mod outlet;
mod processors;
pub mod resolve;
mod runtime;
mod settings;

pub use kymo_forward::{Asked, OtlpSettings, Protocol, Signal};
pub use lane::SignalCounts;
pub use notices::{Notice, NoticeHandler};
pub use outlet::{ExportCounts, Outlet, OutletOptions, ScopedLogRecord};
pub use processors::{OutletLogProcessor, OutletMetricExporter, OutletSpanProcessor};
pub use resolve::process_environment;
pub use settings::{Destination, ExportSettings};
