//! A bucket in memory that several nodes share, and that fails the way networks and servers do.
//!
//! [`SimBucket`] is what is stored: whole objects, listed consistently, created if absent in one
//! step. [`Access`] is one node's way to it, and all faults are there, by seed or on request: a
//! call fails before or after it took effect, is slow (time passes for everybody), is cut off for
//! a while, or the node dies in it. A one-shot [`Rule`] chooses a call by its kind and path, to
//! fail it or to *pause* its node: while it waits, others do their work to the end.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kymo_journal::sim::{Random, SimDisk};
use kymo_store::objects::{ObjectInfo, Objects, ObjectsError, Tail};

/// What is stored, and the time. Clones are the same bucket.
#[derive(Clone, Default)]
pub struct SimBucket {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<String, (Bytes, i64)>,
    now_nanos: i64,
    /// Disks whose clocks go with this one.
    disks: Vec<SimDisk>,
}

impl SimBucket {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time and whose clocks go with it.
    pub fn set_clocks(&self, now_nanos: i64, disks: Vec<SimDisk>) {
        let mut inner = self.inner();
        (inner.now_nanos, inner.disks) = (now_nanos, disks);
    }

    /// Lets time pass, for everybody.
    pub fn advance(&self, by: Duration) {
        let mut inner = self.inner();
        inner.now_nanos += by.as_nanos() as i64;
        inner.disks.iter().for_each(|disk| disk.advance_clock(by));
    }

    /// The time.
    pub fn now_nanos(&self) -> i64 {
        self.inner().now_nanos
    }

    /// Paths of the objects that have some bytes.
    pub fn paths_with(&self, needle: &[u8]) -> Vec<String> {
        let inner = self.inner();
        let found = inner
            .objects
            .iter()
            .filter(|(_, (body, _))| body.windows(needle.len()).any(|bytes| bytes == needle));
        found.map(|(path, _)| path.clone()).collect()
    }

    /// Changes one bit of an object.
    pub fn flip_bit(&self, path: &str, offset: u64, bit: u8) {
        if let Some((body, _)) = self.inner().objects.get_mut(path) {
            let mut bytes = body.to_vec();
            if let Some(byte) = bytes.get_mut(offset as usize) {
                *byte ^= 1 << bit;
            }
            *body = bytes.into();
        }
    }
}

/// What a rule does to the call it chose.
pub enum Action {
    /// Fails it without effect.
    FailBefore,
    /// Does it and loses the answer.
    FailAfter,
    /// Lets others work before it.
    Pause(Box<dyn FnOnce() + Send>),
}

/// Chooses a call by kind (`get`, `put`, `put_new`, `delete`, `list`) and path.
type Choice = Box<dyn FnMut(&str, &str) -> bool + Send>;

/// A choice and what then happens, once.
pub type Rule = (Choice, Action);

/// How often what goes wrong by seed: one in so many calls; 0 for never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    /// Fails, with or without effect.
    pub fails_one_in: u64,
    /// Takes up to three seconds.
    pub slow_one_in: u64,
    /// So many calls fail without effect, whatever the rest says.
    pub cut_off: u64,
}

/// One node's way to the bucket. It ends when the node's disk has crashed.
pub struct Access {
    bucket: SimBucket,
    disk: SimDisk,
    state: Mutex<State>,
}

struct State {
    random: Random,
    weather: Weather,
    rule: Option<Rule>,
    /// Calls that change something, so far.
    changes: u64,
    die_at: Option<u64>,
}

enum Verdict {
    Do,
    FailBefore,
    FailAfter,
}

