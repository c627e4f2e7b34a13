//! The engine: queries of all tenants over one store.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use kymo_store::otlp::TraceResult;
use kymo_store::schema::Signal;
use kymo_store::{Store, StoreError};
use tokio::sync::mpsc;

use crate::asked::Asked;
use crate::clock::{Asker, Clock};
use crate::error::EngineError;
use crate::limits::{ANSWER_BATCHES_WAITING, TRACES_PER_THREAD};
use crate::memory::{Budget, QueryMemory};
use crate::options::EngineOptions;
use crate::prometheus::Caches;
use crate::query::Query;
use crate::queue::Queue;
use crate::rows::Rows;
use crate::running::{Question, Register};
use crate::runtime::{Aside, QueryRuntime};
use crate::session::Sessions;
use crate::sql;
use crate::state::Reading;
use crate::stats::{Counters, EngineStats};
use crate::tenants::Tenants;

/// Answers queries on threads of its own. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
    runtime: Arc<QueryRuntime>,
    pushes_down: bool,
}

/// What all queries share.
pub(crate) struct Core {
    pub(crate) options: EngineOptions,
    pub(crate) reading: Reading,
    pub(crate) sessions: Sessions,
    pub(crate) memory: Arc<Budget>,
    /// That of traces which are read to be shown whole. It is not that of queries: one of a million
    /// spans needs more than they have together.
    trace_memory: Arc<Budget>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queries: Queue,
    pub(crate) prometheus: Caches,
    /// What runs, for those who look.
    pub(crate) register: Arc<Register>,
    /// Traces by id have a line of their own: they are short, and must not wait for long queries.
    traces: Queue,
}

impl Engine {
    /// An engine over a store, with its threads started.
    pub fn new(store: Arc<Store>, options: EngineOptions) -> Result<Self, EngineError> {
        let partitions = options.partitions();
        let runtime = QueryRuntime::new(&options)?;
        let sessions = Sessions::new(partitions).map_err(|error| EngineError::of_plan(&error))?;
        let core = Core {
            reading: Reading { store, threads: partitions },
            sessions,
            memory: Arc::new(Budget::new(options.memory_bytes)),
            trace_memory: Arc::new(Budget::new(options.trace_memory_bytes)),
            counters: Arc::default(),
            prometheus: Caches::default(),
            register: Arc::default(),
            queries: Queue::new(options.max_running, options.max_waiting),
            traces: Queue::new(options.threads.max(1) * TRACES_PER_THREAD, options.max_waiting),
            options,
        };
        Ok(Self { core: Arc::new(core), runtime: Arc::new(runtime), pushes_down: true })
    }

    /// The same engine, whose scans read everything and test nothing: what answers are held to.
    #[cfg(test)]
    pub(crate) fn without_pushdown(&self) -> Self {
        Self { pushes_down: false, ..self.clone() }
    }

    /// Answers a query over what was acknowledged for some tenants. Returns when the query had its
    /// turn and its plan is made; rows follow as they are found.
    pub async fn sql(&self, tenants: impl Into<Tenants>, query: &str) -> Result<Rows, EngineError> {
        self.ask(tenants, query.into()).await
    }

    pub(crate) async fn begin(
        &self,
        tenants: Tenants,
        asked: Asked,
        asker: &mut Asker,
    ) -> Result<Rows, EngineError> {
        let planning = |query: Query| {
            let planned = match query.plan() {
                Err(error) if error.is_stale() => {
                    Counters::add(&query.core.counters.planned_again, 1);
                    query.plan()?
                }
                planned => planned?,
            };
            Ok(Aside::new((query, planned)))
        };
        let (planned, clock) = self.in_turn(tenants, asked, asker, planning).await?;
        let (query, planned) = planned.into_inner()?;
        let schema = planned.schema.clone();
        let (sender, messages) = mpsc::channel(ANSWER_BATCHES_WAITING);
        drop(self.runtime.handle()?.spawn(query.run(planned, sender)));
        Ok(Rows::new(schema, messages, clock))
    }

    /// Does something with a question that can be asked, when it is its turn.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        tenants: Tenants,
        asked: Asked,
        asker: &mut Asker,
        work: impl FnOnce(Query) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<(T, Arc<Clock>), EngineError> {
        let session = asked.session.clone();
        let question = Question::new("sql", &asked.text);
        let parsed = self.runtime.blocking(move || sql::parse(&asked).map(Aside::new)).await?;
        let mut turn = self.core.queries.turn(tenants.line()).await?;
        let clock = asker.starts(self.core.options.query_timeout);
        turn.note(self.core.register.note(question, &tenants, &clock));
        let query_clock = clock.clone();
        let (core, pushes_down) = (self.core.clone(), self.pushes_down);
        let working = move || {
            let parsed = parsed.into_inner()?;
            let clock = query_clock;
            work(Query { core, tenants, parsed, session, clock, _turn: turn, pushes_down })
        };
        let done = self.runtime.blocking_within(&clock, working).await?;
        Ok((done, clock))
    }

    /// A trace by its id, whole; `None` if there is no such trace. Spans that have not ended are
    /// part of it where events tell of them.
    pub async fn trace(
        &self,
        tenants: impl Into<Tenants>,
        trace_id: [u8; 16],
    ) -> Result<Option<TraceResult>, EngineError> {
        self.found_trace(tenants.into(), trace_id, Core::query_memory).await
    }

