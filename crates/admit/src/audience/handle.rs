//! The flags in force, shared by all that admit.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::book::FlagBook;
use super::gate::Gate;
use super::memory::Memory;
use super::rule_set::RuleSet;

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
}

impl Current {
    fn new(book: Arc<FlagBook>) -> Self {
        Self { rules: Arc::new(RuleSet::new(&book)), book }
    }
}

impl Audience {
    /// An audience with these flags. With none, everybody is recorded.
    #[must_use]
    pub fn new(book: FlagBook) -> Self {
        let current = Arc::new(RwLock::new(Current::new(Arc::new(book))));
        Self { current, memory: Arc::new(Memory::new()) }
    }

    /// Puts other flags in force, for all requests whose [`Gate`] is made from now on. Whose a trace
    /// is stays known, so that open traces are decided anew by the same users.
    pub fn replace(&self, book: FlagBook) {
        let current = Current::new(Arc::new(book));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
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
