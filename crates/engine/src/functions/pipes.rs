//! `a || b` as a function, so that it can be bounded like one.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Pipes {
    signature: Signature,
}

impl Default for Pipes {
    fn default() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Pipes {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, right] => {
                BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type()
            }
            _ => internal_err!("|| has two sides"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> =
            args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    /// As DataFusion's own operator does it.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let are_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if are_constant { 1 } else { args.number_rows };
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (name, arg) in ["left", "right"].iter().zip(args.args) {
            let column = arg.into_array(rows)?;
            fields.push(Field::new(*name, column.data_type().clone(), true));
            columns.push(column);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let [left, right] = [("left", 0), ("right", 1)]
            .map(|(name, place)| Arc::new(Column::new(name, place)) as Arc<dyn PhysicalExpr>);
        let joined = BinaryExpr::new(left, Operator::StringConcat, right).evaluate(&batch)?;
        match joined {
            ColumnarValue::Array(array) if are_constant => Ok(ColumnarValue::Scalar(
                datafusion::common::ScalarValue::try_from_array(&array, 0)?,
            )),
            joined => Ok(joined),
        }
    }
}
