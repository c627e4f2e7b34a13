//! Numbers of spansets.

use super::evaluator::Scratch;
use super::expression::Expression;
use super::sets::Spans;
use super::steps::{self, Step};
use super::{Slots, Structure, Trace, arithmetic, compare};
use crate::ast::{Aggregate, BinaryOp, Scalar, ScalarFilter};
use crate::error::QueryError;
use crate::value::{OwnedValue, Value};

/// A comparison of two numbers.
#[derive(Debug, Clone)]
pub(super) struct Test {
    left: Formula,
    op: BinaryOp,
    right: Formula,
}

/// A number that is computed from a spanset.
#[derive(Debug, Clone)]
pub(super) struct Formula {
    root: Term,
    /// Numbers of the whole trace, which are the same for all of its spansets.
    of_trace: Vec<OfTrace>,
}

/// `( { … } | count() )`.
#[derive(Debug, Clone)]
struct OfTrace {
    steps: Vec<Step>,
    formula: Formula,
}

#[derive(Debug, Clone)]
enum Term {
    Constant(OwnedValue),
    /// An aggregate, and its text.
    Aggregate(Function, String),
    /// One of the numbers of the whole trace.
    OfTrace(usize),
    Compute {
        op: BinaryOp,
        left: Box<Term>,
        right: Box<Term>,
    },
}

#[derive(Debug, Clone)]
enum Function {
    Count,
    Of(Aggregate, Expression),
}

/// The aggregates that were computed for a spanset, by their text.
pub(super) type Shown<'a> = Vec<(&'a str, Value<'static>)>;

impl Test {
    pub(super) fn new(filter: &ScalarFilter, slots: &mut Slots) -> Result<Test, QueryError> {
        let left = Formula::new(&filter.left, slots)?;
        Ok(Test { left, op: filter.op, right: Formula::new(&filter.right, slots)? })
    }

    pub(super) fn needs_structure(&self) -> bool {
        self.left.needs_structure() || self.right.needs_structure()
    }

    pub(super) fn needs_family(&self) -> bool {
        self.left.needs_family() || self.right.needs_family()
    }

    /// Numbers of the whole trace, for [`Test::holds`].
    pub(super) fn of_trace(
        &self,
        trace: &impl Trace,
        scratch: &mut Scratch,
    ) -> [Vec<Value<'static>>; 2] {
        [&self.left, &self.right].map(|formula| formula.of_trace(trace, scratch))
    }

    /// Whether a spanset passes, and what was computed for it.
    pub(super) fn holds<'a>(
        &'a self,
        trace: &impl Trace,
        structure: &Structure,
        spans: &[u32],
        of_trace: &[Vec<Value<'static>>; 2],
        shown: &mut Shown<'a>,
    ) -> bool {
        let [of_left, of_right] = of_trace;
        let left = self.left.root.value(trace, structure, spans, of_left, shown);
        let right = self.right.root.value(trace, structure, spans, of_right, shown);
        compare::compare(self.op, left, right)
    }
}

impl Formula {
    fn new(scalar: &Scalar, slots: &mut Slots) -> Result<Formula, QueryError> {
        let mut of_trace = Vec::new();
        let root = term(scalar, slots, &mut of_trace)?;
        Ok(Formula { root, of_trace })
    }

    fn needs_structure(&self) -> bool {
        self.root.needs_structure()
            || self.of_trace.iter().any(|other| {
                other.steps.iter().any(Step::needs_structure) || other.formula.needs_structure()
            })
    }

    fn needs_family(&self) -> bool {
        self.of_trace
            .iter()
            .any(|other| other.steps.iter().any(Step::needs_family) || other.formula.needs_family())
    }

    fn of_trace(&self, trace: &impl Trace, scratch: &mut Scratch) -> Vec<Value<'static>> {
        let value = |other: &OfTrace| {
            let found = steps::run(&other.steps, trace, Spans::All(trace.spans()), scratch);
            let mut spans: Vec<u32> = found.into_iter().flat_map(|set| set.spans).collect();
            spans.sort_unstable();
            spans.dedup();
            let inner = other.formula.of_trace(trace, scratch);
            let structure = &scratch.structure;
            other.formula.root.value(trace, structure, &spans, &inner, &mut Vec::new())
        };
        self.of_trace.iter().map(value).collect()
    }
}

fn term(
    scalar: &Scalar,
    slots: &mut Slots,
    of_trace: &mut Vec<OfTrace>,
) -> Result<Term, QueryError> {
    Ok(match scalar {
        Scalar::Literal(literal) => Term::Constant(Value::from(literal).into()),
        Scalar::Count => Term::Aggregate(Function::Count, scalar.to_string()),
        Scalar::Aggregate { function, of } => {
            let of = Expression::new(of, slots)?;
            Term::Aggregate(Function::Of(*function, of), scalar.to_string())
        }
        Scalar::Pipeline { pipeline, scalar } => {
            let steps = steps::compile(pipeline, slots)?;
            of_trace.push(OfTrace { steps, formula: Formula::new(scalar, slots)? });
            Term::OfTrace(of_trace.len() - 1)
        }
        Scalar::Binary { op, left, right } => Term::Compute {
            op: *op,
            left: Box::new(term(left, slots, of_trace)?),
            right: Box::new(term(right, slots, of_trace)?),
        },
    })
}

