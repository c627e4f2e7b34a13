//! Arithmetic on answers: `({ … } | rate()) / ({ … } | rate())`.
//!
//! - Series of both sides are paired by their labels without `__name__`. What has no partner is
//!   dropped. A side that is one series without other labels is the partner of every series.
//! - The result has points where both have one. A division by zero has no result, and no point;
//!   neither has what is no number. Series without points are dropped.
//! - Series without labels get the name `(a + b)` from those of both sides. A number changes no
//!   name. Numbers by themselves are computed as in the rest of the language: `1 / 2` is 0.
//! - Examples tell of spans in the unit of what was measured. A number changes them as it changes
//!   the points; of two series neither's unit is that of the result, and examples are dropped.

use std::collections::HashMap;

use thiserror::Error;

use super::labels::{NAME, sort, write_key};
use super::stages::{apply_stages, number_of};
use super::{Grid, Series};
use crate::ast::{BinaryOp, Literal, Metrics};
use crate::value::OwnedValue;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CombineError {
    #[error("there are fewer answers than queries in the expression")]
    TooFewAnswers,
    #[error("series can be combined by +, -, * and /, not by {operator}")]
    Operator { operator: &'static str },
    #[error("series can be combined with a number or a duration, not with another constant")]
    Constant,
}

/// A side of an operator.
enum Side {
    Number(Number),
    Series(Vec<Series>),
}

/// A constant. Whole ones stay whole as long as they meet only each other.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Float(f64),
}

impl Number {
    fn get(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Float(number) => number,
        }
    }
}

/// The answer of an expression, given those of its queries in order of appearance. Stages are
/// applied at every level, those of queries too. A constant alone is a series without labels.
///
/// # Errors
/// If there are too few answers, or an operator or a constant has no meaning for series.
pub fn combine(
    metrics: &Metrics,
    leaves: &mut dyn Iterator<Item = Vec<Series>>,
    grid: &Grid,
) -> Result<Vec<Series>, CombineError> {
    let mut series = match evaluate(metrics, leaves)? {
        Side::Series(series) => series,
        Side::Number(number) if number.get().is_nan() => Vec::new(),
        Side::Number(number) => {
            let point = |point| (grid.time_of(point), number.get());
            let points = grid.shown().map(point).collect();
            vec![Series { labels: Vec::new(), points, exemplars: Vec::new() }]
        }
    };
    sort(&mut series);
    Ok(series)
}

fn evaluate(
    metrics: &Metrics,
    leaves: &mut dyn Iterator<Item = Vec<Series>>,
) -> Result<Side, CombineError> {
    match metrics {
        Metrics::Query { stages, .. } => {
            let series = leaves.next().ok_or(CombineError::TooFewAnswers)?;
            Ok(Side::Series(apply_stages(series, stages)))
        }
        Metrics::Literal(Literal::Int(number)) => Ok(Side::Number(Number::Whole(*number))),
        Metrics::Literal(literal) => {
            let number = number_of(literal).ok_or(CombineError::Constant)?;
            Ok(Side::Number(Number::Float(number)))
        }
        Metrics::Binary { op, left, right, stages } => {
            let operation = operation(*op)?;
            let left = evaluate(left, leaves)?;
            let right = evaluate(right, leaves)?;
            let series = match (left, right) {
                (Side::Number(left), Side::Number(right)) => {
                    return Ok(Side::Number(constant(*op, left, right, operation)));
                }
                (Side::Series(series), Side::Number(number)) => {
                    changed(series, |value| operation(value, number.get()))
                }
                (Side::Number(number), Side::Series(series)) => {
                    changed(series, |value| operation(number.get(), value))
                }
                (Side::Series(left), Side::Series(right)) => joined(*op, left, right, operation),
            };
            Ok(Side::Series(apply_stages(series, stages)))
        }
    }
}

