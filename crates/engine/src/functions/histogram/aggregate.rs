//! Quantiles of groups, as aggregates: of bucket columns, and of rows that are buckets.

use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::merged::Merged;
use super::of_rows::{self, ByBound};
use super::{Wanted, of_point};
use crate::functions::lists;

/// What a group is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// Histograms, each in columns of its row.
    Columns,
    /// Buckets, one in each row.
    Rows,
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct HistogramQuantileOf {
    of: Of,
    signature: Signature,
}

impl HistogramQuantileOf {
    pub(crate) fn new(of: Of) -> Self {
        Self { of, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for HistogramQuantileOf {
    fn name(&self) -> &str {
        match self.of {
            Of::Columns => "histogram_quantile_agg",
            Of::Rows => "histogram_quantile_le",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.of {
            Of::Columns => of_point::coerced(self.name(), types),
            Of::Rows => of_rows::coerced(types),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(match self.of {
            Of::Columns => Box::new(Merged::default()),
            Of::Rows => Box::new(ByBound::default()),
        })
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

/// A group so far, for those who merge it with others.
pub(super) fn state(wanted: Wanted, bounds: Vec<f64>, counts: Vec<f64>) -> Vec<ScalarValue> {
    let list = |numbers: Vec<f64>| lists::scalar(Arc::new(Float64Array::from(numbers)));
    vec![ScalarValue::Float64(wanted.0), list(bounds), list(counts)]
}
