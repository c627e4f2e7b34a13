//! Deleting records for good, as privacy requests ask for it; `docs/formats/erasures.md`.
//!
//! ```text
//! asked ──> hidden ──> rewriting ──> done
//!   │         │           ├─ blocks are written again without the rows, old files are deleted
//!   │         │           ├─ the journal loses the records that consumers still have to read
//!   │         │           └─ the conditions leave the commit log
//!   │         └─ tombstones in the logs, pieces of the archive written again: nobody sees the rows
//!   └─ who asked for what is written down
//! ```
//!
//! Each step is in an object of its own, so that a store that is killed goes on where it was. A
//! deletion is about the rows that were there when it was hidden; the same records sent again later
//! are new ones.
//!
//! | module | what it holds |
//! |---|---|
//! | `record` | the objects: what was asked, and how far it is |
//! | `preview` | what a deletion would remove |
//! | `hide` | tombstones, and the archive |
//! | `pursue` | all that happens behind the back of whoever asked |
//! | `requests`, `prune` | which records of a request match, and the request without them |
//!
//! Promised: a row that does not match stays; one that matches is never seen again once
//! [`Store::begin_deletion`] has returned, and in no file of the store or its journal once the
//! deletion is done. Not reached: damaged ranges that the journal has set aside, blocks that cannot
//! be read (the deletion waits for them), and what other nodes have in memory.

mod hide;
mod preview;
mod prune;
mod pursue;
mod record;
mod requests;

use serde::{Deserialize, Serialize};

pub use preview::Affected;
pub(crate) use preview::records_of;
pub(crate) use pursue::{Pending, Rewritten};
pub use record::{Asked, Deletion, Done, Hidden, HiddenSignal, PREFIX, Progress, State};
pub(crate) use record::{check_readable, objects_of};

use crate::error::StoreError;
use crate::scan::Predicate;
use crate::schema::Signal;
use crate::status::Counters;
use crate::store::{Store, lock};

/// Rows of one signal that are to go.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Of which table.
    pub signal: Signal,
    /// What they fulfil, and no others. It must be decidable from a row alone: not from its trace.
    pub predicate: Predicate,
}

/// What is to be done, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Work {
    /// Who does it. Others leave it alone: it may be about to be asked for.
    node: String,
    targets: Vec<KeptTarget>,
}

/// A target as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptTarget {
    signal: String,
    predicate: Predicate,
}

impl Work {
    fn targets(self) -> Result<Vec<Target>, StoreError> {
        let targets = self.targets.into_iter().map(|target| {
            let unknown = || StoreError::corrupt(format!("no signal is called {}", target.signal));
            let signal = Signal::from_name(&target.signal).ok_or_else(unknown)?;
            Ok(Target { signal, predicate: target.predicate })
        });
        targets.collect()
    }
}

/// Who asks for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Who.
    pub by: String,
    /// The condition as it was said; `None` if it must not be kept.
    pub condition: Option<String>,
    /// Its hash, by which it can be told again.
    pub condition_hash: String,
    /// What it is written in: `sql` or `traceql`.
    pub language: String,
    /// Only rows of this time, in nanoseconds since 1970. It is part of the targets as well.
    pub time: Option<std::ops::Range<i64>>,
    /// Whether traces go as a whole.
    pub whole_traces: bool,
    /// The rows.
    pub targets: Vec<Target>,
}

impl Store {
    /// Hides rows at once and for good, and lets [`Store::pursue_deletions`] do the rest. Once this
    /// returns, it survives power loss.
    pub fn begin_deletion(&self, tenant: &str, order: Order) -> Result<Deletion, StoreError> {
        self.writable()?;
        // Before there is something new: what the list has is what an earlier life left.
        self.list_pending()?;
        let id = format!("{:012x}{:08x}", self.now_nanos() / 1_000_000, self.disk.random() as u32);
        let signals = order.targets.iter().map(|target| target.signal.name().to_owned()).collect();
        let asked = Asked {
            id: id.clone(),
            tenant: tenant.to_owned(),
            node: self.options.node.clone(),
            by: order.by,
            asked_nanos: self.now_nanos(),
            condition: order.condition,
            condition_hash: order.condition_hash,
            language: order.language,
            signals,
            start_nanos: order.time.as_ref().map(|time| time.start),
            end_nanos: order.time.as_ref().map(|time| time.end),
            whole_traces: order.whole_traces,
        };
        let hidden = self.write_order(&asked, &order.targets).and_then(|()| {
            Counters::add(&self.counters.deletions_requested, 1);
            self.hide(&asked, &order.targets)
        });
        // From here on it is pursued, also if it is not hidden yet: somebody asked for it. What could
        // not be written down is cleared away.
        lock(&self.deletions).add(tenant, &id);
        Ok(Deletion { asked, hidden: Some(hidden?), progress: Progress::default(), done: None })
    }
}
