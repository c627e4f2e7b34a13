//! One to three nodes on simulated disks, over a directory of their disk or over one bucket; their
//! lives, deaths and new lives; and holding what they show against the model.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use kymo_journal::disk::read_all;
use kymo_journal::sim::{Random, SimDisk};
use kymo_journal::{CursorOptions, Disk, Journal};
use kymo_store::block::meta::BlockMeta;
use kymo_store::block::source::Source;
use kymo_store::check::{Finding, check};
use kymo_store::compact::Effort;
use kymo_store::objects::{LocalObjects, Objects};
use kymo_store::{Options, Signal, Store, StoreError};

use crate::bucket::{Access, Rule, SimBucket, Weather};
use crate::model::{Model, Request, SIGNALS, TENANTS};
use crate::pausing::Pausing;
use crate::requests::{self, Sent};

/// How long removed files stay in the simulation.
pub const GRACE: Duration = Duration::from_secs(60);

thread_local! {
    static TRACE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes what is done, to be shown if it ends badly.
pub fn note(what: impl Into<String>) {
    TRACE.with_borrow_mut(|trace| trace.push(what.into()));
}

/// What was noted, which is forgotten.
pub fn take_notes() -> Vec<String> {
    TRACE.take()
}

/// Where blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// One node, all on its disk.
    Disk,
    /// So many nodes over one bucket, their journals on their disks.
    Bucket(usize),
}

/// One node.
pub struct Node {
    /// Its disk, in its present life.
    pub disk: SimDisk,
    /// Its way to the bucket, if blocks are there.
    pub access: Option<Arc<Access>>,
    /// Its directory of blocks, if they are there.
    pub local: Option<Arc<Pausing>>,
    /// Its store, while it is up.
    pub store: Option<Arc<Store>>,
    /// How often it was opened.
    pub life: u64,
}

/// All there is.
pub struct World {
    /// Seeded.
    pub random: Random,
    /// Where blocks are.
    pub setup: Setup,
    /// The bucket; without a bucket, just the clock.
    pub bucket: SimBucket,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// What ought to be there.
    pub model: Model,
    /// Blocks in which a bit was changed, as paths.
    pub flipped: BTreeSet<String>,
    /// How long removed files stay.
    pub grace: Duration,
    /// Whether journals have a consumer that never reads, so that they keep everything.
    pub has_slow_consumer: bool,
    /// Whether journals have something that nobody can read.
    pub has_unreadable_requests: bool,
    /// Deletions that ended with an error: by whom, of whom, of what, of which name. They may be
    /// hidden whenever they are pursued.
    pub unanswered_deletions: Vec<(usize, &'static str, Vec<Signal>, u64)>,
    log_refresh: Duration,
    block_cache_bytes: usize,
    next_id: u64,
}

/// Where blocks are on disk.
pub const BLOCKS: &str = "/data/blocks";
/// Where the journal is.
pub const JOURNAL: &str = "/data/journal";

impl World {
    /// Nodes that are not open yet.
    pub fn new(seed: u64, setup: Setup) -> World {
        let mut random = Random::new(seed);
        let count = if let Setup::Bucket(count) = setup { count } else { 1 };
        let disks: Vec<SimDisk> = (0..count).map(|_| SimDisk::new(random.next_u64())).collect();
        let log_refresh = match count {
            1 if random.one_in(2) => Duration::from_secs(3600),
            _ => Duration::ZERO,
        };
        let block_cache_bytes = if random.one_in(2) { 0 } else { 1 << 20 };
        // Where nobody else reads, pins are enough.
        let grace = match count {
            1 if random.one_in(2) => Duration::from_secs(1),
            _ => GRACE,
        };
        let node = |disk| Node { disk, access: None, local: None, store: None, life: 0 };
        let nodes = disks.into_iter().map(node).collect();
        let bucket = SimBucket::default();
        let world = World {
            random,
            setup,
            bucket,
            nodes,
            model: Model::default(),
            flipped: BTreeSet::new(),
            grace,
            has_slow_consumer: false,
            has_unreadable_requests: false,
            unanswered_deletions: Vec::new(),
            log_refresh,
            block_cache_bytes,
            next_id: 1,
        };
        let start = world.nodes[0].disk.now().duration_since(UNIX_EPOCH).unwrap();
        world.set_clocks(start.as_nanos() as i64);
        world
    }

    fn set_clocks(&self, now_nanos: i64) {
        let disks = self.nodes.iter().map(|node| node.disk.clone()).collect();
        self.bucket.set_clocks(now_nanos, disks);
    }

