//! What the relations of the catalogue say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::relations::{RELATIONS, Within};
use super::rows::Row;
use super::types::{PgColumn, TYPES};
use crate::tables::TableName;

/// Numbers of schemas.
const PG_CATALOG: i64 = 11;
const INFORMATION_SCHEMA: i64 = 13_000;
const PUBLIC: i64 = 2200;
/// The number of whoever owns everything.
pub(crate) const OWNER_OID: i64 = 10;
/// Numbers of our tables begin here, as those of users do in PostgreSQL.
const FIRST_TABLE_OID: i64 = 16_384;
/// Numbers of our functions begin here.
const FIRST_FUNCTION_OID: i64 = 20_000;
/// Numbers of databases begin here.
const FIRST_DATABASE_OID: i64 = 30_000;
/// UTF-8, by its number.
pub(crate) const UTF8_ENCODING: i64 = 6;

/// A function that queries may call.
#[derive(Debug, Clone)]
pub(crate) struct FunctionText {
    pub(crate) name: String,
    /// What it is called with, for people.
    pub(crate) arguments: String,
    /// `f`, `a` or `w`: one row, many, many around one.
    pub(crate) kind: &'static str,
}

/// What relations are filled with.
#[derive(Debug, Clone)]
pub(crate) struct Contents {
    /// The name of what is asked: the tenant's.
    pub(crate) database: String,
    /// Everything that could be asked instead.
    pub(crate) databases: Vec<String>,
    /// Who asks.
    pub(crate) user: String,
    pub(crate) settings: BTreeMap<String, String>,
    /// Our tables and their fixed columns.
    pub(crate) tables: Vec<(TableName, SchemaRef)>,
    pub(crate) functions: Arc<Vec<FunctionText>>,
}

/// A relation as the catalogue tells of it: ours, or one of its own.
struct Described {
    schema: (&'static str, i64),
    name: &'static str,
    oid: i64,
    columns: SchemaRef,
    is_ours: bool,
}

impl Contents {
    fn relations(&self) -> impl Iterator<Item = Described> {
        let ours = self.tables.iter().map(|(table, columns)| Described {
            schema: ("public", PUBLIC),
            name: table.name(),
            oid: table_oid(*table),
            columns: columns.clone(),
            is_ours: true,
        });
        ours.chain(RELATIONS.iter().map(|relation| Described {
            schema: match relation.within {
                Within::PgCatalog => ("pg_catalog", PG_CATALOG),
                Within::InformationSchema => ("information_schema", INFORMATION_SCHEMA),
            },
            name: relation.name,
            oid: relation.oid,
            columns: relation.schema(),
            is_ours: false,
        }))
    }
}

/// The number of a table.
pub(crate) fn table_oid(table: TableName) -> i64 {
    let place = TableName::ALL.iter().position(|known| *known == table);
    FIRST_TABLE_OID + place.unwrap_or_default() as i64
}

/// The number of a relation by its name, with or without its schema.
pub(crate) fn relation_oid(name: &str) -> Option<i64> {
    let plain = name.replace('"', "");
    let (schema, name) = match plain.split_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, plain.as_str()),
    };
    let ours = TableName::from_name(name).filter(|_| schema.is_none_or(|name| name == "public"));
    let known = || super::Relation::find(schema, name).map(|relation| relation.oid);
    ours.map(table_oid).or_else(known)
}

/// Names of relations by number. Those that are found without a schema have none.
pub(crate) fn relation_names() -> BTreeMap<i64, String> {
    let ours = TableName::ALL.iter().map(|table| (table_oid(*table), table.name().to_owned()));
    let known = RELATIONS.iter().map(|relation| match relation.within {
        Within::PgCatalog => (relation.oid, relation.name.to_owned()),
        Within::InformationSchema => {
            (relation.oid, format!("information_schema.{}", relation.name))
        }
    });
    ours.chain(known).collect()
}

/// Numbers of relations that are found by their schema only.
pub(crate) fn relations_out_of_sight() -> BTreeSet<i64> {
    let is_hidden = |within: &Within| matches!(within, Within::InformationSchema);
    RELATIONS.iter().filter(|known| is_hidden(&known.within)).map(|known| known.oid).collect()
}

/// The number of a schema by its name.
pub(crate) fn schema_oid(name: &str) -> Option<i64> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, oid)| *oid)
}

/// Names of schemas by number.
pub(crate) fn schema_names() -> BTreeMap<i64, String> {
    SCHEMAS.iter().map(|(name, oid)| (*oid, (*name).to_owned())).collect()
}

const SCHEMAS: [(&str, i64); 3] =
    [("pg_catalog", PG_CATALOG), ("information_schema", INFORMATION_SCHEMA), ("public", PUBLIC)];

