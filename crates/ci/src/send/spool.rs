//! Requests that could not be sent, as files, for the next call.
//!
//! One file for each request, `<nanoseconds>-<random>.otlp`, with the bytes of an
//! `ExportTraceServiceRequest`: `kymo import` reads them too. A file appears whole or not at all.
//! Who sends one takes it first, by a rename to `….taken`, so that two processes do not send the
//! same; if the one who took it dies, another takes it over after a while.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::environment::Environment;
use crate::ids::SpanId;
use crate::limits::{MAX_SPOOL_BYTES, SPOOL_CLAIM_AGE};
use crate::times;
use crate::warnings::Warnings;

const WAITING: &str = "otlp";
const TAKEN: &str = "taken";
/// The file that says when a server was last not reached.
const UNREACHED: &str = "unreached";

/// A directory of requests.
#[derive(Debug, Clone)]
pub struct Spool {
    directory: PathBuf,
}

/// A request that was taken.
#[derive(Debug)]
pub struct Kept {
    /// Its bytes.
    pub request: Vec<u8>,
    path: PathBuf,
}

impl Spool {
    /// That of a directory, which is made when it is needed.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Where requests wait unless told otherwise: `KYMO_CI_SPOOL`, else where programs of the user
    /// keep their state. What a runner has for a job (`RUNNER_TEMP`) is emptied with it.
    #[must_use]
    pub fn of(environment: &Environment) -> Self {
        let variable = |name: &str| environment.get(name).map(PathBuf::from);
        let state =
            || variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        Self::new(
            variable("KYMO_CI_SPOOL")
                .or_else(|| Some(state()?.join("kymo/ci-spool")))
                .or_else(|| Some(variable("RUNNER_TEMP")?.join("kymo-ci-spool")))
                .unwrap_or_else(|| std::env::temp_dir().join("kymo-ci-spool")),
        )
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a request. That this fails is a warning.
    pub fn keep(&self, request: &[u8], warnings: &mut Warnings) {
        if let Err(error) = self.write(request) {
            warnings.add(format!(
                "the spans could not be kept in {} either: {error}",
                self.directory.display()
            ));
            return;
        }
        self.make_room(warnings);
    }

    /// Takes the oldest request.
    pub fn take(&self, warnings: &mut Warnings) -> Option<Kept> {
        self.release_abandoned();
        for path in self.files(WAITING) {
            let taken = path.with_extension(TAKEN);
            // Another process may have been faster.
            if fs::rename(&path, &taken).is_err() {
                continue;
            }
            // From now on it is ours for a while, however long it has waited.
            let touched =
                fs::File::open(&taken).and_then(|file| file.set_modified(SystemTime::now()));
            if let Err(error) = touched {
                warnings.add(format!("cannot take {}: {error}", taken.display()));
            }
            match fs::read(&taken) {
                Ok(request) => return Some(Kept { request, path: taken }),
                Err(error) => warnings.add(format!("cannot read {}: {error}", taken.display())),
            }
        }
        None
    }

    /// A request that was taken is sent.
    pub fn done(&self, kept: Kept) {
        // If it stays it is sent again, and known as the same by the server.
        let _ = fs::remove_file(kept.path);
    }

    /// A request that was taken waits again.
    pub fn put_back(&self, kept: Kept) {
        let _ = fs::rename(&kept.path, kept.path.with_extension(WAITING));
    }

    /// Remembers that the server was not reached, or that it was.
    pub fn note_reached(&self, is_reached: bool) {
        let path = self.directory.join(UNREACHED);
        // That it cannot be remembered costs the next call some time, and nothing else.
        let _ = if is_reached { fs::remove_file(path) } else { fs::write(path, b"") };
    }

    /// Whether the server was not reached a short time ago.
    #[must_use]
    pub fn was_unreached_within(&self, time: Duration) -> bool {
        let noted = fs::metadata(self.directory.join(UNREACHED)).and_then(|data| data.modified());
        let age = noted.ok().and_then(|noted| noted.elapsed().ok());
        age.is_some_and(|age| age < time)
    }

    fn write(&self, request: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let name = format!("{:020}-{}", times::now(), SpanId::random());
        let unfinished = self.directory.join(format!("{name}.tmp"));
        let mut file = fs::File::create(&unfinished)?;
        file.write_all(request)?;
        file.sync_all()?;
        fs::rename(&unfinished, self.directory.join(format!("{name}.{WAITING}")))
    }

    /// Files of a kind, the oldest first.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect();
        paths.sort();
        paths
    }

    /// Takes back what was taken by a process that is gone.
    fn release_abandoned(&self) {
        for path in self.files(TAKEN) {
            let age = fs::metadata(&path).and_then(|data| data.modified());
            let age = age.ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > SPOOL_CLAIM_AGE) {
                let _ = fs::rename(&path, path.with_extension(WAITING));
            }
        }
    }

    fn make_room(&self, warnings: &mut Warnings) {
        let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
        let files = self.files(WAITING);
        let mut total: u64 = files.iter().map(size).sum();
        for path in files {
            if total <= MAX_SPOOL_BYTES {
                return;
            }
            total -= size(&path);
            let _ = fs::remove_file(&path);
            warnings.add(format!(
                "{} is full: the oldest spans in it are given up",
                self.directory.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_in_order_each_to_one_taker() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::new(place.path().join("a/b"));
        let mut warnings = Warnings::new();
        assert!(spool.take(&mut warnings).is_none());
        for request in [b"one", b"two"] {
            spool.keep(request, &mut warnings);
        }
        let first = spool.take(&mut warnings).unwrap();
        let second = spool.take(&mut warnings).unwrap();
        assert_eq!(
            (first.request.as_slice(), second.request.as_slice()),
            (&b"one"[..], &b"two"[..])
        );
        assert!(spool.take(&mut warnings).is_none(), "both are taken");
        spool.put_back(first);
        spool.done(second);
        assert_eq!(spool.take(&mut warnings).unwrap().request, b"one");
        assert_eq!(warnings.all(), &[] as &[String]);
    }

    #[test]
    fn what_a_dead_process_took_is_taken_over() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::new(place.path().to_owned());
        let mut warnings = Warnings::new();
        spool.keep(b"one", &mut warnings);
        let taken = spool.take(&mut warnings).unwrap();
        let long_ago = SystemTime::now() - 2 * SPOOL_CLAIM_AGE;
        fs::File::open(&taken.path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(spool.take(&mut warnings).unwrap().request, b"one");
    }

    #[test]
    fn it_is_remembered_that_a_server_was_not_reached() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::new(place.path().to_owned());
        let minute = Duration::from_secs(60);
        assert!(!spool.was_unreached_within(minute));
        spool.note_reached(false);
        assert!(spool.was_unreached_within(minute) && !spool.was_unreached_within(Duration::ZERO));
        spool.note_reached(true);
        assert!(!spool.was_unreached_within(minute));
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_a_warning() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let mut warnings = Warnings::new();
        Spool::new(file.join("below")).keep(b"one", &mut warnings);
        assert!(warnings.all()[0].contains("could not be kept"), "{warnings:?}");
    }
}
