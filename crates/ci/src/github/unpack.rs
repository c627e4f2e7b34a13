//! Unpacking zip files that strangers made: an artifact may come from a pull request.
//!
//! Entries are plain files and directories below the one that is unpacked to. What would lead
//! elsewhere (absolute paths, `..`, links), what is there twice and what is too large by itself is
//! skipped with a warning. What is broken, or too much as a whole, is an error. Sizes are those
//! that come out, whatever the file says of itself. Permissions and times are not kept.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive,
    ZipFileHeaderRecord,
};

use super::artifact::unwritable;
use super::error::GitHubError;
use super::limits::{
    MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_NAMED_SKIPS, MAX_SHOWN_NAME_CHARS, MAX_UNPACKED_BYTES,
    MAX_ZIP_DIRECTORY_BYTES,
};
use super::names::{entry_fault, entry_path};
use crate::warnings::Warnings;

/// How much is unpacked at most. Tests set less than the limits are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    directory_bytes: u64,
    entries: usize,
    entry_bytes: u64,
    unpacked_bytes: u64,
}

/// What is unpacked, and until when.
#[derive(Debug)]
pub(super) struct Unpacking<'a> {
    artifact: &'a str,
    deadline: Instant,
    bounds: Bounds,
}

impl<'a> Unpacking<'a> {
    pub(super) fn new(artifact: &'a str, deadline: Instant) -> Self {
        let bounds = Bounds {
            directory_bytes: MAX_ZIP_DIRECTORY_BYTES,
            entries: MAX_ENTRIES,
            entry_bytes: MAX_ENTRY_BYTES,
            unpacked_bytes: MAX_UNPACKED_BYTES,
        };
        Self { artifact, deadline, bounds }
    }

    fn broken(&self, cause: impl ToString) -> GitHubError {
        GitHubError::BrokenZip { artifact: self.artifact.to_owned(), cause: cause.to_string() }
    }

    fn too_much(&self, limit: String) -> GitHubError {
        GitHubError::Unpacked { artifact: self.artifact.to_owned(), limit }
    }
}

/// Unpacks a zip file into a directory, which is made for it.
pub(super) fn unpack(
    file: File,
    into: &Path,
    unpacking: &Unpacking<'_>,
    warnings: &mut Warnings,
) -> Result<(), GitHubError> {
    let bounds = unpacking.bounds;
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer);
    let archive = archive.map_err(|error| unpacking.broken(error))?;
    check_directory(&archive, unpacking)?;
    make_directory(into, unpacking)?;
    let mut skips = Skips { artifact: unpacking.artifact, warnings, count: 0 };
    let mut left_bytes = bounds.unpacked_bytes;
    let mut left_entries = archive.entries_hint();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(|error| unpacking.broken(error))? {
        let Some(left) = left_entries.checked_sub(1) else {
            return Err(unpacking.broken("it has more entries than it says"));
        };
        left_entries = left;
        let mut contents = contents(&archive, &entry, unpacking)?;
        match destination(&entry, into, bounds.entry_bytes) {
            Err(Skip { name, reason }) => skips.add(&name, reason),
            Ok(path) if is_directory(&entry) => make_directory(&path, unpacking)?,
            Ok(path) => write(&mut contents, &path, unpacking, &mut left_bytes)?,
        }
    }
    if left_entries > 0 {
        return Err(unpacking.broken("it has fewer entries than it says"));
    }
    skips.finish();
    Ok(())
}

/// Refuses a list of entries that is too long before anything is unpacked. How many there are is
/// only what the file says; [`unpack`] holds it to that.
fn check_directory(
    archive: &ZipArchive<FileReader>,
    unpacking: &Unpacking<'_>,
) -> Result<(), GitHubError> {
    let bounds = unpacking.bounds;
    let directory_bytes = archive.eocd_offset().saturating_sub(archive.directory_offset());
    if directory_bytes > bounds.directory_bytes {
        return Err(unpacking.broken("its list of entries is too long"));
    }
    if archive.entries_hint() > bounds.entries as u64 {
        return Err(unpacking.too_much(format!("{} files", bounds.entries)));
    }
    Ok(())
}

