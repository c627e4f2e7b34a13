//! Reading beside a running server.
//!
//! A store that was opened for reading takes no lock, creates nothing, removes
//! nothing and has no cursor. It reads its owner's node object and the journal
//! after it, and keeps those rows in memory as the owner does. It shows each row
//! once, and all that were acknowledged before it was opened (L9):
//!
//! - The node object says which rows are in blocks, and that the journal still has
//!   all others. It is read before the journal is opened and once more after: if
//!   they are the same, nothing was flushed between, and no segment that is needed
//!   was deleted. The journal keeps its segments open, so what is deleted later can
//!   still be read.
//! - A snapshot reads the log last. If the log has taken over a flush that is later
//!   than the node object, its rows would be seen in memory and in blocks: then all
//!   of this is done again.
//! - If the file of a block is gone, compaction has replaced it since the snapshot
//!   was taken: [`StoreError::is_block_missing`] says so, and another snapshot sees
//!   what replaced it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use kymo_journal::{Disk, Journal};

use crate::apply;
use crate::commit::node::NodeObject;
use crate::error::StoreError;
use crate::head::Heads;
use crate::limits::READ_ONLY_TRIES;
use crate::objects::{self, Objects};
use crate::options::Options;
use crate::owner;
use crate::request;
use crate::status::Counters;
use crate::store::{State, Store, check_node, lock};

impl Store {
    /// Opens the store in a data directory for reading, as [`Store::open_dir`] would
    /// open it, also while a server runs on it.
    pub fn open_read_only(
        disk: Arc<dyn Disk>,
        data: &Path,
        url: Option<&str>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let journal_dir = data.join("journal");
        if let Err(error) = disk.list(&journal_dir) {
            return Err(match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => StoreError::State(format!(
                    "no store in {}: name the data directory of a server or an import",
                    data.display()
                )),
                _ => error.into(),
            });
        }
        let blocks = data.join("blocks");
        let blocks = url.map_or_else(|| blocks.to_string_lossy(), Into::into);
        let objects = objects::open_read_only(&blocks, disk.clone())?;
        let is_recorded = owner::check(&*disk, data, &options.node)?;
        if !is_recorded && url.is_none() {
            owner::check_blocks(data, &*objects, &options.node)?;
        }
        Self::read_only(disk, &journal_dir, objects, options)
    }

    /// Opens a store for reading, as [`Store::open`] would open it.
    pub fn read_only(
        disk: Arc<dyn Disk>,
        journal_dir: &Path,
        objects: Arc<dyn Objects>,
        options: Options,
    ) -> Result<Self, StoreError> {
        check_node(&options)?;
        let (journal, node) = look(&disk, journal_dir, &*objects, &options)?;
        let counters = Counters::default();
        let state = load(&disk, &journal, node, &counters)?;
        let dir = Some(journal_dir.to_owned());
        let mut store = Self::build(disk, journal, dir, objects, options, state);
        store.counters = counters;
        Ok(store)
    }

    /// Looks again at what the owner has done. Snapshots that were taken stay as
    /// they are.
    pub(crate) fn reload(&self) -> Result<(), StoreError> {
        let Some(dir) = &self.read_only else { return Ok(()) };
        let (journal, node) = look(&self.disk, dir, &*self.objects, &self.options)?;
        *lock(&self.state) = load(&self.disk, &journal, node, &self.counters)?;
        Ok(())
    }
}

/// The journal, and the node object that was valid when it was opened.
fn look(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    objects: &dyn Objects,
    options: &Options,
) -> Result<(Journal, NodeObject), StoreError> {
    let mut node = NodeObject::get(objects, &options.node)?;
    for _ in 0..READ_ONLY_TRIES {
        let (journal, _) = Journal::open_read_only(disk.clone(), dir)?;
        let after = NodeObject::get(objects, &options.node)?;
        if after == node {
            return Ok((journal, node.unwrap_or_else(|| NodeObject::new(&options.node))));
        }
        node = after;
    }
    Err(StoreError::State(format!(
        "{} changes faster than it can be read beside its owner: try again",
        objects.describe()
    )))
}

/// Takes what is not in blocks into memory.
fn load(
    disk: &Arc<dyn Disk>,
    journal: &Journal,
    node: NodeObject,
    counters: &Counters,
) -> Result<State, StoreError> {
    let now = disk.now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    let mut heads = Heads::default();
    let mut reader = journal.reader(node.position());
    while let Some(entry) = reader.try_next()? {
        let signal = request::signal_of(&entry);
        if entry.position < node.position_of(signal) {
            continue;
        }
        if let Some(request) = apply::decode(&entry, counters) {
            let batch = heads.growing(&entry.tenant, signal);
            let size = apply::append(&batch, &entry, &request, counters);
            heads.grew(&entry.tenant, signal, &batch, size, now);
        }
    }
    Ok(State::new(node, heads, journal.end()))
}
