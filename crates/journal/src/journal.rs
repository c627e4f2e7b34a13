//! [`Journal`]: opening, appending, cursors; the face of this crate.
//!
//! Locks, in the order they are taken: erasing, tidying, writer, state. The state's is held for moments only,
//! never during file access.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::commit::Slot;
use crate::cursors::{Cursor, CursorOptions, CursorState, Cursors};
use crate::disk::{Disk, DiskFile};
use crate::erase::{Edit, Erased};
use crate::format::{Compression, Format, JournalId, Position, Signal};
use crate::limits::{
    DEFAULT_IDLE_BYTES, DEFAULT_RECENT_BYTES, DEFAULT_SEGMENT_BYTES, MAX_POSITION,
    MIN_SEGMENT_BYTES, READ_ONLY_ATTEMPTS,
};
use crate::reader::Reader;
use crate::recent::Recent;
use crate::recovery::{Inspection, Recovery, inspect, repair};
use crate::retention::Tidying;
use crate::scan::Entry;
use crate::segment::lock_path;
use crate::state::{State, Waiter};
use crate::stats::Stats;
use crate::writer::Writer;
use crate::{Error, Result};

/// When an append counts as done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on disk: survives a power loss.
    #[default]
    Disk,
    /// When it is written: survives the death of the process, not a power loss.
    Memory,
}

/// How a journal behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Size of a segment.
    pub segment_bytes: u64,
    /// When an append counts as done.
    pub durability: Durability,
    /// Memory for recent records, shared by all readers.
    pub recent_bytes: usize,
    /// What may stay on disk while every cursor has passed everything, as records that nobody needs
    /// and, about as much again, as space for new ones. More is deleted, down to a segment header.
    pub idle_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            durability: Durability::Disk,
            recent_bytes: DEFAULT_RECENT_BYTES,
            idle_bytes: DEFAULT_IDLE_BYTES,
        }
    }
}

/// A request to append.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    /// What it carries.
    pub signal: Signal,
    /// How its body is encoded.
    pub format: Format,
    /// How its body is compressed.
    pub compression: Compression,
    /// Whose it is.
    pub tenant: &'a str,
    /// The admitted bytes. Kept in memory for a while as they are, not copied.
    pub body: Bytes,
    /// When it was received, in nanoseconds since 1970.
    pub received_nanos: u64,
}

/// Where a request is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Where it begins.
    pub position: Position,
    /// Where it ends.
    pub next_position: Position,
    /// Its number.
    pub sequence: u64,
    /// Whether the same request had been appended before; then all else is about that one.
    pub duplicate: bool,
}

/// A handle to an open journal; clones share it. The journal closes with the last handle.
#[derive(Clone)]
pub struct Journal {
    handle: Arc<Handle>,
}

/// Closes the journal when dropped.
struct Handle {
    shared: Arc<Shared>,
    commit_thread: Mutex<Option<JoinHandle<()>>>,
    directory_lock: Mutex<Option<Box<dyn Send + Sync>>>,
}

/// What handles, readers and the commit thread share.
pub(crate) struct Shared {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) id: JournalId,
    pub(crate) is_read_only: bool,
    /// Open segments of a read-only journal by their start, since their owner may delete them.
    pub(crate) held_files: HashMap<Position, Arc<dyn DiskFile>>,
    durability: Durability,
    pub(crate) idle_bytes: u64,
    /// Held by the one who takes something out of segments, before all other locks.
    pub(crate) erasing: Mutex<()>,
    pub(crate) tidying: Mutex<Tidying>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) state: Mutex<State>,
    /// A commit ended.
    pub(crate) committed: Condvar,
    /// There is something to commit, for the commit thread.
    pub(crate) work: Condvar,
    /// There is something to read.
    pub(crate) readable: Condvar,
}

