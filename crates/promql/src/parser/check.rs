//! Whether an expression that was read makes sense: types, and what operators want.
//!
//! Everything is checked in the order in which Prometheus does it, because only the first error
//! is told.

use super::Result;
use crate::ast::{Aggregate, AggregateOp, Binary, Call, Cardinality, Expr, Node, Selector, Span};
use crate::ast::{ValueType, ValueType::Scalar, ValueType::Vector};
use crate::error::ParseError;
use crate::labels::NAME;
use crate::names::quoted;

/// Checks an expression and settles how series of both sides of operators find each other.
pub(super) fn check(text: &str, expr: &mut Expr) -> Result<()> {
    Checker { text }.expr(expr).map(drop)
}

struct Checker<'a> {
    text: &'a str,
}

impl Checker<'_> {
    /// Checks an expression and says what it gives.
    fn expr(&self, expr: &mut Expr) -> Result<ValueType> {
        let span = expr.span;
        match &mut expr.node {
            Node::Number(_) | Node::Text(_) => {}
            Node::Selector(selector) => self.selector(selector, span, false)?,
            Node::Range(range) => self.selector(&range.selector, range.selector_span, false)?,
            Node::Paren(inner) => {
                self.expr(inner)?;
            }
            Node::Unary(unary) => {
                let inner = self.expr(&mut unary.expr)?;
                if !matches!(inner, Scalar | Vector) {
                    let message = format!(
                        "unary expression only allowed on expressions of type scalar or instant \
                         vector, got \"{}\"",
                        inner.title()
                    );
                    return self.refuse(span, message);
                }
            }
            Node::Subquery(subquery) => {
                let inner = self.expr(&mut subquery.expr)?;
                if inner != Vector {
                    let message = format!(
                        "subquery is only allowed on instant vector, got {} instead",
                        inner.name()
                    );
                    return self.refuse(span, message);
                }
            }
            Node::Aggregate(aggregate) => self.aggregate(aggregate)?,
            Node::Call(call) => self.call(call, span)?,
            Node::Binary(binary) => self.binary(binary, span)?,
        }
        Ok(expr.value_type())
    }

    fn selector(&self, selector: &Selector, span: Span, may_match_all: bool) -> Result<()> {
        if let Some(name) = &selector.name {
            // The last matcher is the one on the name before the braces.
            let others = selector.matchers.split_last().map_or(&[][..], |(_, others)| others);
            return match others.iter().find(|matcher| matcher.name == NAME) {
                None => Ok(()),
                Some(twice) => {
                    let (name, twice) = (quoted(name), quoted(&twice.value));
                    let message = format!("metric name must not be set twice: {name} or {twice}");
                    self.refuse(span, message)
                }
            };
        }
        if may_match_all || selector.matchers.iter().any(|matcher| !matcher.matches("")) {
            return Ok(());
        }
        self.refuse(span, "vector selector must contain at least one non-empty matcher")
    }

    fn aggregate(&self, aggregate: &mut Aggregate) -> Result<()> {
        self.typed(&mut aggregate.expr, Vector, "aggregation expression")?;
        let Some(param) = &mut aggregate.param else { return Ok(()) };
        let wanted = match aggregate.op {
            AggregateOp::CountValues => ValueType::Text,
            _ => Scalar,
        };
        self.typed(param, wanted, "aggregation parameter")
    }

    fn call(&self, call: &mut Call, span: Span) -> Result<()> {
        let name = quoted(call.function.name);
        let (wanted, got) = (call.function.args.len(), call.args.len());
        let count = |how: &str, wanted: usize| {
            let message =
                format!("expected {how}{wanted} argument(s) in call to {name}, got {got}");
            self.refuse(span, message)
        };
        let least = wanted.saturating_sub(1);
        match usize::try_from(call.function.variadic) {
            Ok(0) if got != wanted => return count("", wanted),
            Ok(0) => {}
            _ if got < least => return count("at least ", least),
            Ok(more) if got > least + more => return count("at most ", least + more),
            // Any number.
            _ => {}
        }
        let is_info = call.function.name == "info";
        if is_info && let Some(second) = call.args.get(1) {
            self.info_selector(second, span)?;
        }
        let context = format!("call to function {name}");
        for (nth, arg) in call.args.iter_mut().enumerate() {
            // Further arguments are like the last one.
            let wanted = call.function.args.get(nth).or(call.function.args.last());
            let span = arg.span;
            match &arg.node {
                Node::Selector(selector) if is_info && nth == 1 => {
                    self.selector(selector, span, true)?;
                }
                _ => self.typed(arg, wanted.copied().unwrap_or(Vector), &context)?,
            }
        }
        Ok(())
    }

    /// The second argument of `info` selects labels, not metrics.
    fn info_selector(&self, second: &Expr, call: Span) -> Result<()> {
        if second.value_type() != Vector {
            let got = second.value_type().title();
            let message =
                format!("expected type instant vector in call to function \"info\", got {got}");
            return self.refuse(call, message);
        }
        match &second.node {
            Node::Selector(selector) if selector.name.is_none() => Ok(()),
            Node::Selector(_) => {
                let message = "expected label selectors only, got vector selector instead";
                self.refuse(second.span, message)
            }
            _ => self.refuse(second.span, "expected label selectors only"),
        }
    }

    fn binary(&self, binary: &mut Binary, span: Span) -> Result<()> {
        let left = self.expr(&mut binary.left)?;
        let right = self.expr(&mut binary.right)?;
        let op = binary.op;
        if binary.returns_bool && !op.is_comparison() {
            let message = "bool modifier can only be used on comparison operators";
            return self.refuse(self.operator_span(binary), message);
        }
        let are_scalars = left == Scalar && right == Scalar;
        if op.is_comparison() && !binary.returns_bool && are_scalars {
            let message = "comparisons between scalars must use BOOL modifier";
            return self.refuse(self.operator_span(binary), message);
        }
        self.matched_labels(binary)?;
        for (side, span) in [(left, binary.left.span), (right, binary.right.span)] {
            if !matches!(side, Scalar | Vector) {
                let message = "binary expression must contain only scalar and instant vector types";
                return self.refuse(span, message);
            }
        }
        let Some(matching) = &mut binary.matching else { return Ok(()) };
        let is_filled = matching.fill_left.is_some() || matching.fill_right.is_some();
        if left != Vector || right != Vector {
            if !matching.labels.is_empty() {
                let message = "vector matching only allowed between instant vectors";
                return self.refuse(span, message);
            }
            if is_filled {
                let message = "filling in missing series only allowed between instant vectors";
                return self.refuse(span, message);
            }
            if op.is_set() {
                let symbol = op.symbol();
                let message =
                    format!("set operator \"{symbol}\" not allowed in binary scalar expression");
                return self.refuse(span, message);
            }
            binary.matching = None;
        } else if op.is_set() {
            if matching.cardinality != Cardinality::OneToOne {
                let message = format!("no grouping allowed for \"{}\" operation", op.symbol());
                return self.refuse(span, message);
            }
            if is_filled {
                let message = "filling in missing series not allowed for set operators";
                return self.refuse(span, message);
            }
            matching.cardinality = Cardinality::ManyToMany;
        }
        Ok(())
    }

    /// A label that series match on is the same on both sides, and cannot be taken from one.
    fn matched_labels(&self, binary: &Binary) -> Result<()> {
        let Some(matching) = &binary.matching else { return Ok(()) };
        let twice = matching.labels.iter().find(|label| matching.include.contains(label));
        let Some(label) = twice.filter(|_| matching.is_on) else { return Ok(()) };
        let label = quoted(label);
        let message = format!("label {label} must not occur in ON and GROUP clause at once");
        self.refuse(self.operator_span(binary), message)
    }

    /// Where the operator and its modifiers stand.
    fn operator_span(&self, binary: &Binary) -> Span {
        let between = Span { start: binary.left.span.end, end: binary.right.span.start };
        let told = between.of(self.text);
        let start = between.end - told.trim_start().len();
        Span { start, end: between.start + told.trim_end().len() }
    }

    /// Checks an expression that must be of a type.
    fn typed(&self, expr: &mut Expr, wanted: ValueType, context: &str) -> Result<()> {
        let got = self.expr(expr)?;
        if got == wanted {
            return Ok(());
        }
        let (wanted, got) = (wanted.title(), got.title());
        self.refuse(expr.span, format!("expected type {wanted} in {context}, got {got}"))
    }

    fn refuse<T>(&self, span: Span, message: impl Into<String>) -> Result<T> {
        Err(ParseError::new(self.text, span, message))
    }
}

impl ValueType {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Scalar => "scalar",
            Self::Text => "string",
            Self::Vector => "vector",
            Self::Matrix => "matrix",
        }
    }

    /// Its name in the documentation and in errors.
    pub fn title(self) -> &'static str {
        match self {
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            other => other.name(),
        }
    }
}
