//! The object store seam: where blocks and the commit log live.
//!
//! [`Objects`] is the little that the store asks of a place to keep things: read, read a part,
//! replace, create if absent, delete, list. [`LocalObjects`] keeps objects as files of a
//! directory, [`S3Objects`] as objects of a bucket; [`open`] picks one by the look of its
//! argument.
//!
//! # Promises
//! - An object is there whole or not at all, and a reader never sees a half-written one.
//! - When a write returns `Ok`, it survives power loss.
//! - What a write that returned an error left behind is unknown: the old state or the new one. To
//!   go on, read, or do the same write again: each of them may be repeated.
//! - Of concurrent [`Objects::put_new`] to one path with different bodies exactly one returns
//!   `true`.
//!
//! # Paths
//! Relative, components joined by `/`, none of them empty or with a leading dot (which covers `.`,
//! `..` and our temporary files), printable ASCII without spaces and backslashes: names that mean
//! the same in a directory and in a bucket. What is not of that form has to be percent-encoded by
//! the caller.

mod failure;
mod handles;
mod local;
mod s3;

use std::{fmt::Debug, io, ops::Range, path::Path, sync::Arc};

use bytes::Bytes;
use kymo_journal::Disk;

pub use local::LocalObjects;
pub use s3::{S3Objects, S3Options};

/// Longest path in bytes. S3 ends at 1,024; the rest is for the prefix in the store's URL.
pub const MAX_PATH_BYTES: usize = 768;

/// Longest component of a path in bytes. File names end at 255; the rest is for what a temporary
/// name adds.
pub const MAX_COMPONENT_BYTES: usize = 200;

/// Where blocks and the commit log live.
///
/// Calls block, on disk or network, and belong on threads that may. They may come from any
/// thread, including those of an async runtime that can afford it.
pub trait Objects: Send + Sync + Debug + 'static {
    /// The whole object.
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError>;

    /// Exactly the bytes of `range`, or [`ObjectsError::OutOfRange`] if the object ends before.
    ///
    /// An empty range gives no bytes, without a look at the object.
    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError>;

    /// The last `len_bytes` bytes, or the whole object if it is shorter.
    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError>;

    /// Creates the object or replaces it.
    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError>;

    /// Creates the object if it is absent; `false` if one with another body is there.
    ///
    /// An object with the same body counts as ours: the only way to tell that a first try whose
    /// answer was lost had arrived. So callers who race make their bodies unique, for example by
    /// a writer's name and a number.
    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError>;

    /// Deletes the object; that it was absent is fine.
    fn delete(&self, path: &str) -> Result<(), ObjectsError>;

    /// All objects below `prefix`, at any depth, sorted by path.
    ///
    /// `prefix` is empty (all) or a path, with or without a `/` at its end; it stands for whole
    /// components: `a/b` finds `a/b/c` and not `a/bc`.
    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError>;

    /// The names, sorted, of the directories directly below `prefix` (as in [`Objects::list`]).
    ///
    /// One may hold nothing: a crash leaves empty directories, as do deletes on some servers.
    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError>;

    /// Which place this is, for messages; without secrets.
    fn describe(&self) -> String;
}

/// The end of an object, from [`Objects::get_tail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The last bytes.
    pub bytes: Bytes,
    /// Size of the whole object.
    pub size_bytes: u64,
}

/// One object, as [`Objects::list`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, in nanoseconds since 1970, by the clock of the disk or of the
    /// bucket (which often counts whole seconds).
    pub modified_nanos: i64,
}

/// Why an object could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// There is no such object.
    #[error("no object at `{path}`")]
    NotFound {
        /// The path asked for.
        path: String,
    },
    /// The object ends before the range does, or the range ends before it starts.
    #[error("the range {start}..{end} is not inside the object `{path}`")]
    OutOfRange {
        /// The object.
        path: String,
        /// First byte asked for.
        start: u64,
        /// End of what was asked for, exclusive.
        end: u64,
    },
    /// The path breaks the rules of the [module](self).
    #[error("invalid object path `{path}`: {reason}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// The store's URL, or a variable that belongs to it, cannot be used.
    #[error("cannot use `{url}` as a store: {reason}")]
    InvalidUrl {
        /// The URL, without what may be a secret.
        url: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The bucket does not exist.
    #[error("the bucket `{bucket}` does not exist: create it, or correct the store's URL")]
    NoBucket {
        /// Its name.
        bucket: String,
    },
    /// The credentials are not accepted or do not allow this.
    #[error(
        "access to `{place}` denied ({detail}): check AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, and that they may read, write, list and delete there"
    )]
    Denied {
        /// The object's full address.
        place: String,
        /// The server's code.
        detail: String,
    },
    /// The server cannot be reached, is overloaded or broken. Later it may work: try again.
    #[error("`{place}` is unavailable ({detail}): check the network and the server, or try later")]
    Unavailable {
        /// The object's full address.
        place: String,
        /// What happened on the last try.
        detail: String,
    },
    /// The server does not do this, now or later.
    #[error("the server refused a request for `{place}`: {detail}")]
    Refused {
        /// The object's full address.
        place: String,
        /// The server's code and what to do.
        detail: String,
    },
    /// The local disk failed.
    #[error("cannot {act} `{path}`: {source}")]
    Io {
        /// What was being done.
        act: &'static str,
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
}

