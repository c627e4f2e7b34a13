//! A short life, cut off at every single step: write, sync, rename, put, delete.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use kymo_journal::sim::SimDisk;
use kymo_store::Signal;
use kymo_store::compact::Effort;
use kymo_store::objects::{LocalObjects, Objects};

use crate::model::TENANTS;
use crate::world::{GRACE, Setup, World, note, take_notes};

/// How a life ends, and what comes after.
#[derive(Debug, Clone, Copy)]
enum End {
    PowerLoss,
    Kill,
    /// The power is lost when the next life has just begun to build on what it found.
    KillThenPowerLoss,
    /// The power is lost when the next life has flushed and looked for garbage.
    KillThenWorkThenPowerLoss,
}

const ENDS: [End; 4] =
    [End::PowerLoss, End::Kill, End::KillThenPowerLoss, End::KillThenWorkThenPowerLoss];

/// Two flushes, a compaction, garbage; until it is cut off.
fn live(world: &mut World) {
    let is_up = |world: &World| !world.nodes[0].disk.crashed();
    for _ in 0..2 {
        for place in [(TENANTS[0], Signal::Spans), (TENANTS[1], Signal::Logs)] {
            if !is_up(world) {
                return;
            }
            // Enough for several segments of the journal, so that flushes let some go.
            world.append(0, place, 40);
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
        if matches!(end, End::KillThenWorkThenPowerLoss) {
            world.bucket.advance(GRACE * 2);
            world.store(0).flush().expect("a flush");
            world.store(0).collect_garbage().expect("a garbage collection");
        }
        if matches!(end, End::KillThenPowerLoss | End::KillThenWorkThenPowerLoss) {
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

/// A process that was killed between a rename and the sync of the directory leaves what can be
/// read and can still vanish: nobody must build on it.
#[test]
fn what_is_found_after_a_kill_survives_the_next_power_loss() {
    let path = Path::new("/data/blocks");
    let open = |disk: &SimDisk| LocalObjects::open(path, Arc::new(disk.clone())).unwrap();
    let body = |bytes: &'static [u8]| Bytes::from_static(bytes);
    let contents = |objects: &LocalObjects| {
        let infos = objects.list("").unwrap();
        infos.into_iter().map(|info| objects.get(&info.path).unwrap()).collect::<Vec<_>>()
    };
    for seed in 0..20 {
        for step in 0..12 {
            let disk = SimDisk::new(seed);
            let objects = open(&disk);
            objects.put("nodes/a", body(b"one")).unwrap();
            objects.put_new("t/spans/log/1", body(b"one")).unwrap();
            disk.crash_at(disk.step() + step);
            let _ = objects.put("nodes/a", body(b"two"));
            let _ = objects.put_new("t/spans/log/2", body(b"two"));
            let disk = disk.restart();
            let found = contents(&open(&disk));
            assert_eq!(contents(&open(&disk.reboot())), found, "seed {seed}, step {step}");
        }
    }
}
