//! Targets in files of YAML or JSON, named by patterns.
//!
//! Files are looked at often and read when they changed, and now and then in any case. A file that
//! is wrong keeps the targets it had; one that is gone takes its targets along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;

use super::{RawGroup, Update, groups};
use crate::config::FileDiscovery;
use crate::limits::MAX_DISCOVERY_BYTES;
use crate::target::TargetGroup;

/// What tells that a file changed.
type Stamp = (Option<SystemTime>, u64);

#[derive(Debug, Default)]
struct Files {
    /// By path: the stamp, and the groups last read.
    known: BTreeMap<PathBuf, (Stamp, Vec<TargetGroup>)>,
}

pub(super) async fn run(
    discovery: u64,
    settings: FileDiscovery,
    updates: mpsc::Sender<Update>,
    poll: Duration,
) {
    let mut files = Files::default();
    let mut read_at: Option<Instant> = None;
    let mut ticks = tokio::time::interval(poll.min(settings.refresh_interval));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let is_due = read_at.is_none_or(|at| at.elapsed() >= settings.refresh_interval);
        if is_due {
            read_at = Some(Instant::now());
        }
        let is_first = is_due && files.known.is_empty();
        let patterns = settings.files.clone();
        let read = tokio::task::spawn_blocking(move || {
            let is_changed = files.read(&patterns, is_due);
            (files, is_changed)
        });
        // The reading does not panic; if it did, this discovery would end with what it has.
        let Ok((read, is_changed)) = read.await else { return };
        files = read;
        if is_changed || is_first {
            let groups = files.known.values().flat_map(|(_, groups)| groups.clone()).collect();
            if updates.send(Update { discovery, groups }).await.is_err() {
                return;
            }
        }
    }
}

impl Files {
    /// Reads what changed, or everything. Says whether other targets came of it.
    fn read(&mut self, patterns: &[PathBuf], everything: bool) -> bool {
        let mut is_changed = false;
        let mut known = std::mem::take(&mut self.known);
        for path in matching(patterns) {
            let stamp = stamp(&path);
            let before = known.remove(&path);
            let groups = match before {
                Some((old, groups)) if old == stamp && !everything => groups,
                before => {
                    let old = before.map(|(_, groups)| groups);
                    let groups = match read(&path) {
                        Ok(groups) => groups,
                        Err(error) => {
                            tracing::error!(path = %path.display(), "discovery file: {error}");
                            old.clone().unwrap_or_default()
                        }
                    };
                    is_changed |= old.as_ref() != Some(&groups);
                    groups
                }
            };
            self.known.insert(path, (stamp, groups));
        }
        // What is left is gone.
        is_changed || !known.is_empty()
    }
}

fn matching(patterns: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for pattern in patterns {
        match glob::glob(&pattern.to_string_lossy()) {
            Ok(found) => paths.extend(found.flatten()),
            Err(error) => tracing::error!(pattern = %pattern.display(), "discovery file: {error}"),
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

fn stamp(path: &Path) -> Stamp {
    std::fs::metadata(path).map_or((None, 0), |found| (found.modified().ok(), found.len()))
}

fn read(path: &Path) -> Result<Vec<TargetGroup>, String> {
    let size_bytes = stamp(path).1;
    if size_bytes > MAX_DISCOVERY_BYTES {
        return Err(format!("has {size_bytes} bytes; expected at most {MAX_DISCOVERY_BYTES}"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let found: Vec<RawGroup> = if extension == "json" {
        serde_json::from_str(&text).map_err(|error| error.to_string())?
    } else {
        let found: Option<Vec<RawGroup>> =
            serde_saphyr::from_str(&text).map_err(|error| error.without_snippet().to_string())?;
        found.unwrap_or_default()
    };
    Ok(groups(found, &path.to_string_lossy(), "__meta_filepath"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(files: &Files) -> Vec<String> {
        let groups = files.known.values().flat_map(|(_, groups)| groups.clone());
        groups.flat_map(|group| group.targets).collect()
    }

    #[test]
    fn files_are_read_when_they_change_and_keep_their_targets_when_they_are_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let patterns = [path("*.yml"), path("b.json")];
        let mut files = Files::default();
        assert!(!files.read(&patterns, true));
        std::fs::write(path("a.yml"), "- targets: [x:1, y:1]\n  labels: {env: prod}\n").unwrap();
        std::fs::write(path("b.json"), r#"[{"targets": ["z:1"]}]"#).unwrap();
        assert!(files.read(&patterns, false));
        assert_eq!(targets(&files), ["x:1", "y:1", "z:1"]);
        let (_, groups) = &files.known[&path("a.yml")];
        assert_eq!(groups[0].labels["env"], "prod");
        assert_eq!(groups[0].labels["__meta_filepath"], path("a.yml").to_string_lossy());
        assert!(!files.read(&patterns, false), "nothing changed");
        assert!(!files.read(&patterns, true), "nothing changed, though all was read");
        std::fs::write(path("a.yml"), "- target: [wrong]\n").unwrap();
        assert!(!files.read(&patterns, false));
        assert_eq!(targets(&files), ["x:1", "y:1", "z:1"]);
        std::fs::write(path("a.yml"), "- targets: [only:1]\n").unwrap();
        std::fs::remove_file(path("b.json")).unwrap();
        assert!(files.read(&patterns, false));
        assert_eq!(targets(&files), ["only:1"]);
    }
}
