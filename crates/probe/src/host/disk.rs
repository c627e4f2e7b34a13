//! Disks: `/proc/diskstats`, and what a disk is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::ProbeError;
use crate::files::{KeptFile, number, read_small};
use crate::limits::DISK_INFO_AGE;
use crate::model::{Builder, Labels, Metric};
use crate::probe::Collector;

/// The kernel counts in sectors of this size whatever the disk's own is.
const SECTOR_BYTES: f64 = 512.0;
const MILLI: f64 = 0.001;

/// The columns after a disk's name, and what one unit of each is.
const COLUMNS: [(Metric, f64); 17] = [
    (Metric::counter("node_disk_reads_completed_total", "Reads completed."), 1.0),
    (Metric::counter("node_disk_reads_merged_total", "Reads merged into others."), 1.0),
    (Metric::counter("node_disk_read_bytes_total", "Bytes read."), SECTOR_BYTES),
    (Metric::counter("node_disk_read_time_seconds_total", "Time all reads took."), MILLI),
    (Metric::counter("node_disk_writes_completed_total", "Writes completed."), 1.0),
    (Metric::counter("node_disk_writes_merged_total", "Writes merged into others."), 1.0),
    (Metric::counter("node_disk_written_bytes_total", "Bytes written."), SECTOR_BYTES),
    (Metric::counter("node_disk_write_time_seconds_total", "Time all writes took."), MILLI),
    (Metric::gauge("node_disk_io_now", "Requests under way."), 1.0),
    (Metric::counter("node_disk_io_time_seconds_total", "Time in which the disk was busy."), MILLI),
    (
        Metric::counter(
            "node_disk_io_time_weighted_seconds_total",
            "Time in which the disk was busy, times the requests under way.",
        ),
        MILLI,
    ),
    (Metric::counter("node_disk_discards_completed_total", "Discards completed."), 1.0),
    (Metric::counter("node_disk_discards_merged_total", "Discards merged into others."), 1.0),
    (Metric::counter("node_disk_discarded_sectors_total", "Sectors discarded."), 1.0),
    (Metric::counter("node_disk_discard_time_seconds_total", "Time all discards took."), MILLI),
    (Metric::counter("node_disk_flush_requests_total", "Flushes completed."), 1.0),
    (
        Metric::counter("node_disk_flush_requests_time_seconds_total", "Time all flushes took."),
        MILLI,
    ),
];

const INFO: Metric = Metric::gauge("node_disk_info", "What a disk is, in its labels; always 1.");

/// Partitions, RAM disks, loops and floppies: what node-exporter leaves out unless told otherwise.
pub(crate) fn is_partition_or_loop(device: &str) -> bool {
    let name = device.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.len() == device.len() {
        return false; // no number at the end
    }
    if matches!(name, "ram" | "zram" | "loop" | "fd") {
        return true;
    }
    let one_letter = |rest: &str| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_lowercase());
    if ["hd", "sd", "vd", "xvd"].iter().any(|p| name.strip_prefix(p).is_some_and(one_letter)) {
        return true;
    }
    // nvme0n1p2 is a partition, nvme0n1 a disk.
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let nvme = name.strip_prefix("nvme").and_then(|rest| rest.strip_suffix('p'));
    nvme.and_then(|rest| rest.split_once('n')).is_some_and(|(a, b)| digits(a) && digits(b))
}

/// `/proc/diskstats` and `/sys/block`.
pub(super) struct Disks {
    diskstats: KeptFile,
    blocks: PathBuf,
    /// What each disk is, as it was read last.
    infos: HashMap<String, Info>,
    /// How long that counts.
    info_age: Duration,
}

struct Info {
    labels: Labels,
    read_at: Instant,
}

impl Disks {
    pub(super) fn new(proc: &Path, sys: &Path) -> Self {
        Self {
            diskstats: KeptFile::new(proc.join("diskstats")),
            blocks: sys.join("block"),
            infos: HashMap::new(),
            info_age: DISK_INFO_AGE,
        }
    }
}

/// The labels of a disk, with empty values for what the kernel does not tell.
fn info(blocks: &Path, device: &str, major: &str, minor: &str) -> Labels {
    // The kernel writes a slash in a name as an exclamation mark there.
    let directory = blocks.join(device.replace('/', "!"));
    let first = |names: &[&str]| {
        names.iter().find_map(|name| read_small(&directory.join(name)).ok()).unwrap_or_default()
    };
    vec![
        ("device", device.to_owned()),
        ("major", major.to_owned()),
        ("minor", minor.to_owned()),
        ("model", first(&["device/model"])),
        ("path", String::new()),
        ("revision", first(&["device/rev", "device/firmware_rev"])),
        ("rotational", first(&["queue/rotational"])),
        ("serial", first(&["device/serial", "serial"])),
        ("wwn", first(&["device/wwid", "wwid"])),
    ]
}

