//! Days on which the disk is full, locked, read-only or damaged, or a newer program was here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use kymo_store::check::{Finding, check};
use kymo_store::commit::log::Log;
use kymo_store::commit::node::NodeObject;
use kymo_store::commit::state::Delta;
use kymo_store::compact::Effort;
use kymo_store::objects::Objects;
use kymo_store::{Signal, StoreError};
use prost::Message;

use crate::model::TENANTS;
use crate::world::{Setup, World};

const PLACE: (&str, Signal) = (TENANTS[0], Signal::Spans);
const LOG: &str = "default/spans/log";

fn one_node(seed: u64) -> World {
    let mut world = World::new(seed, Setup::Disk);
    assert!(world.open(0));
    world
}

/// A node with a number of generations in its log.
fn with_generations(seed: u64, count: usize) -> World {
    let mut world = one_node(seed);
    for _ in 0..count {
        assert!(world.append(0, PLACE, 2));
        world.store(0).flush().unwrap();
        world.store(0).compact(Effort::Tiered).unwrap();
    }
    world
}

fn reopened_error(world: &mut World) -> StoreError {
    world.nodes[0].store = None;
    match world.try_open(0) {
        Ok(()) => world.store(0).snapshot(PLACE.0, PLACE.1).expect_err("it cannot be read"),
        Err(error) => error,
    }
}

fn paths(world: &World, prefix: &str) -> Vec<String> {
    let objects = world.store(0).objects().clone();
    objects.list(prefix).unwrap().into_iter().map(|info| info.path).collect()
}

/// A message as the commit protocol stores it.
fn sealed(message: &impl Message) -> Bytes {
    let payload = message.encode_to_vec();
    [&b"KYMO"[..], &crc32c::crc32c(&payload).to_le_bytes(), &payload].concat().into()
}

#[test]
fn a_full_disk_refuses_requests_and_still_answers() {
    let mut world = one_node(1);
    for _ in 0..3 {
        assert!(world.append(0, PLACE, 20));
        world.check();
    }
    world.store(0).flush().unwrap();
    // Not even the journal's next segment fits, let alone a block.
    world.nodes[0].disk.set_capacity(Some(0));
    let mut refused = 0;
    for _ in 0..200 {
        refused += u32::from(!world.append(0, PLACE, 20));
        if refused == 3 {
            break;
        }
        world.check();
    }
    assert_eq!(refused, 3);
    world.store(0).flush().unwrap_err();
    world.store(0).compact(Effort::Everything).unwrap_err();
    world.check();
    world.calm();
    assert!(world.append(0, PLACE, 20));
    world.finish();
}

#[test]
fn a_read_only_directory_is_refused_with_the_reason_and_left_as_it_is() {
    let mut world = with_generations(2, 3);
    world.nodes[0].store = None;
    world.nodes[0].disk.set_read_only(true);
    let error = world.try_open(0).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    world.nodes[0].disk.set_read_only(false);
    assert!(world.open(0));
    world.finish();
}

#[test]
fn a_directory_in_use_is_refused_with_the_reason() {
    let mut world = one_node(3);
    let first = world.store(0);
    let error = world.try_open(0).unwrap_err().to_string();
    assert!(error.contains("in use by another process"), "{error}");
    drop(first);
    assert!(world.open(0));
    world.finish();
}

#[test]
fn what_a_newer_program_wrote_is_refused_with_the_reason() {
    let mut world = with_generations(4, 1);
    let objects = world.store(0).objects().clone();
    let node = NodeObject::get(&*objects, "node-0").unwrap().unwrap();
    NodeObject { version: 9, least_reader: 9, ..node.clone() }.put(&*objects).unwrap();
    let error = reopened_error(&mut world).to_string();
    assert!(error.contains("nodes/node-0 was written by a newer version"), "{error}");
    node.put(&*objects).unwrap();

    let generation = paths(reopened(&mut world), LOG).len() as u64;
    let path = format!("{LOG}/{:020}", generation + 1);
    let delta = Delta { version: 9, least_reader: 9, token: "x".into(), ..Delta::default() };
    objects.put(&path, sealed(&delta)).unwrap();
    let error = reopened_error(&mut world).to_string();
    assert!(error.contains("was written by a newer version"), "{error}");
    // A node that must not read the log must not write it either.
    world.store(0).compact(Effort::Everything).unwrap_err();
    let report = check(&objects, |_, _| ()).unwrap();
    let unreadable = |finding: &Finding| matches!(finding, Finding::Unreadable { .. });
    assert!(report.findings.iter().any(unreadable), "{report:?}");
    objects.delete(&path).unwrap();
    world.finish();
}

