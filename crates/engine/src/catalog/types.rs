//! Types of PostgreSQL, and which of them a column of ours is.
//!
//! Numbers are those that every client has built in; they never change.

use arrow_schema::{DataType, Field};

/// The key in a field's metadata that says what its text is.
pub(crate) const TEXT_IS: &str = "kymo.text";
/// What stands there if it is JSON.
pub(crate) const JSON: &str = "json";

/// A type of PostgreSQL that is no array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PgType {
    /// Its number.
    pub oid: u32,
    /// Its name in `pg_type`.
    pub name: &'static str,
    /// Its name in SQL.
    pub display: &'static str,
    /// Bytes of a value; negative where values differ.
    pub size: i16,
    /// Its letter in `pg_type.typcategory`.
    pub category: char,
    /// The number of the array of it; 0 if there is none.
    pub array_oid: u32,
}

const fn pg(
    oid: u32,
    name: &'static str,
    display: &'static str,
    size: i16,
    category: char,
    array_oid: u32,
) -> PgType {
    PgType { oid, name, display, size, category, array_oid }
}

/// True or false.
pub const BOOL: PgType = pg(16, "bool", "boolean", 1, 'B', 1000);
/// Bytes.
pub const BYTEA: PgType = pg(17, "bytea", "bytea", -1, 'U', 1001);
/// 64 bits.
pub const INT8: PgType = pg(20, "int8", "bigint", 8, 'N', 1016);
/// 16 bits.
pub const INT2: PgType = pg(21, "int2", "smallint", 2, 'N', 1005);
/// 32 bits.
pub const INT4: PgType = pg(23, "int4", "integer", 4, 'N', 1007);
/// Text.
pub const TEXT: PgType = pg(25, "text", "text", -1, 'S', 1009);
/// JSON, as text.
pub const JSON_TYPE: PgType = pg(114, "json", "json", -1, 'U', 199);
/// 32 bits, with a point.
pub const FLOAT4: PgType = pg(700, "float4", "real", 4, 'N', 1021);
/// 64 bits, with a point.
pub const FLOAT8: PgType = pg(701, "float8", "double precision", 8, 'N', 1022);
/// Days.
pub const DATE: PgType = pg(1082, "date", "date", 4, 'D', 1182);
/// Times of a day.
pub const TIME: PgType = pg(1083, "time", "time without time zone", 8, 'D', 1183);
/// Moments.
pub const TIMESTAMPTZ: PgType = pg(1184, "timestamptz", "timestamp with time zone", 8, 'D', 1185);
/// Spans of time.
pub const INTERVAL: PgType = pg(1186, "interval", "interval", 16, 'T', 1187);
/// Numbers of any length.
pub const NUMERIC: PgType = pg(1700, "numeric", "numeric", -1, 'N', 1231);

/// All types that are known here: those of our columns, and those that clients send or ask for.
pub static TYPES: [PgType; 25] = [
    BOOL,
    BYTEA,
    pg(18, "char", "\"char\"", 1, 'Z', 1002),
    pg(19, "name", "name", 64, 'S', 1003),
    INT8,
    INT2,
    INT4,
    pg(24, "regproc", "regproc", 4, 'N', 1008),
    TEXT,
    pg(26, "oid", "oid", 4, 'N', 1028),
    JSON_TYPE,
    FLOAT4,
    FLOAT8,
    pg(705, "unknown", "unknown", -2, 'X', 0),
    pg(1042, "bpchar", "character", -1, 'S', 1014),
    pg(1043, "varchar", "character varying", -1, 'S', 1015),
    DATE,
    TIME,
    pg(1114, "timestamp", "timestamp without time zone", 8, 'D', 1115),
    TIMESTAMPTZ,
    INTERVAL,
    NUMERIC,
    pg(2205, "regclass", "regclass", 4, 'N', 2210),
    pg(2950, "uuid", "uuid", 16, 'U', 2951),
    pg(3802, "jsonb", "jsonb", -1, 'U', 3807),
];

/// What a column of an answer is for clients of PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PgColumn {
    /// The type of its values, or of what the arrays in it hold.
    pub element: PgType,
    /// Whether its values are arrays.
    pub is_array: bool,
}

impl PgColumn {
    /// What a column is. What PostgreSQL has no type for is JSON.
    #[must_use]
    pub fn of(field: &Field) -> Self {
        let is_json = field.metadata().get(TEXT_IS).is_some_and(|text| text == JSON);
        match field.data_type() {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                let element = element_of(item.data_type());
                let is_array = element.is_some_and(|element| element != JSON_TYPE);
                let element = element.filter(|_| is_array).unwrap_or(JSON_TYPE);
                Self { element, is_array }
            }
            _ if is_json => Self { element: JSON_TYPE, is_array: false },
            other => Self { element: element_of(other).unwrap_or(JSON_TYPE), is_array: false },
        }
    }

    /// The number of its type.
    #[must_use]
    pub fn oid(&self) -> u32 {
        if self.is_array { self.element.array_oid } else { self.element.oid }
    }

    /// Bytes of a value; negative where values differ.
    #[must_use]
    pub fn size(&self) -> i16 {
        if self.is_array { -1 } else { self.element.size }
    }

    /// Its name in SQL.
    #[must_use]
    pub fn display(&self) -> String {
        let brackets = if self.is_array { "[]" } else { "" };
        format!("{}{brackets}", self.element.display)
    }

    /// Its name in `pg_type`.
    pub(crate) fn name(&self) -> String {
        let underscore = if self.is_array { "_" } else { "" };
        format!("{underscore}{}", self.element.name)
    }
}

/// The type of values that are no arrays; `None` if there is none. Ids are text: their hex digits.
fn element_of(data_type: &DataType) -> Option<PgType> {
    Some(match data_type {
        DataType::Boolean => BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => INT2,
        DataType::Int32 | DataType::UInt16 => INT4,
        DataType::Int64 | DataType::UInt32 => INT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => FLOAT4,
        DataType::Float64 => FLOAT8,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => TEXT,
        DataType::FixedSizeBinary(_) => TEXT,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => BYTEA,
        DataType::Timestamp(..) => TIMESTAMPTZ,
        DataType::Date32 | DataType::Date64 => DATE,
        DataType::Time32(_) | DataType::Time64(_) => TIME,
        DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
        DataType::Dictionary(_, values) => return element_of(values),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Arc;

    #[test]
    fn columns_have_the_types_that_clients_expect() {
        let of = |data_type: DataType| PgColumn::of(&Field::new("a", data_type, true));
        let nanos = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("UTC".into()));
        assert_eq!(of(nanos).display(), "timestamp with time zone");
        assert_eq!(of(DataType::FixedSizeBinary(16)).display(), "text");
        let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        assert_eq!(of(text).oid(), 25);
        let list = |item: DataType| DataType::List(Arc::new(Field::new("item", item, true)));
        assert_eq!(of(list(DataType::Float64)).display(), "double precision[]");
        assert_eq!(of(list(list(DataType::Float64))).display(), "json");
        let json = Field::new("a", DataType::Utf8, true)
            .with_metadata([(TEXT_IS.to_owned(), JSON.to_owned())].into());
        assert_eq!(PgColumn::of(&json).display(), "json");
    }

    #[test]
    fn numbers_of_types_are_used_once() {
        let arrays = TYPES.iter().map(|known| known.array_oid).filter(|oid| *oid != 0);
        let all: Vec<u32> = TYPES.iter().map(|known| known.oid).chain(arrays).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
