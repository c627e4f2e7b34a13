//! Which user a trace belongs to, as long as it is remembered.
//!
//! It holds users and no decisions, so that a change of flags decides open traces anew. Who comes
//! first stays: the user of a trace never changes while it is remembered.
//!
//! Memory is bounded by traces and by bytes of names. Each of its parts, which have locks of their
//! own, holds two generations: what is asked for moves to the young one, and when that is full, the
//! old one is forgotten as a whole. So half of the bound is what was used last, at the least. What
//! is forgotten is learnt again from the next record that names the user.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::limits::{MAX_REMEMBERED_TRACES, MAX_REMEMBERED_USER_BYTES, MEMORY_SHARDS};

/// The id of a trace.
pub(crate) type TraceId = [u8; 16];

/// A trace as one tenant and one list of attributes see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The tenant and the attributes that name the user, hashed.
    pub(crate) space: u64,
    /// The trace.
    pub(crate) trace_id: TraceId,
}

/// The users of traces.
pub(crate) struct Memory {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
}

struct Shard {
    young: Generation,
    old: Generation,
    bounds: Bounds,
}

#[derive(Default)]
struct Generation {
    traces: HashMap<Key, Arc<str>>,
    /// The same names, each once.
    names: HashSet<Arc<str>>,
    names_bytes: usize,
}

/// What a generation may hold.
#[derive(Clone, Copy)]
struct Bounds {
    traces: usize,
    names_bytes: usize,
}

impl Memory {
    /// An empty memory with the usual bounds.
    pub(crate) fn new() -> Self {
        Self::with_bounds(MAX_REMEMBERED_TRACES, MAX_REMEMBERED_USER_BYTES)
    }

    fn with_bounds(traces: usize, names_bytes: usize) -> Self {
        let share = |whole: usize| (whole / MEMORY_SHARDS / 2).max(1);
        let bounds = Bounds { traces: share(traces), names_bytes: share(names_bytes) };
        let shard = || Shard { young: Generation::default(), old: Generation::default(), bounds };
        let shards = (0..MEMORY_SHARDS).map(|_| Mutex::new(shard())).collect();
        Self { shards, hasher: RandomState::new() }
    }

    /// A number for a tenant and a list of attributes, another in each process.
    pub(crate) fn space(&self, tenant: &str, attributes: &[String]) -> u64 {
        self.hasher.hash_one((tenant, attributes))
    }

    /// The user of a trace, which becomes `learned` if none is remembered.
    pub(crate) fn user(&self, key: Key, learned: Option<&Arc<str>>) -> Option<Arc<str>> {
        let hash = self.hasher.hash_one(key);
        let shard = self.shards.get(hash as usize % MEMORY_SHARDS)?;
        // A panic elsewhere leaves the maps as good as they were.
        shard.lock().unwrap_or_else(PoisonError::into_inner).user(key, learned)
    }

    /// How many traces are remembered; those that moved to the young generation count once.
    pub(crate) fn len(&self) -> usize {
        let count = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.young.traces.len() + shard.old.traces.len()
        };
        self.shards.iter().map(count).sum()
    }
}

impl Shard {
    fn user(&mut self, key: Key, learned: Option<&Arc<str>>) -> Option<Arc<str>> {
        if let Some(user) = self.young.traces.get(&key) {
            return Some(Arc::clone(user));
        }
        let user = self.old.traces.remove(&key).or_else(|| learned.cloned())?;
        if self.young.is_full(self.bounds) {
            self.old = std::mem::take(&mut self.young);
        }
        Some(self.young.insert(key, user))
    }
}

impl Generation {
    fn is_full(&self, bounds: Bounds) -> bool {
        self.traces.len() >= bounds.traces || self.names_bytes >= bounds.names_bytes
    }

    fn insert(&mut self, key: Key, user: Arc<str>) -> Arc<str> {
        let user = match self.names.get(&user) {
            Some(known) => Arc::clone(known),
            None => {
                self.names_bytes += user.len();
                self.names.insert(Arc::clone(&user));
                user
            }
        };
        self.traces.insert(key, Arc::clone(&user));
        user
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("traces", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        let mut trace_id = TraceId::default();
        trace_id[..4].copy_from_slice(&number.to_le_bytes());
        Key { space: 1, trace_id }
    }

    fn user(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    #[test]
    fn the_first_user_of_a_trace_stays() {
        let memory = Memory::new();
        assert_eq!(memory.user(key(1), None), None);
        assert_eq!(memory.user(key(1), Some(&user("ada"))), Some(user("ada")));
        assert_eq!(memory.user(key(1), Some(&user("bob"))), Some(user("ada")));
        let elsewhere = Key { space: 2, ..key(1) };
        assert_eq!(memory.user(elsewhere, None), None, "another tenant's trace is another trace");
    }

    #[test]
    fn spaces_of_tenants_and_attributes_differ() {
        let memory = Memory::new();
        let attributes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let one: Vec<String> = attributes(&["user.id"]);
        let two: Vec<String> = attributes(&["user.id", "enduser.id"]);
        let spaces = [memory.space("a", &one), memory.space("b", &one), memory.space("a", &two)];
        assert_eq!(HashSet::from(spaces).len(), 3);
        assert_eq!(memory.space("a", &one), spaces[0]);
    }

    #[test]
    fn memory_is_bounded_by_traces_and_what_is_in_use_stays() {
        let traces = 20 * MEMORY_SHARDS;
        let memory = Memory::with_bounds(traces, usize::MAX);
        memory.user(key(0), Some(&user("ada")));
        for number in 1..100_000 {
            memory.user(key(number), Some(&user("bob")));
            assert_eq!(memory.user(key(0), None), Some(user("ada")), "after {number}");
        }
        assert!(memory.len() <= traces, "{}", memory.len());
        assert_eq!(memory.user(key(1), None), None, "the oldest is forgotten");
        assert_eq!(memory.user(key(99_999), None), Some(user("bob")));
    }

    #[test]
    fn memory_is_bounded_by_the_bytes_of_names() {
        let bytes = 64 * MEMORY_SHARDS * 16;
        let memory = Memory::with_bounds(usize::MAX, bytes);
        for number in 0..50_000 {
            memory.user(key(number), Some(&user(&format!("{number:064}"))));
        }
        // A generation may be over its bound by the name that fills it.
        assert!(memory.len() * 64 <= bytes + MEMORY_SHARDS * 2 * 64, "{}", memory.len());
        let shared = Memory::with_bounds(usize::MAX, bytes);
        for number in 0..50_000 {
            shared.user(key(number), Some(&user("one name")));
        }
        assert_eq!(shared.len(), 50_000, "a name counts once");
    }
}
