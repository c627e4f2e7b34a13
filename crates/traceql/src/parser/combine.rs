//! What operators mean between spansets, scalars and series.

use super::fold::folded;
use super::metrics;
use super::pipeline::{Part, PartKind, Shape, constant};
use super::{Parser, Result};
use crate::ast::{
    BinaryOp, Literal, Metrics, Mode, Relation, Scalar, ScalarFilter, SeriesStage, SpansetOp,
    Spansets,
};
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// `left op right` for anything but `&&` and `||`.
    pub(super) fn combined_parts(
        &self,
        token: &Token<'_>,
        left: Part,
        right: Part,
    ) -> Result<Part> {
        let sign = &self.text[token.start..token.end];
        let fail = |message: String| Err(self.syntax(token.start, &message));
        let op = match token.kind {
            TokenKind::Operator(op) => Some(op),
            _ => None,
        };
        match (&left.kind, &right.kind) {
            (PartKind::Spansets(..), PartKind::Spansets(..)) => match structural(&token.kind) {
                Some(op) => self.combined_spansets(op, left, right),
                None => fail(format!("spansets cannot be combined by {sign:?}")),
            },
            (PartKind::Scalar(_), PartKind::Scalar(_)) => match op {
                Some(op) => self.combined_scalars(token, op, left, right),
                None => fail(format!("numbers cannot be combined by {sign:?}")),
            },
            (PartKind::Metrics(_), PartKind::Metrics(_) | PartKind::Scalar(_))
            | (PartKind::Scalar(_), PartKind::Metrics(_)) => match op {
                Some(op) => self.combined_series(token, op, left, right),
                None => fail(format!("series cannot be combined by {sign:?}")),
            },
            _ => fail(format!(
                "{} and {} cannot be combined by {sign:?}",
                described(&left),
                described(&right)
            )),
        }
    }

    pub(super) fn check_spansets(&self, part: &Part) -> Result<()> {
        if matches!(part.kind, PartKind::Spansets(..)) {
            return Ok(());
        }
        let found = described(part);
        Err(self.syntax(part.start, &format!("&& and || combine spansets, but this is {found}")))
    }

    pub(super) fn combined_spansets(&self, op: SpansetOp, left: Part, right: Part) -> Result<Part> {
        let height = self.height_above(left.height.max(right.height), left.start)?;
        let start = left.start;
        let (PartKind::Spansets(left, left_shape), PartKind::Spansets(right, right_shape)) =
            (left.kind, right.kind)
        else {
            return Err(self.syntax(start, "only spansets can be combined so"));
        };
        let shape = match (left_shape, right_shape) {
            (Shape::Bare, Shape::Wrapped) | (Shape::Wrapped, Shape::Bare) => {
                let message = "a filter is combined with a pipeline in parentheses: put the \
                               filter in parentheses too, as in ({ … }) && ({ … } | count() > 1)";
                return Err(self.syntax(start, message));
            }
            (Shape::Parenthesised, shape) | (shape, _) => shape,
        };
        let spansets = Spansets::Binary { op, left: Box::new(left), right: Box::new(right) };
        Ok(Part { kind: PartKind::Spansets(spansets, shape), height, start })
    }

    fn combined_scalars(
        &self,
        token: &Token<'_>,
        op: BinaryOp,
        left: Part,
        right: Part,
    ) -> Result<Part> {
        let start = left.start;
        let height = self.height_above(left.height.max(right.height), start)?;
        if let (Some(one), Some(other)) = (constant(&left), constant(&right))
            && !op.compares()
        {
            let folded = folded(op, one, other).map_err(|m| self.syntax(token.start, m))?;
            if let Some(literal) = folded {
                let kind = PartKind::Scalar(Scalar::Literal(literal));
                return Ok(Part { kind, height: 1, start });
            }
        }
        let (PartKind::Scalar(left), PartKind::Scalar(right)) = (left.kind, right.kind) else {
            return Err(self.syntax(start, "only numbers can be combined so"));
        };
        if !op.compares() {
            if matches!(op, BinaryOp::Match | BinaryOp::NotMatch) {
                return Err(self.syntax(token.start, "a number matches no regular expression"));
            }
            let (left, right) = (Box::new(left), Box::new(right));
            let kind = PartKind::Scalar(Scalar::Binary { op, left, right });
            return Ok(Part { kind, height, start });
        }
        if is_constant(&left) && is_constant(&right) {
            let message = "both sides are constants: compare something of the spans, as count()";
            return Err(self.syntax(start, message));
        }
        Ok(Part { kind: PartKind::Filter(ScalarFilter { left, op, right }), height, start })
    }

    fn combined_series(
        &self,
        token: &Token<'_>,
        op: BinaryOp,
        left: Part,
        right: Part,
    ) -> Result<Part> {
        let start = left.start;
        let height = self.height_above(left.height.max(right.height), start)?;
        if op.compares() {
            let threshold = constant(&right).cloned();
            return match (left.kind, threshold) {
                (PartKind::Metrics(mut metrics), Some(threshold)) => {
                    let stage = SeriesStage::Filter(op, threshold);
                    self.push_stage(&mut metrics, stage, token.start)?;
                    Ok(Part { kind: PartKind::Metrics(metrics), height, start })
                }
                _ => Err(self.syntax(token.start, "series are compared with a number after them")),
            };
        }
        if !matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide)
        {
            let message = format!("series cannot be combined by {:?}", op.sign());
            return Err(self.syntax(token.start, &message));
        }
        let (left, right) = (self.series_operand(left)?, self.series_operand(right)?);
        let (left, right) = (Box::new(left), Box::new(right));
        let metrics = Metrics::Binary { op, left, right, stages: Vec::new() };
        Ok(Part { kind: PartKind::Metrics(metrics), height, start })
    }

    /// A side of arithmetic of series.
    fn series_operand(&self, part: Part) -> Result<Metrics> {
        match part.kind {
            PartKind::Metrics(metrics) if metrics::is_compare(&metrics) => {
                let message = "nothing can be computed from what compare() gives".to_owned();
                Err(self.mistyped(part.start, message))
            }
            PartKind::Metrics(metrics) => Ok(metrics),
            PartKind::Scalar(Scalar::Literal(literal @ (Literal::Int(_) | Literal::Float(_)))) => {
                Ok(Metrics::Literal(literal))
            }
            _ => Err(self.syntax(part.start, "series are combined with series or numbers")),
        }
    }
}

fn described(part: &Part) -> &'static str {
    match part.kind {
        PartKind::Spansets(..) => "a spanset",
        PartKind::Scalar(_) => "a number",
        PartKind::Filter(_) => "a comparison",
        PartKind::Stage(_) => "a stage",
        PartKind::Metrics(_) => "series",
    }
}

/// What a sign means between spansets.
fn structural(kind: &TokenKind<'_>) -> Option<SpansetOp> {
    let (relation, mode) = match kind {
        TokenKind::Structural(relation, mode) => (*relation, *mode),
        TokenKind::Operator(BinaryOp::Greater) => (Relation::Child, Mode::Related),
        TokenKind::Operator(BinaryOp::Less) => (Relation::Parent, Mode::Related),
        TokenKind::Operator(BinaryOp::NotMatch) => (Relation::Sibling, Mode::Unrelated),
        _ => return None,
    };
    Some(SpansetOp::Structural { relation, mode })
}

fn is_constant(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Literal(_) => true,
        Scalar::Binary { left, right, .. } => is_constant(left) && is_constant(right),
        _ => false,
    }
}
