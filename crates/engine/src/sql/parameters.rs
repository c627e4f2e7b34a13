//! Values that are put in for parameters: `$1`, `$2`, or `?` one after the other.
//!
//! A value becomes a literal of the parsed statement, so that it is read as if it had been written
//! there: text beside a time is a time, beside an id its hex digits. It never becomes text of the
//! query, so nothing in it can be taken for SQL.

use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, TimezoneInfo, UnaryOperator,
    Value as SqlValue, VisitMut, VisitorMut,
};

use super::names;
use crate::asked::{Parameter, Value};
use crate::error::EngineError;
use crate::limits::{PARAMETER_MAX_VALUES, QUERY_MAX_PARAMETERS};

/// Puts in what is known of parameters, and says how many there are.
pub(super) fn put_in(statement: &mut Statement, known: &[Parameter]) -> Result<usize, EngineError> {
    let Some(statement) = names::inner(statement) else { return Ok(0) };
    let mut putting = Putting { known, unnamed: 0, most: 0 };
    if let ControlFlow::Break(message) = statement.visit(&mut putting) {
        return Err(EngineError::Invalid(message));
    }
    Ok(putting.most)
}

struct Putting<'a> {
    known: &'a [Parameter],
    /// Parameters without a number that were seen.
    unnamed: usize,
    /// The highest number.
    most: usize,
}

impl Putting<'_> {
    /// The number of a parameter, from 1 on.
    fn number(&mut self, name: &str) -> Result<usize, String> {
        let number = match name {
            "?" => {
                self.unnamed += 1;
                Some(self.unnamed)
            }
            name => name.strip_prefix(['$', '?']).and_then(|digits| digits.parse().ok()),
        };
        let number = number.filter(|number| (1..=QUERY_MAX_PARAMETERS).contains(number));
        let number = number.ok_or_else(|| {
            format!("the parameter {name} is none of $1 to ${QUERY_MAX_PARAMETERS}")
        })?;
        self.most = self.most.max(number);
        Ok(number)
    }

    /// What stands for a parameter.
    fn expr(&mut self, name: &str) -> Result<Expr, String> {
        let number = self.number(name)?;
        match self.known.get(number - 1) {
            Some(Parameter::Value(value)) => literal(value),
            Some(Parameter::Type(data_type)) => Ok(typed_null(data_type, number)),
            Some(Parameter::Unknown) => Ok(placeholder(number)),
            None if self.known.iter().any(|known| matches!(known, Parameter::Value(_))) => {
                Err(format!(
                    "the query has a parameter ${number}, {} values are given",
                    self.known.len()
                ))
            }
            None => Ok(placeholder(number)),
        }
    }

    /// `x = ANY ($1)` with its values, as the list that it means.
    fn list(&mut self, expr: &Expr) -> Result<Option<Expr>, String> {
        let (left, right, negated) = match expr {
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (left, right, false),
            Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, true),
            _ => return Ok(None),
        };
        let Some(name) = parameter(unwrapped(right)).filter(|name| *name != "?") else {
            return Ok(None);
        };
        let number = self.number(name)?;
        let Some(Parameter::Value(Value::List(values))) = self.known.get(number - 1) else {
            return Ok(None);
        };
        let list = values.iter().map(literal).collect::<Result<Vec<_>, String>>()?;
        Ok(Some(match list.is_empty() {
            true => Expr::value(SqlValue::Boolean(negated)),
            false => Expr::InList { expr: left.clone(), list, negated },
        }))
    }
}

/// What is in brackets and casts.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => unwrapped(inner),
        expr => expr,
    }
}

/// The name of a parameter.
fn parameter(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            SqlValue::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn placeholder(number: usize) -> Expr {
    Expr::value(SqlValue::Placeholder(format!("${number}")))
}

impl VisitorMut for Putting<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match self.list(expr) {
            Ok(Some(list)) => {
                *expr = list;
                return ControlFlow::Continue(());
            }
            Ok(None) => {}
            Err(message) => return ControlFlow::Break(message),
        }
        let Some(name) = parameter(expr).map(str::to_owned) else {
            return ControlFlow::Continue(());
        };
        match self.expr(&name) {
            Ok(known) => *expr = known,
            Err(message) => return ControlFlow::Break(message),
        }
        ControlFlow::Continue(())
    }
}

