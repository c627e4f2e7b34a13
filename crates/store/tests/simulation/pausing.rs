//! Objects of a directory whose calls can be held up: while one waits, others do their work.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kymo_store::objects::{ObjectInfo, Objects, ObjectsError, Tail};

use crate::bucket::{Action, Rule};

/// Objects, and a rule that chooses a call of theirs, once.
pub struct Pausing {
    inner: Arc<dyn Objects>,
    rule: Mutex<Option<Rule>>,
}

impl Pausing {
    /// Without a rule.
    pub fn new(inner: Arc<dyn Objects>) -> Pausing {
        Pausing { inner, rule: Mutex::new(None) }
    }

    /// Sets the rule; `None` for none.
    pub fn set_rule(&self, rule: Option<Rule>) {
        *self.rule.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    fn before(&self, kind: &str, path: &str) {
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = rule.as_mut().is_some_and(|(choice, _)| choice(kind, path));
        let chosen = if chosen { rule.take() } else { None };
        drop(rule);
        if let Some((_, Action::Pause(wake))) = chosen {
            wake();
        }
    }
}

impl Objects for Pausing {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        self.before("get", path);
        self.inner.get(path)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        self.before("get", path);
        self.inner.get_range(path, range)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        self.before("get", path);
        self.inner.get_tail(path, len_bytes)
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        self.before("put", path);
        self.inner.put(path, body)
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        self.before("put_new", path);
        self.inner.put_new(path, body)
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        self.before("delete", path);
        self.inner.delete(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        self.before("list", prefix);
        self.inner.list(prefix)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        self.before("list", prefix);
        self.inner.list_dirs(prefix)
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

impl fmt::Debug for Pausing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pausing").finish_non_exhaustive()
    }
}
