//! Functions of numbers.
//!
//! Arguments are converted whatever they are: texts are read as numbers, and what is none is 0.
//! Functions whose names end in `f` calculate with decimals, so that 0.1 and 0.2 make 0.3.

use super::super::number::{text_to_float, text_to_int};
use super::super::value::Value;
use super::Call;
use super::decimal::{Decimal, calculate};
use super::text::int as int_at;

type Values<'a> = Vec<Value<'a>>;
type Outcome<'a> = Result<Value<'a>, String>;

fn to_int(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(value, _) => *value,
        Value::Float(value) => *value as i64,
        Value::Text(text) => text_to_int(text),
        Value::Bool(value) => i64::from(*value),
        _ => 0,
    }
}

fn to_float(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(value, _) => *value as f64,
        Value::Float(value) => *value,
        Value::Text(text) => text_to_float(text),
        Value::Bool(value) => f64::from(u8::from(*value)),
        _ => 0.0,
    }
}

fn first_int(values: &[Value<'_>]) -> i64 {
    values.first().map_or(0, to_int)
}

fn first_float(values: &[Value<'_>]) -> f64 {
    values.first().map_or(0.0, to_float)
}

fn fold_ints<'a>(values: &Values<'a>, fold: impl Fn(i64, i64) -> i64) -> Outcome<'a> {
    let ints = values.iter().map(to_int);
    Ok(Value::int64(ints.reduce(fold).unwrap_or(0)))
}

pub(super) fn int<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::int(first_int(&values)))
}

pub(super) fn float64<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Float(first_float(&values)))
}

pub(super) fn add<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    fold_ints(&values, i64::wrapping_add)
}

pub(super) fn sub<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    fold_ints(&values, i64::wrapping_sub)
}

pub(super) fn mul<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    fold_ints(&values, i64::wrapping_mul)
}

pub(super) fn max<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    fold_ints(&values, i64::max)
}

pub(super) fn min<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    fold_ints(&values, i64::min)
}

/// Two whole numbers, of which the second is not 0.
fn dividends(values: &[Value<'_>]) -> Result<(i64, i64), String> {
    match values.get(1).map_or(0, to_int) {
        0 => Err("integer divide by zero".to_owned()),
        divisor => Ok((first_int(values), divisor)),
    }
}

pub(super) fn div<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    dividends(&values).map(|(a, b)| Value::int64(a.wrapping_div(b)))
}

pub(super) fn modulo<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    dividends(&values).map(|(a, b)| Value::int64(a.wrapping_rem(b)))
}

fn floats(values: &[Value<'_>]) -> Vec<f64> {
    values.iter().map(to_float).collect()
}

pub(super) fn addf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    calculate(&floats(&values), Decimal::add, |a, b| a + b).map(Value::Float)
}

pub(super) fn subf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    calculate(&floats(&values), Decimal::sub, |a, b| a - b).map(Value::Float)
}

pub(super) fn mulf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    calculate(&floats(&values), Decimal::mul, |a, b| a * b).map(Value::Float)
}

pub(super) fn divf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let floats = floats(&values);
    if floats.iter().skip(1).any(|divisor| *divisor == 0.0) {
        return Err("division by zero".to_owned());
    }
    calculate(&floats, Decimal::div, |a, b| a / b).map(Value::Float)
}

pub(super) fn maxf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Float(floats(&values).into_iter().reduce(f64::max).unwrap_or(0.0)))
}

pub(super) fn minf<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Float(floats(&values).into_iter().reduce(f64::min).unwrap_or(0.0)))
}

pub(super) fn ceil<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Float(first_float(&values).ceil()))
}

pub(super) fn floor<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Float(first_float(&values).floor()))
}

/// To so many places; up from the fraction that may be told, a half otherwise. Numbers below zero
/// are always rounded down: nobody would have it so, but it is how Loki's do.
pub(super) fn round<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let up_from = values.get(2).map_or(0.5, to_float);
    let power = 10_f64.powf(int_at(&values, 1) as f64);
    let scaled = power * first_float(&values);
    let rounded = if scaled.fract() >= up_from { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(rounded / power))
}
