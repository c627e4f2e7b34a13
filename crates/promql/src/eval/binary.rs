//! Operators between expressions: numbers, vectors, and one with the other.

use super::arithmetic::{arithmetic, changes_meaning, compare, scalar};
use super::elements::combine;
use super::error::EvalError;
use super::evaluator::{Evaluated, Evaluator};
use super::grid::{ABSENT, Grid, Steps, is_absent, present};
use super::matching::{Match, set_operation};
use super::plan::BinaryPlan;
use crate::annotations::Annotations;
use crate::ast::{BinaryOp, Span};
use crate::sample::Value;

impl Evaluator<'_> {
    /// Evaluates an operator between two expressions.
    pub(crate) fn eval_binary(
        &self,
        binary: &BinaryPlan,
        span: Span,
        steps: &Steps,
    ) -> Result<Evaluated, EvalError> {
        let (left, right) = (self.eval(&binary.left, steps)?, self.eval(&binary.right, steps)?);
        let grid = match (left, right) {
            (Evaluated::Scalar(left), Evaluated::Scalar(right)) => {
                let both = left.iter().zip(&right);
                let values = both.map(|(left, right)| scalar(binary.op, *left, *right));
                return Ok(Evaluated::Scalar(values.collect()));
            }
            (Evaluated::Grid(left), Evaluated::Grid(right)) if binary.op.is_set() => {
                set_operation(binary.op, &binary.matching, left, right)?
            }
            (Evaluated::Grid(left), Evaluated::Grid(right)) => {
                self.check_samples(left.cells().max(right.cells()))?;
                let mut notes = Annotations::default();
                let delays_names = self.options.delayed_name_removal;
                let matched = Match { binary, span, delays_names };
                let grid = matched.combine(&left, &right, &mut notes)?;
                self.note(notes);
                grid
            }
            (Evaluated::Grid(vector), Evaluated::Scalar(scalars)) => {
                self.with_scalar(binary, span, vector, &scalars, false)
            }
            (Evaluated::Scalar(scalars), Evaluated::Grid(vector)) => {
                self.with_scalar(binary, span, vector, &scalars, true)
            }
            _ => return Err(EvalError::Execution("an operator cannot have a text".to_owned())),
        };
        let grid = grid.without_empty_rows();
        Ok(Evaluated::Grid(if self.options.delayed_name_removal { grid } else { grid.merged()? }))
    }

    /// An operator between a vector and numbers; `is_swapped` if the numbers stand
    /// before it.
    fn with_scalar(
        &self,
        binary: &BinaryPlan,
        span: Span,
        mut vector: Grid,
        scalars: &[f64],
        is_swapped: bool,
    ) -> Grid {
        let (op, returns_bool) = (binary.op, binary.returns_bool);
        if changes_meaning(op) || returns_bool {
            vector.rows.iter_mut().for_each(|row| self.drop_name(row));
        }
        if vector.has_histograms() || matches!(op, BinaryOp::TrimLower | BinaryOp::TrimUpper) {
            let mut notes = Annotations::default();
            let grid = values_with_scalar(binary, span, &vector, scalars, is_swapped, &mut notes);
            self.note(notes);
            return grid;
        }
        for row in 0..vector.rows.len() {
            for (cell, scalar) in vector.floats_mut(row).iter_mut().zip(scalars) {
                if is_absent(*cell) {
                    continue;
                }
                let (a, b) = if is_swapped { (*scalar, *cell) } else { (*cell, *scalar) };
                *cell = match compare(op, a, b) {
                    None => present(arithmetic(op, a, b)),
                    Some(holds) if returns_bool => f64::from(u8::from(holds)),
                    Some(true) => *cell,
                    Some(false) => ABSENT,
                };
            }
        }
        vector
    }
}

/// The same where there are histograms.
fn values_with_scalar(
    binary: &BinaryPlan,
    span: Span,
    vector: &Grid,
    scalars: &[f64],
    is_swapped: bool,
    notes: &mut Annotations,
) -> Grid {
    let mut result = Grid::new(vector.steps, vector.rows.clone());
    for row in 0..vector.rows.len() {
        for (step, scalar) in scalars.iter().enumerate() {
            let Some(value) = vector.get(row, step) else { continue };
            let scalar = Value::Float(*scalar);
            let (a, b) = if is_swapped { (&scalar, &value) } else { (&value, &scalar) };
            let Some(combined) = combine(binary.op, a, b, span, notes) else { continue };
            if binary.returns_bool {
                let holds = f64::from(u8::from(combined.holds));
                result.set(row, step, Value::Float(holds));
            } else if combined.holds {
                // A comparison keeps the vector's value, on whichever side it stands.
                let is_comparison = binary.op.is_comparison();
                result.set(row, step, if is_comparison { value } else { combined.value });
            }
        }
    }
    result
}
