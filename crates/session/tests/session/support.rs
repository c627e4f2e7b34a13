//! Sessions in a directory of their own, and what is in their files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kymo_service::{Asked, ExportSettings};
use kymo_session::{Checkpoint, Parent, Session, SessionOptions};
use serde_json::Value;

/// Far longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn options(place: &Path) -> SessionOptions {
    let mut options = SessionOptions::new("test");
    options.checkpoint = Checkpoint::Directory(place.to_owned());
    options.parent = Parent::None;
    options.poll_every = None;
    options
}

/// The lines of a file; the last must be whole.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Records of one kind in all lines.
pub(crate) fn records(path: &Path, groups: &str, scopes: &str, items: &str) -> Vec<Value> {
    let all = |value: &Value, member: &str| value[member].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for line in lines(path) {
        for group in all(&line, groups) {
            for scope in all(&group, scopes) {
                found.extend(all(&scope, items));
            }
        }
    }
    found
}

pub(crate) fn events(path: &Path) -> Vec<Value> {
    records(path, "resourceLogs", "scopeLogs", "logRecords")
}

pub(crate) fn spans(path: &Path) -> Vec<Value> {
    records(path, "resourceSpans", "scopeSpans", "spans")
}

pub(crate) fn attribute<'a>(record: &'a Value, key: &str) -> Option<&'a Value> {
    let all = record["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object()?.values().next()
}

pub(crate) fn named(record: &Value) -> &str {
    record["eventName"].as_str().or(record["name"].as_str()).unwrap_or_default()
}

pub(crate) fn path(session: &Session) -> PathBuf {
    session.checkpoint_path().expect("there is a file").to_owned()
}

/// A server that is away.
pub(crate) fn nobody_listens() -> ExportSettings {
    let asked = Asked::endpoint("http://127.0.0.1:9");
    ExportSettings::resolve(&asked, |_| None).expect("it is an endpoint")
}
