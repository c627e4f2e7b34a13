//! Sessions of recorded files.

use std::path::PathBuf;

use kymo_report::{Found, Recording, ReportError, Session};

use crate::failure::Failure;
use crate::files::{self, Fault, ReadOptions, Walk};
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// What files hold.
pub(super) struct Read {
    pub(super) sessions: Vec<Session>,
    pub(super) found: Found,
    /// Requests and lines that could not be read. They have been told.
    pub(super) faults: u64,
}

pub(super) fn files(paths: &[PathBuf], options: ReadOptions) -> Result<Read, Failure> {
    let interrupt = Interrupt::listen().map_err(|source| Failure::Io {
        act: "listen to",
        what: "signals".into(),
        source,
    })?;
    let progress = Progress::new(files::total_bytes(paths));
    let mut walk =
        Walk { options, progress: &progress, interrupt: &interrupt, is_strict: false, faults: 0 };
    let mut recording = Recording::new();
    let read = walk.files(paths, |request| {
        let added = recording.add(request.signal, &request.body);
        Ok(added.map_err(|error| fault(&request, &error)))
    });
    let faults = walk.faults;
    progress.finish();
    if !read? {
        return Err(Failure::Other("interrupted: half a report would be a wrong one".into()));
    }
    let (sessions, found) = recording.finish();
    Ok(Read { sessions, found, faults })
}

fn fault(request: &files::Request, error: &ReportError) -> Fault {
    Fault::at(request.place, error.to_string())
}
