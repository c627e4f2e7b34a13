//! `histogram_quantile_le(q, le, value)`: of rows that are buckets, as Prometheus writes them.
//!
//! `le` is the bound of a bucket, as a number or as text (`'+Inf'`), `value` how many were at most
//! that. Rows of several series with the same bound are added.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use hashbrown::HashMap;

use super::buckets::Buckets;
use super::{Wanted, aggregate};
use crate::error::Refusal;
use crate::functions::lists;

/// The types that it takes.
pub(super) fn coerced(types: &[DataType]) -> Result<Vec<DataType>> {
    let is_number = |data_type: &DataType| data_type.is_numeric() || data_type.is_null();
    let is_text = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, value) => value.is_string(),
        other => other.is_string(),
    };
    match types {
        [quantile, le, value] if is_number(quantile) && is_number(value) => {
            let le = match le {
                text if is_text(text) => DataType::Utf8,
                number if is_number(number) => DataType::Float64,
                _ => return Err(usage()),
            };
            Ok(vec![DataType::Float64, le, DataType::Float64])
        }
        _ => Err(usage()),
    }
}

fn usage() -> datafusion::error::DataFusionError {
    Refusal::error(
        "histogram_quantile_le takes a quantile, the bound of a bucket and its count: \
         histogram_quantile_le(0.99, \"label.le\", value)",
    )
}

/// What the buckets of a group count so far, by bound.
#[derive(Debug, Default)]
pub(super) struct ByBound {
    wanted: Wanted,
    /// By the bits of the bound.
    counts: HashMap<u64, f64>,
}

impl ByBound {
    fn add(&mut self, le: Option<f64>, value: Option<f64>) {
        if let (Some(le), Some(value)) = (le, value)
            && !le.is_nan()
            && !value.is_nan()
        {
            // Zero has two forms that are one bound.
            *self.counts.entry((le + 0.0).to_bits()).or_default() += value;
        }
    }

    fn rows(&self) -> impl Iterator<Item = (f64, f64)> {
        self.counts.iter().map(|(bits, value)| (f64::from_bits(*bits), *value))
    }
}

impl Accumulator for ByBound {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [quantiles, bounds, values] = values else {
            return internal_err!("a quantile, a bound and a value");
        };
        self.wanted.see(quantiles)?;
        let values = values.as_primitive::<Float64Type>();
        match bounds.data_type() {
            DataType::Utf8 => {
                let bounds: &StringArray = bounds.as_string();
                let number = |text: &str| text.trim().parse().ok();
                let rows = bounds.iter().zip(values.iter());
                rows.for_each(|(le, value)| self.add(le.and_then(number), value));
            }
            _ => {
                let bounds = bounds.as_primitive::<Float64Type>();
                bounds.iter().zip(values.iter()).for_each(|(le, value)| self.add(le, value));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let buckets = Buckets::of_cumulative(self.rows().collect());
        let quantile = self.wanted.0.zip(buckets);
        Ok(ScalarValue::Float64(quantile.and_then(|(quantile, of)| of.quantile(quantile))))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * (size_of::<(u64, f64)>() + 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (bounds, values): (Vec<f64>, Vec<f64>) = self.rows().unzip();
        Ok(aggregate::state(self.wanted, bounds, values))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [quantiles, bounds, values] = states else {
            return internal_err!("a quantile, bounds and values");
        };
        self.wanted.see(quantiles)?;
        let (bounds, values) = (bounds.as_list::<i32>(), values.as_list::<i32>());
        for row in 0..bounds.len() {
            let both = lists::doubles(bounds, row).zip(lists::doubles(values, row));
            for (le, value) in
                both.into_iter().flat_map(|(bounds, values)| bounds.into_iter().zip(values))
            {
                self.add(Some(le), Some(value));
            }
        }
        Ok(())
    }
}
