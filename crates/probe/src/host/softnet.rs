//! Packets as the kernel takes them from the devices, and the neighbours it knows.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, hex_number};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

/// Columns of `/proc/net/softnet_stat`, by their place.
const COLUMNS: [(usize, Metric); 7] = [
    (0, Metric::counter("node_softnet_processed_total", "Packets processed.")),
    (1, Metric::counter("node_softnet_dropped_total", "Packets dropped as a queue was full.")),
    (
        2,
        Metric::counter(
            "node_softnet_times_squeezed_total",
            "How often a round ended with packets left.",
        ),
    ),
    (
        8,
        Metric::counter(
            "node_softnet_cpu_collision_total",
            "How often another processor held the device to send.",
        ),
    ),
    (
        9,
        Metric::counter(
            "node_softnet_received_rps_total",
            "How often another processor asked to process packets.",
        ),
    ),
    (10, Metric::counter("node_softnet_flow_limit_count_total", "How often a flow was limited.")),
    (11, Metric::gauge("node_softnet_backlog_len", "Packets that wait to be processed.")),
];

/// The column with the number of the processor; older kernels have a row for each, in order.
const CPU_COLUMN: usize = 12;

/// `/proc/net/softnet_stat`.
pub(super) struct Softnet(KeptFile);

impl Softnet {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("net/softnet_stat")))
    }
}

impl Collector for Softnet {
    fn name(&self) -> &'static str {
        "softnet"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for (nth, line) in self.0.read()?.lines().enumerate() {
            let columns: Vec<Option<u64>> = line.split_ascii_whitespace().map(hex_number).collect();
            let column = |place: usize| columns.get(place).copied().flatten();
            let cpu = column(CPU_COLUMN).unwrap_or(nth as u64).to_string();
            for (place, metric) in &COLUMNS {
                if let Some(value) = column(*place) {
                    out.with(metric, &[("cpu", &cpu)], value as f64);
                }
            }
        }
        Ok(())
    }
}

const ENTRIES: Metric =
    Metric::gauge("node_arp_entries", "Neighbours whose hardware address is known, by device.");

/// `/proc/net/arp`.
pub(super) struct Arp(KeptFile);

impl Arp {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("net/arp")))
    }
}

impl Collector for Arp {
    fn name(&self) -> &'static str {
        "arp"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut counts = BTreeMap::<&str, u32>::new();
        for line in self.0.read()?.lines().skip(1) {
            if let Some(device) = line.split_ascii_whitespace().nth(5) {
                *counts.entry(device).or_default() += 1;
            }
        }
        for (device, count) in counts {
            out.with(&ENTRIES, &[("device", device)], f64::from(count));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn a_row_says_which_processor_it_is_of() {
        let text = "0000cff3 00000001 00000002 0 0 0 0 0 3 4 5 6 00000007 0 0\n\
            0000000a 00000000 00000001 0 0 0 0 0 0 0\n";
        let tree = Tree::new(&[("net/softnet_stat", text)]);
        let snapshot = collect(&mut Softnet::new(tree.path()));
        let of = |name, cpu| snapshot.value(name, &[("cpu", cpu)]);
        assert_eq!(of("node_softnet_processed_total", "7"), Some(53_235.0));
        assert_eq!(of("node_softnet_flow_limit_count_total", "7"), Some(5.0));
        assert_eq!(of("node_softnet_backlog_len", "7"), Some(6.0));
        assert_eq!(of("node_softnet_processed_total", "1"), Some(10.0), "an older kernel");
        assert_eq!(of("node_softnet_backlog_len", "1"), None);
    }

    #[test]
    fn neighbours_are_counted_by_device() {
        let text = "IP address HW type Flags HW address Mask Device\n\
            10.0.0.1 0x1 0x2 02:00:00:00:00:01 * eth0\n\
            10.0.0.2 0x1 0x2 02:00:00:00:00:02 * eth0\n\
            10.1.0.1 0x1 0x2 02:00:00:00:00:03 * eth1\n";
        let tree = Tree::new(&[("net/arp", text)]);
        let snapshot = collect(&mut Arp::new(tree.path()));
        assert_eq!(snapshot.value(ENTRIES.name, &[("device", "eth0")]), Some(2.0));
        assert_eq!(snapshot.value(ENTRIES.name, &[("device", "eth1")]), Some(1.0));
    }
}
