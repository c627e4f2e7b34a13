//! A directory that is only looked at.
//!
//! The store's own view of a directory belongs to whoever writes there: opening it creates the
//! directory and removes the temporary files of a crash. A command that inspects must change
//! nothing, since a server may be writing at the same moment, and must not walk through whatever
//! else lies beside a block. It also takes file names as they are, with spaces and all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use kymo_store::objects::{ObjectInfo, Objects, ObjectsError, Tail};

/// Files below a directory, for reading.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn file(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn open(&self, path: &str) -> Result<(File, u64), ObjectsError> {
        let failed = |error| self.failed("read", path, error);
        let file = File::open(self.file(path)).map_err(failed)?;
        let size_bytes = file.metadata().map_err(failed)?.len();
        Ok((file, size_bytes))
    }

    fn failed(&self, act: &'static str, path: &str, source: io::Error) -> ObjectsError {
        match source.kind() {
            ErrorKind::NotFound => ObjectsError::NotFound { path: path.to_owned() },
            _ => ObjectsError::Io { act, path: self.file(path).display().to_string(), source },
        }
    }

    fn read(&self, path: &str, file: &mut File, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let read = bytes
            .try_reserve_exact(length)
            .map_err(|_| ErrorKind::OutOfMemory.into())
            .and_then(|()| file.seek(SeekFrom::Start(range.start)))
            .and_then(|_| file.take(length as u64).read_to_end(&mut bytes));
        read.map_err(|error| self.failed("read", path, error))?;
        if bytes.len() != length {
            return Err(out_of_range(path, &range));
        }
        Ok(bytes.into())
    }

    /// Calls `each` with every file below a directory and its path.
    fn walk(&self, dir: &str, found: &mut Vec<ObjectInfo>) -> Result<(), ObjectsError> {
        for (name, is_dir) in self.names(dir)? {
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            if is_dir {
                self.walk(&path, found)?;
                continue;
            }
            let metadata = match fs::metadata(self.file(&path)) {
                Ok(metadata) => metadata,
                // Deleted since the directory was read.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(self.failed("read", &path, error)),
            };
            let since = metadata.modified().ok().and_then(|m| m.duration_since(UNIX_EPOCH).ok());
            let modified = since.unwrap_or_default().as_nanos();
            found.push(ObjectInfo {
                path,
                size_bytes: metadata.len(),
                modified_nanos: i64::try_from(modified).unwrap_or(i64::MAX),
            });
        }
        Ok(())
    }

    /// Names in a directory that can be objects, and whether they are directories.
    fn names(&self, dir: &str) -> Result<Vec<(String, bool)>, ObjectsError> {
        let failed = |error| self.failed("list", dir, error);
        let entries = match fs::read_dir(self.file(dir)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if let Ok(name) = entry.file_name().into_string()
                && !name.starts_with('.')
            {
                names.push((name, entry.path().is_dir()));
            }
        }
        names.sort();
        Ok(names)
    }

    fn refused(&self, path: &str) -> ObjectsError {
        let place = self.file(path).display().to_string();
        ObjectsError::Refused { place, detail: "it was opened for reading only".into() }
    }
}

impl Objects for Files {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        let (mut file, size_bytes) = self.open(path)?;
        self.read(path, &mut file, 0..size_bytes)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        if range.start == range.end {
            return Ok(Bytes::new());
        }
        let (mut file, size_bytes) = self.open(path)?;
        if range.start > range.end || range.end > size_bytes {
            return Err(out_of_range(path, &range));
        }
        self.read(path, &mut file, range)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        let (mut file, size_bytes) = self.open(path)?;
        let range = size_bytes.saturating_sub(len_bytes)..size_bytes;
        Ok(Tail { bytes: self.read(path, &mut file, range)?, size_bytes })
    }

    fn put(&self, path: &str, _body: Bytes) -> Result<(), ObjectsError> {
        Err(self.refused(path))
    }

    fn put_new(&self, path: &str, _body: Bytes) -> Result<bool, ObjectsError> {
        Err(self.refused(path))
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        Err(self.refused(path))
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        let mut found = Vec::new();
        self.walk(prefix.trim_end_matches('/'), &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        let names = self.names(prefix.trim_end_matches('/'))?;
        Ok(names.into_iter().filter(|(_, is_dir)| *is_dir).map(|(name, _)| name).collect())
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

fn out_of_range(path: &str, range: &Range<u64>) -> ObjectsError {
    ObjectsError::OutOfRange { path: path.to_owned(), start: range.start, end: range.end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_listed_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a b/c")).unwrap();
        fs::write(dir.path().join("a b/c/x.parquet"), b"0123456789").unwrap();
        fs::write(dir.path().join("a b/.x.parquet.1-0.tmp"), b"half").unwrap();
        let files = Files::new(dir.path());
        assert_eq!(&files.get_range("a b/c/x.parquet", 2..4).unwrap()[..], b"23");
        assert_eq!(&files.get_tail("a b/c/x.parquet", 3).unwrap().bytes[..], b"789");
        assert_eq!(files.get_tail("a b/c/x.parquet", 99).unwrap().bytes.len(), 10);
        assert!(matches!(
            files.get_range("a b/c/x.parquet", 5..11),
            Err(ObjectsError::OutOfRange { .. })
        ));
        assert!(files.get("nothing").unwrap_err().is_not_found());
        assert_eq!(files.list("").unwrap()[0].path, "a b/c/x.parquet");
        assert_eq!(files.list("").unwrap().len(), 1, "temporary files are not objects");
        assert_eq!(files.list_dirs("").unwrap(), ["a b"]);
        assert!(files.list("absent").unwrap().is_empty());
        assert!(files.delete("a b/c/x.parquet").is_err());
        assert!(files.put("y", Bytes::new()).is_err());
        assert!(dir.path().join("a b/.x.parquet.1-0.tmp").exists());
    }
}
