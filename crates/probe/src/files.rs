//! Reading the kernel's files: those read every time are kept open, small ones are read at once.
//!
//! The kernel makes the content of such a file anew when it is read from its start, so an open
//! file saves the walk along its path. No more than [`MAX_FILE_BYTES`] of a file is read.
//!
//! Names in these files are whatever bytes someone chose. One that is not UTF-8 must not cost the
//! rest of the file: what is no text becomes a replacement character.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::limits::MAX_FILE_BYTES;

/// A file that is read again and again.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: PathBuf,
    file: Option<File>,
    /// Its content; kept for its memory.
    content: Vec<u8>,
}

impl KeptFile {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, content: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The content as it is now, as text.
    pub(crate) fn read(&mut self) -> Result<&str, ProbeError> {
        self.read_bytes()?;
        if std::str::from_utf8(&self.content).is_err() {
            let text = String::from_utf8_lossy(&self.content).into_owned();
            self.content = text.into_bytes();
        }
        // Now it always is.
        std::str::from_utf8(&self.content)
            .map_err(|_| ProbeError::malformed(&self.path, "text in UTF-8"))
    }

    /// The content as it is now, for those who need a path as the kernel has it.
    pub(crate) fn read_bytes(&mut self) -> Result<&[u8], ProbeError> {
        if self.file.is_none() || self.fill().is_err() {
            // What was open may be of a device that went and came back.
            self.file = Some(File::open(&self.path).map_err(|e| ProbeError::read(&self.path, e))?);
            if let Err(error) = self.fill() {
                self.file = None;
                return Err(ProbeError::read(&self.path, error));
            }
        }
        if self.content.len() > MAX_FILE_BYTES {
            let what = self.path.display().to_string();
            return Err(ProbeError::TooLarge { what, limit: MAX_FILE_BYTES, unit: "bytes" });
        }
        Ok(&self.content)
    }

    /// Reads all of the open file, at most one byte more than the limit.
    fn fill(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if self.content.len() < 4096 {
            self.content.resize(4096, 0);
        } else {
            self.content.resize(self.content.capacity(), 0);
        }
        let mut length = 0;
        loop {
            if length == self.content.len() {
                self.content.resize(length * 2, 0);
            }
            let Some(free) = self.content.get_mut(length..) else { break };
            match file.read_at(free, length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if length > MAX_FILE_BYTES {
                break;
            }
        }
        self.content.truncate(length);
        Ok(())
    }
}

/// The start of a small file (one attribute, at most a page) without the white space around it.
pub(crate) fn read_small(path: &Path) -> Result<String, ProbeError> {
    let mut page = [0_u8; 4096];
    let mut file = File::open(path).map_err(|e| ProbeError::read(path, e))?;
    let length = file.read(&mut page).map_err(|e| ProbeError::read(path, e))?;
    let text = String::from_utf8_lossy(page.get(..length).unwrap_or_default());
    Ok(text.trim().to_owned())
}

/// The number in a small file; none if the file or a number is not there.
pub(crate) fn read_number(path: &Path) -> Option<f64> {
    read_small(path).ok()?.parse().ok()
}

/// The names in a directory, sorted.
pub(crate) fn names_in(path: &Path) -> Result<Vec<String>, ProbeError> {
    let entries = std::fs::read_dir(path).map_err(|e| ProbeError::read(path, e))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// A number as the kernel writes it; none if it is not one.
pub(crate) fn number(text: &str) -> Option<f64> {
    // Whole numbers are by far the most; their parser is the faster.
    match text.parse::<u64>() {
        Ok(whole) => Some(whole as f64),
        Err(_) => text.parse().ok(),
    }
}

/// A hexadecimal number, with or without `0x`.
pub(crate) fn hex_number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_shows_what_was_written_since() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let mut kept = KeptFile::new(&path);
        assert!(kept.read().unwrap_err().is_absent());
        std::fs::write(&path, "one").unwrap();
        assert_eq!(kept.read().unwrap(), "one");
        std::fs::write(&path, "two, and longer".repeat(1000)).unwrap();
        assert_eq!(kept.read().unwrap().len(), 15_000);
        std::fs::write(&path, "3").unwrap();
        assert_eq!(kept.read().unwrap(), "3");
    }

    #[test]
    fn a_file_over_the_limit_is_refused_and_a_missing_one_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, vec![b'a'; MAX_FILE_BYTES + 10]).unwrap();
        assert!(matches!(KeptFile::new(&path).read(), Err(ProbeError::TooLarge { .. })));
        assert!(read_small(&dir.path().join("none")).unwrap_err().is_absent());
    }

    #[test]
    fn a_byte_that_is_no_text_does_not_cost_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"eth0: 1\nbad\xff: 2\neth1: 3\n").unwrap();
        let mut kept = KeptFile::new(&path);
        for _ in 0..2 {
            assert_eq!(kept.read().unwrap(), "eth0: 1\nbad\u{fffd}: 2\neth1: 3\n");
            assert_eq!(kept.read_bytes().unwrap()[11], 0xff);
        }
    }

    #[test]
    fn numbers_are_read_as_the_kernel_writes_them() {
        assert_eq!(number("18446744073709551615"), Some(18_446_744_073_709_551_615.0));
        assert_eq!(number("-1"), Some(-1.0));
        assert_eq!(number("0.25"), Some(0.25));
        assert_eq!(number("x"), None);
        assert_eq!(hex_number("0x1003"), Some(4099));
        assert_eq!(hex_number("0000002a"), Some(42));
    }
}
