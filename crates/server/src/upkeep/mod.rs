//! Threads that carry records from the journal into blocks, and keep the blocks in order.
//!
//! | thread | what it does |
//! |---|---|
//! | `kymo-apply` | takes acknowledged records into memory |
//! | `kymo-flush` | writes memory to blocks: when there is much, when it is old, when it is quiet |
//! | `kymo-compact` | joins small blocks, writes those again that have deleted rows, deletes what is replaced or no longer kept, gives back memory |
//!
//! None of them stands between a sender and its answer. What fails (a full disk, a bucket that is
//! away) is logged and tried again; acknowledged records are in the journal all the while.

mod idle;
mod memory;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kymo_engine::Engine;
use kymo_store::compact::Effort;
use kymo_store::{Signal, Store, StoreError};

use crate::error::ServerError;
use crate::options::{RetentionOptions, ServerOptions};
use crate::receive::Receiver;
use idle::Idle;
use memory::{Leisure, give_back};

/// How often threads look whether there is something to do that nobody woke them for.
const TICK: Duration = Duration::from_secs(1);
/// How often replaced files are looked for.
const COLLECT_EVERY: Duration = Duration::from_secs(2);
/// How often it is looked for what is too old to be kept.
const RETAIN_EVERY: Duration = Duration::from_secs(60);
/// How long a thread rests after something failed.
const REST: Duration = Duration::from_secs(1);
/// The same after a flush: one that fails costs as much as one that does not.
const FLUSH_REST: Duration = Duration::from_secs(10);

/// What threads wait for.
#[derive(Debug, Default)]
struct Calls {
    is_stopping: bool,
    flush: bool,
    /// A flush was committed since compaction last looked.
    compact: bool,
    /// It is quiet, and everything is flushed.
    compact_everything: bool,
}

/// What the threads share.
struct Shared {
    store: Arc<Store>,
    receiver: Arc<Receiver>,
    engine: Engine,
    retention: RetentionOptions,
    compaction: bool,
    idle_flush_after: Duration,
    calls: Mutex<Calls>,
    called: Condvar,
}

/// The threads.
pub(crate) struct Upkeep {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Upkeep {
    pub(crate) fn start(
        store: Arc<Store>,
        receiver: Arc<Receiver>,
        engine: Engine,
        options: &ServerOptions,
    ) -> Result<Self, ServerError> {
        let shared = Arc::new(Shared {
            store,
            receiver,
            engine,
            retention: options.retention.clone(),
            compaction: options.compaction,
            idle_flush_after: options.idle_flush_after,
            calls: Mutex::default(),
            called: Condvar::new(),
        });
        let mut upkeep = Self { shared, threads: Vec::new() };
        if options.store_enabled {
            upkeep.spawn("kymo-apply", Shared::apply)?;
            upkeep.spawn("kymo-flush", Shared::flush)?;
        }
        upkeep.spawn("kymo-compact", Shared::compact)?;
        Ok(upkeep)
    }

