//! A machine, as node-exporter tells of it: what the first rows of its dashboards ask for.

use crate::MINUTE;
use crate::metric::{Labels, Points};
use crate::random::Random;
use crate::wave::wave;

const GIB: f64 = (1_u64 << 30) as f64;
const CPUS: [&str; 4] = ["0", "1", "2", "3"];
const MODES: [&str; 8] = ["idle", "user", "system", "iowait", "irq", "nice", "softirq", "steal"];
/// When the machines were started, before the demo began.
const UPTIME_SECONDS: f64 = 23.4 * 86_400.0;

/// What a machine is for, and so how busy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Serving,
    Training,
    Computing,
}

#[derive(Debug)]
pub(super) struct Node {
    name: &'static str,
    work: Work,
    memory_bytes: f64,
    phase: f64,
    /// By processor and mode.
    cpu_seconds: [[f64; MODES.len()]; CPUS.len()],
    totals: Totals,
    boot_seconds: Option<f64>,
}

/// Counters that only grow.
#[derive(Debug, Default)]
struct Totals {
    disk_read: f64,
    disk_written: f64,
    reads: f64,
    writes: f64,
    disk_busy: f64,
    received: f64,
    sent: f64,
    switches: f64,
    interrupts: f64,
    forks: f64,
    waited_cpu: f64,
    waited_io: f64,
    waited_memory: f64,
}

impl Node {
    pub(super) fn new(name: &'static str, work: Work, memory_gib: f64, phase: f64) -> Self {
        Self {
            name,
            work,
            memory_bytes: memory_gib * GIB,
            phase,
            cpu_seconds: [[0.0; MODES.len()]; CPUS.len()],
            totals: Totals::default(),
            boot_seconds: None,
        }
    }

    /// How busy it is, from 0 to 1.
    fn load(&self, nanos: u64, random: &mut Random) -> f64 {
        let base = match self.work {
            Work::Serving => 0.2 + 0.3 * wave(nanos, 45 * MINUTE, 0.0),
            Work::Training => 0.33 + 0.04 * wave(nanos, 7 * MINUTE, self.phase),
            Work::Computing => 0.35 + 0.55 * wave(nanos, 8 * MINUTE, self.phase),
        };
        (base + 0.03 * random.around()).clamp(0.02, 0.98)
    }

    pub(super) fn tell(&mut self, mut points: Points<'_>, seconds: f64, random: &mut Random) {
        let load = self.load(points.nanos, random);
        let now_seconds = points.nanos as f64 / 1e9;
        let boot = *self.boot_seconds.get_or_insert(now_seconds - UPTIME_SECONDS);
        self.work_on(load, seconds, random);
        self.tell_cpu(&mut points, load);
        self.tell_memory(&mut points, load, random);
        self.tell_disks(&mut points, load);
        self.tell_network(&mut points);
        let uname = [
            ("nodename", self.name),
            ("sysname", "Linux"),
            ("machine", "x86_64"),
            ("release", "6.12.48"),
            ("version", "#1 SMP"),
            ("domainname", "(none)"),
        ];
        points.gauge("node_uname_info", &uname, 1.0);
        points.gauge("node_time_seconds", &[], now_seconds);
        points.gauge("node_boot_time_seconds", &[], boot);
        points.gauge("up", &[], 1.0);
        let totals = &self.totals;
        for (resource, value) in
            [("cpu", totals.waited_cpu), ("io", totals.waited_io), ("memory", totals.waited_memory)]
        {
            let name = format!("node_pressure_{resource}_waiting_seconds_total");
            points.counter(&name, &[], value);
        }
        points.counter("node_pressure_io_stalled_seconds_total", &[], totals.waited_io * 0.6);
        points.counter(
            "node_pressure_memory_stalled_seconds_total",
            &[],
            totals.waited_memory * 0.3,
        );
        points.counter("node_pressure_irq_stalled_seconds_total", &[], totals.waited_cpu * 0.02);
    }

    /// Lets time pass: everything that only grows does so.
    fn work_on(&mut self, load: f64, seconds: f64, random: &mut Random) {
        for modes in &mut self.cpu_seconds {
            let load = (load + 0.05 * random.around()).clamp(0.01, 0.99);
            let shares = [
                1.0 - load,
                load * 0.78,
                load * 0.14,
                load * 0.04,
                load * 0.005,
                load * 0.01,
                load * 0.02,
                load * 0.005,
            ];
            for (total, share) in modes.iter_mut().zip(shares) {
                *total += share * seconds;
            }
        }
        let (bytes, network) = match self.work {
            Work::Serving => (6e6, 18e6),
            Work::Training => (240e6, 900e6),
            Work::Computing => (60e6, 40e6),
        };
        let totals = &mut self.totals;
        let much = load * (1.0 + 0.2 * random.around()).max(0.1) * seconds;
        totals.disk_read += bytes * much;
        totals.disk_written += bytes * 0.7 * much;
        totals.reads += bytes * much / 65_536.0;
        totals.writes += bytes * 0.7 * much / 131_072.0;
        totals.disk_busy += (0.5 * load).min(0.97) * seconds;
        totals.received += network * much;
        totals.sent += network * 0.8 * much;
        totals.switches += 42_000.0 * much;
        totals.interrupts += 17_000.0 * much;
        totals.forks += 12.0 * much;
        totals.waited_cpu += (load - 0.5).max(0.01) * 0.4 * seconds;
        totals.waited_io += load * 0.05 * seconds;
        totals.waited_memory += (load - 0.7).max(0.0) * 0.1 * seconds;
    }

