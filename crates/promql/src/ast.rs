//! The tree of a query.
//!
//! Every expression knows where it stands in the text, so that errors and
//! annotations can say so.

use crate::function::Function;
use crate::matcher::LabelMatcher;

/// A place in the text: byte offsets, the end excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

/// An expression and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub node: Node,
    /// Where it stands, parentheses and modifiers included.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number, or a duration as a number of seconds.
    Number(Number),
    /// A text.
    Text(String),
    /// `name{label="value"}`: the newest sample of each series.
    Selector(Box<Selector>),
    /// `name[5m]`: the samples of a range of time.
    Range(Box<RangeSelector>),
    /// `expr[1h:5m]`: an expression evaluated at many times.
    Subquery(Box<Subquery>),
    /// `sum by (job) (expr)`.
    Aggregate(Box<Aggregate>),
    /// `rate(expr)`.
    Call(Box<Call>),
    /// `left + right`.
    Binary(Box<Binary>),
    /// `-expr`.
    Unary(Box<Unary>),
    /// `(expr)`.
    Paren(Box<Expr>),
}

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// The value; seconds, if it was a duration.
    pub value: f64,
    /// Whether it was written as a duration (`5m`).
    pub is_duration: bool,
}

/// Which series, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// The metric's name before the braces, if there is one. It is one of `matchers` too.
    pub name: Option<String>,
    /// All conditions, that on the name among them.
    pub matchers: Vec<LabelMatcher>,
    /// `offset` and `@`.
    pub shift: TimeShift,
    /// `anchored` or `smoothed`.
    pub edges: Edges,
}

/// How samples at the edges of a range count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edges {
    /// As they are.
    #[default]
    Plain,
    /// `anchored`: the sample before the range stands at its beginning.
    Anchored,
    /// `smoothed`: values at both edges are interpolated.
    Smoothed,
}

/// `offset` and `@`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeShift {
    /// How long ago.
    pub offset: Option<Duration>,
    /// The time to evaluate at instead of that of the step.
    pub at: Option<At>,
}

/// The time of `@`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Milliseconds since 1970.
    Time(i64),
    /// `start()` of the query.
    Start,
    /// `end()` of the query.
    End,
}

/// A duration, which may have to be computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Duration {
    /// How it is computed.
    pub node: DurationNode,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of durations. Numbers are seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum DurationNode {
    /// `5m`, `300`.
    Number(Number),
    /// `step()`.
    Step,
    /// `range()`.
    Range,
    /// `min_of(a, b)`.
    MinOf(Box<Duration>, Box<Duration>),
    /// `max_of(a, b)`.
    MaxOf(Box<Duration>, Box<Duration>),
    /// `-a`.
    Negative(Box<Duration>),
    /// `+a`.
    Positive(Box<Duration>),
    /// `a + b`: an arithmetic operator.
    Binary(BinaryOp, Box<Duration>, Box<Duration>),
    /// `(a)`.
    Paren(Box<Duration>),
}

/// The samples of a selector over a range of time.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeSelector {
    /// Which series.
    pub selector: Selector,
    /// Where the selector stands.
    pub selector_span: Span,
    /// How long the range is.
    pub range: Duration,
}

/// An expression at many times.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// What is evaluated.
    pub expr: Expr,
    /// How long the range is.
    pub range: Duration,
    /// The step; the default one if not given.
    pub step: Option<Duration>,
    /// `offset` and `@`.
    pub shift: TimeShift,
}

/// The aggregations.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateOp {
    Avg,
    Bottomk,
    Count,
    CountValues,
    Group,
    LimitRatio,
    Limitk,
    Max,
    Min,
    Quantile,
    Stddev,
    Stdvar,
    Sum,
    Topk,
}

/// An aggregation over series.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Which one.
    pub op: AggregateOp,
    /// Over what.
    pub expr: Expr,
    /// The parameter of those that have one.
    pub param: Option<Expr>,
    /// `by` or `without`.
    pub grouping: Grouping,
}

/// The labels of an aggregation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grouping {
    /// The labels are dropped, all others kept.
    pub is_without: bool,
    /// The labels.
    pub labels: Vec<String>,
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub function: &'static Function,
    /// Its arguments.
    pub args: Vec<Expr>,
}

/// The operators between two expressions.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Atan2,
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    /// `</`: the part of a histogram below a value.
    TrimUpper,
    /// `>/`: the part of a histogram above a value.
    TrimLower,
    And,
    Or,
    Unless,
}

/// Two expressions and an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// The operator.
    pub op: BinaryOp,
    /// The expression before it.
    pub left: Expr,
    /// The expression behind it.
    pub right: Expr,
    /// How series of both sides find each other; none if one side is a scalar.
    pub matching: Option<Matching>,
    /// A comparison gives 0 or 1 instead of filtering.
    pub returns_bool: bool,
}

/// How many series of one side may match one of the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cardinality {
    /// One to one.
    #[default]
    OneToOne,
    /// `group_left`.
    ManyToOne,
    /// `group_right`.
    OneToMany,
    /// Of `and`, `or`, `unless`.
    ManyToMany,
}

/// How series of both sides find each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matching {
    /// How many match.
    pub cardinality: Cardinality,
    /// `on` rather than `ignoring`.
    pub is_on: bool,
    /// The labels of `on` or `ignoring`.
    pub labels: Vec<String>,
    /// Labels that are taken from the side of which there is one.
    pub include: Vec<String>,
    /// The value where the left side has no match: `fill_left`.
    pub fill_left: Option<f64>,
    /// The value where the right side has no match: `fill_right`.
    pub fill_right: Option<f64>,
}

/// A sign and an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Unary {
    /// Whether the sign is a minus.
    pub is_negative: bool,
    /// The expression.
    pub expr: Expr,
}

/// What an expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Nothing, of arguments only.
    None,
    /// A number.
    Scalar,
    /// A text.
    Text,
    /// A sample of each series.
    Vector,
    /// Samples over time of each series.
    Matrix,
}

impl Expr {
    /// What the expression gives.
    pub fn value_type(&self) -> ValueType {
        match &self.node {
            Node::Number(_) => ValueType::Scalar,
            Node::Text(_) => ValueType::Text,
            Node::Selector(_) | Node::Aggregate(_) => ValueType::Vector,
            Node::Range(_) | Node::Subquery(_) => ValueType::Matrix,
            Node::Call(call) => call.function.returns,
            Node::Unary(unary) => unary.expr.value_type(),
            Node::Paren(inner) => inner.value_type(),
            Node::Binary(binary) => {
                let sides = [binary.left.value_type(), binary.right.value_type()];
                if sides == [ValueType::Scalar; 2] { ValueType::Scalar } else { ValueType::Vector }
            }
        }
    }
}

impl AggregateOp {
    /// Whether the aggregation has a parameter.
    pub fn has_param(self) -> bool {
        matches!(
            self,
            Self::Bottomk
                | Self::CountValues
                | Self::LimitRatio
                | Self::Limitk
                | Self::Quantile
                | Self::Topk
        )
    }
}

impl BinaryOp {
    /// Whether it compares.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Greater
                | Self::Less
                | Self::GreaterOrEqual
                | Self::LessOrEqual
        )
    }

    /// Whether it is `and`, `or` or `unless`.
    pub fn is_set(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Unless)
    }
}
