//! Asking: a turn, a thread, an answer.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kymo_traceql::ast::{Attribute, Query};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::answer::{Dependency, Found, MetricsAnswer, ScopeTags, TagValue};
use super::look::Look;
use super::plan::filter_of;
use super::predicate::Translator;
use super::request::{MetricsQuery, Search, TagQuery};
use super::search::{Searcher, Told, pipeline_of};
use super::tested::Tested;
use super::{dependencies, explain, measure, tags};
use crate::answer::Patience;
use crate::clock::{Asker, Clock};
use crate::engine::{Core, Engine};
use crate::error::EngineError;
use crate::limits::FOUND_WAITING;
use crate::queue::Turn;
use crate::running::Question;
use crate::runtime::panic_message;
use crate::stats::{Counters, Running};
use crate::tenants::Tenants;

type Part = Result<Option<Found>, EngineError>;

/// The answer to a search, part by part. It can be read on any runtime; who drops it ends the
/// search.
#[derive(Debug)]
pub struct Searching {
    parts: mpsc::Receiver<Part>,
    clock: Arc<Clock>,
    is_done: bool,
}

impl Searching {
    /// The next part; `None` after the last. There is at least one, if only with no trace.
    pub async fn next(&mut self) -> Option<Result<Found, EngineError>> {
        if self.is_done {
            return None;
        }
        match self.parts.recv().await {
            Some(Ok(Some(found))) => return Some(Ok(found)),
            Some(Ok(None)) => self.is_done = true,
            Some(Err(error)) => {
                self.is_done = true;
                return Some(Err(error));
            }
            None => {
                // The engine was shut down before the end was told.
                self.is_done = true;
                return Some(Err(EngineError::Cancelled));
            }
        }
        None
    }

    /// All of it, in the order that was asked for.
    pub async fn all(mut self) -> Result<Found, EngineError> {
        let mut all = Found::default();
        while let Some(found) = self.next().await {
            let found = found?;
            all.traces.extend(found.traces);
            all.stats = found.stats;
            all.next = found.next;
        }
        Ok(all)
    }
}

impl Drop for Searching {
    fn drop(&mut self) {
        self.clock.leave();
    }
}

impl Engine {
    /// Looks for traces. Returns when the search had its turn; traces follow as they are found.
    pub async fn search(
        &self,
        tenants: impl Into<Tenants>,
        search: Search,
    ) -> Result<Searching, EngineError> {
        let mut asker = Asker::new(self.counters());
        let begun = self.begin_search(tenants.into(), search, &mut asker).await;
        asker.answered(&begun);
        begun
    }

