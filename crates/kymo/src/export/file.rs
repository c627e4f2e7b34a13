//! The file that is written: under another name until it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::progress::Progress;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Where bytes go.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write + Send>>,
    /// The name while it is written, and the one that it gets.
    names: Option<(PathBuf, PathBuf)>,
    progress: Progress,
    written_bytes: u64,
    is_complete: bool,
}

impl Output {
    /// A file that is not there yet, unless it may be replaced; or stdout.
    pub(super) fn create(path: &Path, force: bool, is_binary: bool) -> Result<Self, Failure> {
        let progress = Progress::new(None);
        if path == Path::new("-") {
            if is_binary && io::stdout().is_terminal() {
                let message = "this format is not for a terminal: name a file, or pipe it on";
                return Err(Failure::Usage(message.to_owned()));
            }
            let writer = BufWriter::with_capacity(BUFFER_BYTES, Box::new(io::stdout()) as _);
            return Ok(Self {
                writer,
                names: None,
                progress,
                written_bytes: 0,
                is_complete: false,
            });
        }
        if path.exists() && !force {
            let message = format!("{} is there already: --force replaces it", path.display());
            return Err(Failure::Other(message));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file =
            File::create(&partial).map_err(|error| Failure::io("create", &partial, error))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, Box::new(file) as _);
        let names = Some((partial, path.to_owned()));
        Ok(Self { writer, names, progress, written_bytes: 0, is_complete: false })
    }

    /// Says how far it is.
    pub(super) fn has(&self, count: u64, what: &str) {
        self.progress.doing(&format!("{count} {what}"));
    }

    /// Writes what is left and gives the file its name; says how many bytes it has.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        let failed = |error| Failure::Io { act: "write", what: "the export".into(), source: error };
        self.writer.flush().map_err(failed)?;
        if let Some((partial, path)) = &self.names {
            fs::rename(partial, path).map_err(|error| Failure::io("rename", partial, error))?;
        }
        self.is_complete = true;
        self.progress.finish();
        Ok(self.written_bytes)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.written_bytes += count as u64;
        self.progress.advance(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Output {
    /// What is not complete is not left behind.
    fn drop(&mut self) {
        self.progress.finish();
        if let (false, Some((partial, _))) = (self.is_complete, &self.names) {
            // Whoever runs this has been told what went wrong.
            let _ = fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_force_and_only_when_the_new_one_is_complete() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.csv");
        let mut out = Output::create(&path, false, false).unwrap();
        out.write_all(b"one").unwrap();
        assert!(!path.exists());
        assert_eq!(out.finish().unwrap(), 3);
        assert!(Output::create(&path, false, false).is_err());
        let mut broken = Output::create(&path, true, false).unwrap();
        broken.write_all(b"two").unwrap();
        drop(broken);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
