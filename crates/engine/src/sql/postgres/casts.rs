//! Types that only PostgreSQL has, in casts.
//!
//! `'spans'::regclass` is the number of a table, `oid::regclass` the name of one: which is meant is
//! seen from what is cast.

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType as SqlType, Expr, ObjectName, Value as SqlValue,
};

use super::super::parameters::call;
use crate::catalog::types::TYPES;
use crate::catalog::{relation_oid, schema_oid};
use crate::error::Fault;

/// What a cast becomes; `None` if it stays.
pub(super) fn rewrite(expr: &Expr, data_type: &mut SqlType) -> Result<Option<Expr>, Fault> {
    match data_type {
        SqlType::Regclass => return registered(expr, "regclass").map(Some),
        SqlType::JSON | SqlType::JSONB | SqlType::Uuid => *data_type = SqlType::Text,
        SqlType::Array(
            ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::Parenthesis(inner),
        ) => {
            if let SqlType::Custom(name, _) = &**inner
                && let Some(known) = known(&last(name))
            {
                **inner = known;
            }
        }
        SqlType::Custom(name, _) => {
            let name = last(name);
            if name.starts_with("reg") {
                return registered(expr, &name).map(Some);
            }
            if let Some(known) = known(&name) {
                *data_type = known;
            }
        }
        _ => {}
    }
    Ok(None)
}

fn last(name: &ObjectName) -> String {
    let ident = name.0.last().and_then(|part| part.as_ident());
    ident.map_or_else(String::new, |ident| ident.value.to_lowercase())
}

/// The type of a name that the parser does not know, or not with its schema.
fn known(name: &str) -> Option<SqlType> {
    Some(match name {
        "text" | "name" | "char" | "bpchar" | "varchar" | "json" | "jsonb" | "unknown" | "xid"
        | "int2vector" | "oidvector" | "sql_identifier" | "character_data" | "yes_or_no"
        | "aclitem" | "pg_node_tree" | "uuid" => SqlType::Text,
        "oid" | "int8" | "bigint" | "cardinal_number" | "cid" => SqlType::BigInt(None),
        "int4" | "integer" | "int" => SqlType::Integer(None),
        "int2" | "smallint" => SqlType::SmallInt(None),
        "bool" | "boolean" => SqlType::Boolean,
        "float8" => SqlType::DoublePrecision,
        "float4" => SqlType::Real,
        "bytea" => SqlType::Bytea,
        _ => return None,
    })
}

/// A name as its number, or a number as its name.
fn registered(expr: &Expr, kind: &str) -> Result<Expr, Fault> {
    let Some(name) = text(expr) else {
        return Ok(match kind {
            "regclass" => call("regclass_name", vec![expr.clone()]),
            "regtype" => call("regtype_name", vec![expr.clone()]),
            "regnamespace" => call("regnamespace_name", vec![expr.clone()]),
            "regrole" => call("pg_get_userbyid", vec![expr.clone()]),
            // Nothing here has numbers of the others.
            _ => expr.clone(),
        });
    };
    // A number may be written as text.
    if let Ok(number) = name.parse::<i64>() {
        return Ok(Expr::value(SqlValue::Number(number.to_string(), false)));
    }
    let found = match kind {
        "regclass" => relation_oid(name),
        "regnamespace" => schema_oid(name),
        "regtype" => TYPES.iter().find_map(|known| {
            let is_it = known.name == name || known.display == name;
            is_it.then_some(i64::from(known.oid))
        }),
        _ => return Ok(expr.clone()),
    };
    match found {
        Some(oid) => Ok(Expr::value(SqlValue::Number(oid.to_string(), false))),
        None if kind == "regclass" => Err(crate::sql::suggest::table(name)),
        None => Err(format!("there is no {} `{name}`", &kind[3..]).into()),
    }
}

/// The text of a literal.
pub(super) fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            SqlValue::SingleQuotedString(text) | SqlValue::EscapedStringLiteral(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => text(inner),
        Expr::Cast { expr, .. } => text(expr),
        _ => None,
    }
}
