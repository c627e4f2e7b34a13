//! A machine, as node-exporter tells of it: what the first rows of its dashboards ask for.

use crate::MINUTE;
use crate::metric::{Labels, Points};
use crate::random::Random;
use crate::wave::{summed, wave};

const GIB: f64 = (1_u64 << 30) as f64;
/// Processors, and how much of the work is theirs.
const CPUS: [(&str, f64); 4] = [("0", 1.06), ("1", 1.01), ("2", 0.98), ("3", 0.95)];
const HALF_DAY: u64 = 12 * 60 * MINUTE;

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
}

/// What has been done since the machine was started.
#[derive(Debug, Clone, Copy)]
struct Done {
    /// Seconds, and those of them in which a processor was busy.
    seconds: f64,
    busy: f64,
    disk_bytes: f64,
    network_bytes: f64,
}

impl Node {
    pub(super) fn new(name: &'static str, work: Work, memory_gib: f64, phase: f64) -> Self {
        Self { name, work, memory_bytes: memory_gib * GIB, phase }
    }

    /// How busy it is at least, how much more at most, and how often that is so.
    fn rhythm(&self) -> (f64, f64, u64, f64) {
        match self.work {
            Work::Serving => (0.2, 0.3, 45 * MINUTE, 0.0),
            Work::Training => (0.33, 0.04, 7 * MINUTE, self.phase),
            Work::Computing => (0.35, 0.55, 8 * MINUTE, self.phase),
        }
    }

    fn done(&self, start_nanos: u64, nanos: u64) -> Done {
        let (base, swing, period, phase) = self.rhythm();
        let seconds = (nanos - start_nanos) as f64 / 1e9;
        let busy = base * seconds + swing * summed(start_nanos, nanos, period, phase);
        let (disk, network) = match self.work {
            Work::Serving => (6e6, 18e6),
            Work::Training => (240e6, 900e6),
            Work::Computing => (60e6, 40e6),
        };
        Done { seconds, busy, disk_bytes: disk * busy, network_bytes: network * busy }
    }

    pub(super) fn tell(&self, mut points: Points<'_>, random: &mut Random) {
        let (base, swing, period, phase) = self.rhythm();
        let load = base + swing * wave(points.nanos, period, phase) + 0.01 * random.around();
        let load = load.clamp(0.02, 0.98);
        let done = self.done(points.start_nanos, points.nanos);
        self.tell_cpu(&mut points, load, done);
        self.tell_memory(&mut points, load, random);
        self.tell_disks(&mut points, load, done);
        self.tell_network(&mut points, done);
        let uname = [
            ("nodename", self.name),
            ("sysname", "Linux"),
            ("machine", "x86_64"),
            ("release", "6.12.48"),
            ("version", "#1 SMP"),
            ("domainname", "(none)"),
        ];
        points.gauge("node_uname_info", &uname, 1.0);
        points.gauge("node_time_seconds", &[], points.nanos as f64 / 1e9);
        points.gauge("node_boot_time_seconds", &[], points.start_nanos as f64 / 1e9);
        points.gauge("up", &[], 1.0);
        for (name, share) in [
            ("cpu_waiting", 0.08),
            ("io_waiting", 0.05),
            ("io_stalled", 0.03),
            ("memory_waiting", 0.01),
            ("memory_stalled", 0.003),
            ("irq_stalled", 0.002),
        ] {
            let name = format!("node_pressure_{name}_seconds_total");
            points.counter(&name, &[], done.busy * share);
        }
    }

    fn tell_cpu(&self, points: &mut Points<'_>, load: f64, done: Done) {
        for (cpu, share) in CPUS {
            // The processors are not equally busy.
            let busy = done.busy * share;
            let modes = [
                ("idle", done.seconds - busy),
                ("user", busy * 0.78),
                ("system", busy * 0.14),
                ("iowait", busy * 0.04),
                ("irq", busy * 0.005),
                ("nice", busy * 0.01),
                ("softirq", busy * 0.02),
                ("steal", busy * 0.005),
            ];
            for (mode, value) in modes {
                points.counter("node_cpu_seconds_total", &[("cpu", cpu), ("mode", mode)], value);
            }
        }
        let cores = CPUS.len() as f64;
        points.gauge("node_load1", &[], load * cores);
        points.gauge("node_load5", &[], load * cores * 0.97);
        points.gauge("node_load15", &[], load * cores * 0.93);
        points.gauge("node_procs_running", &[], (load * cores).round() + 1.0);
        points.gauge("node_procs_blocked", &[], (load * 1.4).floor());
        points.counter("node_context_switches_total", &[], (42_000.0 * done.busy).floor());
        points.counter("node_intr_total", &[], (17_000.0 * done.busy).floor());
        points.counter("node_forks_total", &[], (12.0 * done.busy).floor());
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

    fn tell_disks(&self, points: &mut Points<'_>, load: f64, done: Done) {
        let device = [("device", "nvme0n1")];
        let (read, written) = (done.disk_bytes, done.disk_bytes * 0.7);
        let (reads, writes) = ((read / 65_536.0).floor(), (written / 131_072.0).floor());
        for (name, value) in [
            ("node_disk_read_bytes_total", read.floor()),
            ("node_disk_written_bytes_total", written.floor()),
            ("node_disk_reads_completed_total", reads),
            ("node_disk_writes_completed_total", writes),
            ("node_disk_io_time_seconds_total", done.busy * 0.5),
            ("node_disk_io_time_weighted_seconds_total", done.busy * 1.1),
            ("node_disk_read_time_seconds_total", reads * 0.0004),
            ("node_disk_write_time_seconds_total", writes * 0.0009),
        ] {
            points.counter(name, &device, value);
        }
        points.gauge("node_disk_io_now", &device, (load * 6.0).floor());
        let root = [("device", "/dev/nvme0n1p2"), ("fstype", "ext4"), ("mountpoint", "/")];
        let data = [("device", "/dev/nvme1n1"), ("fstype", "xfs"), ("mountpoint", "/scratch")];
        // The disk of one machine fills up within half a day, and is emptied then.
        let day = (points.nanos % HALF_DAY) as f64 / HALF_DAY as f64;
        let filled = if self.name == "hpc-2" { 0.78 + 0.2 * day } else { 0.37 };
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

    fn tell_network(&self, points: &mut Points<'_>, done: Done) {
        let device = [("device", "eth0")];
        let (received, sent) = (done.network_bytes, done.network_bytes * 0.8);
        for (direction, bytes) in [("receive", received), ("transmit", sent)] {
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
