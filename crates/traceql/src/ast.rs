//! What a query is made of, after parsing.

/// A whole query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What is asked.
    pub body: Body,
    /// `with(name = value, …)`, as written; see [`Query::hint`].
    pub hints: Vec<Hint>,
}

/// What a query asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Spans: a search.
    Spans(Pipeline),
    /// Series: numbers over time.
    Metrics(Metrics),
}

/// `name = value` of `with(…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Literal,
}

/// Stages that the spansets of each trace go through, one after another. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The stages.
    pub stages: Vec<Stage>,
}

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// `{ … }`, or several of them combined.
    Spansets(Spansets),
    /// `count() > 2`: spansets that pass are kept.
    Scalars(ScalarFilter),
    /// `by(…)`: a spanset for each value.
    By(Expr),
    /// `coalesce()`: all spansets of a trace become one.
    Coalesce,
    /// `select(…)`: attributes to show.
    Select(Vec<Attribute>),
}

/// Which spans of a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum Spansets {
    /// `{ … }`; `{ }` is `true`.
    Filter(Expr),
    /// `( { … } | … )`.
    Pipeline(Box<Pipeline>),
    /// Two combined.
    Binary {
        /// How.
        op: SpansetOp,
        /// The left side.
        left: Box<Spansets>,
        /// The right side.
        right: Box<Spansets>,
    },
}

/// How two spansets are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpansetOp {
    /// `&&`: both have spans; all of them.
    And,
    /// `||`: all spans of both.
    Or,
    /// `>`, `!<<`, `&~` and the like.
    Structural {
        /// How spans of the right side are related to spans of the left side.
        relation: Relation,
        /// Which spans are the result.
        mode: Mode,
    },
}

/// How a span (of the right side) is related to another (of the left side).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `>`: it is a child.
    Child,
    /// `>>`: it is a descendant.
    Descendant,
    /// `<`: it is the parent.
    Parent,
    /// `<<`: it is an ancestor.
    Ancestor,
    /// `~`: it has the same parent.
    Sibling,
}

/// Which spans a structural operator gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Spans of the right side that are related to one of the left side.
    Related,
    /// `!>`: spans of the right side that are related to none.
    Unrelated,
    /// `&>`: spans of both sides that take part in a relation.
    Both,
}

/// A comparison of numbers that are computed from a spanset.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarFilter {
    /// The left side.
    pub left: Scalar,
    /// How they are compared: `=`, `!=`, `<`, `<=`, `>`, `>=`.
    pub op: BinaryOp,
    /// The right side.
    pub right: Scalar,
}

/// A number that is computed from a spanset.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A constant.
    Literal(Literal),
    /// `count()`.
    Count,
    /// `avg(duration)` and the like.
    Aggregate {
        /// Which.
        function: Aggregate,
        /// Of what.
        of: Expr,
    },
    /// `( { … } | count() )`: of other spansets of the same trace.
    Pipeline {
        /// The spans that it is computed from.
        pipeline: Box<Pipeline>,
        /// What is computed.
        scalar: Box<Scalar>,
    },
    /// Arithmetic.
    Binary {
        /// Which.
        op: BinaryOp,
        /// The left side.
        left: Box<Scalar>,
        /// The right side.
        right: Box<Scalar>,
    },
}

/// An aggregate over the spans of a spanset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Aggregate {
    Min,
    Max,
    Sum,
    Avg,
}

/// An expression over one span.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A value of the span.
    Attribute(Attribute),
    /// `!x`.
    Not(Box<Expr>),
    /// `-x`.
    Negate(Box<Expr>),
    /// Two combined.
    Binary {
        /// How.
        op: BinaryOp,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
}

/// How two values are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `=~`: the whole text matches.
    Match,
    /// `!~`.
    NotMatch,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Literal {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Nanoseconds.
    Duration(i64),
    Text(String),
    Status(Status),
    Kind(Kind),
}

/// The status of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Status {
    Unset,
    Ok,
    Error,
}

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Unspecified,
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

/// A value of a span, or of its parent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// `parent.…`: of the span's parent.
    pub of_parent: bool,
    /// Which.
    pub name: Name,
}

/// Which value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// What every span has, written with a colon or bare.
    Intrinsic(Intrinsic),
    /// `span.key` and the like.
    Keyed {
        /// Where it is looked for.
        scope: Scope,
        /// The key.
        key: String,
    },
}

/// Where an attribute is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Scope {
    /// `.key`: the span, its resource, its instrumentation scope, its events, its links; the
    /// first that has it.
    Any,
    Span,
    Resource,
    Instrumentation,
    Event,
    Link,
}

/// What every span has. Some have two spellings, an old and a scoped one, as `name` and
/// `span:name`; answers show the old one, as Tempo's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Intrinsic {
    Duration,
    Name,
    Status,
    StatusMessage,
    Kind,
    /// `parent`: nothing; only `parent.…` is something.
    Parent,
    TraceDuration,
    RootName,
    RootServiceName,
    NestedSetLeft,
    NestedSetRight,
    NestedSetParent,
    SpanId,
    SpanParentId,
    SpanChildCount,
    TraceId,
    EventName,
    EventTimeSinceStart,
    LinkTraceId,
    LinkSpanId,
    InstrumentationName,
    InstrumentationVersion,
}

/// Numbers over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Metrics {
    /// `{ … } | rate() by (…)`.
    Query {
        /// Which spans.
        pipeline: Pipeline,
        /// What of them.
        function: MetricsFunction,
        /// `by (…)`.
        by: Vec<Attribute>,
        /// What is done with the series.
        stages: Vec<SeriesStage>,
    },
    /// A number.
    Literal(Literal),
    /// Arithmetic: `+`, `-`, `*`, `/`.
    Binary {
        /// Which.
        op: BinaryOp,
        /// The left side.
        left: Box<Metrics>,
        /// The right side.
        right: Box<Metrics>,
        /// What is done with the series.
        stages: Vec<SeriesStage>,
    },
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum MetricsFunction {
    Rate,
    CountOverTime,
    MinOverTime(Attribute),
    MaxOverTime(Attribute),
    SumOverTime(Attribute),
    AvgOverTime(Attribute),
    QuantileOverTime(Attribute, Vec<f64>),
    HistogramOverTime(Attribute),
    Compare {
        /// The spans that are compared with all others.
        selection: Expr,
        /// Values that are told of each attribute.
        top: usize,
        /// Nanoseconds since 1970: only spans in there are in the selection.
        range: Option<(i64, i64)>,
    },
}

/// What is done with series.
#[derive(Debug, Clone, PartialEq)]
pub enum SeriesStage {
    /// `| topk(n)`.
    TopK(usize),
    /// `| bottomk(n)`.
    BottomK(usize),
    /// `> 10`: points that pass are kept.
    Filter(BinaryOp, Literal),
}
