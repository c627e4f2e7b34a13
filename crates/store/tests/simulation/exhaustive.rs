//! A short life, cut off at every single step: write, sync, rename, put, delete.

use kymo_store::Signal;
use kymo_store::compact::Effort;

use crate::model::TENANTS;
use crate::world::{GRACE, Setup, World, note, take_notes};

/// How a life ends, and what comes after.
#[derive(Debug, Clone, Copy)]
enum End {
    PowerLoss,
    Kill,
    /// The power is lost when the next life has just begun to build on what it found.
    KillThenPowerLoss,
}

const ENDS: [End; 3] = [End::PowerLoss, End::Kill, End::KillThenPowerLoss];

/// Two flushes, a compaction, garbage; until it is cut off.
fn live(world: &mut World) {
    let is_up = |world: &World| !world.nodes[0].disk.crashed();
    for _ in 0..2 {
        for place in [(TENANTS[0], Signal::Spans), (TENANTS[1], Signal::Logs)] {
            if !is_up(world) {
                return;
            }
            world.append(0, place, 5);
        }
        let _ = world.store(0).flush();
    }
    let _ = world.store(0).compact(Effort::Everything);
    world.bucket.advance(GRACE * 2);
    let _ = world.store(0).collect_garbage();
}

/// Lives and dies at a step of the disk or at a change of the bucket; gives their numbers.
fn run(setup: Setup, seed: u64, steps: u64, changes: u64, end: End) -> (u64, u64) {
    note(format!("{setup:?}, seed {seed}, step {steps}, change {changes}, {end:?}"));
    let mut world = World::new(seed, setup);
    world.nodes[0].disk.crash_at(steps);
    if world.open(0) {
        if let Some(access) = &world.nodes[0].access {
            access.die_in(Some(changes));
        }
        live(&mut world);
    }
    let node = &world.nodes[0];
    let taken = (node.disk.step(), node.access.as_ref().map_or(0, |access| access.changes()));
    if node.disk.crashed() {
        world.recover(0, matches!(end, End::PowerLoss));
        if matches!(end, End::KillThenPowerLoss) {
            world.bucket.advance(GRACE * 2);
            let _ = world.store(0).flush();
            let _ = world.store(0).collect_garbage();
            world.recover(0, true);
        }
    }
    world.finish();
    take_notes();
    taken
}

#[test]
fn a_crash_at_any_step_of_a_short_life_on_disk_loses_nothing() {
    let (steps, _) = run(Setup::Disk, 1, u64::MAX, u64::MAX, End::Kill);
    assert!(steps > 80, "{steps} steps");
    for step in 0..steps {
        for end in ENDS {
            run(Setup::Disk, step * 7 + end as u64, step, u64::MAX, end);
        }
    }
}

#[test]
fn a_crash_at_any_step_of_a_short_life_with_a_bucket_loses_nothing() {
    let (steps, changes) = run(Setup::Bucket(1), 1, u64::MAX, u64::MAX, End::Kill);
    assert!(steps > 20 && changes > 10, "{steps} steps and {changes} changes");
    for step in 0..steps {
        for end in ENDS {
            run(Setup::Bucket(1), step * 7 + end as u64, step, u64::MAX, end);
        }
    }
    for change in 0..changes {
        for seed in 0..4 {
            run(Setup::Bucket(1), seed, u64::MAX, change, End::PowerLoss);
        }
    }
}
