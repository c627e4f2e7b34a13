//! What a tree of processes has used from its start to its end.
//!
//! [`super::tree_usage`] is a look at one moment. A [`TreeProbe`] looks again and again, and its
//! totals hold what processes used that have ended meanwhile:
//!
//! - The kernel adds what a process used (processor time, bytes read and written) to the parent that
//!   waits for it. So a process counts with all that it waited for, and what the root itself waited
//!   for is given to [`TreeProbe::poll`].
//! - A process whose parent does not want to know of its end (one that ignores `SIGCHLD`) is added
//!   to nobody. What was last seen of it is kept. How much of it was added to others after all
//!   shows up to one look later, since processes are not all read at one moment; it counts as lost
//!   only then. One that both starts and ends between two looks, with such a parent, is not seen.
//!
//! Totals never fall. A tree is walked from its root by the kernel's lists of children, so that what
//! it costs does not depend on what else the machine runs; kernels without such lists are asked for
//! all processes instead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use procfs::process::{Io, Stat};

use super::{Table, all_stats, read_as};
use crate::files::{KeptFile, names_in};
use crate::limits::MAX_TREE_PROCESSES;
use crate::node::{Devices, network};

/// User and system seconds, bytes read and written.
type Counters = [f64; 4];

/// A process is known by its number and by when it started, as numbers are used again.
type Identity = (i32, u64);

/// What the root of a tree waited for since the tree began: by `getrusage(RUSAGE_CHILDREN)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waited {
    /// Processor time in user mode.
    pub cpu_user_secs: f64,
    /// Processor time in the kernel.
    pub cpu_system_secs: f64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub written_bytes: u64,
}

impl Waited {
    fn counters(&self) -> Counters {
        let bytes = |bytes: u64| bytes as f64;
        [
            self.cpu_user_secs,
            self.cpu_system_secs,
            bytes(self.read_bytes),
            bytes(self.written_bytes),
        ]
    }
}

/// What a tree of processes uses now, and what it has used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeUsage {
    /// Processes that live, their numbers in order.
    pub pids: Vec<u32>,
    /// Their threads.
    pub threads: u64,
    /// Memory that they have in use now. Memory that several share counts for each of them.
    pub resident_bytes: u64,
    /// The most memory that was in use at a look.
    pub peak_resident_bytes: u64,
    /// Processor time in user mode so far, with that of processes that have ended.
    pub cpu_user_secs: f64,
    /// Processor time in the kernel so far, likewise.
    pub cpu_system_secs: f64,
    /// Bytes read from storage so far, likewise; without those of processes that may not be looked
    /// into, such as another user's.
    pub read_bytes: u64,
    /// Bytes written to storage so far, likewise.
    pub written_bytes: u64,
}

/// One process at one look.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Its own and that of what it waited for.
    used: Counters,
    /// What only grows when it waits for another. For bytes the kernel does not tell them apart, so
    /// all of them: then less counts as lost than was, never more.
    waited: Counters,
}

/// Looks at all descendants of a process.
#[derive(Debug)]
pub struct TreeProbe {
    proc: PathBuf,
    root: i32,
    /// Children that the root had before, which are none of this tree.
    foreign: BTreeSet<Identity>,
    has_child_lists: bool,
    ticks_per_sec: f64,
    page_bytes: u64,
    last: BTreeMap<Identity, Look>,
    last_waited: Counters,
    /// What processes used that were gone at the last look, less what was added to others since.
    missing: Counters,
    lost: Counters,
    totals: Counters,
    peak_resident_bytes: u64,
}

impl TreeProbe {
    /// All that a process starts from now on, and what that starts; not the process itself.
    #[must_use]
    pub fn below(root_pid: u32) -> Self {
        Self::of_root(Path::new("/proc"), root_pid)
    }

