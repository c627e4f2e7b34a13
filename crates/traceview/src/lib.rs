//! Traces as people look at them: laid out, explained, compared, exported.
//!
//! What comes in is OTLP, one trace, as the store gives it. What goes out is ready to be drawn. Senders
//! make mistakes (circles of parents, ids that come twice, clocks that differ), and none of them
//! breaks anything here: each span has a place, and what was odd is told. Nothing recurses over
//! spans, and nothing takes more than O(n log n) time.
//!
//! ```text
//! OTLP ── read ──> forest ──> rows, path ──> TraceTree ──> columns, details, …
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `read` | spans out of OTLP, with times that can be used |
//! | [`forest`] | who is whose child, whatever the spans claim |
//! | [`rows`] | tree order and own time |
//! | [`path`] | critical path, slack, savings |
//! | `tree` | [`TraceTree`]: all of that, by row |
//! | [`columns`] | a trace as columns, for the page |
//! | [`details`], [`attribute`], [`events`] | what chosen spans hold |
//! | [`find`] | text inside a trace |
//! | [`statistics`] | where the time went, by group |
//! | [`flame`] | spans merged by path, of one trace or many |
//! | [`pairs`], [`compare`] | two traces beside each other |
//! | [`perfetto`] | a trace for other viewers |
//! | [`upload`] | files of other formats, by trace |
//! | [`limits`] | every limit, with its reason |
//!
//! [`forest`], [`rows`] and [`path`] know nothing of OTLP: the engine makes its tables `trace_tree` and
//! `critical_path` with them.

pub mod attribute;
pub mod columns;
pub mod compare;
pub mod details;
mod error;
pub mod events;
pub mod find;
#[cfg(test)]
mod fixture;
pub mod flame;
pub mod forest;
pub mod limits;
pub mod pairs;
pub mod path;
pub mod perfetto;
#[cfg(test)]
mod random;
mod read;
pub mod rows;
pub mod statistics;
mod tree;
pub mod upload;
mod value;

pub use error::TraceError;
pub use read::HOST_KEYS;
pub use tree::TraceTree;
pub use value::{double, hex, integer};