fn reopened(world: &mut World) -> &World {
    assert!(world.open(0));
    world
}

#[test]
fn a_damaged_block_is_left_out_and_counted_and_the_rest_answers() {
    for reopens in [false, true] {
        let mut world = one_node(5);
        for _ in 0..3 {
            assert!(world.append(0, PLACE, 5));
            world.store(0).flush().unwrap();
        }
        let snapshot = world.store(0).snapshot(PLACE.0, PLACE.1).unwrap();
        let block = snapshot.blocks().next().unwrap().clone();
        let damaged = block.path(PLACE.0, PLACE.1);
        let of_block = world.records_in(0, PLACE, &[block]);
        of_block.iter().for_each(|id| world.model.may_be_lost(*id));
        let mut ids = world.model.records.keys();
        let other = *ids.find(|id| !of_block.contains(*id)).unwrap();
        drop(snapshot);
        world.flip_bit(0, &damaged, 4 + 30, 3);
        if reopens {
            assert!(world.open(0));
        }
        let shown = world.shown(0, PLACE);
        assert!(shown.len() >= 10 && shown.keys().any(|(id, _)| *id == other));
        if reopens {
            assert_eq!(world.store(0).counters().blocks_damaged.load(Ordering::Relaxed), 1);
        }
        world.store(0).compact(Effort::Everything).unwrap();
        world.check();
        world.finish();
    }
}

/// Of a block that is open already only what is read anew is checked: each bit of its pages.
#[test]
fn no_changed_bit_of_an_open_block_changes_a_row() {
    for seed in 0..2 {
        let mut world = one_node(seed);
        assert!(world.append(0, PLACE, 30));
        world.store(0).flush().unwrap();
        let path = paths(&world, "default/spans")[0].clone();
        let size_bytes = world.store(0).objects().get(&path).unwrap().len() as u64;
        let whole = world.shown(0, PLACE);
        for offset in 0..size_bytes {
            for bit in 0..8 {
                world.flip_bit(0, &path, offset, bit);
                let shown = world.shown(0, PLACE);
                assert!(shown == whole || shown.is_empty(), "bit {bit} of byte {offset}");
                world.flip_bit(0, &path, offset, bit);
            }
        }
        world.flipped.clear();
        world.finish();
    }
}

#[test]
fn a_block_cut_short_or_gone_does_not_stop_compaction() {
    for cut in [Some(100), Some(0), None] {
        let mut world = one_node(6);
        for _ in 0..4 {
            assert!(world.append(0, PLACE, 5));
            world.store(0).flush().unwrap();
        }
        let path = paths(&world, "default/spans")[1].clone();
        let objects = world.store(0).objects().clone();
        match cut {
            Some(bytes) => {
                let whole = objects.get(&path).unwrap();
                objects.put(&path, whole.slice(..bytes)).unwrap();
            }
            None => objects.delete(&path).unwrap(),
        }
        assert!(world.open(0));
        let done = world.store(0).compact(Effort::Everything).unwrap();
        assert_eq!(done.inputs, 3, "the others are joined");
        let report = check(world.store(0).objects(), |_, _| ()).unwrap();
        assert_eq!((report.rows, report.findings.len()), (15, 1), "{report:?}");
    }
}

#[test]
fn a_log_without_its_newest_checkpoint_is_read_from_the_one_before() {
    let mut world = with_generations(7, 70);
    let path = paths(&world, LOG).into_iter().rfind(|path| path.ends_with(".checkpoint")).unwrap();
    let objects = world.store(0).objects().clone();
    objects.put(&path, Bytes::from_static(b"noise")).unwrap();
    world.check();
    assert!(world.open(0));
    world.check();
    objects.delete(&path).unwrap();
    assert!(world.open(0));
    world.check();
}

#[test]
fn a_log_with_a_gap_is_refused_and_reported() {
    let mut world = with_generations(8, 5);
    let objects: Arc<dyn Objects> = world.store(0).objects().clone();
    objects.delete(&paths(&world, LOG)[1]).unwrap();
    let error = reopened_error(&mut world).to_string();
    assert!(error.contains("generations are missing"), "{error}");
    let log = Log { objects: &*objects, tenant: PLACE.0, signal: PLACE.1 };
    assert!(log.read().is_err());
    let report = check(&objects, |_, _| ()).unwrap();
    assert!(report.findings.iter().any(Finding::is_serious), "{report:?}");
    assert!(Path::new(&world.store(0).objects().describe()).is_absolute());
}
