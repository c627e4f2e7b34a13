//! What can go wrong with a query, and how DataFusion's errors become it.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::ArrowError;
use datafusion::error::DataFusionError;
use kymo_store::StoreError;

use crate::clock::Clock;
use crate::memory::QueryMemory;
use crate::sql::suggest;
use crate::state::QueryState;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The query is wrong: syntax, unknown names, types that do not fit, a value that cannot be
    /// computed.
    #[error("{0}")]
    Invalid(Fault),
    /// The query would do something other than read the tables, or calls a function that is not
    /// offered.
    #[error("{0}")]
    NotAllowed(Fault),
    /// The query needs more memory than it may have.
    #[error("{}", memory_message(*.limit_bytes, *.of_all_queries))]
    Memory {
        /// The limit that was reached.
        limit_bytes: usize,
        /// Whether that is the limit of all queries together.
        of_all_queries: bool,
    },
    /// The answer has more rows than allowed.
    #[error("the answer has more than {limit} rows: add a LIMIT, aggregate, or ask for less time")]
    Rows {
        /// The limit.
        limit: u64,
    },
    /// The query took too long.
    #[error("the query took more than {} s: ask for less time or fewer columns", limit.as_secs_f64())]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// Too many queries wait already.
    #[error("too many queries are waiting: try again in {} s", retry_after.as_secs())]
    Busy {
        /// When it is worth to try again.
        retry_after: Duration,
    },
    /// Whoever asked has gone, or the engine is shutting down.
    #[error("the query was cancelled")]
    Cancelled,
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// All that can be read was given, but not all there is can be read.
    #[error("{}", damaged_message(*.blocks))]
    Damaged {
        /// Blocks that are left out, all of each or a part.
        blocks: usize,
    },
    /// An expression in PromQL could not be evaluated.
    #[error(transparent)]
    Evaluation(Arc<kymo_promql::eval::EvalError>),
    /// A fault of this program.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

fn damaged_message(blocks: usize) -> String {
    let blocks =
        if blocks == 1 { "1 damaged block".to_owned() } else { format!("{blocks} damaged blocks") };
    format!(
        "{blocks} could not be read, records are missing: `kymo store check` names what is damaged"
    )
}

/// What is wrong with a query, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// For programs.
    pub kind: FaultKind,
    /// For people.
    pub message: String,
}

/// What in a query is wrong, as far as it is known where that is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It cannot be parsed.
    Syntax,
    /// There is no such table.
    Table,
    /// There is no such column.
    Column,
    /// There is no such function, or it is not offered.
    Function,
    /// There is no such setting.
    Setting,
    /// A parameter has no value, or is none of those that can be.
    Parameter,
    /// A value cannot be what it is to become, or nothing can be computed of it.
    Value,
    /// Anything else.
    Other,
}