impl Journal {
    /// Opens the journal in a directory, creating or repairing it as needed.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<(Journal, Recovery)> {
        disk.create_dir_all(dir).map_err(|error| Error::io("create", dir, error).in_dir(dir))?;
        let lock_file = lock_path(dir);
        let guard = disk.lock(&lock_file).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => Error::InUse { dir: dir.to_owned() },
            _ => Error::io("lock", &lock_file, error).in_dir(dir),
        })?;
        let mut found = inspect(&*disk, dir)?;
        repair(&*disk, dir, &mut found)?;
        let (journal, recovery) = Journal::build(disk, dir, options, found, false);
        *lock(&journal.handle.directory_lock) = Some(guard);
        // A second place for a new journal's id, should a segment header be damaged.
        journal.handle.shared.tidy(true);
        Ok((journal, recovery))
    }

    /// Opens a journal to look at: takes no lock, repairs nothing, refuses appends.
    ///
    /// It shows what was there at that moment, also if its owner goes on and deletes segments.
    pub fn open_read_only(disk: Arc<dyn Disk>, dir: &Path) -> Result<(Journal, Recovery)> {
        let mut attempts = 1;
        let found = loop {
            match inspect(&*disk, dir) {
                // The owner has deleted a file since it was listed.
                Err(error) if error.is_not_found() && attempts < READ_ONLY_ATTEMPTS => {
                    attempts += 1
                }
                other => break other?,
            }
        };
        Ok(Journal::build(disk, dir, Options::default(), found, true))
    }

    fn build(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: Options,
        found: Inspection,
        is_read_only: bool,
    ) -> (Journal, Recovery) {
        let options =
            Options { segment_bytes: options.segment_bytes.max(MIN_SEGMENT_BYTES), ..options };
        let id = found.id.unwrap_or_else(|| {
            let halves = [disk.random().to_le_bytes(), disk.random().to_le_bytes()];
            let mut id = [0; 16];
            id.copy_from_slice(halves.as_flattened());
            id
        });
        let cursors = found.cursors.into_iter();
        let by_name =
            cursors.map(|(name, position)| (name, CursorState { position, options: None }));
        let mut state = State {
            queue: Default::default(),
            waiting_bytes: 0,
            in_flight: Default::default(),
            is_committing: false,
            is_closed: false,
            end: found.end,
            synced: found.log_end,
            next_sequence: found.next_sequence,
            segments: found.segments.into(),
            recent: Recent::new(options.recent_bytes, found.end),
            dedup: found.dedup,
            cursors: Cursors { by_name: by_name.collect() },
            stats: Stats { cut_bytes: found.recovery.cut_bytes, ..Stats::default() },
        };
        for damage in found.recovery.damaged.iter().filter(|damage| damage.is_new) {
            state.stats.quarantined_ranges += 1;
            state.stats.quarantined_bytes += damage.to - damage.from;
            state.count_damage(damage.from, damage.to, 0);
        }
        let writer = Writer::new(
            Arc::clone(&disk),
            dir,
            id,
            &options,
            found.log_end,
            found.lowest_start,
            found.next_sequence,
        );
        let held_files =
            if is_read_only { found.files.into_iter().collect() } else { HashMap::new() };
        let shared = Shared {
            disk,
            dir: dir.to_owned(),
            id,
            is_read_only,
            held_files,
            durability: options.durability,
            idle_bytes: options.idle_bytes,
            erasing: Mutex::new(()),
            tidying: Mutex::new(Tidying {
                hash_files: found.hash_files,
                hashes_saved_to: found.hashes_saved_to,
                cursors_written: None,
            }),
            writer: Mutex::new(writer),
            state: Mutex::new(state),
            committed: Condvar::new(),
            work: Condvar::new(),
            readable: Condvar::new(),
        };
        let handle = Handle {
            shared: Arc::new(shared),
            commit_thread: Mutex::new(None),
            directory_lock: Mutex::new(None),
        };
        (Journal { handle: Arc::new(handle) }, found.recovery)
    }

    /// Appends a request and returns when it is durable. Blocks; many callers share one sync.
    pub fn append(&self, record: Record<'_>) -> Result<Appended> {
        let appended = self.append_many(std::slice::from_ref(&record))?;
        appended.first().copied().ok_or(Error::Closed)
    }

    /// Appends requests with as few syncs as possible, in order.
    ///
    /// After an error some of them may be in the log; appending all again is safe, since those are
    /// then recognised as retries.
    pub fn append_many(&self, records: &[Record<'_>]) -> Result<Vec<Appended>> {
        let shared = &self.handle.shared;
        let prepared: Result<Vec<_>> = records.iter().map(|one| shared.prepare(one)).collect();
        let mut slots: Vec<Slot> = Vec::with_capacity(records.len());
        {
            let mut state = lock(&shared.state);
            for waiting in prepared? {
                let slot = Slot::new(OnceLock::new());
                let waiter = Waiter::Slot(Arc::clone(&slot));
                if let Some((_, result)) = shared.submit(&mut state, waiting, waiter) {
                    let _ = slot.set(result);
                }
                slots.push(slot);
            }
        }
        shared.wait_for(&slots);
        slots.iter().map(|slot| slot.get().cloned().unwrap_or(Err(Error::Closed))).collect()
    }

    /// Queues a request and returns; `done` is called with the outcome.
    ///
    /// It is called by the thread that commits, or before this returns if the answer is known at
    /// once. It should be quick, for others wait behind it, and must not panic.
    pub fn append_with(
        &self,
        record: Record<'_>,
        done: impl FnOnce(Result<Appended>) + Send + 'static,
    ) {
        let shared = &self.handle.shared;
        let waiting = match shared.prepare(&record) {
            Ok(waiting) => waiting,
            Err(error) => return done(Err(error)),
        };
        if let Err(error) = self.start_commit_thread() {
            return done(Err(error));
        }
        let waiter = Waiter::Callback(Box::new(done));
        let answer = shared.submit(&mut lock(&shared.state), waiting, waiter);
        match answer {
            Some((Waiter::Callback(done), result)) => done(result),
            _ => shared.work.notify_one(),
        }
    }

    fn start_commit_thread(&self) -> Result<()> {
        let mut thread = lock(&self.handle.commit_thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.handle.shared);
            let builder = std::thread::Builder::new().name("kymo-journal".to_owned());
            let started = builder.spawn(move || shared.run_commits());
            let dir = &self.handle.shared.dir;
            *thread = Some(started.map_err(|error| Error::io("start a thread for", dir, error))?);
        }
        Ok(())
    }

    /// Waits until there is a record at or after `position`; whether there is one. Returns early,
    /// without one, when the journal is closed.
    pub fn wait(&self, position: Position, timeout: Duration) -> bool {
        let shared = &self.handle.shared;
        let deadline = Instant::now() + timeout;
        let mut state = lock(&shared.state);
        loop {
            if state.segment_at(position).is_some() {
                return true;
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if state.is_closed || remaining.is_zero() {
                return false;
            }
            let waited = shared.readable.wait_timeout(state, remaining);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads from a position on: one that was given out by this journal, or 0 for the oldest.
    pub fn reader(&self, from: Position) -> Reader {
        Reader::new(Arc::clone(&self.handle.shared), from, None)
    }

    /// Reads from a cursor on, and jumps with it when it is over its budget.
    pub fn cursor_reader(&self, name: &str) -> Result<Reader> {
        let from = match lock(&self.handle.shared.state).cursors.by_name.get(name) {
            Some(cursor) => cursor.position,
            None => return Err(Error::UnknownCursor { name: name.to_owned() }),
        };
        Ok(Reader::new(Arc::clone(&self.handle.shared), from, Some(name.to_owned())))
    }

    /// Registers a consumer and says where it stands. One that is new begins at the oldest record, and
    /// is written into the file of cursors before this returns: after a crash, what it has not read is
    /// kept for it while others that are opened before it move on. A file that cannot be written is
    /// logged, and written with the next move.
    pub fn register(&self, name: &str, options: CursorOptions) -> Result<Position> {
        let shared = &self.handle.shared;
        let (position, is_new) = {
            let mut state = lock(&shared.state);
            let oldest = state.oldest();
            let is_new = !state.cursors.by_name.contains_key(name);
            (state.cursors.register(name, options, oldest)?, is_new)
        };
        if is_new {
            shared.tidy(true);
        }
        Ok(position)
    }

    /// Says that a consumer is done with everything before `position`.
    ///
    /// A position behind the cursor changes nothing. One beyond the end (from a consumer that knows
    /// more than this journal, which has been lost or not synced) is accepted: later records get
    /// later positions.
    pub fn advance(&self, name: &str, position: Position) -> Result<()> {
        self.advance_and_tidy(name, position, false)
    }

    /// The same, and written into the file of cursors before this returns, for a consumer that must
    /// not do its work again after a crash. A file that cannot be written is logged.
    pub fn advance_now(&self, name: &str, position: Position) -> Result<()> {
        self.advance_and_tidy(name, position, true)
    }

    fn advance_and_tidy(&self, name: &str, position: Position, now: bool) -> Result<()> {
        let shared = &self.handle.shared;
        if position > MAX_POSITION {
            return Err(Error::BadPosition { position });
        }
        if shared.is_read_only {
            return Err(Error::OpenedReadOnly);
        }
        if position > lock(&shared.state).end {
            shared.skip_to(position);
        }
        {
            let mut state = lock(&shared.state);
            let Some(cursor) = state.cursors.by_name.get_mut(name) else {
                return Err(Error::UnknownCursor { name: name.to_owned() });
            };
            if position <= cursor.position {
                return Ok(());
            }
            cursor.position = position;
        }
        shared.tidy(now);
        Ok(())
    }

    /// All cursors, by name.
    pub fn cursors(&self) -> Vec<Cursor> {
        let state = lock(&self.handle.shared.state);
        let cursors = state.cursors.by_name.iter().map(|(name, cursor)| Cursor {
            name: name.clone(),
            position: cursor.position,
            lag_bytes: state.end.saturating_sub(cursor.position),
            registered: cursor.options.is_some(),
        });
        cursors.collect()
    }

    /// Forgets a consumer: what only it has not read may be deleted. One that is not known is none.
    pub fn retire(&self, name: &str) {
        let shared = &self.handle.shared;
        if lock(&shared.state).cursors.by_name.remove(name).is_some() {
            shared.tidy(true);
        }
    }

    /// Drops the cursors that nobody has registered since the journal was opened; says which.
    pub fn retire_unregistered(&self) -> Vec<String> {
        let shared = &self.handle.shared;
        let retired = lock(&shared.state).cursors.retire_unregistered();
        for name in &retired {
            tracing::warn!(cursor = name, "not configured any more, cursor retired");
        }
        if !retired.is_empty() {
            shared.tidy(true);
        }
        retired
    }

    /// Takes something out of records before `below`, as `edit` says of each, from disk and from
    /// memory. Positions and sequences of all others stay; a record that was erased is not read any
    /// more, a retry of it is still recognised.
    ///
    /// Once this returns, also after power loss, no file of the journal has what was taken out, but
    /// those in quarantine. Segments that every cursor has passed are deleted on the way. If it fails
    /// it may be tried again.
    pub fn erase<E: From<Error>>(
        &self,
        below: Position,
        edit: impl FnMut(&Entry) -> Result<Edit, E>,
    ) -> Result<Erased, E> {
        self.handle.shared.erase(below, edit)
    }

    /// All before this is on disk.
    pub fn synced(&self) -> Position {
        let state = lock(&self.handle.shared.state);
        match self.handle.shared.durability {
            Durability::Disk => state.end,
            Durability::Memory => state.synced,
        }
    }

    /// All before this is acknowledged, and readable. The same as [`synced`](Journal::synced) with
    /// [`Durability::Disk`].
    pub fn end(&self) -> Position {
        lock(&self.handle.shared.state).end
    }

    /// Where the oldest record is that is still there.
    pub fn oldest(&self) -> Position {
        lock(&self.handle.shared.state).oldest()
    }

    /// Counters since the journal was opened.
    pub fn stats(&self) -> Stats {
        lock(&self.handle.shared.state).stats.clone()
    }

    /// Closes the journal for all handles: what is queued is committed, cursors are written, records
    /// that every cursor has passed are deleted, readers end. Dropping the last handle does the same.
    pub fn close(self) {
        self.handle.close();
    }
}

impl Handle {
    fn close(&self) {
        let shared = &self.shared;
        lock(&shared.state).is_closed = true;
        shared.work.notify_all();
        let thread = lock(&self.commit_thread).take();
        // A callback may hold the last handle: the commit thread cannot wait for itself.
        let other_thread =
            thread.filter(|thread| thread.thread().id() != std::thread::current().id());
        if let Some(thread) = other_thread {
            let _ = thread.join();
        }
        if let Some(guard) = lock(&self.directory_lock).take() {
            shared.finish_commits();
            let mut writer = lock(&shared.writer);
            writer.seal();
            lock(&shared.state).synced = writer.synced();
            drop(writer);
            shared.renew(0);
            shared.tidy(true);
            drop(guard);
        }
        shared.readable.notify_all();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Lets the log go on at a later position.
    fn skip_to(&self, position: Position) {
        // Whoever moves the end holds the writer, so it stays where it is meanwhile.
        let mut writer = lock(&self.writer);
        let end = lock(&self.state).end;
        if position <= end {
            return;
        }
        tracing::warn!(end, position, "cursor beyond the end, the journal goes on there");
        writer.skip_to(position);
        let mut state = lock(&self.state);
        state.end = position;
        state.synced = writer.synced();
    }

    /// Waits until there is something at or after `position`; false if the journal is closed.
    pub(crate) fn wait_readable(&self, position: Position, timeout: Option<Duration>) -> bool {
        let state = lock(&self.state);
        if state.segment_at(position).is_some() {
            return true;
        }
        if state.is_closed {
            return false;
        }
        match timeout {
            None => drop(wait(&self.readable, state)),
            Some(timeout) => drop(
                self.readable.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner),
            ),
        }
        true
    }

    /// Counts a damaged range that a reader found.
    pub(crate) fn note_damage(&self, from: Position, to: Position) {
        let mut state = lock(&self.state);
        state.stats.quarantined_ranges += 1;
        state.stats.quarantined_bytes += to - from;
        state.count_damage(from, to, 0);
        state.dedup.forget(from, to);
    }
}

/// Locks. A thread that panicked while holding a lock is no reason to stop all others.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits, like [`lock`].
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