    fn spawn(&mut self, name: &str, run: fn(&Shared)) -> Result<(), ServerError> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&shared))
            .map_err(ServerError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Upkeep {
    /// Ends all threads, a compaction under way too.
    fn drop(&mut self) {
        self.shared.lock().is_stopping = true;
        self.shared.called.notify_all();
        self.shared.store.interrupt();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store's upkeep had ended with a panic");
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    fn call(&self, change: impl FnOnce(&mut Calls)) {
        change(&mut self.lock());
        self.called.notify_all();
    }

    /// Waits until `is_called`, the end, or a tick; whether to go on.
    fn wait(&self, is_called: impl Fn(&Calls) -> bool) -> bool {
        let calls = self.lock();
        let idle = |calls: &mut Calls| !calls.is_stopping && !is_called(calls);
        let (calls, _) = self
            .called
            .wait_timeout_while(calls, TICK, idle)
            .unwrap_or_else(PoisonError::into_inner);
        !calls.is_stopping
    }

    /// Logs what failed and rests, so that it is not tried in a hurry.
    fn failed(&self, what: &str, error: &StoreError) {
        tracing::warn!(%error, "{what} failed and is tried again");
        self.rest(REST);
    }

    fn rest(&self, time: Duration) {
        let calls = self.lock();
        drop(self.called.wait_timeout_while(calls, time, |calls| !calls.is_stopping));
    }

    fn apply(&self) {
        while !self.is_stopping() {
            if !self.store.wait(TICK) {
                continue;
            }
            match self.store.apply() {
                Ok(applied) if applied.is_flush_due => self.call(|calls| calls.flush = true),
                Ok(_) => {}
                Err(error) => self.failed("applying the journal", &error),
            }
        }
    }

    fn flush(&self) {
        let mut idle = Idle::new(self.idle_flush_after);
        while self.wait(|calls| calls.flush) {
            self.lock().flush = false;
            // The store has logged it.
            if self.flush_round(&mut idle).is_err() {
                self.rest(FLUSH_REST);
            }
        }
    }

    /// Flushes what is due, or everything if it is quiet, and says so to compaction.
    fn flush_round(&self, idle: &mut Idle) -> Result<(), StoreError> {
        let rows_flushed = || self.store.counters().flushed_rows.total();
        let before = rows_flushed();
        let mut flushed = self.store.flush_due();
        idle.flushed(rows_flushed() - before);
        let quiet_for = self.receiver.quiet_for();
        let status = self.store.status();
        let rows = status.signals.iter().map(|signal| signal.head_rows as u64).sum::<u64>();
        // Positions without rows hold the journal back, too.
        let rows = rows.max(u64::from(!status.is_flushed()));
        if flushed.is_ok() && idle.is_due(quiet_for, rows) {
            flushed = self.store.flush().inspect(|()| idle.flushed_for_quiet(rows));
        }
        let is_all_flushed = self.store.status().is_flushed();
        self.call(|calls| {
            calls.compact |= rows_flushed() > before;
            calls.compact_everything |= is_all_flushed && idle.take_unsettled(quiet_for);
        });
        flushed
    }

    fn compact(&self) {
        let mut collected = Instant::now();
        let mut retained: Option<Instant> = None;
        let mut leisure = Leisure::new(Instant::now());
        // What an earlier life left behind is looked after at once.
        let mut effort = Some(Effort::Tiered);
        while self.wait(|calls| calls.compact || calls.compact_everything) {
            {
                let mut calls = self.lock();
                if std::mem::take(&mut calls.compact) {
                    effort = effort.or(Some(Effort::Tiered));
                }
                if std::mem::take(&mut calls.compact_everything) {
                    effort = Some(Effort::Everything);
                }
            }
            let mut work = || -> Result<(), StoreError> {
                // Before blocks are joined, and whether or not they are: who asked waits for it.
                let pursued = self.store.pursue_deletions();
                if let Some(effort) = effort.filter(|_| self.compaction) {
                    self.store.compact(effort)?;
                }
                effort = None;
                if self.retention.is_any() && retained.is_none_or(|at| at.elapsed() >= RETAIN_EVERY)
                {
                    retained = Some(Instant::now());
                    self.retain()?;
                }
                if collected.elapsed() >= COLLECT_EVERY {
                    collected = Instant::now();
                    self.store.collect_garbage()?;
                }
                pursued
            };
            if let Err(error) = work()
                && !self.is_stopping()
            {
                self.failed("compaction", &error);
            }
            if leisure.is_due(self.work(), Instant::now()) {
                give_back();
            }
        }
    }

    /// A number that grows with everything that is stored and asked.
    fn work(&self) -> u64 {
        let counts = self.store.counters();
        let queries = self.engine.stats();
        counts.records_applied.total()
            + counts.flushes.total()
            + counts.compactions.total()
            + queries.rows_scanned
            + queries.finished
            + queries.running as u64
    }

    fn retain(&self) -> Result<(), StoreError> {
        for tenant in self.store.tenants()? {
            for signal in Signal::ALL {
                let retention = self.retention.of(&tenant, signal);
                let removed = self.store.retain(&tenant, signal, retention)?;
                if removed > 0 {
                    tracing::info!(%tenant, signal = signal.name(), blocks = removed, "beyond retention");
                }
            }
        }
        Ok(())
    }
}
