//! The life of one query: planned on a thread that may wait, run on the query threads, handed
//! over batch by batch.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use futures::{FutureExt, StreamExt};
use kymo_store::StoreError;
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;
use tokio::sync::mpsc::Sender;

use crate::answer::{Answer, Held};
use crate::asked::{Description, PgSession};
use crate::catalog::{self, Catalogued, Contents};
use crate::clock::Clock;
use crate::engine::Core;
use crate::error::{EngineError, FaultKind};
use crate::plan;
use crate::queue::Turn;
use crate::runtime::panic_message;
use crate::session::NamedTable;
use crate::sql::{Parameters, Parsed, with_nulls};
use crate::state::QueryState;
use crate::stats::Counters;
use crate::tables::{self, TableName};
use crate::tenants::Tenants;
use crate::trace_functions::TraceFunction;

/// What an answer is handed over as: batches, then `None`.
pub(crate) type Message = Result<Option<Held>, EngineError>;

/// Who asks where nobody says who he is.
const DEFAULT_USER: &str = "kymo";

/// A query that has its turn.
pub(crate) struct Query {
    pub(crate) core: Arc<Core>,
    pub(crate) tenants: Tenants,
    pub(crate) parsed: Parsed,
    /// Who asks, if he speaks as one does to PostgreSQL.
    pub(crate) session: Option<PgSession>,
    pub(crate) clock: Arc<Clock>,
    /// Given back when the query ends.
    pub(crate) _turn: Turn,
    pub(crate) pushes_down: bool,
}

/// A query that is ready to run.
pub(crate) struct Planned {
    pub(crate) schema: SchemaRef,
    stream: SendableRecordBatchStream,
    state: Arc<QueryState>,
}

impl Query {
    /// Makes the plan and begins its streams. Reads files: for a thread that may wait, of the
    /// query threads.
    pub(crate) fn plan(&self) -> Result<Planned, EngineError> {
        let core = &self.core;
        let memory = core.query_memory();
        let counters = &core.counters;
        let state = Arc::new(QueryState::new(memory, &self.clock, counters, self.pushes_down));
        let stream = self.begin(&state).map_err(|error| match error {
            // A scan only knows that it was to end.
            EngineError::Cancelled | EngineError::Store(StoreError::Cancelled) => {
                self.clock.check().err().unwrap_or(EngineError::Cancelled)
            }
            error => error,
        })?;
        Ok(Planned { schema: stream.schema(), stream, state })
    }

    fn begin(&self, state: &Arc<QueryState>) -> Result<SendableRecordBatchStream, EngineError> {
        let context = self.context(state)?;
        self.stream(context, state).map_err(|error| match EngineError::of(error, state) {
            EngineError::Invalid(mut fault) if self.may_lack_parameters(fault.kind) => {
                fault.kind = FaultKind::Parameter;
                EngineError::Invalid(fault)
            }
            error => error,
        })
    }

    /// Whether a fault may be there because nothing is known of a parameter.
    fn may_lack_parameters(&self, kind: FaultKind) -> bool {
        self.parsed.parameters.has_open && kind == FaultKind::Other
    }

    /// DataFusion with everything that the query reads.
    fn context(&self, state: &Arc<QueryState>) -> Result<SessionContext, EngineError> {
        let (tables, functions) = self.tables(state)?;
        let catalogue = self.catalogue(state)?;
        let memory = state.memory().clone();
        let session = self.core.sessions.session(tables, catalogue, functions, memory);
        let session = session.map_err(|error| EngineError::of(error, state))?;
        Ok(SessionContext::new_with_state(session))
    }

    /// What the query will be answered with.
    pub(crate) fn describe(&self) -> Result<Description, EngineError> {
        match self.describe_statement(self.parsed.statement.clone()) {
            // Where something without a type may not stand, NULL may.
            Err(EngineError::Invalid(fault)) if self.may_lack_parameters(fault.kind) => {
                self.describe_statement(with_nulls(&self.parsed.statement))
            }
            described => described,
        }
    }

    fn describe_statement(&self, statement: Statement) -> Result<Description, EngineError> {
        let core = &self.core;
        let memory = core.query_memory();
        let state = QueryState::new(memory, &self.clock, &core.counters, self.pushes_down);
        let state = Arc::new(state);
        let session = self.context(&state)?.state();
        let describing = async {
            let logical = self.core.sessions.plan(&session, statement).await?;
            let found = logical.get_parameter_types()?;
            state.check()?;
            // What has no open parameters can be planned to its end, and has the very columns that
            // an answer will have.
            let schema = match found.is_empty() {
                true => session.create_physical_plan(&logical).await?.schema(),
                false => Arc::new(logical.schema().as_arrow().clone()),
            };
            Ok::<_, DataFusionError>((schema, found))
        };
        let described = tokio::runtime::Handle::current().block_on(describing);
        let (schema, mut found) = described.map_err(|error| EngineError::of(error, &state))?;
        let Parameters { count, lists, .. } = &self.parsed.parameters;
        let type_of = |place: usize| {
            let found = found.remove(&format!("${place}")).flatten();
            match lists.contains(&place) {
                true => Some(DataType::new_list(found.unwrap_or(DataType::Utf8), true)),
                false => found,
            }
        };
        Ok(Description { schema, parameters: (1..=*count).map(type_of).collect() })
    }

