//! LogQL: syntax, pipelines, evaluation on log lines.
//!
//! [`parser::parse`] reads a query. [`plan::plan`] turns it into what is wanted of a store
//! ([`selection`]) and workers that take entries, on as many threads as there are, and give the
//! answer of Loki. Where Loki is plainly wrong, the answer is the one that the language means.
//! Nothing here knows how logs are stored.
//!
//! ```text
//! text ─> lexer ─> parser ─> ast ─┬─> print ─> text
//!                                 └─> plan ─┬─> selection ─> store ─> entries
//!                                           └─> workers <──────────────┘
//!                                                └─> streams, or scalar, vector, matrix
//! ```
//!
//! ```
//! use kymo_logql::entry::Entry;
//! use kymo_logql::labels::Labels;
//! use kymo_logql::parser::parse;
//! use kymo_logql::plan::{Plan, Value, plan};
//! use kymo_logql::request::Request;
//! use kymo_logql::selection::Tested;
//!
//! let query = parse(r#"sum by (level) (count_over_time({app="shop"} | logfmt [5m]))"#)?;
//! let Plan::Metric(plan) = plan(&query, &Request::instant(300_000_000_000))? else {
//!     unreachable!("it counts")
//! };
//! let mut worker = plan.leaves()[0].worker(Tested::No);
//! let stream = Labels::of([("app", "shop")]);
//! for (sequence, line) in (0..).zip(["level=info a=1", "level=warn a=2", "level=info a=3"]) {
//!     let time_nanos = 100_000_000_000;
//!     worker.push(&Entry { time_nanos, sequence, line, stream: &stream, metadata: &[] })?;
//! }
//! let Value::Vector { samples, .. } = plan.finish(vec![vec![worker]])? else {
//!     unreachable!("it was asked at one time")
//! };
//! let shown: Vec<String> =
//!     samples.iter().map(|sample| format!("{} {}", sample.labels, sample.value)).collect();
//! assert_eq!(shown, [r#"{level="info"} 2"#, r#"{level="warn"} 1"#]);
//!
//! let error = parse(r#"{app="shop"} | logfmt | line_format"#).unwrap_err();
//! assert!(error.to_string().starts_with("parse error at line 1, col 36: stage '| line_format'"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `lexer`, [`parser`], [`ast`], [`matcher`] | text to a tree |
//! | [`print`], [`error`] | a tree to text; errors |
//! | [`labels`], [`entry`] | what goes in |
//! | [`request`], [`selection`], [`plan`] | what is asked, what is wanted of a store, answers |
//! | `pipeline`, `operate`, `number` | stages, compiled and run; operators on numbers; numbers as text |
//! | [`extract`], [`template`], [`ip`], [`units`], [`decolorize`] | what stages do with a line |
//! | [`miner`] | which patterns lines are written after |
//! | [`limits`] | every limit, with its reason |

pub mod ast;
pub mod decolorize;
pub mod entry;
pub mod error;
pub mod extract;
pub mod ip;
pub mod labels;
mod lexer;
pub mod limits;
pub mod miner;
mod number;
mod operate;
pub mod parser;
mod pipeline;
pub mod plan;
pub mod print;
pub mod request;
pub mod selection;
pub mod template;
mod text;
pub mod units;

pub use kymo_pattern::matcher;