fn operation(op: BinaryOp) -> Result<fn(f64, f64) -> f64, CombineError> {
    match op {
        BinaryOp::Add => Ok(|a, b| a + b),
        BinaryOp::Subtract => Ok(|a, b| a - b),
        BinaryOp::Multiply => Ok(|a, b| a * b),
        BinaryOp::Divide => Ok(|a, b| if b == 0.0 { f64::NAN } else { a / b }),
        _ => Err(CombineError::Operator { operator: op.sign() }),
    }
}

fn constant(op: BinaryOp, left: Number, right: Number, operation: fn(f64, f64) -> f64) -> Number {
    let whole = match (left, right) {
        (Number::Whole(left), Number::Whole(right)) => match op {
            BinaryOp::Add => left.checked_add(right),
            BinaryOp::Subtract => left.checked_sub(right),
            BinaryOp::Multiply => left.checked_mul(right),
            _ => left.checked_div(right),
        },
        _ => None,
    };
    whole.map_or_else(|| Number::Float(operation(left.get(), right.get())), Number::Whole)
}

/// Series with every value changed.
fn changed(series: Vec<Series>, change: impl Fn(f64) -> f64) -> Vec<Series> {
    let change_in = |mut series: Series| {
        for (_, value) in &mut series.points {
            *value = change(*value);
        }
        for exemplar in &mut series.exemplars {
            exemplar.value = change(exemplar.value);
        }
        series.points.retain(|(_, value)| !value.is_nan());
        series.exemplars.retain(|exemplar| !exemplar.value.is_nan());
        (!series.points.is_empty()).then_some(series)
    };
    series.into_iter().filter_map(change_in).collect()
}

/// Series of both sides that have the same labels, combined.
fn joined(
    op: BinaryOp,
    left: Vec<Series>,
    right: Vec<Series>,
    operation: fn(f64, f64) -> f64,
) -> Vec<Series> {
    if let ([one], true) = (right.as_slice(), is_one_for_all(&right)) {
        return left.iter().filter_map(|left| pair(op, left, one, left, operation)).collect();
    }
    if let ([one], true) = (left.as_slice(), is_one_for_all(&left)) {
        return right.iter().filter_map(|right| pair(op, one, right, right, operation)).collect();
    }
    let mut partners = HashMap::with_capacity(right.len());
    for series in &right {
        partners.entry(key_of(series)).or_insert(series);
    }
    let pairs = left.iter().filter_map(|left| Some((left, *partners.get(&key_of(left))?)));
    pairs.filter_map(|(left, right)| pair(op, left, right, left, operation)).collect()
}

fn is_one_for_all(series: &[Series]) -> bool {
    series.len() == 1 && series.iter().all(|series| labels_of(series).next().is_none())
}

/// All labels but the name.
fn labels_of(series: &Series) -> impl Iterator<Item = &(String, OwnedValue)> {
    series.labels.iter().filter(|(key, _)| key != NAME)
}

fn name_of(series: &Series) -> String {
    let name = series.labels.iter().find(|(key, _)| key == NAME);
    name.map(|(_, name)| name.to_string()).unwrap_or_default()
}

/// What series with the same labels have in common, in whatever order they are.
fn key_of(series: &Series) -> Vec<u8> {
    let mut labels: Vec<_> = labels_of(series).collect();
    labels.sort_by(|a, b| a.0.cmp(&b.0));
    let mut key = Vec::new();
    for (name, value) in labels {
        key.extend_from_slice(&name.len().to_le_bytes());
        key.extend_from_slice(name.as_bytes());
        write_key(value, &mut key);
    }
    key
}