/// What is in our tables, by number.
pub(crate) fn comments() -> BTreeMap<i64, String> {
    let about = |table: TableName| match table {
        TableName::Spans => "spans of traces, one row each",
        TableName::Events => "events of spans, one row each",
        TableName::Links => "links of spans, one row each",
        TableName::Logs => "log records, one row each",
        TableName::Points => "points of metrics, one row each",
        TableName::Traces => "traces, one row each",
    };
    TableName::ALL.iter().map(|table| (table_oid(*table), about(*table).to_owned())).collect()
}

/// Arguments of functions by number.
pub(crate) fn function_arguments(functions: &[FunctionText]) -> BTreeMap<i64, String> {
    let numbered = functions.iter().zip(FIRST_FUNCTION_OID..);
    numbered.map(|(function, oid)| (oid, function.arguments.clone())).collect()
}

pub(super) fn classes(contents: &Contents) -> Vec<Row> {
    let class = |relation: Described| {
        let is_view = !relation.is_ours && relation.schema.0 == "information_schema";
        Row::default()
            .with("oid", relation.oid)
            .with("relname", relation.name)
            .with("relnamespace", relation.schema.1)
            .with("relowner", OWNER_OID)
            .with("relam", if is_view { 0 } else { HEAP })
            .with("relfilenode", relation.oid)
            // Nobody has counted them.
            .with("reltuples", -1_i64)
            .with("relpersistence", "p")
            .with("relkind", if is_view { "v" } else { "r" })
            .with("relnatts", relation.columns.fields().len() as i64)
            .with("relispopulated", true)
            .with("relreplident", "n")
    };
    contents.relations().map(class).collect()
}

pub(super) fn attributes(contents: &Contents) -> Vec<Row> {
    let of_relation = |relation: Described| {
        let columns = relation.columns.clone();
        let of_column = move |(place, field): (usize, &Arc<arrow_schema::Field>)| {
            let column = PgColumn::of(field);
            Row::default()
                .with("attrelid", relation.oid)
                .with("attname", field.name().as_str())
                .with("atttypid", i64::from(column.oid()))
                .with("attstattarget", -1_i64)
                .with("attlen", i64::from(column.size()))
                .with("attnum", place as i64 + 1)
                .with("attndims", i64::from(column.is_array))
                .with("atttypmod", -1_i64)
                .with("attbyval", (1..=8).contains(&column.size()))
                .with("attstorage", "p")
                .with("attalign", "i")
                .with("attcompression", "")
                .with("attidentity", "")
                .with("attgenerated", "")
                .with("attislocal", true)
        };
        columns.fields().iter().enumerate().map(of_column).collect::<Vec<_>>()
    };
    contents.relations().flat_map(of_relation).collect()
}

pub(super) fn types(_: &Contents) -> Vec<Row> {
    let row = |oid: u32, name: String, size: i16, category: char| {
        Row::default()
            .with("oid", i64::from(oid))
            .with("typname", name)
            .with("typnamespace", PG_CATALOG)
            .with("typowner", OWNER_OID)
            .with("typlen", i64::from(size))
            .with("typbyval", (1..=8).contains(&size))
            .with("typtype", if category == 'X' { "p" } else { "b" })
            .with("typcategory", category.to_string())
            .with("typisdefined", true)
            .with("typdelim", ",")
            .with("typalign", "i")
            .with("typstorage", "p")
            .with("typtypmod", -1_i64)
    };
    let (mut plain, mut arrays) = (Vec::new(), Vec::new());
    for known in &TYPES {
        let (input, receive) = (format!("{}in", known.name), format!("{}recv", known.name));
        plain.push(
            row(known.oid, known.name.to_owned(), known.size, known.category)
                .with("typarray", i64::from(known.array_oid))
                .with("typinput", input)
                .with("typreceive", receive),
        );
        if known.array_oid != 0 {
            let array = row(known.array_oid, format!("_{}", known.name), -1, 'A');
            arrays.push(
                array
                    .with("typelem", i64::from(known.oid))
                    .with("typinput", "array_in")
                    .with("typreceive", "array_recv"),
            );
        }
    }
    plain.append(&mut arrays);
    plain
}

pub(super) fn namespaces(_: &Contents) -> Vec<Row> {
    let row = |(name, oid): &(&str, i64)| {
        Row::default().with("oid", *oid).with("nspname", *name).with("nspowner", OWNER_OID)
    };
    SCHEMAS.iter().map(row).collect()
}

pub(super) fn databases(contents: &Contents) -> Vec<Row> {
    let mut names = contents.databases.clone();
    names.push(contents.database.clone());
    names.sort();
    names.dedup();
    let row = |(name, oid): (String, i64)| {
        Row::default()
            .with("oid", oid)
            .with("datname", name)
            .with("datdba", OWNER_OID)
            .with("encoding", UTF8_ENCODING)
            .with("datlocprovider", "c")
            .with("datallowconn", true)
            .with("datconnlimit", -1_i64)
            .with("datcollate", "C")
            .with("datctype", "C")
    };
    names.into_iter().zip(FIRST_DATABASE_OID..).map(row).collect()
}