impl Term {
    fn needs_structure(&self) -> bool {
        match self {
            Term::Aggregate(Function::Of(_, of), _) => of.needs_structure(),
            Term::Compute { left, right, .. } => left.needs_structure() || right.needs_structure(),
            _ => false,
        }
    }

    fn value<'a>(
        &'a self,
        trace: &impl Trace,
        structure: &Structure,
        spans: &[u32],
        of_trace: &[Value<'static>],
        shown: &mut Shown<'a>,
    ) -> Value<'static> {
        match self {
            Term::Constant(value) => number(value.as_value()),
            Term::OfTrace(which) => of_trace.get(*which).copied().unwrap_or(Value::Nil),
            Term::Aggregate(function, text) => {
                let value = match function {
                    Function::Count => Value::Int(spans.len() as i64),
                    Function::Of(function, of) => aggregate(*function, of, trace, structure, spans),
                };
                shown.push((text, value));
                value
            }
            Term::Compute { op, left, right } => {
                let left = left.value(trace, structure, spans, of_trace, shown);
                let right = right.value(trace, structure, spans, of_trace, shown);
                arithmetic::compute(*op, left, right)
            }
        }
    }
}

/// A number, whatever it was borrowed from.
fn number(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Int(value) => Value::Int(value),
        Value::Float(value) => Value::Float(value),
        Value::Duration(nanos) => Value::Duration(nanos),
        _ => Value::Nil,
    }
}

/// An aggregate of the numbers among the values of spans; nothing of none.
fn aggregate(
    function: Aggregate,
    of: &Expression,
    trace: &impl Trace,
    structure: &Structure,
    spans: &[u32],
) -> Value<'static> {
    let mut total = Total::default();
    for span in spans {
        of.each_value(trace, structure, *span as usize, |value| total.add(number(value)));
    }
    match function {
        Aggregate::Min => total.least,
        Aggregate::Max => total.most,
        Aggregate::Sum => total.sum(),
        Aggregate::Avg => total.average(),
    }
}

struct Total {
    count: i64,
    integers: i128,
    floats: f64,
    has_int: bool,
    has_duration: bool,
    has_float: bool,
    least: Value<'static>,
    most: Value<'static>,
}

impl Default for Total {
    fn default() -> Total {
        Total {
            count: 0,
            integers: 0,
            floats: 0.0,
            has_int: false,
            has_duration: false,
            has_float: false,
            least: Value::Nil,
            most: Value::Nil,
        }
    }
}

impl Total {
    fn add(&mut self, value: Value<'static>) {
        match value {
            Value::Int(value) => {
                self.has_int = true;
                self.integers += i128::from(value);
            }
            Value::Duration(nanos) => {
                self.has_duration = true;
                self.integers += i128::from(nanos);
            }
            Value::Float(value) => {
                self.has_float = true;
                self.floats += value;
            }
            _ => return,
        }
        self.count += 1;
        let is_first = self.count == 1;
        if is_first || compare::compare(BinaryOp::Less, value, self.least) {
            self.least = value;
        }
        if is_first || compare::compare(BinaryOp::Greater, value, self.most) {
            self.most = value;
        }
    }

    fn sum(&self) -> Value<'static> {
        let exact = i64::try_from(self.integers).ok();
        match (self.has_int, self.has_duration, self.has_float, exact) {
            (false, false, false, _) => Value::Nil,
            (true, false, false, Some(sum)) => Value::Int(sum),
            (false, true, false, Some(sum)) => Value::Duration(sum),
            _ => Value::Float(self.integers as f64 + self.floats),
        }
    }

    fn average(&self) -> Value<'static> {
        if self.count == 0 {
            return Value::Nil;
        }
        if self.has_duration && !self.has_int && !self.has_float {
            // An average is not beyond what it is made of.
            return i64::try_from(self.integers / i128::from(self.count))
                .map_or(Value::Nil, Value::Duration);
        }
        Value::Float((self.integers as f64 + self.floats) / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Value::{Duration, Float, Int, Nil, Text};

    fn all(values: &[Value<'static>]) -> [Value<'static>; 4] {
        let mut total = Total::default();
        values.iter().for_each(|value| total.add(*value));
        [total.least, total.most, total.sum(), total.average()]
    }

    #[test]
    fn aggregates_keep_the_type_of_what_they_are_made_of() {
        assert_eq!(all(&[Int(1), Int(2)]), [Int(1), Int(2), Int(3), Float(1.5)]);
        assert_eq!(
            all(&[Duration(3), Duration(4)]),
            [Duration(3), Duration(4), Duration(7), Duration(3)]
        );
        assert_eq!(all(&[Int(1), Float(2.5)]), [Int(1), Float(2.5), Float(3.5), Float(1.75)]);
        assert_eq!(
            all(&[Int(i64::MAX), Int(1)]),
            [
                Int(1),
                Int(i64::MAX),
                Float(9_223_372_036_854_775_808.0),
                Float(4_611_686_018_427_387_904.0)
            ]
        );
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        assert_eq!(all(&[]), [Nil; 4]);
        assert_eq!(all(&[Nil, number(Text("5"))]), [Nil; 4]);
        assert_eq!(all(&[Nil, Int(5)]), [Int(5), Int(5), Int(5), Float(5.0)]);
    }
}