impl Collector for Disks {
    fn name(&self) -> &'static str {
        "diskstats"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        // Only disks that are still there: another may come under the same name.
        let mut infos = HashMap::with_capacity(self.infos.len());
        for line in self.diskstats.read()?.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(major), Some(minor), Some(device)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if is_partition_or_loop(device) {
                continue;
            }
            for ((metric, unit), value) in COLUMNS.iter().zip(fields) {
                // A whole number over a power of ten: divided, 6 ms are 0.006 s and nothing near it.
                let scaled = |n: f64| if *unit == MILLI { n / 1000.0 } else { n * unit };
                if let Some(value) = number(value) {
                    out.with(metric, &[("device", device)], scaled(value));
                }
            }
            let known = self.infos.remove(device);
            let known = known.filter(|info| info.read_at.elapsed() < self.info_age);
            let info = known.unwrap_or_else(|| Info {
                labels: info(&self.blocks, device, major, minor),
                read_at: Instant::now(),
            });
            out.push(&INFO, info.labels.clone(), 1.0);
            infos.insert(device.to_owned(), info);
        }
        self.infos = infos;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn partitions_and_loops_are_left_out_and_disks_are_not() {
        for device in ["sda1", "vdb12", "xvda3", "loop0", "ram1", "zram0", "fd0", "nvme0n1p2"] {
            assert!(is_partition_or_loop(device), "{device}");
        }
        for device in ["sda", "vda", "sdaa", "nvme0n1", "nvme10n2", "dm-0", "md127", "mmcblk0p1"] {
            assert!(!is_partition_or_loop(device), "{device}");
        }
    }

    #[test]
    fn sectors_become_bytes_and_milliseconds_seconds() {
        let text = " 254 0 vda 10 1 8 6 20 2 16 7 3 73112 9 1 2 3 4 5 281\n\
            254 1 vda1 1 1 1 1 1 1 1 1 1 1 1\n\
            8 0 sdb 10 1 8 6 20 2 16 7 3 1 9\n";
        let proc = Tree::new(&[("diskstats", text)]);
        let sys = Tree::new(&[
            ("block/vda/queue/rotational", "0\n"),
            ("block/vda/device/model", "Fast disk  \n"),
        ]);
        let snapshot = collect(&mut Disks::new(proc.path(), sys.path()));
        let vda = |name| snapshot.value(name, &[("device", "vda")]);
        assert_eq!(vda("node_disk_read_bytes_total"), Some(4096.0));
        assert_eq!(vda("node_disk_io_time_seconds_total"), Some(73.112));
        assert_eq!(vda("node_disk_discarded_sectors_total"), Some(3.0));
        assert_eq!(vda("node_disk_flush_requests_time_seconds_total"), Some(0.281));
        let old = |name| snapshot.value(name, &[("device", "sdb")]);
        assert_eq!(old("node_disk_io_time_weighted_seconds_total"), Some(0.009));
        assert_eq!(old("node_disk_flush_requests_total"), None, "an older kernel has no flushes");
        let labels = [("model", "Fast disk"), ("rotational", "0"), ("major", "254")];
        assert_eq!(snapshot.value(INFO.name, &labels), Some(1.0));
        assert_eq!(snapshot.family("node_disk_io_now").unwrap().samples.len(), 2);
    }
    #[test]
    fn what_a_disk_is_is_read_again_now_and_then_and_when_it_was_gone() {
        let line = "8 0 sda 10 1 8 6 20 2 16 7 3 1 9\n";
        let proc = Tree::new(&[("diskstats", line)]);
        let sys = Tree::new(&[("block/sda/device/rev", "1.0\n")]);
        let revision = |disks: &mut Disks| {
            let snapshot = collect(disks);
            let family = snapshot.family(INFO.name)?;
            let label = family.samples[0].labels.iter().find(|(name, _)| *name == "revision");
            label.map(|(_, value)| value.clone())
        };
        let mut disks = Disks::new(proc.path(), sys.path());
        assert_eq!(revision(&mut disks).as_deref(), Some("1.0"));
        sys.write("block/sda/device/rev", "2.0\n");
        assert_eq!(revision(&mut disks).as_deref(), Some("1.0"), "not at every collection");
        disks.info_age = Duration::ZERO;
        assert_eq!(revision(&mut disks).as_deref(), Some("2.0"));
        disks.info_age = DISK_INFO_AGE;
        sys.write("block/sda/device/rev", "3.0\n");
        proc.write("diskstats", "");
        assert_eq!(revision(&mut disks), None);
        proc.write("diskstats", line);
        assert_eq!(revision(&mut disks).as_deref(), Some("3.0"));
    }
}
