//! A random life: what programs, clients, clocks, disks and networks do, one thing after another.

use std::sync::Arc;
use std::time::Duration;

use kymo_journal::sim::Random;
use kymo_store::block::meta::BlockMeta;
use kymo_store::block::source::Source;
use kymo_store::commit::log::Log;
use kymo_store::compact::Effort;
use kymo_store::garbage::Retention;
use kymo_store::snapshot::Snapshot;
use kymo_store::{Signal, Store, StoreError};

use crate::beside::Moment;
use crate::bucket::{Action, Weather};
use crate::model::{SIGNALS, TENANTS};
use crate::requests::{self, Found};
use crate::world::{GRACE, Setup, World, note};

/// Something that is read again later.
enum Pinned {
    Snapshot(Snapshot),
    /// Sources whose snapshot is gone.
    Sources(Signal, Vec<Source>),
}

/// What is held, and what it showed.
struct Held {
    node: usize,
    life: u64,
    pinned: Pinned,
    found: Found,
    taken_nanos: i64,
}

/// What a step can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Send,
    SendAgain,
    ResendSpans,
    SendBroken,
    Apply,
    Ingest,
    Flush,
    FlushBeside,
    ReadBeside,
    FlushDue,
    CompactTiered,
    CompactAll,
    Pause,
    Retain,
    Delete,
    Pursue,
    Collect,
    Hold,
    ReadHeld,
    PassTime,
    ChangeWeather,
    Flip,
    Reopen,
    Check,
}

/// Each act and how often it comes.
const ACTS: [(Act, usize); 24] = [
    (Act::Send, 30),
    (Act::SendAgain, 4),
    (Act::ResendSpans, 3),
    (Act::SendBroken, 1),
    (Act::Apply, 4),
    (Act::Ingest, 4),
    (Act::Flush, 8),
    (Act::FlushBeside, 5),
    (Act::ReadBeside, 2),
    (Act::FlushDue, 3),
    (Act::CompactTiered, 6),
    (Act::CompactAll, 6),
    (Act::Pause, 6),
    (Act::Retain, 3),
    (Act::Delete, 3),
    (Act::Pursue, 4),
    (Act::Collect, 6),
    (Act::Hold, 3),
    (Act::ReadHeld, 3),
    (Act::PassTime, 7),
    (Act::ChangeWeather, 6),
    (Act::Flip, 1),
    (Act::Reopen, 2),
    (Act::Check, 2),
];

/// A random run.
pub struct Script {
    world: World,
    held: Vec<Held>,
    /// What can come next, each as often as it is here.
    acts: Vec<Act>,
    /// The weather of each node.
    weather: Vec<Weather>,
}

/// Runs one seed.
pub fn run(seed: u64) {
    let mut random = Random::new(seed);
    let setup = match random.below(10) {
        0..4 => Setup::Disk,
        4..6 => Setup::Bucket(1),
        6..9 => Setup::Bucket(2),
        _ => Setup::Bucket(3),
    };
    note(format!("{setup:?}"));
    // Every seed leaves some acts out and does others more often, for what needs many of one kind.
    let acts = ACTS.iter().flat_map(|&(act, often)| {
        let times = if act == Act::Send { 1 } else { [0, 1, 1, 3][random.below(4) as usize] };
        vec![act; often * times]
    });
    let acts = acts.collect();
    let world = World::new(random.next_u64(), setup);
    let weather = vec![Weather::default(); world.nodes.len()];
    let mut script = Script { world, held: Vec::new(), acts, weather };
    script.world.has_slow_consumer = random.one_in(2);
    for node in 0..script.world.nodes.len() {
        assert!(script.world.open(node));
    }
    script.set_crash();
    for _ in 0..70 {
        script.step();
        script.recover_crashed();
    }
    script.held.clear();
    script.world.finish();
}

