//! Filters that a table tests itself, on the rows that it makes.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;

/// Which filters a table tests: all but those that say something else each time.
pub(super) fn supported(filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
    let supported = |filter: &&Expr| match filter.is_volatile() {
        true => TableProviderFilterPushDown::Unsupported,
        false => TableProviderFilterPushDown::Exact,
    };
    filters.iter().map(supported).collect()
}

/// Filters that are tested on batches, and what they need.
pub(super) struct Tested {
    /// Places of columns: those asked for, and behind them those that only filters need.
    pub(super) columns: Vec<usize>,
    /// What a batch of those is.
    pub(super) schema: SchemaRef,
    pub(super) tests: Vec<Arc<dyn PhysicalExpr>>,
}

impl Tested {
    pub(super) fn new(
        session: &dyn Session,
        table: &SchemaRef,
        asked_for: &[usize],
        filters: Vec<Expr>,
    ) -> Result<Self> {
        let mut columns = asked_for.to_vec();
        for column in filters.iter().flat_map(Expr::column_refs) {
            let place = table.index_of(column.name())?;
            if !columns.contains(&place) {
                columns.push(place);
            }
        }
        let schema = Arc::new(table.project(&columns)?);
        let df_schema = DFSchema::try_from(schema.clone())?;
        let test = |filter| session.create_physical_expr(filter, &df_schema);
        let tests = filters.into_iter().map(test).collect::<Result<Vec<_>>>()?;
        Ok(Self { columns, schema, tests })
    }
}
