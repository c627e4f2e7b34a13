//! What a simulated disk keeps: contents of files and names, before and after a power loss.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::random::Random;
use crate::disk::parent;

const SECTOR_BYTES: usize = 512;

/// A file: what is on disk, what programs see, and how one became the other.
#[derive(Clone)]
pub(super) struct File {
    durable: Vec<u8>,
    cached: Vec<u8>,
    unsynced: Vec<Change>,
    pub(super) modified: SystemTime,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl File {
    pub(super) fn new(modified: SystemTime) -> File {
        File { durable: Vec::new(), cached: Vec::new(), unsynced: Vec::new(), modified }
    }

    pub(super) fn len(&self) -> u64 {
        self.cached.len() as u64
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: usize) -> usize {
        let rest = self.cached.get(offset..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        count
    }

    pub(super) fn write(&mut self, offset: usize, bytes: Vec<u8>, modified: SystemTime) {
        self.modified = modified;
        self.change(Change::Write { offset, bytes });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.change(Change::SetLen(len));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.cached);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Some of it reached the disk, the rest never will, and reads do not show which.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.survivor(random);
        self.unsynced.clear();
    }

    pub(super) fn after_power_loss(&self, random: &mut Random) -> File {
        let durable = self.survivor(random);
        let (cached, modified) = (durable.clone(), self.modified);
        File { durable, cached, unsynced: Vec::new(), modified }
    }

    pub(super) fn flip_bit(&mut self, offset: usize, bit: u8) {
        for contents in [&mut self.durable, &mut self.cached] {
            if let Some(byte) = contents.get_mut(offset) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    /// Contents in which every sector shows the state after some number of the unsynced changes.
    fn survivor(&self, random: &mut Random) -> Vec<u8> {
        let changes = self.unsynced.len() as u64;
        // Files are often wholly there or wholly old; tearing is the third case.
        let fixed = match random.below(4) {
            0 => Some(0),
            1 => Some(changes),
            _ => None,
        };
        let draw = |random: &mut Random| fixed.unwrap_or_else(|| random.below(changes + 1));
        // A length is metadata: one state for the whole file.
        let len_after = draw(random);
        let mut by_sector: HashMap<usize, u64> = HashMap::new();
        let mut contents = self.durable.clone();
        for (index, change) in self.unsynced.iter().enumerate() {
            let index = index as u64;
            match change {
                Change::SetLen(_) if index >= len_after => {}
                Change::SetLen(_) => change.apply(&mut contents),
                Change::Write { offset, bytes } => {
                    let len = contents.len().max(if index < len_after {
                        offset + bytes.len()
                    } else {
                        0
                    });
                    contents.resize(len, 0);
                    for sector in offset / SECTOR_BYTES..=(offset + bytes.len()) / SECTOR_BYTES {
                        let state = *by_sector.entry(sector).or_insert_with(|| draw(random));
                        if index < state {
                            copy_sector(&mut contents, sector, *offset, bytes);
                        }
                    }
                }
            }
        }
        contents
    }
}

/// Writes the part of a write that falls into one sector, as far as the file reaches.
fn copy_sector(contents: &mut [u8], sector: usize, offset: usize, bytes: &[u8]) {
    let from = offset.max(sector * SECTOR_BYTES);
    let to = (offset + bytes.len()).min((sector + 1) * SECTOR_BYTES).min(contents.len());
    if from < to {
        contents[from..to].copy_from_slice(&bytes[from - offset..to - offset]);
    }
}

impl Change {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Change::SetLen(len) => contents.resize(*len, 0),
            Change::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*offset..end].copy_from_slice(bytes);
            }
        }
    }
}

/// Directories, and files by path.
#[derive(Clone)]
pub(super) struct Names {
    pub(super) files: BTreeMap<PathBuf, usize>,
    pub(super) dirs: BTreeSet<PathBuf>,
}

/// A change to names.
#[derive(Clone)]
pub(super) enum NameOp {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    CreateDir(PathBuf),
    RemoveDir(PathBuf),
}

impl NameOp {
    pub(super) fn apply(&self, names: &mut Names) -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        match self {
            NameOp::Create(path, _) if names.files.contains_key(path) => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            NameOp::Create(path, index) => {
                names.files.insert(path.clone(), *index);
            }
            NameOp::Rename(from, to) => {
                let index = names.files.remove(from).ok_or_else(missing)?;
                names.files.insert(to.clone(), index);
            }
            NameOp::Remove(path) => {
                names.files.remove(path).ok_or_else(missing)?;
            }
            NameOp::CreateDir(path) => {
                names.dirs.insert(path.clone());
            }
            NameOp::RemoveDir(path) => {
                names.dirs.remove(path);
            }
        }
        Ok(())
    }

    /// Whether a sync of `dir` makes it durable.
    pub(super) fn touches(&self, dir: &Path) -> bool {
        self.dirs().any(|own| own == dir)
    }

    fn dirs(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = match self {
            NameOp::Rename(from, to) => (from, Some(parent(to))),
            NameOp::Create(path, _) | NameOp::Remove(path) => (path, None),
            NameOp::CreateDir(path) | NameOp::RemoveDir(path) => (path, None),
        };
        std::iter::once(parent(first)).chain(second)
    }
}

/// The names that are there after a power loss: of each directory's changes some first part.
pub(super) fn surviving_names(durable: &Names, log: &[NameOp], random: &mut Random) -> Names {
    let mut names = durable.clone();
    let mut kept_until: HashMap<PathBuf, usize> = HashMap::new();
    for (index, op) in log.iter().enumerate() {
        let mut keep = true;
        for dir in op.dirs() {
            let until = *kept_until
                .entry(dir.to_owned())
                .or_insert_with(|| random.below(log.len() as u64 + 1) as usize);
            keep &= index < until;
        }
        if keep {
            let _ = op.apply(&mut names);
        } else {
            // Later changes in the same directories cannot be there without this one.
            for dir in op.dirs() {
                kept_until.insert(dir.to_owned(), 0);
            }
        }
    }
    // What was in a directory that is not there is not there either.
    let dirs = names.dirs.clone();
    names.files.retain(|path, _| dirs.contains(parent(path)));
    names
}
