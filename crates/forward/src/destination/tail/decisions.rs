//! Decisions on traces, remembered for spans that come late.
//!
//! The last [`MAX_TAIL_DECISIONS`] are in memory, and in files, so that they hold after a restart, too:
//! `<data>/forward/<destination>/decisions` has a line for each, `1` or `0` (whether the trace goes),
//! its id in hexadecimal digits and its tenant, with spaces between them. When it has so many lines it
//! becomes `decisions.1`, which is replaced. Lines are written before anything of the trace is let go,
//! so that a process that is killed knows of them; they are not synced: after a loss of power late
//! spans may be decided on anew. So they are if the files cannot be written or read, which is logged.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::Key;
use crate::limits::{MAX_TAIL_DECISIONS, MAX_TAIL_FILE_BYTES};

/// The last decisions.
#[derive(Default)]
pub(super) struct Decisions {
    by_key: HashMap<Key, bool>,
    order: VecDeque<Key>,
    file: Option<DecisionFile>,
}

/// Where they are kept.
struct DecisionFile {
    dir: PathBuf,
    open: Option<File>,
    lines: usize,
    /// Lines that are not written yet.
    pending: String,
    is_failing: bool,
}

impl Decisions {
    /// Those that a directory keeps, and where further ones are kept.
    pub(super) fn kept_in(dir: &Path) -> Self {
        let mut this = Self::default();
        let mut lines = 0;
        for name in [OLDER, NEWEST] {
            lines = 0;
            let found = read(&dir.join(name), |key, is_chosen| {
                lines += 1;
                this.insert(key, is_chosen);
            });
            if let Err(error) = found
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "decisions on traces cannot be read");
            }
        }
        let (dir, pending) = (dir.to_owned(), String::new());
        this.file = Some(DecisionFile { dir, open: None, lines, pending, is_failing: false });
        this
    }

    pub(super) fn get(&self, key: &Key) -> Option<bool> {
        self.by_key.get(key).copied()
    }

    pub(super) fn insert(&mut self, key: Key, is_chosen: bool) {
        if let Some(file) = &mut self.file {
            file.add(&key, is_chosen);
        }
        if self.by_key.insert(key.clone(), is_chosen).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_TAIL_DECISIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_key.remove(&oldest);
        }
    }

    /// Writes those that were made since this was last called.
    pub(super) fn save(&mut self) {
        if let Some(file) = &mut self.file
            && !file.pending.is_empty()
        {
            file.save();
        }
    }
}

const NEWEST: &str = "decisions";
const OLDER: &str = "decisions.1";

impl DecisionFile {
    fn add(&mut self, (tenant, trace_id): &Key, is_chosen: bool) {
        self.pending.push_str(if is_chosen { "1 " } else { "0 " });
        for byte in trace_id {
            // Writing to memory does not fail.
            let _ = write!(self.pending, "{byte:02x}");
        }
        let _ = writeln!(self.pending, " {tenant}");
        self.lines += 1;
    }

    fn save(&mut self) {
        let saved = self.try_save();
        self.pending.clear();
        if let Err(error) = &saved {
            self.open = None;
            if !self.is_failing {
                tracing::warn!(%error, "decisions on traces cannot be kept for a restart");
            }
        }
        self.is_failing = saved.is_err();
    }

    fn try_save(&mut self) -> io::Result<()> {
        if self.lines > MAX_TAIL_DECISIONS {
            self.open = None;
            self.lines = self.pending.lines().count();
            match fs::rename(self.dir.join(NEWEST), self.dir.join(OLDER)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                fs::create_dir_all(&self.dir)?;
                let path = self.dir.join(NEWEST);
                let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                if file.metadata()?.len() > 0 {
                    // A line may have been cut off.
                    file.write_all(b"\n")?;
                }
                self.open.insert(file)
            }
        };
        file.write_all(self.pending.as_bytes())
    }
}

/// Reads decisions. Lines that are none, as one that was cut off, are passed over.
fn read(path: &Path, mut found: impl FnMut(Key, bool)) -> io::Result<()> {
    let file = File::open(path)?.take(MAX_TAIL_FILE_BYTES);
    for line in BufReader::new(file).lines() {
        if let Some((key, is_chosen)) = decision(&line?) {
            found(key, is_chosen);
        }
    }
    Ok(())
}

fn decision(line: &str) -> Option<(Key, bool)> {
    let (is_chosen, rest) = line.split_once(' ')?;
    let (digits, tenant) = rest.split_once(' ')?;
    let is_chosen = match is_chosen {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let is_id = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let id = is_id.then(|| u128::from_str_radix(digits, 16).ok()).flatten()?;
    Some(((tenant.into(), id.to_be_bytes()), is_chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Key {
        ("a tenant".into(), number.to_be_bytes())
    }

    #[test]
    fn decisions_hold_after_a_restart_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let mut decisions = Decisions::kept_in(dir.path());
        decisions.insert(key(1), true);
        decisions.insert(key(2), false);
        decisions.save();
        let mut decisions = Decisions::kept_in(dir.path());
        let found = [1, 2, 3].map(|number| decisions.get(&key(number)));
        assert_eq!(found, [Some(true), Some(false), None]);
        decisions.insert(key(3), true);
        decisions.save();
        let mut decisions = Decisions::kept_in(dir.path());
        assert_eq!([1, 3].map(|number| decisions.get(&key(number))), [Some(true); 2]);
        for number in 10..10 + MAX_TAIL_DECISIONS as u128 {
            decisions.insert(key(number), true);
            if number % 1000 == 0 {
                decisions.save();
            }
        }
        decisions.save();
        let decisions = Decisions::kept_in(dir.path());
        assert_eq!(decisions.order.len(), MAX_TAIL_DECISIONS);
        assert_eq!((decisions.get(&key(3)), decisions.get(&key(10))), (None, Some(true)));
    }

    #[test]
    fn a_line_that_was_cut_off_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let whole = "1 0000000000000000000000000000000a t\n";
        fs::write(dir.path().join(NEWEST), format!("{whole}x\n1 0000000000000000000")).unwrap();
        let decisions = Decisions::kept_in(dir.path());
        assert_eq!(decisions.order.len(), 1);
        assert_eq!(decisions.get(&("t".into(), 10u128.to_be_bytes())), Some(true));
        let mut decisions = decisions;
        decisions.insert(key(11), false);
        decisions.save();
        assert_eq!(Decisions::kept_in(dir.path()).get(&key(11)), Some(false));
    }
}
