//! Many files, read for a command: bar, messages, Ctrl-C.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use super::limits::{MAX_FAULTS_SHOWN, READ_AHEAD_REQUESTS};
use super::{Fault, ReadOptions, Request, name_of, requests};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
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
        thread::scope(|scope| {
            let reading = scope.spawn(move || {
                while let Some(request) = requests.next() {
                    // Nobody wants the rest.
                    if sender.send((request, requests.offset())).is_err() {
                        return None;
                    }
                }
                requests.note().cloned()
            });
            let mut done_bytes = 0;
            for (request, offset) in read {
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
        })
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