impl Access {
    /// A way without faults.
    pub fn new(bucket: &SimBucket, disk: &SimDisk, seed: u64) -> Access {
        let state = State {
            random: Random::new(seed),
            weather: Weather::default(),
            rule: None,
            changes: 0,
            die_at: None,
        };
        Access { bucket: bucket.clone(), disk: disk.clone(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the weather.
    pub fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    /// Sets the rule; `None` for none.
    pub fn set_rule(&self, rule: Option<Rule>) {
        self.state().rule = rule;
    }

    /// Whether the rule still waits for its call.
    pub fn has_rule(&self) -> bool {
        self.state().rule.is_some()
    }

    /// The node dies at that change from now.
    pub fn die_in(&self, changes: Option<u64>) {
        let mut state = self.state();
        state.die_at = changes.map(|changes| state.changes + changes);
    }

    /// Calls that changed something.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    fn failed<T>(&self, path: &str) -> Result<T, ObjectsError> {
        let detail = if self.disk.crashed() { "simulated crash" } else { "simulated failure" };
        Err(ObjectsError::Unavailable { place: path.to_owned(), detail: detail.to_owned() })
    }

    /// One call: what may go wrong does, around its effect.
    fn call<T>(
        &self,
        kind: &str,
        path: &str,
        effect: impl FnOnce(&mut Inner) -> Result<T, ObjectsError>,
    ) -> Result<T, ObjectsError> {
        if self.disk.crashed() {
            return self.failed(path);
        }
        let pause = {
            let mut state = self.state();
            let chosen = state.rule.as_mut().is_some_and(|(choice, _)| choice(kind, path));
            if chosen { state.rule.take() } else { None }
        };
        let verdict = match pause {
            Some((_, Action::Pause(wake))) => {
                wake();
                self.verdict(kind)
            }
            Some((_, Action::FailBefore)) => Verdict::FailBefore,
            Some((_, Action::FailAfter)) => Verdict::FailAfter,
            None => self.verdict(kind),
        };
        match verdict {
            Verdict::Do => effect(&mut self.bucket.inner()),
            Verdict::FailBefore => self.failed(path),
            Verdict::FailAfter => {
                let _ = effect(&mut self.bucket.inner());
                self.failed(path)
            }
        }
    }

    fn die(&self) -> Verdict {
        self.disk.crash();
        if self.state().random.one_in(2) { Verdict::FailBefore } else { Verdict::FailAfter }
    }

    fn verdict(&self, kind: &str) -> Verdict {
        let mut state = self.state();
        let is_change = matches!(kind, "put" | "put_new" | "delete");
        if is_change {
            if state.die_at == Some(state.changes) {
                drop(state);
                return self.die();
            }
            state.changes += 1;
        }
        let Weather { fails_one_in, slow_one_in, cut_off } = state.weather;
        if cut_off > 0 {
            state.weather.cut_off -= 1;
            return Verdict::FailBefore;
        }
        if slow_one_in > 0 && state.random.one_in(slow_one_in) {
            let millis = state.random.below(3000);
            self.bucket.advance(Duration::from_millis(millis));
        }
        if fails_one_in > 0 && state.random.one_in(fails_one_in) {
            return if state.random.one_in(2) { Verdict::FailBefore } else { Verdict::FailAfter };
        }
        Verdict::Do
    }
}

fn body(inner: &Inner, path: &str) -> Result<Bytes, ObjectsError> {
    let found = inner.objects.get(path).map(|(body, _)| body.clone());
    found.ok_or_else(|| ObjectsError::NotFound { path: path.to_owned() })
}

/// The part of a path behind the components of a prefix.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    match prefix.trim_end_matches('/') {
        "" => Some(path),
        prefix => path.strip_prefix(prefix)?.strip_prefix('/'),
    }
}

impl Objects for Access {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        self.call("get", path, |inner| body(inner, path))
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        self.call("get", path, |inner| {
            let body = body(inner, path)?;
            let Range { start, end } = range;
            if start > end || end > body.len() as u64 {
                return Err(ObjectsError::OutOfRange { path: path.to_owned(), start, end });
            }
            Ok(body.slice(start as usize..end as usize))
        })
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        self.call("get", path, |inner| {
            let body = body(inner, path)?;
            let start = body.len().saturating_sub(len_bytes as usize);
            Ok(Tail { size_bytes: body.len() as u64, bytes: body.slice(start..) })
        })
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        self.call("put", path, |inner| {
            let now = inner.now_nanos;
            inner.objects.insert(path.to_owned(), (body, now));
            Ok(())
        })
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        self.call("put_new", path, |inner| {
            let now = inner.now_nanos;
            match inner.objects.get(path) {
                Some((there, _)) => Ok(*there == body),
                None => {
                    inner.objects.insert(path.to_owned(), (body, now));
                    Ok(true)
                }
            }
        })
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        self.call("delete", path, |inner| {
            inner.objects.remove(path);
            Ok(())
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        self.call("list", prefix, |inner| {
            let found = inner.objects.iter().filter(|(path, _)| below(path, prefix).is_some());
            let infos = found.map(|(path, (body, modified_nanos))| ObjectInfo {
                path: path.clone(),
                size_bytes: body.len() as u64,
                modified_nanos: *modified_nanos,
            });
            Ok(infos.collect())
        })
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        self.call("list", prefix, |inner| {
            let paths = inner.objects.keys().filter_map(|path| below(path, prefix));
            let mut dirs: Vec<String> =
                paths.filter_map(|rest| Some(rest.split_once('/')?.0.to_owned())).collect();
            dirs.dedup();
            Ok(dirs)
        })
    }

    fn describe(&self) -> String {
        "a simulated bucket".to_owned()
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}
