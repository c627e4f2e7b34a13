//! `histogram_quantile_agg(q, bounds, counts)`: of all histograms of a group, as one.
//!
//! Where their bounds differ, those in common are kept, so that every count is exact. Rows that
//! are no histograms are left out.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::buckets::Buckets;
use super::{Wanted, aggregate};
use crate::functions::lists;

/// The histograms of a group so far.
#[derive(Debug, Default)]
pub(super) struct Merged {
    wanted: Wanted,
    sum: Buckets,
}

impl Accumulator for Merged {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [quantiles, bounds, counts] = values else {
            return internal_err!("a quantile, bounds and counts");
        };
        self.wanted.see(quantiles)?;
        let (bounds, counts) = (bounds.as_list::<i32>(), counts.as_list::<i32>());
        for row in 0..bounds.len() {
            let both = lists::doubles(bounds, row).zip(lists::doubles(counts, row));
            if let Some(more) = both.and_then(|(bounds, counts)| Buckets::new(bounds, counts)) {
                self.sum.add(&more);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let quantile = self.wanted.0.and_then(|quantile| self.sum.quantile(quantile));
        Ok(ScalarValue::Float64(quantile))
    }

    fn size(&self) -> usize {
        let numbers = self.sum.bounds.capacity() + self.sum.counts.capacity();
        size_of_val(self) + numbers * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Buckets { bounds, counts } = self.sum.clone();
        Ok(aggregate::state(self.wanted, bounds, counts))
    }

    /// States are histograms too; that of an empty group is none.
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
