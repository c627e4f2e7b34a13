//! What a metric query is made of.

use std::fmt;

use super::{CompareOp, LabelFilter, LogExpr};

/// A query that gives numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricExpr {
    /// `rate({…}[5m])`
    Range(RangeAggregation),
    /// `sum by (a) (…)`
    Vector(VectorAggregation),
    /// `a / b`
    Binary(Box<Binary>),
    /// `1.5`
    Literal(f64),
    /// `vector(1.5)`
    VectorOf(f64),
    /// `label_replace(…)`
    LabelReplace(Box<LabelReplace>),
}

/// A function over the lines of a time range.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeAggregation {
    /// The function.
    pub op: RangeOp,
    /// The quantile of `quantile_over_time`.
    pub parameter: Option<f64>,
    /// The lines.
    pub range: LogRange,
    /// `by (…)` behind it.
    pub grouping: Option<Grouping>,
}

/// Lines of a time range.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRange {
    /// Which lines.
    pub log: LogExpr,
    /// The label that the values are taken from.
    pub unwrap: Option<Unwrap>,
    /// How far back.
    pub range_nanos: i64,
    /// By how much the range lies earlier; negative: later.
    pub offset_nanos: i64,
}

/// `unwrap duration(a) | b="c"`
#[derive(Debug, Clone, PartialEq)]
pub struct Unwrap {
    /// The label.
    pub name: String,
    /// How its text becomes a number.
    pub conversion: Conversion,
    /// Conditions that are asked after that.
    pub filters: Vec<LabelFilter>,
}

/// How the text of a label becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// As a number.
    Number,
    /// `bytes(…)`
    Bytes,
    /// `duration(…)`, in seconds.
    Duration,
    /// `duration_seconds(…)`, which is the same.
    DurationSeconds,
}

/// The functions over ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the language")]
pub enum RangeOp {
    Rate,
    RateCounter,
    CountOverTime,
    BytesRate,
    BytesOverTime,
    AbsentOverTime,
    SumOverTime,
    AvgOverTime,
    MinOverTime,
    MaxOverTime,
    StdvarOverTime,
    StddevOverTime,
    QuantileOverTime,
    FirstOverTime,
    LastOverTime,
}

/// The aggregations over series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the language")]
pub enum VectorOp {
    Sum,
    Avg,
    Min,
    Max,
    Count,
    Stddev,
    Stdvar,
    Topk,
    Bottomk,
    Sort,
    SortDesc,
}

/// `sum by (a) (…)`
#[derive(Debug, Clone, PartialEq)]
pub struct VectorAggregation {
    /// What is computed.
    pub op: VectorOp,
    /// How many series `topk` and `bottomk` keep.
    pub parameter: Option<usize>,
    /// Which series go together; all if none.
    pub grouping: Option<Grouping>,
    /// The series.
    pub inner: Box<MetricExpr>,
}

/// `by (…)` or `without (…)`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping {
    /// Whether the names are those that go.
    pub is_without: bool,
    /// Names of labels.
    pub names: Vec<String>,
}

/// Two operands.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// The operator.
    pub op: BinaryOp,
    /// Whether a comparison gives 0 or 1.
    pub returns_bool: bool,
    /// Which series go together.
    pub matching: Matching,
    /// The left operand.
    pub left: MetricExpr,
    /// The right operand.
    pub right: MetricExpr,
}

/// Which series of two operands go together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matching {
    /// Whether the labels are those that count, not those that are left out.
    pub is_on: bool,
    /// Names of labels.
    pub names: Vec<String>,
    /// Which side may have several.
    pub group: Option<GroupSide>,
    /// Labels that are taken from the side that has one.
    pub include: Vec<String>,
}

/// The side of an operator that may have several series for one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupSide {
    /// `group_left`
    Left,
    /// `group_right`
    Right,
}

/// Operators between series and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Compare(CompareOp),
    And,
    Or,
    Unless,
}

impl BinaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Pow => "^",
            Self::Compare(op) => op.symbol(),
            Self::And => "and",
            Self::Or => "or",
            Self::Unless => "unless",
        }
    }

    /// Whether it is `and`, `or` or `unless`.
    pub fn is_set(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Unless)
    }
}

/// `label_replace(…, "to", "replacement", "from", "pattern")`
#[derive(Debug, Clone, PartialEq)]
pub struct LabelReplace {
    /// The series.
    pub inner: MetricExpr,
    /// The label that is set.
    pub to: String,
    /// What it is set to: `$1` is the first group.
    pub replacement: String,
    /// The label that is looked at.
    pub from: String,
    /// What all of it has to match.
    pub pattern: String,
}

impl RangeOp {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Rate,
        Self::RateCounter,
        Self::CountOverTime,
        Self::BytesRate,
        Self::BytesOverTime,
        Self::AbsentOverTime,
        Self::SumOverTime,
        Self::AvgOverTime,
        Self::MinOverTime,
        Self::MaxOverTime,
        Self::StdvarOverTime,
        Self::StddevOverTime,
        Self::QuantileOverTime,
        Self::FirstOverTime,
        Self::LastOverTime,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::RateCounter => "rate_counter",
            Self::CountOverTime => "count_over_time",
            Self::BytesRate => "bytes_rate",
            Self::BytesOverTime => "bytes_over_time",
            Self::AbsentOverTime => "absent_over_time",
            Self::SumOverTime => "sum_over_time",
            Self::AvgOverTime => "avg_over_time",
            Self::MinOverTime => "min_over_time",
            Self::MaxOverTime => "max_over_time",
            Self::StdvarOverTime => "stdvar_over_time",
            Self::StddevOverTime => "stddev_over_time",
            Self::QuantileOverTime => "quantile_over_time",
            Self::FirstOverTime => "first_over_time",
            Self::LastOverTime => "last_over_time",
        }
    }
}

impl VectorOp {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Sum,
        Self::Avg,
        Self::Min,
        Self::Max,
        Self::Count,
        Self::Stddev,
        Self::Stdvar,
        Self::Topk,
        Self::Bottomk,
        Self::Sort,
        Self::SortDesc,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::Count => "count",
            Self::Stddev => "stddev",
            Self::Stdvar => "stdvar",
            Self::Topk => "topk",
            Self::Bottomk => "bottomk",
            Self::Sort => "sort",
            Self::SortDesc => "sort_desc",
        }
    }
}

impl fmt::Display for RangeOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for VectorOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
