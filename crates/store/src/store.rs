//! The store of one node: consumer of the journal, keeper of heads, writer and
//! reader of blocks.
//!
//! Everything here is synchronous and can be called from any thread. `apply`
//! takes records from the journal into heads, [`Store::flush`] writes heads to
//! blocks, [`Store::compact`](crate::store::Store::compact) joins blocks,
//! [`Store::snapshot`] pins what a query sees.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::UNIX_EPOCH;

use hashbrown::HashMap;
use kymo_journal::{CursorOptions, Disk, Journal, Reader};

use crate::block::cache::BlockCache;
use crate::commit::log::Log;
use crate::commit::node::{NodeObject, valid_node};
use crate::commit::state::LogState;
use crate::error::StoreError;
use crate::head::Head;
use crate::objects::Objects;
use crate::options::Options;
use crate::request;
use crate::schema::Signal;

/// The name of the store's cursor in the journal.
const CURSOR: &str = "store";

/// Counts of what happened since the store was opened.
#[derive(Debug, Default)]
pub struct Counters {
    /// Records (spans, log records, points) applied to heads.
    pub records_applied: AtomicU64,
    /// Requests that could not be decoded and were left out.
    pub requests_undecodable: AtomicU64,
    /// Blocks that could not be read and were left out of an answer.
    pub blocks_damaged: AtomicU64,
    /// Flushes committed.
    pub flushes: AtomicU64,
    /// Blocks that compaction wrote.
    pub blocks_compacted: AtomicU64,
    /// Rows that compaction dropped as exact duplicates.
    pub duplicates_dropped: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }
}

/// What changes under the lock.
#[derive(Debug)]
pub(crate) struct State {
    /// What is committed.
    pub(crate) node: NodeObject,
    /// A node object whose writing failed with unknown outcome. It is written
    /// again, the same, before anything else is committed.
    pub(crate) pending: Option<(Signal, NodeObject)>,
    pub(crate) heads: HashMap<(String, Signal), Head>,
    /// All of the journal before this position is in heads or blocks.
    pub(crate) applied: u64,
    pub(crate) logs: HashMap<(String, Signal), (i64, Arc<LogState>)>,
}

/// The store.
pub struct Store {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) journal: Journal,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) options: Options,
    pub(crate) blocks: BlockCache,
    pub(crate) columns: crate::scan::ColumnCache,
    pub(crate) counters: Counters,
    pub(crate) state: Mutex<State>,
    reader: Mutex<Reader>,
    /// Held by a flush from freezing to commit.
    pub(crate) flushing: Mutex<()>,
    /// Held by one compaction of this node.
    pub(crate) compacting: Mutex<()>,
}

