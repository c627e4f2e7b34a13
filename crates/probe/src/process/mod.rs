//! What one process, or a process with all its descendants, uses.
//!
//! [`usage`] and [`tree_usage`] read `/proc`; [`Processes`] reads a given root. What only the
//! owner of a process may read (its I/O and open files) is `None` for others, not an error.
//!
//! [`TreeProbe`] follows a tree from its start to its end, with all that ended on the way.

mod totals;
mod tree;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use procfs::FromRead;
use procfs::process::{Io, Stat, Status};

use crate::error::ProbeError;
use crate::files::{names_in, number};
pub use tree::{NetworkProbe, TreeProbe, TreeUsage, Waited};
pub(crate) use watched::watched;

/// What a process or a tree of processes uses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// The process asked for: of a tree, its root.
    pub pid: u32,
    /// Its name as the kernel has it, at most 15 bytes.
    pub name: String,
    /// How many processes are counted: 1, or those of the tree.
    pub processes: u32,
    /// Processor time in user mode. Of a tree, also that of descendants that ended and were
    /// waited for.
    pub cpu_user_secs: f64,
    /// Processor time in the kernel, likewise.
    pub cpu_system_secs: f64,
    /// Memory in use now.
    pub resident_bytes: u64,
    /// The most memory that was in use; of a tree the sum, thus an upper bound.
    pub peak_resident_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Bytes read from storage, if it may be known.
    pub read_bytes: Option<u64>,
    /// Bytes written to storage, if it may be known.
    pub written_bytes: Option<u64>,
    /// Open files, if it may be known.
    pub open_fds: Option<u64>,
}

impl Usage {
    fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, other) => one.or(other),
        };
        self.processes += other.processes;
        self.cpu_user_secs += other.cpu_user_secs;
        self.cpu_system_secs += other.cpu_system_secs;
        self.resident_bytes = self.resident_bytes.saturating_add(other.resident_bytes);
        self.peak_resident_bytes =
            self.peak_resident_bytes.saturating_add(other.peak_resident_bytes);
        self.threads = self.threads.saturating_add(other.threads);
        self.read_bytes = sum(self.read_bytes, other.read_bytes);
        self.written_bytes = sum(self.written_bytes, other.written_bytes);
        self.open_fds = sum(self.open_fds, other.open_fds);
    }
}

/// What a process uses. [`ProbeError::Absent`] if there is none.
pub fn usage(pid: u32) -> Result<Usage, ProbeError> {
    Processes::new("/proc").usage(pid)
}

/// What a process and all its descendants use together. [`ProbeError::Absent`] if the root is
/// gone; descendants that go meanwhile are left out.
pub fn tree_usage(root_pid: u32) -> Result<Usage, ProbeError> {
    Processes::new("/proc").tree_usage(root_pid)
}

/// The processes under one root of `/proc`.
#[derive(Debug, Clone)]
pub struct Processes {
    proc: PathBuf,
    ticks_per_sec: f64,
    page_bytes: u64,
}

impl Processes {
    /// Those under `proc`, usually `/proc`.
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        Self {
            proc: proc.into(),
            ticks_per_sec: rustix::param::clock_ticks_per_second().max(1) as f64,
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// As [`usage`].
    pub fn usage(&self, pid: u32) -> Result<Usage, ProbeError> {
        let path = self.proc.join(pid.to_string()).join("stat");
        let text = std::fs::read(&path).map_err(|e| ProbeError::read(&path, e))?;
        let Ok(stat) = Stat::from_read(text.as_slice()) else {
            return Err(ProbeError::malformed(path, "the state of a process"));
        };
        Ok(self.usage_of(pid, &stat, false))
    }

    /// As [`tree_usage`].
    pub fn tree_usage(&self, root_pid: u32) -> Result<Usage, ProbeError> {
        let table = Table::of(all_stats(&self.proc)?);
        let usage = i32::try_from(root_pid).ok().and_then(|root| self.tree_in(&table, root));
        usage.ok_or_else(|| ProbeError::Absent(self.proc.join(root_pid.to_string())))
    }

    /// What a process of a table and its descendants use; none if it is not there.
    fn tree_in(&self, table: &Table, root: i32) -> Option<Usage> {
        let root = table.stats.get(&root)?;
        let mut total =
            Usage { pid: root.pid.unsigned_abs(), name: root.comm.clone(), ..Usage::default() };
        for stat in table.tree(root.pid) {
            total.add(&self.usage_of(stat.pid.unsigned_abs(), stat, true));
        }
        Some(total)
    }

    /// When a process started, in milliseconds since 1970.
    fn start_millis(&self, stat: &Stat, boot_secs: Option<f64>) -> Option<i64> {
        let secs = boot_secs? + stat.starttime as f64 / self.ticks_per_sec;
        Some((secs * 1_000.0) as i64).filter(|millis| *millis > 0)
    }

    fn usage_of(&self, pid: u32, stat: &Stat, with_ended: bool) -> Usage {
        let directory = self.proc.join(pid.to_string());
        let secs = |ticks: u64, ended: i64| {
            let ended = if with_ended { ended.max(0) as u64 } else { 0 };
            ticks.saturating_add(ended) as f64 / self.ticks_per_sec
        };
        let resident_bytes = stat.rss.saturating_mul(self.page_bytes);
        let status = read_as::<Status>(&directory.join("status"));
        let peak_bytes = status.and_then(|status| status.vmhwm).map(|kib| kib.saturating_mul(1024));
        let io = read_as::<Io>(&directory.join("io"));
        let fds = std::fs::read_dir(directory.join("fd")).ok();
        Usage {
            pid,
            name: stat.comm.clone(),
            processes: 1,
            cpu_user_secs: secs(stat.utime, stat.cutime),
            cpu_system_secs: secs(stat.stime, stat.cstime),
            resident_bytes,
            peak_resident_bytes: peak_bytes.unwrap_or(0).max(resident_bytes),
            threads: stat.num_threads.max(0) as u64,
            read_bytes: io.as_ref().map(|io| io.read_bytes),
            written_bytes: io.as_ref().map(|io| io.write_bytes),
            open_fds: fds.map(|entries| entries.count() as u64),
        }
    }
}

/// The states of processes, all read at about one time.
struct Table {
    stats: BTreeMap<i32, Stat>,
    children: BTreeMap<i32, Vec<i32>>,
}

impl Table {
    fn of(all: impl Iterator<Item = Stat>) -> Self {
        let mut table = Self { stats: BTreeMap::new(), children: BTreeMap::new() };
        for stat in all {
            table.children.entry(stat.ppid).or_default().push(stat.pid);
            table.stats.insert(stat.pid, stat);
        }
        table
    }

