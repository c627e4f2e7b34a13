//! Which relations the catalogue has, and with which columns.
//!
//! Those that would tell of something that is not here (indexes, triggers, policies) are empty, and
//! stay so. A query that needs rows of them has none itself, so that what else it computes need not
//! be understood (`sql::postgres::empty`).

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::contents::{self, Contents};
use super::rows::Row;

/// A schema of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Within {
    PgCatalog,
    InformationSchema,
}

#[cfg(test)]
impl Within {
    fn name(self) -> &'static str {
        match self {
            Self::PgCatalog => "pg_catalog",
            Self::InformationSchema => "information_schema",
        }
    }
}

/// What a column of the catalogue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number; 0 where a row does not say it.
    Number,
    /// A number; NULL where a row does not say it.
    Measure,
    /// Text; NULL where a row does not say it.
    Text,
    /// True or false; false where a row does not say it.
    Flag,
    /// An array of texts, always NULL.
    Texts,
}

impl Kind {
    /// As it stands in the lists below.
    fn of(letter: &str) -> Self {
        match letter {
            "n" => Self::Number,
            "m" => Self::Measure,
            "f" => Self::Flag,
            "a" => Self::Texts,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Number | Self::Measure => DataType::Int64,
            Self::Text => DataType::Utf8,
            Self::Flag => DataType::Boolean,
            Self::Texts => DataType::new_list(DataType::Utf8, true),
        }
    }
}

/// A relation of the catalogue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relation {
    pub(crate) within: Within,
    pub(crate) name: &'static str,
    /// Its number, as PostgreSQL has it or one that is free there.
    pub(crate) oid: i64,
    /// Its columns, `name:kind` by spaces; text if there is no kind.
    columns: &'static str,
    /// What is in it; nothing, ever, if there is no function.
    fill: Option<fn(&Contents) -> Vec<Row>>,
}

impl Relation {
    /// The relation that a name stands for. `pg_…` needs no schema before it.
    pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static Self> {
        let within = match schema {
            None => Within::PgCatalog,
            Some("pg_catalog") => Within::PgCatalog,
            Some("information_schema") => Within::InformationSchema,
            Some(_) => return None,
        };
        RELATIONS.iter().find(|relation| relation.within == within && relation.name == name)
    }

    /// Its columns by name.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.columns.split_whitespace().map(|column| {
            let (name, kind) = column.split_once(':').unwrap_or((column, ""));
            (name, Kind::of(kind))
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        let fields = self.columns().map(|(name, kind)| Field::new(name, kind.data_type(), true));
        Schema::new(fields.collect::<Vec<_>>()).into()
    }

    /// Whether a column of that name is a list which no row of any relation has.
    pub(crate) fn is_null_list(column: &str) -> bool {
        let mut columns = RELATIONS.iter().flat_map(Self::columns);
        columns.any(|(name, kind)| name == column && kind == Kind::Texts)
    }

    /// Whether it never has a row.
    pub(crate) fn is_always_empty(&self) -> bool {
        self.fill.is_none()
    }

    pub(crate) fn rows(&self, contents: &Contents) -> Vec<Row> {
        self.fill.map_or_else(Vec::new, |fill| fill(contents))
    }
}

const fn filled(
    oid: i64,
    name: &'static str,
    columns: &'static str,
    fill: fn(&Contents) -> Vec<Row>,
) -> Relation {
    Relation { within: Within::PgCatalog, name, oid, columns, fill: Some(fill) }
}

const fn empty(oid: i64, name: &'static str, columns: &'static str) -> Relation {
    Relation { within: Within::PgCatalog, name, oid, columns, fill: None }
}

const fn standard(
    oid: i64,
    name: &'static str,
    columns: &'static str,
    fill: Option<fn(&Contents) -> Vec<Row>>,
) -> Relation {
    Relation { within: Within::InformationSchema, name, oid, columns, fill }
}

