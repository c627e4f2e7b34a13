//! PromQL: syntax, values, evaluation.
//!
//! [`parser::parse`] reads the text of a query and checks its types; every expression knows where
//! it stands. [`eval::evaluate`] answers it at one time or at many, over whatever has series: the
//! trait [`source::Source`]. Values are floats and native histograms. The language is that of
//! Prometheus with everything that it has behind flags switched on; [`parser::ParseOptions`] and
//! [`eval::EvalOptions`] switch it off.
//!
//! ```text
//! text ─> lexer ─> parser (types) ─> ast ─┬─> print ─> text
//!                                         └─> eval <─ source: series, samples
//!                                              └─> scalar, text, vector or matrix; annotations
//! ```
//!
//! ```
//! use std::sync::Arc;
//!
//! use kymo_promql::eval::{EvalOptions, Outcome, Times, Uninterrupted, evaluate};
//! use kymo_promql::labels::Labels;
//! use kymo_promql::parser::parse;
//! use kymo_promql::sample::Samples;
//! use kymo_promql::source::{Select, Series, Source, SourceError};
//!
//! /// One counter that grows by 30 each minute.
//! struct Example;
//!
//! impl Source for Example {
//!     fn select(&self, _: &Select) -> Result<Vec<Series>, SourceError> {
//!         let samples = Samples {
//!             times: (0..10).map(|minute| minute * 60_000).collect(),
//!             values: (0..10).map(|minute| f64::from(minute) * 30.0).collect(),
//!             ..Samples::default()
//!         };
//!         let labels = Labels::of([("__name__", "jobs_total"), ("job", "ci")]);
//!         Ok(vec![Series { labels, samples: Arc::new(samples) }])
//!     }
//! }
//!
//! let expr = parse("sum by (job) (rate(jobs_total[5m]))")?;
//! let options = EvalOptions::default();
//! let found = evaluate(&expr, Times::instant(540_000), &Example, &options, &Uninterrupted)?;
//! let Outcome::Vector { samples, .. } = found.outcome else { unreachable!("it gives a vector") };
//! assert_eq!(format!("{} {:?}", samples[0].labels, samples[0].value), r#"{job="ci"} Float(0.5)"#);
//!
//! let error = parse("sum by (job (x)").unwrap_err();
//! assert_eq!(error.to_string().split(':').take(2).collect::<Vec<_>>(), ["1", "13"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `lexer`, [`parser`], [`ast`], [`function`], `operators` | text to a tree |
//! | [`print`], [`walk`], [`position`], [`error`] | a tree to text, walking over it, places in the text, errors |
//! | [`labels`], [`names`], [`matcher`] | series and conditions on them |
//! | [`sample`], [`histogram`], [`classic`] | values: samples, native and classic histograms |
//! | [`source`] | where series come from |
//! | [`eval`], [`annotations`] | evaluation, and what it says beside the result |
//! | [`kahan`], [`number`], `dates` | sums that lose nothing, numbers as text, the calendar |
//! | [`limits`] | every limit, with its reason |

pub mod annotations;
pub mod ast;
pub mod classic;
mod dates;
pub mod error;
pub mod eval;
pub mod function;
pub mod histogram;
pub mod kahan;
pub mod labels;
mod lexer;
pub mod limits;
pub mod names;
pub mod number;
mod operators;
pub mod parser;
pub mod position;
pub mod print;
pub mod sample;
pub mod source;
pub mod walk;

pub use kymo_pattern::matcher;
