//! Trees to text.
//!
//! The text of a query that was read is a query that reads the same: `parse(print(parse(x)))` is
//! `parse(x)`. Parentheses are written only where they are needed.

use std::fmt::{Display, Formatter, Result, Write};

use crate::ast::{
    Aggregate, Attribute, BinaryOp, Body, Expr, Hint, Intrinsic, Kind, Literal, Metrics,
    MetricsFunction, Name, Pipeline, Query, Scalar, ScalarFilter, Scope, SeriesStage, SpansetOp,
    Spansets, Stage, Status,
};
use crate::duration::Nanos;
use crate::lexer::ends_name;
use crate::limits::DEFAULT_COMPARE_TOP;
use crate::names::{level, structural_sign};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.body.fmt(f)?;
        if self.hints.is_empty() {
            return Ok(());
        }
        write!(f, " with({})", List(&self.hints))
    }
}

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Body::Spans(pipeline) => pipeline.fmt(f),
            Body::Metrics(metrics) => metrics.fmt(f),
        }
    }
}

impl Display for Hint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (nth, stage) in self.stages.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { " | " })?;
            stage.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Stage::Spansets(spansets) => spansets.fmt(f),
            Stage::Scalars(filter) => filter.fmt(f),
            Stage::By(expr) => write!(f, "by({expr})"),
            Stage::Coalesce => f.write_str("coalesce()"),
            Stage::Select(attributes) => write!(f, "select({})", List(attributes)),
        }
    }
}

impl Display for Spansets {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        SpansetsText { spansets: self, with_pipelines: has_pipeline(self) }.fmt(f)
    }
}

fn has_pipeline(spansets: &Spansets) -> bool {
    match spansets {
        Spansets::Filter(_) => false,
        Spansets::Pipeline(_) => true,
        Spansets::Binary { left, right, .. } => has_pipeline(left) || has_pipeline(right),
    }
}

struct SpansetsText<'a> {
    spansets: &'a Spansets,
    /// Filters that are combined with pipelines have to be in parentheses.
    with_pipelines: bool,
}

impl Display for SpansetsText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.spansets {
            Spansets::Filter(expr) if self.with_pipelines => write!(f, "({{ {expr} }})"),
            Spansets::Filter(expr) => write!(f, "{{ {expr} }}"),
            Spansets::Pipeline(pipeline) => write!(f, "({pipeline})"),
            Spansets::Binary { op, left, right } => {
                let own = spansets_level(self.spansets);
                let side = |spansets| SpansetsText { spansets, ..*self };
                operand(f, &side(left), spansets_level(left) >= own)?;
                write!(f, " {op} ")?;
                operand(f, &side(right), spansets_level(right) > own)
            }
        }
    }
}

fn spansets_level(spansets: &Spansets) -> u8 {
    match spansets {
        Spansets::Binary { op: SpansetOp::And | SpansetOp::Or, .. } => level::LOGICAL,
        Spansets::Binary { .. } => level::COMPARISON,
        _ => level::UNARY,
    }
}

impl Display for SpansetOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            SpansetOp::And => "&&",
            SpansetOp::Or => "||",
            SpansetOp::Structural { relation, mode } => structural_sign(*relation, *mode),
        })
    }
}

impl Display for ScalarFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {} {}", self.left, self.op, self.right)
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Scalar::Literal(literal) => literal.fmt(f),
            Scalar::Count => f.write_str("count()"),
            Scalar::Aggregate { function, of } => write!(f, "{function}({of})"),
            Scalar::Pipeline { pipeline, scalar } => write!(f, "({pipeline} | {scalar})"),
            Scalar::Binary { op, left, right } => {
                binary(f, *op, (left, scalar_level(left)), (right, scalar_level(right)))
            }
        }
    }
}

fn scalar_level(scalar: &Scalar) -> u8 {
    match scalar {
        Scalar::Binary { op, .. } => op.level(),
        _ => level::UNARY,
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Expr::Literal(literal) => literal.fmt(f),
            Expr::Attribute(attribute) => attribute.fmt(f),
            Expr::Not(of) => {
                f.write_str("!")?;
                operand(f, of, matches!(**of, Expr::Not(_)) || expr_level(of) >= level::PRODUCT)
            }
            Expr::Negate(of) => {
                f.write_str("-")?;
                let is_negative = matches!(
                    **of,
                    Expr::Literal(Literal::Int(..0) | Literal::Duration(..0) | Literal::Float(_))
                ) && !matches!(**of, Expr::Literal(Literal::Int(i64::MIN)));
                operand(f, of, expr_level(of) >= level::UNARY && !is_negative)
            }
            Expr::Binary { op, left, right } => {
                // A sign in front of a power is that of the whole.
                let left_level = match (op, begins_with_sign(left)) {
                    (BinaryOp::Power, true) => level::PRODUCT,
                    _ => expr_level(left),
                };
                binary(f, *op, (left, left_level), (right, expr_level(right)))
            }
        }
    }
}

fn begins_with_sign(expr: &Expr) -> bool {
    match expr {
        Expr::Negate(_) | Expr::Literal(Literal::Int(..0) | Literal::Duration(..0)) => true,
        Expr::Literal(Literal::Float(value)) => value.is_sign_negative(),
        _ => false,
    }
}

