//! Objects of a directory whose calls are counted, and can be made to fail, hang or tell somebody.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kymo_journal::OsDisk;
use kymo_store::objects::{LocalObjects, ObjectInfo, Objects, ObjectsError, Tail};

/// Called before a write; false makes it fail.
type OnPut = Box<dyn FnMut(&str) -> bool + Send>;

/// The objects.
pub struct Watched {
    inner: LocalObjects,
    on_put: Mutex<Option<OnPut>>,
    /// Creations whose answers are lost.
    pub answers_to_lose: AtomicUsize,
    /// Objects read.
    pub gets: AtomicUsize,
    /// Prefixes listed, with everything below.
    pub lists: AtomicUsize,
    /// Directories listed.
    pub dir_lists: AtomicUsize,
}

impl Watched {
    /// Those of a data directory.
    pub fn open(dir: &Path) -> Arc<Watched> {
        Arc::new(Watched {
            inner: LocalObjects::open(&dir.join("blocks"), Arc::new(OsDisk)).unwrap(),
            on_put: Mutex::new(None),
            answers_to_lose: AtomicUsize::new(0),
            gets: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            dir_lists: AtomicUsize::new(0),
        })
    }

    /// Calls `on_put` before every write; false makes it fail.
    pub fn on_put(&self, on_put: impl FnMut(&str) -> bool + Send + 'static) {
        *self.on_put.lock().unwrap() = Some(Box::new(on_put));
    }

    /// No longer.
    pub fn calm(&self) {
        *self.on_put.lock().unwrap() = None;
    }

    /// Reads, lists and lists of directories since the last call.
    pub fn take_counts(&self) -> (usize, usize, usize) {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        (take(&self.gets), take(&self.lists), take(&self.dir_lists))
    }

    /// Files of blocks.
    pub fn files(&self) -> Vec<String> {
        let infos = self.inner.list("").unwrap().into_iter();
        infos.map(|info| info.path).filter(|path| path.ends_with(".parquet")).collect()
    }

    fn before_put(&self, path: &str) -> Result<(), ObjectsError> {
        // Taken out, so that a write that hangs does not hold the lock.
        let hook = self.on_put.lock().unwrap().take();
        let Some(mut hook) = hook else { return Ok(()) };
        let may = hook(path);
        self.on_put.lock().unwrap().get_or_insert(hook);
        if may { Ok(()) } else { Err(unavailable(path)) }
    }
}

fn unavailable(path: &str) -> ObjectsError {
    ObjectsError::Unavailable { place: path.into(), detail: "test".into() }
}

impl Objects for Watched {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.inner.get(path)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.inner.get_range(path, range)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.inner.get_tail(path, len_bytes)
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        self.before_put(path)?;
        self.inner.put(path, body)
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        self.before_put(path)?;
        let created = self.inner.put_new(path, body)?;
        let left = self.answers_to_lose.load(Ordering::Relaxed);
        self.answers_to_lose.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 { Ok(created) } else { Err(unavailable(path)) }
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        self.inner.delete(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.inner.list(prefix)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        self.dir_lists.fetch_add(1, Ordering::Relaxed);
        self.inner.list_dirs(prefix)
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}