    /// A process and its descendants.
    fn tree(&self, root: i32) -> Vec<&Stat> {
        // Files read one after another may show a circle that never was: each counts once.
        let mut seen = BTreeSet::from([root]);
        let mut open = vec![root];
        let mut found = Vec::new();
        while let Some(pid) = open.pop() {
            found.extend(self.stats.get(&pid));
            let below = self.children.get(&pid).into_iter().flatten();
            open.extend(below.copied().filter(|child| seen.insert(*child)));
        }
        found
    }
}

/// A file in the form that procfs knows; none if it cannot be read.
fn read_as<T: FromRead>(path: &Path) -> Option<T> {
    let bytes = std::fs::read(path).ok()?;
    // A process may have a name that is no text.
    T::from_read(String::from_utf8_lossy(&bytes).as_bytes()).ok()
}

/// When the machine started, Unix time; none if the kernel does not say it.
pub(crate) fn boot_secs(proc: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(proc.join("stat")).ok()?;
    number(text.lines().find_map(|line| line.strip_prefix("btime "))?)
}

/// The state of every process; those that go meanwhile are left out.
pub(crate) fn all_stats(proc: &Path) -> Result<impl Iterator<Item = Stat>, ProbeError> {
    let pids = names_in(proc)?.into_iter();
    let pids = pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(pids.filter_map(move |pid| read_as::<Stat>(&proc.join(pid).join("stat"))))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::host::fixture::Tree;

    /// A line of `/proc/<pid>/stat`: 50 ticks in user mode, 25 in the kernel, 10 and 5 of ended
    /// children, 3 pages.
    pub(crate) fn stat_line(
        pid: u32,
        name: &str,
        state: char,
        parent: u32,
        threads: u32,
    ) -> String {
        format!(
            "{pid} ({name}) {state} {parent} 1 1 0 -1 4194560 1 1 1 1 50 25 10 5 20 0 {threads} 0 \
             100 1000000 3 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    pub(super) fn processes(tree: &Tree) -> Processes {
        Processes { proc: tree.path().to_owned(), ticks_per_sec: 100.0, page_bytes: 4096 }
    }

    #[test]
    fn a_tree_is_the_sum_of_its_processes_and_of_what_ended() {
        let io = "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 100\nwrite_bytes: 200\n\
            cancelled_write_bytes: 0\n";
        let tree = Tree::new(&[
            ("1/stat", &stat_line(1, "init", 'S', 0, 1)),
            ("5/stat", &stat_line(5, "root", 'S', 1, 2)),
            ("5/io", io),
            ("6/stat", &stat_line(6, "child", 'R', 5, 3)),
            ("6/io", io),
            ("6/fd/0", ""),
            ("7/stat", &stat_line(7, "grandchild", 'R', 6, 1)),
            ("8/stat", &stat_line(8, "other", 'R', 1, 9)),
        ]);
        let one = processes(&tree).usage(6).unwrap();
        assert_eq!((one.cpu_user_secs, one.cpu_system_secs), (0.5, 0.25));
        assert_eq!((one.resident_bytes, one.open_fds), (12_288, Some(1)));
        assert_eq!((one.threads, one.read_bytes), (3, Some(100)));
        let all = processes(&tree).tree_usage(5).unwrap();
        assert_eq!((all.pid, all.name.as_str(), all.processes), (5, "root", 3));
        assert_eq!(all.threads, 6);
        assert!((all.cpu_user_secs - 1.8).abs() < 1e-9, "{}", all.cpu_user_secs);
        assert!((all.cpu_system_secs - 0.9).abs() < 1e-9, "{}", all.cpu_system_secs);
        assert_eq!(all.written_bytes, Some(400));
        assert!(processes(&tree).tree_usage(99).unwrap_err().is_absent());
        assert!(processes(&tree).usage(99).unwrap_err().is_absent());
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let tree = Tree::new(&[
            ("5/stat", &stat_line(5, "a", 'S', 6, 1)),
            ("6/stat", &stat_line(6, "b", 'S', 5, 1)),
        ]);
        assert_eq!(processes(&tree).tree_usage(5).unwrap().processes, 2);
    }

    #[test]
    fn this_process_is_measured_as_it_is() {
        let pid = std::process::id();
        let one = usage(pid).unwrap();
        assert!(one.resident_bytes > 0 && one.peak_resident_bytes >= one.resident_bytes);
        assert!(one.open_fds.unwrap() > 0);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let all = tree_usage(pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(all.processes >= 2, "{all:?}");
        assert!(all.resident_bytes > 0);
    }
}
