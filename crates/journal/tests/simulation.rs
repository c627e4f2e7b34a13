//! Seeded simulation: random work on a disk that loses power, kills the process, fails syncs and
//! runs full, held against a model in memory.
//!
//! After every crash: each acknowledged record is there exactly once, where it was said to be, in
//! order; one that was not acknowledged is there at most once, one that was erased never; no cursor is ahead of what was
//! advanced; a retry is still recognised. After a clean close with every cursor at the end, segments are
//! no more than headers.
//!
//! `KYMO_TEST_SIM_SEEDS` sets the number of seeds, `KYMO_TEST_SIM_SEED` runs one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::*;
use kymo_journal::sim::{Random, SimDisk};
use kymo_journal::{CursorOptions, Disk, Durability, Edit, Error, Journal, Options, Position};

/// What ought to be in the journal.
#[derive(Default)]
struct Model {
    /// Acknowledged, or seen by a reader after a restart: number by position.
    durable: BTreeMap<Position, u64>,
    /// Appended without a positive answer.
    unanswered: BTreeMap<u64, usize>,
    /// Length of each record's body, by number.
    lengths: BTreeMap<u64, usize>,
    /// The furthest the cursors were advanced.
    advanced: BTreeMap<&'static str, Position>,
    /// A full disk may cost the hashes of deleted segments.
    may_forget_hashes: bool,
    /// Records that were to be erased, and those that surely were.
    erasable: BTreeSet<Position>,
    erased: BTreeSet<Position>,
}

const CURSORS: [&str; 2] = ["store", "forward"];

