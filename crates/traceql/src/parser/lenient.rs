//! What can be understood of an unfinished query.
//!
//! While somebody types, the page asks which tags and values there are, with the query so far:
//! `{ resource.service.name = "x" && span. }`. What is complete in it narrows the answer; the rest
//! is left out.

use super::{Parser, joined};
use crate::ast::{BinaryOp, Expr};
use crate::lexer::TokenKind;
use crate::limits::MAX_UNFINISHED;
use crate::names::level;

/// The complete comparisons of a filter, joined by the `&&` and `||` between them; nothing if
/// there are none, or if the query is more than one filter and stages after it.
pub fn parse_filter_leniently(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(text).ok()?;
    let is_brace = |parser: &Parser<'_>, at: usize| parser.tokens[at].kind == TokenKind::OpenBrace;
    let braces = (0..parser.tokens.len()).filter(|at| is_brace(&parser, *at)).count();
    if braces != 1 || !is_brace(&parser, 0) {
        return None;
    }
    parser.advance();
    Some(parser.lenient(0)?.expr)
}

/// An expression that is understood, and its height.
struct Understood {
    expr: Expr,
    height: usize,
}

impl Parser<'_> {
    /// Terms with `&&` and `||` between them, up to the brace or parenthesis that ends them.
    fn lenient(&mut self, depth: usize) -> Option<Understood> {
        let mut run: Vec<Understood> = Vec::new();
        let mut run_op = BinaryOp::And;
        let mut op = BinaryOp::And;
        loop {
            if let Some(term) = self.lenient_term(depth) {
                if op != run_op && run.len() > 1 {
                    run = self.lenient_run(run_op, run).into_iter().collect();
                }
                run_op = op;
                run.push(term);
            }
            self.skip_term();
            match *self.peek() {
                TokenKind::Operator(next) => op = next,
                _ => return self.lenient_run(run_op, run),
            }
            self.advance();
        }
    }

    fn lenient_run(&self, op: BinaryOp, run: Vec<Understood>) -> Option<Understood> {
        let join = &mut |left: Understood, right: Understood| {
            let height = self.height_above(left.height.max(right.height), 0)?;
            let (left, right) = (Box::new(left.expr), Box::new(right.expr));
            Ok(Understood { expr: Expr::Binary { op, left, right }, height })
        };
        joined(run, join).ok().flatten()
    }

    /// A comparison, or some in parentheses.
    fn lenient_term(&mut self, depth: usize) -> Option<Understood> {
        let (start, patterns) = (self.at, self.patterns.len());
        if let Ok(term) = self.field(level::COMPARISON)
            && self.ends_term()
            && self.check_patterns_from(patterns).is_ok()
        {
            // What is no comparison may still become one: `{ span.foo` is not about a boolean.
            let is_complete = matches!(term.expr, Expr::Binary { .. } | Expr::Not(_));
            return is_complete.then_some(Understood { expr: term.expr, height: term.height });
        }
        self.at = start;
        self.nesting = 0;
        self.patterns.truncate(patterns);
        if *self.peek() != TokenKind::OpenParen || depth == MAX_UNFINISHED {
            return None;
        }
        self.advance();
        let inside = self.lenient(depth + 1);
        self.accept(&TokenKind::CloseParen);
        inside
    }

    fn ends_term(&self) -> bool {
        matches!(
            self.peek(),
            TokenKind::Operator(BinaryOp::And | BinaryOp::Or)
                | TokenKind::CloseParen
                | TokenKind::CloseBrace
                | TokenKind::End
        )
    }

    /// Goes to what ends the term, past parentheses within it.
    fn skip_term(&mut self) {
        let mut open = 0usize;
        while open > 0 || !self.ends_term() {
            match self.peek() {
                TokenKind::OpenParen => open += 1,
                TokenKind::CloseParen => open -= 1,
                TokenKind::CloseBrace | TokenKind::End => return,
                _ => {}
            }
            self.advance();
        }
    }
}
