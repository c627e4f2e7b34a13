//! Which queries run, and which were slow: for whoever looks after a server.
//!
//! A query is noted when it has its turn, and forgotten when it gives that back, however it ends.
//! What took long is remembered for a while. Noting costs a lock and a short copy of the text for
//! each query; texts are cut, and as many slow ones are kept as somebody looks at.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::clock::Clock;
use crate::engine::Engine;
use crate::limits::{NOTED_TEXT_BYTES, SLOW_AFTER, SLOW_KEPT};
use crate::tenants::Tenants;

/// A query that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningQuery {
    /// Its number, to end it by.
    pub id: u64,
    /// Of which language: `sql`, `traceql`, `promql`, `logql`, `trace`, `export`.
    pub kind: &'static str,
    /// What is asked, or its beginning.
    pub text: String,
    /// Whether it is only the beginning.
    pub is_cut: bool,
    /// Whose data it reads.
    pub tenants: String,
    /// Since when.
    pub began: SystemTime,
    /// How long it has run.
    pub took: Duration,
    /// Rows that its scans looked into.
    pub rows_scanned: u64,
    /// Whether it was told to end and has not done so yet.
    pub is_ending: bool,
}

/// A query that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowQuery {
    /// The query as it was when it ended.
    pub query: RunningQuery,
    /// How it ended: `finished`, `cancelled` or `timeout`.
    pub outcome: &'static str,
}

/// What is asked, for those who look at it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    kind: &'static str,
    text: String,
    is_cut: bool,
}

impl Question {
    pub(crate) fn new(kind: &'static str, text: &str) -> Self {
        let end = text.floor_char_boundary(NOTED_TEXT_BYTES);
        let is_cut = end < text.len();
        let text = if is_cut { format!("{}…", &text[..end]) } else { text.to_owned() };
        Self { kind, text, is_cut }
    }
}

/// All queries that run, and those that were slow.
#[derive(Debug, Default)]
pub(crate) struct Register {
    running: Mutex<BTreeMap<u64, Entry>>,
    slow: Mutex<VecDeque<SlowQuery>>,
    last_id: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    question: Question,
    tenants: String,
    began: SystemTime,
    clock: Arc<Clock>,
}

/// A query that is noted until this is dropped.
#[derive(Debug)]
pub(crate) struct Noted {
    register: Arc<Register>,
    id: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Register {
    /// Notes a query that has its turn now.
    pub(crate) fn note(
        self: &Arc<Self>,
        question: Question,
        tenants: &Tenants,
        clock: &Arc<Clock>,
    ) -> Noted {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (tenants, clock) = (tenants.to_string(), clock.clone());
        let entry = Entry { question, tenants, began: SystemTime::now(), clock };
        lock(&self.running).insert(id, entry);
        Noted { register: self.clone(), id }
    }

    fn running(&self) -> Vec<RunningQuery> {
        lock(&self.running).iter().map(|(id, entry)| entry.query(*id)).collect()
    }

    /// The slow ones, the last first.
    fn slow(&self) -> Vec<SlowQuery> {
        lock(&self.slow).iter().rev().cloned().collect()
    }

    fn cancel(&self, id: u64) -> bool {
        let running = lock(&self.running);
        let entry = running.get(&id);
        entry.iter().for_each(|entry| entry.clock.leave());
        entry.is_some()
    }

    fn ended(&self, id: u64) {
        let Some(entry) = lock(&self.running).remove(&id) else { return };
        if entry.clock.elapsed() < SLOW_AFTER {
            return;
        }
        let query = entry.query(id);
        let outcome = match (entry.clock.time_left().is_zero(), query.is_ending) {
            (true, _) => "timeout",
            (_, true) => "cancelled",
            _ => "finished",
        };
        let mut slow = lock(&self.slow);
        if slow.len() >= SLOW_KEPT {
            slow.pop_front();
        }
        slow.push_back(SlowQuery { query, outcome });
    }
}

impl Entry {
    fn query(&self, id: u64) -> RunningQuery {
        RunningQuery {
            id,
            kind: self.question.kind,
            text: self.question.text.clone(),
            is_cut: self.question.is_cut,
            tenants: self.tenants.clone(),
            began: self.began,
            took: self.clock.elapsed(),
            rows_scanned: self.clock.rows_scanned(),
            is_ending: self.clock.gone().load(Ordering::Relaxed),
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.register.ended(self.id);
    }
}

impl Engine {
    /// Queries that have their turn, in the order in which they began.
    pub fn running_queries(&self) -> Vec<RunningQuery> {
        self.core().register.running()
    }

    /// Queries that took long, the last to end first.
    pub fn slow_queries(&self) -> Vec<SlowQuery> {
        self.core().register.slow()
    }

    /// Ends a query that runs, as if nobody waited for it; false if there is none of this number.
    pub fn cancel_query(&self, id: u64) -> bool {
        self.core().register.cancel(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(register: &Arc<Register>, text: &str, limit: Duration) -> (Noted, Arc<Clock>) {
        let clock = Arc::new(Clock::new(limit));
        (register.note(Question::new("sql", text), &Tenants::from("a"), &clock), clock)
    }

    #[test]
    fn a_query_is_there_while_it_runs_and_ends_when_it_is_told_to() {
        let register = Arc::new(Register::default());
        let (one, clock) = noted(&register, "SELECT 1", Duration::from_secs(60));
        let (other, _) = noted(&register, "SELECT 2", Duration::from_secs(60));
        clock.scanned(7);
        let running = register.running();
        assert_eq!((running[0].text.as_str(), running[0].rows_scanned), ("SELECT 1", 7));
        assert!(!running[0].is_cut);
        assert_eq!((running[1].tenants.as_str(), running[1].is_ending), ("a", false));
        assert!(register.cancel(running[0].id) && clock.check().is_err());
        assert!(register.running()[0].is_ending);
        drop(one);
        assert!(!register.cancel(running[0].id), "it has ended");
        drop(other);
        assert!(register.running().is_empty() && register.slow().is_empty(), "both were quick");
    }

    #[test]
    fn what_took_long_is_remembered_and_its_text_is_bounded() {
        let register = Arc::new(Register::default());
        let long = "ä".repeat(NOTED_TEXT_BYTES);
        let (slow, clock) = noted(&register, &long, Duration::from_secs(60));
        std::thread::sleep(SLOW_AFTER);
        clock.leave();
        drop(slow);
        let slow = register.slow();
        assert_eq!((slow.len(), slow[0].outcome), (1, "cancelled"));
        assert!(slow[0].query.text.len() <= NOTED_TEXT_BYTES + '…'.len_utf8());
        assert!(slow[0].query.is_cut);
        assert!(slow[0].query.took >= SLOW_AFTER);
    }
}
