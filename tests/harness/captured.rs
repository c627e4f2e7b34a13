//! Requests captured from real programs.
//!
//! `KYMO_TEST_DATA` names a directory. In it and below, a file `….traces.pb`, `….metrics.pb` or
//! `….logs.pb` is a request in protobuf; the `.json` beside it is the same as text.

use std::path::{Path, PathBuf};

use super::Signal;
use super::programs::left_out;

/// A captured request.
pub struct Captured {
    pub path: PathBuf,
    pub signal: Signal,
    pub body: Vec<u8>,
}

/// All of them; none, with a word about it, where no directory is named.
pub fn captured() -> Vec<Captured> {
    let Some(dir) = std::env::var_os("KYMO_TEST_DATA").filter(|dir| !dir.is_empty()) else {
        left_out("captured requests (KYMO_TEST_DATA names no directory)");
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if let Some(signal) = signal_of(&path) {
                let body = std::fs::read(&path).unwrap();
                found.push(Captured { path, signal, body });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "KYMO_TEST_DATA has no requests");
    found
}

fn signal_of(path: &Path) -> Option<Signal> {
    let name = path.file_name()?.to_str()?;
    Signal::ALL.into_iter().find(|signal| {
        let word = signal.path().trim_start_matches("/v1/");
        name.ends_with(&format!(".{word}.pb"))
    })
}
