//! Values that are put in for parameters: `$1`, `$2`, or `?` one after the other.
//!
//! A value becomes a literal of the parsed statement, so that it is read as if it had been written
//! there: text beside a time is a time, beside an id its hex digits. It never becomes text of the
//! query, so nothing in it can be taken for SQL. A list behind `= ANY` becomes one of `IN`, for the
//! same reason, also where it is an array that PostgreSQL's clients write as text.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, TimezoneInfo, UnaryOperator,
    Value as SqlValue, VisitMut, VisitorMut,
};

use super::names;
use crate::array_text::{self, Unread};
use crate::asked::{Parameter, Value};
use crate::error::{EngineError, Fault, FaultKind};
use crate::limits::{PARAMETER_MAX_VALUES, QUERY_MAX_PARAMETERS};

/// Parameters of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// The highest number.
    pub(crate) count: usize,
    /// Numbers of those that have no value yet, and stand for a list of what is in their place.
    pub(crate) lists: BTreeSet<usize>,
    /// Whether there are some that have neither value nor type. Such a query cannot run.
    pub(crate) has_open: bool,
}

/// Puts in what is known of parameters, and says which there are.
pub(super) fn put_in(
    statement: &mut Statement,
    known: &[Parameter],
) -> Result<Parameters, EngineError> {
    let Some(statement) = names::inner(statement) else { return Ok(Parameters::default()) };
    let mut putting = Putting { known, unnamed: 0, found: Parameters::default() };
    if let ControlFlow::Break(fault) = statement.visit(&mut putting) {
        return Err(EngineError::Invalid(fault));
    }
    Ok(putting.found)
}

/// A statement with NULL for parameters that are open.
pub(crate) fn with_nulls(statement: &Statement) -> Statement {
    let mut statement = statement.clone();
    let _ = names::inner(&mut statement).map(|statement| statement.visit(&mut Nulls));
    statement
}

struct Nulls;

impl VisitorMut for Nulls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = &*expr
            && matches!(value.value, SqlValue::Placeholder(_))
        {
            *expr = Expr::value(SqlValue::Null);
        }
        ControlFlow::Continue(())
    }
}

struct Putting<'a> {
    known: &'a [Parameter],
    /// Parameters without a number that were seen.
    unnamed: usize,
    found: Parameters,
}

impl<'a> Putting<'a> {
    /// The number of a parameter, from 1 on.
    fn number(&mut self, name: &str) -> Result<usize, Fault> {
        let number = match name {
            "?" => {
                self.unnamed += 1;
                Some(self.unnamed)
            }
            name => name.strip_prefix(['$', '?']).and_then(|digits| digits.parse().ok()),
        };
        let number = number.filter(|number| (1..=QUERY_MAX_PARAMETERS).contains(number));
        let number = number.ok_or_else(|| {
            let message = format!("the parameter {name} is none of $1 to ${QUERY_MAX_PARAMETERS}");
            Fault::new(FaultKind::Parameter, message)
        })?;
        self.found.count = self.found.count.max(number);
        Ok(number)
    }

    /// What stands for a parameter.
    fn expr(&mut self, name: &str) -> Result<Expr, Fault> {
        let number = self.number(name)?;
        Ok(match self.known_of(number)? {
            Some(Parameter::Value(value)) => literal(value)?,
            Some(Parameter::Type(data_type)) => {
                typed_null(data_type).unwrap_or_else(|| self.open(number))
            }
            Some(Parameter::Unknown) | None => self.open(number),
        })
    }

    /// A parameter of which nothing is known.
    fn open(&mut self, number: usize) -> Expr {
        self.found.has_open = true;
        Expr::value(SqlValue::Placeholder(format!("${number}")))
    }