struct Run {
    random: Random,
    disk: SimDisk,
    journal: Option<Journal>,
    model: Model,
    options: Options,
    next_number: u64,
    /// How often an empty segment took the place of one that everyone had passed.
    renewals: u64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let durability = if random.one_in(8) { Durability::Memory } else { Durability::Disk };
        let recent_bytes = if random.one_in(2) { 0 } else { 3000 };
        let disk = SimDisk::new(random.next_u64());
        let idle_bytes = [0, 300, 2000, 1 << 20][random.below(4) as usize];
        let options = Options { segment_bytes: 4096, durability, recent_bytes, idle_bytes };
        let model = Model::default();
        Run { random, disk, journal: None, model, options, next_number: 1, renewals: 0 }
    }

    /// Opens; false if the disk crashed meanwhile.
    fn open(&mut self) -> bool {
        let disk = std::sync::Arc::new(self.disk.clone());
        match Journal::open(disk, dir(), self.options) {
            Ok((journal, _)) => {
                if self.disk.crashed() {
                    return false;
                }
                let set_aside = journal.stats().quarantined_ranges;
                self.check(&journal);
                if self.disk.crashed() {
                    return false;
                }
                let after = journal.stats().quarantined_ranges;
                assert_eq!(after, set_aside, "a reader found damage that recovery did not");
                for name in CURSORS {
                    let position = journal.register(name, CursorOptions::default()).unwrap();
                    let advanced = self.model.advanced.get(name).copied().unwrap_or(0);
                    let allowed = advanced.max(journal.oldest());
                    assert!(position <= allowed, "cursor {name} at {position}, not {allowed}");
                }
                self.journal = Some(journal);
                true
            }
            Err(error) => {
                assert!(self.disk.crashed(), "cannot open: {error}");
                false
            }
        }
    }

    fn check(&mut self, journal: &Journal) {
        let mut reader = journal.reader(0);
        let mut entries = Vec::new();
        loop {
            match reader.try_next() {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => break,
                // Setting damage aside is a step like any other.
                Err(error) => return assert!(self.disk.crashed(), "cannot read: {error}"),
            }
        }
        for pair in entries.windows(2) {
            assert!(pair[0].next_position <= pair[1].position, "positions overlap");
            assert!(pair[0].sequence < pair[1].sequence, "sequences do not grow");
        }
        let found: BTreeMap<Position, u64> =
            entries.iter().map(|entry| (entry.position, number(entry))).collect();
        for entry in &entries {
            let number = number(entry);
            let len = self.model.lengths.get(&number).copied();
            assert_eq!(Some(entry.body.len()), len, "record {number} is not what was sent");
            assert_eq!(entry.body, record(number, entry.body.len()).body);
            assert_eq!(&*entry.tenant, record(number, 8).tenant);
            if self.model.durable.get(&entry.position) == Some(&number) {
                continue;
            }
            let unanswered = self.model.unanswered.remove(&number);
            assert!(unanswered.is_some(), "record {number} at {} twice", entry.position);
            self.model.durable.insert(entry.position, number);
        }
        let passed = CURSORS.map(|name| self.model.advanced.get(name).copied().unwrap_or(0));
        let deletable = passed[0].min(passed[1]);
        for (&position, number) in self.model.durable.range(deletable..) {
            let is_there = found.get(&position) == Some(number);
            let may_be_gone = self.model.erasable.contains(&position);
            assert!(is_there || may_be_gone, "acknowledged record {number} at {position} is lost");
        }
        let back = self.model.erased.iter().find(|position| found.contains_key(position));
        assert_eq!(back, None, "a record is back that was erased");
    }

    fn append(&mut self, journal: &Journal, numbers: &[u64]) {
        let lengths = numbers.iter().map(|number| self.model.lengths[number]);
        let records: Vec<_> =
            numbers.iter().zip(lengths).map(|(&number, len)| record(number, len)).collect();
        for &number in numbers {
            let is_durable = self.model.durable.values().any(|&durable| durable == number);
            if !is_durable || self.model.may_forget_hashes {
                self.model.unanswered.insert(number, 0);
            }
        }
        let Ok(appended) = journal.append_many(&records) else { return };
        for (&number, appended) in numbers.iter().zip(appended) {
            let before = self.model.durable.iter().rfind(|(_, durable)| **durable == number);
            if appended.duplicate || !self.model.may_forget_hashes {
                let expected = before.map_or(appended.position, |(position, _)| *position);
                assert_eq!(appended.position, expected, "record {number} was stored again");
            }
            self.model.unanswered.remove(&number);
            self.model.durable.insert(appended.position, number);
        }
    }

    fn new_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let len = match self.random.below(10) {
            0 => 8,
            1 => 5000 + self.random.below(4000),
            2..=4 => 600 + self.random.below(1500),
            _ => 8 + self.random.below(300),
        };
        self.model.lengths.insert(number, len as usize);
        number
    }

    fn advance(&mut self, journal: &Journal, name: &'static str, position: Position) {
        let before = journal.stats().renewals;
        journal.advance(name, position).unwrap();
        self.renewals += journal.stats().renewals - before;
        let advanced = self.model.advanced.entry(name).or_default();
        *advanced = position.max(*advanced);
    }

    /// Takes some records out, wherever they are.
    fn erase(&mut self, journal: &Journal) {
        let rest = self.random.below(5);
        let is_chosen = |number: u64| number % 5 == rest;
        let chosen = self.model.durable.iter().filter(|(_, number)| is_chosen(**number));
        let chosen: Vec<Position> = chosen.map(|(position, _)| *position).collect();
        self.model.erasable.extend(&chosen);
        // Also what was never answered, and may turn out to be there when it is sent again.
        let erasable = &mut self.model.erasable;
        let done = journal.erase(journal.end(), |entry| {
            if !is_chosen(number(entry)) {
                return Ok::<_, Error>(Edit::Keep);
            }
            erasable.insert(entry.position);
            Ok(Edit::Erase)
        });
        if done.is_ok() && !self.disk.crashed() {
            self.model.erased.extend(chosen);
        }
    }

    /// A clean close and a new start.
    fn reopen(&mut self, journal: Journal) {
        self.disk.fail_next_syncs(0);
        self.disk.set_capacity(None);
        let is_idle = journal.cursors().iter().all(|cursor| cursor.lag_bytes == 0);
        let end = journal.end();
        journal.close();
        if self.disk.crashed() || !self.open() {
            return;
        }
        assert_eq!(self.journal.as_ref().map(Journal::end), Some(end), "the end has moved");
        if !is_idle {
            return;
        }
        let entries = self.disk.list(dir()).unwrap().into_iter();
        let segments: Vec<u64> = entries
            .filter(|entry| entry.name.ends_with(".kj"))
            .map(|entry| entry.size_bytes)
            .collect();
        assert!(segments.iter().all(|&bytes| bytes == 64), "idle segments of {segments:?} bytes");
    }

    fn step(&mut self) {
        let Some(journal) = self.journal.take() else { return };
        match self.random.below(24) {
            0..8 => {
                let number = self.new_number();
                self.append(&journal, &[number]);
            }
            8..10 => {
                let count = 1 + self.random.below(6);
                let numbers: Vec<u64> = (0..count).map(|_| self.new_number()).collect();
                self.append(&journal, &numbers);
            }
            10..12 if self.next_number > 1 => {
                let number = 1 + self.random.below(self.next_number - 1);
                self.append(&journal, &[number]);
            }
            12..15 => {
                let name = CURSORS[self.random.below(2) as usize];
                let from = self.model.advanced.get(name).copied().unwrap_or(0);
                let mut reader = journal.cursor_reader(name).unwrap();
                let mut position = from;
                for _ in 0..self.random.below(12) {
                    let Ok(Some(entry)) = reader.try_next() else { break };
                    position = position.max(entry.next_position);
                }
                self.advance(&journal, name, position);
            }
            15 => self.disk.advance_clock(Duration::from_millis(700)),
            16 => self.disk.fail_next_syncs(1 + self.random.below(3) as u32),
            17 => {
                let is_limited = self.random.one_in(3);
                self.model.may_forget_hashes |= is_limited;
                self.disk.set_capacity(is_limited.then(|| 4000 + self.random.below(30_000)));
            }
            18 if !self.disk.crashed() => self.check(&journal),
            19 | 20 => {
                let end = journal.end();
                CURSORS.iter().for_each(|name| self.advance(&journal, name, end));
            }
            21 | 22 => self.erase(&journal),
            _ => return self.reopen(journal),
        }
        self.journal = Some(journal);
    }

    /// Power loss or a killed process, perhaps again during recovery, until the journal is open.
    fn recover(&mut self) {
        let can_lose_power = self.options.durability == Durability::Disk;
        loop {
            let old = self.disk.clone();
            self.disk.crash();
            drop(self.journal.take());
            let loses_power = can_lose_power && !self.random.one_in(4);
            self.disk = if loses_power { old.reboot() } else { old.restart() };
            self.disk.set_capacity(None);
            let again = self.random.one_in(3);
            if again {
                self.disk.crash_at(self.random.below(12));
            }
            if self.open() {
                self.disk.crash_at(u64::MAX);
                return;
            }
        }
    }
}