impl Fault {
    /// A fault of a kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The line and the character of it, both from 1, that a message about SQL names:
    /// `Line: 2, Column: 5`.
    pub fn place(&self) -> Option<(usize, usize)> {
        let (_, rest) = self.message.rsplit_once("Line: ")?;
        let (line, rest) = rest.split_once(", Column: ")?;
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let place: (usize, usize) = (line.parse().ok()?, rest[..digits].parse().ok()?);
        // SQL without a place is said to be at 0.
        (place.0 > 0 && place.1 > 0).then_some(place)
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::new(FaultKind::Other, message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::new(FaultKind::Other, message)
    }
}

fn memory_message(limit_bytes: usize, of_all_queries: bool) -> String {
    let mebibytes = limit_bytes >> 20;
    if of_all_queries {
        return format!(
            "all queries together need more than {mebibytes} MiB of memory: try again later, or ask for less"
        );
    }
    format!(
        "the query needs more than {mebibytes} MiB of memory: ask for less time, fewer columns or fewer groups"
    )
}

impl EngineError {
    /// A short name of the kind, for counters.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::NotAllowed(_) => "not_allowed",
            Self::Memory { .. } => "memory",
            Self::Rows { .. } => "rows",
            Self::Timeout { .. } => "timeout",
            Self::Busy { .. } => "busy",
            Self::Cancelled => "cancelled",
            Self::Store(_) | Self::Damaged { .. } => "store",
            Self::Evaluation(_) => "evaluation",
            Self::Internal(_) => "internal",
        }
    }

    /// Whether a block was replaced since the snapshot was taken.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_block_missing())
    }

    /// What DataFusion's error is. What scans and memory pool met is asked for first: on its way
    /// through the operators an error may be wrapped so that its type is lost.
    pub(crate) fn of(error: DataFusionError, state: &QueryState) -> Self {
        if let Some(error) = state.take_failure() {
            return error;
        }
        if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
            && let Some(error) = state.memory().error()
        {
            return error;
        }
        Self::of_plan(&error)
    }

    /// What an error is that came of reading for a query.
    pub(crate) fn of_scan(error: StoreError, memory: &QueryMemory, clock: &Clock) -> Self {
        match error {
            // A scan only knows that it was to end.
            StoreError::Cancelled => match memory.error() {
                Some(error) => error,
                None => clock.check().err().unwrap_or(Self::Cancelled),
            },
            StoreError::Query(message) => Self::Invalid(message.into()),
            other => Self::Store(other),
        }
    }

    /// What an error is that came without running anything.
    pub(crate) fn of_plan(error: &DataFusionError) -> Self {
        match error.find_root() {
            // A regular expression that is too large is found out by a kernel.
            DataFusionError::Internal(message) if message.contains("Regular expression") => {
                Self::Invalid(message.clone().into())
            }
            DataFusionError::Internal(message) => Self::Internal(message.clone()),
            DataFusionError::IoError(error) => Self::Internal(error.to_string()),
            // Tasks of a query are only cancelled by others when the engine is shut down.
            DataFusionError::ExecutionJoin(error) if error.is_cancelled() => Self::Cancelled,
            DataFusionError::Execution(message) if message.contains("Non Panic Task error") => {
                Self::Cancelled
            }
            DataFusionError::ExecutionJoin(error) => Self::Internal(error.to_string()),
            // Ours, or that of a function: a regular expression that cannot be compiled.
            DataFusionError::External(error) => {
                Self::Invalid(match error.downcast_ref::<Refusal>() {
                    Some(Refusal(fault)) => fault.clone(),
                    None => error.to_string().into(),
                })
            }
            DataFusionError::SchemaError(error, _) => {
                Self::Invalid(suggest::column(error).unwrap_or_else(|| error.to_string().into()))
            }
            root => Self::Invalid(Fault::new(kind_of(root), message_of(root))),
        }
    }
}

/// What is wrong by the type of an error, where that says it.
fn kind_of(error: &DataFusionError) -> FaultKind {
    match error {
        DataFusionError::SQL(..) => FaultKind::Syntax,
        DataFusionError::ArrowError(error, _) => match **error {
            ArrowError::CastError(_)
            | ArrowError::ParseError(_)
            | ArrowError::ComputeError(_)
            | ArrowError::DivideByZero
            | ArrowError::ArithmeticOverflow(_) => FaultKind::Value,
            _ => FaultKind::Other,
        },
        _ => FaultKind::Other,
    }
}

/// A fault that we found, on its way through DataFusion.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(Fault);

impl Refusal {
    pub(crate) fn error(fault: impl Into<Fault>) -> DataFusionError {
        DataFusionError::External(Box::new(Self(fault.into())))
    }
}

/// The text of an error, without the name of DataFusion's kind before it and the stack behind.
fn message_of(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let prefixes = [
        "Error during planning: ",
        "SQL error: ",
        "Schema error: ",
        "Execution error: ",
        "Arrow error: ",
        "Optimizer rule ",
    ];
    let text = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(&text);
    // What a function of ours says of its arguments is wrapped in what DataFusion says of it.
    if let Some((_, ours)) = text.split_once("user-defined coercion failed with: ") {
        let ours = ours.strip_prefix("External error: ").unwrap_or(ours);
        return ours.split(". No function matches").next().unwrap_or(ours).to_owned();
    }
    match text.strip_prefix("ParserError(\"").and_then(|text| text.strip_suffix("\")")) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\'", "'"),
        None => text.to_owned(),
    }
}