    /// What is known of a parameter: all values are, or none.
    fn known_of(&self, number: usize) -> Result<Option<&'a Parameter>, Fault> {
        let known = self.known.get(number - 1);
        let is_value = |known: &Parameter| matches!(known, Parameter::Value(_));
        if known.is_none() && self.known.iter().any(is_value) {
            let given = self.known.len();
            let message = format!("the query has a parameter ${number}, {given} values are given");
            return Err(Fault::new(FaultKind::Parameter, message));
        }
        Ok(known)
    }

    /// `x = ANY ($1)` as the list that it means, or as `x = $1` if there is no value yet; `None` if
    /// it is something else.
    fn list(&mut self, expr: &mut Expr) -> Result<Option<Expr>, Fault> {
        let (left, right, negated) = match expr {
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (left, right, false),
            Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, true),
            _ => return Ok(None),
        };
        let list = match written(right) {
            Some(SqlValue::Placeholder(name)) => {
                // Parameters on the left come first where they have no numbers.
                if let ControlFlow::Break(fault) = left.visit(self) {
                    return Err(fault);
                }
                let number = self.number(name)?;
                let Some(Parameter::Value(value)) = self.known_of(number)? else {
                    self.found.lists.insert(number);
                    let op = if negated { BinaryOperator::NotEq } else { BinaryOperator::Eq };
                    let right = Box::new(self.open(number));
                    return Ok(Some(Expr::BinaryOp { left: left.clone(), op, right }));
                };
                items(value)?
            }
            Some(SqlValue::SingleQuotedString(text)) => items_of_text(text)?,
            _ => return Ok(None),
        };
        Ok(Some(match list.is_empty() {
            true => Expr::value(SqlValue::Boolean(negated)),
            false => Expr::InList { expr: left.clone(), list, negated },
        }))
    }
}

/// The items of a list, as they would be written. None is known of NULL.
fn items(value: &Value) -> Result<Vec<Expr>, String> {
    match value {
        Value::List(values) if values.len() > PARAMETER_MAX_VALUES => Err(too_many()),
        Value::List(values) => values.iter().map(literal).collect(),
        Value::Text(text) => items_of_text(text),
        Value::Null => Ok(vec![Expr::value(SqlValue::Null)]),
        _ => Err("ANY and ALL take a list".to_owned()),
    }
}

fn items_of_text(text: &str) -> Result<Vec<Expr>, String> {
    let items = array_text::items(text).map_err(|why| match why {
        Unread::TooMany => too_many(),
        Unread::NoArray | Unread::Nested => {
            format!("`{text:.40}` is no list: ANY and ALL take one, as '{{a,b}}'")
        }
    })?;
    let written = |item: Option<String>| {
        Expr::value(item.map_or(SqlValue::Null, SqlValue::SingleQuotedString))
    };
    Ok(items.into_iter().map(written).collect())
}

fn too_many() -> String {
    format!("a list has too many values, at most {PARAMETER_MAX_VALUES} are possible")
}

/// What is written in brackets and casts.
fn written(expr: &Expr) -> Option<&SqlValue> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => written(inner),
        Expr::Value(value) => Some(&value.value),
        _ => None,
    }
}

