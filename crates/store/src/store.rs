//! The store of one node: consumer of the journal, keeper of heads, writer and
//! reader of blocks.
//!
//! Everything here is synchronous, can be called from any thread, and starts
//! none. A server has threads for these, each without the others' locks:
//!
//! | thread | calls |
//! |---|---|
//! | consumer | [`Store::wait`], [`Store::apply`] |
//! | flusher | [`Store::flush_due`] when `apply` says so and now and then, [`Store::flush`] |
//! | maintenance | [`Store::compact`], [`Store::retain`], [`Store::pursue_deletions`], [`Store::collect_garbage`] |
//! | queries | [`Store::snapshot`], [`Store::sources`], [`Store::trace`], [`Store::archive`] |
//!
//! Who has one thread calls [`Store::ingest`] instead of the first two.
//!
//! # Locks
//! In the order in which they are taken: `archiving`, `compacting`, `flushing`, `reader`,
//! `applying`, then `state`, `archive`, `deletions` or a batch's. The last four are held for
//! moments, not while files are read or written.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::UNIX_EPOCH;

use hashbrown::HashMap;
use kymo_journal::{CursorOptions, Disk, Journal, Reader};

use crate::block::cache::BlockCache;
use crate::commit::log::Log;
use crate::commit::node::{NodeObject, TenantBlock, valid_node};
use crate::commit::state::LogState;
use crate::error::StoreError;
use crate::flush::Pending;
use crate::gate::Gate;
use crate::head::Heads;
use crate::limits::NODE_MAX_BYTES;
use crate::objects::Objects;
use crate::options::Options;
use crate::owner;
use crate::pins::Pins;
use crate::rounds::Rounds;
use crate::schema::Signal;
use crate::status::Counters;

/// The name of the store's cursor in the journal.
const CURSOR: &str = "store";

/// What changes under the lock.
#[derive(Debug)]
pub(crate) struct State {
    /// What is committed.
    pub(crate) node: Arc<NodeObject>,
    /// A flush whose commit failed with unknown outcome. Its node object is written
    /// again, the same, before anything else is committed.
    pub(crate) pending: Option<Pending>,
    pub(crate) heads: Heads,
    /// All of the journal before this position is in heads or blocks.
    pub(crate) applied: u64,
    /// Logs as they were last read or written, and when.
    pub(crate) logs: HashMap<(String, Signal), (i64, Arc<LogState>)>,
    /// When the last flush failed, if none has succeeded since.
    pub(crate) flush_failed_nanos: Option<i64>,
}

impl State {
    pub(crate) fn new(node: NodeObject, heads: Heads, applied: u64) -> Self {
        Self {
            node: Arc::new(node),
            pending: None,
            heads,
            applied,
            logs: HashMap::new(),
            flush_failed_nanos: None,
        }
    }

    /// Whether a tenant is known to have rows: in memory, in blocks of this node, or in a log.
    pub(crate) fn knows(&self, tenant: &str) -> bool {
        let is_tenants = |block: &TenantBlock| block.tenant == tenant;
        self.heads.tenants().any(|known| known == tenant)
            || Signal::ALL.into_iter().any(|signal| {
                self.logs.contains_key(&(tenant.to_owned(), signal))
                    || self.node.blocks_of(signal).iter().any(is_tenants)
            })
    }
}

/// The store.
pub struct Store {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) journal: Journal,
    /// Where the journal is, of a store that was opened for reading only.
    pub(crate) read_only: Option<PathBuf>,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) options: Options,
    pub(crate) blocks: BlockCache,
    pub(crate) columns: crate::scan::ColumnCache,
    pub(crate) counters: Counters,
    pub(crate) pins: Pins,
    pub(crate) archive: Mutex<crate::archive::Known>,
    /// Held by those who archive what a snapshot shows; by one who deletes from the archive, alone.
    pub(crate) archiving: RwLock<()>,
    pub(crate) deletions: Mutex<crate::deletion::Pending>,
    pub(crate) state: Mutex<State>,
    pub(crate) reader: Mutex<Reader>,
    /// Held while one record goes into a head, and while heads are frozen.
    pub(crate) applying: Mutex<()>,
    /// Passed by a flush from freezing to commit.
    pub(crate) flushing: Gate,
    /// Held by one compaction, retention or garbage collection of this node.
    pub(crate) compacting: Mutex<Rounds>,
    /// When files that nothing names are looked for next.
    pub(crate) orphans_due_nanos: AtomicI64,
    /// Set to end what maintenance is under way.
    interrupted: AtomicBool,
    /// Set when nothing more is taken in.
    pub(crate) detached: AtomicBool,
}