fn expr_level(expr: &Expr) -> u8 {
    match expr {
        Expr::Binary { op, .. } => op.level(),
        Expr::Not(_) => level::NOT,
        _ => level::UNARY,
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.sign())
    }
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

impl Display for Intrinsic {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Literal::Nil => f.write_str("nil"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Int(i64::MIN) => f.write_str("minInt"),
            Literal::Int(value) => write!(f, "{value}"),
            // With a point or an exponent, so that it is read as a float again.
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::Duration(nanos) => Nanos(*nanos).fmt(f),
            Literal::Text(text) => quoted(f, text),
            Literal::Status(status) => status.fmt(f),
            Literal::Kind(kind) => kind.fmt(f),
        }
    }
}

/// Text with escapes for all that cannot be between quotes, or cannot be seen.
fn quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            _ if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            _ => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// As the keys of labels are written: `resource.service.name`, `.foo`, `span."a b"`.
impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let before = if self.of_parent { "parent." } else { "" };
        match &self.name {
            Name::Intrinsic(intrinsic) => write!(f, "{before}{intrinsic}"),
            Name::Keyed { scope, key } => {
                f.write_str(before)?;
                f.write_str(scope.name())?;
                if *scope != Scope::Any || !self.of_parent {
                    f.write_char('.')?;
                }
                if !needs_quotes(key, *scope, self.of_parent) {
                    return f.write_str(key);
                }
                write!(f, "\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    }
}

fn needs_quotes(key: &str, scope: Scope, of_parent: bool) -> bool {
    if key.is_empty() || key.contains(|c| c == '"' || ends_name(c)) {
        return true;
    }
    match (scope, of_parent) {
        // `.5` is a number.
        (Scope::Any, false) => key.starts_with(|c: char| c.is_ascii_digit()),
        // `parent.name` and `parent.span.name` are something else.
        (Scope::Any, true) => {
            let is_scope = |before| Scope::from_name(before).is_some();
            Intrinsic::from_name(key).is_some()
                || key.split_once('.').is_some_and(|(before, _)| is_scope(before))
        }
        _ => false,
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Attribute { of_parent: false, name: self.clone() }.fmt(f)
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Metrics::Literal(literal) => literal.fmt(f),
            Metrics::Query { pipeline, function, by, stages } => {
                write!(f, "{pipeline} | {function}")?;
                if !by.is_empty() {
                    write!(f, " by ({})", List(by))?;
                }
                stages.iter().try_for_each(|stage| stage.fmt(f))
            }
            Metrics::Binary { op, left, right, stages } => {
                binary(f, *op, (left, metrics_level(left)), (right, metrics_level(right)))?;
                stages.iter().try_for_each(|stage| stage.fmt(f))
            }
        }
    }
}

fn metrics_level(metrics: &Metrics) -> u8 {
    match metrics {
        Metrics::Literal(_) => level::UNARY,
        Metrics::Binary { op, stages, .. } if stages.is_empty() => op.level(),
        _ => level::ANY,
    }
}

impl Display for MetricsFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (name, of) = match self {
            MetricsFunction::Rate => return f.write_str("rate()"),
            MetricsFunction::CountOverTime => return f.write_str("count_over_time()"),
            MetricsFunction::QuantileOverTime(of, quantiles) => {
                return write!(f, "quantile_over_time({of}, {})", List(quantiles));
            }
            MetricsFunction::Compare { selection, top, range } => {
                write!(f, "compare({{ {selection} }}")?;
                if range.is_some() || *top != DEFAULT_COMPARE_TOP {
                    write!(f, ", {top}")?;
                }
                if let Some((from, to)) = range {
                    write!(f, ", {from}, {to}")?;
                }
                return f.write_str(")");
            }
            MetricsFunction::MinOverTime(of) => ("min", of),
            MetricsFunction::MaxOverTime(of) => ("max", of),
            MetricsFunction::SumOverTime(of) => ("sum", of),
            MetricsFunction::AvgOverTime(of) => ("avg", of),
            MetricsFunction::HistogramOverTime(of) => ("histogram", of),
        };
        write!(f, "{name}_over_time({of})")
    }
}

/// With the blank, and for `topk` the `|`, that is before it.
impl Display for SeriesStage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            SeriesStage::TopK(count) => write!(f, " | topk({count})"),
            SeriesStage::BottomK(count) => write!(f, " | bottomk({count})"),
            SeriesStage::Filter(op, threshold) => write!(f, " {op} {threshold}"),
        }
    }
}

/// Things with commas between them.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (nth, item) in self.0.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { ", " })?;
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// `left op right`, each side with its level.
fn binary<T: Display>(
    f: &mut Formatter<'_>,
    op: BinaryOp,
    (left, left_level): (&T, u8),
    (right, right_level): (&T, u8),
) -> Result {
    let own = op.level();
    let is_right_associative = op == BinaryOp::Power;
    operand(f, left, left_level > own || left_level == own && !is_right_associative)?;
    write!(f, " {op} ")?;
    operand(f, right, right_level > own || right_level == own && is_right_associative)
}

/// An operand, in parentheses unless it binds tightly enough.
fn operand(f: &mut Formatter<'_>, operand: &impl Display, is_tight: bool) -> Result {
    if is_tight { operand.fmt(f) } else { write!(f, "({operand})") }
}
