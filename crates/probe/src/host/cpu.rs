//! Processors: the time they spent in each mode, and their frequencies.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{KeptFile, names_in, number, read_number, read_small};
use crate::model::{Builder, Metric};
use crate::probe::{Collector, Pace};

const SECONDS: Metric =
    Metric::counter("node_cpu_seconds_total", "Time a processor has spent in each mode.");
const GUEST_SECONDS: Metric = Metric::counter(
    "node_cpu_guest_seconds_total",
    "Time a processor has spent running guests; also counted under user and nice.",
);

/// The columns of a `cpu` line in `/proc/stat`, but those of guests.
const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
/// The columns after them.
const GUEST_MODES: [&str; 2] = ["user", "nice"];

/// Kernels let idle and iowait slip back a little; more than this is a processor that was away.
const SLIP_SECS: f64 = 3.0;

/// `/proc/stat`: time in each mode.
pub(super) struct Cpu {
    stat: KeptFile,
    ticks_per_sec: f64,
    /// What was last emitted for each processor.
    last: HashMap<u32, [f64; MODES.len()]>,
}

impl Cpu {
    pub(super) fn new(proc: &Path) -> Self {
        let ticks_per_sec = rustix::param::clock_ticks_per_second().max(1) as f64;
        Self { stat: KeptFile::new(proc.join("stat")), ticks_per_sec, last: HashMap::new() }
    }
}

impl Collector for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let text = self.stat.read()?;
        let mut is_any = false;
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("cpu") else { break };
            let mut fields = rest.split_ascii_whitespace();
            if rest.starts_with(' ') {
                continue; // the sum of all
            }
            let Some(cpu) = fields.next() else { continue };
            let Ok(cpu_number) = cpu.parse() else { continue };
            let last = self.last.entry(cpu_number).or_default();
            let mut seconds = fields.map(|ticks| number(ticks).unwrap_or(0.0) / self.ticks_per_sec);
            for ((mode, last), now) in MODES.iter().zip(last).zip(&mut seconds) {
                let slipped = *last > now && *last - now < SLIP_SECS;
                *last = if slipped { *last } else { now };
                out.with(&SECONDS, &[("cpu", cpu), ("mode", mode)], *last);
            }
            for (mode, now) in GUEST_MODES.iter().zip(seconds) {
                out.with(&GUEST_SECONDS, &[("cpu", cpu), ("mode", mode)], now);
            }
            is_any = true;
        }
        if !is_any {
            let expected = "a line that begins with cpu0";
            return Err(ProbeError::malformed(self.stat.path(), expected));
        }
        Ok(())
    }
}

const GOVERNOR: Metric = Metric::gauge(
    "node_cpu_scaling_governor",
    "Which policy sets a processor's frequency: 1 for the one in use.",
);

/// Files of a processor's `cpufreq` directory, in kHz, and what they are called.
const FREQUENCIES: [(&str, Metric); 6] = [
    (
        "cpuinfo_cur_freq",
        Metric::gauge("node_cpu_frequency_hertz", "The frequency the hardware reports now."),
    ),
    (
        "cpuinfo_max_freq",
        Metric::gauge("node_cpu_frequency_max_hertz", "The highest the hardware can do."),
    ),
    (
        "cpuinfo_min_freq",
        Metric::gauge("node_cpu_frequency_min_hertz", "The lowest the hardware can do."),
    ),
    (
        "scaling_cur_freq",
        Metric::gauge("node_cpu_scaling_frequency_hertz", "The frequency the kernel set."),
    ),
    (
        "scaling_max_freq",
        Metric::gauge("node_cpu_scaling_frequency_max_hertz", "The highest the kernel may set."),
    ),
    (
        "scaling_min_freq",
        Metric::gauge("node_cpu_scaling_frequency_min_hertz", "The lowest the kernel may set."),
    ),
];

/// `/sys/devices/system/cpu/cpu*/cpufreq`.
pub(super) struct CpuFrequency {
    directory: PathBuf,
}

impl CpuFrequency {
    pub(super) fn new(sys: &Path) -> Self {
        Self { directory: sys.join("devices/system/cpu") }
    }
}