impl VisitorMut for Putting<'_> {
    type Break = Fault;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Fault> {
        match self.list(expr) {
            Ok(Some(list)) => {
                *expr = list;
                return ControlFlow::Continue(());
            }
            Ok(None) => {}
            Err(fault) => return ControlFlow::Break(fault),
        }
        if let Expr::Value(value) = expr
            && let SqlValue::Placeholder(name) = &value.value
        {
            match self.expr(name) {
                Ok(known) => *expr = known,
                Err(fault) => return ControlFlow::Break(fault),
            }
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
        Value::List(_) => call("make_array", items(value)?),
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

/// NULL of a type, if that can be written. Text may stand for anything else, so it has none.
fn typed_null(data_type: &DataType) -> Option<Expr> {
    let sql = match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::Int64 => SqlType::BigInt(None),
        DataType::Float64 => SqlType::DoublePrecision,
        DataType::Timestamp(..) => SqlType::Timestamp(None, TimezoneInfo::WithTimeZone),
        DataType::Utf8 => return Some(Expr::value(SqlValue::Null)),
        _ => return None,
    };
    Some(cast(Expr::value(SqlValue::Null), sql))
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

    fn put(query: &str, known: &[Parameter]) -> Result<(String, Parameters), String> {
        let mut statement = statement(query).unwrap();
        let found = put_in(&mut statement, known).map_err(|error| error.to_string())?;
        Ok((statement.to_string(), found))
    }

    fn value(value: Value) -> Parameter {
        Parameter::Value(value)
    }

    #[test]
    fn values_become_literals_and_never_sql() {
        let hostile = Value::Text("a' OR 1 = 1 --".to_owned());
        let (text, found) = put(
            "SELECT * FROM a WHERE b = $1 AND c > $2",
            &[value(hostile), value(Value::Int(-3))],
        )
        .unwrap();
        assert_eq!(text, "SELECT * FROM a WHERE b = 'a'' OR 1 = 1 --' AND c > (-3)");
        assert_eq!(found.count, 2);
    }

    #[test]
    fn parameters_without_numbers_are_numbered() {
        let (text, found) = put("SELECT ? + ? = ANY(?)", &[]).unwrap();
        assert_eq!((text.as_str(), found.count), ("SELECT $1 + $2 = $3", 3));
        assert_eq!(found.lists, BTreeSet::from([3]));
    }

    #[test]
    fn a_list_is_compared_with_as_one() {
        let texts = |known: &[Value]| {
            let known: Vec<Parameter> = known.iter().cloned().map(value).collect();
            move |query: &str| put(query, &known).unwrap().0
        };
        let ids = Value::List(vec![Value::Text("a".into()), Value::Text("b".into())]);
        let given = texts(&[ids]);
        assert_eq!(given("SELECT id = ANY($1::text[])"), "SELECT id IN ('a', 'b')");
        assert_eq!(given("SELECT id <> ALL(?)"), "SELECT id NOT IN ('a', 'b')");
        assert_eq!(texts(&[Value::List(vec![])])("SELECT id = ANY($1)"), "SELECT false");
        assert_eq!(texts(&[Value::Null])("SELECT id = ANY($1)"), "SELECT id IN (NULL)");
        // Clients may say it as text, whose type they leave to the place where it stands.
        let given = texts(&[Value::Text("{\"a\",NULL}".into())]);
        assert_eq!(given("SELECT id = ANY($1)"), "SELECT id IN ('a', NULL)");
        assert_eq!(texts(&[])("SELECT id = ANY('{a,b}')"), "SELECT id IN ('a', 'b')");
        let both = texts(&[Value::Int(1), Value::List(vec![Value::Int(2)])]);
        assert_eq!(both("SELECT ? = ANY(?)"), "SELECT 1 IN (2)");
    }

    #[test]
    fn a_list_that_is_not_known_yet_is_told_of() {
        for known in [vec![], vec![Parameter::Unknown]] {
            let (text, found) = put("SELECT id <> ALL(($1))", &known).unwrap();
            assert_eq!((text.as_str(), found.count), ("SELECT id <> $1", 1));
            assert_eq!(found.lists, BTreeSet::from([1]));
        }
    }

    #[test]
    fn what_cannot_be_put_in_is_told() {
        assert!(
            put("SELECT $2", &[value(Value::Null)]).unwrap_err().contains("1 values are given")
        );
        assert!(put("SELECT $0", &[]).unwrap_err().contains("$0"));
        let many = [value(Value::List(vec![Value::Null; PARAMETER_MAX_VALUES + 1]))];
        for query in ["SELECT $1", "SELECT 1 = ANY($1)"] {
            assert!(put(query, &many).unwrap_err().contains("at most"));
        }
        let many = format!("{{{}0}}", "0,".repeat(PARAMETER_MAX_VALUES));
        let many = put("SELECT 1 = ANY($1)", &[value(Value::Text(many))]);
        assert!(many.unwrap_err().contains("at most"));
        for wrong in [Value::Int(1), Value::Text("a".into())] {
            assert!(put("SELECT 1 = ANY($1)", &[value(wrong)]).unwrap_err().contains("list"));
        }
    }
}
