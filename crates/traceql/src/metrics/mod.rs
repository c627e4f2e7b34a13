//! Numbers over time: from spans to series, and from series to series.
//!
//! ```text
//! spans ─> Grid::point_of ─> Aggregation ─┐ merge        ┌─> Measured ─> apply_stages ─> combine
//!          (which point?)    Aggregation ─┴─> … finish ──┤   (series,    (topk, > 10)    (a / b)
//!                                                        └─>  examples)
//! ```
//!
//! Whoever reads spans makes an [`Aggregation`] for each part of them (a block, a thread), asks it
//! for the group of each span, and adds what is measured. Parts are merged in any order, and the
//! answer is the same to the last bit. `compare()` has a [`Comparison`] instead.
//!
//! ```
//! use kymo_traceql::ast::MetricsFunction;
//! use kymo_traceql::metrics::{Aggregation, Grid};
//!
//! const SECOND: i64 = 1_000_000_000;
//! let grid = Grid::range(0, 120 * SECOND, 60 * SECOND)?;
//! let mut rate = Aggregation::new(&MetricsFunction::Rate, &[], &grid, false);
//! let all = rate.group(&[]);
//! for start_nanos in [61 * SECOND, 80 * SECOND, 120 * SECOND, 121 * SECOND] {
//!     if let Some(point) = grid.point_of(start_nanos) {
//!         rate.add(all, point, f64::NAN, start_nanos, 0);
//!     }
//! }
//! let measured = rate.finish();
//! let points = [(0, 0.0), (60 * SECOND, 0.0), (120 * SECOND, 0.05)];
//! assert_eq!(measured[0].series.points, points);
//! # Ok::<(), kymo_traceql::metrics::GridError>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `grid`, `window` | which points an answer has, and which spans count for them |
//! | `aggregation`, `finish` | what is kept of spans, and the series that it becomes |
//! | `sum`, `sketch`, `buckets` | sums without rounding, quantiles, histograms |
//! | `candidates` | spans that may be shown as examples |
//! | `comparison`, `counts` | `compare()`, and one of its attributes |
//! | `stages`, `math` | what is done with whole answers |
//! | `cells`, `labels` | memory by group and point; identity and order of labels |

mod aggregation;
mod buckets;
mod candidates;
mod cells;
mod comparison;
mod counts;
mod finish;
mod grid;
mod labels;
mod math;
mod series;
mod sketch;
mod stages;
mod sum;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod window;

pub use crate::limits::MAX_POINTS;
pub use aggregation::{Aggregation, Group, Measured};
pub use candidates::Candidate;
pub use comparison::{AttributeNumber, Comparison, ValueNumber};
pub use grid::{Grid, GridError};
pub use math::{CombineError, combine};
pub use series::{Exemplar, Series};
pub use stages::apply_stages;
