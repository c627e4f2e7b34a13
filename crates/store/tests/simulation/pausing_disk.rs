//! A disk whose reader can be held up at a call: while it waits, others do their work.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use kymo_journal::sim::SimDisk;
use kymo_journal::{DirEntry, Disk, DiskFile};

/// Somebody to be woken after so many calls.
pub type Wake = (u64, Box<dyn FnOnce() + Send>);

/// The disk.
pub struct PausingDisk {
    inner: SimDisk,
    wake: Mutex<Option<Wake>>,
}

impl PausingDisk {
    /// Wakes somebody at a call that opens a file or lists a directory.
    pub fn new(inner: &SimDisk, wake: Option<Wake>) -> PausingDisk {
        PausingDisk { inner: inner.clone(), wake: Mutex::new(wake) }
    }

    fn before(&self) {
        let mut wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        let is_now = match &mut *wake {
            Some((0, _)) => true,
            Some((calls, _)) => {
                *calls -= 1;
                false
            }
            None => false,
        };
        let woken = if is_now { wake.take() } else { None };
        drop(wake);
        if let Some((_, woken)) = woken {
            woken();
        }
    }
}

impl Disk for PausingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.inner.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.before();
        self.inner.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.remove_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.before();
        self.inner.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.inner.lock(path)
    }

    fn now(&self) -> SystemTime {
        self.inner.now()
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }
}
