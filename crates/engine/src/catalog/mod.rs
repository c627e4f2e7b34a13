//! What there is, as tables: `pg_catalog` and `information_schema`, as PostgreSQL has them.
//!
//! Clients of PostgreSQL find tables, columns and types by asking for rows of these, with joins,
//! regular expressions and functions of their own; so they are real tables of the query, made when it
//! names them. They tell of the tables with their fixed columns; of attributes there are too many, and
//! `*` does not show them either.
//!
//! | module | what it holds |
//! |---|---|
//! | [`types`] | types of PostgreSQL, and which of them a column is |
//! | `relations` | the relations and their columns |
//! | `contents` | what they say |
//! | `rows` | rows, and the batch that they become |
//! | `functions` | functions about them |

mod contents;
mod functions;
mod relations;
mod rows;
pub mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::MemTable;

pub(crate) use contents::{Contents, FunctionText, relation_oid, schema_oid};
pub(crate) use functions::functions;
pub(crate) use relations::Relation;

/// A relation that a query reads, as it names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Read {
    /// The schema that it is looked for in; none if the query does not say one.
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

/// A relation as a table of the query: schema, name, rows.
pub(crate) type Catalogued = (Option<String>, String, Arc<dyn TableProvider>);

/// The relations that a query reads.
pub(crate) fn tables(read: &BTreeSet<Read>, contents: &Contents) -> Result<Vec<Catalogued>> {
    let mut tables = Vec::new();
    for Read { schema, name } in read {
        let Some(relation) = Relation::find(schema.as_deref(), name) else { continue };
        let batch = rows::batch(relation, contents)?;
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        tables.push((schema.clone(), name.clone(), Arc::new(table) as Arc<dyn TableProvider>));
    }
    Ok(tables)
}
