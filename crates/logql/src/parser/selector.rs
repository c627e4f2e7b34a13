//! Selectors and matchers.

use super::stage::Place;
use super::{Parser, Result};
use crate::ast::LogExpr;
use crate::lexer::TokenKind;
use crate::matcher::{LabelMatcher, MatchOp};

impl Parser<'_> {
    /// A selector and its stages.
    pub(super) fn log_expression(&mut self) -> Result<LogExpr> {
        let matchers = self.selector()?;
        let stages = self.stages(Place::Query)?;
        Ok(LogExpr { matchers, stages })
    }

    /// Matchers of which one at least does not match everything.
    pub(super) fn selector(&mut self) -> Result<Vec<LabelMatcher>> {
        let span = self.span();
        let matchers = self.matchers_in_braces()?;
        if matchers.iter().all(|matcher| matcher.matches("")) {
            let message = "a selector needs at least one matcher that does not match an empty \
                           value, such as app=\"x\" or app=~\".+\"";
            return Err(self.error(span, message));
        }
        Ok(matchers)
    }

    /// `{a="b", c!="d"}`
    pub(super) fn matchers_in_braces(&mut self) -> Result<Vec<LabelMatcher>> {
        self.expect(&TokenKind::LeftBrace, "{")?;
        let mut matchers = Vec::new();
        if self.accept(&TokenKind::RightBrace) {
            return Ok(matchers);
        }
        loop {
            let name = self.name("the name of a label or }")?;
            self.count_condition()?;
            matchers.push(self.matcher(&name)?);
            if self.accept(&TokenKind::RightBrace) {
                return Ok(matchers);
            }
            self.expect(&TokenKind::Comma, "} or ,")?;
        }
    }

    /// What follows the name of a label: an operator and a text.
    pub(super) fn matcher(&mut self, name: &str) -> Result<LabelMatcher> {
        let op = match self.peek() {
            TokenKind::Assign => MatchOp::Equal,
            TokenKind::NotEqual => MatchOp::NotEqual,
            TokenKind::Matches => MatchOp::Matches,
            TokenKind::NotMatches => MatchOp::NotMatches,
            _ => return Err(self.unexpected("=, !=, =~ or !~")),
        };
        self.skip();
        let span = self.span();
        let value = self.quoted("a text between quotes")?;
        LabelMatcher::within(name, op, &value, self.pattern_bytes)
            .map_err(|error| self.error(span, kymo_pattern::complaint(&value, &error)))
    }
}
