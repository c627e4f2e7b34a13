//! The decision on the records of one request.
//!
//! In two passes: [`Gate::learn`] sees all records, then [`Gate::records`] decides each. So a user
//! that is named by the last span of a request decides on the first one of that trace too.
//!
//! What it promises:
//! - A record is kept only if every flag that is about it allows its trace's user.
//! - Whoever is named in it has to be allowed too, wherever that is: a record that names an excluded
//!   user is never kept, whoever its trace began with.
//! - A trace's user is the one that was named first, in whichever request.
//! - Flags do not change between two records of a request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use kymo_condition::Record;
use kymo_wire::Signal;

use super::memory::{Key, Memory, TraceId};
use super::rule_set::{Bits, RuleSet};

/// Decides which records of one request are kept.
pub struct Gate {
    rules: Arc<RuleSet>,
    memory: Arc<Memory>,
    /// One for each source of the rules.
    spaces: Vec<u64>,
    /// By [`Signal`], in the order of [`Signal::ALL`].
    about_signal: [Bits; 3],
    /// Flags that allow who is not known.
    allowing_unknown: Bits,
    /// Users of this request, with the flags that allow them.
    people: HashMap<Arc<str>, Bits>,
    /// The first user of a trace in this request, by source.
    named: HashMap<(TraceId, usize), Arc<str>>,
    /// Flags that allow the user of a trace.
    traces: HashMap<TraceId, Bits>,
}

/// Whom a record names, as one source sees it.
struct Own {
    /// Its user, if it names one.
    user: Option<Arc<str>>,
    /// The flags that allow everybody whom it names.
    allowing: Bits,
}

impl Gate {
    pub(crate) fn new(rules: Arc<RuleSet>, memory: Arc<Memory>, tenant: &str) -> Self {
        let space = |attributes: &Vec<String>| memory.space(tenant, attributes);
        Self {
            spaces: rules.sources().iter().map(|source| space(&source.attributes)).collect(),
            about_signal: Signal::ALL.map(|signal| rules.about_signal(signal)),
            allowing_unknown: rules.allowing(None),
            people: HashMap::new(),
            named: HashMap::new(),
            traces: HashMap::new(),
            rules,
            memory,
        }
    }

    /// Whether any flag is about a signal, or needs to learn from it whose a trace is. If not,
    /// neither pass over a request of it is needed.
    #[must_use]
    pub fn is_about(&self, signal: Signal) -> bool {
        let about = match signal {
            Signal::Metrics => self.about(Signal::Metrics),
            // Spans and log records of a trace tell of each other whose they are.
            Signal::Traces | Signal::Logs => self.about(Signal::Traces) | self.about(Signal::Logs),
        };
        about != 0
    }

    /// Whether the first pass tells anything: data points have no trace.
    #[must_use]
    pub const fn learns_from(&self, signal: Signal) -> bool {
        !matches!(signal, Signal::Metrics)
    }

    /// First pass: remembers whom a record names as the user of its trace.
    pub fn learn(&mut self, record: &Record<'_>) {
        let Some(trace_id) = trace_of(record) else { return };
        for nth in 0..self.spaces.len() {
            self.learn_by(nth, trace_id, record);
        }
    }

    /// Second pass: whether a record is kept.
    pub fn records(&mut self, record: &Record<'_>) -> bool {
        let Some(signal) = record.signal() else { return true };
        let about = self.rules.about(self.about(signal), record);
        let trace_id = trace_of(record);
        let mut allowing = Bits::MAX;
        for nth in 0..self.spaces.len() {
            let flags = self.rules.sources().get(nth).map_or(0, |source| source.flags);
            let mut own = match trace_id {
                Some(trace_id) => self.learn_by(nth, trace_id, record),
                None => self.own(nth, record),
            };
            if trace_id.is_none() && own.user.is_none() {
                own.allowing &= self.allowing_unknown;
            }
            allowing &= own.allowing | !flags;
        }
        if about == 0 {
            return true;
        }
        if let Some(trace_id) = trace_id {
            allowing &= self.allowing_in(trace_id);
        }
        about & !allowing == 0
    }

    fn about(&self, signal: Signal) -> Bits {
        let [traces, metrics, logs] = self.about_signal;
        match signal {
            Signal::Traces => traces,
            Signal::Metrics => metrics,
            Signal::Logs => logs,
        }
    }

    /// Whom a record of a trace names. The trace has that user if it has none yet.
    fn learn_by(&mut self, nth: usize, trace_id: TraceId, record: &Record<'_>) -> Own {
        let own = self.own(nth, record);
        if let Some(user) = &own.user
            && let Entry::Vacant(entry) = self.named.entry((trace_id, nth))
        {
            entry.insert(Arc::clone(user));
            // What was decided while the user was not known does not bind what follows.
            self.traces.remove(&trace_id);
        }
        own
    }

    /// Whom a record names.
    fn own(&mut self, nth: usize, record: &Record<'_>) -> Own {
        let Self { rules, people, .. } = self;
        let mut own = Own { user: None, allowing: Bits::MAX };
        let Some(source) = rules.sources().get(nth) else { return own };
        let mut least = usize::MAX;
        source.each_user(record, |rank, name| {
            let (user, bits) = match people.get_key_value(name.as_ref()) {
                Some((user, bits)) => (Arc::clone(user), *bits),
                None => {
                    let user: Arc<str> = Arc::from(name);
                    let bits = rules.allowing(Some(&user));
                    people.insert(Arc::clone(&user), bits);
                    (user, bits)
                }
            };
            own.allowing &= bits;
            if let Some(rank) = rank.filter(|rank| *rank < least) {
                least = rank;
                own.user = Some(user);
            }
        });
        own
    }

    /// Flags that allow the user of a trace, or those who are not known.
    fn allowing_in(&mut self, trace_id: TraceId) -> Bits {
        if let Some(bits) = self.traces.get(&trace_id) {
            return *bits;
        }
        let mut allowing = 0;
        for (nth, source) in self.rules.sources().iter().enumerate() {
            let space = self.spaces.get(nth).copied().unwrap_or_default();
            let learned = self.named.get(&(trace_id, nth));
            let bits = match self.memory.user(Key { space, trace_id }, learned) {
                None => self.allowing_unknown,
                Some(user) => match self.people.get(&user) {
                    Some(bits) => *bits,
                    None => self.rules.allowing(Some(&user)),
                },
            };
            allowing |= bits & source.flags;
        }
        self.traces.insert(trace_id, allowing);
        allowing
    }
}

/// A gate that is dropped after its first pass has learnt all the same: later requests know whose
/// the trace is.
impl Drop for Gate {
    fn drop(&mut self) {
        for ((trace_id, nth), user) in &self.named {
            if !self.traces.contains_key(trace_id)
                && let Some(space) = self.spaces.get(*nth)
            {
                self.memory.user(Key { space: *space, trace_id: *trace_id }, Some(user));
            }
        }
    }
}

/// The trace of a record. An id of zeros is none.
fn trace_of(record: &Record<'_>) -> Option<TraceId> {
    let trace_id = TraceId::try_from(record.trace_id()).ok()?;
    (trace_id != TraceId::default()).then_some(trace_id)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("flags", &self.rules.len()).finish_non_exhaustive()
    }
}
