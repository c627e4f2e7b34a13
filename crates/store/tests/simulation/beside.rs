//! What happens beside something else that is held up: rows that come while a flush is under way,
//! and another process that reads while the owner flushes, compacts and deletes.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_journal::Disk;
use kymo_store::compact::Effort;
use kymo_store::objects::{LocalObjects, Objects};
use kymo_store::{Signal, Store, StoreError};

use crate::bucket::{Access, Action, Rule};
use crate::model::TENANTS;
use crate::pausing_disk::PausingDisk;
use crate::requests::{self, Found};
use crate::world::{BLOCKS, JOURNAL, Setup, World, note, places};

const PLACE: (&str, Signal) = (TENANTS[0], Signal::Spans);

/// Chooses the call of that number among those of a kind; of any, for the empty kind.
pub fn nth(kind: &'static str, mut number: u64) -> impl FnMut(&str, &str) -> bool + Send {
    move |called, _| {
        let chosen = kind.is_empty() || called == kind;
        let is_it = chosen && number == 0;
        number = number.saturating_sub(u64::from(chosen));
        is_it
    }
}

/// Wakes somebody at a call.
pub fn pause(
    choice: impl FnMut(&str, &str) -> bool + Send + 'static,
    wake: impl FnOnce() + Send + 'static,
) -> Option<Rule> {
    Some((Box::new(choice), Action::Pause(Box::new(wake))))
}

impl World {
    /// Flushes a node; at some write, `requests` come, are applied, and all is read.
    pub fn flush_beside(&mut self, node: usize, requests: &[usize], write: u64, only_due: bool) {
        let now = self.bucket.now_nanos();
        let mut sent = Vec::new();
        for &request in requests {
            self.model.sending(request, now);
            let of = &self.model.requests[request];
            sent.push((request, of.place, of.body.clone()));
        }
        // What was acknowledged, and what was seen then.
        let outcome = Arc::new(Mutex::new((Vec::new(), Vec::new())));
        let (store, during) = (self.store(node), outcome.clone());
        let wake = move || {
            let mut during = during.lock().unwrap();
            for (request, place, body) in sent {
                let record = requests::record(place.1, place.0, body, now);
                if let Ok(appended) = store.journal().append(record) {
                    during.0.push((request, appended.duplicate));
                }
            }
            let _ = store.apply();
            for place in places() {
                during.1.push((place, look(&store, place)));
            }
        };
        self.set_rule(node, pause(nth("put", write), wake));
        let store = self.store(node);
        let flushed = match only_due {
            true => store.apply().and_then(|_| store.flush_due()),
            false => store.flush(),
        };
        self.set_rule(node, None);
        let (acknowledged, seen) = std::mem::take(&mut *outcome.lock().unwrap());
        note(format!("flush on {node} beside {acknowledged:?}: {flushed:?}"));
        for (request, is_duplicate) in acknowledged {
            self.model.acknowledged(request, is_duplicate, now);
        }
        for (place, found) in seen {
            // Errors are part of the game.
            if let Ok(found) = found {
                self.model.check(node, place, &found);
            }
        }
    }

    /// Opens a node's store for reading, as another process would. It is held up at a call to the
    /// bucket or to the disk.
    pub fn open_beside(
        &mut self,
        node: usize,
        moment: Option<(Moment, Box<dyn FnOnce() + Send>)>,
    ) -> Result<Store, StoreError> {
        let options = self.options(node);
        let inner = &self.nodes[node].disk;
        let (on_disk, in_bucket) = match moment {
            Some((Moment::Disk(call), wake)) => (Some((call, wake)), None),
            Some((Moment::Bucket(call), wake)) => (None, pause(nth("", call), wake)),
            None => (None, None),
        };
        let disk: Arc<dyn Disk> = Arc::new(PausingDisk::new(inner, on_disk));
        let objects: Arc<dyn Objects> = match self.setup {
            Setup::Disk => Arc::new(LocalObjects::open_read_only(Path::new(BLOCKS), disk.clone())),
            Setup::Bucket(_) => {
                let objects = Access::new(&self.bucket, inner, self.random.next_u64());
                objects.set_rule(in_bucket);
                Arc::new(objects)
            }
        };
        Store::read_only(disk, Path::new(JOURNAL), objects, options)
    }