/// A value as it would be written.
fn literal(value: &Value) -> Result<Expr, String> {
    let text = |text: String| Expr::value(SqlValue::SingleQuotedString(text));
    Ok(match value {
        Value::Null => Expr::value(SqlValue::Null),
        Value::Bool(value) => Expr::value(SqlValue::Boolean(*value)),
        Value::Int(value) => whole(*value),
        Value::Float(value) => cast(text(value.to_string()), SqlType::DoublePrecision),
        Value::Text(value) => text(value.clone()),
        Value::Time(nanos) => call("to_timestamp_nanos", vec![whole(*nanos)]),
        Value::Bytes(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Expr::value(SqlValue::HexStringLiteral(digits))
        }
        Value::List(values) if values.len() > PARAMETER_MAX_VALUES => {
            return Err(format!(
                "a parameter has {} values, at most {PARAMETER_MAX_VALUES} are possible",
                values.len()
            ));
        }
        Value::List(values) => {
            call("make_array", values.iter().map(literal).collect::<Result<Vec<_>, String>>()?)
        }
    })
}

fn whole(value: i64) -> Expr {
    let number = Expr::value(SqlValue::Number(value.unsigned_abs().to_string(), false));
    match value < 0 {
        true => {
            let negative = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number) };
            Expr::Nested(Box::new(negative))
        }
        false => number,
    }
}

/// NULL of a type. Text may stand for anything else, so it has none.
fn typed_null(data_type: &DataType, number: usize) -> Expr {
    let sql = match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::Int64 => SqlType::BigInt(None),
        DataType::Float64 => SqlType::DoublePrecision,
        DataType::Timestamp(..) => SqlType::Timestamp(None, TimezoneInfo::WithTimeZone),
        DataType::Utf8 => return Expr::value(SqlValue::Null),
        _ => return placeholder(number),
    };
    cast(Expr::value(SqlValue::Null), sql)
}

pub(super) fn cast(expr: Expr, data_type: SqlType) -> Expr {
    let kind = CastKind::Cast;
    Expr::Cast { kind, expr: Box::new(expr), data_type, array: false, format: None }
}

/// A call of a function.
pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::statement;
    use super::*;

    fn put(query: &str, known: &[Parameter]) -> Result<(String, usize), String> {
        let mut statement = statement(query).unwrap();
        let count = put_in(&mut statement, known).map_err(|error| error.to_string())?;
        Ok((statement.to_string(), count))
    }

    fn value(value: Value) -> Parameter {
        Parameter::Value(value)
    }

    #[test]
    fn values_become_literals_and_never_sql() {
        let hostile = Value::Text("a' OR 1 = 1 --".to_owned());
        let put = put(
            "SELECT * FROM a WHERE b = $1 AND c > $2",
            &[value(hostile), value(Value::Int(-3))],
        );
        let expected = "SELECT * FROM a WHERE b = 'a'' OR 1 = 1 --' AND c > (-3)";
        assert_eq!(put, Ok((expected.to_owned(), 2)));
    }

    #[test]
    fn parameters_without_numbers_are_numbered() {
        let (text, count) = put("SELECT ? + ?", &[]).unwrap();
        assert_eq!((text.as_str(), count), ("SELECT $1 + $2", 2));
    }

    #[test]
    fn a_list_is_compared_with_as_one() {
        let ids = Value::List(vec![Value::Text("a".into()), Value::Text("b".into())]);
        let (text, _) = put("SELECT 1 WHERE id = ANY($1::text[])", &[value(ids)]).unwrap();
        assert_eq!(text, "SELECT 1 WHERE id IN ('a', 'b')");
        let (text, _) = put("SELECT 1 WHERE id = ANY($1)", &[value(Value::List(vec![]))]).unwrap();
        assert_eq!(text, "SELECT 1 WHERE false");
    }

    #[test]
    fn what_cannot_be_put_in_is_told() {
        assert!(
            put("SELECT $2", &[value(Value::Null)]).unwrap_err().contains("1 values are given")
        );
        assert!(put("SELECT $0", &[]).unwrap_err().contains("$0"));
        let many = Value::List(vec![Value::Null; PARAMETER_MAX_VALUES + 1]);
        assert!(put("SELECT $1", &[value(many)]).unwrap_err().contains("at most"));
    }
}
