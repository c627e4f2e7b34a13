//! What happens to a deletion after it is hidden: blocks, journal and log lose what it is about.
//!
//! The thread of compaction comes here every moment; with nothing to do that costs nothing. A step
//! that fails, or has to wait (for the grace time, for a query that still reads an old block), is
//! looked at again later. Only the node that has hidden a deletion pursues it.

use hashbrown::HashMap;

use super::Target;
use super::record::{Deletion, Done, Hidden, HiddenSignal, Progress};
use super::requests::Judge;
use crate::commit::state::LogState;
use crate::compact::Effort;
use crate::error::StoreError;
use crate::limits::{DELETION_LOOK_EVERY, DELETION_RETRY_AFTER};
use crate::request;
use crate::schema::Signal;
use crate::store::{Store, lock};

/// What is known of deletions that are not done.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// When each is looked at next; `None` until the objects were listed.
    due: Option<HashMap<(String, String), i64>>,
    /// Blocks that were written again, by tombstone: what is not written down yet.
    rewritten: HashMap<String, Rewritten>,
}

/// What became of blocks that tombstones named.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rewritten {
    pub(crate) blocks: u64,
    pub(crate) rows: u64,
    pub(crate) bytes_before: u64,
    pub(crate) bytes_after: u64,
}

impl Rewritten {
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.rows += other.rows;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
    }
}

impl Pending {
    pub(super) fn add(&mut self, tenant: &str, id: &str) {
        if let Some(due) = &mut self.due {
            due.insert((tenant.to_owned(), id.to_owned()), i64::MIN);
        }
    }

    /// Blocks were written again without the rows that some tombstones hide.
    pub(crate) fn rewritten(&mut self, tombstones: &[String], done: Rewritten) {
        for id in tombstones {
            self.rewritten.entry(id.clone()).or_default().add(done);
        }
    }

    /// Takes what was done for a deletion, whose tombstones' ids begin with its own.
    fn take_rewritten(&mut self, id: &str) -> Rewritten {
        let mut sum = Rewritten::default();
        self.rewritten.retain(|tombstone, done| {
            let is_its = tombstone.starts_with(id);
            if is_its {
                sum.add(*done);
            }
            !is_its
        });
        sum
    }
}

/// How a look at a deletion ended.
enum Looked {
    Done,
    /// Something was done; there may be more.
    Moved,
    /// It has to wait, for what `Progress::waits_for` says.
    Waits,
}

