//! Processors, memory, disks and network of a node, out of four files of the kernel.
//!
//! What the kernel counts since the machine was started is told as what was added since the last
//! poll.

use std::path::Path;

use super::NodeUsage;
use super::devices::{Devices, disk, network};
use crate::files::KeptFile;

/// The kernel counts in sectors of this size whatever the disk's own is.
const SECTOR_BYTES: u64 = 512;

/// The kernel's files, and what they said last.
#[derive(Debug)]
pub(super) struct Host {
    stat: KeptFile,
    meminfo: KeptFile,
    diskstats: KeptFile,
    net_dev: KeptFile,
    cpu: Option<CpuTicks>,
    cpu_percent: Option<f64>,
    disks: Devices,
    networks: Devices,
}

impl Host {
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            stat: KeptFile::new(proc.join("stat")),
            meminfo: KeptFile::new(proc.join("meminfo")),
            diskstats: KeptFile::new(proc.join("diskstats")),
            net_dev: KeptFile::new(proc.join("net/dev")),
            cpu: None,
            cpu_percent: None,
            disks: Devices::default(),
            networks: Devices::default(),
        }
    }

    pub(super) fn poll(&mut self) -> NodeUsage {
        let mut usage = NodeUsage { cpu_percent: self.cpu_percent(), ..NodeUsage::default() };
        if let Some(memory) = self.meminfo.read().ok().and_then(Memory::parse) {
            let used_bytes = memory.total_bytes.saturating_sub(memory.available_bytes);
            usage.memory_percent = percent(used_bytes, memory.total_bytes);
            usage.memory_used_bytes = Some(used_bytes);
            usage.memory_total_bytes = Some(memory.total_bytes);
        }
        let disks = self.diskstats.read().ok().map(|text| text.lines().filter_map(disk));
        if let Some([read, written]) = self.disks.advance(disks) {
            usage.disk_read_bytes = Some(read.saturating_mul(SECTOR_BYTES));
            usage.disk_write_bytes = Some(written.saturating_mul(SECTOR_BYTES));
        }
        let networks = self.net_dev.read().ok().map(|text| text.lines().filter_map(network));
        if let Some([received, sent]) = self.networks.advance(networks) {
            usage.net_recv_bytes = Some(received);
            usage.net_sent_bytes = Some(sent);
        }
        usage
    }

    /// Polls may follow one another before the kernel counts on; then the last share still holds.
    fn cpu_percent(&mut self) -> Option<f64> {
        let now = self.stat.read().ok().and_then(CpuTicks::parse);
        let Some(now) = now else {
            (self.cpu, self.cpu_percent) = (None, None);
            return None;
        };
        let Some(last) = self.cpu else {
            self.cpu = Some(now);
            return None;
        };
        let total = now.total.saturating_sub(last.total);
        if total > 0 {
            let busy = now.busy.saturating_sub(last.busy).min(total);
            self.cpu_percent = percent(busy, total);
        }
        if now.total != last.total {
            self.cpu = Some(now);
        }
        self.cpu_percent
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

/// Time of all processors together.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CpuTicks {
    busy: u64,
    total: u64,
}

impl CpuTicks {
    /// The first line of `/proc/stat`.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        let mut ticks = [0_u64; 8];
        // User, nice, system, idle, wait for I/O, interrupts (2), stolen. What follows, time of
        // guests, is in the first two as well. Old kernels have fewer.
        for (slot, field) in ticks.iter_mut().zip(fields.by_ref()) {
            *slot = field.parse().ok()?;
        }
        let [_, _, _, idle, waiting, ..] = ticks;
        let total = ticks.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
        Some(Self { busy: total.saturating_sub(idle).saturating_sub(waiting), total })
    }
}

struct Memory {
    total_bytes: u64,
    available_bytes: u64,
}

impl Memory {
    /// The first lines of `/proc/meminfo`.
    fn parse(text: &str) -> Option<Self> {
        let (mut total, mut available, mut free) = (None, None, None);
        for line in text.lines().take(8) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let kib = || value.split_ascii_whitespace().next()?.parse::<u64>().ok();
            match name {
                "MemTotal" => total = kib(),
                "MemAvailable" => available = kib(),
                "MemFree" => free = kib(),
                _ => {}
            }
        }
        let bytes = |kib: u64| kib.saturating_mul(1024);
        // Kernels before 3.14 do not tell what is available.
        Some(Self { total_bytes: bytes(total?), available_bytes: bytes(available.or(free)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::Tree;

    #[test]
    fn processors_are_busy_by_what_was_added_since_the_last_poll() {
        let tree = Tree::new(&[("stat", "cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1 1 1\n")]);
        let mut host = Host::new(tree.path());
        assert_eq!(host.poll().cpu_percent, None, "since boot is not since the last poll");
        // 30 busy (one of them stolen), 60 idle, 10 waiting.
        tree.write("stat", "cpu  110 5 110 860 10 2 2 1 70 0\n");
        assert_eq!(host.poll().cpu_percent, Some(30.0));
        assert_eq!(host.poll().cpu_percent, Some(30.0), "no tick since");
        // Counts that step back begin anew.
        tree.write("stat", "cpu  10 0 10 80 0 0 0 0 0 0\n");
        host.poll();
        tree.write("stat", "cpu  20 0 10 90 0 0 0 0 0 0\n");
        assert_eq!(host.poll().cpu_percent, Some(50.0));
        tree.write("stat", "nothing of the kind");
        assert_eq!(host.poll().cpu_percent, None);
    }

    #[test]
    fn memory_in_use_is_what_is_not_available() {
        let text = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 750 kB\n";
        let tree = Tree::new(&[("meminfo", text)]);
        let mut host = Host::new(tree.path());
        let usage = host.poll();
        assert_eq!(usage.memory_percent, Some(25.0));
        assert_eq!(usage.memory_used_bytes, Some(256_000));
        assert_eq!(usage.memory_total_bytes, Some(1_024_000));
        tree.write("meminfo", "MemTotal: 0 kB\nMemFree: 18446744073709551615 kB\n");
        assert_eq!(host.poll().memory_percent, None);
    }

    #[test]
    fn without_files_there_is_nothing_and_no_error() {
        let tree = Tree::new(&[]);
        let mut host = Host::new(tree.path());
        for _ in 0..2 {
            assert_eq!(host.poll(), NodeUsage::default());
        }
    }
}
