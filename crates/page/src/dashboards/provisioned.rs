//! Dashboards of folders: JSON, and ConfigMaps in YAML. They are read again when a file has changed,
//! and cannot be saved over. A file that is broken is listed as such; it never fails the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kymo_dash::configmap::{self, Found};
use kymo_dash::limits::MAX_FILE_BYTES;
use kymo_dash::migrate::written_uid;
use serde_json::Value;
use serde_json::value::RawValue;

use super::limits::{FOLDER_FRESH_SECS, MAX_FILES};

/// A dashboard of a folder.
#[derive(Debug, Clone)]
pub(super) struct Provisioned {
    /// Its id; that of the file if it has none.
    pub(super) uid: String,
    /// Where it comes from, below the folder.
    pub(super) file: String,
    /// When the file was changed, in milliseconds since 1970.
    pub(super) changed_millis: i64,
    /// Its JSON, and the same as it is written; or why there is none.
    pub(super) json: Result<(Arc<Value>, Arc<RawValue>), String>,
}

/// A file, as it was when it was read.
struct Read {
    changed: SystemTime,
    size_bytes: u64,
    dashboards: Vec<Provisioned>,
}

/// Folders with dashboards.
#[derive(Default)]
pub(super) struct Folders {
    paths: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    looked: Option<Instant>,
    files: BTreeMap<PathBuf, Read>,
    unread: Vec<Provisioned>,
}

impl Folders {
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths, state: Mutex::default() }
    }

    /// All dashboards of the folders. It blocks.
    pub(super) fn all(&self) -> Vec<Provisioned> {
        if self.paths.is_empty() {
            return Vec::new();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Duration::from_secs(FOLDER_FRESH_SECS);
        if state.looked.is_none_or(|looked| looked.elapsed() >= fresh) {
            self.look(&mut state);
            state.looked = Some(Instant::now());
        }
        let read = state.files.values().flat_map(|file| file.dashboards.iter());
        read.chain(&state.unread).cloned().collect()
    }

    /// Reads what has changed, and forgets what is gone.
    fn look(&self, state: &mut State) {
        let mut before = std::mem::take(&mut state.files);
        state.unread.clear();
        for folder in &self.paths {
            let (files, unread) = files(folder);
            state.unread.extend(
                unread.into_iter().map(|(path, why)| broken(&path.display().to_string(), 0, why)),
            );
            for path in files {
                if state.files.len() >= MAX_FILES {
                    let why =
                        format!("there are more than {MAX_FILES} files: the rest is not read");
                    state.unread.push(broken(&folder.display().to_string(), 0, why));
                    return;
                }
                let known = before.remove(&path);
                let read = read(folder, &path, known);
                state.files.insert(path, read);
            }
        }
    }
}

/// A folder that cannot be read, and why.
type Unread = (PathBuf, String);

/// The files of a folder, and of those in it: a mounted ConfigMap is a folder of links. A folder that
/// cannot be read, such as `lost+found`, fails no other.
fn files(folder: &Path) -> (Vec<PathBuf>, Vec<Unread>) {
    let mut found = Vec::new();
    let mut unread = Vec::new();
    let mut waiting = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                let why = format!("{} cannot be read: {error}", folder.display());
                unread.push((folder, why));
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            // Kubernetes keeps versions of a mounted ConfigMap in folders that begin with two dots.
            let is_hidden =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden || found.len() > MAX_FILES {
                continue;
            }
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() && depth < 4 {
                waiting.push((path, depth + 1));
            } else if let Some("json" | "yaml" | "yml") = extension {
                found.push(path);
            }
        }
    }
    found.sort();
    (found, unread)
}

fn read(folder: &Path, path: &Path, known: Option<Read>) -> Read {
    let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let unread = |why: String| Read {
        changed: SystemTime::UNIX_EPOCH,
        size_bytes: 0,
        dashboards: vec![broken(&name, 0, why)],
    };
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) => return unread(error.to_string()),
    };
    let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let size_bytes = about.len();
    if let Some(known) =
        known.filter(|known| (known.changed, known.size_bytes) == (changed, size_bytes))
    {
        return known;
    }
    if size_bytes > MAX_FILE_BYTES as u64 {
        return unread(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed_millis = i64::try_from(since.as_millis()).unwrap_or(0);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return unread(error.to_string()),
    };
    let dashboards = match configmap::dashboards(&text) {
        Ok(found) => {
            found.into_iter().map(|found| provisioned(&name, changed_millis, found)).collect()
        }
        Err(error) => vec![broken(&name, changed_millis, error.to_string())],
    };
    Read { changed, size_bytes, dashboards }
}

fn provisioned(file: &str, changed_millis: i64, found: Found) -> Provisioned {
    let made = || uid_of(&format!("{file}-{}", found.name));
    let uid = written_uid(&found.json).map_or_else(made, str::to_owned);
    let file =
        if found.name.is_empty() { file.to_owned() } else { format!("{file}:{}", found.name) };
    if super::WORDS.contains(&uid.as_str()) {
        return broken(&file, changed_millis, format!("its uid {uid:?} is a word of the API"));
    }
    let text = RawValue::from_string(found.text).map_err(|error| error.to_string());
    let json = text.map(|text| (Arc::new(found.json), Arc::<RawValue>::from(text)));
    Provisioned { uid, file, changed_millis, json }
}

fn broken(file: &str, changed_millis: i64, why: String) -> Provisioned {
    Provisioned { uid: uid_of(file), file: file.to_owned(), changed_millis, json: Err(why) }
}

/// An id that a file name makes: what cannot stand in one is a dash.
fn uid_of(file: &str) -> String {
    let kept = file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let uid: String = kept.collect();
    let uid = uid.trim_matches('-');
    uid.chars()
        .rev()
        .take(super::limits::MAX_UID_CHARS)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_again_when_files_change_and_broken_ones_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.json", r#"{"uid": "a", "title": "A", "panels": []}"#);
        write("b.json", "{");
        write("notes.txt", "x");
        write("map.yaml", "data:\n  c.json: '{\"title\": \"C\"}'\n");
        let folders = Folders::new(vec![dir.path().to_owned(), dir.path().join("gone")]);
        let shown = |folders: &Folders| -> Vec<(String, bool)> {
            folders.all().into_iter().map(|one| (one.uid, one.json.is_ok())).collect()
        };
        let all = shown(&folders);
        assert_eq!(
            all[..3],
            [("a".into(), true), ("b-json".into(), false), ("map-yaml-c-json".into(), true)]
        );
        assert!(!all[3].1, "a folder that is not there is said");
        write("a.json", r#"{"uid": "a2", "title": "A", "panels": []}"#);
        assert_eq!(shown(&folders)[0].0, "a", "it is fresh for some seconds");
        folders.state.lock().unwrap().looked = None;
        assert_eq!(shown(&folders)[0].0, "a2");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_below_that_cannot_be_read_hides_no_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("lost+found");
        std::fs::create_dir(&closed).unwrap();
        std::fs::write(dir.path().join("a.json"), r#"{"uid": "a", "panels": []}"#).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        // Root reads whatever its permissions are.
        let is_read = std::fs::read_dir(&closed).is_ok();
        let all = Folders::new(vec![dir.path().to_owned()]).all();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!((all[0].uid.as_str(), all[0].json.is_ok()), ("a", true));
        assert_eq!(all.len(), if is_read { 1 } else { 2 });
        assert!(all[1..].iter().all(|one| one.json.is_err()));
    }
}
