//! Disks: `/proc/diskstats`, and what a disk is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{KeptFile, number, read_small};
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
fn is_left_out(device: &str) -> bool {
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
    /// Labels of each disk, read once: a disk does not become another.
    infos: HashMap<String, Labels>,
}

impl Disks {
    pub(super) fn new(proc: &Path, sys: &Path) -> Self {
        Self {
            diskstats: KeptFile::new(proc.join("diskstats")),
            blocks: sys.join("block"),
            infos: HashMap::new(),
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
        for line in self.diskstats.read()?.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(major), Some(minor), Some(device)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if is_left_out(device) {
                continue;
            }
            for ((metric, unit), value) in COLUMNS.iter().zip(fields) {
                // A whole number over a power of ten: divided, 6 ms are 0.006 s and nothing near it.
                let scaled = |n: f64| if *unit == MILLI { n / 1000.0 } else { n * unit };
                if let Some(value) = number(value) {
                    out.with(metric, &[("device", device)], scaled(value));
                }
            }
            if !self.infos.contains_key(device) {
                let labels = info(&self.blocks, device, major, minor);
                self.infos.insert(device.to_owned(), labels);
            }
            if let Some(labels) = self.infos.get(device) {
                out.push(&INFO, labels.clone(), 1.0);
            }
        }
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
            assert!(is_left_out(device), "{device}");
        }
        for device in ["sda", "vda", "sdaa", "nvme0n1", "nvme10n2", "dm-0", "md127", "mmcblk0p1"] {
            assert!(!is_left_out(device), "{device}");
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
}
