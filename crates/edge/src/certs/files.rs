//! The directory of an authority: files that appear whole, under a lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::CertsError;

/// A file to be written.
pub(super) struct Output {
    pub(super) name: String,
    pub(super) content: String,
    /// Whether it is a key.
    pub(super) is_secret: bool,
}

/// A directory that nobody else changes while this is there.
pub(super) struct Directory {
    path: PathBuf,
    /// The directory itself, locked.
    _lock: File,
}

impl Directory {
    /// Makes it if needed, for its owner alone.
    pub(super) fn create(path: &Path) -> Result<Self, CertsError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|source| failed(path, source))?;
        Self::open(path)
    }

    /// One that is there. Waits for others.
    pub(super) fn open(path: &Path) -> Result<Self, CertsError> {
        let lock = match File::open(path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CertsError::NoAuthority { directory: path.to_owned() });
            }
            Err(source) => return Err(failed(path, source)),
        };
        lock.lock().map_err(|source| failed(path, source))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file as text; an authority is missing if it is.
    pub(super) fn read(&self, name: &str, limit_bytes: u64) -> Result<String, CertsError> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CertsError::NoAuthority { directory: self.path.clone() });
            }
            Err(source) => return Err(failed(&path, source)),
        };
        let mut text = String::new();
        let read = file.take(limit_bytes + 1).read_to_string(&mut text);
        read.map_err(|source| failed(&path, source))?;
        if text.len() as u64 > limit_bytes {
            let why = format!("it is larger than {limit_bytes} bytes");
            return Err(CertsError::Foreign { path, why });
        }
        Ok(text)
    }

    /// Refuses to go on if one of these is there and must stay.
    pub(super) fn are_free(&self, outputs: &[Output], overwrites: bool) -> Result<(), CertsError> {
        let mut paths = outputs.iter().map(|output| self.path(&output.name));
        match paths.find(|path| !overwrites && path.symlink_metadata().is_ok()) {
            Some(path) => Err(CertsError::Exists { path }),
            None => Ok(()),
        }
    }

    /// Writes all, or none if one is there that must stay. Each appears whole.
    pub(super) fn write(
        &self,
        outputs: &[Output],
        overwrites: bool,
    ) -> Result<Vec<PathBuf>, CertsError> {
        self.are_free(outputs, overwrites)?;
        outputs.iter().map(|output| self.write_one(output)).collect()
    }

    fn write_one(&self, output: &Output) -> Result<PathBuf, CertsError> {
        let path = self.path(&output.name);
        let beside = self.path(&format!(".{}.new", output.name));
        let write = || -> io::Result<()> {
            // One that a crash has left may have other permissions.
            match fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mode = if output.is_secret { 0o600 } else { 0o644 };
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
            file.write_all(output.content.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            // The name is durable when the directory is.
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|source| failed(&path, source))?;
        Ok(path)
    }
}

fn failed(path: &Path, source: io::Error) -> CertsError {
    CertsError::Io { path: path.to_owned(), source }
}
