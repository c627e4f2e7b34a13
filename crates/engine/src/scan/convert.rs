//! Batches of the store to what the plan expects: types, tests, columns.
//!
//! The type of an attribute is decided over all data when a query is planned, and again by the
//! store over what a scan reads, which may be less. So a column may come narrower than planned:
//! integers where the plan has doubles, or numbers where it has text. It is brought to the type
//! of the plan in the form that the store gives values of mixed columns.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use datafusion::arrow::compute::{and, cast, filter_record_batch, prep_null_mask_filter};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;

use super::ScanPlan;
use crate::tables::{Column, MetricNames, is_text};

/// Brings the batches of one thread of a scan to the form of the plan.
#[derive(Debug)]
pub(super) struct Converter {
    plan: Arc<ScanPlan>,
    schema_out: SchemaRef,
    metrics: MetricNames,
}

impl Converter {
    pub(super) fn new(plan: &Arc<ScanPlan>) -> Self {
        let fields = plan.read_schema.fields().iter().take(plan.residual.columns_out);
        let schema_out = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        Self { plan: plan.clone(), schema_out, metrics: MetricNames::default() }
    }

    /// The rows that pass all tests, with the columns that the plan asked for.
    pub(super) fn convert(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = self.read_columns(&batch)?;
        let batch = tested(batch, &self.plan.residual.tests)?;
        first_columns(batch, &self.schema_out)
    }

    /// The columns that were to be read, in their types.
    fn read_columns(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let plan = &self.plan;
        let sources = plan.read.iter().map(|place| &plan.shape.columns[*place]);
        let stored_count = sources.clone().filter(|column| column.stored().is_some()).count();
        let mut stored = batch.columns()[..stored_count].iter();
        let mut columns = Vec::with_capacity(plan.read.len());
        for (source, field) in sources.zip(plan.read_schema.fields()) {
            let column = match source {
                Column::Stored(_) => stored.next().cloned(),
                Column::Metric => Some(self.metrics.column(batch, stored_count)?),
                Column::Trace(_) => None,
            };
            let column = column.ok_or_else(|| internal_datafusion_err!("a column is missing"))?;
            columns.push(to_type(&column, field.data_type())?);
        }
        Ok(with_rows(&plan.read_schema, columns, batch.num_rows())?)
    }
}

fn with_rows(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

fn to_type(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == wanted {
        return Ok(column.clone());
    }
    if column.null_count() == column.len() {
        return Ok(new_null_array(wanted, column.len()));
    }
    match (column.data_type(), wanted) {
        (DataType::Int64, text) if is_text(text) => {
            let values = column.as_primitive::<Int64Type>();
            Ok(texts(values.iter().map(|value| value.map(|value| value.to_string()))))
        }
        (DataType::Float64, text) if is_text(text) => {
            let values = column.as_primitive::<Float64Type>();
            Ok(texts(values.iter().map(|value| value.map(|value| value.to_string()))))
        }
        (DataType::Boolean, text) if is_text(text) => {
            let values = column.as_boolean();
            Ok(texts(values.iter().map(|value| value.map(|value| value.to_string()))))
        }
        _ => cast(column, wanted),
    }
}

fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

/// The rows that pass all tests.
pub(crate) fn tested(batch: RecordBatch, tests: &[Arc<dyn PhysicalExpr>]) -> Result<RecordBatch> {
    let mut passing: Option<BooleanArray> = None;
    for test in tests {
        let result = test.evaluate(&batch)?.into_array(batch.num_rows())?;
        let result = as_boolean_array(&result)?;
        let result = match result.null_count() {
            0 => result.clone(),
            _ => prep_null_mask_filter(result),
        };
        passing = Some(match passing {
            None => result,
            Some(so_far) => and(&so_far, &result)?,
        });
        if passing.as_ref().is_some_and(|passing| passing.true_count() == 0) {
            return Ok(batch.slice(0, 0));
        }
    }
    match passing {
        Some(passing) if passing.true_count() < batch.num_rows() => {
            Ok(filter_record_batch(&batch, &passing)?)
        }
        _ => Ok(batch),
    }
}

/// The batch without the columns behind those of the schema.
pub(crate) fn first_columns(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.num_columns() == schema.fields().len() {
        return Ok(batch);
    }
    let rows = batch.num_rows();
    let columns = batch.columns()[..schema.fields().len()].to_vec();
    Ok(with_rows(schema, columns, rows)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::text_type;
    use arrow_array::{Float64Array, Int64Array};

    #[test]
    fn numbers_become_text_as_the_store_writes_them() {
        let show = |column: ArrayRef| {
            let column = cast(&to_type(&column, &text_type()).unwrap(), &DataType::Utf8).unwrap();
            let texts = column.as_string::<i32>();
            texts.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        let doubles = Float64Array::from(vec![Some(1.0), None, Some(f64::NAN), Some(1e300)]);
        let expected =
            [Some("1".to_owned()), None, Some("NaN".to_owned()), Some(1e300.to_string())];
        assert_eq!(show(Arc::new(doubles)), expected);
        let ints = Int64Array::from(vec![Some(-7), None]);
        assert_eq!(show(Arc::new(ints)), [Some("-7".to_owned()), None]);
        let bools = BooleanArray::from(vec![true]);
        assert_eq!(show(Arc::new(bools)), [Some("true".to_owned())]);
    }
}