/// A lock that a panic elsewhere does not close: the data it guards is changed
/// in steps that each leave it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Store {
    /// Opens the store on a journal. Records after the last flush are applied by
    /// the first call that needs them.
    ///
    /// With [`Options::is_detached`] nothing is taken in but what the journal still
    /// keeps for the store, which is flushed now; from then on the journal keeps
    /// nothing for it.
    pub fn open(
        disk: Arc<dyn Disk>,
        journal: Journal,
        objects: Arc<dyn Objects>,
        options: Options,
    ) -> Result<Self, StoreError> {
        check_node(&options)?;
        let node = NodeObject::get(&*objects, &options.node)?
            .unwrap_or_else(|| NodeObject::new(&options.node));
        // Without a cursor, what the journal has came while the store was detached.
        let is_owed = journal.cursors().iter().any(|cursor| cursor.name == CURSOR);
        if options.is_detached && !is_owed {
            let from = journal.end();
            let state = State::new(node, Heads::default(), from);
            let store = Self::build(disk, journal, None, objects, options, state);
            store.detached.store(true, Ordering::Release);
            return Ok(store);
        }
        journal.register(
            CURSOR,
            CursorOptions { budget_bytes: Some(options.lag_bytes), back_pressure: true },
        )?;
        journal.advance(CURSOR, node.position())?;
        let from = node.position().max(journal.oldest());
        let state = State::new(node, Heads::default(), from);
        let store = Self::build(disk, journal, None, objects, options, state);
        if store.options.is_detached {
            store.detach()?;
        }
        Ok(store)
    }

    /// Opens journal and store in a directory, as every command does: the
    /// journal in `journal`, blocks in `blocks` or at `url`, the node's name in `node`.
    /// A directory of another node is refused.
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
        check_node(&options)?;
        if !owner::check(&*disk, data, &options.node)? {
            if url.is_none() {
                owner::check_blocks(data, &*objects, &options.node)?;
            }
            // Before the first record: what is flushed later is told by this name.
            owner::record(&*disk, data, &options.node)?;
        }
        Self::open(disk, journal, objects, options)
    }

    pub(crate) fn build(
        disk: Arc<dyn Disk>,
        journal: Journal,
        read_only: Option<PathBuf>,
        objects: Arc<dyn Objects>,
        options: Options,
        state: State,
    ) -> Self {
        Self {
            disk,
            reader: Mutex::new(journal.reader(state.applied)),
            journal,
            read_only,
            blocks: BlockCache::new(objects.clone(), options.block_cache_bytes),
            columns: crate::scan::ColumnCache::new(options.column_cache_bytes),
            objects,
            counters: Counters::default(),
            pins: Pins::default(),
            archive: Mutex::default(),
            archiving: RwLock::default(),
            deletions: Mutex::default(),
            state: Mutex::new(state),
            applying: Mutex::new(()),
            flushing: Gate::default(),
            compacting: Mutex::default(),
            orphans_due_nanos: AtomicI64::new(i64::MIN),
            interrupted: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            options,
        }
    }

    /// The journal that the store consumes.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Where blocks and logs are.
    pub fn objects(&self) -> &Arc<dyn Objects> {
        &self.objects
    }

    pub(crate) fn now_nanos(&self) -> i64 {
        let since = self.disk.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Refuses to change a store that was opened for reading only.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        if self.read_only.is_none() { Ok(()) } else { Err(StoreError::ReadOnly) }
    }

    /// Whether other nodes write to the same place.
    pub(crate) fn is_shared(&self) -> bool {
        self.options.log_refresh.is_zero() || self.read_only.is_some()
    }

    /// Ends compaction, retention and garbage collection soon, those under way and
    /// those to come, with [`StoreError::Interrupted`]: for a shutdown. What they
    /// have committed stays; the rest is done by the next start.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check_interrupted(&self) -> Result<(), StoreError> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(StoreError::Interrupted),
            false => Ok(()),
        }
    }

    /// Takes in and flushes what the journal has, and nothing from then on: the journal keeps no
    /// more records for this store. What is in blocks can be read as before. A store that is opened
    /// attached the next time takes in what the journal has then.
    fn detach(&self) -> Result<(), StoreError> {
        self.ingest()?;
        self.flush()?;
        self.detached.store(true, Ordering::Release);
        self.journal.retire(CURSOR);
        Ok(())
    }

    /// Moves the journal's cursor to what every signal has in blocks.
    pub(crate) fn advance_journal(&self) -> Result<(), StoreError> {
        if self.detached.load(Ordering::Acquire) {
            return Ok(());
        }
        let position = lock(&self.state).node.position();
        Ok(self.journal.advance(CURSOR, position)?)
    }

    /// The log of a tenant and signal.
    pub(crate) fn log<'a>(&'a self, tenant: &'a str, signal: Signal) -> Log<'a> {
        Log { objects: &*self.objects, tenant, signal }
    }

    /// Flushes and lets go of the directory.
    pub fn close(self) -> Result<(), StoreError> {
        if self.read_only.is_none() {
            self.flush()?;
        }
        let Self { journal, reader, .. } = self;
        drop(reader);
        journal.close();
        Ok(())
    }
}

/// Refuses a node's name that cannot be one.
pub(crate) fn check_node(options: &Options) -> Result<(), StoreError> {
    if valid_node(&options.node) {
        return Ok(());
    }
    Err(StoreError::State(format!(
        "\"{}\" cannot be a node's name: use up to {NODE_MAX_BYTES} letters, digits, - and _",
        options.node
    )))
}
