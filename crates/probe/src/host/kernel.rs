//! The kernel's own counts: interrupts and forks, load, open files, entropy, hung tasks, scheduler.

use std::path::Path;

use procfs::{FromRead, LoadAverage};

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

/// Lines of `/proc/stat` with one number that matters, the first.
const STAT: [(&str, Metric); 6] = [
    ("btime", Metric::gauge("node_boot_time_seconds", "When the machine started, Unix time.")),
    ("ctxt", Metric::counter("node_context_switches_total", "Changes from one task to another.")),
    ("intr", Metric::counter("node_intr_total", "Interrupts serviced.")),
    ("processes", Metric::counter("node_forks_total", "Tasks created.")),
    ("procs_blocked", Metric::gauge("node_procs_blocked", "Tasks that wait for I/O.")),
    ("procs_running", Metric::gauge("node_procs_running", "Tasks that run or could run.")),
];

/// `/proc/stat`, but its processors.
pub(super) struct Stat(KeptFile);

impl Stat {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("stat")))
    }
}

impl Collector for Stat {
    fn name(&self) -> &'static str {
        "stat"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for line in self.0.read()?.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(key), Some(value)) = (fields.next(), fields.next()) else { continue };
            let Some((_, metric)) = STAT.iter().find(|(known, _)| *known == key) else { continue };
            if let Some(value) = number(value) {
                out.value(metric, value);
            }
        }
        Ok(())
    }
}

const LOAD_1: Metric = Metric::gauge("node_load1", "Load average of one minute.");
const LOAD_5: Metric = Metric::gauge("node_load5", "Load average of five minutes.");
const LOAD_15: Metric = Metric::gauge("node_load15", "Load average of fifteen minutes.");

/// `/proc/loadavg`.
pub(super) struct LoadAverages(KeptFile);

impl LoadAverages {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("loadavg")))
    }
}

impl Collector for LoadAverages {
    fn name(&self) -> &'static str {
        "loadavg"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let text = self.0.read()?;
        let Ok(load) = LoadAverage::from_read(text.as_bytes()) else {
            return Err(ProbeError::malformed(self.0.path(), "three load averages"));
        };
        // Through text, so that 0.1 stays 0.1 and is not the nearest of half the precision.
        let value = |average: f32| number(&average.to_string()).unwrap_or(f64::from(average));
        out.value(&LOAD_1, value(load.one));
        out.value(&LOAD_5, value(load.five));
        out.value(&LOAD_15, value(load.fifteen));
        Ok(())
    }
}

const FILES_ALLOCATED: Metric =
    Metric::gauge("node_filefd_allocated", "Open files of the whole machine.");
const FILES_MAXIMUM: Metric =
    Metric::gauge("node_filefd_maximum", "How many files may be open on the whole machine.");

/// `/proc/sys/fs/file-nr`.
pub(super) struct FileDescriptors(KeptFile);

impl FileDescriptors {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("sys/fs/file-nr")))
    }
}

impl Collector for FileDescriptors {
    fn name(&self) -> &'static str {
        "filefd"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut numbers = self.0.read()?.split_ascii_whitespace().map(number);
        let (allocated, _, maximum) = (numbers.next(), numbers.next(), numbers.next());
        let (Some(Some(allocated)), Some(Some(maximum))) = (allocated, maximum) else {
            return Err(ProbeError::malformed(self.0.path(), "three numbers"));
        };
        out.value(&FILES_ALLOCATED, allocated);
        out.value(&FILES_MAXIMUM, maximum);
        Ok(())
    }
}

/// Adds the only number of a file.
fn collect_number(
    file: &mut KeptFile,
    metrics: &[&Metric],
    out: &mut Builder,
) -> Result<(), ProbeError> {
    let Some(value) = number(file.read()?.trim()) else {
        return Err(ProbeError::malformed(file.path(), "one number"));
    };
    metrics.iter().for_each(|metric| out.value(metric, value));
    Ok(())
}

const ENTROPY_AVAILABLE: Metric =
    Metric::gauge("node_entropy_available_bits", "Randomness the kernel has ready.");
const ENTROPY_POOL: Metric =
    Metric::gauge("node_entropy_pool_size_bits", "Randomness the kernel can hold.");

/// `/proc/sys/kernel/random`.
pub(super) struct Entropy {
    available: KeptFile,
    pool: KeptFile,
}

impl Entropy {
    pub(super) fn new(proc: &Path) -> Self {
        let directory = proc.join("sys/kernel/random");
        Self {
            available: KeptFile::new(directory.join("entropy_avail")),
            pool: KeptFile::new(directory.join("poolsize")),
        }
    }
}

impl Collector for Entropy {
    fn name(&self) -> &'static str {
        "entropy"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        collect_number(&mut self.available, &[&ENTROPY_AVAILABLE], out)?;
        collect_number(&mut self.pool, &[&ENTROPY_POOL], out)
    }
}