fn run(seed: u64) -> u64 {
    let mut run = Run::new(seed);
    assert!(run.open());
    for _ in 0..3 {
        let crash_in = 1 + run.random.below(150);
        run.disk.crash_at(run.disk.step() + crash_in);
        for _ in 0..60 {
            run.step();
            if run.disk.crashed() {
                break;
            }
        }
        run.recover();
    }
    let unanswered: Vec<u64> = run.model.unanswered.keys().copied().collect();
    let journal = run.journal.take().unwrap();
    run.append(&journal, &unanswered);
    run.check(&journal);
    run.renewals
}

/// Runs a seed and names it if it fails.
fn run_named(name: &str, seed: u64, test: impl Fn(u64) -> u64 + std::panic::RefUnwindSafe) -> u64 {
    match std::panic::catch_unwind(|| test(seed)) {
        Ok(count) => count,
        Err(_) => panic!("{name} fails with KYMO_TEST_SIM_SEED={seed}"),
    }
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let variable = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    match variable("KYMO_TEST_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("KYMO_TEST_SIM_SEEDS").unwrap_or(default),
    }
}

#[test]
fn what_was_acknowledged_survives_random_work_and_crashes() {
    let seeds = seeds(3000);
    let renewals: u64 = seeds.clone().map(|seed| run_named("the simulation", seed, run)).sum();
    let count = seeds.end - seeds.start;
    assert!(count < 100 || renewals > count, "{renewals} renewals with {count} seeds");
}

/// A short life: two segments, a failed sync, cursors that pass everything and so let all be deleted,
/// once when the empty segment cannot be synced, a clean close.
fn short_script(run: &mut Run, crash_at: u64) {
    run.disk.crash_at(crash_at);
    if !run.open() {
        return;
    }
    let journal = run.journal.clone().unwrap();
    for len in [100, 2000, 1500, 700] {
        run.model.lengths.insert(run.next_number, len);
        run.append(&journal, &[run.next_number]);
        run.next_number += 1;
    }
    run.disk.fail_next_syncs(1);
    let numbers: Vec<u64> = (run.next_number..run.next_number + 3).collect();
    run.next_number += 3;
    run.model.lengths.extend(numbers.iter().map(|&number| (number, 600)));
    run.append(&journal, &numbers);
    for syncs_to_fail in [0, 1, 0] {
        run.disk.fail_next_syncs(syncs_to_fail);
        let end = journal.end();
        CURSORS.iter().for_each(|name| run.advance(&journal, name, end));
        run.disk.fail_next_syncs(0);
        run.model.lengths.insert(run.next_number, 300);
        run.append(&journal, &[run.next_number]);
        run.next_number += 1;
    }
    drop(journal);
    drop(run.journal.take());
}

#[test]
fn what_was_acknowledged_survives_a_crash_at_every_step_of_a_short_life() {
    let script = |seed: u64, crash_at: u64| {
        let mut run = Run::new(seed);
        run.options.durability = Durability::Disk;
        run.options.idle_bytes = 200;
        short_script(&mut run, crash_at);
        let steps = run.disk.step();
        run.recover();
        run.recover();
        let numbers: Vec<u64> = run.model.lengths.keys().copied().collect();
        let journal = run.journal.take().unwrap();
        run.append(&journal, &numbers);
        run.check(&journal);
        steps
    };
    let steps = script(0, u64::MAX);
    assert!(steps > 60, "{steps} steps");
    for crash_at in 0..=steps {
        for seed in seeds(40) {
            run_named(&format!("a crash at step {crash_at}"), seed, move |seed| {
                script(seed, crash_at)
            });
        }
    }
}
