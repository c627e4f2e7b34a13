//! What can go wrong, in words for the person who has to do something about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An error of the journal. It can be cloned: one failed sync is the answer to many requests.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A consumer with back-pressure lags too far, or too much waits for the disk.
    #[error("the journal is busy: its consumers or its disk are behind; try again in {} s", .retry_after.as_secs())]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// No space. Nothing acknowledged is lost; appends work again once there is room.
    #[error("disk full: no room for the journal in {}; free some space", .dir.display())]
    DiskFull {
        /// The journal's directory.
        dir: PathBuf,
    },
    /// Another process, or another handle in this one, has the journal open.
    #[error("the journal in {} is in use by another process", .dir.display())]
    InUse {
        /// The journal's directory.
        dir: PathBuf,
    },
    /// The directory cannot be written to.
    #[error("the journal directory {} is read-only; make it writable for this user", .dir.display())]
    ReadOnlyDirectory {
        /// The journal's directory.
        dir: PathBuf,
    },
    /// The journal was opened with `open_read_only`.
    #[error("the journal was opened for reading only")]
    OpenedReadOnly,
    /// A file of a later format.
    #[error("{} was written by a newer version (format {version}, this program knows up to {supported}); use the newer program", .path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The format it has.
        version: u16,
        /// The newest format that is understood here.
        supported: u16,
    },
    /// A segment that was copied in from elsewhere.
    #[error("{} belongs to another journal; move it out of the directory", .path.display())]
    ForeignSegment {
        /// The file.
        path: PathBuf,
    },
    /// A body beyond the limit.
    #[error(
        "request of {size_bytes} bytes is larger than the {limit_bytes} bytes a record can hold"
    )]
    TooLarge {
        /// What was to be appended.
        size_bytes: u64,
        /// What is possible.
        limit_bytes: u64,
    },
    /// A tenant name beyond the limit.
    #[error("tenant name of {size_bytes} bytes is longer than {limit_bytes} bytes")]
    TenantTooLong {
        /// What was to be appended.
        size_bytes: u64,
        /// What is possible.
        limit_bytes: u64,
    },
    /// No consumer has registered this name.
    #[error("no cursor is named {name:?}; register it first")]
    UnknownCursor {
        /// The name.
        name: String,
    },
    /// Too many cursors, or one with an impossible name.
    #[error(
        "cursor {name:?} refused: a name has 1 to 256 bytes, and a journal at most 1024 cursors"
    )]
    BadCursor {
        /// The name.
        name: String,
    },
    /// A position no journal can have.
    #[error("position {position} is beyond what a journal can hold")]
    BadPosition {
        /// The position.
        position: u64,
    },
    /// The journal has been closed.
    #[error("the journal is closed")]
    Closed,
    /// The disk said no.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

impl Error {
    /// Wraps what the system said, with what was tried.
    pub(crate) fn io(action: &'static str, path: &Path, error: io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), source: Arc::new(error) }
    }

    /// Whether a file was not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Says "disk full" or "read-only" instead of the system's words where that is the reason.
    pub(crate) fn in_dir(self, dir: &Path) -> Error {
        let Error::Io { source, .. } = &self else { return self };
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::DiskFull { dir: dir.to_owned() }
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Error::ReadOnlyDirectory { dir: dir.to_owned() }
            }
            _ => self,
        }
    }
}

/// The result of a journal operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;