    /// The same for who shows it whole, however large: within `trace_memory_bytes`, which all share
    /// who do that.
    pub async fn large_trace(
        &self,
        tenants: impl Into<Tenants>,
        trace_id: [u8; 16],
    ) -> Result<Option<TraceResult>, EngineError> {
        self.found_trace(tenants.into(), trace_id, Core::large_trace_memory).await
    }

    async fn found_trace(
        &self,
        tenants: Tenants,
        trace_id: [u8; 16],
        memory: fn(&Core) -> QueryMemory,
    ) -> Result<Option<TraceResult>, EngineError> {
        let line = tenants.line().to_owned();
        let finding = move |core: &Core, clock: &Clock| {
            core.within_bytes(memory(core), clock, |store, go_on| {
                // Events first: a span that arrives between the two is then there, and not open.
                let events = store.event_snapshot(tenants.names())?;
                let snapshot = store.snapshot_of(tenants.names(), Signal::Spans)?;
                store.trace_with_open(&snapshot, &events, &trace_id, go_on)
            })
        };
        self.in_turn_of_traces(&line, &trace_id, finding).await
    }

    /// Does something with a trace when it is its turn, and again if what it saw was replaced
    /// meanwhile.
    pub(crate) async fn in_turn_of_traces<T: Send + 'static>(
        &self,
        line: &str,
        trace_id: &[u8; 16],
        work: impl Fn(&Core, &Clock) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let mut asker = Asker::new(&self.core.counters);
        let id: String = trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let question = Question::new("trace", &id);
        let done = self.with_trace(line, question, &mut asker, work).await;
        asker.answered(&done);
        if done.is_ok() {
            Counters::add(&self.core.counters.finished, 1);
        }
        done
    }

    async fn with_trace<T: Send + 'static>(
        &self,
        line: &str,
        question: Question,
        asker: &mut Asker,
        work: impl Fn(&Core, &Clock) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let mut turn = self.core.traces.turn(line).await?;
        let clock = asker.starts(self.core.options.query_timeout);
        turn.note(self.core.register.note(question, &Tenants::from(line), &clock));
        let (core, of_work) = (self.core.clone(), clock.clone());
        let working = move || {
            let _turn = turn;
            match work(&core, &of_work) {
                Err(error) if error.is_stale() => {
                    Counters::add(&core.counters.planned_again, 1);
                    work(&core, &of_work)
                }
                done => done,
            }
        };
        self.runtime.blocking_within(&clock, working).await
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.core.counters
    }

    pub(crate) fn runtime(&self) -> &QueryRuntime {
        &self.runtime
    }

    pub(crate) fn pushes_down(&self) -> bool {
        self.pushes_down
    }

    /// To start tasks with.
    pub(crate) fn handle(&self) -> Result<&tokio::runtime::Handle, EngineError> {
        self.runtime.handle()
    }

    /// Runs a task on the engine's threads: for those who turn rows into bytes, which must delay
    /// no acknowledgement either.
    pub fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), EngineError> {
        drop(self.runtime.handle()?.spawn(task));
        Ok(())
    }

    /// Runs what blocks on the engine's threads.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        self.runtime.blocking(|| Ok(work())).await
    }

    /// What the engine did since it was made, and what it does now.
    pub fn stats(&self) -> EngineStats {
        let (running, waiting) = self.core.queries.running_and_waiting();
        let (traces_running, traces_waiting) = self.core.traces.running_and_waiting();
        EngineStats {
            running: running + traces_running,
            waiting: waiting + traces_waiting,
            memory_bytes: self.core.memory.used_bytes() + self.core.trace_memory.used_bytes(),
            ..self.core.counters.read()
        }
    }
}

impl Core {
    /// What a query may hold.
    pub(crate) fn query_memory(&self) -> QueryMemory {
        QueryMemory::new(self.options.query_memory_bytes, &self.memory)
    }

    /// What a trace may hold that is shown whole.
    fn large_trace_memory(&self) -> QueryMemory {
        QueryMemory::new(self.options.trace_memory_bytes, &self.trace_memory)
    }

    /// Does something with a trace, as long as it may and someone waits for it.
    pub(crate) fn within_bytes<T>(
        &self,
        memory: QueryMemory,
        clock: &Clock,
        work: impl FnOnce(
            &Store,
            &mut dyn FnMut(usize) -> Result<(), StoreError>,
        ) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let memory = Arc::new(memory);
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let reserved = MemoryConsumer::new("trace").register(&pool);
        let mut stopped = None;
        let mut go_on = |bytes: usize| {
            let may_go_on = clock.check().and_then(|()| {
                let grown = reserved.try_resize(bytes);
                grown.map_err(|error| memory.error().unwrap_or(EngineError::of_plan(&error)))
            });
            may_go_on.map_err(|error| {
                stopped = Some(error);
                StoreError::Cancelled
            })
        };
        let done = work(&self.reading.store, &mut go_on);
        done.map_err(|error| stopped.take().unwrap_or(EngineError::Store(error)))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("options", &self.core.options).finish_non_exhaustive()
    }
}
