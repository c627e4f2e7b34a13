//! Log records as they were sent: OTLP requests, rebuilt from what the store has of them.
//!
//! Nothing of a record is lost, and none is there twice unless it was sent twice. Requests are not
//! those that came: records of a block are put together by resource and scope. What is damaged is left
//! out, and told at the end.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use kymo_store::block::source::Source;
use kymo_store::schema::Signal;
use kymo_store::{StoreError, otlp};
use tokio::sync::mpsc;

use crate::clock::{Asker, Clock};
use crate::engine::{Core, Engine};
use crate::error::EngineError;
use crate::limits::{EXPORT_REQUEST_BYTES, EXPORT_REQUEST_ROWS, EXPORT_REQUESTS_WAITING};
use crate::running::Question;
use crate::runtime::panic_message;
use crate::stats::{Counters, Running};
use crate::tenants::Tenants;

/// Requests on their way. Dropping it ends the work.
pub type Requests = mpsc::Receiver<Result<Vec<u8>, EngineError>>;
type Sender = mpsc::Sender<Result<Vec<u8>, EngineError>>;
/// Hands a request over.
type Hand<'a> = dyn Fn(Vec<u8>) -> Result<(), EngineError> + 'a;

impl Engine {
    /// Log records of some tenants, of a time in nanoseconds since 1970 or all, as OTLP requests. It
    /// has its turn and its time as any other query. An error is the last: [`EngineError::Damaged`]
    /// after all that can be read, others before that.
    pub async fn export_logs(
        &self,
        tenants: impl Into<Tenants>,
        time: Option<Range<i64>>,
    ) -> Result<Requests, EngineError> {
        let tenants = tenants.into();
        let mut asker = Asker::new(self.counters());
        let started = async {
            let mut turn = self.core().queries.turn(tenants.line()).await?;
            let clock = asker.starts(self.core().options.query_timeout);
            let question = Question::new("export", "log records");
            turn.note(self.core().register.note(question, &tenants, &clock));
            let (sender, requests) = mpsc::channel(EXPORT_REQUESTS_WAITING);
            let core = self.core().clone();
            let working = move || {
                let done = {
                    let _turn = turn;
                    let _running = Running::new(&core.counters);
                    let export = Export { core: &core, tenants: &tenants, time: time.as_ref() };
                    // Who reads would take an end without an error for the whole.
                    catch_unwind(AssertUnwindSafe(|| export.run(&clock, &sender)))
                        .unwrap_or_else(|panic| Err(EngineError::Internal(panic_message(panic))))
                };
                match done {
                    Ok(()) => Counters::add(&core.counters.finished, 1),
                    Err(error) => {
                        core.counters.failed(&error);
                        // Who reads must not take a part for the whole; who has gone does not
                        // want to know.
                        let _ = sender.blocking_send(Err(error));
                    }
                }
            };
            drop(self.handle()?.spawn_blocking(working));
            Ok::<Requests, EngineError>(requests)
        };
        let started = started.await;
        asker.answered(&started);
        started
    }
}

/// What is exported.
struct Export<'a> {
    core: &'a Core,
    tenants: &'a Tenants,
    time: Option<&'a Range<i64>>,
}

impl Export<'_> {
    /// Sends all requests; again from the start if a block was replaced before the first was sent.
    fn run(&self, clock: &Clock, to: &Sender) -> Result<(), EngineError> {
        // To wait for who reads does not count as running, but has the same limit: whoever waits
        // keeps a turn.
        let patience = Cell::new(self.core.options.query_timeout);
        let has_sent = Cell::new(false);
        let send = |request: Vec<u8>| -> Result<(), EngineError> {
            clock.check()?;
            has_sent.set(true);
            let begun = Instant::now();
            to.blocking_send(Ok(request)).map_err(|_| EngineError::Cancelled)?;
            let waited = begun.elapsed().min(patience.get());
            patience.set(patience.get() - waited);
            clock.extend(waited);
            Ok(())
        };
        match self.each_request(&send) {
            Err(error) if error.is_stale() && !has_sent.get() => {
                Counters::add(&self.core.counters.planned_again, 1);
                self.each_request(&send)
            }
            done => done,
        }
    }

    fn each_request(&self, send: &Hand<'_>) -> Result<(), EngineError> {
        let store = &self.core.reading.store;
        let snapshot = store.snapshot_of(self.tenants.names(), Signal::Logs)?;
        let (sources, mut damaged_blocks) =
            store.sources_and_damaged(&snapshot, self.time.cloned())?;
        for source in sources {
            match self.send_source(&source, send) {
                Err(EngineError::Store(error @ StoreError::Corrupt(_))) => {
                    tracing::warn!(%error, "left out what is damaged of a block");
                    damaged_blocks += 1;
                }
                sent => sent?,
            }
        }
        match damaged_blocks {
            0 => Ok(()),
            blocks => Err(EngineError::Damaged { blocks }),
        }
    }

    fn send_source(&self, source: &Source, send: &Hand<'_>) -> Result<(), EngineError> {
        let rows = shown(source);
        rows.chunks(EXPORT_REQUEST_ROWS).try_for_each(|rows| self.send_rows(source, rows, send))
    }

    /// Some rows as one request, or as several if that is too large.
    fn send_rows(&self, source: &Source, rows: &[u32], send: &Hand<'_>) -> Result<(), EngineError> {
        let Some(request) = request(source, rows, self.time)? else { return Ok(()) };
        if request.len() <= EXPORT_REQUEST_BYTES || rows.len() == 1 {
            return send(request);
        }
        let (first, second) = rows.split_at(rows.len() / 2);
        self.send_rows(source, first, send)?;
        self.send_rows(source, second, send)
    }
}

/// Rows that are to be seen.
fn shown(source: &Source) -> Vec<u32> {
    let hidden = source.hidden();
    let is_shown = |row: &usize| hidden.is_none_or(|hidden| !hidden.get(*row).unwrap_or(&false));
    (0..source.rows()).filter(is_shown).filter_map(|row| u32::try_from(row).ok()).collect()
}

/// The request of some rows, without those of another time; none if nothing is left.
fn request(
    source: &Source,
    rows: &[u32],
    time: Option<&Range<i64>>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut records = otlp::logs(source, rows)?;
    if let Some(time) = time {
        let is_in = |nth: &usize| time.contains(&records.time_nanos(*nth));
        let kept: Vec<u32> =
            (0..records.len()).filter(is_in).filter_map(|nth| rows.get(nth).copied()).collect();
        if kept.len() < rows.len() {
            records = otlp::logs(source, &kept)?;
        }
    }
    Ok((!records.is_empty()).then(|| records.request()))
}