impl Store {
    /// Goes on with deletions that are hidden and not done, as far as that is possible now.
    pub fn pursue_deletions(&self) -> Result<(), StoreError> {
        self.writable()?;
        let now = self.now_nanos();
        for (tenant, id) in self.due_deletions(now)? {
            self.check_interrupted()?;
            let looked = self.pursue(&tenant, &id);
            let after = match &looked {
                Ok(Looked::Done) => None,
                Ok(Looked::Moved) => Some(now),
                Ok(Looked::Waits) => {
                    Some(now.saturating_add(DELETION_LOOK_EVERY.as_nanos() as i64))
                }
                Err(_) => Some(now.saturating_add(DELETION_RETRY_AFTER.as_nanos() as i64)),
            };
            if let Some(due) = &mut lock(&self.deletions).due {
                match after {
                    Some(after) => drop(due.insert((tenant.clone(), id.clone()), after)),
                    None => drop(due.remove(&(tenant.clone(), id.clone()))),
                }
            }
            match looked {
                Err(StoreError::Interrupted) => return Err(StoreError::Interrupted),
                Err(error) => tracing::warn!(id, %error, "a deletion waits, and is tried again"),
                Ok(Looked::Done) => tracing::info!(id, "a deletion is done"),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// How many deletions are not done, as far as this node knows.
    pub fn deletions_pending(&self) -> usize {
        lock(&self.deletions).due.as_ref().map_or(0, HashMap::len)
    }

    /// Finds out, once, what was left to be done.
    pub(super) fn list_pending(&self) -> Result<(), StoreError> {
        if lock(&self.deletions).due.is_none() {
            let found = self.list_work()?;
            let due = found.into_iter().map(|deletion| (deletion, i64::MIN)).collect();
            lock(&self.deletions).due.get_or_insert(due);
        }
        Ok(())
    }

    fn due_deletions(&self, now: i64) -> Result<Vec<(String, String)>, StoreError> {
        self.list_pending()?;
        let known = lock(&self.deletions);
        let due = known.due.iter().flatten().filter(|(_, at)| **at <= now);
        Ok(due.map(|(deletion, _)| deletion.clone()).collect())
    }

    fn pursue(&self, tenant: &str, id: &str) -> Result<Looked, StoreError> {
        let work = self.work(tenant, id)?;
        let Some(work) = work.filter(|work| work.node == self.options.node) else {
            return Ok(Looked::Done);
        };
        // Without one, a crash came before it was written down who asked: nobody was told anything.
        let asked = self.deletion(tenant, id)?.filter(|deletion| deletion.done.is_none());
        let Some(deletion) = asked else {
            self.clear_work(tenant, id)?;
            return Ok(Looked::Done);
        };
        let targets = work.targets()?;
        let Some(hidden) = &deletion.hidden else {
            self.hide(&deletion.asked, &targets)?;
            return Ok(Looked::Moved);
        };
        self.erase(&deletion, hidden, &targets)
    }

    /// One round for a deletion that is hidden.
    fn erase(
        &self,
        deletion: &Deletion,
        hidden: &Hidden,
        targets: &[Target],
    ) -> Result<Looked, StoreError> {
        let asked = &deletion.asked;
        let mut progress = Progress { waits_for: None, ..deletion.progress.clone() };
        if !progress.is_journal_clean {
            self.erase_from_journal(&asked.tenant, hidden, targets, &mut progress)?;
        }
        for target in targets {
            let is_left = |state: &LogState| !names_left(hidden, target.signal, state).is_empty();
            if is_left(&*self.current_log(&asked.tenant, target.signal)?) {
                self.compact_log(&asked.tenant, target.signal, Effort::Deletions)?;
            }
        }
        let done = lock(&self.deletions).take_rewritten(&asked.id);
        progress.rows_erased += done.rows;
        progress.blocks_rewritten += done.blocks;
        progress.bytes_before += done.bytes_before;
        progress.bytes_after += done.bytes_after;
        for target in targets {
            if progress.waits_for.is_none() {
                progress.waits_for = self.what_is_left(&asked.tenant, hidden, target.signal)?;
            }
        }
        if progress.waits_for.is_none() {
            // Also if no block was found: it may have been written again between a crash and now.
            for signal in targets.iter().map(|target| target.signal) {
                let has_log = self.current_log(&asked.tenant, signal)?.generation > 0;
                if has_log && !self.forget_conditions(&asked.tenant, signal)? {
                    progress.waits_for = Some("old generations of the commit log".to_owned());
                }
            }
        }
        if progress.waits_for.is_none() {
            self.write_done(asked, &Done { done_nanos: self.now_nanos(), progress })?;
            self.clear_work(&asked.tenant, &asked.id)?;
            return Ok(Looked::Done);
        }
        if progress != deletion.progress {
            self.write_progress(asked, &progress)?;
        }
        Ok(if done.blocks > 0 { Looked::Moved } else { Looked::Waits })
    }

    /// Takes records out of the journal that its consumers have not all passed.
    fn erase_from_journal(
        &self,
        tenant: &str,
        hidden: &Hidden,
        targets: &[Target],
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        // What every signal has in blocks need not be kept for the store.
        self.advance_journal()?;
        let end_of = |signal: Signal| {
            let hidden = hidden.signals.iter().filter(|hidden| hidden.signal == signal.name());
            hidden.map(|hidden| hidden.journal_end).max().unwrap_or(0)
        };
        let below = Signal::ALL.into_iter().map(end_of).max().unwrap_or(0);
        let judge = Judge::new(targets);
        let erased = self.journal.erase(below, |entry| {
            self.check_interrupted()?;
            let is_meant =
                &*entry.tenant == tenant && entry.position < end_of(request::signal_of(entry));
            if is_meant { judge.edit(entry) } else { Ok(kymo_journal::Edit::Keep) }
        })?;
        progress.journal_erased += erased.erased;
        progress.journal_replaced += erased.replaced;
        progress.is_journal_clean = erased.stuck == 0;
        if erased.stuck > 0 {
            let records = erased.stuck;
            progress.waits_for = Some(format!(
                "{records} requests of the journal that a destination has to take first"
            ));
        }
        Ok(())
    }

    /// Why files of a signal may still have the rows; `None` if none has.
    fn what_is_left(
        &self,
        tenant: &str,
        hidden: &Hidden,
        signal: Signal,
    ) -> Result<Option<String>, StoreError> {
        let state = self.current_log(tenant, signal)?;
        let blocks = names_left(hidden, signal, &state).len();
        if blocks > 0 {
            return Ok(Some(format!("{blocks} blocks of {} to be written again", signal.name())));
        }
        let mut replaced = of_signal(hidden, signal)
            .flat_map(|hidden| hidden.blocks.iter().chain(&hidden.replaced));
        if replaced.any(|name| state.removed.contains_key(name)) {
            let grace = self.options.grace.as_secs();
            return Ok(Some(format!("files that were replaced; they stay for {grace} s")));
        }
        // What a crash has left of a compaction that began before may have the rows, too. Of another
        // node's it may have been written a while after.
        let before = hidden.hidden_nanos.saturating_add(self.grace_nanos());
        let unnamed = self.unnamed_files(tenant, signal)?.files;
        if unnamed.iter().any(|file| file.modified_nanos < before) {
            self.look_for_orphans_now();
            return Ok(Some("files that a crash has left".to_owned()));
        }
        Ok(None)
    }
}

fn of_signal(hidden: &Hidden, signal: Signal) -> impl Iterator<Item = &HiddenSignal> {
    hidden.signals.iter().filter(move |hidden| hidden.signal == signal.name())
}

/// The blocks that had the rows and are still visible.
fn names_left<'h>(hidden: &'h Hidden, signal: Signal, state: &LogState) -> Vec<&'h str> {
    let names = of_signal(hidden, signal).flat_map(|hidden| &hidden.blocks);
    names.filter(|name| state.blocks.contains_key(*name)).map(String::as_str).collect()
}
