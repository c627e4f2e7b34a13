//! What a query is made of.
//!
//! A tree that the parser gave out is complete and has been checked: expressions compile, ranges
//! have an unwrap exactly where they need one, parameters have their range.

mod metric;

pub use metric::{
    Binary, BinaryOp, Conversion, GroupSide, Grouping, LabelReplace, LogRange, Matching,
    MetricExpr, RangeAggregation, RangeOp, Unwrap, VectorAggregation, VectorOp,
};

use crate::matcher::LabelMatcher;

/// Bytes of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

/// A query.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// Gives lines.
    Log(LogExpr),
    /// Gives numbers.
    Metric(MetricExpr),
}

/// `{app="a"} |= "x" | json`
#[derive(Debug, Clone, PartialEq)]
pub struct LogExpr {
    /// The conditions on the labels of streams. At least one does not match an empty text.
    pub matchers: Vec<LabelMatcher>,
    /// What is done with each line, in order.
    pub stages: Vec<Stage>,
}

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// `|= "a" or "b"`
    Line(LineFilter),
    /// `json`
    Json,
    /// `json a="b.c", d`
    JsonPaths(Vec<Extraction>),
    /// `logfmt --strict a, b="c"`
    Logfmt(LogfmtStage),
    /// `regexp "…"`
    Regexp(String),
    /// `pattern "…"`
    Pattern(String),
    /// `unpack`
    Unpack,
    /// `a="b" or c > 5`
    Labels(LabelFilter),
    /// `line_format "…"`
    LineFormat(String),
    /// `label_format a=b, c="…"`
    LabelFormat(Vec<LabelFormat>),
    /// `decolorize`
    Decolorize,
    /// `drop a, b="c"`
    Drop(Vec<Chosen>),
    /// `keep a, b="c"`
    Keep(Vec<Chosen>),
}

/// A condition on the line.
#[derive(Debug, Clone, PartialEq)]
pub struct LineFilter {
    /// What is asked.
    pub op: LineOp,
    /// Alternatives; one or more. With an operator that is negated none may apply.
    pub alternatives: Vec<LineMatch>,
}

/// One alternative of a condition on the line.
#[derive(Debug, Clone, PartialEq)]
pub enum LineMatch {
    /// A text, a regular expression or a pattern, as the operator says.
    Text(String),
    /// `ip("…")`
    Ip(String),
}

/// What is asked of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOp {
    /// `|=`
    Contains,
    /// `!=`
    Lacks,
    /// `|~`
    Matches,
    /// `!~`
    NotMatches,
    /// `|>`
    Pattern,
    /// `!>`
    NotPattern,
}

impl LineOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Contains => "|=",
            Self::Lacks => "!=",
            Self::Matches => "|~",
            Self::NotMatches => "!~",
            Self::Pattern => "|>",
            Self::NotPattern => "!>",
        }
    }

    /// Whether lines that fulfil it go.
    pub fn is_negated(self) -> bool {
        matches!(self, Self::Lacks | Self::NotMatches | Self::NotPattern)
    }
}

/// `name` or `name="expression"` of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// The label that is made.
    pub name: String,
    /// Where its value is found.
    pub path: String,
}

/// `logfmt` with its flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogfmtStage {
    /// Stops at the first pair that is wrong.
    pub is_strict: bool,
    /// Keeps keys without a value.
    pub keeps_empty: bool,
    /// What is taken; all if empty.
    pub extractions: Vec<Extraction>,
}

/// A condition on labels.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelFilter {
    /// `a="b"`
    Text(LabelMatcher),
    /// `a > 5`
    Number(Comparison<f64>),
    /// `a > 5s`, in nanoseconds.
    Duration(Comparison<i64>),
    /// `a > 5KB`, in bytes.
    Bytes(Comparison<u64>),
    /// `a = ip("…")`
    Ip(IpFilter),
    /// Both hold.
    And(Box<LabelFilter>, Box<LabelFilter>),
    /// One holds.
    Or(Box<LabelFilter>, Box<LabelFilter>),
}

/// A label compared with a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison<T> {
    /// The label.
    pub name: String,
    /// How.
    pub op: CompareOp,
    /// With what.
    pub value: T,
    /// The number as it was written.
    pub written: String,
}

/// `name = ip("…")`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpFilter {
    /// The label.
    pub name: String,
    /// Whether it is `!=`.
    pub is_negated: bool,
    /// An address, a network, or a range.
    pub addresses: String,
}

/// How numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl CompareOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
        }
    }

    /// Whether it holds.
    #[inline]
    pub fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
        }
    }
}

/// One label that `label_format` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelFormat {
    /// `to=from`
    Rename {
        /// The new name.
        to: String,
        /// The old one.
        from: String,
    },
    /// `to="template"`
    Template {
        /// The label.
        to: String,
        /// The text of the template.
        template: String,
    },
}

impl LabelFormat {
    /// The label that is made.
    pub fn target(&self) -> &str {
        match self {
            Self::Rename { to, .. } | Self::Template { to, .. } => to,
        }
    }
}

/// A label that `drop` or `keep` names.
#[derive(Debug, Clone, PartialEq)]
pub enum Chosen {
    /// Whatever its value is.
    Name(String),
    /// Only if it matches.
    Matcher(LabelMatcher),
}

impl Chosen {
    /// The name of the label.
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Matcher(matcher) => &matcher.name,
        }
    }
}