impl Collector for CpuFrequency {
    fn name(&self) -> &'static str {
        "cpufreq"
    }

    fn pace(&self) -> Pace {
        // Some processors are interrupted to tell their frequency.
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut is_any = false;
        for name in names_in(&self.directory)? {
            let Some(cpu) = name.strip_prefix("cpu") else { continue };
            if cpu.is_empty() || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let directory = self.directory.join(&name).join("cpufreq");
            if !directory.is_dir() {
                continue;
            }
            is_any = true;
            for (file, metric) in &FREQUENCIES {
                if let Some(kilohertz) = read_number(&directory.join(file)) {
                    out.with(metric, &[("cpu", cpu)], kilohertz * 1000.0);
                }
            }
            let Ok(current) = read_small(&directory.join("scaling_governor")) else { continue };
            let all = read_small(&directory.join("scaling_available_governors"));
            for governor in all.unwrap_or_else(|_| current.clone()).split_ascii_whitespace() {
                let is_current = f64::from(u8::from(governor == current));
                out.with(&GOVERNOR, &[("cpu", cpu), ("governor", governor)], is_current);
            }
        }
        if is_any { Ok(()) } else { Err(ProbeError::Absent(self.directory.join("cpu0/cpufreq"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn each_processor_has_its_modes_and_guests_are_apart() {
        let stat = "cpu  3 0 0 0 0 0 0 0 0 0\n\
            cpu0 100 200 300 400 500 600 700 800 900 1000\n\
            cpu11 1 2 3 4 5 6 7 8 9 10\nintr 5 1\n";
        let tree = Tree::new(&[("stat", stat)]);
        let mut cpu = Cpu::new(tree.path());
        cpu.ticks_per_sec = 100.0;
        let snapshot = collect(&mut cpu);
        let seconds = |cpu, mode| snapshot.value(SECONDS.name, &[("cpu", cpu), ("mode", mode)]);
        assert_eq!(seconds("0", "user"), Some(1.0));
        assert_eq!(seconds("0", "steal"), Some(8.0));
        assert_eq!(seconds("11", "idle"), Some(0.04));
        let guest = snapshot.value(GUEST_SECONDS.name, &[("cpu", "0"), ("mode", "nice")]);
        assert_eq!(guest, Some(10.0));
        assert_eq!(snapshot.sample_count(), 20);
    }

    #[test]
    fn idle_time_that_slips_back_a_little_stays() {
        let tree = Tree::new(&[("stat", "cpu0 0 0 0 1000 0 0 0 0\n")]);
        let mut cpu = Cpu::new(tree.path());
        cpu.ticks_per_sec = 100.0;
        let idle = |cpu: &mut Cpu| collect(cpu).value(SECONDS.name, &[("mode", "idle")]);
        assert_eq!(idle(&mut cpu), Some(10.0));
        tree.write("stat", "cpu0 0 0 0 990 0 0 0 0\n");
        assert_eq!(idle(&mut cpu), Some(10.0), "a slip");
        tree.write("stat", "cpu0 0 0 0 100 0 0 0 0\n");
        assert_eq!(idle(&mut cpu), Some(1.0), "a processor that was away");
    }

    #[test]
    fn a_file_without_processors_is_a_failure() {
        let tree = Tree::new(&[("stat", "garbage\n")]);
        let mut builder = Builder::new();
        let error = Cpu::new(tree.path()).collect(&mut builder).unwrap_err();
        assert!(error.to_string().ends_with("a line that begins with cpu0"), "{error}");
    }

    #[test]
    fn frequencies_are_in_hertz_and_absent_where_the_kernel_has_none() {
        let tree = Tree::new(&[
            ("devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "2400000\n"),
            ("devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
            (
                "devices/system/cpu/cpu3/cpufreq/scaling_available_governors",
                "performance powersave\n",
            ),
            ("devices/system/cpu/cpufreq/boost", "1\n"),
        ]);
        let snapshot = collect(&mut CpuFrequency::new(tree.path()));
        let hertz = snapshot.value("node_cpu_scaling_frequency_hertz", &[("cpu", "3")]);
        assert_eq!(hertz, Some(2.4e9));
        assert_eq!(snapshot.value(GOVERNOR.name, &[("governor", "powersave")]), Some(1.0));
        assert_eq!(snapshot.value(GOVERNOR.name, &[("governor", "performance")]), Some(0.0));
        let without = Tree::new(&[("devices/system/cpu/cpu0/uevent", "")]);
        assert!(is_absent(&mut CpuFrequency::new(without.path())));
    }
}
