//! A flag that can be decided by: its regular expression and condition are compiled.
//!
//! Admission and OFREP ask the same [`Rule::decide`], so that a client that asks before it sends is
//! told what will happen.

use std::fmt;

use kymo_condition::{Condition, Record};
use kymo_wire::Signal;
use regex::{Regex, RegexBuilder};
use xxhash_rust::xxh3::Xxh3Default;

use super::flag::{Flag, FlagError, Mode, Unknown};
use super::limits::{MAX_REGEX_COMPILED_BYTES, MAX_USER_BYTES};

/// A flag, compiled.
pub struct Rule {
    flag: Flag,
    regex: Option<Regex>,
    condition: Option<Condition>,
}

/// Whether a user is recorded, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether records of that user are kept.
    pub is_recorded: bool,
    /// What decided it.
    pub reason: Reason,
}

/// What decided whether a user is recorded, in the words of OpenFeature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The flag is the same for all.
    Static,
    /// The user is listed, or the regular expression matches.
    TargetingMatch,
    /// The user is, or is not, in the percentage.
    Split,
    /// The flag is not enabled, so that it keeps nobody out.
    Disabled,
    /// Nothing selects the user, or the user is not known.
    Default,
}

impl Reason {
    /// Its name in OpenFeature.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "STATIC",
            Self::TargetingMatch => "TARGETING_MATCH",
            Self::Split => "SPLIT",
            Self::Disabled => "DISABLED",
            Self::Default => "DEFAULT",
        }
    }
}

impl Rule {
    /// Checks a flag and compiles what is to be compiled.
    pub fn new(flag: Flag) -> Result<Self, FlagError> {
        flag.check()?;
        let regex = flag.regex.as_deref().map(compile).transpose()?;
        let parse = |text| {
            Condition::parse(text).map_err(|error| {
                FlagError::invalid("where", format!("cannot be understood: {error}"))
            })
        };
        let condition = flag.condition.as_deref().map(parse).transpose()?;
        Ok(Self { flag, regex, condition })
    }

    /// Refuses a flag that names signals of which its condition never holds: it would let pass what it
    /// seems to be about.
    pub(crate) fn check_signals(&self) -> Result<(), FlagError> {
        let is_about_spans = self.condition.as_ref().is_some_and(Condition::is_about_spans);
        if is_about_spans && self.flag.signals.iter().any(|signal| *signal != Signal::Traces) {
            let message = "is about spans, which metrics and logs are not; \
                           set signals to traces alone, or ask for .x or resource.x";
            return Err(FlagError::invalid("where", message));
        }
        Ok(())
    }

    /// The flag.
    #[must_use]
    pub const fn flag(&self) -> &Flag {
        &self.flag
    }

    /// Whether records of a user are kept, by this flag alone. `None` is a user that is not known.
    #[must_use]
    pub fn decide(&self, user: Option<&str>) -> Decision {
        let flag = &self.flag;
        let (is_recorded, reason) = match (flag.enabled, flag.mode, user) {
            (false, ..) => (true, Reason::Disabled),
            (true, Mode::Nobody, _) => (false, Reason::Static),
            (true, Mode::Everybody, _) => (true, Reason::Static),
            (true, Mode::Selected, None) => (flag.unknown == Unknown::Everybody, Reason::Default),
            (true, Mode::Selected, Some(user)) => self.select(bounded(user)),
        };
        Decision { is_recorded, reason }
    }

    fn select(&self, user: &str) -> (bool, Reason) {
        let is_matched = || self.regex.as_ref().is_some_and(|regex| regex.is_match(user));
        if self.flag.users.contains(user) || is_matched() {
            return (true, Reason::TargetingMatch);
        }
        if self.flag.percentage > 0.0 {
            let is_within = place_percent(&self.flag.key, user) < self.flag.percentage;
            return (is_within, Reason::Split);
        }
        (false, Reason::Default)
    }

    /// Whether the flag is about records of a signal.
    #[must_use]
    pub fn is_about_signal(&self, signal: Signal) -> bool {
        self.flag.signals.contains(&signal)
    }

    /// Whether the flag is about some records of its signals only.
    #[must_use]
    pub const fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Whether the flag is about this record of one of its signals.
    #[must_use]
    pub fn is_about(&self, record: &Record<'_>) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}

/// As that of the flag: regular expression and condition may name people.
impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.flag.fmt(f)
    }
}

/// A regular expression that matches whole names, as `=~` of TraceQL does.
fn compile(pattern: &str) -> Result<Regex, FlagError> {
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(MAX_REGEX_COMPILED_BYTES)
            .dfa_size_limit(MAX_REGEX_COMPILED_BYTES)
            .build()
    };
    // Alone first: `a)(b` is wrong, though in parentheses it would become right.
    build(pattern).and_then(|_| build(&format!("^(?s:{pattern})$"))).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => FlagError::invalid("regex", "is too large"),
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            FlagError::invalid("regex", format!("is not a regular expression: {reason}"))
        }
    })
}

/// Where a user stands among all, from 0 to below 100, for one flag. It never changes, so that who
/// was within 10 % is within 20 %; flags differ, so that not always the same users come first.
fn place_percent(key: &str, user: &str) -> f64 {
    let mut hash = Xxh3Default::new();
    hash.update(key.as_bytes());
    // No key has a zero byte: where it ends is certain.
    hash.update(&[0]);
    hash.update(user.as_bytes());
    // 53 bits are what a double holds exactly; more would round up to 100.
    let place = (hash.digest() >> 11) as f64;
    place * (100.0 / (1_u64 << 53) as f64)
}

