//! Functions over JSON text: `attributes`, `resource`, `scope`, bodies of logs.
//!
//! | function | gives |
//! |---|---|
//! | `json_get(json, path…)`, `json_get_json`, `json -> step` | the value as JSON text |
//! | `json_as_text(json, path…)`, `json ->> step` | the value as text: strings without quotes |
//! | `json_get_str`, `json_get_int`, `json_get_float`, `json_get_bool` | the value, if it is of that type |
//! | `json_contains(json, path…)` | whether there is a value |
//! | `json_length(json, path…)` | members of an object, items of an array |
//! | `json_object_keys(json, path…)` | the keys of an object, as a list |
//!
//! A path is keys and places, each an argument: `json_get_str(body, 'user', 'emails', 0)`. Keys may
//! have dots in them. What is not there, not of that type or not JSON is NULL.

mod evaluate;
mod text;

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::error::Refusal;
use crate::tables::{is_text, text_type};

/// What is asked of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Json,
    AsText,
    Str,
    Int,
    Float,
    Bool,
    Contains,
    Length,
    Keys,
}

const ALL: [(Asked, &str); 9] = [
    (Asked::Json, "json_get"),
    (Asked::AsText, "json_as_text"),
    (Asked::Str, "json_get_str"),
    (Asked::Int, "json_get_int"),
    (Asked::Float, "json_get_float"),
    (Asked::Bool, "json_get_bool"),
    (Asked::Contains, "json_contains"),
    (Asked::Length, "json_length"),
    (Asked::Keys, "json_object_keys"),
];

/// All functions.
pub(super) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    ALL.into_iter().map(|(asked, _)| function(asked))
}

fn function(asked: Asked) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(JsonFunction::new(asked)))
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct JsonFunction {
    asked: Asked,
    signature: Signature,
    aliases: Vec<String>,
}

impl JsonFunction {
    fn new(asked: Asked) -> Self {
        let aliases = match asked {
            Asked::Json => vec!["json_get_json".to_owned()],
            _ => Vec::new(),
        };
        Self { asked, signature: Signature::user_defined(Volatility::Immutable), aliases }
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        ALL.iter().find(|(asked, _)| *asked == self.asked).map_or("json", |(_, name)| name)
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        let usage = || {
            Refusal::error(format!(
                "{name} takes JSON text, then keys and places: {name}(attributes, 'user', 0)"
            ))
        };
        let (json, path) = types.split_first().ok_or_else(usage)?;
        let json = match json {
            by_code if is_text(by_code) => text_type(),
            DataType::Dictionary(_, value) if value.is_string() => text_type(),
            text if text.is_string() || text.is_null() => DataType::Utf8,
            _ => return Err(usage()),
        };
        let step = |step: &DataType| match step {
            DataType::Dictionary(_, value) if value.is_string() => Ok(DataType::Utf8),
            text if text.is_string() || text.is_null() => Ok(DataType::Utf8),
            number if number.is_integer() => Ok(DataType::Int64),
            _ => Err(usage()),
        };
        let path = path.iter().map(step).collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(json).chain(path).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.asked {
            Asked::Json | Asked::AsText | Asked::Str => DataType::Utf8,
            Asked::Int | Asked::Length => DataType::Int64,
            Asked::Float => DataType::Float64,
            Asked::Bool | Asked::Contains => DataType::Boolean,
            Asked::Keys => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        evaluate::evaluate(self.asked, self.name(), &args)
    }
}

/// Plans `json -> step` and `json ->> step` as calls.
#[derive(Debug)]
pub(crate) struct JsonArrows {
    get: Arc<ScalarUDF>,
    as_text: Arc<ScalarUDF>,
}

impl Default for JsonArrows {
    fn default() -> Self {
        Self { get: function(Asked::Json), as_text: function(Asked::AsText) }
    }
}

impl ExprPlanner for JsonArrows {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Arrow => &self.get,
            BinaryOperator::LongArrow => &self.as_text,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        // A chain of steps is one path.
        let mut args = match expr.left {
            Expr::ScalarFunction(call) if call.func == self.get => call.args,
            other => vec![other],
        };
        args.push(expr.right);
        let call = ScalarFunction::new_udf(function.clone(), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}
