//! Functions, aggregations and numbers.

use super::{MetricTree, Parser, Result};
use crate::ast::{
    BinaryOp, Grouping, LabelReplace, MetricExpr, RangeAggregation, RangeOp, Span,
    VectorAggregation, VectorOp,
};
use crate::extract::is_label_name;
use crate::lexer::{TokenKind, Word};
use crate::number;

impl Parser<'_> {
    /// What is no log query and no operator.
    pub(super) fn metric_operand(&mut self) -> Result<MetricTree> {
        let span = self.span();
        match *self.peek() {
            TokenKind::RangeOp(op) => self.range_aggregation(op),
            TokenKind::VectorOp(op) => self.vector_aggregation(op),
            TokenKind::ApproxTopk => {
                let message = "approx_topk is not supported: use topk, which is exact";
                Err(self.error(span, message))
            }
            TokenKind::LabelReplace => self.label_replace(),
            TokenKind::Vector => {
                self.skip();
                self.expect(&TokenKind::LeftParen, "(")?;
                let value = self.number("a number")?;
                self.expect(&TokenKind::RightParen, ")")?;
                Ok(MetricTree { expr: MetricExpr::VectorOf(value), height: 1 })
            }
            TokenKind::Number | TokenKind::Operator(BinaryOp::Add | BinaryOp::Sub) => {
                let value = self.signed_number("a number: signs stand before numbers only")?;
                Ok(MetricTree { expr: MetricExpr::Literal(value), height: 1 })
            }
            TokenKind::Identifier if self.peek_behind(1) == &TokenKind::LeftParen => {
                let name = self.text_of(span);
                Err(self.error(span, format!("{name} is no function of LogQL")))
            }
            _ => Err(self.unexpected("{ or a function")),
        }
    }

    /// A number without a sign.
    pub(super) fn number(&mut self, expected: &str) -> Result<f64> {
        let span = self.span();
        if self.peek() != &TokenKind::Number {
            return Err(self.unexpected(expected));
        }
        self.skip();
        let text = self.text_of(span);
        number::parse(text).ok_or_else(|| self.error(span, format!("{text} is no number")))
    }

    /// A number that may have a sign.
    pub(super) fn signed_number(&mut self, expected: &str) -> Result<f64> {
        let is_negative = match self.peek() {
            TokenKind::Operator(BinaryOp::Sub) => true,
            TokenKind::Operator(BinaryOp::Add) => false,
            _ => return self.number(expected),
        };
        self.skip();
        let value = self.number(expected)?;
        Ok(if is_negative { -value } else { value })
    }

    /// A number and a comma, if they are there.
    fn parameter(&mut self) -> Result<Option<(f64, Span)>> {
        let span = self.span();
        let is_there =
            self.peek() == &TokenKind::Number && self.peek_behind(1) == &TokenKind::Comma;
        if !is_there {
            return Ok(None);
        }
        let value = self.number("a number")?;
        self.skip();
        Ok(Some((value, span)))
    }

    fn grouping(&mut self) -> Result<Option<Grouping>> {
        let is_without = match self.peek() {
            TokenKind::Word(Word::By) => false,
            TokenKind::Word(Word::Without) => true,
            _ => return Ok(None),
        };
        self.skip();
        Ok(Some(Grouping { is_without, names: self.names_in_parens()? }))
    }

    fn range_aggregation(&mut self, op: RangeOp) -> Result<MetricTree> {
        let op_span = self.span();
        self.skip();
        self.expect(&TokenKind::LeftParen, "(")?;
        let parameter = self.parameter()?;
        match parameter {
            Some((_, span)) if op != RangeOp::QuantileOverTime => {
                return Err(self.error(span, format!("{op} takes no parameter")));
            }
            None if op == RangeOp::QuantileOverTime => {
                return Err(self.unexpected("a number without sign and a comma: the quantile"));
            }
            _ => {}
        }
        let range = self.nested(Self::log_range)?;
        self.expect(&TokenKind::RightParen, ")")?;
        let grouping_span = self.span();
        let grouping = self.grouping()?;
        if grouping.is_some() && !takes_grouping(op) {
            let message = format!("{op} takes no grouping: write sum by (...) ({op}(...))");
            return Err(self.error(grouping_span, message));
        }
        if range.unwrap.is_some() && !works_unwrapped(op) {
            return Err(self.error(op_span, format!("{op} counts lines: leave out unwrap")));
        }
        if range.unwrap.is_none() && !works_on_lines(op) {
            let message = format!("{op} needs numbers: add | unwrap label before the range");
            return Err(self.error(op_span, message));
        }
        let parameter = parameter.map(|(value, _)| value);
        let expr = MetricExpr::Range(RangeAggregation { op, parameter, range, grouping });
        Ok(MetricTree { expr, height: 1 })
    }

    fn vector_aggregation(&mut self, op: VectorOp) -> Result<MetricTree> {
        self.skip();
        let grouping_span = self.span();
        let mut grouping = self.grouping()?;
        self.expect(&TokenKind::LeftParen, "(")?;
        let parameter = self.parameter()?;
        let inner_span = self.span();
        let inner = self.metric_expression()?;
        if matches!(inner.expr, MetricExpr::Literal(_)) {
            return Err(self.error(inner_span, format!("{op} works on series, not on a number")));
        }
        self.expect(&TokenKind::RightParen, "an operator or )")?;
        let second_span = self.span();
        if let Some(second) = self.grouping()? {
            if grouping.is_some() {
                return Err(self.error(second_span, "a grouping may stand only once"));
            }
            grouping = Some(second);
        }
        let is_sort = matches!(op, VectorOp::Sort | VectorOp::SortDesc);
        if is_sort && grouping.as_ref().is_some_and(|grouping| !grouping.names.is_empty()) {
            return Err(self.error(grouping_span, format!("{op} takes no grouping")));
        }
        let parameter = self.count_of(op, parameter, inner_span)?;
        let inner_height = inner.height;
        let aggregation =
            VectorAggregation { op, parameter, grouping, inner: Box::new(inner.expr) };
        Ok(MetricTree { expr: MetricExpr::Vector(aggregation), height: inner_height + 1 })
    }

    /// How many series `topk` and `bottomk` keep.
    fn count_of(
        &self,
        op: VectorOp,
        parameter: Option<(f64, Span)>,
        inner_span: Span,
    ) -> Result<Option<usize>> {
        let takes_count = matches!(op, VectorOp::Topk | VectorOp::Bottomk);
        match parameter {
            None if takes_count => {
                let message = format!("{op} needs a number first: {op}(5, ...)");
                Err(self.error(inner_span, message))
            }
            None => Ok(None),
            Some((_, span)) if !takes_count => {
                Err(self.error(span, format!("{op} takes no parameter")))
            }
            Some((value, span)) if value < 1.0 || value.fract() != 0.0 => {
                let message = format!("{op} keeps a whole number of series, 1 or more");
                Err(self.error(span, message))
            }
            // Beyond what fits all series are kept anyway.
            Some((value, _)) => Ok(Some(value as usize)),
        }
    }

    fn label_replace(&mut self) -> Result<MetricTree> {
        self.skip();
        self.expect(&TokenKind::LeftParen, "(")?;
        let inner_span = self.span();
        let inner = self.metric_expression()?;
        if matches!(inner.expr, MetricExpr::Literal(_)) {
            let message = "label_replace works on series, not on a number";
            return Err(self.error(inner_span, message));
        }
        let mut texts = Vec::with_capacity(4);
        let mut spans = Vec::with_capacity(4);
        for what in ["target", "replacement", "source", "pattern"] {
            self.expect(&TokenKind::Comma, &format!(", and the {what}"))?;
            spans.push(self.span());
            texts.push(self.quoted(&format!("a text: the {what}"))?);
        }
        self.expect(&TokenKind::RightParen, ")")?;
        // Four were read.
        let mut texts = texts.into_iter();
        let mut next = || texts.next().unwrap_or_default();
        let (to, replacement, from, pattern) = (next(), next(), next(), next());
        if !is_label_name(&to) {
            let span = spans.first().copied().unwrap_or_default();
            return Err(self.error(span, format!("{to:?} is no name for a label")));
        }
        if let Err(message) = kymo_pattern::compile(&pattern, self.pattern_bytes) {
            return Err(self.error(spans.last().copied().unwrap_or_default(), message));
        }
        let height = inner.height + 1;
        let replace = LabelReplace { inner: inner.expr, to, replacement, from, pattern };
        Ok(MetricTree { expr: MetricExpr::LabelReplace(Box::new(replace)), height })
    }
}

fn takes_grouping(op: RangeOp) -> bool {
    matches!(
        op,
        RangeOp::AvgOverTime
            | RangeOp::MinOverTime
            | RangeOp::MaxOverTime
            | RangeOp::StddevOverTime
            | RangeOp::StdvarOverTime
            | RangeOp::QuantileOverTime
            | RangeOp::FirstOverTime
            | RangeOp::LastOverTime
    )
}

fn works_on_lines(op: RangeOp) -> bool {
    matches!(
        op,
        RangeOp::Rate
            | RangeOp::CountOverTime
            | RangeOp::BytesRate
            | RangeOp::BytesOverTime
            | RangeOp::AbsentOverTime
    )
}

fn works_unwrapped(op: RangeOp) -> bool {
    !matches!(op, RangeOp::CountOverTime | RangeOp::BytesRate | RangeOp::BytesOverTime)
}