impl ObjectsError {
    /// Whether the object is just not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, ObjectsError::NotFound { .. })
    }

    /// Whether the same call may work later without anyone changing anything.
    pub fn is_retryable(&self) -> bool {
        matches!(self, ObjectsError::Unavailable { .. })
    }
}

/// Opens the store at `url_or_path`: `s3://bucket/prefix`, or the path of a directory on `disk`,
/// which is created if absent.
///
/// Settings of a bucket come from the environment, see [`S3Options`]. Nothing is asked of the
/// server yet: what is wrong with it shows at the first use.
pub fn open(url_or_path: &str, disk: Arc<dyn Disk>) -> Result<Arc<dyn Objects>, ObjectsError> {
    if url_or_path.starts_with("s3://") {
        return Ok(Arc::new(S3Objects::open(url_or_path, &S3Options::from_env())?));
    }
    let reason = if url_or_path.is_empty() {
        "it is empty; use `s3://bucket/prefix` or the path of a directory"
    } else if url_or_path.contains("://") {
        "its scheme is not known; use `s3://bucket/prefix` or the path of a directory"
    } else {
        return Ok(Arc::new(LocalObjects::open(Path::new(url_or_path), disk)?));
    };
    Err(ObjectsError::InvalidUrl { url: without_secrets(url_or_path), reason: reason.into() })
}

/// As [`open`], for who only reads: creates and removes nothing.
pub fn open_read_only(
    url_or_path: &str,
    disk: Arc<dyn Disk>,
) -> Result<Arc<dyn Objects>, ObjectsError> {
    if url_or_path.is_empty() || url_or_path.contains("://") {
        // Opening a bucket changes nothing there.
        return open(url_or_path, disk);
    }
    Ok(Arc::new(LocalObjects::open_read_only(Path::new(url_or_path), disk)))
}

/// `url` without user, password and query, as it may be shown.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

/// Checks the path of an object.
fn check_path(path: &str) -> Result<(), ObjectsError> {
    let reason = if path.len() > MAX_PATH_BYTES {
        "it is too long"
    } else {
        match path.split('/').find_map(|component| component_fault(component).err()) {
            Some(reason) => reason,
            None => return Ok(()),
        }
    };
    Err(ObjectsError::InvalidPath { path: path.to_owned(), reason })
}

/// Checks the prefix of a listing, and gives it without the `/` at its end.
fn check_prefix(prefix: &str) -> Result<&str, ObjectsError> {
    if prefix.is_empty() {
        return Ok(prefix);
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    check_path(prefix)?;
    Ok(prefix)
}

fn component_fault(component: &str) -> Result<(), &'static str> {
    if component.is_empty() {
        return Err("a component is empty");
    }
    if component.starts_with('.') {
        return Err("a component starts with a dot");
    }
    if component.len() > MAX_COMPONENT_BYTES {
        return Err("a component is too long");
    }
    if component.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'\\') {
        return Err("a character is not printable ASCII, or is a space or a backslash");
    }
    Ok(())
}

/// Checks that `range` runs forward; `None` if it is empty and there is nothing to read.
fn check_range(path: &str, range: Range<u64>) -> Result<Option<Range<u64>>, ObjectsError> {
    if range.start > range.end {
        return Err(out_of_range(path, &range));
    }
    Ok((range.start < range.end).then_some(range))
}

fn out_of_range(path: &str, range: &Range<u64>) -> ObjectsError {
    ObjectsError::OutOfRange { path: path.to_owned(), start: range.start, end: range.end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_between_disk_and_bucket_are_invalid() {
        for path in ["a", "a/b.parquet", "t%2Fx/spans/2026-01-02/0-1-L0-n-1-0.parquet", "a..b/c"] {
            check_path(path).unwrap();
        }
        let long_component = "x".repeat(MAX_COMPONENT_BYTES + 1);
        let long_path = "x/".repeat(MAX_PATH_BYTES) + "x";
        for path in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/./b",
            ".a",
            "a\\b",
            "a b",
            "a\nb",
            "ä",
            &long_component,
            &long_path,
        ] {
            let error = check_path(path).unwrap_err();
            assert!(matches!(error, ObjectsError::InvalidPath { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn a_prefix_may_end_with_a_slash_and_may_be_empty() {
        assert_eq!(check_prefix("").unwrap(), "");
        assert_eq!(check_prefix("a/b").unwrap(), "a/b");
        assert_eq!(check_prefix("a/b/").unwrap(), "a/b");
        assert!(check_prefix("/").is_err());
        assert!(check_prefix("a//").is_err());
    }

    #[test]
    fn an_unknown_scheme_is_refused_without_showing_its_password() {
        let disk = Arc::new(kymo_journal::OsDisk);
        let error = open("gs://user:hunter2@bucket/x?token=abc", disk.clone()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("cannot use `gs://bucket/x` as a store"), "{message}");
        assert!(!message.contains("hunter2") && !message.contains("abc"), "{message}");
        assert!(open("", disk).is_err());
    }
}
