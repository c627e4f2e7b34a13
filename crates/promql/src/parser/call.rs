//! Calls of functions, and aggregations.

use super::{Expected, Parser, Result, Tree};
use crate::ast::{Aggregate, AggregateOp, Call, Expr, Grouping, Node, Span};
use crate::function::Function;
use crate::lexer::{self, Keyword, TokenKind};
use crate::names::quoted;

/// Arguments, and the height of the highest.
struct Arguments {
    list: Vec<Expr>,
    height: usize,
}

impl Parser<'_> {
    /// A call: a name, which is the next token, and arguments.
    pub(super) fn call(&mut self) -> Result<Tree> {
        let name = self.next();
        let args = self.arguments()?;
        let told = self.text_of(name);
        let Some(function) = Function::find(told) else {
            let message = format!("unknown function with name {}", quoted(told));
            return Err(self.error(name.span, message));
        };
        if function.is_experimental && !self.options.experimental_functions {
            let message = format!("function {} is not enabled", quoted(told));
            return Err(self.error(name.span, message));
        }
        let span = Span { start: name.span.start, end: self.end_of_last() };
        let call = Call { function, args: args.list };
        self.tree(Node::Call(Box::new(call)), span, args.height)
    }

    /// An aggregation: its name, which is the next token, labels before or behind, and arguments.
    pub(super) fn aggregation(&mut self, op: AggregateOp) -> Result<Tree> {
        let name = self.next();
        let was_in_aggregation = std::mem::replace(&mut self.is_in_aggregation, true);
        let before = self.grouping()?;
        let args = self.arguments()?;
        self.is_in_aggregation = was_in_aggregation;
        let grouping = match before {
            Some(grouping) => Some(grouping),
            None => self.grouping()?,
        };
        if grouping.is_none() {
            self.check_next()?;
        }
        let grouping = grouping.unwrap_or_default();
        let span = Span { start: name.span.start, end: self.end_of_last() };
        let height = args.height;
        let (param, expr) = self.aggregated(op, args.list, span)?;
        let aggregate = Aggregate { op, expr, param, grouping };
        self.tree(Node::Aggregate(Box::new(aggregate)), span, height)
    }

    /// The parameter of an aggregation, if it has one, and what is aggregated.
    fn aggregated(
        &self,
        op: AggregateOp,
        mut args: Vec<Expr>,
        span: Span,
    ) -> Result<(Option<Expr>, Expr)> {
        let got = args.len();
        if got == 0 {
            return Err(self.error(span, "no arguments for aggregate expression provided"));
        }
        if op.is_experimental() && !self.options.experimental_functions {
            let message = format!(
                "{}() is experimental and must be enabled with \
                 --enable-feature=promql-experimental-functions",
                op.name()
            );
            return Err(self.error(span, message));
        }
        let wanted = if op.has_param() { 2 } else { 1 };
        match (args.pop(), args.pop(), args.is_empty()) {
            (Some(expr), param, true) if param.is_some() == op.has_param() => Ok((param, expr)),
            _ => {
                let message = format!(
                    "wrong number of arguments for aggregate expression provided, \
                     expected {wanted}, got {got}"
                );
                Err(self.error(span, message))
            }
        }
    }

    /// `by` or `without` and labels, if they are there.
    fn grouping(&mut self) -> Result<Option<Grouping>> {
        let is_without = match self.peek().kind {
            TokenKind::Keyword(Keyword::By) => false,
            TokenKind::Keyword(Keyword::Without) => true,
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(Grouping { is_without, labels: self.label_names()? }))
    }

    /// Names of labels in parentheses.
    pub(super) fn label_names(&mut self) -> Result<Vec<String>> {
        let expected = |what| Expected { context: "grouping opts", what };
        self.expect(TokenKind::LeftParen, expected("\"(\""))?;
        let mut labels = Vec::new();
        loop {
            let token = self.peek();
            let label = match token.kind {
                TokenKind::RightParen => break,
                TokenKind::Text => lexer::unquoted(self.text_of(token)),
                kind if kind.is_label_name() => self.text_of(token).to_owned(),
                _ => return Err(self.unexpected(expected("label"))),
            };
            self.next();
            if label.is_empty() {
                return Err(self.error(token.span, "invalid label name for grouping: \"\""));
            }
            labels.push(label);
            if self.accept(TokenKind::Comma).is_some() {
                continue;
            }
            if self.peek().kind != TokenKind::RightParen {
                return Err(self.unexpected(expected("\",\" or \")\"")));
            }
        }
        self.next();
        Ok(labels)
    }

    /// Expressions in parentheses.
    fn arguments(&mut self) -> Result<Arguments> {
        self.expect(TokenKind::LeftParen, self.here())?;
        let mut args = Arguments { list: Vec::new(), height: 0 };
        if self.accept(TokenKind::RightParen).is_some() {
            return Ok(args);
        }
        loop {
            let argument = self.expression()?;
            args.height = args.height.max(argument.height);
            args.list.push(argument.expr);
            let Some(comma) = self.accept(TokenKind::Comma) else { break };
            let next = self.peek().kind;
            if next != TokenKind::Bad && !next.begins_expression() {
                let message = "trailing commas not allowed in function call args";
                return Err(self.error(comma.span, message));
            }
        }
        self.expect(TokenKind::RightParen, self.here())?;
        Ok(args)
    }
}
