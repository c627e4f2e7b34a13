//! Log records as Loki has them: LogQL, labels, volumes, patterns.
//!
//! ```text
//! expression ─> kymo_logql: plan ─> selection: matchers, conditions, what is needed
//!                                        │
//!          streams: origins to labels ───┤   pushdown: conditions to tests of the store
//!                                        │
//!          read: rows of blocks and heads, on all threads ─> entries ─> workers of the plan ─> answer
//! ```
//!
//! What is stored is what was sent; streams, labels and structured metadata are a view of it, made
//! here. Lines are read newest first, in windows that grow; numbers are counted by code where a query
//! asks for nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | `options`, `answer` | settings; what comes back |
//! | `ask`, `view` | how a question gets its turn, and what it sees |
//! | `names`, `streams`, `columns`, `json`, `level` | records as entries of streams |
//! | `pushdown`, `read` | which rows, and reading them |
//! | `evaluate`, `count` | lines and numbers; counting by code |
//! | `live` | records that are just stored, for those who follow |
//! | `catalog`, `patterns` | streams and how much of them; templates of lines |

mod answer;
mod ask;
mod catalog;
mod columns;
mod count;
mod evaluate;
mod json;
mod level;
mod live;
mod names;
mod options;
mod patterns;
mod pushdown;
mod read;
mod streams;
mod view;

pub use answer::{LogqlAnswer, LogqlStats, LogqlValue, StreamStats, Volume};
pub use catalog::{VolumeBy, VolumeQuery};
pub use names::label_name;
pub use options::LogqlOptions;
pub use patterns::PatternQuery;
