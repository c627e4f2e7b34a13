//! Spansets, scalars and stages.
//!
//! What a parenthesis holds is known only at its end: `({ … })` is a spanset, `({ … } | count())`
//! a number, `({ … } | rate())` series. So everything outside of braces is read by one function
//! into a [`Part`], and `combine` decides what an operator means between two of them.

use super::types;
use super::{Parser, Result, field, joined};
use crate::ast::{
    Aggregate, BinaryOp, Literal, Metrics, Pipeline, Scalar, ScalarFilter, SpansetOp, Spansets,
    Stage,
};
use crate::lexer::TokenKind;
use crate::names::level;

/// A piece of a query, what it is, and where it begins.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) height: usize,
    pub(super) start: usize,
}

#[derive(Debug)]
pub(super) enum PartKind {
    Spansets(Spansets, Shape),
    Scalar(Scalar),
    Filter(ScalarFilter),
    /// `by(…)`, `coalesce()`, `select(…)`.
    Stage(Stage),
    Metrics(Metrics),
}

/// How spansets are written. A bare filter next to a wrapped pipeline, as in
/// `{ a } >> ({ b } | count() > 1)`, is refused: Tempo does, and queries should work in both. It
/// is fine in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{ a }`, `{ a } && { b }`.
    Bare,
    /// The same in parentheses.
    Parenthesised,
    /// `({ a } | …)`.
    Wrapped,
}

/// What a sequence of stages is.
pub(super) enum Piped {
    Pipeline {
        pipeline: Pipeline,
        /// If it is one stage of spansets.
        shape: Option<Shape>,
        height: usize,
    },
    /// `… | count()`, or a number without stages before it.
    Scalar {
        pipeline: Option<Pipeline>,
        scalar: Scalar,
        height: usize,
    },
    Metrics {
        metrics: Metrics,
        height: usize,
    },
}

/// Whether a word begins a stage or a number.
pub(super) fn is_stage_word(word: &str) -> bool {
    matches!(word, "count" | "by" | "coalesce" | "select") || Aggregate::from_name(word).is_some()
}