impl Script {
    fn below(&mut self, bound: u64) -> u64 {
        self.world.random.below(bound)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn place(&mut self) -> (&'static str, Signal) {
        (self.pick(&TENANTS), self.pick(&SIGNALS))
    }

    /// Sets when a node dies next.
    fn set_crash(&mut self) {
        let node = self.below(self.world.nodes.len() as u64) as usize;
        let (steps, changes) = (self.below(250), self.below(40));
        let node = &self.world.nodes[node];
        node.disk.crash_at(node.disk.step() + steps);
        if let Some(access) = &node.access {
            access.die_in(Some(changes));
        }
    }

    fn recover_crashed(&mut self) {
        for node in 0..self.world.nodes.len() {
            if !self.world.nodes[node].disk.crashed() {
                continue;
            }
            self.world.calm();
            self.held.retain(|held| held.node != node);
            let power_loss = !self.world.random.one_in(3);
            self.world.recover(node, power_loss);
            self.world.check();
            self.resume();
        }
    }

    /// Back to the weather and to a crash to come, after what must not fail.
    fn resume(&mut self) {
        for (node, weather) in self.world.nodes.iter().zip(&self.weather) {
            if let Some(access) = &node.access {
                access.set_weather(*weather);
            }
        }
        self.set_crash();
    }

    fn step(&mut self) {
        let node = self.below(self.world.nodes.len() as u64) as usize;
        let store = self.world.store(node);
        let at = self.below(self.acts.len() as u64) as usize;
        match self.acts[at] {
            Act::Send => self.send_new(node),
            Act::SendAgain => self.send_again(),
            Act::ResendSpans => self.resend_spans(node),
            Act::SendBroken => self.send_broken(node),
            Act::Apply => self.result("apply", node, store.apply()),
            Act::Ingest => self.result("ingest", node, store.ingest()),
            Act::Flush => self.result("flush", node, store.flush()),
            Act::FlushBeside => self.flush_beside(node),
            Act::FlushDue => self.result("flush_due", node, store.flush_due()),
            Act::CompactTiered => {
                self.result("compact tiered", node, store.compact(Effort::Tiered))
            }
            Act::CompactAll => self.result("compact", node, store.compact(Effort::Everything)),
            Act::Pause => self.paused(node, &store),
            Act::Delete => self.delete(node, &store),
            Act::Pursue => self.pursue(node, &store),
            Act::Collect => self.result("collect", node, store.collect_garbage()),
            Act::PassTime => self.pass_time(),
            Act::ChangeWeather => self.change_weather(node),
            calm => {
                self.world.calm();
                match calm {
                    Act::Retain => self.retain(node, &store),
                    Act::Hold => self.hold(node, &store),
                    Act::ReadBeside => self.read_beside(node),
                    Act::ReadHeld => self.read_held(),
                    Act::Flip => self.flip(node, &store),
                    Act::Reopen => self.reopen(node, store),
                    _ => self.check(),
                }
                self.resume();
            }
        }
    }

    /// Errors are part of the game; panics are not.
    fn result<T>(&mut self, what: &str, node: usize, result: Result<T, StoreError>) {
        let end = result.map_or_else(|error| format!(": {error}"), |_| String::new());
        note(format!("{what} on {node}{end}"));
    }

    fn send_new(&mut self, node: usize) {
        let place = self.place();
        let count = 1 + self.below(20);
        let days = self.pick(&[1, 1, 2, 3, 9]);
        let records = self.world.new_records(count, days);
        let ids = records[0].id..=records[records.len() - 1].id;
        let request = self.world.request(node, place, records);
        let acknowledged = self.world.send(request);
        note(format!("request {request} to {node}: {place:?} {ids:?}: {acknowledged}"));
    }

    /// A byte-identical retry.
    fn send_again(&mut self) {
        let count = self.world.model.requests.len() as u64;
        if count > 0 {
            let request = (count - 1 - self.below(count.min(12))) as usize;
            let acknowledged = self.world.send(request);
            note(format!("request {request} again: {acknowledged}"));
        }
    }

    /// Spans of an earlier request in another one, perhaps to another node.
    fn resend_spans(&mut self, node: usize) {
        let earlier = self.world.model.requests.iter().rev();
        let Some(of) = earlier.filter(|request| request.place.1 == Signal::Spans).nth(1) else {
            return;
        };
        let (place, mut records) = (of.place, of.records.clone());
        records.truncate(5);
        let more = self.world.new_records(1, 1);
        records.extend(more);
        let request = self.world.request(node, place, records);
        let acknowledged = self.world.send(request);
        note(format!("request {request} to {node}, spans again: {acknowledged}"));
    }

    /// A request with an error inside, which admission would have refused: it is left out whole.
    fn send_broken(&mut self, node: usize) {
        let place = (self.pick(&TENANTS), self.pick(&[Signal::Spans, Signal::Logs]));
        self.world.has_unreadable_requests = true;
        let records = self.world.new_records(4, 1);
        let body = requests::encode_broken(place.1, &records);
        let record = requests::record(place.1, place.0, body, self.world.bucket.now_nanos());
        let _ = self.world.store(node).journal().append(record);
        note(format!("a broken request to {node}"));
    }

    /// A compaction that is held up at some call to the bucket, while another node does all it
    /// can and time passes.
    fn paused(&mut self, node: usize, store: &Arc<Store>) {
        let Some(access) = self.world.nodes[node].access.clone() else { return };
        let other = self.world.store((node + 1) % self.world.nodes.len());
        let is_other = !Arc::ptr_eq(&other, store);
        let (own, bucket) = (store.clone(), self.world.bucket.clone());
        // A flush within the pause must not wait for one that the pause interrupts.
        let flushes = store.flush().is_ok() && self.world.random.one_in(2);
        self.send_new(node);
        let _ = store.apply();
        let mut calls = self.below(25);
        let long = self.world.random.one_in(2);
        let choice = move |_: &str, _: &str| {
            calls = calls.saturating_sub(1);
            calls == 0
        };
        let wake = move || {
            if flushes {
                let _ = own.flush();
            }
            if is_other {
                let _ = other.compact(Effort::Everything);
                if long {
                    bucket.advance(GRACE + Duration::from_secs(2));
                    let _ = other.collect_garbage();
                    bucket.advance(GRACE + Duration::from_secs(2));
                    let _ = other.collect_garbage();
                }
            }
        };
        access.set_rule(Some((Box::new(choice), Action::Pause(Box::new(wake)))));
        let what = self.below(3);
        let place = self.place();
        let result = match what {
            0 => store.snapshot(place.0, place.1).map(|snapshot| {
                // Past the grace time files may be gone.
                if let Ok(found) = requests::found(store, &snapshot) {
                    self.world.model.check(node, place, &found);
                }
            }),
            1 => store.collect_garbage().map(drop),
            _ => store.compact(Effort::Everything).map(drop),
        };
        access.set_rule(None);
        let what = ["snapshot", "collect", "compact"][what as usize];
        self.result(&format!("paused {what} (long: {long}, flush: {flushes})"), node, result);
    }

    fn retain(&mut self, node: usize, store: &Arc<Store>) {
        let place = self.place();
        let max_age = Duration::from_secs(86_400 * (1 + self.below(9)));
        let cutoff = self.world.bucket.now_nanos() - max_age.as_nanos() as i64;
        let objects = store.objects();
        let log = Log { objects: &**objects, tenant: place.0, signal: place.1 };
        let blocks = log.read().expect("the log").blocks;
        let old: Vec<BlockMeta> =
            blocks.into_values().filter(|block| block.max_time_nanos < cutoff).collect();
        let records = self.world.records_in(node, place, &old);
        let fails = self.world.random.one_in(3);
        if fails && let Some(access) = &self.world.nodes[node].access {
            access.set_weather(Weather { fails_one_in: 4, ..Weather::default() });
        }
        let retention = Retention { max_age: Some(max_age), max_bytes: None };
        let removed = store.retain(place.0, place.1, retention);
        match &removed {
            Ok(removed) => {
                assert_eq!(*removed, old.len(), "blocks beyond retention");
                records.iter().for_each(|id| self.world.model.removed(*id));
            }
            Err(_) => records.iter().for_each(|id| self.world.model.may_be_lost(*id)),
        }
        self.result(&format!("retain {place:?} {records:?}"), node, removed);
    }

    /// Deletes for good what has a name; half of the time nothing goes wrong, and what was said
    /// before is held against what is hidden.
    fn delete(&mut self, node: usize, store: &Arc<Store>) {
        let (tenant, number) = (self.pick(&TENANTS), self.below(requests::NAMES));
        let (first, end) = self.pick(&[(0, 3), (0, 1), (1, 2), (2, 3)]);
        let signals = SIGNALS[first..end].to_vec();
        let order = requests::order(&signals, number);
        let is_calm = self.world.random.one_in(2);
        if is_calm {
            self.world.calm();
        }
        let preview = store.preview_deletion(tenant, &order.targets);
        let deleted = store.begin_deletion(tenant, order);
        if is_calm {
            let (preview, deleted) = (preview.expect("a preview"), deleted.as_ref());
            let hidden = deleted.expect("a deletion").hidden.as_ref().expect("what is hidden");
            let meant: Vec<u64> = preview.iter().map(|signal| signal.records).collect();
            let hidden: Vec<u64> = hidden.signals.iter().map(|signal| signal.records).collect();
            assert!(hidden == meant || !self.world.flipped.is_empty(), "{hidden:?}, not {meant:?}");
            self.resume();
        }
        let surely = deleted.is_ok() && self.world.nodes.len() == 1;
        for signal in &signals {
            self.world.model.deleted((tenant, *signal), number, surely);
        }
        let what = format!("delete {tenant} {signals:?} {number}");
        if deleted.is_err() {
            self.world.unanswered_deletions.push((node, tenant, signals, number));
        }
        self.result(&what, node, deleted);
    }

    fn pursue(&mut self, node: usize, store: &Arc<Store>) {
        let pursued = store.pursue_deletions();
        self.world.pursued(node);
        self.result("pursue deletions", node, pursued);
    }

    fn hold(&mut self, node: usize, store: &Arc<Store>) {
        let place = self.place();
        let snapshot = store.snapshot(place.0, place.1).expect("a snapshot");
        let found = requests::found(store, &snapshot).expect("its rows");
        let (life, taken_nanos) = (self.world.nodes[node].life, self.world.bucket.now_nanos());
        let pinned = match self.world.random.one_in(2) {
            true => Pinned::Snapshot(snapshot),
            false => Pinned::Sources(place.1, store.sources(&snapshot, None).expect("its blocks")),
        };
        self.held.push(Held { node, life, pinned, found, taken_nanos });
        note(format!("hold what is at {place:?} on {node}"));
    }

    /// Requests that come while a flush is under way.
    fn flush_beside(&mut self, node: usize) {
        let count = 1 + self.below(3);
        let requests: Vec<usize> = (0..count)
            .map(|_| {
                let (place, size) = (self.place(), 1 + self.below(40));
                let records = self.world.new_records(size, 2);
                self.world.request(node, place, records)
            })
            .collect();
        let (write, only_due) = (self.below(4), self.world.random.one_in(3));
        self.world.flush_beside(node, &requests, write, only_due);
    }

    /// Another process reads, and the owner works at some call of its.
    fn read_beside(&mut self, node: usize) {
        let call = self.below(60);
        let moment = match self.below(3) {
            0 => None,
            1 => Some(Moment::Bucket(call)),
            _ => Some(Moment::Disk(call)),
        };
        let only_flushes = self.world.random.one_in(2);
        note(format!(
            "read beside {node}, which works at {moment:?}, only flushes: {only_flushes}"
        ));
        self.world.read_beside(node, moment, only_flushes);
    }

    /// A snapshot reads as it did, whatever happened since; where other nodes delete files, within
    /// the grace time.
    fn read_held(&mut self) {
        note("read held snapshots");
        let now = self.world.bucket.now_nanos();
        for held in std::mem::take(&mut self.held) {
            // A commit that took a while is dated from its beginning.
            let is_young = now - held.taken_nanos < (GRACE.as_nanos() as i64) - 4_000_000_000;
            let is_there = is_young || self.world.nodes.len() == 1;
            if !is_there || self.world.nodes[held.node].life != held.life {
                continue;
            }
            let store = self.world.store(held.node);
            let found = match &held.pinned {
                Pinned::Snapshot(snapshot) => requests::found(&store, snapshot),
                Pinned::Sources(signal, sources) => requests::found_in(*signal, sources),
            };
            let found = found.expect("rows that are held");
            if self.world.flipped.is_empty() {
                assert!(found == held.found, "a snapshot changed");
            }
            self.held.push(held);
        }
    }

    fn pass_time(&mut self) {
        let seconds = match self.below(12) {
            0..7 => self.below(20),
            7..11 => 40 + self.below(60),
            _ => 620,
        };
        note(format!("{seconds} s pass"));
        self.world.bucket.advance(Duration::from_secs(seconds));
    }

    fn change_weather(&mut self, index: usize) {
        let what = self.below(4);
        let (count, bytes) = (1 + self.below(3), 2000 + self.below(60_000));
        let node = &self.world.nodes[index];
        self.weather[index] = match (what, &node.access) {
            (2, Some(_)) => Weather { fails_one_in: count * 5, slow_one_in: count * 4, cut_off: 0 },
            (3, Some(_)) => Weather { cut_off: count * 8, ..Weather::default() },
            _ => Weather::default(),
        };
        node.disk.fail_next_syncs(if what == 0 { count as u32 } else { 0 });
        node.disk.set_capacity((what == 1).then_some(bytes));
        self.world.model.may_forget_hashes |= what == 1;
        if let Some(access) = &node.access {
            access.set_weather(self.weather[index]);
        }
        note(format!("weather {what} on {index}, {count}, {bytes} bytes"));
    }

    fn flip(&mut self, node: usize, store: &Arc<Store>) {
        let place = self.place();
        let snapshot = store.snapshot(place.0, place.1).expect("a snapshot");
        let blocks: Vec<BlockMeta> = snapshot.blocks().cloned().collect();
        if blocks.is_empty() {
            return;
        }
        let at = self.below(blocks.len() as u64) as usize;
        let (block, bit) = (&blocks[at], self.below(8) as u8);
        let offset = self.below(block.size_bytes);
        let path = block.path(place.0, place.1);
        for id in self.world.records_in(node, place, &blocks[at..=at]) {
            self.world.model.may_be_lost(id);
        }
        self.world.flip_bit(node, &path, offset, bit);
        note(format!("bit {bit} of byte {offset} of {path} changes"));
    }

    fn reopen(&mut self, node: usize, store: Arc<Store>) {
        self.held.retain(|held| held.node != node);
        note(format!("node {node} is closed and opened again"));
        self.world.nodes[node].store = None;
        let store = Arc::into_inner(store).expect("nobody else has it");
        if self.world.random.one_in(2) {
            store.close().expect("a clean end");
        } else {
            drop(store);
        }
        assert!(self.world.open(node));
    }

    fn check(&mut self) {
        note("check");
        self.world.check();
    }
}
