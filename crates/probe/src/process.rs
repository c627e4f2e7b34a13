//! What one process, or a process with all its descendants, uses.
//!
//! [`usage`] and [`tree_usage`] read `/proc`; [`Processes`] reads a given root. What only the
//! owner of a process may read (its I/O and open files) is `None` for others, not an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use procfs::FromRead;
use procfs::process::{Io, Stat, Status};

use crate::error::ProbeError;
use crate::files::names_in;
use crate::model::{Builder, Metric};
use crate::options::ProbeOptions;
use crate::probe::Collector;

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
        let mut stats = BTreeMap::new();
        let mut children = BTreeMap::<i32, Vec<i32>>::new();
        for stat in all_stats(&self.proc)? {
            children.entry(stat.ppid).or_default().push(stat.pid);
            stats.insert(stat.pid, stat);
        }
        let root = i32::try_from(root_pid).ok().filter(|root| stats.contains_key(root));
        let Some(root) = root else {
            return Err(ProbeError::Absent(self.proc.join(root_pid.to_string())));
        };
        // Files read one after another may show a circle that never was: each counts once.
        let mut seen = BTreeSet::from([root]);
        let mut open = vec![root];
        let mut total = Usage::default();
        while let Some(pid) = open.pop() {
            if let Some(stat) = stats.get(&pid) {
                let usage = self.usage_of(pid.unsigned_abs(), stat, true);
                if pid == root {
                    (total.pid, total.name) = (usage.pid, usage.name.clone());
                }
                total.add(&usage);
            }
            let below = children.get(&pid).into_iter().flatten();
            open.extend(below.copied().filter(|child| seen.insert(*child)));
        }
        Ok(total)
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

/// A file in the form that procfs knows; none if it cannot be read.
fn read_as<T: FromRead>(path: &Path) -> Option<T> {
    T::from_read(std::fs::read(path).ok()?.as_slice()).ok()
}

/// The state of every process; those that go meanwhile are left out.
pub(crate) fn all_stats(proc: &Path) -> Result<impl Iterator<Item = Stat>, ProbeError> {
    let pids = names_in(proc)?.into_iter();
    let pids = pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(pids.filter_map(move |pid| read_as::<Stat>(&proc.join(pid).join("stat"))))
}

/// The families of one kind of watching.
struct Families {
    processes: Metric,
    cpu: Metric,
    resident: Metric,
    peak_resident: Metric,
    threads: Metric,
    io: Metric,
    open_fds: Metric,
}

const OF_ONE: Families = Families {
    processes: Metric::gauge("kymo_process_up", "1 while a watched process is there."),
    cpu: Metric::counter("kymo_process_cpu_seconds_total", "Processor time of a process."),
    resident: Metric::gauge("kymo_process_resident_memory_bytes", "Memory in use."),
    peak_resident: Metric::gauge(
        "kymo_process_peak_resident_memory_bytes",
        "The most memory that was in use.",
    ),
    threads: Metric::gauge("kymo_process_threads", "Threads."),
    io: Metric::counter("kymo_process_io_bytes_total", "Bytes read from and written to storage."),
    open_fds: Metric::gauge("kymo_process_open_fds", "Open files."),
};

const OF_TREE: Families = Families {
    processes: Metric::gauge("kymo_process_tree_processes", "Processes of a tree."),
    cpu: Metric::counter(
        "kymo_process_tree_cpu_seconds_total",
        "Processor time of a tree of processes.",
    ),
    resident: Metric::gauge("kymo_process_tree_resident_memory_bytes", "Memory in use."),
    peak_resident: Metric::gauge(
        "kymo_process_tree_peak_resident_memory_bytes",
        "The sum of the most memory that each process had in use.",
    ),
    threads: Metric::gauge("kymo_process_tree_threads", "Threads."),
    io: Metric::counter(
        "kymo_process_tree_io_bytes_total",
        "Bytes read from and written to storage.",
    ),
    open_fds: Metric::gauge("kymo_process_tree_open_fds", "Open files."),
};

/// Emits the usage of given processes as `kymo_process_*` and `kymo_process_tree_*`.
pub(crate) struct WatchedProcesses {
    processes: Processes,
    pids: Vec<u32>,
    roots: Vec<u32>,
}

impl WatchedProcesses {
    pub(crate) fn new(options: &ProbeOptions) -> Self {
        Self {
            processes: Processes::new(&options.proc_root),
            pids: options.processes.clone(),
            roots: options.process_trees.clone(),
        }
    }
}

impl Collector for WatchedProcesses {
    fn name(&self) -> &'static str {
        "watched_processes"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        // A process that is gone has no numbers; that is what watching it is for.
        for usage in self.pids.iter().filter_map(|pid| self.processes.usage(*pid).ok()) {
            emit(out, &OF_ONE, &usage);
        }
        for usage in self.roots.iter().filter_map(|pid| self.processes.tree_usage(*pid).ok()) {
            emit(out, &OF_TREE, &usage);
        }
        Ok(())
    }
}

fn emit(out: &mut Builder, families: &Families, usage: &Usage) {
    let pid = usage.pid.to_string();
    let labels = [("pid", pid.as_str()), ("process", usage.name.as_str())];
    let [pid, process] = labels;
    out.with(&families.processes, &labels, f64::from(usage.processes));
    out.with(&families.cpu, &[pid, process, ("mode", "user")], usage.cpu_user_secs);
    out.with(&families.cpu, &[pid, process, ("mode", "system")], usage.cpu_system_secs);
    out.with(&families.resident, &labels, usage.resident_bytes as f64);
    out.with(&families.peak_resident, &labels, usage.peak_resident_bytes as f64);
    out.with(&families.threads, &labels, usage.threads as f64);
    for (direction, bytes) in [("read", usage.read_bytes), ("write", usage.written_bytes)] {
        if let Some(bytes) = bytes {
            out.with(&families.io, &[pid, process, ("direction", direction)], bytes as f64);
        }
    }
    if let Some(open_fds) = usage.open_fds {
        out.with(&families.open_fds, &labels, open_fds as f64);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

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

    fn processes(tree: &Tree) -> Processes {
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

    #[test]
    fn watched_processes_are_emitted_until_they_go() {
        let tree = Tree::new(&[("5/stat", &stat_line(5, "root", 'S', 1, 2))]);
        let options = ProbeOptions {
            proc_root: tree.path().to_owned(),
            processes: vec![5, 6],
            process_trees: vec![5],
            ..ProbeOptions::default()
        };
        let mut watched = WatchedProcesses::new(&options);
        let snapshot = collect(&mut watched);
        let labels = [("pid", "5"), ("process", "root")];
        assert_eq!(snapshot.value("kymo_process_threads", &labels), Some(2.0));
        assert_eq!(snapshot.value("kymo_process_tree_processes", &labels), Some(1.0));
        assert_eq!(snapshot.family("kymo_process_up").unwrap().samples.len(), 1);
        std::fs::remove_dir_all(tree.path().join("5")).unwrap();
        assert!(collect(&mut watched).families.is_empty());
    }
}