const HUNG_TASKS_TOTAL: Metric = Metric::counter(
    "node_kernel_hung_tasks_total",
    "Tasks found hanging longer than the kernel's limit since the machine started.",
);
/// The dashboard asks for the count without `_total`.
const HUNG_TASKS: Metric = Metric::gauge(
    "node_kernel_hung_tasks",
    "Tasks found hanging longer than the kernel's limit since the machine started.",
);

/// `/proc/sys/kernel/hung_task_detect_count`.
pub(super) struct HungTasks(KeptFile);

impl HungTasks {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("sys/kernel/hung_task_detect_count")))
    }
}

impl Collector for HungTasks {
    fn name(&self) -> &'static str {
        "kernel_hung"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        collect_number(&mut self.0, &[&HUNG_TASKS_TOTAL, &HUNG_TASKS], out)
    }
}

const RUNNING: Metric = Metric::counter(
    "node_schedstat_running_seconds_total",
    "Time tasks have spent running on a processor.",
);
const WAITING: Metric = Metric::counter(
    "node_schedstat_waiting_seconds_total",
    "Time tasks have spent waiting for a processor.",
);
const TIMESLICES: Metric =
    Metric::counter("node_schedstat_timeslices_total", "Turns that tasks had on a processor.");

/// `/proc/schedstat`.
pub(super) struct SchedulerStatistics(KeptFile);

impl SchedulerStatistics {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("schedstat")))
    }
}

impl Collector for SchedulerStatistics {
    fn name(&self) -> &'static str {
        "schedstat"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for line in self.0.read()?.lines() {
            let Some(rest) = line.strip_prefix("cpu") else { continue };
            let mut fields = rest.split_ascii_whitespace();
            let Some(cpu) = fields.next() else { continue };
            let mut numbers = fields.skip(6).map(|field| number(field).unwrap_or(0.0));
            let (Some(running), Some(waiting), Some(slices)) =
                (numbers.next(), numbers.next(), numbers.next())
            else {
                continue;
            };
            out.with(&RUNNING, &[("cpu", cpu)], running / 1e9);
            out.with(&WAITING, &[("cpu", cpu)], waiting / 1e9);
            out.with(&TIMESLICES, &[("cpu", cpu)], slices);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn only_the_first_number_of_the_interrupts_counts() {
        let stat = "cpu  1 2\nintr 99 1 2 3\nctxt 7\nbtime 1700000000\nprocesses 12\n\
            procs_running 3\nprocs_blocked 1\nsoftirq 5 5\n";
        let tree = Tree::new(&[("stat", stat)]);
        let snapshot = collect(&mut Stat::new(tree.path()));
        assert_eq!(snapshot.value("node_intr_total", &[]), Some(99.0));
        assert_eq!(snapshot.value("node_forks_total", &[]), Some(12.0));
        assert_eq!(snapshot.value("node_boot_time_seconds", &[]), Some(1.7e9));
        assert_eq!(snapshot.families.len(), 6);
    }

    #[test]
    fn loads_and_limits_are_read_as_written() {
        let tree = Tree::new(&[
            ("loadavg", "0.10 9.32 5.98 2/300 1234\n"),
            ("sys/fs/file-nr", "1103\t0\t2465620\n"),
            ("sys/kernel/random/entropy_avail", "255\n"),
            ("sys/kernel/random/poolsize", "256\n"),
            ("sys/kernel/hung_task_detect_count", "2\n"),
        ]);
        let load = collect(&mut LoadAverages::new(tree.path()));
        assert_eq!(load.value("node_load1", &[]), Some(0.1));
        assert_eq!(load.value("node_load15", &[]), Some(5.98));
        let files = collect(&mut FileDescriptors::new(tree.path()));
        assert_eq!(files.value("node_filefd_maximum", &[]), Some(2_465_620.0));
        let entropy = collect(&mut Entropy::new(tree.path()));
        assert_eq!(entropy.value("node_entropy_available_bits", &[]), Some(255.0));
        let hung = collect(&mut HungTasks::new(tree.path()));
        assert_eq!(hung.value("node_kernel_hung_tasks", &[]), Some(2.0));
    }

    #[test]
    fn the_last_three_numbers_of_the_scheduler_are_times_and_turns() {
        let text = "version 17\ntimestamp 42\n\
            cpu0 0 0 0 0 0 0 2000000000 500000000 44\ndomain0 03 1 2 3\n";
        let tree = Tree::new(&[("schedstat", text)]);
        let snapshot = collect(&mut SchedulerStatistics::new(tree.path()));
        assert_eq!(snapshot.value(RUNNING.name, &[("cpu", "0")]), Some(2.0));
        assert_eq!(snapshot.value(WAITING.name, &[("cpu", "0")]), Some(0.5));
        assert_eq!(snapshot.value(TIMESLICES.name, &[("cpu", "0")]), Some(44.0));
        assert!(is_absent(&mut SchedulerStatistics::new(Tree::new(&[]).path())));
    }
}
