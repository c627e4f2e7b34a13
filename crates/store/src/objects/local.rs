//! Objects as files of a directory.
//!
//! A write goes to a temporary file `.<name>.<process>-<number>.tmp` beside its destination, is
//! synced, renamed, and then the directory is synced. Whoever lists sees only whole objects. The
//! temporary files that a crash leaves are removed when the directory is opened; a lock on the
//! data directory, held elsewhere, sees to it that no other process is writing meanwhile.
//!
//! If the last step, the sync of the directory, fails, the object is visible and may yet be lost
//! by power failure: the write returns an error. A [`put_new`](Objects::put_new) that finds an
//! object there syncs the directory before it answers, so that nobody builds on what may vanish,
//! and so that the repetition of such a failed write ends well.

use std::{
    collections::HashSet,
    fmt,
    io::{self, ErrorKind, IoSlice},
    ops::Range,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use kymo_journal::{Disk, DiskFile, disk};

use super::{
    ObjectInfo, Objects, ObjectsError, Tail, check_path, check_prefix, check_range,
    handles::Handles, out_of_range,
};

/// Tries to create a file whose directory a delete just removed for being empty. Each try makes
/// the directory anew, and losing the race even twice is a curiosity.
const CREATE_ATTEMPTS: usize = 8;

/// Objects as files below one directory.
pub struct LocalObjects {
    root: PathBuf,
    disk: Arc<dyn Disk>,
    is_read_only: bool,
    handles: Handles,
    /// Directories below `root` whose names are known to be on disk. One that merely exists may
    /// have been made by a thread, or before a crash by a process, that did not get to its sync.
    /// The lock is held while directories are made or removed, so that the set is true.
    durable_dirs: Mutex<HashSet<String>>,
}

impl LocalObjects {
    /// Opens the directory `root`, created if absent, and removes the temporary files in it.
    pub fn open(root: &Path, disk: Arc<dyn Disk>) -> Result<LocalObjects, ObjectsError> {
        disk.create_dir_all(root).map_err(failed("create the directory", root))?;
        let objects = LocalObjects { is_read_only: false, ..Self::open_read_only(root, disk) };
        let mut unsynced = HashSet::new();
        objects.walk("", &mut |found| {
            if found.is_temporary {
                return objects.remove_if_there(&objects.file(&found.path));
            }
            if !found.path.ends_with(".parquet") {
                unsynced.insert(found.path.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned());
            }
            Ok(())
        })?;
        objects.sync_found(&unsynced)?;
        Ok(objects)
    }

    /// The directory `root` as it is, for who only looks, perhaps while another process writes:
    /// nothing is created or removed, and writing is refused. Reads any file below `root`,
    /// whatever its name.
    pub fn open_read_only(root: &Path, disk: Arc<dyn Disk>) -> LocalObjects {
        LocalObjects {
            root: root.to_owned(),
            disk,
            is_read_only: true,
            handles: Handles::default(),
            durable_dirs: Mutex::default(),
        }
    }

    /// Checks the path of an object that is read.
    fn check_readable(&self, path: &str) -> Result<(), ObjectsError> {
        if self.is_read_only { Ok(()) } else { check_path(path) }
    }

    /// Checks the path of an object that is changed.
    fn check_writable(&self, path: &str) -> Result<(), ObjectsError> {
        if !self.is_read_only {
            return check_path(path);
        }
        let place = self.file(path).display().to_string();
        Err(ObjectsError::Refused { place, detail: "it was opened for reading only".into() })
    }

    /// Makes durable what was found in these directories.
    ///
    /// A process that was killed between a rename and the sync of its directory leaves an object
    /// that can be read and that power loss can still take. Nobody must build on it before it is
    /// synced. Blocks need not be looked after: what names them is written after their sync.
    fn sync_found(&self, dirs: &HashSet<String>) -> Result<(), ObjectsError> {
        for dir in dirs {
            let place = self.file(dir);
            match self.disk.sync_dir(&place) {
                // Where nothing can be written, nothing can be built on it either.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied
                    ) => {}
                synced => synced.map_err(failed("sync the directory", &place))?,
            }
        }
        Ok(())
    }

    fn file(&self, path: &str) -> PathBuf {
        match path {
            "" => self.root.clone(),
            _ => self.root.join(path),
        }
    }

    fn open_file(&self, path: &str) -> Result<Arc<dyn DiskFile>, ObjectsError> {
        self.check_readable(path)?;
        self.disk
            .open(&self.file(path))
            .map(Arc::from)
            .map_err(|error| self.unreadable(path, error))
    }

    /// As [`LocalObjects::open_file`], for many small reads of one file.
    ///
    /// Only blocks are kept open: their content never changes, while other objects are replaced.
    fn open_cached(&self, path: &str) -> Result<Arc<dyn DiskFile>, ObjectsError> {
        if !path.ends_with(".parquet") {
            return self.open_file(path);
        }
        let (cached, epoch) = self.handles.get(path);
        if let Some(file) = cached {
            return Ok(file);
        }
        let file = self.open_file(path)?;
        self.handles.keep(path, &file, epoch);
        Ok(file)
    }

    /// Writes `body` to a temporary file next to `path`, synced, and gives its place.
    fn write_temporary(&self, path: &str, body: &[u8]) -> Result<PathBuf, ObjectsError> {
        let (temporary, file) = self.create_temporary(path)?;
        let write = || {
            if !body.is_empty() {
                file.write_at(&[IoSlice::new(body)], 0)?;
            }
            file.sync_data()
        };
        write().map_err(|source| {
            self.discard(&temporary);
            failed("write", &temporary)(source)
        })?;
        Ok(temporary)
    }

    fn create_temporary(&self, path: &str) -> Result<(PathBuf, Box<dyn DiskFile>), ObjectsError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.file(dir).join(format!(".{name}.{}-{number}.tmp", process::id()));
        let mut attempts = 0;
        loop {
            attempts += 1;
            self.make_dirs(dir)?;
            match self.disk.create(&temporary) {
                Ok(file) => return Ok((temporary, file)),
                Err(error) if error.kind() == ErrorKind::NotFound && attempts < CREATE_ATTEMPTS => {
                }
                Err(error) => return Err(failed("create", &temporary)(error)),
            }
        }
    }

    /// Creates `dir` and those above it, durably.
    fn make_dirs(&self, dir: &str) -> Result<(), ObjectsError> {
        let mut durable = self.lock_dirs();
        if dir.is_empty() || durable.contains(dir) {
            return Ok(());
        }
        let ends = dir.match_indices('/').map(|(end, _)| end).chain([dir.len()]);
        for path in ends.map(|end| &dir[..end]) {
            if durable.contains(path) {
                continue;
            }
            let place = self.file(path);
            self.disk.create_dir_all(&place).map_err(failed("create the directory", &place))?;
            self.sync_parent(path)?;
            durable.insert(path.to_owned());
        }
        Ok(())
    }

    /// Removes the directories above `path` that a delete left empty, for a bucket has none such.
    fn remove_empty_dirs(&self, path: &str) {
        let mut durable = self.lock_dirs();
        let mut child = path;
        while let Some((dir, _)) = child.rsplit_once('/') {
            // If it fails, then most often because the directory is not empty: the disk knows.
            if self.disk.remove_dir(&self.file(dir)).is_err() {
                return;
            }
            durable.remove(dir);
            child = dir;
        }
    }

    fn lock_dirs(&self) -> MutexGuard<'_, HashSet<String>> {
        // An entry is added or removed after the fact, in one step.
        self.durable_dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a temporary file after a failure that is reported anyway; if even that fails, the
    /// next start removes it.
    fn discard(&self, temporary: &Path) {
        if let Err(error) = self.disk.remove(temporary) {
            tracing::debug!(file = %temporary.display(), %error, "a temporary file stays behind");
        }
    }

    /// Makes the name `path` durable, or its absence.
    fn sync_parent(&self, path: &str) -> Result<(), ObjectsError> {
        let dir = self.file(path.rsplit_once('/').map_or("", |(dir, _)| dir));
        match self.disk.sync_dir(&dir) {
            // A delete has emptied the directory and removed it: nothing in it is left to sync.
            Err(error) if is_absence(&error) => Ok(()),
            synced => synced.map_err(failed("sync the directory", &dir)),
        }
    }

    fn remove_if_there(&self, file: &Path) -> Result<(), ObjectsError> {
        match self.disk.remove(file) {
            Err(error) if !is_absence(&error) => Err(failed("remove", file)(error)),
            _ => Ok(()),
        }
    }

    /// Calls `visit` for every file below `prefix`, directories in order of their names.
    fn walk(
        &self,
        prefix: &str,
        visit: &mut dyn FnMut(Found) -> Result<(), ObjectsError>,
    ) -> Result<(), ObjectsError> {
        let dir = self.file(prefix);
        let entries = match self.disk.list(&dir) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => return Ok(()),
            Err(error) => return Err(failed("list", &dir)(error)),
        };
        for entry in entries {
            let path = join(prefix, &entry.name);
            if entry.is_dir {
                self.walk(&path, visit)?;
                continue;
            }
            visit(Found {
                path,
                is_temporary: entry.name.starts_with('.') && entry.name.ends_with(".tmp"),
                is_object: check_path(&entry.name).is_ok(),
                size_bytes: entry.size_bytes,
                modified: entry.modified,
            })?;
        }
        Ok(())
    }

    /// Turns the failure of a read into ours; a path that leads to or through something that is
    /// not a file leads to no object.
    fn unreadable(&self, path: &str, error: io::Error) -> ObjectsError {
        if is_absence(&error) {
            return ObjectsError::NotFound { path: path.to_owned() };
        }
        failed("read", &self.file(path))(error)
    }

    fn read(
        &self,
        path: &str,
        file: &dyn DiskFile,
        range: Range<u64>,
    ) -> Result<Bytes, ObjectsError> {
        let too_large = |_| out_of_range(path, &range);
        let len = usize::try_from(range.end - range.start).map_err(too_large)?;
        let mut buffer = vec![0; len];
        let read = disk::read_full_at(file, &mut buffer, range.start)
            .map_err(|error| self.unreadable(path, error))?;
        if read < len {
            return Err(out_of_range(path, &range));
        }
        Ok(buffer.into())
    }

    fn len(&self, path: &str, file: &dyn DiskFile) -> Result<u64, ObjectsError> {
        file.len().map_err(|error| self.unreadable(path, error))
    }
}

