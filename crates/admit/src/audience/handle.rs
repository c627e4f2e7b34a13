//! The flags in force, shared by all that admit.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use kymo_condition::{Record, edit};
use kymo_wire::Signal;

use super::book::FlagBook;
use super::gate::Gate;
use super::memory::Memory;
use super::rule_set::RuleSet;
use crate::rules::{self, Applied, ApplyError, Rules};

/// Who is recorded, now. Clones share what they know.
///
/// Its `Debug` counts and names nobody.
#[derive(Clone)]
pub struct Audience {
    current: Arc<RwLock<Current>>,
    memory: Arc<Memory>,
}

struct Current {
    book: Arc<FlagBook>,
    rules: Arc<RuleSet>,
    /// How often the flags were replaced.
    changes: u64,
}

impl Audience {
    /// An audience with these flags. With none, everybody is recorded.
    #[must_use]
    pub fn new(book: FlagBook) -> Self {
        let current =
            Current { rules: Arc::new(RuleSet::new(&book)), book: Arc::new(book), changes: 0 };
        Self { current: Arc::new(RwLock::new(current)), memory: Arc::new(Memory::new()) }
    }

    /// Puts other flags in force, for all requests whose [`Gate`] is made from now on. Whose a trace
    /// is stays known, so that open traces are decided anew by the same users.
    pub fn replace(&self, book: FlagBook) {
        let rules = Arc::new(RuleSet::new(&book));
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let changes = current.changes + 1;
        *current = Current { rules, book: Arc::new(book), changes };
    }

    /// How often flags were replaced. Who has decided on a request while they were decides anew: a
    /// large one takes a while, and what is kept of it may be written a second after the change.
    pub(crate) fn changes(&self) -> u64 {
        self.current.read().unwrap_or_else(PoisonError::into_inner).changes
    }

    /// The flags in force.
    #[must_use]
    pub fn book(&self) -> Arc<FlagBook> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.book)
    }

    /// What decides on the records of one request of a tenant. `None` if no flag is enabled: then
    /// everything is kept, and nothing needs to be looked at.
    #[must_use]
    pub fn gate(&self, tenant: &str) -> Option<Gate> {
        let rules = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if current.rules.is_empty() {
                return None;
            }
            Arc::clone(&current.rules)
        };
        Some(Gate::new(rules, Arc::clone(&self.memory), tenant))
    }
}

impl Audience {
    /// Leaves out of a request of OTLP that was inspected what is not to be recorded, and applies
    /// rules to the rest.
    ///
    /// # Errors
    ///
    /// The request is not well-formed, or would become too large.
    pub fn apply(
        &self,
        tenant: &str,
        signal: Signal,
        protobuf: &[u8],
        rules: &Rules,
    ) -> Result<Applied, ApplyError> {
        let Some(mut gate) = self.gate(tenant).filter(|gate| gate.is_about(signal)) else {
            return rules.apply(signal, protobuf);
        };
        if gate.learns_from(signal) {
            edit::records(signal, protobuf, |record| gate.learn(record))?;
        }
        let mut admit = |record: &Record<'_>| gate.records(record);
        rules::process(signal, protobuf, rules, Some(&mut admit))
    }
}

/// Two are equal if they are the same: what one is told, the other knows.
impl PartialEq for Audience {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.current, &other.current)
    }
}

impl Eq for Audience {}

/// Nobody is kept out.
impl Default for Audience {
    fn default() -> Self {
        Self::new(FlagBook::default())
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.book().flags().count();
        f.debug_struct("Audience")
            .field("flags", &flags)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
