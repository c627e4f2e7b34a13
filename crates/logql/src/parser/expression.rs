//! Operators and what stands between them.

use super::{MetricTree, Parser, Result, Tree};
use crate::ast::{Binary, BinaryOp, CompareOp, Expr, MetricExpr, Span};
use crate::lexer::TokenKind;
use crate::limits::MAX_HEIGHT;
use crate::operate::operate;

/// How tightly an operator binds.
fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And | BinaryOp::Unless => 2,
        BinaryOp::Compare(_) => 3,
        BinaryOp::Add | BinaryOp::Sub => 4,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => 5,
        BinaryOp::Pow => 6,
    }
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Result<Tree> {
        self.nested(|parser| parser.operands(0))
    }

    /// An expression that must give numbers.
    pub(super) fn metric_expression(&mut self) -> Result<MetricTree> {
        let tree = self.expression()?;
        self.metric_of(tree, "here")
    }

    pub(super) fn metric_of(&self, tree: Tree, place: &str) -> Result<MetricTree> {
        match tree.expr {
            Expr::Metric(expr) => Ok(MetricTree { expr, height: tree.height }),
            Expr::Log(_) => {
                let message = format!(
                    "a log query cannot stand {place}: expected numbers, such as \
                     count_over_time(... [5m])"
                );
                Err(self.error(tree.span, message))
            }
        }
    }

    /// Operands of operators that bind more tightly than that.
    fn operands(&mut self, above: u8) -> Result<Tree> {
        let mut left = self.operand()?;
        while let Some(op) = self.operator() {
            let strength = strength(op);
            if strength <= above {
                break;
            }
            let op_span = self.span();
            self.skip();
            let modifier = self.modifier()?;
            // The one operator that groups to the right takes its equals as its operand.
            let right_above = if op == BinaryOp::Pow { strength - 1 } else { strength };
            let right = self.nested(|parser| parser.operands(right_above))?;
            let span = Span { start: left.span.start, end: right.span.end };
            let left_tree = self.metric_of(left, "left of an operator")?;
            let right_tree = self.metric_of(right, "right of an operator")?;
            let height = left_tree.height.max(right_tree.height) + 1;
            if height > MAX_HEIGHT {
                let message = format!(
                    "the query is too complex: {MAX_HEIGHT} operators in each other are read"
                );
                return Err(self.error(op_span, message));
            }
            let (returns_bool, matching) = modifier;
            let binary =
                Binary { op, returns_bool, matching, left: left_tree.expr, right: right_tree.expr };
            let expr = Expr::Metric(self.folded(binary, op_span)?);
            left = Tree { expr, span, height };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<BinaryOp> {
        match self.peek() {
            TokenKind::Operator(op) => Some(*op),
            TokenKind::NotEqual => Some(BinaryOp::Compare(CompareOp::NotEqual)),
            _ => None,
        }
    }

    /// Two numbers become one; sets want series.
    fn folded(&self, binary: Binary, span: Span) -> Result<MetricExpr> {
        let is_number = |expr: &MetricExpr| matches!(expr, MetricExpr::Literal(_));
        if binary.op.is_set() && (is_number(&binary.left) || is_number(&binary.right)) {
            let op = binary.op.symbol();
            let message = format!("{op} works on series, not on a number: write vector(...)");
            return Err(self.error(span, message));
        }
        match (&binary.left, &binary.right) {
            (MetricExpr::Literal(left), MetricExpr::Literal(right)) => {
                Ok(MetricExpr::Literal(operate(binary.op, *left, *right)))
            }
            _ => Ok(MetricExpr::Binary(Box::new(binary))),
        }
    }

    fn operand(&mut self) -> Result<Tree> {
        let start = self.span().start;
        let (expr, height) = match self.peek() {
            TokenKind::LeftBrace => (Expr::Log(self.log_expression()?), 1),
            TokenKind::LeftParen => {
                self.skip();
                let inner = self.expression()?;
                self.expect(&TokenKind::RightParen, "an operator or )")?;
                (inner.expr, inner.height)
            }
            _ => {
                let tree = self.metric_operand()?;
                (Expr::Metric(tree.expr), tree.height)
            }
        };
        Ok(Tree { expr, span: Span { start, end: self.last_span().end }, height })
    }
}
