//! Tables that are made of one trace: `trace_tree(id)` and `critical_path(id)`.
//!
//! | module | what it holds |
//! |---|---|
//! | `spans` | the spans of a trace, read once |
//! | `forest` | who is whose child, whatever the spans claim |
//! | `tree` | rows of `trace_tree`: depth first |
//! | `path` | rows of `critical_path`: what the end of a trace waited for |
//! | `rows` | rows to batches |
//! | `provider` | the functions for DataFusion |

mod forest;
mod path;
mod provider;
mod rows;
mod spans;
mod tree;

pub(crate) use provider::{Kind, TraceFunction};
