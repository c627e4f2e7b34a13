//! The seam to the file system: everything the journal and the store's local directory do to files.
//!
//! There are two implementors: [`OsDisk`] and, with the feature `sim`, a simulated disk that loses
//! power. The trait promises no more than POSIX does: what was written is on disk after
//! [`DiskFile::sync_data`], a name is on disk after [`Disk::sync_dir`] of its directory, a rename is
//! atomic. It refuses to hide errors: nothing is retried.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the directory. Names that are not UTF-8 are not listed.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Length of the file; 0 for a directory.
    pub size_bytes: u64,
    /// When the file was last written.
    pub modified: SystemTime,
}

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// Creates a file that must not exist, for reading and writing.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file for reading and, if that is permitted, writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file a new name, atomically, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a new name, atomically; `AlreadyExists` if something has it.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its parents; those that are new are on disk on return.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    /// The names in a directory, sorted; `NotFound` if there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes an exclusive lock on a file, creating it; `WouldBlock` if anyone, also in this
    /// process, holds it. Released when the guard is dropped or the process dies.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// The wall clock.
    fn now(&self) -> SystemTime;
    /// A random number.
    fn random(&self) -> u64;
}

/// An open file.
#[allow(clippy::len_without_is_empty, reason = "a file is not a collection")]
pub trait DiskFile: Send + Sync {
    /// Reads at an offset; may be short, and is 0 only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all parts, one after the other, from an offset on.
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<()>;
    /// Reserves space, so that later writes below `len_bytes` do not run out of it. The file is at
    /// least that long afterwards, the new part zeros. Where the file system cannot reserve, the
    /// file only gets longer.
    fn preallocate(&self, len_bytes: u64) -> io::Result<()>;
    /// Cuts the file, or lengthens it with zeros.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;
    /// Makes contents and length durable. After an error it is unknown what is on disk, and calling
    /// it again tells nothing.
    fn sync_data(&self) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
}

/// Reads until `buf` is full or the file ends; returns how much was read.
pub fn read_full_at(file: &dyn DiskFile, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buf.len() {
        match file.read_at(&mut buf[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The whole contents of a file.
pub fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let len = usize::try_from(file.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; len];
    let read = read_full_at(file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Replaces a file as a whole: after a crash there is either the old one or the new one.
///
/// The temporary file is `<path>.tmp`; one that is left over from a crash is overwritten.
pub fn write_atomically(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(disk, path, bytes)?;
    disk.rename(&temporary, path)?;
    disk.sync_dir(parent(path))
}

/// Like [`write_atomically`] but leaves a file alone that already exists; says whether it wrote.
pub fn write_if_absent(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let temporary = write_temporary(disk, path, bytes)?;
    match disk.rename_new(&temporary, path) {
        Ok(()) => disk.sync_dir(parent(path)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(&temporary)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn write_temporary(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let file = match disk.create(&temporary) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(&temporary)?;
            disk.create(&temporary)?
        }
        other => other?,
    };
    let written = file.write_at(&[IoSlice::new(bytes)], 0).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // Leaves no half of a file behind on a full disk; the first error is the one that counts.
        let _ = disk.remove(&temporary);
        return Err(error);
    }
    Ok(temporary)
}

/// The directory a path is in.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

pub use crate::os::OsDisk;
