//! Tables and their columns: one description, from which head, blocks and scans
//! are made.
//!
//! A table has fields (the fixed columns), lists of structs, and attributes: a
//! column for each key and type that is frequent, the rest in one field. A row
//! refers to its *origin* (resource and scope, stored once) and to its *shape*
//! (which attributes it has, in the order they were sent).

use serde::{Deserialize, Serialize};

use crate::pages::decode::{Nesting, Physical};
use crate::pages::encode::Hint;

/// A signal, which is a table of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Spans of traces.
    Spans,
    /// Log records.
    Logs,
    /// Series of metric points.
    Series,
}

impl Signal {
    /// All signals.
    pub const ALL: [Signal; 3] = [Signal::Spans, Signal::Logs, Signal::Series];

    /// The name in paths and messages.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Spans => "spans",
            Signal::Logs => "logs",
            Signal::Series => "series",
        }
    }

    /// The signal of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The table's description.
    pub fn table(self) -> &'static Table {
        match self {
            Signal::Spans => &crate::tables::spans::TABLE,
            Signal::Logs => &crate::tables::logs::TABLE,
            Signal::Series => &crate::tables::series::TABLE,
        }
    }
}

/// What the values of a field mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nanoseconds since 1970, UTC.
    Time,
    /// A 64-bit integer.
    Int,
    /// A double.
    Double,
    /// A boolean.
    Bool,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Binary,
    /// A trace id or a series identity: 16 bytes.
    Id16,
    /// A span id: 8 bytes.
    Id8,
}

impl Kind {
    pub(crate) fn physical(self) -> Physical {
        match self {
            Kind::Time | Kind::Int => Physical::Int,
            Kind::Double => Physical::Double,
            Kind::Bool => Physical::Bool,
            Kind::Text | Kind::Binary => Physical::Bytes,
            Kind::Id16 => Physical::Id16,
            Kind::Id8 => Physical::Id8,
        }
    }
}

/// A fixed column.
#[derive(Debug)]
pub struct Field {
    /// Its name in the Parquet file.
    pub name: &'static str,
    /// What its values mean.
    pub kind: Kind,
    /// Whether rows may lack it.
    pub optional: bool,
    pub(crate) hint: Hint,
}

impl Field {
    pub(crate) const fn required(name: &'static str, kind: Kind, hint: Hint) -> Self {
        Self { name, kind, optional: false, hint }
    }

    pub(crate) const fn optional(name: &'static str, kind: Kind, hint: Hint) -> Self {
        Self { name, kind, optional: true, hint }
    }

    pub(crate) fn nesting(&self) -> Nesting {
        if self.optional { Nesting::Optional } else { Nesting::Required }
    }

    pub(crate) fn member_nesting(&self) -> Nesting {
        Nesting::List { optional: self.optional }
    }
}

/// A column of lists of structs.
#[derive(Debug)]
pub struct ListField {
    /// Its name in the Parquet file.
    pub name: &'static str,
    /// The struct's members.
    pub members: &'static [Field],
}

/// Fields that every table has, by their place in [`Table::fields`].
#[derive(Debug)]
pub struct CommonFields {
    /// Number of the row's origin.
    pub origin: usize,
    /// Number of the row's shape.
    pub shape: usize,
    /// Attributes that have no column of their own: an encoded `KeyValueList`.
    pub rest: usize,
    /// The service's name, for readers that know nothing of origins.
    pub service: usize,
    /// The resource as JSON text, likewise.
    pub resource: usize,
    /// The scope's name.
    pub scope_name: usize,
    /// The scope's version.
    pub scope_version: usize,
}

/// The description of a table.
#[derive(Debug)]
pub struct Table {
    /// Whose table it is.
    pub signal: Signal,
    /// Before the key in the names of attribute columns.
    pub scope: &'static str,
    /// The fixed columns.
    pub fields: &'static [Field],
    /// The columns of lists.
    pub lists: &'static [ListField],
    /// The fields that every table has.
    pub common: CommonFields,
}

impl Table {
    /// The place of the field of that name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }
}

/// The type of an attribute's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum ValueType {
    /// Text.
    String = 1,
    /// A boolean.
    Bool = 2,
    /// A 64-bit integer.
    Int = 3,
    /// A double.
    Double = 4,
    /// Arrays, key-value lists and bytes: an encoded `AnyValue`.
    Any = 5,
}

impl ValueType {
    /// All types.
    pub const ALL: [ValueType; 5] = [Self::String, Self::Bool, Self::Int, Self::Double, Self::Any];

    /// The type of that number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| *t as u32 == number)
    }

    /// The name, as in column names.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Double => "double",
            Self::Any => "any",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::String => Kind::Text,
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int,
            Self::Double => Kind::Double,
            Self::Any => Kind::Binary,
        }
    }
}

/// Key and type of an attribute of a row itself (not of its resource or scope).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeKey {
    /// The key; UTF-8, which was checked when it was admitted.
    pub key: Box<[u8]>,
    /// The type of the values.
    pub value_type: ValueType,
}
