//! Many files, read for a command: bar, messages, Ctrl-C.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use super::limits::{MAX_FAULTS_SHOWN, READ_AHEAD_REQUESTS};
use super::{Fault, ReadOptions, Request, name_of, requests};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, LOOK_AFTER};
use crate::progress::Progress;

/// How files are read, and what came of it.
pub(crate) struct Walk<'a> {
    pub(crate) options: ReadOptions,
    pub(crate) progress: &'a Progress,
    pub(crate) interrupt: &'a Interrupt,
    /// Whether the first fault is the end.
    pub(crate) is_strict: bool,
    /// Files, requests and lines that could not be read, or were not taken.
    pub(crate) faults: u64,
}

impl Walk<'_> {
    /// Hands on every request of every file, in their order; false if it was told to stop. The
    /// inner error of `take` is about the request, the outer one ends everything.
    pub(crate) fn files(
        &mut self,
        paths: &[PathBuf],
        mut take: impl FnMut(Request) -> Result<Result<(), Fault>, Failure>,
    ) -> Result<bool, Failure> {
        for path in paths {
            let name = name_of(path);
            self.progress.doing(&name);
            let mut shown = Shown::default();
            let goes_on = self.file(path, &name, &mut shown, &mut take)?;
            shown.finish(&name, self.progress);
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn file(
        &mut self,
        path: &Path,
        name: &str,
        shown: &mut Shown,
        take: &mut impl FnMut(Request) -> Result<Result<(), Fault>, Failure>,
    ) -> Result<bool, Failure> {
        let mut requests = match requests(path, &self.options) {
            Ok(requests) => requests,
            Err(fault) => return Ok(self.fault(name, &fault, shown)),
        };
        if requests.is_empty() {
            tracing::warn!(file = name, "is empty");
        }
        // Reading is at least half of the work: it goes on while what was read is taken.
        let (sender, read) = mpsc::sync_channel(READ_AHEAD_REQUESTS);
        let work = move || {
            while let Some(request) = requests.next() {
                // Nobody wants the rest.
                if sender.send((request, requests.offset())).is_err() {
                    return None;
                }
            }
            requests.note().cloned()
        };
        // Waited for only at the end of the file: it may sit in a pipe where nothing comes.
        let reading = thread::Builder::new().name("kymo-read".to_owned()).spawn(work);
        let reading = reading.map_err(|error| {
            Failure::Other(format!("cannot start a thread that reads: {error}"))
        })?;
        let mut done_bytes = 0;
        loop {
            let (request, offset) = match read.recv_timeout(LOOK_AFTER) {
                Ok(read) => read,
                Err(RecvTimeoutError::Timeout) if self.interrupt.is_wanted() => return Ok(false),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let taken = match request {
                Ok(request) => take(request)?,
                Err(fault) => Err(fault),
            };
            if let Err(fault) = taken
                && !self.fault(name, &fault, shown)
            {
                return Ok(false);
            }
            self.progress.advance(offset - done_bytes);
            done_bytes = offset;
            if self.interrupt.is_wanted() {
                return Ok(false);
            }
        }
        // One that panics has said so, as everywhere.
        let note = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let Some(note) = note {
            self.progress.note(&format!("{name}{note}"));
        }
        Ok(true)
    }

    /// Reports what could not be read; false if that is the end.
    fn fault(&mut self, name: &str, fault: &Fault, shown: &mut Shown) -> bool {
        self.faults += 1;
        shown.fault(name, fault, self.progress);
        !self.is_strict
    }
}

/// Messages about one file, up to as many as somebody reads.
#[derive(Debug, Default)]
pub(crate) struct Shown(u64);

impl Shown {
    /// Says what is wrong, unless enough was said.
    pub(crate) fn fault(&mut self, name: &str, fault: &Fault, progress: &Progress) {
        self.0 += 1;
        if self.0 <= MAX_FAULTS_SHOWN {
            progress.error(&format!("{name}{fault}"));
        }
    }

    /// Says how much was not said.
    pub(crate) fn finish(&self, name: &str, progress: &Progress) {
        let unsaid = self.0.saturating_sub(MAX_FAULTS_SHOWN);
        if unsaid > 0 {
            progress.error(&format!("{name}: and {unsaid} more"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::time::{Duration, Instant};

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// How long the pipe stays open if it is waited for.
    const OPEN_FOR: Duration = Duration::from_secs(20);
    /// Good lines: more than is looked at before the first is read.
    const LINES: usize = 2000;

    /// Reads a pipe of good lines and a bad one at the end, which then stays open and silent. What
    /// came of it, before the pipe was closed.
    fn read_pipe(
        is_strict: bool,
        interrupt: &Interrupt,
        mut take: impl FnMut(usize) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        let (close, closed) = mpsc::channel::<()>();
        let pipe = path.clone();
        let writing = thread::spawn(move || {
            let record = r#"{"logRecords":[{"timeUnixNano":"5"}]}"#;
            let line = format!("{{\"resourceLogs\":[{{\"scopeLogs\":[{record}]}}]}}\n");
            let mut pipe = File::create(pipe).unwrap();
            pipe.write_all(format!("{}{{}}]\n", line.repeat(LINES)).as_bytes()).unwrap();
            let _ = closed.recv_timeout(OPEN_FOR);
        });
        let (began, progress) = (Instant::now(), Progress::new(None));
        let options = ReadOptions::default();
        let mut walk = Walk { options, progress: &progress, interrupt, is_strict, faults: 0 };
        let mut taken = 0;
        let outcome = walk.files(&[path], |_| {
            taken += 1;
            take(taken).map(Ok)
        });
        assert_eq!(taken, LINES);
        assert!(began.elapsed() < OPEN_FOR, "the pipe was waited for");
        drop(close);
        writing.join().unwrap();
        outcome
    }

    #[test]
    fn a_failure_does_not_wait_for_a_pipe_that_stays_open() {
        let failed = read_pipe(false, &Interrupt::default(), |taken| match taken {
            LINES => {
                // Until the reader has all there is.
                thread::sleep(LOOK_AFTER);
                Err(Failure::Other("the server is gone".to_owned()))
            }
            _ => Ok(()),
        });
        assert!(failed.unwrap_err().to_string().contains("the server is gone"));
    }

    #[test]
    fn the_first_fault_is_the_end_also_of_a_pipe_that_stays_open() {
        assert!(!read_pipe(true, &Interrupt::default(), |_| Ok(())).unwrap());
    }

    #[test]
    fn a_pipe_where_nothing_comes_can_be_interrupted() {
        let interrupt = Interrupt::default();
        let stopped = read_pipe(false, &interrupt, |taken| {
            if taken == LINES {
                let asking = interrupt.clone();
                thread::spawn(move || {
                    thread::sleep(3 * LOOK_AFTER);
                    asking.stop();
                });
            }
            Ok(())
        });
        assert!(!stopped.unwrap());
    }
}