/// A name as far as it counts.
pub(crate) fn bounded(user: &str) -> &str {
    if user.len() <= MAX_USER_BYTES {
        return user;
    }
    user.get(..user.floor_char_boundary(MAX_USER_BYTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::book::Author;
    use super::super::patch::FlagPatch;
    use super::super::settings::AudienceSettings;
    use super::*;

    fn rule(json: &str) -> Result<Rule, FlagError> {
        let patch: FlagPatch = serde_json::from_str(json).unwrap();
        let author = Author { by: "root", at_millis: 1 };
        Rule::new(patch.create("flag_ot_traces", &AudienceSettings::default(), &author))
    }

    fn decided(rule: &Rule, user: Option<&str>) -> (bool, &'static str) {
        let Decision { is_recorded, reason } = rule.decide(user);
        (is_recorded, reason.name())
    }

    #[test]
    fn each_way_to_select_has_its_reason() {
        let nobody = rule("{}").unwrap();
        assert_eq!(decided(&nobody, Some("ada")), (false, "STATIC"));
        let everybody = rule(r#"{"mode": "everybody"}"#).unwrap();
        assert_eq!(decided(&everybody, None), (true, "STATIC"));
        let off = rule(r#"{"enabled": false}"#).unwrap();
        assert_eq!(decided(&off, Some("ada")), (true, "DISABLED"));
        let some = rule(r#"{"mode": "selected", "users": ["ada"], "regex": "x-\\d+"}"#).unwrap();
        assert_eq!(decided(&some, Some("ada")), (true, "TARGETING_MATCH"));
        assert_eq!(decided(&some, Some("x-12")), (true, "TARGETING_MATCH"));
        assert_eq!(decided(&some, Some("ax-12")), (false, "DEFAULT"), "the whole name must match");
        assert_eq!(decided(&some, None), (false, "DEFAULT"));
        let open = rule(r#"{"mode": "selected", "unknown": "everybody"}"#).unwrap();
        assert_eq!(decided(&open, None), (true, "DEFAULT"));
        assert_eq!(decided(&open, Some("ada")), (false, "DEFAULT"));
    }

    #[test]
    fn a_percentage_takes_its_share_and_keeps_whom_it_has() {
        let share = |percentage| {
            rule(&format!(r#"{{"mode": "selected", "percentage": {percentage}}}"#)).unwrap()
        };
        let (ten, twenty, all) = (share(10), share(20), share(100));
        let users: Vec<_> = (0..10_000).map(|n| format!("user-{n}")).collect();
        let is_in = |rule: &Rule, user: &String| rule.decide(Some(user)).is_recorded;
        let count = |rule: &Rule| users.iter().filter(|user| is_in(rule, user)).count();
        // Six standard deviations of 10,000 draws.
        assert!((820..1180).contains(&count(&ten)), "{}", count(&ten));
        assert!((1760..2240).contains(&count(&twenty)), "{}", count(&twenty));
        assert_eq!(count(&all), users.len());
        assert!(users.iter().all(|user| !is_in(&ten, user) || is_in(&twenty, user)));
        assert_eq!(decided(&all, Some("ada")), (true, "SPLIT"));
    }

    #[test]
    fn the_place_of_a_user_is_the_same_in_every_version() {
        // Written down: another hash would exchange who is recorded under people's feet.
        let places = ["ada", "bob"].map(|user| place_percent("flag_ot_traces", user));
        assert_eq!(places.map(|place| format!("{place:.2}")), ["4.57", "61.30"]);
    }

    #[test]
    fn expressions_that_are_wrong_or_too_large_are_refused() {
        for pattern in ["(", "a)(b", "(a{1000}){1000}"] {
            let json = serde_json::json!({ "regex": pattern }).to_string();
            let error = rule(&json).unwrap_err();
            assert!(matches!(error, FlagError::Invalid { field: "regex", .. }), "{error}");
        }
        let error = rule(r#"{"where": "span.a ="}"#).unwrap_err();
        assert!(matches!(error, FlagError::Invalid { field: "where", .. }), "{error}");
    }

    #[test]
    fn a_condition_on_spans_is_refused_for_other_signals() {
        let on_spans = rule(r#"{"where": "span.a = 1"}"#).unwrap();
        let error = on_spans.check_signals().unwrap_err();
        assert!(matches!(error, FlagError::Invalid { field: "where", .. }), "{error}");
        for json in [
            r#"{"where": "span.a = 1", "signals": ["traces"]}"#,
            r#"{"where": ".a = 1 && resource.b = 2 && name = \"c\""}"#,
            "{}",
        ] {
            assert_eq!(rule(json).unwrap().check_signals(), Ok(()), "{json}");
        }
    }

    #[test]
    fn a_long_name_is_decided_by_its_beginning() {
        let long = "ü".repeat(MAX_USER_BYTES);
        assert_eq!(bounded(&long).len(), MAX_USER_BYTES);
        let odd = format!("a{long}");
        assert_eq!(bounded(&odd).len(), MAX_USER_BYTES - 1);
    }
}