    fn of_root(proc: &Path, root_pid: u32) -> Self {
        let mut probe = Self {
            proc: proc.to_owned(),
            root: i32::try_from(root_pid).unwrap_or(i32::MAX),
            foreign: BTreeSet::new(),
            has_child_lists: false,
            ticks_per_sec: rustix::param::clock_ticks_per_second().max(1) as f64,
            page_bytes: rustix::param::page_size() as u64,
            last: BTreeMap::new(),
            last_waited: Counters::default(),
            missing: Counters::default(),
            lost: Counters::default(),
            totals: Counters::default(),
            peak_resident_bytes: 0,
        };
        let pid = root_pid.to_string();
        let list = proc.join(&pid).join("task").join(&pid).join("children");
        probe.has_child_lists = list.exists();
        probe.foreign = probe.descendants().iter().map(identity).collect();
        probe
    }

    /// What the tree uses now and has used so far; `waited` is what the root waited for since this
    /// probe was made.
    pub fn poll(&mut self, waited: &Waited) -> TreeUsage {
        // Before the processes are read: what ends in between is missing for one look, instead of
        // counting twice.
        let waited = waited.counters();
        let mut usage = TreeUsage::default();
        let mut looks = BTreeMap::new();
        let mut sums = waited;
        for stat in self.descendants() {
            let look = self.look(&stat);
            add(&mut sums, &look.used);
            usage.pids.extend(u32::try_from(stat.pid));
            usage.threads += stat.num_threads.max(0).unsigned_abs();
            usage.resident_bytes += stat.rss.saturating_mul(self.page_bytes);
            looks.insert(identity(&stat), look);
        }
        usage.pids.sort_unstable();
        self.settle(&looks, &waited);
        self.last = looks;
        self.last_waited = waited;
        for ((total, sum), lost) in self.totals.iter_mut().zip(sums).zip(self.lost) {
            *total = total.max(sum + lost);
        }
        self.peak_resident_bytes = self.peak_resident_bytes.max(usage.resident_bytes);
        let [cpu_user_secs, cpu_system_secs, read, written] = self.totals;
        TreeUsage {
            peak_resident_bytes: self.peak_resident_bytes,
            cpu_user_secs,
            cpu_system_secs,
            read_bytes: read as u64,
            written_bytes: written as u64,
            ..usage
        }
    }

    /// Finds out what was lost with processes that are gone.
    fn settle(&mut self, looks: &BTreeMap<Identity, Look>, waited: &Counters) {
        let mut gone = Counters::default();
        let mut handed_on = Counters::default();
        for (identity, before) in &self.last {
            match looks.get(identity) {
                Some(now) => grow(&mut handed_on, &before.waited, &now.waited),
                None => add(&mut gone, &before.used),
            }
        }
        grow(&mut handed_on, &self.last_waited, waited);
        for place in 0..gone.len() {
            // First what was missing at the last look; the rest is of those that went since.
            let found = handed_on[place].min(self.missing[place]);
            self.lost[place] += self.missing[place] - found;
            self.missing[place] = (gone[place] - (handed_on[place] - found)).max(0.0);
        }
    }

    fn look(&self, stat: &Stat) -> Look {
        let secs = |ticks: u64| ticks as f64 / self.ticks_per_sec;
        let [user, system] = [secs(stat.utime), secs(stat.stime)];
        let [waited_user, waited_system] =
            [stat.cutime, stat.cstime].map(|ticks| secs(ticks.max(0).unsigned_abs()));
        let io = read_as::<Io>(&self.proc.join(stat.pid.to_string()).join("io"));
        let [read, written] =
            io.map_or([0.0; 2], |io| [io.read_bytes as f64, io.write_bytes as f64]);
        Look {
            used: [user + waited_user, system + waited_system, read, written],
            waited: [waited_user, waited_system, read, written],
        }
    }

    /// Parents before their children.
    fn descendants(&self) -> Vec<Stat> {
        let found = if self.has_child_lists { self.walk() } else { self.search() };
        found.into_iter().filter(|stat| !self.foreign.contains(&identity(stat))).collect()
    }

    fn walk(&self) -> Vec<Stat> {
        let mut seen = BTreeSet::from([self.root]);
        let mut open = self.children(self.root);
        let mut found = Vec::new();
        while let Some(pid) = open.pop() {
            if !seen.insert(pid) || found.len() >= MAX_TREE_PROCESSES {
                continue;
            }
            let directory = self.proc.join(pid.to_string());
            let Some(stat) = read_as::<Stat>(&directory.join("stat")) else { continue };
            open.extend(self.children(pid));
            found.push(stat);
        }
        found
    }