/// A lock that a panic elsewhere does not close: the data it guards is changed
/// in steps that each leave it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Store {
    /// Opens the store on a journal. Records after the last flush are applied by
    /// the first call that needs them.
    pub fn open(
        disk: Arc<dyn Disk>,
        journal: Journal,
        objects: Arc<dyn Objects>,
        options: Options,
    ) -> Result<Self, StoreError> {
        if !valid_node(&options.node) {
            return Err(StoreError::State(format!(
                "\"{}\" cannot be a node's name: use up to 64 letters, digits, - and _",
                options.node
            )));
        }
        let node = NodeObject::get(&*objects, &options.node)?
            .unwrap_or_else(|| NodeObject::new(&options.node));
        journal.register(
            CURSOR,
            CursorOptions { budget_bytes: Some(options.lag_bytes), back_pressure: true },
        )?;
        journal.advance(CURSOR, node.position())?;
        let from = node.position().max(journal.oldest());
        let reader = Mutex::new(journal.reader(from));
        Ok(Self {
            disk,
            journal,
            blocks: BlockCache::new(objects.clone(), options.block_cache_bytes),
            columns: crate::scan::ColumnCache::new(options.column_cache_bytes),
            objects,
            counters: Counters::default(),
            state: Mutex::new(State {
                node,
                pending: None,
                heads: HashMap::new(),
                applied: from,
                logs: HashMap::new(),
            }),
            reader,
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            options,
        })
    }

    /// Opens journal and store in a directory, as every command does: the
    /// journal in `journal`, blocks in `blocks` or at `url`.
    pub fn open_dir(
        disk: Arc<dyn Disk>,
        data: &Path,
        url: Option<&str>,
        journal_options: kymo_journal::Options,
        options: Options,
    ) -> Result<Self, StoreError> {
        disk.create_dir_all(data)?;
        let (journal, _) = Journal::open(disk.clone(), &data.join("journal"), journal_options)?;
        let blocks = data.join("blocks");
        let objects = crate::objects::open(url.unwrap_or(&blocks.to_string_lossy()), disk.clone())?;
        Self::open(disk, journal, objects, options)
    }

    /// The journal that the store consumes.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Where blocks and logs are.
    pub fn objects(&self) -> &Arc<dyn Objects> {
        &self.objects
    }

    /// Counts since the store was opened.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn now_nanos(&self) -> i64 {
        let since = self.disk.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Takes all acknowledged records from the journal into heads, flushing when
    /// that is due.
    pub fn apply(&self) -> Result<(), StoreError> {
        self.apply_each(|signal| self.flush_if_full(signal))
    }

    /// As [`Store::apply`], but what cannot be flushed now (the disk is full, the
    /// bucket is away) stays in memory: that is no reason not to answer.
    pub(crate) fn apply_for_reading(&self) -> Result<(), StoreError> {
        let mut failed = false;
        self.apply_each(|signal| {
            if !failed && let Err(error) = self.flush_if_full(signal) {
                tracing::warn!(%error, "cannot flush now");
                failed = true;
            }
            Ok(())
        })
    }

    fn apply_each(
        &self,
        mut applied: impl FnMut(Signal) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut reader = lock(&self.reader);
        while let Some(entry) = reader.try_next()? {
            self.apply_entry(&entry);
            applied(request::signal_of(&entry))?;
        }
        // A reader may have passed damaged records at the end.
        let mut state = lock(&self.state);
        state.applied = state.applied.max(reader.position());
        Ok(())
    }

    fn apply_entry(&self, entry: &kymo_journal::Entry) {
        let signal = request::signal_of(entry);
        let now = self.now_nanos();
        let mut state = lock(&self.state);
        state.applied = entry.next_position;
        if entry.position < state.node.signal(signal).position {
            return;
        }
        let head = state
            .heads
            .entry((entry.tenant.to_string(), signal))
            .or_insert_with(|| Head::new(signal));
        let applied = request::otlp(entry).and_then(|body| head.append(&body, entry.position, now));
        match applied {
            Ok(records) => Counters::add(&self.counters.records_applied, records as u64),
            Err(error) => {
                // Admission checks every request, so this is damage or a bug;
                // one request must not keep all later ones from being stored.
                Counters::add(&self.counters.requests_undecodable, 1);
                tracing::error!(position = entry.position, %error, "left out a request");
            }
        }
    }

    /// Flushes a signal that holds as much as it may, and signals that keep more
    /// of the journal than half of what the store may lag behind.
    fn flush_if_full(&self, signal: Signal) -> Result<(), StoreError> {
        let (rows, bytes, behind) = {
            let state = lock(&self.state);
            let heads = || state.heads.iter().filter(|((_, s), _)| *s == signal).map(|(_, h)| h);
            let keep_from = state.applied.saturating_sub(self.options.lag_bytes / 2);
            let behind = Signal::ALL.map(|s| state.node.signal(s).position < keep_from);
            let bytes = heads().map(Head::heap_bytes).sum::<usize>();
            (heads().map(Head::rows).sum::<usize>(), bytes, behind)
        };
        let max_rows = match signal {
            Signal::Series => self.options.flush_points,
            _ => self.options.flush_rows,
        };
        if rows >= max_rows || bytes >= self.options.flush_bytes {
            self.flush_signal(signal)?;
        }
        for (signal, behind) in Signal::ALL.into_iter().zip(behind) {
            if behind {
                self.flush_signal(signal)?;
            }
        }
        Ok(())
    }

    /// Flushes the signals whose oldest row is as old as it may get.
    pub fn flush_due(&self) -> Result<(), StoreError> {
        self.apply()?;
        {
            // A flush whose answer was lost is due at once: no row counts it.
            let _flushing = lock(&self.flushing);
            self.finish_pending()?;
        }
        let now = self.now_nanos();
        for signal in Signal::ALL {
            let after = match signal {
                Signal::Series => self.options.flush_series_after,
                _ => self.options.flush_after,
            };
            let after = i64::try_from(after.as_nanos()).unwrap_or(i64::MAX);
            let due = {
                let state = lock(&self.state);
                let mut heads = state.heads.iter().filter(|((_, s), _)| *s == signal);
                heads.any(|(_, h)| h.since_nanos().is_some_and(|since| now - since >= after))
            };
            if due {
                self.flush_signal(signal)?;
            }
        }
        Ok(())
    }

    /// Takes everything acknowledged into heads and writes all heads to blocks.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.apply()?;
        for signal in Signal::ALL {
            self.flush_signal(signal)?;
        }
        Ok(())
    }

    /// Moves the journal's cursor to what every signal has in blocks.
    pub(crate) fn advance_journal(&self) -> Result<(), StoreError> {
        let position = lock(&self.state).node.position();
        Ok(self.journal.advance(CURSOR, position)?)
    }

    /// The log of a tenant and signal.
    pub(crate) fn log<'a>(&'a self, tenant: &'a str, signal: Signal) -> Log<'a> {
        Log { objects: &*self.objects, tenant, signal }
    }

    /// Flushes and lets go of the directory.
    pub fn close(self) -> Result<(), StoreError> {
        self.flush()?;
        let Self { journal, reader, .. } = self;
        drop(reader);
        journal.close();
        Ok(())
    }
}
