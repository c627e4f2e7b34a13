//! Metrics as Prometheus has them: PromQL, labels, metadata, exemplars.
//!
//! ```text
//! expression ─> kymo_promql ─> select: matchers, times
//!                                 │
//!          find: metrics by name, series by identity ─> labels (kept from query to query)
//!                                 │
//!          rows of blocks, rows and points of heads ─> unfold: samples (kept likewise)
//! ```
//!
//! What is stored is what was sent; names and labels of Prometheus are a view of it, made here.
//!
//! | module | what it holds |
//! |---|---|
//! | `options`, [`naming`] | settings; how things are named |
//! | `ask`, `view` | how a question gets its turn, and what it sees |
//! | `find`, `translate`, `caches` | which series; their labels; what is kept |
//! | `select`, `rows`, `unfold`, `reading`, `target` | samples of series; rows read; points to samples; `target_info` |
//! | `catalog`, `metadata`, `exemplars` | label names and values; what metrics mean; exemplars |

mod ask;
mod caches;
mod catalog;
mod exemplars;
mod find;
mod metadata;
pub mod naming;
mod options;
mod reading;
mod rows;
mod select;
mod target;
mod translate;
mod unfold;
mod view;

pub use ask::PromQuery;
pub(crate) use caches::Caches;
pub use catalog::{Cardinality, SeriesQuery};
pub use exemplars::Exemplar;
pub use metadata::Metadata;
pub use options::PrometheusOptions;
