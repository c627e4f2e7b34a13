//! Processing rules: records that are left out, and attributes that are changed, before anything is
//! kept.
//!
//! Rules are applied in their order to each record. One that drops a record ends it; one that
//! changes it is seen by the next. A request that no rule changes keeps its bytes; a changed one is
//! encoded once.
//!
//! ```text
//! RuleSettings ─> compile ─> RuleSet of each signal: conditions, acts
//!                               │
//! request ─────────────────> pass (OTLP), series (remote-write) ─> Applied
//! ```
//!
//! What it promises:
//! - A rule does what it would do to each record alone. If it changes the resource of some records
//!   and not of others, those that it changes get a resource group of their own.
//! - An attribute that is there twice is changed twice, or removed twice.
//! - What is dropped is counted by the rule that did it.
//! - Groups without a record vanish: no rule could say whose they are.
//!
//! ```
//! use kymo_admit::rules::{Applied, RuleSettings, Rules};
//! use kymo_admit::Signal;
//!
//! let noise = RuleSettings {
//!     name: Some("noise".to_owned()),
//!     condition: Some(r#"span.http.route =~ "/health.*""#.to_owned()),
//!     drop: true,
//!     ..RuleSettings::default()
//! };
//! let rules = Rules::new(vec![noise], "")?;
//! assert_eq!(rules.apply(Signal::Traces, &[]), Ok(Applied::Unchanged));
//! # Ok::<(), kymo_admit::rules::RuleError>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | rules as a configuration has them |
//! | `compile`, `target` | … ready to be applied, and the names of attributes in them |
//! | `action` | what is done to attributes |
//! | `pass` | rules, and the audience, on a request of OTLP |
//! | `series`, `symbols` | … and on one of Prometheus' remote-write |
//! | [`limits`] | every limit, with its reason |
//! | `error` | what can be wrong with rules |

mod action;
mod compile;
mod error;
pub mod limits;
mod pass;
mod series;
pub mod settings;
mod symbols;
mod target;

use std::fmt;
use std::sync::Arc;

use kymo_condition::Conditions;
use kymo_wire::Signal;
use kymo_wire::remote_write::Version;

use action::{Change, Hasher};
pub use error::{ApplyError, Fault, RuleError};
pub(crate) use pass::process;
pub(crate) use series::process as process_remote_write;
pub use settings::{Pairs, RedactSettings, RuleSettings, RuleSignal, ValueSetting};

/// What records that the audience leaves out are counted under.
pub const AUDIENCE: &str = "audience";

/// Rules, ready to be applied. Clones share them.
#[derive(Clone, Default)]
pub struct Rules(Arc<Shared>);

#[derive(Default)]
struct Shared {
    settings: Vec<RuleSettings>,
    names: Vec<Arc<str>>,
    /// One for each of [`Signal::ALL`].
    sets: [RuleSet; 3],
    hasher: Hasher,
}

/// The rules about one signal, with the conditions that they share.
#[derive(Debug, Default)]
struct RuleSet {
    rules: Vec<Rule>,
    conditions: Conditions,
}

#[derive(Debug)]
struct Rule {
    /// Which of all rules it is.
    nth: usize,
    /// Its number in the set's conditions; without one it is about all records.
    condition: Option<usize>,
    act: Act,
}

/// What a rule does.
#[derive(Debug)]
enum Act {
    Drop,
    Keep,
    Change(Change),
}

impl Rules {
    /// Checks and compiles rules. `salt` is put before values that are hashed.
    ///
    /// # Errors
    ///
    /// A rule is wrong; the error says which, and how.
    pub fn new(settings: Vec<RuleSettings>, salt: &str) -> Result<Self, RuleError> {
        let (sets, names) = compile::compile(&settings)?;
        let hasher = Hasher { salt: salt.to_owned() };
        Ok(Self(Arc::new(Shared { settings, names, sets, hasher })))
    }

    /// Whether there is none in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.sets.iter().all(|set| set.rules.is_empty())
    }

    /// The names of all rules, in force or not, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names.iter().map(|name| &**name)
    }

    /// Applies the rules to a request of OTLP that was inspected.
    ///
    /// # Errors
    ///
    /// The request is not well-formed, or would become too large.
    pub fn apply(&self, signal: Signal, protobuf: &[u8]) -> Result<Applied, ApplyError> {
        process(signal, protobuf, self, None)
    }

    /// Applies the rules to a request of Prometheus' remote-write that was inspected. Attributes of
    /// a series are its labels; it has no resource and no scope.
    ///
    /// # Errors
    ///
    /// The request is not well-formed, or would become too large.
    pub fn apply_remote_write(&self, version: Version, body: &[u8]) -> Result<Applied, ApplyError> {
        process_remote_write(version, body, self, None)
    }

    fn set(&self, signal: Signal) -> &RuleSet {
        let [traces, metrics, logs] = &self.0.sets;
        match signal {
            Signal::Traces => traces,
            Signal::Metrics => metrics,
            Signal::Logs => logs,
        }
    }

    fn name(&self, nth: usize) -> Arc<str> {
        self.0.names.get(nth).cloned().unwrap_or_else(|| Arc::from(""))
    }
}

/// Two are equal if they were set alike.
impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        Arc::ptr_eq(one, other)
            || one.settings == other.settings && one.hasher.salt == other.hasher.salt
    }
}

impl Eq for Rules {}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

/// What rules made of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// Nothing.
    Unchanged,
    /// Another one.
    Changed {
        /// The request, not compressed; empty if nothing of it is left.
        body: Vec<u8>,
        /// How many spans, data points or log records it has.
        items: u64,
        /// What was left out of it.
        dropped: Vec<Dropped>,
    },
}

/// How many records one rule left out of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The name of the rule, or [`AUDIENCE`].
    pub rule: Arc<str>,
    /// How many spans, data points or log records.
    pub count: u64,
}

/// Counts what is left out, by rule.
#[derive(Debug, Default)]
struct Tally {
    by_rule: Vec<u64>,
    by_audience: u64,
}

impl Tally {
    fn add(&mut self, nth: usize, count: u64) {
        if self.by_rule.len() <= nth {
            self.by_rule.resize(nth + 1, 0);
        }
        if let Some(counted) = self.by_rule.get_mut(nth) {
            *counted += count;
        }
    }

    fn finish(self, rules: &Rules) -> Vec<Dropped> {
        let audience = Dropped { rule: Arc::from(AUDIENCE), count: self.by_audience };
        let by_rule = self.by_rule.into_iter().enumerate();
        let by_rule = by_rule.map(|(nth, count)| Dropped { rule: rules.name(nth), count });
        std::iter::once(audience).chain(by_rule).filter(|dropped| dropped.count > 0).collect()
    }
}
