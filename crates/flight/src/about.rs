//! What the server says of itself, its tables and types.

use std::sync::LazyLock;

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    Nullable, Searchable, SqlInfo, SqlNullOrdering, SqlSupportedCaseSensitivity, XdbcDataType,
};
use tonic::Status;

/// The one catalogue.
pub(crate) const CATALOG: &str = "kymo";
/// The schema of the tables.
pub(crate) const SCHEMA: &str = "public";
/// What tables are.
pub(crate) const TABLE_TYPE: &str = "TABLE";

/// Facts about the server.
pub(crate) fn facts() -> Result<&'static SqlInfoData, Status> {
    static FACTS: LazyLock<Result<SqlInfoData, FlightError>> = LazyLock::new(|| {
        let mut facts = SqlInfoDataBuilder::new();
        facts.append(SqlInfo::FlightSqlServerName, "Kymograph");
        facts.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
        facts.append(SqlInfo::FlightSqlServerArrowVersion, "1.5");
        facts.append(SqlInfo::FlightSqlServerReadOnly, true);
        facts.append(SqlInfo::FlightSqlServerSql, true);
        facts.append(SqlInfo::FlightSqlServerSubstrait, false);
        facts.append(SqlInfo::FlightSqlServerTransaction, 0_i32);
        facts.append(SqlInfo::FlightSqlServerCancel, false);
        facts.append(SqlInfo::SqlDdlCatalog, false);
        facts.append(SqlInfo::SqlDdlSchema, false);
        facts.append(SqlInfo::SqlDdlTable, false);
        let lower = SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32;
        facts.append(SqlInfo::SqlIdentifierCase, lower);
        facts.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
        let quoted = SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i32;
        facts.append(SqlInfo::SqlQuotedIdentifierCase, quoted);
        facts.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedAtEnd as i32);
        facts.append(SqlInfo::SqlAllTablesAreSelectable, true);
        facts.append(SqlInfo::SqlTransactionsSupported, false);
        facts.build()
    });
    FACTS.as_ref().map_err(|error| Status::internal(error.to_string()))
}

/// Types that columns have.
pub(crate) fn types() -> Result<&'static XdbcTypeInfoData, Status> {
    static TYPES: LazyLock<Result<XdbcTypeInfoData, FlightError>> = LazyLock::new(|| {
        let mut types = XdbcTypeInfoDataBuilder::new();
        for (name, kind, size, quote) in [
            ("BOOLEAN", XdbcDataType::XdbcBit, 1, None),
            ("BIGINT", XdbcDataType::XdbcBigint, 64, None),
            ("INTEGER", XdbcDataType::XdbcInteger, 32, None),
            ("DOUBLE", XdbcDataType::XdbcDouble, 53, None),
            ("VARCHAR", XdbcDataType::XdbcVarchar, i32::MAX, Some("'")),
            ("BINARY", XdbcDataType::XdbcBinary, i32::MAX, Some("'")),
            ("TIMESTAMP", XdbcDataType::XdbcTimestamp, 29, Some("'")),
        ] {
            types.append(XdbcTypeInfo {
                type_name: name.to_owned(),
                data_type: kind,
                column_size: Some(size),
                literal_prefix: quote.map(str::to_owned),
                literal_suffix: quote.map(str::to_owned),
                create_params: None,
                nullable: Nullable::NullabilityNullable,
                case_sensitive: name == "VARCHAR",
                searchable: Searchable::Full,
                unsigned_attribute: None,
                fixed_prec_scale: false,
                auto_increment: None,
                local_type_name: Some(name.to_owned()),
                minimum_scale: None,
                maximum_scale: None,
                sql_data_type: kind,
                datetime_subcode: None,
                num_prec_radix: None,
                interval_precision: None,
            });
        }
        types.build()
    });
    TYPES.as_ref().map_err(|error| Status::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_types_can_be_told() {
        assert!(facts().unwrap().record_batch([]).unwrap().num_rows() > 10);
        assert_eq!(types().unwrap().record_batch(None).unwrap().num_rows(), 7);
    }
}