    async fn begin_search(
        &self,
        tenants: Tenants,
        search: Search,
        asker: &mut Asker,
    ) -> Result<Searching, EngineError> {
        let question = Question::new("traceql", &search.query.to_string());
        let (turn, clock) = self.turn(&tenants, question, asker).await?;
        let (sender, parts) = mpsc::channel(FOUND_WAITING);
        let (core, of_search) = (self.core().clone(), clock.clone());
        let pushes_down = self.pushes_down();
        drop(self.handle()?.spawn_blocking(move || {
            let _turn = turn;
            let counters = core.counters.clone();
            let run = || run_search(&core, &tenants, &search, &of_search, pushes_down, &sender);
            let ended = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|panic| Err(EngineError::Internal(panic_message(panic))));
            match &ended {
                Ok(()) => Counters::add(&counters.finished, 1),
                Err(error) => {
                    if let EngineError::Internal(_) = error {
                        tracing::error!(%error, "a search failed");
                    }
                    counters.failed(error);
                }
            }
            // If nobody listens, nobody needs to know.
            let _ = sender.blocking_send(ended.map(|()| None));
        }));
        Ok(Searching { parts, clock, is_done: false })
    }

    /// Series of numbers over time.
    pub async fn metrics(
        &self,
        tenants: impl Into<Tenants>,
        query: MetricsQuery,
    ) -> Result<MetricsAnswer, EngineError> {
        let grid = measure::grid_of(&query)?;
        let time = grid.time();
        let text = query.query.to_string();
        self.look(tenants.into(), &text, Some(time), move |look| measure::answer(look, &query))
            .await
    }

    /// Keys of attributes by scope: of spans, resources, instrumentation scopes, events and links.
    pub async fn tag_names(
        &self,
        tenants: impl Into<Tenants>,
        query: TagQuery,
    ) -> Result<Vec<ScopeTags>, EngineError> {
        let time = query.time.clone();
        self.look(tenants.into(), "tags", time, move |look| tags::names(look, &query)).await
    }

    /// Values of an attribute or intrinsic, in order.
    pub async fn tag_values(
        &self,
        tenants: impl Into<Tenants>,
        attribute: Attribute,
        query: TagQuery,
    ) -> Result<Vec<TagValue>, EngineError> {
        let time = query.time.clone();
        let text = format!("values of {attribute}");
        let answer = move |look: &Look| tags::values(look, &attribute, &query);
        self.look(tenants.into(), &text, time, answer).await
    }

    /// Which services called which, by the spans that began within `time`.
    pub async fn dependencies(
        &self,
        tenants: impl Into<Tenants>,
        time: Range<i64>,
    ) -> Result<Vec<Dependency>, EngineError> {
        let within = time.clone();
        let answer = move |look: &Look| dependencies::answer(look, &within);
        self.look(tenants.into(), "dependencies", Some(time), answer).await
    }

    /// How a query would be answered: what the store tests, what is read, what is evaluated.
    pub async fn explain_traceql(
        &self,
        tenants: impl Into<Tenants>,
        query: Query,
        time: Option<Range<i64>>,
    ) -> Result<String, EngineError> {
        let within = time.clone();
        let text = query.to_string();
        let answer = move |look: &Look| explain::answer(look, &query, within.as_ref());
        self.look(tenants.into(), &text, time, answer).await
    }

    /// What the store tests of a query that is one filter; `None` if it is something else.
    pub(crate) async fn tested_filter(
        &self,
        tenants: impl Into<Tenants>,
        query: Query,
    ) -> Result<Option<Tested>, EngineError> {
        let text = query.to_string();
        self.look(tenants.into(), &text, None, move |look| {
            let Some(filter) = filter_of(pipeline_of(&query)?) else { return Ok(None) };
            let tested = Translator { look }.condition(filter);
            tested.map(Some).map_err(|error| look.failed(error))
        })
        .await
    }

    async fn turn(
        &self,
        tenants: &Tenants,
        question: Question,
        asker: &mut Asker,
    ) -> Result<(Turn, Arc<Clock>), EngineError> {
        let mut turn = self.core().queries.turn(tenants.line()).await?;
        let clock = asker.starts(self.core().options.query_timeout);
        turn.note(self.core().register.note(question, tenants, &clock));
        Ok((turn, clock))
    }

    async fn look<T: Send + 'static>(
        &self,
        tenants: Tenants,
        text: &str,
        time: Option<Range<i64>>,
        answer: impl Fn(&Look) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let pushes_down = self.pushes_down();
        let question = Question::new("traceql", text);
        self.answered_in_turn(tenants, question, None, move |core, tenants, clock| {
            answer(&Look::new(core, tenants, time.as_ref(), clock, pushes_down)?)
        })
        .await
    }
}

fn run_search(
    core: &Arc<Core>,
    tenants: &Tenants,
    search: &Search,
    clock: &Arc<Clock>,
    pushes_down: bool,
    sender: &mpsc::Sender<Part>,
) -> Result<(), EngineError> {
    let _running = Running::new(&core.counters);
    let has_given = Cell::new(false);
    let mut patience = Patience::new(clock, core.options.query_timeout);
    let mut give = |told: Told| {
        let found = match told {
            Told::Part(found) => found,
            Told::Progress(stats) => {
                // Who is slow to take it does without. It gives nothing away: all can begin anew.
                let _ = sender.try_send(Ok(Some(Found { stats, ..Found::default() })));
                return Ok(());
            }
        };
        has_given.set(true);
        let sent = patience.wait(sender.send(Ok(Some(found))));
        match Handle::current().block_on(sent) {
            Some(Ok(())) => Ok(()),
            _ => Err(EngineError::Cancelled),
        }
    };
    let mut once = || {
        let look = Look::new(core, tenants, search.time.as_ref(), clock, pushes_down)?;
        Searcher::new(&look, search.clone())?.run(&mut give)
    };
    match once() {
        Err(error) if error.is_stale() && !has_given.get() => {
            Counters::add(&core.counters.planned_again, 1);
            once()
        }
        ended => ended,
    }
}