    /// The kernel keeps a list for each thread, as any may start a process.
    fn children(&self, pid: i32) -> Vec<i32> {
        let tasks = self.proc.join(pid.to_string()).join("task");
        let threads = names_in(&tasks).unwrap_or_default();
        let lists = threads
            .iter()
            .filter_map(|thread| std::fs::read_to_string(tasks.join(thread).join("children")).ok());
        let mut children = Vec::new();
        for list in lists {
            children
                .extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        children
    }

    fn search(&self) -> Vec<Stat> {
        let Ok(all) = all_stats(&self.proc) else { return Vec::new() };
        let table = Table::of(all);
        let tree = table.tree(self.root).into_iter().filter(|stat| stat.pid != self.root);
        tree.take(MAX_TREE_PROCESSES).cloned().collect()
    }
}

fn identity(stat: &Stat) -> Identity {
    (stat.pid, stat.starttime)
}

fn add(sums: &mut Counters, counters: &Counters) {
    for (sum, counter) in sums.iter_mut().zip(counters) {
        *sum += counter;
    }
}

/// Adds what counters have grown.
fn grow(sums: &mut Counters, before: &Counters, now: &Counters) {
    for ((sum, before), now) in sums.iter_mut().zip(before).zip(now) {
        *sum += (now - before).max(0.0);
    }
}

/// Bytes sent and received in the network namespace of a process, since it is watched.
///
/// The kernel counts traffic by device, not by process: this is what everything in that namespace
/// moved, which is the tree alone only if it has one to itself.
#[derive(Debug)]
pub struct NetworkProbe {
    file: KeptFile,
    devices: Devices,
    received_bytes: u64,
    sent_bytes: u64,
}

impl NetworkProbe {
    /// The namespace that a process is in.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let file = Path::new("/proc").join(pid.to_string()).join("net/dev");
        Self {
            file: KeptFile::new(file),
            devices: Devices::default(),
            received_bytes: 0,
            sent_bytes: 0,
        }
    }

