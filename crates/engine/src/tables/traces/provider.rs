//! The table `traces` for DataFusion: made for one query over one snapshot of spans.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use kymo_store::scan::{ColumnRef, Predicate};
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::spans::field;

use super::scan::TracesScan;
use super::{TraceColumn, schema};
use crate::scan::leaf::Leaf;
use crate::scan::translate::translate;
use crate::state::{QueryState, Reading};
use crate::tables::tested::{self, Tested};
use crate::tables::{Column, TableName, TableShape};

/// The table of one query.
#[derive(Debug)]
pub(crate) struct TracesTable {
    snapshot: Arc<Snapshot>,
    reading: Reading,
    state: Arc<QueryState>,
    schema: SchemaRef,
}

/// What filters ask of the store, and those that are tested on rows.
#[derive(Default)]
struct Asked {
    time: Option<Range<i64>>,
    predicates: Vec<Predicate>,
    left: Vec<Expr>,
}

impl TracesTable {
    /// A table over a snapshot of spans.
    pub(crate) fn new(
        snapshot: &Arc<Snapshot>,
        reading: &Reading,
        state: &Arc<QueryState>,
    ) -> Self {
        let (snapshot, reading) = (snapshot.clone(), reading.clone());
        Self { snapshot, reading, state: state.clone(), schema: schema() }
    }

    /// The table as spans would have it whose column is that of a trace: the id of each of its
    /// spans, or the start of the first.
    fn shape_of(&self, known: TraceColumn, number: usize) -> TableShape {
        let column = |(_, column): (&str, TraceColumn)| match column == known {
            true => Column::Stored(ColumnRef::Field(number)),
            false => Column::Trace(column),
        };
        let columns = TraceColumn::ALL.map(column).to_vec();
        TableShape { name: TableName::Spans, columns, schema: self.schema.clone() }
    }

    /// Of the filters, what is known before a trace is whole: its id, and when it may begin.
    fn push(&self, filters: &[Expr]) -> Asked {
        let by_id = self.shape_of(TraceColumn::TraceId, field::TRACE_ID);
        let by_start = self.shape_of(TraceColumn::StartTime, field::START_TIME);
        let mut asked = Asked::default();
        for filter in filters.iter().flat_map(split_conjunction) {
            let (pushed, left) = translate(&by_start, &[filter]);
            if let (Some(time), true) = (pushed.time, left.is_empty()) {
                let so_far = asked.time.get_or_insert(i64::MIN..i64::MAX);
                so_far.start = so_far.start.max(time.start);
                so_far.end = so_far.end.min(time.end);
                continue;
            }
            let (pushed, left) = translate(&by_id, &[filter]);
            match pushed.predicate {
                Some(predicate) if left.is_empty() && self.state.pushes_down => {
                    asked.predicates.push(predicate);
                }
                _ => asked.left.push(filter.clone()),
            }
        }
        asked
    }
}

#[async_trait]
impl TableProvider for TracesTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    /// All filters are tested where rows are made, so that the first rows are the first that pass.
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
        let all = || (0..TraceColumn::ALL.len()).collect();
        let projection: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let asked = self.push(filters);
        let made = Tested::new(session, &self.schema, &projection, asked.left)?;
        let mut predicates = asked.predicates;
        let predicate = match predicates.len() {
            0 | 1 => predicates.pop(),
            _ => Some(Predicate::And(predicates)),
        };
        Ok(Arc::new(Leaf::new(Arc::new(TracesScan {
            snapshot: self.snapshot.clone(),
            reading: self.reading.clone(),
            state: self.state.clone(),
            columns: made.columns.iter().map(|place| TraceColumn::ALL[*place].1).collect(),
            schema_made: made.schema,
            schema_out: Arc::new(self.schema.project(&projection)?),
            time: asked.time,
            predicate,
            tests: made.tests,
            newest: None,
            limit,
        }))))
    }
}
