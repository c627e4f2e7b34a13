//! `histogram_quantile_agg(q, bounds, counts)`: of all histograms of a group, as one.
//!
//! Where their bounds differ, those in common are kept, so that every count is exact. Rows that
//! are no histograms are left out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::Wanted;
use super::buckets::Buckets;
use super::of_point::coerced;
use crate::functions::lists;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct HistogramQuantileAgg {
    signature: Signature,
}

impl Default for HistogramQuantileAgg {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for HistogramQuantileAgg {
    fn name(&self) -> &str {
        "histogram_quantile_agg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        coerced(self.name(), types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Merged::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |part: &str, data_type| {
            Arc::new(Field::new(format_state_name(args.name, part), data_type, true))
        };
        Ok(vec![
            field("quantile", DataType::Float64),
            field("bounds", lists::of_doubles()),
            field("counts", lists::of_doubles()),
        ])
    }
}

/// The histograms of a group so far.
#[derive(Debug, Default)]
struct Merged {
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
        let list = |numbers: &[f64]| lists::scalar(Arc::new(Float64Array::from(numbers.to_vec())));
        Ok(vec![
            ScalarValue::Float64(self.wanted.0),
            list(&self.sum.bounds),
            list(&self.sum.counts),
        ])
    }

    /// States are histograms too; that of an empty group is none.
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
