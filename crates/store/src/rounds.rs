//! What rounds of compaction and garbage collection have found done, so that the
//! next ones, which come every few seconds, need not look again.

use hashbrown::HashMap;

use crate::compact::Effort;
use crate::schema::Signal;
use crate::store::{Store, lock};

/// What was found done, by tenant and signal.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    settled: HashMap<(String, Signal), Settled>,
    /// The last checkpoint of a log before which nothing is left to delete.
    collected: HashMap<(String, Signal), u64>,
}

/// A log in which nothing was left to compact.
#[derive(Debug)]
struct Settled {
    generation: u64,
    effort: Effort,
}

impl Rounds {
    /// Nothing is left to delete of a log before a checkpoint.
    pub(crate) fn collected(&mut self, tenant: &str, signal: Signal, checkpoint: u64) {
        self.collected.insert((tenant.to_owned(), signal), checkpoint);
    }

    /// Whether there is nothing to delete of a log before a checkpoint.
    pub(crate) fn is_collected(&self, tenant: &str, signal: Signal, checkpoint: u64) -> bool {
        self.collected.get(&(tenant.to_owned(), signal)) == Some(&checkpoint)
    }
}

impl Store {
    /// Nothing is left to compact.
    pub(crate) fn note_settled(
        &self,
        rounds: &mut Rounds,
        tenant: &str,
        signal: Signal,
        effort: Effort,
    ) {
        let key = (tenant.to_owned(), signal);
        let generation = lock(&self.state).logs.get(&key).map(|(_, log)| log.generation);
        if let Some(generation) = generation {
            rounds.settled.insert(key, Settled { generation, effort });
        }
    }

    /// Whether compaction has nothing to do, as far as memory tells. Where other
    /// nodes write, memory does not.
    pub(crate) fn is_settled(
        &self,
        rounds: &Rounds,
        tenant: &str,
        signal: Signal,
        effort: Effort,
    ) -> bool {
        let key = (tenant.to_owned(), signal);
        let Some(settled) = rounds.settled.get(&key).filter(|_| !self.is_shared()) else {
            return false;
        };
        let (node, log) = {
            let state = lock(&self.state);
            let Some((_, log)) = state.logs.get(&key) else { return false };
            (state.node.clone(), log.clone())
        };
        let absorbed = log.absorbed_of(&node.node);
        let mut fresh = node.blocks_of(signal).iter().filter(|b| b.block.sequence > absorbed);
        settled.generation == log.generation
            && (settled.effort == effort || settled.effort == Effort::Everything)
            && fresh.all(|b| b.tenant != tenant)
    }
}