    /// The options of a node.
    pub fn options(&self, node: usize) -> Options {
        Options {
            node: format!("node-{node}"),
            flush_rows: 50,
            flush_points: 50,
            flush_after: Duration::from_secs(30),
            flush_series_after: Duration::from_secs(30),
            // Real time, which here nobody uses to flush.
            flush_wait: Duration::from_millis(1),
            final_rows: 100,
            max_block_rows: 200,
            grace: self.grace,
            block_cache_bytes: self.block_cache_bytes,
            log_refresh: self.log_refresh,
            ..Options::default()
        }
    }

    /// Opens a node's journal and store.
    pub fn try_open(&mut self, index: usize) -> Result<(), StoreError> {
        let options = self.options(index);
        let (setup, seed) = (self.setup, self.random.next_u64());
        let has_slow_consumer = self.has_slow_consumer;
        let node = &mut self.nodes[index];
        node.store = None;
        let disk: Arc<dyn Disk> = Arc::new(node.disk.clone());
        let journal_options = kymo_journal::Options {
            segment_bytes: 4096,
            recent_bytes: if seed.is_multiple_of(2) { 0 } else { 3000 },
            ..Default::default()
        };
        let (journal, recovery) = Journal::open(disk.clone(), Path::new(JOURNAL), journal_options)?;
        self.has_unreadable_requests |= !recovery.damaged.is_empty();
        if has_slow_consumer {
            journal.register("slow", CursorOptions::default())?;
        }
        let objects: Arc<dyn Objects> = match setup {
            Setup::Disk => {
                let local = LocalObjects::open(Path::new(BLOCKS), disk.clone())?;
                let local = Arc::new(Pausing::new(Arc::new(local)));
                node.local = Some(local.clone());
                local
            }
            Setup::Bucket(_) => {
                let access = match node.access.take() {
                    Some(access) if node.life > 0 && !node.disk.crashed() => access,
                    _ => Arc::new(Access::new(&self.bucket, &node.disk, seed)),
                };
                node.access = Some(access.clone());
                access
            }
        };
        node.store = Some(Arc::new(Store::open(disk, journal, objects, options)?));
        node.life += 1;
        Ok(())
    }

    /// Opens a node where nothing but a crash may keep it from opening; false if one did.
    pub fn open(&mut self, node: usize) -> bool {
        let opened = self.try_open(node);
        if self.nodes[node].disk.crashed() {
            return false;
        }
        if let Err(error) = opened {
            panic!("node {node} does not open: {error}");
        }
        true
    }

    /// Sets the rule for a node's calls to its blocks.
    pub fn set_rule(&self, node: usize, rule: Option<Rule>) {
        match (&self.nodes[node].local, &self.nodes[node].access) {
            (Some(local), _) => local.set_rule(rule),
            (None, Some(access)) => access.set_rule(rule),
            (None, None) => panic!("the node is not up"),
        }
    }

    /// The store of a node that is up.
    pub fn store(&self, node: usize) -> Arc<Store> {
        self.nodes[node].store.clone().expect("the node is up")
    }

    /// Ends a node's life, by power loss or by a killed process, and begins the next; perhaps
    /// it crashes again on the way up.
    pub fn recover(&mut self, index: usize, mut power_loss: bool) {
        loop {
            note(format!("node {index} crashed, power lost: {power_loss}"));
            let now = self.bucket.now_nanos();
            let node = &mut self.nodes[index];
            node.disk.crash();
            node.access = None;
            node.store = None;
            node.disk = if power_loss { node.disk.reboot() } else { node.disk.restart() };
            node.disk.set_capacity(None);
            node.disk.fail_next_syncs(0);
            self.set_clocks(now);
            if self.random.one_in(4) {
                self.nodes[index].disk.crash_at(self.random.below(15));
            }
            power_loss = self.random.one_in(2);
            if self.open(index) {
                self.nodes[index].disk.crash_at(u64::MAX);
                return;
            }
        }
    }

    /// Makes disks and ways to the bucket faultless.
    pub fn calm(&mut self) {
        for node in &self.nodes {
            node.disk.crash_at(u64::MAX);
            node.disk.fail_next_syncs(0);
            node.disk.set_capacity(None);
            if let Some(access) = &node.access {
                access.set_weather(Weather::default());
                access.set_rule(None);
                access.die_in(None);
            }
        }
    }

    /// New records of one place, their times on some of the last days.
    pub fn new_records(&mut self, count: u64, days: u64) -> Vec<Sent> {
        let mut trace = self.random.below(40);
        let records = (0..count).map(|_| {
            let id = self.next_id;
            self.next_id += 1;
            if self.random.one_in(3) {
                trace = self.random.below(40);
            }
            let day = self.random.below(days.max(1));
            let within = self.random.below(50_000_000_000_000);
            let time_nanos = requests::START_NANOS - day * 86_400_000_000_000 - within;
            Sent { id, trace, time_nanos }
        });
        records.collect()
    }

