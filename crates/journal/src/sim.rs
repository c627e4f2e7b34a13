//! [`SimDisk`]: a deterministic disk in memory that fails the way real ones do.
//!
//! The model:
//!
//! - Every call that changes something is a numbered *step*. A crash can be set for a step: by seed
//!   that step is still done or not, and from then on every call fails.
//! - **Power loss** ([`SimDisk::reboot`]). What was synced is there. Of the writes to a file since its
//!   last sync, each 512-byte sector shows, independently, the state after any of them: writes are
//!   kept, lost, torn and reordered, and a file can be longer than its data (zeros). Sectors are
//!   atomic, so synced bytes next to unsynced ones are safe.
//! - Names (create, rename, remove) live in their directory's log. Since its last `sync_dir`, some
//!   first part of that log is kept, and the rest lost, per directory: journaling file systems keep
//!   the order of what happens in one directory. A rename is atomic. A synced file whose name was
//!   not synced can be gone.
//! - **Killed process** ([`SimDisk::restart`]). Everything written is there, synced or not; locks
//!   are free.
//! - A **failed sync** is final: of what was not synced, each sector is by seed on disk or not, reads
//!   still show all of it, and later syncs succeed without writing it ("fsyncgate").
//! - A full disk, a read-only one, and flipped bits on request.
//!
//! Time stands still unless it is told to go on. The same seed and calls give the same disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::disk::{DirEntry, Disk, DiskFile, parent};

mod crash;
mod random;

use crash::{File, NameOp, Names};
pub use random::Random;

/// A simulated disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

/// All that a disk is.
struct World {
    random: Random,
    clock: SystemTime,
    step: u64,
    crash_at: Option<u64>,
    is_crashed: bool,
    syncs_to_fail: u32,
    capacity_bytes: Option<u64>,
    is_read_only: bool,
    locks: BTreeSet<PathBuf>,
    files: Vec<File>,
    /// What programs see.
    names: Names,
    /// What is on disk.
    durable_names: Names,
    /// What happened to names since then, in order.
    name_log: Vec<NameOp>,
}

const CRASH_MESSAGE: &str = "simulated crash";

impl SimDisk {
    /// An empty disk.
    pub fn new(seed: u64) -> SimDisk {
        let names = Names { files: BTreeMap::new(), dirs: BTreeSet::from([PathBuf::from("/")]) };
        SimDisk::with(World {
            random: Random::new(seed),
            clock: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            step: 0,
            crash_at: None,
            is_crashed: false,
            syncs_to_fail: 0,
            capacity_bytes: None,
            is_read_only: false,
            locks: BTreeSet::new(),
            files: Vec::new(),
            durable_names: names.clone(),
            names,
            name_log: Vec::new(),
        })
    }

    fn with(world: World) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(world)) }
    }

    /// How many calls have changed something.
    pub fn step(&self) -> u64 {
        self.world().step
    }

    /// Crashes at a step: the one after `step` others.
    pub fn crash_at(&self, step: u64) {
        self.world().crash_at = Some(step);
    }

    /// Crashes now.
    pub fn crash(&self) {
        self.world().is_crashed = true;
    }

    /// Whether it has crashed.
    pub fn crashed(&self) -> bool {
        self.world().is_crashed
    }

    /// What may be left after the power was lost. This disk fails from now on.
    pub fn reboot(&self) -> SimDisk {
        let mut world = self.world();
        world.is_crashed = true;
        let mut random = world.random.fork();
        let names = crash::surviving_names(&world.durable_names, &world.name_log, &mut random);
        let survivors = world.files.iter().map(|file| file.after_power_loss(&mut random)).collect();
        SimDisk::with(World {
            files: survivors,
            durable_names: names.clone(),
            names,
            name_log: Vec::new(),
            ..world.next_life(random)
        })
    }

    /// The same disk after the process was killed: nothing is lost but locks.
    pub fn restart(&self) -> SimDisk {
        let mut world = self.world();
        world.is_crashed = true;
        let random = world.random.fork();
        SimDisk::with(World {
            files: world.files.clone(),
            names: world.names.clone(),
            durable_names: world.durable_names.clone(),
            name_log: world.name_log.clone(),
            ..world.next_life(random)
        })
    }

    /// Makes the next syncs of files fail.
    pub fn fail_next_syncs(&self, count: u32) {
        self.world().syncs_to_fail = count;
    }

    /// Limits the sum of all files' lengths.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.world().capacity_bytes = bytes;
    }

    /// Refuses every change.
    pub fn set_read_only(&self, on: bool) {
        self.world().is_read_only = on;
    }

    /// Changes one bit of a file, on disk and in memory. Nothing if there is no such byte.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) {
        let mut world = self.world();
        if let Some(&index) = world.names.files.get(path) {
            world.files[index].flip_bit(offset as usize, bit);
        }
    }

    /// Lets time pass.
    pub fn advance_clock(&self, by: Duration) {
        self.world().clock += by;
    }

    /// Whether an error is a simulated crash.
    pub fn is_crash(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.to_string() == CRASH_MESSAGE)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, index: usize) -> Box<dyn DiskFile> {
        Box::new(SimFile { disk: self.clone(), index })
    }
}

impl World {
    /// What a restart keeps besides files and names.
    fn next_life(&self, random: Random) -> World {
        let empty = Names { files: BTreeMap::new(), dirs: BTreeSet::new() };
        World {
            random,
            clock: self.clock,
            step: 0,
            crash_at: None,
            is_crashed: false,
            syncs_to_fail: 0,
            capacity_bytes: self.capacity_bytes,
            is_read_only: self.is_read_only,
            locks: BTreeSet::new(),
            files: Vec::new(),
            names: empty.clone(),
            durable_names: empty,
            name_log: Vec::new(),
        }
    }