    /// Relations of the catalogue that the query reads; `None` if it has nothing to do with it.
    fn catalogue(&self, state: &Arc<QueryState>) -> Result<Option<Vec<Catalogued>>, EngineError> {
        if self.parsed.catalog.is_empty() {
            return Ok(self.session.as_ref().map(|_| Vec::new()));
        }
        let (reading, none) = (&self.core.reading, BTreeSet::new());
        let mut columns = Vec::new();
        for name in TableName::ALL {
            let snapshot = Arc::new(reading.store.snapshot_of([], name.signal())?);
            let table = tables::table(name, &snapshot, &none, reading, state)?;
            columns.push((name, table.schema()));
        }
        let session = self.session.clone().unwrap_or_else(|| PgSession {
            database: self.tenants.to_string(),
            user: DEFAULT_USER.to_owned(),
            ..PgSession::default()
        });
        let contents = Contents {
            database: session.database,
            databases: session.databases,
            user: session.user,
            settings: session.settings,
            tables: columns,
            functions: self.core.sessions.functions().clone(),
        };
        let tables = catalog::tables(&self.parsed.catalog, &contents);
        tables.map(Some).map_err(|error| EngineError::of_plan(&error))
    }

    /// The tables of the query, and those that functions make; those of one signal over the same
    /// snapshot.
    fn tables(
        &self,
        state: &Arc<QueryState>,
    ) -> Result<(Vec<NamedTable>, Vec<TraceFunction>), EngineError> {
        let reading = &self.core.reading;
        let mut snapshots: BTreeMap<Signal, Arc<Snapshot>> = BTreeMap::new();
        let mut snapshot_of = |signal| -> Result<Arc<Snapshot>, EngineError> {
            Ok(match snapshots.entry(signal) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(first) => {
                    let snapshot = reading.store.snapshot_of(self.tenants.names(), signal)?;
                    first.insert(Arc::new(snapshot)).clone()
                }
            })
        };
        let mut named: Vec<NamedTable> = Vec::new();
        for name in &self.parsed.tables {
            let snapshot = snapshot_of(name.signal())?;
            let attributes = &self.parsed.attributes;
            let table = tables::table(*name, &snapshot, attributes, reading, state)?;
            named.push((name.name(), table));
        }
        let mut functions = Vec::new();
        for kind in &self.parsed.functions {
            functions.push(TraceFunction {
                kind: *kind,
                snapshot: snapshot_of(Signal::Spans)?,
                reading: reading.clone(),
                state: state.clone(),
            });
        }
        Ok((named, functions))
    }

    fn stream(
        &self,
        context: SessionContext,
        state: &Arc<QueryState>,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        let session = context.state();
        let plan = async {
            let statement = self.parsed.statement.clone();
            let logical = self.core.sessions.plan(&session, statement).await?;
            // The text was checked; this is for what a check of text does not see.
            let read_only = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false);
            read_only.with_allow_statements(false).verify_plan(&logical)?;
            state.check()?;
            session.create_physical_plan(&logical).await
        };
        let plan = tokio::runtime::Handle::current().block_on(plan)?;
        plan::check(&plan)?;
        state.check()?;
        execute_stream(plan::watched(plan, state)?, context.task_ctx())
    }

    /// Runs the query to its end, or until nobody listens.
    pub(crate) async fn run(self, planned: Planned, sender: Sender<Message>) {
        let counters = self.core.counters.clone();
        let run = AssertUnwindSafe(self.send_all(planned, &sender)).catch_unwind();
        let ended = tokio::select! {
            ended = run => ended,
            () = sender.closed() => Ok(Err(EngineError::Cancelled)),
        };
        let ended = ended.unwrap_or_else(|panic| Err(EngineError::Internal(panic_message(panic))));
        match &ended {
            Ok(()) => Counters::add(&counters.finished, 1),
            Err(error) => {
                if let EngineError::Internal(_) = error {
                    tracing::error!(%error, "a query failed");
                }
                counters.failed(error);
            }
        }
        // If nobody listens, nobody needs to know.
        let _ = sender.send(ended.map(|()| None)).await;
    }

    async fn send_all(
        self,
        mut planned: Planned,
        sender: &Sender<Message>,
    ) -> Result<(), EngineError> {
        let options = &self.core.options;
        let mut answer = Answer::new(sender, &self.clock, options.query_timeout);
        let mut rows_sent = 0;
        let mut is_first_plan = true;
        loop {
            let batch = match planned.next().await {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(()),
                Err(error) if error.is_stale() && is_first_plan && rows_sent == 0 => {
                    // Its files were replaced since: once more, over those that there are now.
                    is_first_plan = false;
                    let schema = planned.schema.clone();
                    drop(planned);
                    Counters::add(&self.core.counters.planned_again, 1);
                    planned = self.plan_again().await?;
                    if planned.schema != schema {
                        return Err(error);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            rows_sent += batch.num_rows() as u64;
            if let Some(limit) = options.max_rows.filter(|limit| rows_sent > *limit) {
                return Err(EngineError::Rows { limit });
            }
            Counters::add(&self.core.counters.rows_answered, batch.num_rows() as u64);
            answer.send(batch, planned.state.memory()).await?;
        }
    }

    /// Planning reads files, which must not hold up a query thread.
    async fn plan_again(&self) -> Result<Planned, EngineError> {
        tokio::task::block_in_place(|| self.plan())
    }
}

impl Planned {
    async fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let clock = self.state.clock();
        match tokio::time::timeout(clock.time_left(), self.stream.next()).await {
            Err(_) => Err(clock.timeout()),
            Ok(None) => Ok(None),
            Ok(Some(Ok(batch))) => Ok(Some(batch)),
            Ok(Some(Err(error))) => Err(EngineError::of(error, &self.state)),
        }
    }
}
