//! Processes that are watched: by their ids, by their names, and this program itself.
//!
//! All of `/proc` is read once for all of them, and at a bounded pace: a machine may have
//! thousands of processes. This program by itself is four files, and read each time. A process that is
//! gone has no numbers; that is what watching it is for. Counters are said to count since the start of
//! their process, so that what it did before it was first seen is part of rates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use procfs::process::Stat;

use super::totals::Totals;
use super::{Processes, Table, Usage, all_stats, boot_secs, read_as};
use crate::error::ProbeError;
use crate::limits::MAX_NAMED_PROCESSES;
use crate::model::{Builder, Metric};
use crate::options::ProbeOptions;
use crate::probe::{Collector, Pace};

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

/// The kernel cuts the names of processes after so many bytes.
const NAME_BYTES: usize = 15;

/// The collectors of the processes that the options name; none if they name none.
pub(crate) fn watched(options: &ProbeOptions) -> Vec<Box<dyn Collector>> {
    let mut collectors: Vec<Box<dyn Collector>> = Vec::new();
    if let Some(pid) = options.own_process.then(|| own_pid(&options.proc_root)).flatten() {
        let processes = Processes::new(&options.proc_root);
        collectors.push(Box::new(ThisProgram { processes, pid, boot_secs: None }));
    }
    let is_any = options.own_process
        || !options.processes.is_empty()
        || !options.process_trees.is_empty()
        || !options.watched_names.is_empty();
    if is_any {
        collectors.push(Box::new(WatchedProcesses::new(options)));
    }
    collectors
}

/// Emits the usage of this program by itself as `kymo_process_*`.
struct ThisProgram {
    processes: Processes,
    pid: i32,
    /// Unix time, once it is known. It is not read again: a start that moves would seem to be another.
    boot_secs: Option<f64>,
}

impl Collector for ThisProgram {
    fn name(&self) -> &'static str {
        "own_process"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let path = self.processes.proc.join(self.pid.to_string()).join("stat");
        let Some(stat) = read_as::<Stat>(&path) else {
            return Err(ProbeError::malformed(path, "the state of a process"));
        };
        self.boot_secs = self.boot_secs.or_else(|| boot_secs(&self.processes.proc));
        let start_millis = self.processes.start_millis(&stat, self.boot_secs);
        let usage = self.processes.usage_of(self.pid.unsigned_abs(), &stat, false);
        emit(out, &OF_ONE, &usage, start_millis);
        Ok(())
    }
}

/// Emits the usage of processes as `kymo_process_*` and `kymo_process_tree_*`.
struct WatchedProcesses {
    processes: Processes,
    /// This program, which is watched by itself elsewhere.
    own: Option<i32>,
    /// Those given by their ids.
    pids: BTreeSet<i32>,
    roots: BTreeSet<i32>,
    /// As the kernel has them.
    names: Vec<Vec<u8>>,
    /// What trees have used so far, by their roots: a process is known by its id and its start.
    totals: BTreeMap<(i32, u64), Totals>,
    /// Unix time, once it is known.
    boot_secs: Option<f64>,
}

impl WatchedProcesses {
    fn new(options: &ProbeOptions) -> Self {
        let own = options.own_process.then(|| own_pid(&options.proc_root)).flatten();
        let pids = |given: &[u32]| -> BTreeSet<i32> {
            given.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect()
        };
        let name = |name: &String| name.bytes().take(NAME_BYTES).collect();
        Self {
            processes: Processes::new(&options.proc_root),
            own,
            pids: pids(&options.processes),
            roots: pids(&options.process_trees).into_iter().chain(own).collect(),
            names: options.watched_names.iter().map(name).collect(),
            totals: BTreeMap::new(),
            boot_secs: None,
        }
    }

    /// All processes, or only those asked for if neither trees nor names are.
    fn table(&self) -> Result<Table, ProbeError> {
        let proc = &self.processes.proc;
        if self.roots.is_empty() && self.names.is_empty() {
            let stat = |pid: &i32| read_as::<Stat>(&proc.join(pid.to_string()).join("stat"));
            return Ok(Table::of(self.pids.iter().filter_map(stat)));
        }
        Ok(Table::of(all_stats(proc)?))
    }

    /// Those watched by their names.
    fn named(&self, table: &Table) -> BTreeSet<i32> {
        let is_named = |stat: &&Stat| self.names.iter().any(|name| name == stat.comm.as_bytes());
        let named = table.stats.values().filter(is_named).map(|stat| stat.pid);
        named.take(MAX_NAMED_PROCESSES).collect()
    }

