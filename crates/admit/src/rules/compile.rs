//! Settings to rules that are ready to be applied, for each signal its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use kymo_condition::Conditions;
use kymo_condition::edit::value;
use kymo_wire::Signal;
use regex::RegexBuilder;

use super::action::{Action, Change, Redaction, Set};
use super::error::{Fault, RuleError};
use super::limits::{
    MAX_INSERTED_BYTES, MAX_NAMES, MAX_PATTERN_BYTES, MAX_REPLACEMENT_BYTES, MAX_RULE_NAME_BYTES,
    MAX_RULES,
};
use super::settings::{RedactSettings, RuleSettings, ValueSetting};
use super::target::{self, Level, Place};
use super::{AUDIENCE, Act, Rule, RuleSet};

/// Every list that a record's attributes are in.
const LEVELS: [Level; 6] =
    [Level::Resource, Level::Scope, Level::Own, Level::Event, Level::Link, Level::Exemplar];

/// Compiles rules: one set for each of [`Signal::ALL`], and the names of all.
pub(super) fn compile(
    settings: &[RuleSettings],
) -> Result<([RuleSet; 3], Vec<Arc<str>>), RuleError> {
    let mut sets: [RuleSet; 3] = Default::default();
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut taken = BTreeSet::new();
    for (nth, rule) in settings.iter().enumerate() {
        let name = rule.name.clone().unwrap_or_else(|| format!("rule-{}", nth + 1));
        let refused = |fault| RuleError { nth, name: name.clone(), fault };
        if nth == MAX_RULES {
            return Err(refused(Fault::TooMany));
        }
        check_name(&name).map_err(refused)?;
        if !taken.insert(name.clone()) {
            return Err(refused(Fault::NameTwice));
        }
        add(rule, nth, &mut sets).map_err(refused)?;
        names.push(name.into());
    }
    Ok((sets, names))
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > MAX_RULE_NAME_BYTES || !name.chars().all(is_allowed) {
        return Err(Fault::Name);
    }
    if name == AUDIENCE {
        return Err(Fault::Reserved);
    }
    Ok(())
}

/// Checks a rule, and adds it to the sets of its signals if it is in force.
fn add(rule: &RuleSettings, nth: usize, sets: &mut [RuleSet; 3]) -> Result<(), Fault> {
    let signals = signals(rule)?;
    let works = works(rule)?;
    let (drops, keeps) = (rule.drop, rule.keep);
    if drops && keeps || (drops || keeps) && !works.is_empty() {
        return Err(Fault::DropAndMore);
    }
    if keeps && rule.condition.is_none() {
        return Err(Fault::KeepAll);
    }
    if !drops && !keeps && works.is_empty() {
        return Err(Fault::Nothing);
    }
    if let Some(work) = works.iter().find(|work| !signals.iter().any(|signal| work.is_in(*signal)))
    {
        return Err(work.missing());
    }
    if !rule.enabled {
        return Ok(());
    }
    for (signal, set) in Signal::ALL.into_iter().zip(sets) {
        if !signals.contains(&signal) {
            continue;
        }
        let act = match (drops, keeps) {
            (true, _) => Act::Drop,
            (_, true) => Act::Keep,
            _ => Act::Change(change(&works, signal)),
        };
        if matches!(&act, Act::Change(change) if change.is_empty()) {
            continue;
        }
        let condition =
            rule.condition.as_deref().map(|text| set.conditions.add(text)).transpose()?;
        match (set.rules.last_mut(), act) {
            // What is done to every record is done at once, so that it is written once.
            (
                Some(Rule { condition: None, act: Act::Change(before), .. }),
                Act::Change(mut change),
            ) if condition.is_none() => before.append(&mut change),
            (_, act) => set.rules.push(Rule { nth, condition, act }),
        }
    }
    Ok(())
}

/// The signals that a rule is about: those that it says, else those that its condition can hold for.
fn signals(rule: &RuleSettings) -> Result<Vec<Signal>, Fault> {
    let mut conditions = Conditions::new();
    if let Some(text) = &rule.condition {
        conditions.add(text)?;
    }
    let is_about_spans = conditions.is_about_spans(0);
    let Some(said) = &rule.signals else {
        return Ok(if is_about_spans { vec![Signal::Traces] } else { Signal::ALL.to_vec() });
    };
    let said: Vec<Signal> = said.iter().map(|signal| Signal::from(*signal)).collect();
    if said.is_empty() {
        return Err(Fault::NoSignal);
    }
    if is_about_spans && said.iter().any(|signal| *signal != Signal::Traces) {
        return Err(Fault::NeverTrue);
    }
    Ok(said)
}

