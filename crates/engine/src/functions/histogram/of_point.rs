//! `histogram_quantile(q, bounds, counts)`: of the bucket columns of one row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array};
use arrow_schema::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::buckets::Buckets;
use super::checked;
use crate::error::Refusal;
use crate::functions::lists;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct HistogramQuantile {
    signature: Signature,
}

impl Default for HistogramQuantile {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// The types that a quantile of bucket columns takes.
pub(super) fn coerced(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [quantile, bounds, counts]
            if (quantile.is_numeric() || quantile.is_null())
                && lists::is_of_numbers(bounds)
                && lists::is_of_numbers(counts) =>
        {
            Ok(vec![DataType::Float64, lists::of_doubles(), lists::of_doubles()])
        }
        _ => Err(Refusal::error(format!(
            "{name} takes a quantile and the bounds and counts of buckets: \
             {name}(0.99, bucket_bounds, bucket_counts)"
        ))),
    }
}

impl ScalarUDFImpl for HistogramQuantile {
    fn name(&self) -> &str {
        "histogram_quantile"
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [quantiles, bounds, counts] = &arrays[..] else {
            return internal_err!("a quantile, bounds and counts");
        };
        let quantiles = quantiles.as_primitive::<Float64Type>();
        let (bounds, counts) = (bounds.as_list::<i32>(), counts.as_list::<i32>());
        let of_row = |row: usize| -> Result<Option<f64>> {
            if quantiles.is_null(row) {
                return Ok(None);
            }
            let quantile = checked(quantiles.value(row))?;
            let both = lists::doubles(bounds, row).zip(lists::doubles(counts, row));
            let buckets = both.and_then(|(bounds, counts)| Buckets::new(bounds, counts));
            Ok(buckets.and_then(|buckets| buckets.quantile(quantile)))
        };
        let found: Float64Array = (0..quantiles.len()).map(of_row).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}
