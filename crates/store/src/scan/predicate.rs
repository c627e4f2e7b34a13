//! What a scan asks of rows: a small tree that can be sent to another node.
//!
//! # Meaning
//! - A test on a row that lacks the value is false, also `Ne` and a negated
//!   `Match` or `Contains`. `Not` is plain negation of what is inside: `Not(x = 1)` holds for
//!   rows without `x`, `x != 1` does not. An empty `And` is true, an empty `Or`
//!   false.
//! - A value is compared with a scalar of its own type; integers and doubles are
//!   compared as numbers, exactly (no integer is rounded). Unlike types do not
//!   compare: `Ne` is false there as well. Text and bytes compare byte by byte,
//!   `false` is less than `true`, NaN is unequal to everything.
//! - Where a row has a key more than once, one value that passes is enough.
//! - Arrays and key-value lists only pass `Exists`. An attribute that was sent
//!   without a value does not exist.
//! - A span whose status was not sent has the status `unset`.
//! - The body of a log record that is not text is tested as it is shown: numbers
//!   as they print, arrays and key-value lists as JSON.
//! - Times and integers compare with [`Scalar::Int`] (nanoseconds since 1970) and
//!   [`Scalar::Double`]; ids and bytes with [`Scalar::Bytes`].

use serde::{Deserialize, Serialize};

pub use crate::block::catalogue::Scope;
use crate::schema::{Signal, Table, ValueType};
use crate::tables::{series, spans};

/// A column that a scan reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnRef {
    /// A fixed column, by its place in [`Table::fields`].
    Field(usize),
    /// An attribute of the row, its resource or its scope.
    Attribute {
        /// To whom it belongs: `Own`, `Resource` or `Scope`; `Event` or `Link` in
        /// a scan of those elements, and there not in its predicate.
        scope: Scope,
        /// The key.
        key: String,
        /// Only values of this type; `None` for all.
        value_type: Option<ValueType>,
    },
    /// All attributes of the row, its resource or its scope as one JSON object,
    /// in the order they were sent (see `crate::json` for the form of values).
    /// NULL where no resource or no scope was sent. Those of the row itself
    /// cannot be tested by a predicate.
    Attributes(Scope),
    /// When a span ended: its start and its duration.
    EndTime,
    /// A member of an element, in a scan of these elements. Attributes of events
    /// and links are one JSON object.
    Element {
        /// Which elements.
        elements: Elements,
        /// The place of the member: in
        /// [`ListField::members`](crate::schema::ListField::members), or one of
        /// [`point`](crate::tables::series::point).
        member: usize,
    },
}

/// What the rows of a scan are, if not the rows of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Elements {
    /// Elements of a list of the table, by its place in [`Table::lists`].
    List(usize),
    /// Points of series: by time, of several with equal time the one that
    /// arrived last.
    Points,
}

impl Elements {
    /// Whose attributes they have.
    pub(super) fn scope(self, table: &Table) -> Option<Scope> {
        match self {
            Self::List(list) if table.signal == Signal::Spans => match list {
                spans::list::EVENTS => Some(Scope::Event),
                spans::list::LINKS => Some(Scope::Link),
                _ => None,
            },
            _ => None,
        }
    }

    fn member_name(self, table: &Table, member: usize) -> Option<&'static str> {
        match self {
            Self::List(list) => Some(table.lists.get(list)?.members.get(member)?.name),
            Self::Points => series::POINT_MEMBERS.get(member).copied(),
        }
    }
}

impl ColumnRef {
    /// The attribute of `scope` with values of any type.
    pub fn attribute(scope: Scope, key: impl Into<String>) -> Self {
        Self::Attribute { scope, key: key.into(), value_type: None }
    }

    /// The name in batches.
    pub fn name(&self, table: &Table) -> String {
        match self {
            Self::Field(field) => {
                table.fields.get(*field).map_or("?", |described| described.name).to_owned()
            }
            Self::Attribute { scope, key, value_type } => {
                let scope = match scope {
                    Scope::Resource => "resource",
                    Scope::Scope => "scope",
                    Scope::Event => "event",
                    Scope::Link => "link",
                    _ => table.scope,
                };
                match value_type {
                    None => format!("{scope}.{key}"),
                    Some(value_type) => format!("{scope}.{key}::{}", value_type.name()),
                }
            }
            Self::Attributes(Scope::Resource) => "resource".to_owned(),
            Self::Attributes(Scope::Scope) => "scope".to_owned(),
            Self::Attributes(_) => "attributes".to_owned(),
            Self::EndTime => "end_time".to_owned(),
            Self::Element { elements, member } => {
                elements.member_name(table, *member).unwrap_or("?").to_owned()
            }
        }
    }
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Op {
    /// Whether a pair in this order passes.
    pub(super) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Op::Eq => order.is_eq(),
            Op::Ne => order.is_ne(),
            Op::Lt => order.is_lt(),
            Op::Le => order.is_le(),
            Op::Gt => order.is_gt(),
            Op::Ge => order.is_ge(),
        }
    }
}

/// A constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Scalar {
    /// Text.
    String(String),
    /// A boolean.
    Bool(bool),
    /// An integer or a time.
    Int(i64),
    /// A double.
    Double(f64),
    /// Bytes or an id.
    Bytes(Vec<u8>),
}

/// What rows must fulfil; see the [module](self) for what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Predicate {
    /// All of these.
    And(Vec<Predicate>),
    /// At least one of these.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
    /// The value compares so.
    Compare {
        /// The value.
        column: ColumnRef,
        /// How.
        op: Op,
        /// With what.
        value: Scalar,
    },
    /// The value equals one of these.
    In {
        /// The value.
        column: ColumnRef,
        /// The values to look for.
        values: Vec<Scalar>,
    },
    /// The text is matched somewhere by a regular expression; anchors are the
    /// caller's to set.
    Match {
        /// The text.
        column: ColumnRef,
        /// The expression, in the syntax of the `regex` crate.
        regex: String,
        /// Whether texts that do not match pass instead.
        negated: bool,
    },
    /// The text has another somewhere in it, byte by byte. Texts that never
    /// occur are found out faster than by a regular expression.
    Contains {
        /// The text.
        column: ColumnRef,
        /// What it contains; the empty text is in every text.
        text: String,
        /// Whether texts that do not contain it pass instead.
        negated: bool,
    },
    /// There is a value.
    Exists(ColumnRef),
}

impl Predicate {
    /// The value of `column` equals `value`.
    pub fn equal(column: ColumnRef, value: Scalar) -> Self {
        Self::Compare { column, op: Op::Eq, value }
    }
}