    /// Bytes received and sent since the first call. When the process is gone they stay as they are.
    pub fn poll(&mut self) -> (u64, u64) {
        if let Ok(text) = self.file.read()
            && let Some([received, sent]) =
                self.devices.advance(Some(text.lines().filter_map(network)))
        {
            self.received_bytes = self.received_bytes.saturating_add(received);
            self.sent_bytes = self.sent_bytes.saturating_add(sent);
        }
        (self.received_bytes, self.sent_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::stat_line;
    use super::*;
    use crate::host::fixture::Tree;

    /// `stat` of a process that used so many ticks, and waited for so many.
    fn stat(pid: u32, parent: u32, own: u64, waited: u64) -> String {
        let line = stat_line(pid, "p", 'S', parent, 1);
        line.replace(" 50 25 10 5 20 ", &format!(" {own} 0 {waited} 0 20 "))
    }

    fn probe(tree: &Tree) -> TreeProbe {
        let mut probe = TreeProbe::of_root(tree.path(), 1);
        (probe.ticks_per_sec, probe.page_bytes) = (1.0, 4096);
        probe
    }

    fn waited(secs: f64) -> Waited {
        Waited { cpu_user_secs: secs, ..Waited::default() }
    }

    #[test]
    fn what_ended_and_was_waited_for_counts_once() {
        let tree = Tree::new(&[("1/stat", &stat(1, 0, 900, 900)), ("9/stat", &stat(9, 1, 70, 0))]);
        let mut probe = probe(&tree);
        tree.write("5/stat", &stat(5, 1, 10, 0));
        tree.write("6/stat", &stat(6, 5, 20, 0));
        let usage = probe.poll(&waited(0.0));
        assert_eq!(usage.pids, [5, 6], "neither the root nor what it had before");
        assert_eq!((usage.cpu_user_secs, usage.resident_bytes), (30.0, 24_576));
        // 6 ends, and 5 waits for it.
        std::fs::remove_dir_all(tree.path().join("6")).unwrap();
        tree.write("5/stat", &stat(5, 1, 11, 22));
        let usage = probe.poll(&waited(0.0));
        assert_eq!((usage.cpu_user_secs, usage.resident_bytes), (33.0, 12_288));
        // And 5, for which the root waits.
        std::fs::remove_dir_all(tree.path().join("5")).unwrap();
        for _ in 0..3 {
            assert_eq!(probe.poll(&waited(34.0)).cpu_user_secs, 34.0);
        }
        assert_eq!(probe.poll(&waited(34.0)).peak_resident_bytes, 24_576);
    }

    #[test]
    fn what_nobody_waited_for_is_kept_and_what_comes_after_is_added() {
        let tree = Tree::new(&[("1/stat", &stat(1, 0, 0, 0))]);
        let mut probe = probe(&tree);
        tree.write("5/stat", &stat(5, 1, 1, 0));
        tree.write("6/stat", &stat(6, 5, 20, 0));
        assert_eq!(probe.poll(&waited(0.0)).cpu_user_secs, 21.0);
        std::fs::remove_dir_all(tree.path().join("6")).unwrap();
        assert_eq!(probe.poll(&waited(0.0)).cpu_user_secs, 21.0, "never falls");
        tree.write("5/stat", &stat(5, 1, 4, 0));
        assert_eq!(probe.poll(&waited(0.0)).cpu_user_secs, 24.0);
        std::fs::remove_dir_all(tree.path().join("5")).unwrap();
        for _ in 0..3 {
            assert_eq!(probe.poll(&waited(5.0)).cpu_user_secs, 25.0);
        }
    }

    #[test]
    fn what_is_handed_on_after_its_parent_was_read_is_not_lost() {
        let tree = Tree::new(&[("1/stat", &stat(1, 0, 0, 0))]);
        let mut probe = probe(&tree);
        tree.write("5/stat", &stat(5, 1, 1, 0));
        tree.write("6/stat", &stat(6, 5, 20, 0));
        probe.poll(&waited(0.0));
        std::fs::remove_dir_all(tree.path().join("6")).unwrap();
        assert_eq!(probe.poll(&waited(0.0)).cpu_user_secs, 21.0);
        tree.write("5/stat", &stat(5, 1, 1, 21));
        for _ in 0..3 {
            assert_eq!(probe.poll(&waited(0.0)).cpu_user_secs, 22.0);
        }
    }

    #[test]
    fn lists_of_children_and_a_search_find_the_same() {
        let own = std::process::id();
        let mut by_lists = TreeProbe::below(own);
        let mut by_search = TreeProbe::below(own);
        (by_lists.has_child_lists, by_search.has_child_lists) = (by_lists.has_child_lists, false);
        let script = "sleep 60 & exec sleep 60";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let is_below =
            |probe: &mut TreeProbe| probe.poll(&Waited::default()).pids.contains(&child.id());
        assert!(is_below(&mut by_lists) && is_below(&mut by_search));
        // The shell's own child, which is there after a moment.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let grandchild = loop {
            let stats = by_search.search();
            let found = stats.iter().find(|stat| stat.ppid.unsigned_abs() == child.id());
            if let Some(found) = found {
                break found.pid.unsigned_abs();
            }
            assert!(std::time::Instant::now() < deadline, "the shell started nothing");
        };
        assert!(by_lists.poll(&Waited::default()).pids.contains(&grandchild));
        rustix_kill(grandchild);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn rustix_kill(pid: u32) {
        let status = std::process::Command::new("kill").arg(pid.to_string()).status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn traffic_of_a_namespace_stays_when_its_process_is_gone() {
        let mut traffic = NetworkProbe::of(std::process::id());
        assert_eq!(traffic.poll(), (0, 0), "since it is watched");
        let mut gone = NetworkProbe::of(u32::MAX);
        assert_eq!((gone.poll(), gone.poll()), ((0, 0), (0, 0)));
    }
}