    /// The usage of a tree, with counters that do not fall.
    fn tree(&mut self, table: &Table, root: i32, before: &mut Before) -> Option<Usage> {
        let usage = self.processes.tree_in(table, root)?;
        let key = (root, table.stats.get(&root)?.starttime);
        let mut totals = before.remove(&key).unwrap_or_default();
        let usage = totals.advance(usage);
        self.totals.insert(key, totals);
        Some(usage)
    }
}

/// What was known of trees before this round.
type Before = BTreeMap<(i32, u64), Totals>;

/// This program as that `/proc` has it, which in a container may be the host's.
fn own_pid(proc: &Path) -> Option<i32> {
    std::fs::read_link(proc.join("self")).ok()?.to_str()?.parse().ok()
}

/// Those that have none of the others above them, so that no tree is counted in another.
fn tops(table: &Table, pids: &BTreeSet<i32>) -> Vec<i32> {
    let below: BTreeSet<i32> = pids
        .iter()
        .flat_map(|pid| table.tree(*pid).into_iter().skip(1))
        .map(|stat| stat.pid)
        .collect();
    pids.difference(&below).copied().collect()
}

impl Collector for WatchedProcesses {
    fn name(&self) -> &'static str {
        "watched_processes"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let table = self.table()?;
        let named = self.named(&table);
        self.boot_secs = self.boot_secs.or_else(|| boot_secs(&self.processes.proc));
        for pid in self.pids.union(&named).filter(|pid| self.own != Some(**pid)) {
            if let Some(stat) = table.stats.get(pid) {
                let usage = self.processes.usage_of(pid.unsigned_abs(), stat, false);
                let start_millis = self.processes.start_millis(stat, self.boot_secs);
                emit(out, &OF_ONE, &usage, start_millis);
            }
        }
        let roots: BTreeSet<i32> = self.roots.iter().copied().chain(tops(&table, &named)).collect();
        let mut before = std::mem::take(&mut self.totals);
        for root in roots {
            if let Some(usage) = self.tree(&table, root, &mut before) {
                let stat = table.stats.get(&root);
                let start_millis =
                    stat.and_then(|stat| self.processes.start_millis(stat, self.boot_secs));
                emit(out, &OF_TREE, &usage, start_millis);
            }
        }
        Ok(())
    }
}

