//! Operands and operators of filters, as the store knows them.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use kymo_store::scan::{Op, Scalar};

use crate::tables::is_text;

/// Whether a value is the same after a cast: times in another zone, text in another form.
pub(super) fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType::{Dictionary, LargeUtf8, Timestamp, Utf8, Utf8View};
    match (from, to) {
        (Timestamp(TimeUnit::Nanosecond, _), Timestamp(TimeUnit::Nanosecond, _)) => true,
        (Utf8, Utf8 | LargeUtf8 | Utf8View | Dictionary(..)) => true,
        (text, Utf8 | LargeUtf8 | Utf8View | Dictionary(..)) => is_text(text),
        _ => false,
    }
}

/// A constant.
pub(super) fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// The column and the constant of a comparison, with the operator as if the column came first.
pub(super) fn sides(binary: &BinaryExpr) -> Option<(&Expr, Op, &ScalarValue)> {
    let op = comparison(binary.op)?;
    match (literal(&binary.left), literal(&binary.right)) {
        (None, Some(value)) => Some((&binary.left, op, value)),
        (Some(value), None) => Some((&binary.right, swapped(op), value)),
        _ => None,
    }
}

/// The text of a constant, which may be NULL; `None` if it is something else.
pub(super) fn text_of(value: &ScalarValue) -> Option<Option<&str>> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            Some(text.as_deref())
        }
        ScalarValue::Dictionary(_, value) => text_of(value),
        _ => None,
    }
}

/// A constant as the store compares it with a column of that type.
pub(super) fn scalar_of(data_type: &DataType, value: &ScalarValue) -> Option<Scalar> {
    match (data_type, value) {
        (DataType::Int64, ScalarValue::Int64(value)) => value.map(Scalar::Int),
        (DataType::Float64, ScalarValue::Float64(value)) => value.map(Scalar::Double),
        (DataType::Boolean, ScalarValue::Boolean(value)) => value.map(Scalar::Bool),
        (DataType::Timestamp(..), ScalarValue::TimestampNanosecond(value, _)) => {
            value.map(Scalar::Int)
        }
        (DataType::FixedSizeBinary(_), ScalarValue::FixedSizeBinary(_, value)) => {
            value.clone().map(Scalar::Bytes)
        }
        (text, value) if *text == DataType::Utf8 || is_text(text) => {
            text_of(value).flatten().map(|text| Scalar::String(text.to_owned()))
        }
        _ => None,
    }
}

/// The store's operator; `None` if this is no comparison.
fn comparison(op: Operator) -> Option<Op> {
    Some(match op {
        Operator::Eq => Op::Eq,
        Operator::NotEq => Op::Ne,
        Operator::Lt => Op::Lt,
        Operator::LtEq => Op::Le,
        Operator::Gt => Op::Gt,
        Operator::GtEq => Op::Ge,
        _ => return None,
    })
}

/// Whether the operator is negated and whether it ignores case; `None` if it matches no regular
/// expression.
pub(super) fn regex_operator(op: Operator) -> Option<(bool, bool)> {
    Some(match op {
        Operator::RegexMatch => (false, false),
        Operator::RegexIMatch => (false, true),
        Operator::RegexNotMatch => (true, false),
        Operator::RegexNotIMatch => (true, true),
        _ => return None,
    })
}

/// The operator for sides that changed places.
fn swapped(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        same => same,
    }
}

/// The operator that holds where this one does not, of values that are there.
pub(super) fn negated(op: Op) -> Op {
    match op {
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
    }
}
