//! Random rules on random requests, against a model that applies them to each record alone.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod model;
#[path = "../../../wire/src/tests/random.rs"]
mod random;
mod requests;

use kymo_admit::rules::{Applied, Pairs, RedactSettings, RuleSettings, Rules, ValueSetting};
use kymo_admit::{Signal, Version};
use model::{Condition, Effect, Flat, Place, Rule};
use random::Random;

const CASES: u64 = 4_000;
const KEYS: [&str; 3] = ["a", "b", "c"];

/// Names the case that fails.
struct NameCase(u64, Signal, Vec<RuleSettings>);

impl Drop for NameCase {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with seed {} for {}: {:#?}", self.0, self.1, self.2);
        }
    }
}

#[test]
fn rules_do_what_they_would_do_to_each_record_alone() {
    let (mut unchanged, mut split) = (0, 0);
    for seed in 0..CASES {
        for signal in Signal::ALL {
            let random = &mut Random::new(seed);
            let count = 1 + random.below(4);
            let model: Vec<Rule> = (0..count).map(|_| rule(random)).collect();
            let settings: Vec<RuleSettings> = model.iter().map(settings).collect();
            let _name = NameCase(seed, signal, settings.clone());
            let rules = Rules::new(settings, "").unwrap();
            let request = requests::request(signal, random);
            let before = requests::flat(signal, &request);
            let (expected, dropped) = model::apply(&model, &before);
            match rules.apply(signal, &request).unwrap() {
                Applied::Unchanged => {
                    assert_eq!(before, expected, "nothing should be changed");
                    assert_eq!(dropped, 0);
                    unchanged += 1;
                }
                Applied::Changed { body, items, dropped: counted } => {
                    let after = requests::flat(signal, &body);
                    assert_eq!(sorted(after.clone()), sorted(expected.clone()));
                    assert_eq!(items, after.len() as u64);
                    assert_eq!(counted.iter().map(|rule| rule.count).sum::<u64>(), dropped);
                    requests::assert_order(signal, &body);
                    // Several rules may undo what they did.
                    let is_needless = model.len() == 1 && before == expected;
                    assert!(!is_needless || requests::has_empty_group(signal, &request));
                    split += u32::from(after != expected);
                }
            }
        }
    }
    assert!(unchanged > 500 && split > 50, "{unchanged} unchanged, {split} with split groups");
}

#[test]
fn no_bytes_make_rules_panic() {
    let mut refused = 0;
    for seed in 0..CASES {
        for signal in Signal::ALL {
            let random = &mut Random::new(seed);
            let settings = (0..3).map(|_| settings(&rule(random))).collect::<Vec<_>>();
            let _name = NameCase(seed, signal, settings.clone());
            let rules = Rules::new(settings, "").unwrap();
            let mut request = requests::request(signal, random);
            for _ in 0..=random.below(3) {
                mutate(&mut request, random);
            }
            refused += u32::from(rules.apply(signal, &request).is_err());
            let version = *random.pick(&[Version::One, Version::Two]);
            let _ = rules.apply_remote_write(version, &request);
        }
    }
    assert!(refused > 500, "{refused} requests were refused");
}

fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    if body.is_empty() {
        body.push(random.next() as u8);
        return;
    }
    let place = random.below(body.len() as u64) as usize;
    match random.below(5) {
        0 => body.truncate(place),
        1 => body.insert(place, random.next() as u8),
        2 => drop(body.remove(place)),
        3 => body[place] ^= 1 << random.below(8),
        _ => body.extend_from_within(place..),
    }
}

/// In an order that does not depend on groups.
fn sorted(mut flat: Vec<Flat>) -> Vec<Flat> {
    flat.sort_by_key(|record| record.number);
    flat
}

fn rule(random: &mut Random) -> Rule {
    let scope = *random.pick(&[Place::Own, Place::Own, Place::Resource, Place::Scope]);
    let key = (*random.pick(&KEYS)).to_owned();
    let value = random.below(3) as i64;
    let effect = match random.below(9) {
        0 => Effect::Drop,
        1 => Effect::Keep,
        2 => Effect::Insert(scope, key, value),
        3 => Effect::Update(scope, key, value),
        4 => Effect::Upsert(scope, key, value),
        5 => Effect::Delete(scope, key),
        6 => Effect::Rename(scope, key, (*random.pick(&KEYS)).to_owned()),
        _ => Effect::Redact(scope, key),
    };
    let needs_condition = matches!(effect, Effect::Keep);
    let condition = (needs_condition || random.chance(4)).then(|| condition(random, 2));
    Rule { condition, effect }
}

fn condition(random: &mut Random, depth: u32) -> Condition {
    if depth > 0 && !random.chance(3) {
        let (one, other) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(3) {
            0 => Condition::All(Box::new(one), Box::new(other)),
            1 => Condition::Any(Box::new(one), Box::new(other)),
            _ => Condition::Not(Box::new(one)),
        };
    }
    let scope = match random.below(4) {
        0 => None,
        1 => Some(Place::Scope),
        _ => Some(Place::Resource),
    };
    let key = (*random.pick(&KEYS)).to_owned();
    match random.below(4) {
        0 => Condition::IsNil(scope, key),
        1 => Condition::Name((*random.pick(&["x", "y"])).to_owned()),
        _ => Condition::Equals(scope, key, random.below(3) as i64),
    }
}

fn settings(rule: &Rule) -> RuleSettings {
    let name = |scope: Place, key: &str| format!("{}.{key}", scope.name());
    let pair = |scope: &Place, key: &str, value: &i64| {
        Pairs(vec![(name(*scope, key), ValueSetting::Int(*value))])
    };
    let mut settings = RuleSettings {
        condition: rule.condition.as_ref().map(Condition::text),
        ..RuleSettings::default()
    };
    match &rule.effect {
        Effect::Drop => settings.drop = true,
        Effect::Keep => settings.keep = true,
        Effect::Insert(scope, key, value) => settings.insert = pair(scope, key, value),
        Effect::Update(scope, key, value) => settings.update = pair(scope, key, value),
        Effect::Upsert(scope, key, value) => settings.upsert = pair(scope, key, value),
        Effect::Delete(scope, key) => settings.delete = vec![name(*scope, key)],
        Effect::Rename(scope, key, to) => {
            settings.rename = Pairs(vec![(name(*scope, key), name(*scope, to))]);
        }
        Effect::Redact(scope, key) => {
            settings.redact = Some(RedactSettings {
                attributes: vec![name(*scope, key)],
                body: false,
                pattern: "t".to_owned(),
                with: "*".to_owned(),
            });
        }
    }
    settings
}