/// Two series combined, with the labels of one of them; none if there is no point of it.
fn pair(
    op: BinaryOp,
    left: &Series,
    right: &Series,
    labelled: &Series,
    operation: fn(f64, f64) -> f64,
) -> Option<Series> {
    let mut others = right.points.iter().peekable();
    let mut points = Vec::with_capacity(left.points.len().min(right.points.len()));
    for (time, value) in &left.points {
        while others.next_if(|(other_time, _)| other_time < time).is_some() {}
        if let Some((_, other)) = others.next_if(|(other_time, _)| other_time == time) {
            points.push((*time, operation(*value, *other)));
        }
    }
    points.retain(|(_, value)| !value.is_nan());
    if points.is_empty() {
        return None;
    }
    let mut labels: Vec<_> = labels_of(labelled).cloned().collect();
    if labels.is_empty() {
        let name = format!("({} {} {})", name_of(left), op.sign(), name_of(right));
        labels.push((NAME.to_owned(), OwnedValue::Text(name)));
    }
    Some(Series { labels, points, exemplars: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Expr, MetricsFunction, Pipeline, SeriesStage, Spansets, Stage};
    use crate::metrics::Exemplar;
    use crate::metrics::testing::{grid, series, shown};

    fn query() -> Metrics {
        let filter = Spansets::Filter(Expr::Literal(Literal::Bool(true)));
        Metrics::Query {
            pipeline: Pipeline { stages: vec![Stage::Spansets(filter)] },
            function: MetricsFunction::Rate,
            by: Vec::new(),
            stages: Vec::new(),
        }
    }

    fn binary(left: Metrics, op: BinaryOp, right: Metrics) -> Metrics {
        Metrics::Binary { op, left: left.into(), right: right.into(), stages: Vec::new() }
    }

    fn number(number: i64) -> Metrics {
        Metrics::Literal(Literal::Int(number))
    }

    fn ask(metrics: &Metrics, leaves: &[&[Series]]) -> Vec<String> {
        let mut leaves = leaves.iter().map(|leaf| leaf.to_vec());
        let answer = combine(metrics, &mut leaves, &grid(2)).unwrap();
        assert!(leaves.next().is_none());
        shown(&answer)
    }

    fn named(name: &str, points: &[(i64, f64)]) -> Vec<Series> {
        vec![series(&[(NAME, name)], points)]
    }

    #[test]
    fn series_without_labels_are_combined_and_named_by_both() {
        let difference = binary(query(), BinaryOp::Subtract, query());
        let (all, some) =
            (named("rate", &[(0, 5.0), (1, 3.0)]), named("sum", &[(0, 1.0), (2, 9.0)]));
        assert_eq!(ask(&difference, &[&all, &some]), ["{__name__=(rate - sum)} 0:4"]);
        let nested = binary(difference, BinaryOp::Divide, query());
        let answer = ask(&nested, &[&all, &some, &named("count", &[(0, 2.0)])]);
        assert_eq!(answer, ["{__name__=((rate - sum) / count)} 0:2"]);
    }

    #[test]
    fn series_are_paired_by_labels_in_any_order() {
        let sum = binary(query(), BinaryOp::Add, query());
        let left = [
            series(&[("k", "b"), ("l", "x")], &[(0, 1.0)]),
            series(&[("k", "a"), ("l", "x")], &[(0, 2.0)]),
            series(&[("k", "lonely"), ("l", "x")], &[(0, 3.0)]),
        ];
        let right = [
            series(&[("l", "x"), ("k", "a")], &[(0, 10.0)]),
            series(&[("l", "x"), ("k", "b")], &[(0, 20.0)]),
            series(&[("l", "y"), ("k", "b")], &[(0, 30.0)]),
        ];
        assert_eq!(ask(&sum, &[&left, &right]), ["{k=a, l=x} 0:12", "{k=b, l=x} 0:21"]);
    }

    #[test]
    fn a_side_without_labels_is_the_partner_of_all() {
        let ratio = binary(query(), BinaryOp::Divide, query());
        let groups =
            [series(&[("k", "a")], &[(0, 1.0), (1, 2.0)]), series(&[("k", "b")], &[(0, 3.0)])];
        let all = named("rate", &[(0, 4.0), (1, 0.0)]);
        assert_eq!(ask(&ratio, &[&groups, &all]), ["{k=a} 0:0.25", "{k=b} 0:0.75"]);
        assert_eq!(ask(&ratio, &[&all, &groups[..1]]), ["{k=a} 0:4 1:0"]);
        assert!(ask(&ratio, &[&groups, &[]]).is_empty());
    }

    #[test]
    fn a_division_by_zero_has_no_point() {
        let ratio = binary(query(), BinaryOp::Divide, query());
        let one = named("rate", &[(0, 1.0), (1, 0.0)]);
        assert!(ask(&ratio, &[&one, &named("rate", &[(0, 0.0), (1, 0.0)])]).is_empty());
        assert!(ask(&binary(query(), BinaryOp::Divide, number(0)), &[&one]).is_empty());
        let inverse = binary(number(1), BinaryOp::Divide, query());
        assert_eq!(ask(&inverse, &[&one]), ["{__name__=rate} 0:1"]);
    }

    #[test]
    fn a_number_may_be_on_either_side_and_keeps_the_name() {
        let counts = named("count_over_time", &[(0, 9.0), (1, 13.0)]);
        let answer = ask(&binary(number(100), BinaryOp::Subtract, query()), &[&counts]);
        assert_eq!(answer, ["{__name__=count_over_time} 0:91 1:87"]);
        let half = Metrics::Literal(Literal::Duration(500_000_000));
        let answer = ask(&binary(query(), BinaryOp::Multiply, half), &[&counts]);
        assert_eq!(answer, ["{__name__=count_over_time} 0:4.5 1:6.5"]);
    }

    #[test]
    fn constants_alone_are_whole_if_they_can_be() {
        let half = binary(number(1), BinaryOp::Divide, number(2));
        assert_eq!(ask(&half, &[]), ["{} 0:0 1:0"]);
        let float = Metrics::Literal(Literal::Float(1.0));
        assert_eq!(ask(&binary(float, BinaryOp::Divide, number(2)), &[]), ["{} 0:0.5 1:0.5"]);
        assert!(ask(&binary(number(1), BinaryOp::Divide, number(0)), &[]).is_empty());
        let large = binary(number(i64::MAX), BinaryOp::Multiply, number(2));
        assert_eq!(ask(&large, &[]).len(), 1);
    }

    #[test]
    fn stages_are_applied_at_every_level() {
        let above = |number| vec![SeriesStage::Filter(BinaryOp::Greater, Literal::Int(number))];
        let mut leaf = query();
        let Metrics::Query { stages, .. } = &mut leaf else { panic!("not a query") };
        *stages = above(1);
        let mut sum = binary(leaf, BinaryOp::Add, query());
        let Metrics::Binary { stages, .. } = &mut sum else { panic!("not binary") };
        *stages = above(10);
        let (one, two) = (
            named("a", &[(0, 1.0), (1, 2.0), (2, 3.0)]),
            named("b", &[(0, 90.0), (1, 8.0), (2, 9.0)]),
        );
        assert_eq!(ask(&sum, &[&one, &two]), ["{__name__=(a + b)} 2:12"]);
    }

    #[test]
    fn examples_are_changed_by_numbers_and_dropped_otherwise() {
        let mut one = named("rate", &[(0, 2.0)]);
        one[0].exemplars.push(Exemplar { labels: Vec::new(), time_nanos: 0, value: 2.0 });
        let combined = |metrics: &Metrics| {
            let mut leaves = [one.clone(), one.clone()].into_iter();
            combine(metrics, &mut leaves, &grid(1)).unwrap().remove(0).exemplars
        };
        let times = combined(&binary(query(), BinaryOp::Multiply, number(60)));
        assert_eq!(times[0].value, 120.0);
        assert!(combined(&binary(query(), BinaryOp::Add, query())).is_empty());
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let refused = |metrics: &Metrics, leaves: usize| {
            let mut leaves = vec![Vec::new(); leaves].into_iter();
            combine(metrics, &mut leaves, &grid(1)).unwrap_err()
        };
        let sum = binary(query(), BinaryOp::Add, query());
        assert_eq!(refused(&sum, 1), CombineError::TooFewAnswers);
        let power = refused(&binary(query(), BinaryOp::Power, number(2)), 1);
        assert_eq!(power.to_string(), "series can be combined by +, -, * and /, not by ^");
        let text = Metrics::Literal(Literal::Text("x".to_owned()));
        assert_eq!(refused(&binary(query(), BinaryOp::Add, text), 1), CombineError::Constant);
    }
}
