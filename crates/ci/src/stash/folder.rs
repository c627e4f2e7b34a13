//! The files of a stash: found, sorted by name, and read one at a time.
//!
//! Only regular files count. A symbolic link in an artifact leads wherever its author likes, so none
//! is followed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::limits::{MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES};
use super::text::in_one_line;
use crate::text::decode;
use crate::warnings::Warnings;

/// One file of a stash.
#[derive(Debug)]
pub(super) struct StashFile {
    path: PathBuf,
    /// The path below the stash, with `/` between its parts.
    pub(super) relative: String,
    pub(super) size_bytes: u64,
}

impl StashFile {
    /// Its name without the directories.
    pub(super) fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or_default()
    }

    /// Its name for a warning: with the stash, which says of which job it is.
    pub(super) fn shown(&self) -> String {
        in_one_line(&self.path.to_string_lossy())
    }

    /// Its text; none, with a warning, if it cannot be read or is too large.
    pub(super) fn text(&self, warnings: &mut Warnings) -> Option<String> {
        match read_bounded(&self.path) {
            Ok(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => {
                let megabytes = MAX_FILE_BYTES >> 20;
                let shown = self.shown();
                warnings.add(format!("{shown}: left out, it is larger than {megabytes} MiB"));
                None
            }
            Ok(bytes) => Some(decode(&bytes)),
            Err(error) => {
                warnings.add(format!("{}: cannot be read: {error}", self.shown()));
                None
            }
        }
    }
}

/// The bytes of a file, at most one more than the limit: the size that the directory tells may be
/// of another moment.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files of a stash and of the directories in it, sorted by their paths.
pub(super) fn files(folder: &Path, warnings: &mut Warnings) -> Vec<StashFile> {
    let mut found = listed(folder, MAX_DEPTH, warnings);
    found.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    found
}

/// The files in the order in which the directories list them.
fn listed(folder: &Path, max_depth: usize, warnings: &mut Warnings) -> Vec<StashFile> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((directory, prefix, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            // A job that left nothing is no news.
            Err(error) if depth == 0 && error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => {
                let shown = in_one_line(&directory.to_string_lossy());
                warnings.add(format!("{shown}: cannot be listed: {error}"));
                continue;
            }
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let relative = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if metadata.is_dir() && depth < max_depth {
                open.push((entry.path(), format!("{relative}/"), depth + 1));
            }
            if metadata.is_file() {
                found.push(StashFile { path: entry.path(), relative, size_bytes: metadata.len() });
            }
            if found.len() + open.len() > MAX_FILES {
                let shown = in_one_line(&folder.to_string_lossy());
                warnings.add(format!("{shown}: only {MAX_FILES} of its files are looked at"));
                return found;
            }
        }
    }
    found
}

/// The files directly in a directory, in the order in which it lists them.
pub(super) fn files_as_listed(folder: &Path, warnings: &mut Warnings) -> Vec<StashFile> {
    listed(folder, 0, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path, warnings: &mut Warnings) -> Vec<String> {
        files(folder, warnings).into_iter().map(|file| file.relative).collect()
    }

    #[test]
    fn regular_files_are_found_sorted_to_a_depth_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d/d/d/d/d");
        std::fs::create_dir_all(&deep).unwrap();
        for name in ["b", "a", "d/c", "d/d/d/d/in", "d/d/d/d/d/out"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).unwrap();
            std::os::unix::fs::symlink("/etc", folder.path().join("links")).unwrap();
        }
        let mut warnings = Warnings::new();
        assert_eq!(names(folder.path(), &mut warnings), ["a", "b", "d/c", "d/d/d/d/in"]);
        let top: Vec<_> = files_as_listed(folder.path(), &mut warnings);
        assert_eq!(top.len(), 2);
        assert_eq!(files(folder.path(), &mut warnings)[2].name(), "c");
        assert!(warnings.all().is_empty());
    }

    #[test]
    fn no_directory_is_no_files_and_a_file_instead_of_one_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let mut warnings = Warnings::new();
        assert!(names(&folder.path().join("none"), &mut warnings).is_empty());
        assert!(warnings.all().is_empty());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(names(&file, &mut warnings).is_empty());
        assert!(warnings.all()[0].contains("cannot be listed"), "{warnings:?}");
    }

    #[test]
    fn a_file_over_the_limit_is_left_out_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.xml");
        File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let mut warnings = Warnings::new();
        let found = files(folder.path(), &mut warnings);
        assert!(found[0].text(&mut warnings).is_none());
        assert!(warnings.all()[0].contains("big.xml: left out"), "{warnings:?}");
    }

    #[test]
    fn more_files_than_the_limit_are_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            File::create(folder.path().join(number.to_string())).unwrap();
        }
        let mut warnings = Warnings::new();
        assert!(names(folder.path(), &mut warnings).len() >= MAX_FILES);
        assert!(warnings.all()[0].contains("only"), "{warnings:?}");
    }
}