    fn tell_cpu(&self, points: &mut Points<'_>, load: f64) {
        for (cpu, modes) in CPUS.iter().zip(&self.cpu_seconds) {
            for (mode, value) in MODES.iter().zip(modes) {
                points.counter("node_cpu_seconds_total", &[("cpu", cpu), ("mode", mode)], *value);
            }
        }
        let cores = CPUS.len() as f64;
        points.gauge("node_load1", &[], load * cores);
        points.gauge("node_load5", &[], load * cores * 0.97);
        points.gauge("node_load15", &[], load * cores * 0.93);
        points.gauge("node_procs_running", &[], (load * cores).round() + 1.0);
        points.gauge("node_procs_blocked", &[], (load * 1.4).floor());
        points.counter("node_context_switches_total", &[], self.totals.switches);
        points.counter("node_intr_total", &[], self.totals.interrupts);
        points.counter("node_forks_total", &[], self.totals.forks);
    }

    fn tell_memory(&self, points: &mut Points<'_>, load: f64, random: &mut Random) {
        let total = self.memory_bytes;
        let used = total * (0.25 + 0.5 * load + 0.01 * random.around());
        let cached = (total - used) * 0.6;
        let shares = [
            ("MemTotal", total),
            ("MemFree", total - used - cached - total * 0.02),
            ("MemAvailable", total - used),
            ("Buffers", total * 0.008),
            ("Cached", cached),
            ("SReclaimable", total * 0.009),
            ("Slab", total * 0.014),
            ("PageTables", total * 0.002),
            ("SwapTotal", 8.0 * GIB),
            ("SwapFree", 7.6 * GIB),
            ("SwapCached", 0.05 * GIB),
            ("HardwareCorrupted", 0.0),
            ("Active", used * 0.7 + cached * 0.3),
            ("Inactive", cached * 0.6),
            ("Dirty", total * 0.0004),
            ("Committed_AS", used * 1.3),
            ("CommitLimit", total * 0.5 + 8.0 * GIB),
        ];
        for (name, value) in shares {
            points.gauge(&format!("node_memory_{name}_bytes"), &[], value.max(0.0));
        }
    }

    fn tell_disks(&self, points: &mut Points<'_>, load: f64) {
        let device = [("device", "nvme0n1")];
        let totals = &self.totals;
        for (name, value) in [
            ("node_disk_read_bytes_total", totals.disk_read),
            ("node_disk_written_bytes_total", totals.disk_written),
            ("node_disk_reads_completed_total", totals.reads),
            ("node_disk_writes_completed_total", totals.writes),
            ("node_disk_io_time_seconds_total", totals.disk_busy),
            ("node_disk_io_time_weighted_seconds_total", totals.disk_busy * 2.1),
            ("node_disk_read_time_seconds_total", totals.reads * 0.0004),
            ("node_disk_write_time_seconds_total", totals.writes * 0.0009),
        ] {
            points.counter(name, &device, value);
        }
        points.gauge("node_disk_io_now", &device, (load * 6.0).floor());
        let root = [("device", "/dev/nvme0n1p2"), ("fstype", "ext4"), ("mountpoint", "/")];
        let data = [("device", "/dev/nvme1n1"), ("fstype", "xfs"), ("mountpoint", "/scratch")];
        // The disk of one machine fills up slowly.
        let grows = (points.nanos - points.start_nanos) as f64 / 3.6e12;
        let filled = if self.name == "hpc-2" { (0.81 + 0.01 * grows).min(0.99) } else { 0.37 };
        self.tell_filesystem(points, &root, 220.0 * GIB, 0.42);
        self.tell_filesystem(points, &data, 3_576.0 * GIB, filled);
    }

    fn tell_filesystem(
        &self,
        points: &mut Points<'_>,
        labels: Labels<'_>,
        bytes: f64,
        filled: f64,
    ) {
        points.gauge("node_filesystem_size_bytes", labels, bytes);
        points.gauge("node_filesystem_avail_bytes", labels, bytes * (1.0 - filled));
        points.gauge("node_filesystem_free_bytes", labels, bytes * (1.02 - filled).min(1.0));
        points.gauge("node_filesystem_files", labels, bytes / 16_384.0);
        points.gauge("node_filesystem_files_free", labels, bytes / 16_384.0 * (1.0 - filled * 0.5));
        points.gauge("node_filesystem_readonly", labels, 0.0);
    }

    fn tell_network(&self, points: &mut Points<'_>) {
        let device = [("device", "eth0")];
        let totals = &self.totals;
        for (direction, bytes) in [("receive", totals.received), ("transmit", totals.sent)] {
            for (what, value) in [
                ("bytes", bytes),
                ("packets", bytes / 1_100.0),
                ("errs", 0.0),
                ("drop", bytes / 4e9),
            ] {
                let name = format!("node_network_{direction}_{what}_total");
                points.counter(&name, &device, value.floor());
            }
        }
        points.gauge("node_network_speed_bytes", &device, 3.125e9);
        points.gauge("node_network_up", &device, 1.0);
        points.gauge("node_network_mtu_bytes", &device, 9_000.0);
    }
}
