//! Nodes in each other's way, held up where it hurts most; and answers that are lost.

use std::sync::{Arc, Mutex};

use kymo_store::compact::Effort;
use kymo_store::{Signal, Store};

use crate::bucket::{Action, SimBucket};
use crate::model::TENANTS;
use crate::requests;
use crate::world::{GRACE, Setup, World};

const PLACE: (&str, Signal) = (TENANTS[0], Signal::Spans);

fn cluster(seed: u64) -> World {
    let mut world = World::new(seed, Setup::Bucket(2));
    assert!(world.open(0) && world.open(1));
    world
}

/// A cluster in which node 0 has flushed some blocks.
fn with_blocks(seed: u64, blocks: usize) -> World {
    let mut world = cluster(seed);
    for _ in 0..blocks {
        assert!(world.append(0, PLACE, 5));
        world.store(0).flush().unwrap();
    }
    world.model.flushed();
    world
}

/// Does `action` at node 0's next call of that kind to a path with `part` in it.
fn at(world: &World, kind: &'static str, part: &'static str, action: Action) {
    let choice = move |called: &str, path: &str| called == kind && path.contains(part);
    let access = world.nodes[0].access.as_ref().unwrap();
    access.set_rule(Some((Box::new(choice), action)));
}

fn is_done(world: &World) -> bool {
    !world.nodes[0].access.as_ref().unwrap().has_rule()
}

fn pause(wake: impl FnOnce() + Send + 'static) -> Action {
    Action::Pause(Box::new(wake))
}

/// Past the grace time, twice, with a look at the garbage each time.
fn collect_later(bucket: &SimBucket, store: &Store) {
    for _ in 0..2 {
        bucket.advance(GRACE * 2);
        store.collect_garbage().unwrap();
    }
}

#[test]
fn a_span_that_two_nodes_were_sent_is_there_once_after_compaction() {
    let mut world = with_blocks(13, 1);
    let records = world.model.requests[0].records.clone();
    let request = world.request(1, PLACE, records.clone());
    assert!(world.send(request));
    world.flush_all();
    assert!(world.shown(0, PLACE).values().all(|count| *count == 2));
    world.store(1).compact(Effort::Everything).unwrap();
    let shown = world.shown(0, PLACE);
    assert!(shown.len() == records.len() && shown.values().all(|count| *count == 1), "{shown:?}");
    world.finish();
}

#[test]
fn of_two_compactors_with_one_generation_one_does_its_work_again() {
    let mut world = with_blocks(1, 3);
    let other = world.store(1);
    let wake = move || {
        other.compact(Effort::Everything).unwrap();
    };
    at(&world, "put_new", "/log/", pause(wake));
    let done = world.store(0).compact_log(PLACE.0, PLACE.1, Effort::Everything).unwrap();
    assert!(is_done(&world) && done.lost == 1, "{done:?}");
    world.check();
    world.finish();
}

#[test]
fn a_compactor_that_sleeps_until_its_generation_is_collected_has_lost() {
    let mut world = with_blocks(2, 3);
    let (other, bucket) = (world.store(1), world.bucket.clone());
    let later: Vec<usize> = (0..70)
        .map(|_| {
            let records = world.new_records(1, 1);
            world.request(1, PLACE, records)
        })
        .collect();
    let bodies: Vec<_> = later.iter().map(|at| world.model.requests[*at].body.clone()).collect();
    let now = world.bucket.now_nanos();
    let wake = move || {
        for body in bodies {
            let record = requests::record(PLACE.1, PLACE.0, body, now);
            other.journal().append(record).unwrap();
            other.flush().unwrap();
            other.compact(Effort::Everything).unwrap();
        }
        collect_later(&bucket, &other);
    };
    at(&world, "put_new", "/log/", pause(wake));
    let done = world.store(0).compact_log(PLACE.0, PLACE.1, Effort::Everything).unwrap();
    for request in later {
        world.model.sending(request, now);
        world.model.acknowledged(request, false, now);
    }
    assert!(is_done(&world) && done.lost == 1, "{done:?}");
    world.check();
    world.finish();
}

#[test]
fn blocks_of_a_compactor_that_sleeps_past_the_grace_time_are_not_committed_without_their_files() {
    for call in ["put", "put_new"] {
        let mut world = with_blocks(3, 3);
        let (other, bucket) = (world.store(1), world.bucket.clone());
        let part = if call == "put" { "/spans/" } else { "/log/" };
        at(&world, call, part, pause(move || collect_later(&bucket, &other)));
        world.store(0).compact(Effort::Everything).unwrap();
        assert!(is_done(&world));
        world.check();
        world.finish();
    }
}

#[test]
fn blocks_of_a_flush_that_sleeps_past_the_grace_time_stay() {
    let mut world = with_blocks(4, 1);
    assert!(world.append(0, PLACE, 5));
    let (other, bucket) = (world.store(1), world.bucket.clone());
    at(&world, "put", "nodes/", pause(move || collect_later(&bucket, &other)));
    world.store(0).flush().unwrap();
    assert!(is_done(&world));
    world.check();
    world.finish();
}

