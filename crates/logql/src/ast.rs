//! What a query is made of.
//!
//! A tree that the parser gave out is complete and has been checked: expressions compile, ranges
//! have an unwrap exactly where they need one, parameters have their range.

use std::fmt;

use crate::matcher::Matcher;

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
    pub matchers: Vec<Matcher>,
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
    Text(Matcher),
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
    Matcher(Matcher),
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