/// What an entry holds, unpacked. Reading it to its end fails if size or checksum are not those
/// that the list of entries states.
fn contents<'a>(
    archive: &'a ZipArchive<FileReader>,
    entry: &ZipFileHeaderRecord<'_>,
    unpacking: &Unpacking<'_>,
) -> Result<Box<dyn Read + 'a>, GitHubError> {
    if entry.flags().is_encrypted() {
        return Err(unpacking.broken("an entry is encrypted"));
    }
    let packed = archive.get_entry(entry.wayfinder()).map_err(|error| unpacking.broken(error))?;
    match entry.compression_method() {
        CompressionMethod::STORE => Ok(Box::new(packed.verifying_reader(packed.reader()))),
        CompressionMethod::DEFLATE => {
            Ok(Box::new(packed.verifying_reader(DeflateDecoder::new(packed.reader()))))
        }
        method => {
            Err(unpacking.broken(format!("an entry is packed by method {method}, not deflate")))
        }
    }
}

/// An entry that is not unpacked.
struct Skip {
    name: String,
    reason: &'static str,
}

/// Where an entry goes, or why nowhere.
fn destination(
    entry: &ZipFileHeaderRecord<'_>,
    into: &Path,
    max_bytes: u64,
) -> Result<PathBuf, Skip> {
    let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
    let fault = if entry.mode().is_symlink() {
        Some("is a link")
    } else if entry.uncompressed_size_hint() > max_bytes {
        Some("is too large")
    } else {
        entry_fault(&name)
    };
    if let Some(reason) = fault {
        return Err(Skip { name, reason });
    }
    let path = into.join(entry_path(&name));
    if !is_directory(entry) && path.exists() {
        return Err(Skip { name, reason: "is there twice" });
    }
    Ok(path)
}

/// Packers on Windows end directories as they do there.
fn is_directory(entry: &ZipFileHeaderRecord<'_>) -> bool {
    matches!(entry.file_path().as_bytes(), [.., b'/' | b'\\'])
}

fn make_directory(path: &Path, unpacking: &Unpacking<'_>) -> Result<(), GitHubError> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            unpacking.broken("a file and a directory have the same name")
        }
        _ => unwritable(path)(error),
    })
}

fn write(
    contents: &mut dyn Read,
    path: &Path,
    unpacking: &Unpacking<'_>,
    left_bytes: &mut u64,
) -> Result<(), GitHubError> {
    if let Some(parent) = path.parent() {
        make_directory(parent, unpacking)?;
    }
    let mut file = File::create_new(path).map_err(unwritable(path))?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        if Instant::now() >= unpacking.deadline {
            let subject = format!("artifact {:?}", unpacking.artifact);
            return Err(GitHubError::Deadline { subject });
        }
        let length = contents.read(&mut buffer).map_err(|error| unpacking.broken(error))?;
        if length == 0 {
            return Ok(());
        }
        let Some(left) = left_bytes.checked_sub(length as u64) else {
            return Err(unpacking.too_much(format!("{} bytes", unpacking.bounds.unpacked_bytes)));
        };
        *left_bytes = left;
        file.write_all(&buffer[..length]).map_err(unwritable(path))?;
    }
}

/// Warnings of skipped entries. A file of nothing else does not flood the log.
struct Skips<'a> {
    artifact: &'a str,
    warnings: &'a mut Warnings,
    count: usize,
}

impl Skips<'_> {
    fn add(&mut self, name: &str, reason: &str) {
        self.count += 1;
        if self.count <= MAX_NAMED_SKIPS {
            let name: String = name.chars().take(MAX_SHOWN_NAME_CHARS).collect();
            let artifact = self.artifact;
            self.warnings.add(format!("artifact {artifact:?}: skipped {name:?}, which {reason}"));
        }
    }

    fn finish(self) {
        if let Some(more) = self.count.checked_sub(MAX_NAMED_SKIPS).filter(|more| *more > 0) {
            self.warnings.add(format!("artifact {:?}: skipped {more} more entries", self.artifact));
        }
    }
}

#[cfg(test)]
mod tests;
