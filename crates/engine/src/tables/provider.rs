//! A table for DataFusion: made for one query over one snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use kymo_store::snapshot::Snapshot;

use super::tested::{self, Tested};
use super::{Column, TableName, TableShape, columns_of, metric_filter, text_type};
use crate::catalog::types::{JSON, TEXT_IS};
use crate::error::EngineError;
use crate::scan::translate::{Pushed, translate};
use crate::scan::{BlockScan, Residual, reading};
use crate::state::{QueryState, Reading};

/// Columns whose text is JSON, in every table that has them.
const JSON_COLUMNS: [&str; 3] = ["attributes", "resource", "scope"];

/// A table of one query.
#[derive(Debug)]
pub(crate) struct QueryTable {
    shape: Arc<TableShape>,
    snapshot: Arc<Snapshot>,
    reading: Reading,
    state: Arc<QueryState>,
}

impl QueryTable {
    /// Finds out the types of the attributes that are asked for. Reads files: for a thread that
    /// may wait.
    pub(crate) fn new(
        name: TableName,
        snapshot: &Arc<Snapshot>,
        attributes: &BTreeSet<String>,
        reading: &Reading,
        state: &Arc<QueryState>,
    ) -> std::result::Result<Self, EngineError> {
        let (names, columns): (Vec<String>, Vec<Column>) =
            columns_of(name, attributes).into_iter().unzip();
        let stored = columns.iter().filter_map(Column::stored).cloned().collect();
        let found = reading::schema(reading, snapshot, name, stored, state)?;
        let mut found = found.fields().iter();
        let fields = names.into_iter().zip(&columns).map(|(name, column)| {
            let found = column.stored().and_then(|_| found.next());
            let data_type = found.map_or_else(text_type, |field| field.data_type().clone());
            let is_json = JSON_COLUMNS.contains(&name.as_str());
            let field = Field::new(name, data_type, true);
            match is_json {
                true => field.with_metadata([(TEXT_IS.to_owned(), JSON.to_owned())].into()),
                false => field,
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self {
            shape: Arc::new(TableShape { name, columns, schema }),
            snapshot: snapshot.clone(),
            reading: reading.clone(),
            state: state.clone(),
        })
    }

    /// Its columns.
    pub(crate) fn shape(&self) -> &Arc<TableShape> {
        &self.shape
    }

    /// What the store can test of the filters, and what is left to test on its batches.
    fn push(&self, filters: &[Expr]) -> (Pushed, Vec<Expr>) {
        let conjuncts: Vec<&Expr> = filters.iter().flat_map(split_conjunction).collect();
        if !self.state.pushes_down {
            return (Pushed::default(), conjuncts.into_iter().cloned().collect());
        }
        translate(&self.shape, &conjuncts)
    }
}

#[async_trait]
impl TableProvider for QueryTable {
    fn schema(&self) -> SchemaRef {
        self.shape.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// A scan tests all filters itself: what the store cannot, on the batches that come from it.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(tested::supported(filters))
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.shape.columns.len()).collect();
        let projection: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let (mut pushed, mut left) = self.push(filters);
        if self.shape.name == TableName::Points && self.state.pushes_down {
            let (reading, snapshot) = (&self.reading, &self.snapshot);
            let state = &self.state;
            let found = metric_filter::push(session, reading, snapshot, state, &pushed, left)?;
            (pushed, left) = found;
        }
        let tested = Tested::new(session, &self.shape.schema, &projection, left)?;
        let residual = Residual { tests: tested.tests, columns_out: projection.len() };
        let scan = BlockScan::new(
            self.shape.clone(),
            self.snapshot.clone(),
            tested.columns,
            pushed,
            residual,
            limit,
            self.reading.clone(),
            self.state.clone(),
        )?;
        Ok(Arc::new(scan))
    }
}