impl Objects for LocalObjects {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        let file = self.open_file(path)?;
        let size_bytes = self.len(path, &*file)?;
        self.read(path, &*file, 0..size_bytes)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        self.check_readable(path)?;
        let Some(range) = check_range(path, range)? else {
            return Ok(Bytes::new());
        };
        let file = self.open_cached(path)?;
        // Before memory is set aside for what may be nonsense.
        if range.end > self.len(path, &*file)? {
            return Err(out_of_range(path, &range));
        }
        self.read(path, &*file, range)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        self.check_readable(path)?;
        let file = self.open_cached(path)?;
        let size_bytes = self.len(path, &*file)?;
        let start = size_bytes.saturating_sub(len_bytes);
        Ok(Tail { bytes: self.read(path, &*file, start..size_bytes)?, size_bytes })
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        self.check_writable(path)?;
        let temporary = self.write_temporary(path, &body)?;
        let destination = self.file(path);
        self.disk.rename(&temporary, &destination).map_err(|error| {
            self.discard(&temporary);
            failed("write", &destination)(error)
        })?;
        self.handles.forget(path);
        self.sync_parent(path)
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        self.check_writable(path)?;
        let temporary = self.write_temporary(path, &body)?;
        let destination = self.file(path);
        match self.disk.rename_new(&temporary, &destination) {
            Ok(()) => {
                self.sync_parent(path)?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.discard(&temporary);
                self.sync_parent(path)?;
                match self.get(path) {
                    // Deleted since: that it was there is all that can be said.
                    Err(ObjectsError::NotFound { .. }) => Ok(false),
                    existing => Ok(existing? == body),
                }
            }
            Err(error) => {
                self.discard(&temporary);
                Err(failed("write", &destination)(error))
            }
        }
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        self.check_writable(path)?;
        self.remove_if_there(&self.file(path))?;
        self.handles.forget(path);
        self.sync_parent(path)?;
        self.remove_empty_dirs(path);
        Ok(())
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        let mut objects = Vec::new();
        self.walk(check_prefix(prefix)?, &mut |found| {
            if found.is_object {
                objects.push(ObjectInfo {
                    path: found.path,
                    size_bytes: found.size_bytes,
                    modified_nanos: nanos(found.modified),
                });
            }
            Ok(())
        })?;
        // Not the order of the walk: `a-b` sorts before `a/b`, and `a` before both.
        objects.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(objects)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        let dir = self.file(check_prefix(prefix)?);
        match self.disk.list(&dir) {
            Ok(mut entries) => {
                entries.retain(|entry| entry.is_dir && check_path(&entry.name).is_ok());
                Ok(entries.into_iter().map(|entry| entry.name).collect())
            }
            Err(error) if is_absence(&error) => Ok(Vec::new()),
            Err(error) => Err(failed("list", &dir)(error)),
        }
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

impl fmt::Debug for LocalObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalObjects").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A file that a walk came by.
struct Found {
    path: String,
    is_temporary: bool,
    is_object: bool,
    size_bytes: u64,
    modified: SystemTime,
}

fn join(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        _ => format!("{prefix}/{name}"),
    }
}

