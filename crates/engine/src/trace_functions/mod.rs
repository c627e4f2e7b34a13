//! Tables that are made of one trace: `trace_tree(id)` and `critical_path(id)`.
//!
//! | module | what it holds |
//! |---|---|
//! | `spans` | the spans of a trace, read once |
//! | `rows` | rows to batches |
//! | `provider` | the functions for DataFusion |
//!
//! What the rows say is found by `kymo_traceview`, which the page asks, too: who is whose child, whatever
//! the spans claim, and what the end of a trace waited for.

mod provider;
mod rows;
mod spans;

pub(crate) use provider::{Kind, TraceFunction};
