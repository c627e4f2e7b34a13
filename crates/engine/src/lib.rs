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
//! | `archive`, `settings` | what is written here: traces that are kept beyond retention, and settings of tenants |
//! | [`deletion`] | conditions of deletions as what the store can test, exactly |
//! | `tenants` | whose data is read |
//! | `queue`, `memory`, `clock` | who may run, what it may hold, for how long |
//! | `runtime`, `state` | where it runs, what its parts share |
//! | `sql` | text to a statement that may run |
//! | `tables` | the tables, and where their columns come from |
//! | `scan` | the leaf of every plan: rows of a snapshot |
//! | [`traceql`] | searches, series, tags, dependencies |
//! | `functions` | functions as they are offered, with bounds |
//! | `plan`, `session` | rules for physical plans, DataFusion as it is set up |
//! | [`prometheus`] | PromQL, and metrics as Prometheus has them |
//! | [`limits`], `options`, `stats`, `error` | bounds, settings, counts, what can go wrong |

mod answer;
mod archive;
mod clock;
pub mod deletion;
mod engine;
mod error;
mod functions;
pub mod limits;
mod memory;
mod options;
mod plan;
pub mod prometheus;
mod query;
mod queue;
mod rows;
mod runtime;
mod scan;
mod session;
mod settings;
mod sql;
mod state;
mod stats;
mod tables;
mod tenants;
pub mod traceql;
#[cfg(test)]
extern crate self as kymo_engine;
#[cfg(test)]
mod tests;

pub use engine::Engine;
pub use error::EngineError;
pub use options::EngineOptions;
pub use rows::Rows;
pub use stats::EngineStats;
pub use tenants::Tenants;