    /// Reads everything beside a node. At some moment its owner flushes, or does all it can.
    pub fn read_beside(&mut self, node: usize, moment: Option<Moment>, only_flushes: bool) {
        let (owner, bucket, grace) = (self.store(node), self.bucket.clone(), self.grace);
        let wake = move || match only_flushes {
            true => owner.flush().expect("a flush"),
            false => work(&owner, || bucket.advance(grace + Duration::from_secs(1))),
        };
        let moment = moment.map(|moment| (moment, Box::new(wake) as Box<dyn FnOnce() + Send>));
        let other = self.open_beside(node, moment).expect("a store to read");
        for place in places() {
            let found = look(&other, place).expect("the rows of a store that is read");
            self.model.check(node, place, &found);
        }
    }
}

/// When a reader is held up: at that call of its.
#[derive(Debug, Clone, Copy)]
pub enum Moment {
    /// To the bucket.
    Bucket(u64),
    /// That opens a file or lists a directory.
    Disk(u64),
}

/// All that an owner does that could be in a reader's way.
fn work(owner: &Store, pass_grace: impl Fn()) {
    owner.flush().expect("a flush");
    owner.compact(Effort::Everything).expect("a compaction");
    pass_grace();
    owner.collect_garbage().expect("a garbage collection");
}

/// The rows of a place; begins again if a block is gone, as every reader does.
fn look(store: &Store, place: (&str, Signal)) -> Result<Found, StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let snapshot = store.snapshot(place.0, place.1)?;
        match requests::found(store, &snapshot) {
            Err(error) if error.is_block_missing() && tries < 3 => {}
            other => return other,
        }
    }
}

fn one_node(seed: u64) -> World {
    let mut world = World::new(seed, Setup::Disk);
    assert!(world.open(0));
    world
}

#[test]
fn rows_that_come_during_a_flush_are_visible_and_flushed_by_the_next() {
    for write in 0..2 {
        let mut world = one_node(1);
        assert!(world.append(0, PLACE, 20));
        let records = world.new_records(30, 1);
        let request = world.request(0, PLACE, records);
        world.flush_beside(0, &[request], write, false);
        let in_memory = |world: &World| {
            let snapshot = world.store(0).snapshot(PLACE.0, PLACE.1).unwrap();
            snapshot.chunks().map(|chunk| chunk.rows).sum::<usize>()
        };
        assert_eq!(in_memory(&world), 30);
        world.check();
        world.flush_all();
        assert_eq!(in_memory(&world), 0);
        world.finish();
    }
}

#[test]
fn a_reader_beside_an_owner_that_works_at_any_moment_sees_each_row_once() {
    for setup in [Setup::Disk, Setup::Bucket(1), Setup::Bucket(2)] {
        for call in 0..40 {
            let mut world = World::new(call, setup);
            for node in 0..world.nodes.len() {
                assert!(world.open(node));
            }
            let moments = [Moment::Bucket(call), Moment::Disk(call)];
            for (moment, only_flushes) in moments.into_iter().flat_map(|m| [(m, false), (m, true)])
            {
                // More than a segment, so that the journal lets some go when it is flushed.
                for round in 0..4 {
                    for place in places() {
                        assert!(world.append(0, place, 30));
                    }
                    if round < 2 {
                        world.store(0).flush().unwrap();
                    }
                }
                world.read_beside(0, Some(moment), only_flushes);
                world.read_beside(0, None, false);
            }
            world.finish();
        }
    }
}

/// A store that stays open for reading while its owner goes on is right again with the next
/// snapshot, whatever it had in memory.
#[test]
fn a_reader_that_stays_open_sees_each_row_once_while_its_owner_goes_on() {
    for setup in [Setup::Disk, Setup::Bucket(1)] {
        let mut world = World::new(3, setup);
        assert!(world.open(0) && world.append(0, PLACE, 20));
        let other = world.open_beside(0, None).unwrap();
        for round in 0..6 {
            let found = look(&other, PLACE).unwrap();
            world.model.check(0, PLACE, &found);
            if round % 2 == 0 {
                let (bucket, grace) = (world.bucket.clone(), world.grace);
                work(&world.store(0), || bucket.advance(grace * 2));
            } else {
                world.store(0).flush().unwrap();
            }
        }
        world.finish();
    }
}