impl Parser<'_> {
    /// Stages with `|` between them.
    pub(super) fn piped(&mut self) -> Result<Piped> {
        let first = self.part(level::ANY)?;
        let (mut height, start) = (first.height, first.start);
        let mut shape = None;
        let stage = match first.kind {
            PartKind::Metrics(mut metrics) => {
                self.series_stages(&mut metrics)?;
                return Ok(Piped::Metrics { metrics, height });
            }
            PartKind::Scalar(scalar) => {
                return Ok(Piped::Scalar { pipeline: None, scalar, height });
            }
            PartKind::Stage(Stage::Coalesce) => {
                return Err(self.syntax(start, "coalesce() needs spansets before it"));
            }
            PartKind::Spansets(spansets, written) => {
                shape = Some(written);
                Stage::Spansets(spansets)
            }
            PartKind::Filter(filter) => Stage::Scalars(filter),
            PartKind::Stage(stage) => stage,
        };
        let mut pipeline = Pipeline { stages: vec![stage] };
        while self.accept(&TokenKind::Pipe) {
            shape = None;
            if let Some(function) = self.metrics_function()? {
                let metrics = self.metrics_query(pipeline, function)?;
                return Ok(Piped::Metrics { metrics, height });
            }
            if matches!(self.peek(), TokenKind::Word("topk" | "bottomk")) {
                return Err(self.unexpected("a stage; only series have a top, as of rate()"));
            }
            let part = self.part(level::ANY)?;
            height = height.max(part.height);
            pipeline.stages.push(match part.kind {
                PartKind::Spansets(spansets, _) => Stage::Spansets(spansets),
                PartKind::Filter(filter) => Stage::Scalars(filter),
                PartKind::Stage(stage) => stage,
                PartKind::Scalar(scalar) => {
                    return Ok(Piped::Scalar { pipeline: Some(pipeline), scalar, height });
                }
                PartKind::Metrics(_) => {
                    return Err(self.syntax(part.start, "series are no stage of a pipeline"));
                }
            });
        }
        Ok(Piped::Pipeline { pipeline, shape, height })
    }

    /// What operators that bind at least so tightly make.
    pub(super) fn part(&mut self, loosest: u8) -> Result<Part> {
        let mut left = self.part_operand()?;
        loop {
            let op_level = match self.peek() {
                TokenKind::Operator(op) => op.level(),
                TokenKind::Structural(..) => level::COMPARISON,
                _ => return Ok(left),
            };
            if op_level < loosest {
                return Ok(left);
            }
            if op_level == level::LOGICAL {
                left = self.logical_parts(left)?;
                continue;
            }
            let token = self.token().clone();
            self.advance();
            let right = match op_level {
                // It binds to the right, so that each is within the one before.
                level::POWER => self.nested(|parser| parser.part(level::POWER))?,
                _ => self.part(op_level + 1)?,
            };
            left = self.combined_parts(&token, left, right)?;
        }
    }

    /// `first && … || …`: both on one level, from the left.
    fn logical_parts(&mut self, first: Part) -> Result<Part> {
        let mut run = vec![first];
        let mut run_op = SpansetOp::And;
        while let TokenKind::Operator(op @ (BinaryOp::And | BinaryOp::Or)) = *self.peek() {
            let op = if op == BinaryOp::And { SpansetOp::And } else { SpansetOp::Or };
            if op != run_op && run.len() > 1 {
                run = vec![self.spansets_run(run_op, run)?];
            }
            run_op = op;
            for left in &run[run.len() - 1..] {
                self.check_spansets(left)?;
            }
            self.advance();
            let right = self.part(level::COMPARISON)?;
            self.check_spansets(&right)?;
            run.push(right);
        }
        self.spansets_run(run_op, run)
    }

    fn spansets_run(&self, op: SpansetOp, run: Vec<Part>) -> Result<Part> {
        let start = run.first().map_or(0, |first| first.start);
        let tree = joined(run, &mut |left, right| self.combined_spansets(op, left, right))?;
        // A run has operands.
        tree.ok_or_else(|| self.syntax(start, "expected \"{\""))
    }

    fn part_operand(&mut self) -> Result<Part> {
        let start = self.token().start;
        let scalar = |scalar| Ok(Part { kind: PartKind::Scalar(scalar), height: 1, start });
        match self.peek() {
            TokenKind::OpenBrace => {
                let filter = self.filter()?;
                let height = self.height_above(filter.height, start)?;
                let spansets = Spansets::Filter(filter.expr);
                return Ok(Part { kind: PartKind::Spansets(spansets, Shape::Bare), height, start });
            }
            TokenKind::OpenParen => {
                self.advance();
                let inside = self.nested(|parser| parser.piped())?;
                self.expect(&TokenKind::CloseParen, "an operator, \"|\" or \")\"")?;
                return self.parenthesised(inside, start);
            }
            TokenKind::Operator(BinaryOp::Subtract) => {
                self.advance();
                let operand = self.nested(|parser| parser.part_operand())?;
                if let PartKind::Scalar(Scalar::Literal(literal)) = &operand.kind
                    && let Some(literal) = field::negated(literal)
                {
                    return scalar(Scalar::Literal(literal));
                }
                return Err(self.syntax(start, "only a constant number has a sign here"));
            }
            TokenKind::Int(_) | TokenKind::Float(_) | TokenKind::Duration(_) => {}
            TokenKind::Word("minInt" | "maxInt") => {}
            TokenKind::Word(word) if is_stage_word(word) => return self.stage(start),
            _ => return Err(self.unexpected("\"{\", \"(\", a stage or a number")),
        }
        match self.accept_literal() {
            Some(literal) => scalar(Scalar::Literal(literal)),
            None => Err(self.unexpected("a number")),
        }
    }

    fn parenthesised(&self, inside: Piped, start: usize) -> Result<Part> {
        let (kind, height) = match inside {
            Piped::Metrics { metrics, height } => (PartKind::Metrics(metrics), height),
            Piped::Scalar { pipeline: None, scalar, height } => (PartKind::Scalar(scalar), height),
            Piped::Scalar { pipeline: Some(pipeline), scalar, height } => {
                let (pipeline, scalar) = (Box::new(pipeline), Box::new(scalar));
                (PartKind::Scalar(Scalar::Pipeline { pipeline, scalar }), height)
            }
            Piped::Pipeline { mut pipeline, shape, height } => {
                let spansets = match (shape, pipeline.stages.pop()) {
                    (Some(shape), Some(Stage::Spansets(spansets))) => {
                        let shape = match shape {
                            Shape::Bare | Shape::Parenthesised => Shape::Parenthesised,
                            Shape::Wrapped => Shape::Wrapped,
                        };
                        return Ok(Part {
                            kind: PartKind::Spansets(spansets, shape),
                            height,
                            start,
                        });
                    }
                    (_, last) => {
                        pipeline.stages.extend(last);
                        Spansets::Pipeline(Box::new(pipeline))
                    }
                };
                (PartKind::Spansets(spansets, Shape::Wrapped), height)
            }
        };
        let height = self.height_above(height, start)?;
        Ok(Part { kind, height, start })
    }

    /// An aggregate, `by(…)`, `coalesce()` or `select(…)`.
    fn stage(&mut self, start: usize) -> Result<Part> {
        let TokenKind::Word(word) = *self.peek() else {
            return Err(self.unexpected("a stage"));
        };
        self.advance();
        self.open_paren()?;
        let mut height = 1;
        let kind = match word {
            "count" => {
                self.close_paren()?;
                PartKind::Scalar(Scalar::Count)
            }
            "coalesce" => {
                self.close_paren()?;
                PartKind::Stage(Stage::Coalesce)
            }
            "select" => PartKind::Stage(Stage::Select(self.attributes()?)),
            _ => {
                self.in_stage = true;
                let inside = self.nested(|parser| parser.field(level::ANY))?;
                self.in_stage = false;
                self.expect(&TokenKind::CloseParen, "an operator or \")\"")?;
                height = self.height_above(inside.height, start)?;
                let (checked, kind) = match Aggregate::from_name(word) {
                    Some(function) => (
                        types::check_aggregate(word, &inside),
                        PartKind::Scalar(Scalar::Aggregate { function, of: inside.expr }),
                    ),
                    None => (types::check_group(&inside), PartKind::Stage(Stage::By(inside.expr))),
                };
                checked.map_err(|message| self.mistyped(start, message))?;
                kind
            }
        };
        Ok(Part { kind, height, start })
    }
}

/// The constant that a part is.
pub(super) fn constant(part: &Part) -> Option<&Literal> {
    match &part.kind {
        PartKind::Scalar(Scalar::Literal(literal)) => Some(literal),
        _ => None,
    }
}
