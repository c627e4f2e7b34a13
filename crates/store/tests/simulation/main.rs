//! Seeded simulation of journal and store: random work on disks and buckets that lose power, kill
//! processes, fail, run full, change bits and hold compactors up, held against a model in memory.
//!
//! After every crash and at the end: each acknowledged record is there exactly once (a span that
//! was sent in two requests once or twice), one that was not acknowledged at most once; nothing
//! panics; the next start is clean; a snapshot reads the same as long as it is held (where other
//! nodes delete: within the grace time); rows that come during a flush are visible; and a process
//! that reads beside all this, at any moment, sees each acknowledged record once. Deleted records
//! are not seen again, and others are; at the end, what is deleted is in no file of any node.
//!
//! `KYMO_TEST_SIM_SEEDS` sets the number of seeds; `KYMO_TEST_SIM_SEED` runs one and prints what it does.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod bad_days;
mod beside;
mod bucket;
mod exhaustive;
mod model;
mod pausing;
mod pausing_disk;
mod points;
mod races;
mod requests;
mod script;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs one seed; whether it went well. What it did is printed if not.
fn run_seed(seed: u64) -> bool {
    world::take_notes();
    let result = std::panic::catch_unwind(|| script::run(seed));
    let notes = world::take_notes();
    let is_asked_for = variable("KYMO_TEST_SIM_SEED").is_some();
    if result.is_err() || is_asked_for {
        let first = if is_asked_for { 0 } else { notes.len().saturating_sub(40) };
        for (number, line) in notes.iter().enumerate().skip(first) {
            eprintln!("{number:4} {line}");
        }
    }
    result.is_ok()
}

#[test]
fn what_was_acknowledged_is_there_once_after_random_work_and_crashes() {
    if let Some(seed) = variable("KYMO_TEST_SIM_SEED") {
        return assert!(run_seed(seed), "the simulation fails with KYMO_TEST_SIM_SEED={seed}");
    }
    let seeds = variable("KYMO_TEST_SIM_SEEDS").unwrap_or(3000);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    if !run_seed(seed) {
                        next.store(seeds, Ordering::Relaxed);
                        panic!("the simulation fails with KYMO_TEST_SIM_SEED={seed}");
                    }
                }
            });
        }
    });
}