#[test]
fn a_block_that_is_written_again_after_a_crash_is_not_taken_for_the_old_one() {
    let mut world = with_blocks(5, 1);
    assert!(world.append(0, PLACE, 5));
    at(&world, "put", "nodes/", Action::FailBefore);
    world.store(0).flush().unwrap_err();
    world.recover(0, true);
    world.bucket.advance(GRACE * 2);
    // Node 1 has looked for orphans, and is about to delete one, when node 0 flushes again.
    let again = world.store(0);
    let choice = |kind: &str, path: &str| kind == "delete" && path.ends_with(".parquet");
    let wake = pause(move || again.flush().unwrap());
    world.nodes[1].access.as_ref().unwrap().set_rule(Some((Box::new(choice), wake)));
    world.store(1).collect_garbage().unwrap();
    world.calm();
    world.check();
    world.finish();
}

/// The ways in which the answer to the write of a node object is lost.
const LOST_ANSWERS: [fn() -> Action; 2] = [|| Action::FailBefore, || Action::FailAfter];

fn with_lost_answer(seed: u64, action: Action) -> World {
    let mut world = with_blocks(seed, 1);
    assert!(world.append(0, PLACE, 5));
    at(&world, "put", "nodes/", action);
    world.store(0).flush().unwrap_err();
    world.check();
    world
}

#[test]
fn a_flush_whose_answer_is_lost_is_repeated() {
    for action in LOST_ANSWERS {
        let mut world = with_lost_answer(6, action());
        assert!(world.append(0, PLACE, 5));
        world.store(0).flush().unwrap();
        world.check();
        world.finish();
    }
}

#[test]
fn a_crash_after_a_flush_whose_answer_is_lost_loses_and_doubles_nothing() {
    for action in LOST_ANSWERS {
        let mut world = with_lost_answer(7, action());
        world.recover(0, true);
        world.check();
        world.finish();
    }
}

#[test]
fn a_flush_whose_answer_is_lost_may_be_taken_over_meanwhile() {
    for action in LOST_ANSWERS {
        for retries_first in [false, true] {
            let mut world = with_lost_answer(8, action());
            world.store(1).compact(Effort::Everything).unwrap();
            world.check();
            collect_later(&world.bucket, &world.store(1));
            if !retries_first {
                world.check();
            }
            assert!(world.append(0, PLACE, 5));
            world.store(0).flush().unwrap();
            world.check();
            world.finish();
        }
    }
}

#[test]
fn a_snapshot_during_which_its_rows_are_flushed_and_taken_over_shows_them_once() {
    for part in ["nodes", "/log"] {
        let mut world = with_blocks(9, 1);
        assert!(world.append(0, PLACE, 5));
        let (own, other) = (world.store(0), world.store(1));
        let wake = move || {
            own.flush().unwrap();
            other.compact(Effort::Everything).unwrap();
        };
        at(&world, "list", part, pause(wake));
        world.check();
        assert!(is_done(&world));
        world.finish();
    }
}

#[test]
fn the_grace_time_begins_when_a_compaction_commits() {
    let mut world = with_blocks(10, 3);
    let (other, bucket) = (world.store(1), world.bucket.clone());
    let held = Arc::new(Mutex::new(None));
    let hold = held.clone();
    let wake = move || {
        bucket.advance(GRACE * 2);
        *hold.lock().unwrap() = Some(other.snapshot(PLACE.0, PLACE.1).unwrap());
    };
    at(&world, "put", "/spans/", pause(wake));
    world.store(0).compact(Effort::Everything).unwrap();
    world.store(1).collect_garbage().unwrap();
    let snapshot = held.lock().unwrap().take().expect("a snapshot from before the commit");
    let found = requests::found(&world.store(1), &snapshot).expect("its files");
    world.model.check(1, PLACE, &found);
    world.finish();
}

#[test]
fn a_node_object_does_not_grow_because_others_compact() {
    let mut world = with_blocks(11, 1);
    let size = |world: &World| world.store(0).objects().get("nodes/node-0").unwrap().len();
    let before = size(&world);
    for _ in 0..20 {
        assert!(world.append(0, PLACE, 3));
        world.store(0).flush().unwrap();
        world.store(1).compact(Effort::Everything).unwrap();
        world.check();
    }
    assert!(size(&world) < 4 * before, "{} bytes, then {}", before, size(&world));
    world.finish();
}

#[test]
fn a_flush_that_fails_at_any_put_succeeds_later() {
    for action in LOST_ANSWERS {
        for nth in 0..6 {
            let mut world = cluster(12);
            for tenant in TENANTS {
                let records = world.new_records(20, 3);
                let request = world.request(0, (tenant, Signal::Logs), records);
                assert!(world.send(request));
            }
            let mut left = nth;
            let choice = move |kind: &str, _: &str| {
                left -= i32::from(kind == "put");
                left < 0 && kind == "put"
            };
            let access = world.nodes[0].access.clone().unwrap();
            access.set_rule(Some((Box::new(choice), action())));
            world.store(0).flush().unwrap_err();
            world.check();
            // It is due again by itself, whatever has failed.
            world.bucket.advance(GRACE);
            world.store(0).flush_due().unwrap();
            for tenant in TENANTS {
                let snapshot = world.store(0).snapshot(tenant, Signal::Logs).unwrap();
                assert!(snapshot.chunks().next().is_none(), "put {nth}: rows are still in memory");
            }
            world.check();
            world.finish();
        }
    }
}