/// Something that a rule does.
enum Work<'s> {
    /// To attributes, by this name.
    Attributes {
        named: &'s str,
        place: Place,
        action: Action,
    },
    Body(Arc<Redaction>),
}

impl Work<'_> {
    fn is_in(&self, signal: Signal) -> bool {
        match self {
            Self::Attributes { place, .. } => place.is_in(signal),
            Self::Body(_) => signal == Signal::Logs,
        }
    }

    fn missing(&self) -> Fault {
        match self {
            Self::Attributes { named, .. } => Fault::NoSuchPlace((*named).to_owned()),
            Self::Body(_) => Fault::NoBody,
        }
    }
}

fn change(works: &[Work<'_>], signal: Signal) -> Change {
    let mut change = Change::default();
    for work in works.iter().filter(|work| work.is_in(signal)) {
        match work {
            Work::Body(redaction) => change.body.push(Arc::clone(redaction)),
            Work::Attributes { place, action, .. } => {
                for level in LEVELS.into_iter().filter(|level| place.is_at(*level)) {
                    change.at(level).push(action.clone());
                }
            }
        }
    }
    change
}

/// All that a rule does, in the order in which it is done.
fn works(rule: &RuleSettings) -> Result<Vec<Work<'_>>, Fault> {
    let mut works = Vec::new();
    for named in &rule.delete {
        let (place, keys) = target::pattern(named)?;
        works.push(Work::Attributes { named, place, action: Action::Delete(keys) });
    }
    for (named, to) in &rule.rename.0 {
        let ((place, from), (place_after, key)) = (target::name(named)?, target::name(to)?);
        if place != place_after {
            return Err(Fault::Moves { from: named.clone(), to: to.clone() });
        }
        works.push(Work::Attributes { named, place, action: Action::Rename { from, to: key } });
    }
    for (pairs, how) in
        [(&rule.insert, Set::Insert), (&rule.update, Set::Update), (&rule.upsert, Set::Upsert)]
    {
        for (named, value) in &pairs.0 {
            let (place, key) = target::name(named)?;
            let value = encoded(value);
            if value.len() > MAX_INSERTED_BYTES {
                return Err(Fault::LongValue(named.clone()));
            }
            let action = Action::Set { key, value: value.into(), how };
            works.push(Work::Attributes { named, place, action });
        }
    }
    for named in &rule.hash {
        let (place, keys) = target::pattern(named)?;
        works.push(Work::Attributes { named, place, action: Action::Hash(keys) });
    }
    if let Some(redact) = &rule.redact {
        let redaction = Arc::new(redaction(redact)?);
        for named in &redact.attributes {
            let (place, keys) = target::pattern(named)?;
            let action = Action::Redact(keys, Arc::clone(&redaction));
            works.push(Work::Attributes { named, place, action });
        }
        if redact.body {
            works.push(Work::Body(redaction));
        }
    }
    if works.len() > MAX_NAMES {
        return Err(Fault::TooManyNames);
    }
    Ok(works)
}

fn encoded(value: &ValueSetting) -> Vec<u8> {
    match value {
        ValueSetting::Text(text) => value::text(text),
        ValueSetting::Bool(boolean) => value::boolean(*boolean),
        ValueSetting::Int(integer) => value::integer(*integer),
        ValueSetting::Float(double) => value::double(*double),
        ValueSetting::Texts(texts) => value::texts(texts.iter().map(String::as_str)),
    }
}

fn redaction(settings: &RedactSettings) -> Result<Redaction, Fault> {
    if settings.attributes.is_empty() && !settings.body {
        return Err(Fault::RedactsNothing);
    }
    if settings.with.len() > MAX_REPLACEMENT_BYTES {
        return Err(Fault::LongReplacement);
    }
    let pattern = RegexBuilder::new(&settings.pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| {
            // The last line says what is wrong; those before draw where.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Fault::Pattern(format!("{:?} is no regular expression: {reason}", settings.pattern))
        })?;
    if pattern.is_match("") {
        return Err(Fault::EmptyPattern);
    }
    Ok(Redaction { pattern, with: settings.with.clone() })
}
