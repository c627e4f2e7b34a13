//! The functions for DataFusion: called while a query is planned, with the id as hex text.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use kymo_store::snapshot::Snapshot;
use kymo_traceview::forest::{Forest, Place};
use kymo_traceview::{path, rows as tree};

use super::{rows, spans};
use crate::error::Refusal;
use crate::limits::BATCH_ROWS;
use crate::scan::leaf::{Leaf, LeafWork};
use crate::scan::reading::{Stop, Take};
use crate::sql::ids::bytes_of;
use crate::state::{QueryState, Reading};

/// Which function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tree,
    Path,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Tree, Self::Path];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tree => "trace_tree",
            Self::Path => "critical_path",
        }
    }

    fn schema(self) -> SchemaRef {
        match self {
            Self::Tree => rows::tree_schema(),
            Self::Path => rows::path_schema(),
        }
    }
}

/// A function of one query.
#[derive(Debug, Clone)]
pub(crate) struct TraceFunction {
    pub(crate) kind: Kind,
    /// Of spans.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) reading: Reading,
    pub(crate) state: Arc<QueryState>,
}

impl TableFunctionImpl for TraceFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let name = self.kind.name();
        let usage = || {
            Refusal::error(format!(
                "{name} takes the id of a trace, 32 hex digits: \
                 {name}('5b8efff798038103d269b633813fc60c')"
            ))
        };
        let [Expr::Literal(id, _)] = args.exprs() else { return Err(usage()) };
        let trace_id = match id {
            ScalarValue::Utf8(Some(text))
            | ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8View(Some(text)) => bytes_of(text, 16),
            ScalarValue::FixedSizeBinary(16, Some(bytes)) => Some(bytes.clone()),
            _ => None,
        };
        let trace_id = trace_id.and_then(|id| id.try_into().ok()).ok_or_else(usage)?;
        Ok(Arc::new(TraceTable { function: self.clone(), trace_id }))
    }
}

/// The table that a call gives.
#[derive(Debug)]
struct TraceTable {
    function: TraceFunction,
    trace_id: [u8; 16],
}

#[async_trait]
impl TableProvider for TraceTable {
    fn schema(&self) -> SchemaRef {
        self.function.kind.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.schema();
        let all = || (0..schema.fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(schema.project(&columns)?);
        let (function, trace_id) = (self.function.clone(), self.trace_id);
        Ok(Arc::new(Leaf::new(Arc::new(TraceRows { function, trace_id, columns, schema, limit }))))
    }
}

/// The leaf that makes the rows.
#[derive(Debug)]
struct TraceRows {
    function: TraceFunction,
    trace_id: [u8; 16],
    columns: Vec<usize>,
    schema: SchemaRef,
    limit: Option<usize>,
}

impl fmt::Display for TraceRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.function.kind.name())?;
        self.trace_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl LeafWork for TraceRows {
    fn name(&self) -> &'static str {
        "TraceRows"
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn state(&self) -> &Arc<QueryState> {
        &self.function.state
    }

    fn run(
        &self,
        cancel: &Arc<AtomicBool>,
        memory: &MemoryReservation,
        take: &mut Take<'_>,
    ) -> Result<(), Stop> {
        let TraceFunction { kind, snapshot, reading, state } = &self.function;
        let spans = spans::read(self.trace_id, snapshot, reading, state, cancel, memory)?;
        state.check()?;
        let places: Vec<Place> = spans.iter().map(spans::Span::place).collect();
        let forest = Forest::new(&places);
        match kind {
            Kind::Tree => {
                let rows = tree::rows(&places, &forest);
                self.hand_out(&rows, take, |rows, first| {
                    rows::tree_batch(&spans, &forest, rows, first)
                })
            }
            Kind::Path => {
                let rows = path::paths(&places, &forest).stretches;
                let ends = rows.first().zip(rows.last());
                let whole =
                    ends.map_or(0, |(first, last)| last.to_nanos.saturating_sub(first.from_nanos));
                self.hand_out(&rows, take, |rows, first| {
                    rows::path_batch(&spans, rows, first, whole)
                })
            }
        }
    }
}

impl TraceRows {
    fn hand_out<R>(
        &self,
        rows: &[R],
        take: &mut Take<'_>,
        batch: impl Fn(&[R], usize) -> Result<arrow_array::RecordBatch>,
    ) -> Result<(), Stop> {
        let rows = &rows[..rows.len().min(self.limit.unwrap_or(usize::MAX))];
        for (nth, some) in rows.chunks(BATCH_ROWS).enumerate() {
            let batch = batch(some, nth * BATCH_ROWS)?;
            take(batch.project(&self.columns).map_err(datafusion::error::DataFusionError::from)?)?;
        }
        Ok(())
    }
}