fn emit(out: &mut Builder, families: &Families, usage: &Usage, start_millis: Option<i64>) {
    let pid = usage.pid.to_string();
    let labels = [("pid", pid.as_str()), ("process", usage.name.as_str())];
    let [pid, process] = labels;
    out.with(&families.processes, &labels, f64::from(usage.processes));
    for (mode, secs) in [("user", usage.cpu_user_secs), ("system", usage.cpu_system_secs)] {
        out.since(&families.cpu, &[pid, process, ("mode", mode)], secs, start_millis);
    }
    out.with(&families.resident, &labels, usage.resident_bytes as f64);
    out.with(&families.peak_resident, &labels, usage.peak_resident_bytes as f64);
    out.with(&families.threads, &labels, usage.threads as f64);
    for (direction, bytes) in [("read", usage.read_bytes), ("write", usage.written_bytes)] {
        if let Some(bytes) = bytes {
            let labels = [pid, process, ("direction", direction)];
            out.since(&families.io, &labels, bytes as f64, start_millis);
        }
    }
    if let Some(open_fds) = usage.open_fds {
        out.with(&families.open_fds, &labels, open_fds as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};
    use crate::process::tests::{processes, stat_line};

    fn watching(tree: &Tree, options: ProbeOptions) -> WatchedProcesses {
        let options = ProbeOptions { proc_root: tree.path().to_owned(), ..options };
        WatchedProcesses { processes: processes(tree), ..WatchedProcesses::new(&options) }
    }

    #[test]
    fn watched_processes_are_emitted_until_they_go() {
        let tree = Tree::new(&[("5/stat", &stat_line(5, "root", 'S', 1, 2))]);
        let (processes, process_trees) = (vec![5, 6], vec![5]);
        let options = ProbeOptions { processes, process_trees, ..ProbeOptions::default() };
        let mut watched = watching(&tree, options);
        let snapshot = collect(&mut watched);
        let labels = [("pid", "5"), ("process", "root")];
        assert_eq!(snapshot.value("kymo_process_threads", &labels), Some(2.0));
        assert_eq!(snapshot.value("kymo_process_tree_processes", &labels), Some(1.0));
        assert_eq!(snapshot.family("kymo_process_up").unwrap().samples.len(), 1);
        std::fs::remove_dir_all(tree.path().join("5")).unwrap();
        assert!(collect(&mut watched).families.is_empty());
    }

    #[test]
    fn a_child_that_ends_unseen_does_not_make_the_counters_of_its_tree_fall() {
        let tree = Tree::new(&[
            ("5/stat", &stat_line(5, "root", 'S', 1, 2)),
            ("6/stat", &stat_line(6, "child", 'S', 5, 2)),
        ]);
        let options = ProbeOptions { process_trees: vec![5], ..ProbeOptions::default() };
        let mut watched = watching(&tree, options);
        let mut user_secs = || {
            let snapshot = collect(&mut watched);
            snapshot.value("kymo_process_tree_cpu_seconds_total", &[("mode", "user")]).unwrap()
        };
        let both = user_secs();
        assert!((both - 1.2).abs() < 1e-9, "{both}");
        std::fs::remove_dir_all(tree.path().join("6")).unwrap();
        assert_eq!(user_secs(), both, "it does not fall");
        tree.write("5/stat", &stat_line(5, "root", 'S', 1, 2).replace(" 50 25 ", " 150 25 "));
        assert!((user_secs() - both - 1.0).abs() < 1e-9, "it goes on rising at once");
        tree.write("5/stat", &stat_line(5, "root", 'S', 1, 2).replace(" 100 1000000 ", " 7 1 "));
        assert!((user_secs() - 0.6).abs() < 1e-9, "another process with the same id");
    }

    #[test]
    fn processes_are_watched_by_name_and_a_tree_is_not_counted_within_another() {
        let tree = Tree::new(&[
            ("5/stat", &stat_line(5, "python3", 'S', 1, 1)),
            ("6/stat", &stat_line(6, "python3", 'S', 5, 1)),
            ("7/stat", &stat_line(7, "a-name-of-over-", 'S', 1, 1)),
            ("8/stat", &stat_line(8, "bash", 'S', 1, 1)),
        ]);
        let names = ["python3", "a-name-of-over-fifteen-bytes"].map(str::to_owned);
        let options = ProbeOptions { watched_names: names.into(), ..ProbeOptions::default() };
        let snapshot = collect(&mut watching(&tree, options));
        let pids = |family: &str| -> Vec<String> {
            let samples = &snapshot.family(family).unwrap().samples;
            samples.iter().map(|sample| sample.labels[0].1.clone()).collect()
        };
        assert_eq!(pids("kymo_process_up"), ["5", "6", "7"]);
        assert_eq!(pids("kymo_process_tree_processes"), ["5", "7"]);
        let of_five = snapshot.value("kymo_process_tree_processes", &[("pid", "5")]);
        assert_eq!(of_five, Some(2.0));
    }

    #[test]
    fn this_program_is_watched_with_its_tree_if_asked() {
        let own = std::process::id().to_string();
        // Also if it is named, it is there once.
        let processes = vec![std::process::id()];
        let options = ProbeOptions { own_process: true, processes, ..ProbeOptions::default() };
        let mut collectors = watched(&options);
        assert_eq!(collectors.len(), 2);
        let families = ["kymo_process_up", "kymo_process_tree_processes"];
        for (place, family) in families.into_iter().enumerate() {
            let snapshot = collect(collectors[place].as_mut());
            assert!(snapshot.value(family, &[("pid", &own)]) >= Some(1.0), "{family}");
            let other = families[1 - place];
            assert_eq!(snapshot.value(other, &[("pid", &own)]), None, "{other}");
        }
        assert_eq!(collectors[0].pace(), Pace::Always);
        assert!(watched(&ProbeOptions::default()).is_empty());
    }

    #[test]
    fn counters_count_since_the_start_of_their_process() {
        let tree = Tree::new(&[
            ("stat", "cpu 1 2\nbtime 1700000000\n"),
            ("5/stat", &stat_line(5, "root", 'S', 1, 2)),
        ]);
        let options =
            ProbeOptions { processes: vec![5], process_trees: vec![5], ..ProbeOptions::default() };
        let snapshot = collect(&mut watching(&tree, options));
        let starts = |name: &str| -> Vec<Option<i64>> {
            let samples = &snapshot.family(name).unwrap().samples;
            samples.iter().map(|sample| sample.start_millis).collect()
        };
        // It started 100 ticks after the machine.
        for counter in ["kymo_process_cpu_seconds_total", "kymo_process_tree_cpu_seconds_total"] {
            assert_eq!(starts(counter), [Some(1_700_000_001_000); 2], "{counter}");
        }
        assert_eq!(starts("kymo_process_threads"), [None]);
    }
}
