//! [`OsDisk`]: the real file system.
//!
//! Promises that a write is complete or an error, and that new directories are durable. Uses gather
//! writes, `fallocate` and `renameat2` where the system has them and plain calls where it has not.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use crate::disk::{DirEntry, Disk, DiskFile, parent};

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Box::new(OsFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if is_read_only(&error) => File::open(path)?,
            other => other?,
        };
        Ok(Box::new(OsFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rename_no_replace(from, to) {
            Err(error) if is_unsupported(&error) => {
                // The link is the atomic part; a crash before the removal leaves both names.
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            other => other,
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let above = parent(dir);
        if above != dir {
            self.create_dir_all(above)?;
        }
        match fs::create_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.sync_dir(above),
        }
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for item in fs::read_dir(dir)? {
            let item = item?;
            let Ok(name) = item.file_name().into_string() else { continue };
            let metadata = match item.metadata() {
                // Removed between the two calls.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let is_dir = metadata.is_dir();
            entries.push(DirEntry {
                name,
                is_dir,
                size_bytes: if is_dir { 0 } else { metadata.len() },
                modified: metadata.modified()?,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(Lock(file))),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> u64 {
        // The standard library seeds its hash maps from the system's entropy.
        RandomState::new().build_hasher().finish()
    }
}

/// A lock on a file. It is let go of rather than left to the end of the last handle: a process
/// that another thread is just starting has one too, until it runs its program.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // If that fails, it ends with the handle.
        let _ = self.0.unlock();
    }
}

struct OsFile(File);

impl DiskFile for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        let mut parts = parts.to_vec();
        let mut rest = &mut parts[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let count = rest.len().min(MAX_PARTS);
            match write_parts(&self.0, &rest[..count], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut rest, written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn preallocate(&self, len_bytes: u64) -> io::Result<()> {
        match reserve(&self.0, len_bytes) {
            Err(error) if is_unsupported(&error) => {
                if self.len()? < len_bytes {
                    self.0.set_len(len_bytes)?;
                }
                Ok(())
            }
            other => other,
        }
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.0.set_len(len_bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

/// Elements of one gather write that every system accepts (`IOV_MAX`).
const MAX_PARTS: usize = 1024;

#[cfg(target_os = "linux")]
fn write_parts(file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pwritev(file, parts, offset)?)
}

#[cfg(not(target_os = "linux"))]
fn write_parts(file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    parts.first().map_or(Ok(0), |part| file.write_at(part, offset))
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, len_bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, len_bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _len_bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_no_replace(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Old kernels and some network file systems answer `EINVAL` for flags they do not know.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
