//! Queries over the store: the only crate that knows DataFusion.
//!
//! ```text
//! text ──> sql (parsed, checked) ──> queue ──> tables of the query ──> DataFusion's plan ──> rows
//!                                              (snapshot, columns)      └─ scan: BlockScan
//! ```
//!
//! Everything runs on threads of the engine's own, so that what receives and acknowledges never
//! waits for a query. An answer is a stream that can be read anywhere; who drops it ends the query.
//! A query only reads, and only the tables: no file, no network, no setting.
//!
//! | module | what it holds |
//! |---|---|
//! | `engine`, `query`, `answer`, `rows` | the engine, the life of a query, its answer |
//! | `export` | log records as they were sent |
//! | `archive`, `settings` | what is written here: traces that are kept beyond retention, and settings of tenants |
//! | [`array_text`] | arrays as PostgreSQL writes them |
//! | `asked` | a question with its parameters, and what it will be answered with |
//! | [`deletion`] | conditions of deletions as what the store can test, exactly |
//! | `tenants` | whose data is read |
//! | `asking`, `queue`, `memory`, `clock` | who may run, what it may hold, for how long |
//! | `running` | what runs, and what was slow |
//! | `runtime`, `threads`, `state` | where it runs, what its parts share |
//! | `sql` | text to a statement that may run |
//! | [`table`] | answers that are read whole, by column |
//! | `tables` | the tables, and where their columns come from |
//! | [`catalog`] | what there is, as PostgreSQL's clients ask for it |
//! | `scan` | the leaf of every plan: rows of a snapshot |
//! | [`traceql`] | searches, series, tags, dependencies |
//! | `functions` | functions as they are offered, with bounds; those for telemetry |
//! | `trace_functions` | tables that are made of one trace: its tree, its critical path |
//! | `asof` | joins with the row that was last before |
//! | `plan`, `session` | rules for physical plans, DataFusion as it is set up |
//! | [`prometheus`] | PromQL, and metrics as Prometheus has them |
//! | [`logql`] | LogQL, and log records as Loki has them |
//! | [`limits`], `options`, `stats`, `error` | bounds, settings, counts, what can go wrong |

mod answer;
mod archive;
pub mod array_text;
mod asked;
mod asking;
mod asof;
pub mod catalog;
mod clock;
pub mod deletion;
mod engine;
mod error;
mod export;
mod functions;
pub mod limits;
pub mod logql;
mod memory;
mod options;
mod plan;
pub mod prometheus;
mod query;
mod queue;
mod rows;
mod running;
mod runtime;
mod scan;
mod session;
mod settings;
mod sql;
mod state;
mod stats;
pub mod table;
mod tables;
mod tenants;
mod threads;
mod trace_functions;
pub mod traceql;
#[cfg(test)]
extern crate self as kymo_engine;
#[cfg(test)]
mod tests;

pub use asked::{Asked, Description, Parameter, PgSession, Value, shown_name};
pub use engine::Engine;
pub use error::{EngineError, Fault, FaultKind};
pub use export::Requests;
pub use options::EngineOptions;
pub use rows::Rows;
pub use running::{RunningQuery, SlowQuery};
pub use stats::EngineStats;
pub use tenants::Tenants;