/// All of them.
pub(crate) static RELATIONS: &[Relation] = &[
    filled(
        1259,
        "pg_class",
        "oid:n relname relnamespace:n reltype:n reloftype:n relowner:n relam:n relfilenode:n \
         reltablespace:n relpages:n reltuples:n relallvisible:n reltoastrelid:n relhasindex:f \
         relisshared:f relpersistence relkind relnatts:n relchecks:n relhasrules:f \
         relhastriggers:f relhassubclass:f relrowsecurity:f relforcerowsecurity:f \
         relispopulated:f relreplident relispartition:f relrewrite:n relfrozenxid:n relminmxid:n \
         relacl:a reloptions:a relpartbound",
        contents::classes,
    ),
    filled(
        1249,
        "pg_attribute",
        "attrelid:n attname atttypid:n attstattarget:n attlen:n attnum:n attndims:n atttypmod:n \
         attbyval:f attstorage attalign attcompression attnotnull:f atthasdef:f atthasmissing:f \
         attidentity attgenerated attisdropped:f attislocal:f attinhcount:n attcollation:n \
         attacl:a attoptions:a attfdwoptions:a attmissingval",
        contents::attributes,
    ),
    filled(
        1247,
        "pg_type",
        "oid:n typname typnamespace:n typowner:n typlen:n typbyval:f typtype typcategory \
         typispreferred:f typisdefined:f typdelim typrelid:n typsubscript typelem:n typarray:n \
         typinput typoutput typreceive typsend typmodin typmodout typanalyze typalign typstorage \
         typnotnull:f typbasetype:n typtypmod:n typndims:n typcollation:n typdefaultbin typdefault \
         typacl:a",
        contents::types,
    ),
    filled(2615, "pg_namespace", "oid:n nspname nspowner:n nspacl:a", contents::namespaces),
    filled(
        1262,
        "pg_database",
        "oid:n datname datdba:n encoding:n datlocprovider datistemplate:f datallowconn:f \
         datconnlimit:n datfrozenxid:n datminmxid:n dattablespace:n datcollate datctype \
         daticulocale datlocale daticurules datcollversion datacl:a",
        contents::databases,
    ),
    filled(
        1260,
        "pg_roles",
        "oid:n rolname rolsuper:f rolinherit:f rolcreaterole:f rolcreatedb:f rolcanlogin:f \
         rolreplication:f rolconnlimit:n rolpassword rolvaliduntil rolbypassrls:f rolconfig:a",
        contents::roles,
    ),
    filled(
        11001,
        "pg_user",
        "usename usesysid:n usecreatedb:f usesuper:f userepl:f usebypassrls:f passwd valuntil \
         useconfig:a",
        contents::users,
    ),
    filled(
        1255,
        "pg_proc",
        "oid:n proname pronamespace:n proowner:n prolang:n procost:n prorows:n provariadic:n \
         prokind prosecdef:f proleakproof:f proisstrict:f proretset:f provolatile proparallel \
         pronargs:n pronargdefaults:n prorettype:n proargtypes prosrc probin proacl:a",
        contents::functions,
    ),
    filled(
        11002,
        "pg_settings",
        "name setting unit category short_desc extra_desc context vartype source min_val max_val \
         enumvals:a boot_val reset_val sourcefile sourceline:n pending_restart:f",
        contents::settings,
    ),
    filled(
        11003,
        "pg_tables",
        "schemaname tablename tableowner tablespace hasindexes:f hasrules:f hastriggers:f \
         rowsecurity:f",
        contents::tables,
    ),
    filled(2601, "pg_am", "oid:n amname amhandler amtype", contents::access_methods),
    filled(
        2609,
        "pg_description",
        "objoid:n classoid:n objsubid:n description",
        contents::descriptions,
    ),
    empty(2604, "pg_attrdef", "oid:n adrelid:n adnum:n adbin"),
    empty(
        2610,
        "pg_index",
        "indexrelid:n indrelid:n indnatts:n indnkeyatts:n indisunique:f indisprimary:f \
         indisexclusion:f indimmediate:f indisclustered:f indisvalid:f indcheckxmin:f indisready:f \
         indislive:f indisreplident:f indkey indcollation indclass indoption indexprs indpred",
    ),
    empty(
        2606,
        "pg_constraint",
        "oid:n conname connamespace:n contype condeferrable:f condeferred:f convalidated:f \
         conrelid:n contypid:n conindid:n conparentid:n confrelid:n confupdtype confdeltype \
         confmatchtype conislocal:f coninhcount:n connoinherit:f conkey:a confkey:a conbin",
    ),
    empty(
        2608,
        "pg_depend",
        "classid:n objid:n objsubid:n refclassid:n refobjid:n refobjsubid:n deptype",
    ),
    empty(2611, "pg_inherits", "inhrelid:n inhparent:n inhseqno:n inhdetachpending:f"),
    empty(
        2620,
        "pg_trigger",
        "oid:n tgrelid:n tgparentid:n tgname tgfoid:n tgtype:n tgenabled tgisinternal:f \
         tgconstrrelid:n tgconstrindid:n tgconstraint:n tgdeferrable:f tginitdeferred:f",
    ),
    empty(2618, "pg_rewrite", "oid:n rulename ev_class:n ev_type ev_enabled is_instead:f"),
    empty(3501, "pg_enum", "oid:n enumtypid:n enumsortorder:n enumlabel"),
    empty(3541, "pg_range", "rngtypid:n rngsubtype:n rngmultitypid:n rngcollation:n"),
    empty(3456, "pg_collation", "oid:n collname collnamespace:n collowner:n collprovider"),
    empty(
        3079,
        "pg_extension",
        "oid:n extname extowner:n extnamespace:n extrelocatable:f extversion",
    ),
    empty(2612, "pg_language", "oid:n lanname lanowner:n lanispl:f lanpltrusted:f"),
    empty(2224, "pg_sequence", "seqrelid:n seqtypid:n seqstart:n seqincrement:n"),
    empty(1213, "pg_tablespace", "oid:n spcname spcowner:n spcacl:a spcoptions:a"),
    empty(2396, "pg_shdescription", "objoid:n classoid:n description"),
    empty(1261, "pg_auth_members", "roleid:n member:n grantor:n admin_option:f"),
    empty(3256, "pg_policy", "oid:n polname polrelid:n polcmd polpermissive:f"),
    empty(3381, "pg_statistic_ext", "oid:n stxrelid:n stxname stxnamespace:n"),
    empty(6104, "pg_publication", "oid:n pubname pubowner:n puballtables:f"),
    empty(6106, "pg_publication_rel", "oid:n prpubid:n prrelid:n prqual prattrs:a"),
    empty(6237, "pg_publication_namespace", "oid:n pnpubid:n pnnspid:n"),
    empty(3118, "pg_foreign_table", "ftrelid:n ftserver:n ftoptions:a"),
    empty(1417, "pg_foreign_server", "oid:n srvname srvowner:n srvfdw:n srvoptions:a"),
    empty(2328, "pg_foreign_data_wrapper", "oid:n fdwname fdwowner:n fdwoptions:a"),
    empty(3350, "pg_partitioned_table", "partrelid:n partstrat partnatts:n"),
    empty(3466, "pg_event_trigger", "oid:n evtname evtevent evtowner:n"),
    empty(2600, "pg_aggregate", "aggfnoid:n aggkind aggnumdirectargs:n"),
    empty(2617, "pg_operator", "oid:n oprname oprnamespace:n oprleft:n oprright:n oprresult:n"),
    empty(2605, "pg_cast", "oid:n castsource:n casttarget:n castfunc:n castcontext castmethod"),
    empty(11011, "pg_views", "schemaname viewname viewowner definition"),
    empty(11012, "pg_matviews", "schemaname matviewname matviewowner definition"),
    empty(11013, "pg_indexes", "schemaname tablename indexname tablespace indexdef"),
    empty(
        11014,
        "pg_stat_activity",
        "datid:n datname pid:n usesysid:n usename application_name client_addr state query",
    ),
    empty(11015, "pg_locks", "locktype database:n relation:n pid:n mode granted:f"),
    empty(11016, "pg_stat_user_tables", "relid:n schemaname relname seq_scan:n n_live_tup:n"),
    empty(11017, "pg_available_extensions", "name default_version installed_version comment"),
    standard(
        11101,
        "schemata",
        "catalog_name schema_name schema_owner default_character_set_catalog \
         default_character_set_schema default_character_set_name sql_path",
        Some(contents::standard_schemata),
    ),
    standard(
        11102,
        "tables",
        "table_catalog table_schema table_name table_type self_referencing_column_name \
         reference_generation user_defined_type_catalog user_defined_type_schema \
         user_defined_type_name is_insertable_into is_typed commit_action",
        Some(contents::standard_tables),
    ),
    standard(
        11103,
        "columns",
        "table_catalog table_schema table_name column_name ordinal_position:n column_default \
         is_nullable data_type character_maximum_length:m character_octet_length:m \
         numeric_precision:m numeric_precision_radix:m numeric_scale:m datetime_precision:m \
         interval_type collation_name domain_name udt_catalog udt_schema udt_name is_identity \
         identity_generation is_generated generation_expression is_updatable",
        Some(contents::standard_columns),
    ),
    standard(11104, "views", "table_catalog table_schema table_name view_definition", None),
    standard(
        11105,
        "table_constraints",
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
         table_name constraint_type is_deferrable initially_deferred enforced",
        None,
    ),
    standard(
        11106,
        "key_column_usage",
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
         table_name column_name ordinal_position:n position_in_unique_constraint:n",
        None,
    ),
    standard(
        11107,
        "referential_constraints",
        "constraint_catalog constraint_schema constraint_name unique_constraint_catalog \
         unique_constraint_schema unique_constraint_name match_option update_rule delete_rule",
        None,
    ),
    standard(
        11108,
        "constraint_column_usage",
        "table_catalog table_schema table_name column_name constraint_catalog constraint_schema \
         constraint_name",
        None,
    ),
    standard(
        11109,
        "routines",
        "specific_catalog specific_schema specific_name routine_catalog routine_schema \
         routine_name routine_type data_type",
        None,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_numbers_are_used_once() {
        let numbers: HashSet<i64> = RELATIONS.iter().map(|relation| relation.oid).collect();
        let names: HashSet<_> =
            RELATIONS.iter().map(|known| (known.within.name(), known.name)).collect();
        assert_eq!((numbers.len(), names.len()), (RELATIONS.len(), RELATIONS.len()));
        for relation in RELATIONS {
            let columns: HashSet<_> = relation.columns().map(|(name, _)| name).collect();
            assert_eq!(columns.len(), relation.columns().count(), "{}", relation.name);
        }
    }

    #[test]
    fn relations_are_found_by_schema_and_those_of_postgresql_without() {
        assert!(Relation::find(None, "pg_class").is_some());
        assert!(Relation::find(Some("pg_catalog"), "pg_policy").unwrap().is_always_empty());
        assert!(Relation::find(Some("information_schema"), "tables").is_some());
        assert!(Relation::find(None, "tables").is_none());
        assert!(Relation::find(Some("public"), "pg_class").is_none());
    }
}