/// Whether `error` says that there is no file at a path, or that the path cannot lead to one.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

fn failed(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ObjectsError {
    let path = path.display().to_string();
    move |source| ObjectsError::Io { act, path, source }
}

fn nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use kymo_journal::OsDisk;

    use super::super::handles::CACHED_HANDLES;

    use super::*;

    fn open(root: &Path) -> LocalObjects {
        LocalObjects::open(root, Arc::new(OsDisk)).unwrap()
    }

    fn handles(objects: &LocalObjects) -> usize {
        objects.handles.len()
    }

    #[test]
    fn stale_temporary_files_are_removed_at_open_and_never_listed() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        objects.put("a/b", Bytes::from_static(b"kept")).unwrap();
        let stale = dir.path().join("a/.b.1-2.tmp");
        fs::write(&stale, b"half").unwrap();
        fs::write(dir.path().join(".lock"), b"not ours").unwrap();

        let listed = objects.list("").unwrap();
        assert_eq!(listed.iter().map(|info| &*info.path).collect::<Vec<_>>(), ["a/b"]);

        let objects = open(dir.path());
        assert!(!stale.exists());
        assert!(dir.path().join(".lock").exists());
        assert_eq!(objects.get("a/b").unwrap(), &b"kept"[..]);
    }

    #[test]
    fn who_only_reads_leaves_everything_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a b/c")).unwrap();
        fs::write(dir.path().join("a b/c/x y.parquet"), b"0123456789").unwrap();
        fs::write(dir.path().join("node"), b"n").unwrap();
        let half = dir.path().join("a b/.x.parquet.1-0.tmp");
        fs::write(&half, b"half").unwrap();
        let objects = LocalObjects::open_read_only(dir.path(), Arc::new(OsDisk));
        assert_eq!(&objects.get_range("a b/c/x y.parquet", 2..4).unwrap()[..], b"23");
        assert_eq!(&objects.get_tail("a b/c/x y.parquet", 3).unwrap().bytes[..], b"789");
        assert_eq!(&objects.get("node").unwrap()[..], b"n");
        assert!(objects.get("nothing").unwrap_err().is_not_found());
        assert_eq!(objects.list("").unwrap().len(), 1, "other files are no objects");
        assert!(objects.list("absent").unwrap().is_empty());
        let refused = |result: Result<(), ObjectsError>| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("opened for reading only"), "{error}");
        };
        refused(objects.delete("node"));
        refused(objects.put("y", Bytes::new()));
        refused(objects.put_new("y", Bytes::new()).map(drop));
        assert!(half.exists() && !dir.path().join("y").exists());
        let absent = dir.path().join("absent");
        let objects = LocalObjects::open_read_only(&absent, Arc::new(OsDisk));
        assert!(objects.list("").unwrap().is_empty() && !absent.exists());
    }

    #[test]
    fn writes_leave_no_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        objects.put("x", Bytes::from_static(b"1")).unwrap();
        assert!(!objects.put_new("x", Bytes::from_static(b"2")).unwrap());
        fs::create_dir(dir.path().join("d")).unwrap();
        assert!(objects.put("d", Bytes::from_static(b"3")).is_err());
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn the_last_delete_removes_the_directories() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        objects.put("a/b/c", Bytes::new()).unwrap();
        objects.put("a/d", Bytes::new()).unwrap();
        objects.delete("a/b/c").unwrap();
        assert!(objects.list_dirs("a").unwrap().is_empty());
        objects.delete("a/d").unwrap();
        assert!(objects.list_dirs("").unwrap().is_empty());
        assert!(dir.path().exists());
    }

    #[test]
    fn writers_and_deleters_of_one_directory_do_not_trip_over_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let objects = &objects;
                scope.spawn(move || {
                    for _ in 0..50 {
                        let path = format!("a/b/{writer}");
                        objects.put(&path, Bytes::from_static(b"x")).unwrap();
                        objects.delete(&path).unwrap();
                    }
                });
            }
        });
        assert!(objects.list("").unwrap().is_empty());
    }

    #[test]
    fn handles_of_blocks_are_kept_up_to_a_bound_and_dropped_when_the_block_changes() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        for number in 0..CACHED_HANDLES + 3 {
            let path = format!("{number}.parquet");
            objects.put(&path, Bytes::from_static(b"old")).unwrap();
            assert_eq!(objects.get_range(&path, 1..3).unwrap(), &b"ld"[..]);
        }
        assert_eq!(handles(&objects), CACHED_HANDLES);

        objects.put("9.parquet", Bytes::from_static(b"new")).unwrap();
        assert_eq!(handles(&objects), CACHED_HANDLES - 1);
        assert_eq!(objects.get_range("9.parquet", 0..3).unwrap(), &b"new"[..]);

        objects.delete("9.parquet").unwrap();
        assert!(objects.get_range("9.parquet", 0..3).unwrap_err().is_not_found());
        assert_eq!(handles(&objects), CACHED_HANDLES - 1);
    }

    #[test]
    fn a_handle_opened_before_a_replacement_is_not_kept_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        objects.put("b.parquet", Bytes::from_static(b"old")).unwrap();
        let (_, epoch) = objects.handles.get("b.parquet");
        let old = objects.open_file("b.parquet").unwrap();
        objects.put("b.parquet", Bytes::from_static(b"new")).unwrap();
        objects.handles.keep("b.parquet", &old, epoch);
        assert_eq!(objects.get_range("b.parquet", 0..3).unwrap(), &b"new"[..]);
    }

    #[test]
    fn objects_that_are_replaced_are_not_kept_open() {
        let dir = tempfile::tempdir().unwrap();
        let objects = open(dir.path());
        objects.put("nodes/n1", Bytes::from_static(b"abc")).unwrap();
        objects.get_range("nodes/n1", 0..3).unwrap();
        assert_eq!(handles(&objects), 0);
    }

    #[test]
    fn times_before_1970_are_negative() {
        assert_eq!(nanos(UNIX_EPOCH + Duration::from_nanos(5)), 5);
        assert_eq!(nanos(UNIX_EPOCH - Duration::from_nanos(5)), -5);
    }
}