pub(super) fn roles(contents: &Contents) -> Vec<Row> {
    let row = Row::default()
        .with("oid", OWNER_OID)
        .with("rolname", contents.user.as_str())
        .with("rolinherit", true)
        .with("rolcanlogin", true)
        .with("rolconnlimit", -1_i64);
    vec![row]
}

pub(super) fn users(contents: &Contents) -> Vec<Row> {
    vec![Row::default().with("usename", contents.user.as_str()).with("usesysid", OWNER_OID)]
}

pub(super) fn functions(contents: &Contents) -> Vec<Row> {
    let row = |(function, oid): (&FunctionText, i64)| {
        Row::default()
            .with("oid", oid)
            .with("proname", function.name.as_str())
            .with("pronamespace", PUBLIC)
            .with("proowner", OWNER_OID)
            .with("prokind", function.kind)
            .with("provolatile", "s")
            .with("proparallel", "s")
            .with("proargtypes", "")
            .with("prosrc", function.name.as_str())
    };
    contents.functions.iter().zip(FIRST_FUNCTION_OID..).map(row).collect()
}

pub(super) fn settings(contents: &Contents) -> Vec<Row> {
    let row = |(name, value): (&String, &String)| {
        Row::default()
            .with("name", name.as_str())
            .with("setting", value.as_str())
            .with("context", "user")
            .with("vartype", "string")
            .with("source", "session")
            .with("boot_val", value.as_str())
            .with("reset_val", value.as_str())
    };
    contents.settings.iter().map(row).collect()
}

pub(super) fn tables(contents: &Contents) -> Vec<Row> {
    let row = |relation: Described| {
        Row::default()
            .with("schemaname", relation.schema.0)
            .with("tablename", relation.name)
            .with("tableowner", contents.user.as_str())
    };
    let is_table = |relation: &Described| relation.schema.1 != INFORMATION_SCHEMA;
    contents.relations().filter(is_table).map(row).collect()
}

/// How rows are kept, as far as PostgreSQL has a word for it.
const HEAP: i64 = 2;

pub(super) fn access_methods(_: &Contents) -> Vec<Row> {
    vec![Row::default().with("oid", HEAP).with("amname", "heap").with("amtype", "t")]
}

pub(super) fn descriptions(_: &Contents) -> Vec<Row> {
    let class = relation_oid("pg_class").unwrap_or_default();
    let row = |(oid, text): (i64, String)| {
        Row::default().with("objoid", oid).with("classoid", class).with("description", text)
    };
    comments().into_iter().map(row).collect()
}

pub(super) fn standard_schemata(contents: &Contents) -> Vec<Row> {
    let row = |(name, _): &(&str, i64)| {
        Row::default()
            .with("catalog_name", contents.database.as_str())
            .with("schema_name", *name)
            .with("schema_owner", contents.user.as_str())
    };
    SCHEMAS.iter().map(row).collect()
}

pub(super) fn standard_tables(contents: &Contents) -> Vec<Row> {
    let row = |relation: Described| {
        let is_view = relation.schema.1 == INFORMATION_SCHEMA;
        Row::default()
            .with("table_catalog", contents.database.as_str())
            .with("table_schema", relation.schema.0)
            .with("table_name", relation.name)
            .with("table_type", if is_view { "VIEW" } else { "BASE TABLE" })
            .with("is_insertable_into", "NO")
            .with("is_typed", "NO")
    };
    contents.relations().map(row).collect()
}

pub(super) fn standard_columns(contents: &Contents) -> Vec<Row> {
    let of_relation = |relation: Described| {
        let columns = relation.columns.clone();
        let of_column = move |(place, field): (usize, &Arc<arrow_schema::Field>)| {
            let column = PgColumn::of(field);
            let data_type = if column.is_array { "ARRAY".to_owned() } else { column.display() };
            Row::default()
                .with("table_catalog", contents.database.as_str())
                .with("table_schema", relation.schema.0)
                .with("table_name", relation.name)
                .with("column_name", field.name().as_str())
                .with("ordinal_position", place as i64 + 1)
                .with("is_nullable", "YES")
                .with("data_type", data_type)
                .with("udt_catalog", contents.database.as_str())
                .with("udt_schema", "pg_catalog")
                .with("udt_name", column.name())
                .with("is_identity", "NO")
                .with("is_generated", "NEVER")
                .with("is_updatable", "NO")
        };
        columns.fields().iter().enumerate().map(of_column).collect::<Vec<_>>()
    };
    contents.relations().flat_map(of_relation).collect()
}
