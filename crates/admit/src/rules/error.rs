//! What can be wrong with rules, and with what they make of a request.

use kymo_condition::ConditionError;
use kymo_wire::WireError;
use thiserror::Error;

use super::limits::{
    MAX_INSERTED_BYTES, MAX_NAMES, MAX_REPLACEMENT_BYTES, MAX_RULE_NAME_BYTES, MAX_RULES,
};

/// Why rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rule {name}: {fault}")]
pub struct RuleError {
    /// Which rule, from 0.
    pub nth: usize,
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// There are too many.
    #[error("there are more than {MAX_RULES} rules")]
    TooMany,
    /// Its name cannot be shown.
    #[error("its name must be 1 to {MAX_RULE_NAME_BYTES} letters, digits, '_', '.' or '-'")]
    Name,
    /// Another one has its name.
    #[error("another rule has this name; names must be different")]
    NameTwice,
    /// Its name stands for something else.
    #[error("this name is that of the audience in counts; choose another")]
    Reserved,
    /// Its condition is none.
    #[error("where: {0}")]
    Condition(#[from] ConditionError),
    /// It does nothing.
    #[error(
        "it does nothing; expected one of drop, keep, delete, rename, insert, update, upsert, \
         hash, redact"
    )]
    Nothing,
    /// It drops, and does something else.
    #[error("drop and keep stand alone; put what else is to be done into a rule of its own")]
    DropAndMore,
    /// It keeps what has no condition.
    #[error("keep needs a condition; without one it would keep everything")]
    KeepAll,
    /// It is about no signal.
    #[error("signals is empty; leave it out for all signals")]
    NoSignal,
    /// Its condition is about spans, and it is not about traces.
    #[error("its condition is about spans, so that signals must be [traces]")]
    NeverTrue,
    /// A name without a scope.
    #[error("{0:?} has no scope: expected .{0}, span.{0}, resource.{0}")]
    NoScope(String),
    /// A scope that is not known.
    #[error(
        "{0:?} has an unknown scope: expected .x, resource.x, scope.x, span.x, log.x, label.x, \
         event.x, link.x or exemplar.x"
    )]
    UnknownScope(String),
    /// A name without a key.
    #[error("{0:?} has no key behind the dot")]
    NoKey(String),
    /// A star where one attribute is meant.
    #[error("{0:?} must be the name of one attribute; put a name that ends with * in quotes")]
    Star(String),
    /// The name of a metric is no attribute.
    #[error("{0:?} is the name of a metric, which rules do not change")]
    MetricName(String),
    /// An attribute that no record of the rule's signals has.
    #[error("no record of this rule's signals has {0:?}")]
    NoSuchPlace(String),
    /// Attributes do not move.
    #[error("{from:?} cannot become {to:?}: both must have the same scope")]
    Moves {
        /// The name before.
        from: String,
        /// The name after.
        to: String,
    },
    /// Too many names.
    #[error("it names more than {MAX_NAMES} attributes")]
    TooManyNames,
    /// A value is too long.
    #[error("the value of {0:?} is longer than {MAX_INSERTED_BYTES} bytes")]
    LongValue(String),
    /// A replacement is too long.
    #[error("with is longer than {MAX_REPLACEMENT_BYTES} bytes")]
    LongReplacement,
    /// It redacts nowhere.
    #[error("redact needs attributes, or body: true")]
    RedactsNothing,
    /// Bodies are of log records.
    #[error("body: true is about log records; signals must have logs")]
    NoBody,
    /// A regular expression is none.
    #[error("pattern: {0}")]
    Pattern(String),
    /// It would match between any two characters.
    #[error("pattern matches empty text too; expected at least one character, as .+ for .*")]
    EmptyPattern,
}

/// Why rules could not be applied to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// It is not well-formed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// What the rules make of it is too large.
    #[error("the rules make the request larger than {limit_bytes} bytes; send smaller batches")]
    TooLarge {
        /// What is allowed.
        limit_bytes: usize,
    },
}
