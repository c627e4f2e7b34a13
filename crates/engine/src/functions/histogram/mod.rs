//! Quantiles of histograms, in three forms:
//!
//! | function | of |
//! |---|---|
//! | `histogram_quantile(q, bounds, counts)` | one histogram: the bucket columns of a point |
//! | `histogram_quantile_agg(q, bounds, counts)` | the histograms of a group, as one |
//! | `histogram_quantile_le(q, le, value)` | rows of a group that are buckets, as Prometheus has them |
//!
//! All three interpolate within a bucket as Prometheus does. A histogram that counts nothing, or
//! makes no sense, has no quantile: NULL.

mod aggregate;
mod buckets;
mod merged;
mod of_point;
mod of_rows;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use datafusion::common::Result;

pub(super) use aggregate::{HistogramQuantileOf, Of};
pub(super) use of_point::HistogramQuantile;

use crate::error::Refusal;

/// The quantile that an aggregate is asked for: the same in all rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Wanted(Option<f64>);

impl Wanted {
    /// Looks at the argument.
    fn see(&mut self, argument: &ArrayRef) -> Result<()> {
        for value in argument.as_primitive::<Float64Type>().iter().flatten() {
            checked(value)?;
            let wanted = *self.0.get_or_insert(value);
            if wanted != value {
                return Err(Refusal::error(
                    "the quantile has to be the same in all rows of a group",
                ));
            }
        }
        Ok(())
    }
}

/// A quantile that there is.
fn checked(quantile: f64) -> Result<f64> {
    match (0.0..=1.0).contains(&quantile) {
        true => Ok(quantile),
        false => Err(Refusal::error(format!("a quantile is between 0 and 1, not {quantile}"))),
    }
}