    /// Adds a request to the model, to be sent.
    pub fn request(
        &mut self,
        node: usize,
        place: (&'static str, Signal),
        records: Vec<Sent>,
    ) -> usize {
        let body = requests::encode(place.1, &records);
        let (stored_nanos, is_acknowledged) = (None, false);
        let request = Request { node, place, body, records, stored_nanos, is_acknowledged };
        self.model.requests.push(request);
        self.model.requests.len() - 1
    }

    /// Sends a request; whether it was acknowledged.
    pub fn send(&mut self, request: usize) -> bool {
        let now = self.bucket.now_nanos();
        let Request { node, place, body, .. } = self.model.requests[request].clone();
        let must_recognise = self.model.must_recognise(request, now);
        self.model.sending(request, now);
        let record = requests::record(place.1, place.0, body, now);
        let Ok(appended) = self.store(node).journal().append(record) else { return false };
        assert!(appended.duplicate || !must_recognise, "a retry was stored again");
        self.model.acknowledged(request, appended.duplicate, now);
        true
    }

    /// Sends new records to a node.
    pub fn append(&mut self, node: usize, place: (&'static str, Signal), count: u64) -> bool {
        let records = self.new_records(count, 1);
        let request = self.request(node, place, records);
        self.send(request)
    }

    /// Holds what every node shows against the model. Faults must be off.
    pub fn check(&self) {
        for index in 0..self.nodes.len() {
            for place in places() {
                self.check_node(index, place);
            }
        }
    }

    fn check_node(&self, index: usize, place: (&'static str, Signal)) {
        let store = self.store(index);
        let snapshot = store.snapshot(place.0, place.1).expect("a snapshot");
        let found = requests::found(&store, &snapshot).expect("the rows of a snapshot");
        self.model.check(index, place, &found);
    }

    /// What a node shows, without the model.
    pub fn shown(&self, node: usize, place: (&'static str, Signal)) -> BTreeMap<(u64, u64), usize> {
        let store = self.store(node);
        let snapshot = store.snapshot(place.0, place.1).expect("a snapshot");
        requests::found(&store, &snapshot).expect("the rows of a snapshot")
    }

    /// The records in some blocks, as often as they are there.
    pub fn records_in(
        &self,
        node: usize,
        place: (&'static str, Signal),
        blocks: &[BlockMeta],
    ) -> Vec<u64> {
        let store = self.store(node);
        let all = store.snapshot(place.0, place.1).expect("a snapshot");
        let paths: BTreeSet<String> =
            blocks.iter().map(|block| block.path(place.0, place.1)).collect();
        // With their tombstones: what is hidden is not there.
        let mut sources = store.sources(&all, None).expect("the blocks of a snapshot");
        sources.retain(|source| matches!(source, Source::Block(b) if paths.contains(b.path())));
        let found = requests::found_in(place.1, &sources).expect("the rows of a block");
        found.into_iter().flat_map(|((id, _), count)| vec![id; count]).collect()
    }

    /// Writes all heads to blocks, on every node.
    pub fn flush_all(&mut self) {
        for node in 0..self.nodes.len() {
            self.store(node).flush().expect("a flush");
        }
        self.model.flushed();
    }

    /// The end of a run: without faults everything settles, is all there, and is clean.
    pub fn finish(&mut self) {
        self.calm();
        for node in 0..self.nodes.len() {
            if self.nodes[node].store.is_none() || self.nodes[node].disk.crashed() {
                self.recover(node, true);
            }
        }
        self.check();
        self.flush_all();
        self.check();
        self.store(0).compact(Effort::Everything).expect("a compaction");
        self.check();
        for _ in 0..2 {
            self.bucket.advance(GRACE + Duration::from_secs(1));
            for node in 0..self.nodes.len() {
                self.store(node).collect_garbage().expect("a garbage collection");
            }
        }
        self.check();
        self.check_clean();
        // A block that cannot be read keeps what it has.
        if self.flipped.is_empty() {
            self.forget_a_name();
            self.check_clean();
        }
        for node in 0..self.nodes.len() {
            let store = self.nodes[node].store.take().expect("the node is up");
            Arc::into_inner(store).expect("nobody else has it").close().expect("a clean end");
            assert!(self.open(node));
        }
        self.check();
    }

    /// Of what every node is asked to delete nothing is left, anywhere.
    fn forget_a_name(&mut self) {
        let number = self.random.below(requests::NAMES);
        note(format!("all nodes forget name {number}"));
        for node in 0..self.nodes.len() {
            for tenant in TENANTS {
                let order = requests::order(&SIGNALS, number);
                self.store(node).begin_deletion(tenant, order).expect("a deletion");
            }
        }
        places().for_each(|place| self.model.deleted(place, number, true));
        self.check();
        self.pursue_to_the_end();
        self.check();
        assert_eq!(self.files_with(&requests::name(number)), Vec::<String>::new());
    }

    /// Lets all deletions of all nodes be done.
    fn pursue_to_the_end(&mut self) {
        let mut pending = usize::MAX;
        for _ in 0..20 {
            pending = 0;
            for node in 0..self.nodes.len() {
                let store = self.store(node);
                store.pursue_deletions().expect("deletions are pursued");
                self.pursued(node);
                store.collect_garbage().expect("a garbage collection");
                pending += store.deletions_pending();
            }
            if pending == 0 {
                return;
            }
            self.bucket.advance(GRACE + Duration::from_secs(1));
        }
        let all = TENANTS.map(|tenant| self.store(0).deletions(tenant, 100));
        panic!("{pending} deletions are not done: {all:?}");
    }

    /// A node has pursued its deletions: what was asked for in vain may be hidden now.
    pub fn pursued(&mut self, node: usize) {
        let unanswered = self.unanswered_deletions.iter().filter(|(by, ..)| *by == node);
        for (_, tenant, signals, number) in unanswered {
            for signal in signals {
                self.model.deleted((*tenant, *signal), *number, false);
            }
        }
    }

    /// Files and objects that have a text. What nobody can read nobody can delete, either.
    fn files_with(&self, text: &str) -> Vec<String> {
        let mut found = self.bucket.paths_with(text.as_bytes());
        for node in &self.nodes {
            let kept = [(JOURNAL, !self.has_unreadable_requests), (BLOCKS, true)];
            for (dir, _) in kept.iter().filter(|(_, is_searched)| *is_searched) {
                for path in files(&node.disk, Path::new(dir)) {
                    let file = node.disk.open(&path).expect("a file that was listed");
                    let bytes = read_all(&*file).expect("its bytes");
                    if bytes.windows(text.len()).any(|found| found == text.as_bytes()) {
                        found.push(path.display().to_string());
                    }
                }
            }
        }
        found
    }

    /// Nothing is damaged but what a bit flip damaged, and nothing lies around.
    pub fn check_clean(&self) {
        let store = self.store(0);
        let report = check(store.objects(), |_, _| ()).expect("a check");
        let mut damaged = BTreeSet::new();
        for finding in report.findings {
            match finding {
                Finding::Damaged { path, .. } if self.flipped.contains(&path) => {
                    damaged.insert(path);
                }
                other => panic!("not clean: {other:?}"),
            }
        }
        for (tenant, signal) in places() {
            let snapshot = store.snapshot(tenant, signal).expect("a snapshot");
            let paths = snapshot.blocks().map(|block| block.path(tenant, signal));
            for path in paths.filter(|path| self.flipped.contains(path)) {
                assert!(damaged.contains(&path), "the check does not find the damage of {path}");
            }
        }
        if self.setup == Setup::Disk {
            let disk = &self.nodes[0].disk;
            let files = files(disk, Path::new(BLOCKS));
            let is_temporary = |file: &&PathBuf| file.to_string_lossy().ends_with("tmp");
            let left: Vec<_> = files.iter().filter(is_temporary).collect();
            assert!(left.is_empty(), "temporary files are left: {left:?}");
        }
    }

    /// Changes a bit of a block.
    pub fn flip_bit(&mut self, node: usize, path: &str, offset: u64, bit: u8) {
        match self.setup {
            Setup::Disk => {
                self.nodes[node].disk.flip_bit(&Path::new(BLOCKS).join(path), offset, bit);
            }
            Setup::Bucket(_) => self.bucket.flip_bit(path, offset, bit),
        }
        self.flipped.insert(path.to_owned());
    }
}

/// Every tenant and signal.
pub fn places() -> impl Iterator<Item = (&'static str, Signal)> {
    TENANTS.into_iter().flat_map(|tenant| SIGNALS.map(|signal| (tenant, signal)))
}

/// All files below a directory.
fn files(disk: &SimDisk, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in disk.list(&dir).unwrap_or_default() {
            match entry.is_dir {
                true => dirs.push(dir.join(entry.name)),
                false => found.push(dir.join(entry.name)),
            }
        }
    }
    found
}