    fn alive(&self) -> io::Result<()> {
        if self.is_crashed { Err(io::Error::other(CRASH_MESSAGE)) } else { Ok(()) }
    }

    /// Does a change, unless the crash comes before it.
    fn change<T>(&mut self, action: impl FnOnce(&mut World) -> io::Result<T>) -> io::Result<T> {
        self.alive()?;
        if self.is_read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        if self.crash_at == Some(self.step) {
            if self.random.one_in(2) {
                let _ = action(self);
            }
            self.is_crashed = true;
            return self.alive().and(Err(io::Error::other(CRASH_MESSAGE)));
        }
        self.step += 1;
        action(self)
    }

    fn log_name(&mut self, op: NameOp) -> io::Result<()> {
        op.apply(&mut self.names)?;
        self.name_log.push(op);
        Ok(())
    }

    fn require_dir(&self, path: &Path) -> io::Result<()> {
        let exists = self.names.dirs.contains(parent(path));
        if exists { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn check_room(&self, index: usize, len_bytes: u64) -> io::Result<()> {
        let Some(capacity) = self.capacity_bytes else { return Ok(()) };
        let others = self.names.files.values().filter(|&&other| other != index);
        let used: u64 = others.map(|&other| self.files[other].len()).sum();
        let fits = used + len_bytes <= capacity || len_bytes <= self.files[index].len();
        if fits { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn sync_names(&mut self, dir: &Path) {
        let log = std::mem::take(&mut self.name_log);
        let (synced, rest) = log.into_iter().partition(|op| op.touches(dir));
        self.name_log = rest;
        for op in synced as Vec<NameOp> {
            let _ = op.apply(&mut self.durable_names);
        }
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let index = self.world().change(|world| {
            world.require_dir(path)?;
            let index = world.files.len();
            world.log_name(NameOp::Create(path.to_owned(), index))?;
            let modified = world.clock;
            world.files.push(File::new(modified));
            Ok(index)
        })?;
        Ok(self.file(index))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let world = self.world();
        world.alive()?;
        let index = world.names.files.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(index))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.world().change(|world| {
            world.require_dir(to)?;
            world.log_name(NameOp::Rename(from.to_owned(), to.to_owned()))
        })
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.world().change(|world| {
            world.require_dir(to)?;
            if world.names.files.contains_key(to) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            world.log_name(NameOp::Rename(from.to_owned(), to.to_owned()))
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.world().change(|world| world.log_name(NameOp::Remove(path.to_owned())))
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let missing: Vec<PathBuf> = {
            let world = self.world();
            world.alive()?;
            dir.ancestors()
                .filter(|above| !above.as_os_str().is_empty() && !world.names.dirs.contains(*above))
                .map(Path::to_owned)
                .collect()
        };
        for dir in missing.into_iter().rev() {
            self.world().change(|world| world.log_name(NameOp::CreateDir(dir.clone())))?;
            self.sync_dir(parent(&dir))?;
        }
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.world().change(|world| {
            let is_used = world.names.files.keys().chain(&world.names.dirs);
            if is_used.into_iter().any(|path| path != dir && path.starts_with(dir)) {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            world.log_name(NameOp::RemoveDir(dir.to_owned()))
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let world = self.world();
        world.alive()?;
        if !world.names.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = |path: &Path| {
            let name = path.file_name().filter(|_| parent(path) == dir && path != dir)?;
            Some(name.to_string_lossy().into_owned())
        };
        let files = world.names.files.iter().filter_map(|(path, &index)| {
            let file = &world.files[index];
            let (size_bytes, modified) = (file.len(), file.modified);
            Some(DirEntry { name: name(path)?, is_dir: false, size_bytes, modified })
        });
        let dirs = world.names.dirs.iter().filter_map(|path| {
            let (size_bytes, modified) = (0, world.clock);
            Some(DirEntry { name: name(path)?, is_dir: true, size_bytes, modified })
        });
        let mut entries: Vec<DirEntry> = files.chain(dirs).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.world().change(|world| {
            if !world.names.dirs.contains(dir) {
                return Err(io::ErrorKind::NotFound.into());
            }
            world.sync_names(dir);
            Ok(())
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        if self.world().is_read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let mut world = self.world();
        world.alive()?;
        if !world.locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimLock { disk: self.clone(), path: path.to_owned() }))
    }

    fn now(&self) -> SystemTime {
        self.world().clock
    }

    fn random(&self) -> u64 {
        self.world().random.next_u64()
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.world().locks.remove(&self.path);
    }
}

struct SimFile {
    disk: SimDisk,
    index: usize,
}

impl DiskFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = self.disk.world();
        world.alive()?;
        Ok(world.files[self.index].read(buf, offset as usize))
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.disk.world().change(|world| {
            world.check_room(self.index, offset + bytes.len() as u64)?;
            let modified = world.clock;
            world.files[self.index].write(offset as usize, bytes, modified);
            Ok(())
        })
    }

    fn preallocate(&self, len_bytes: u64) -> io::Result<()> {
        if self.len()? >= len_bytes { Ok(()) } else { self.set_len(len_bytes) }
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.disk.world().change(|world| {
            world.check_room(self.index, len_bytes)?;
            world.files[self.index].set_len(len_bytes as usize);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.world().change(|world| {
            let World { random, files, syncs_to_fail, .. } = world;
            let file = &mut files[self.index];
            if *syncs_to_fail > 0 {
                *syncs_to_fail -= 1;
                file.fail_sync(random);
                return Err(io::Error::other("simulated input/output error"));
            }
            file.sync();
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        let world = self.disk.world();
        world.alive()?;
        Ok(world.files[self.index].len())
    }
}
