//! A file of OTLP/JSON, one request per line, and the older ones beside it.
//!
//! `out.jsonl` is the one that is written; older ones are `out.jsonl.1` (the newest of them),
//! `out.jsonl.2` and so on. A request counts as sent when its line is on disk. A line that could not
//! be written to its end, as on a full disk, is cut off again before the next try.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::settings::RotateSettings;
use crate::limits::FILE_BUFFER_BYTES;

/// A file that is put aside when it is large or old enough.
pub(crate) struct RotatingFile {
    path: PathBuf,
    rotate: RotateSettings,
    open: Option<Open>,
}

struct Open {
    file: BufWriter<File>,
    /// Bytes of whole lines.
    size_bytes: u64,
    begun: SystemTime,
}

impl RotatingFile {
    /// A file, opened when there is something to write.
    pub(crate) fn new(path: PathBuf, rotate: RotateSettings) -> Self {
        Self { path, rotate, open: None }
    }

    /// Appends lines, each without its end, and returns when they are on disk. After an error none
    /// of them are in the file, as far as the disk lets us.
    pub(crate) fn append(&mut self, lines: &[Vec<u8>]) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|open| self.is_full(open)) {
            self.open = None;
            self.put_aside()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        let written = write(&mut open.file, lines);
        match written {
            Ok(added_bytes) => {
                open.size_bytes += added_bytes;
                self.open = Some(open);
                Ok(())
            }
            Err(error) => {
                // What is in the buffer must not follow later.
                let (file, _) = open.file.into_parts();
                let _ = file.set_len(open.size_bytes);
                Err(error)
            }
        }
    }

    fn is_full(&self, open: &Open) -> bool {
        let is_old = self.rotate.every.is_some_and(|every| {
            SystemTime::now().duration_since(open.begun).is_ok_and(|age| age >= every)
        });
        open.size_bytes >= self.rotate.max_size || (is_old && open.size_bytes > 0)
    }

    fn begin(&self) -> io::Result<Open> {
        if let Some(dir) = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fs::create_dir_all(dir)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.create(true).read(true).append(true).open(&self.path)?;
        let found = file.metadata()?;
        let mut size_bytes = found.len();
        if size_bytes == 0 {
            sync_parent(&self.path);
        }
        if size_bytes > 0 && !ends_with_newline(&mut file)? {
            // A line that a crash cut off. Its record comes again.
            file.write_all(b"\n")?;
            size_bytes += 1;
        }
        // When it was begun is not known everywhere; then it is as old as its last line.
        let begun = if size_bytes == 0 {
            SystemTime::now()
        } else {
            found.created().or_else(|_| found.modified())?
        };
        let open =
            Open { file: BufWriter::with_capacity(FILE_BUFFER_BYTES, file), size_bytes, begun };
        if self.is_full(&open) {
            drop(open);
            self.put_aside()?;
            return self.begin();
        }
        Ok(open)
    }

    /// Gives each older file the next number, and this one the first.
    fn put_aside(&self) -> io::Result<()> {
        let older_files = self.rotate.max_files.saturating_sub(1);
        if older_files == 0 {
            return remove(&self.path);
        }
        for number in (1..older_files).rev() {
            rename(&self.older(number), &self.older(number + 1))?;
        }
        rename(&self.path, &self.older(1))
    }

    fn older(&self, number: usize) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

fn write(file: &mut BufWriter<File>, lines: &[Vec<u8>]) -> io::Result<u64> {
    let mut added_bytes = 0;
    for line in lines {
        file.write_all(line)?;
        file.write_all(b"\n")?;
        added_bytes += line.len() as u64 + 1;
    }
    file.flush()?;
    file.get_ref().sync_data()?;
    Ok(added_bytes)
}

/// Sees to it that a file that was just made, or put aside, is still there after a loss of power. Not
/// every file system can do that, so that it is no error.
pub(super) fn sync_parent(path: &Path) {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let _ = File::open(dir.unwrap_or(Path::new("."))).and_then(|dir| dir.sync_all());
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    unless_missing(fs::rename(from, to))
}

fn remove(path: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(path))
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(text: &str) -> Vec<Vec<u8>> {
        vec![text.as_bytes().to_vec()]
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/out.jsonl");
        let rotate = RotateSettings { max_size: 10, max_files: 3, every: None };
        let mut file = RotatingFile::new(path.clone(), rotate);
        for number in 0..9 {
            file.append(&line(&format!("line {number}"))).unwrap();
        }
        let read = |name: &str| fs::read_to_string(dir.path().join("new").join(name));
        assert_eq!(read("out.jsonl").unwrap(), "line 8\n");
        assert_eq!(read("out.jsonl.1").unwrap(), "line 6\nline 7\n");
        assert_eq!(read("out.jsonl.2").unwrap(), "line 4\nline 5\n");
        assert_eq!(read("out.jsonl.3").unwrap_err().kind(), io::ErrorKind::NotFound);
        // One that goes on where another ended.
        let mut file = RotatingFile::new(path, rotate);
        file.append(&line("line 9")).unwrap();
        assert_eq!(read("out.jsonl").unwrap(), "line 8\nline 9\n");
    }

    #[test]
    fn an_old_file_is_put_aside_however_small_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        let rotate =
            RotateSettings { max_size: 1 << 20, max_files: 2, every: Some(Duration::ZERO) };
        let mut file = RotatingFile::new(path.clone(), rotate);
        file.append(&line("one")).unwrap();
        file.append(&line("two")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
    }

    #[test]
    fn a_line_that_was_cut_off_stands_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        fs::write(&path, "whole\ncut o").unwrap();
        let mut file = RotatingFile::new(path.clone(), RotateSettings::default());
        file.append(&line("next")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\ncut o\nnext\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_and_later_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        fs::create_dir(&path).unwrap();
        let mut file = RotatingFile::new(path.clone(), RotateSettings::default());
        assert!(file.append(&line("one")).is_err());
        fs::remove_dir(&path).unwrap();
        file.append(&line("one")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    }
}
