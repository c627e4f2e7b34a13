//! Traffic of network devices: `/proc/net/dev`.

use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{KeptFile, number, read_number};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

/// The columns after a device's name.
const COLUMNS: [Metric; 16] = [
    Metric::counter("node_network_receive_bytes_total", "Bytes received."),
    Metric::counter("node_network_receive_packets_total", "Packets received."),
    Metric::counter("node_network_receive_errs_total", "Packets received with errors."),
    Metric::counter("node_network_receive_drop_total", "Packets received and dropped."),
    Metric::counter("node_network_receive_fifo_total", "Packets lost as a queue was full."),
    Metric::counter("node_network_receive_frame_total", "Packets received with a bad frame."),
    Metric::counter("node_network_receive_compressed_total", "Compressed packets received."),
    Metric::counter("node_network_receive_multicast_total", "Multicast packets received."),
    Metric::counter("node_network_transmit_bytes_total", "Bytes sent."),
    Metric::counter("node_network_transmit_packets_total", "Packets sent."),
    Metric::counter("node_network_transmit_errs_total", "Packets that could not be sent."),
    Metric::counter("node_network_transmit_drop_total", "Packets dropped instead of sent."),
    Metric::counter("node_network_transmit_fifo_total", "Packets unsent as a queue was full."),
    Metric::counter("node_network_transmit_colls_total", "Collisions while sending."),
    Metric::counter("node_network_transmit_carrier_total", "Losses of carrier while sending."),
    Metric::counter("node_network_transmit_compressed_total", "Compressed packets sent."),
];

const NO_HANDLER: Metric = Metric::counter(
    "node_network_receive_nohandler_total",
    "Packets received by a device that is not in use, and dropped.",
);

/// `/proc/net/dev`, and one file of `/sys` that it lacks.
pub(super) struct NetDevices {
    dev: KeptFile,
    class: PathBuf,
}

impl NetDevices {
    pub(super) fn new(proc: &Path, sys: &Path) -> Self {
        Self { dev: KeptFile::new(proc.join("net/dev")), class: sys.join("class/net") }
    }
}

impl Collector for NetDevices {
    fn name(&self) -> &'static str {
        "netdev"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for line in self.dev.read()?.lines().skip(2) {
            let Some((device, columns)) = line.rsplit_once(':') else { continue };
            let device = device.trim();
            for (metric, value) in COLUMNS.iter().zip(columns.split_ascii_whitespace()) {
                if let Some(value) = number(value) {
                    out.with(metric, &[("device", device)], value);
                }
            }
            let file = self.class.join(device).join("statistics/rx_nohandler");
            if let Some(value) = read_number(&file) {
                out.with(&NO_HANDLER, &[("device", device)], value);
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
    fn columns_are_named_by_their_place() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes ... |bytes ...\n\
            \u{20}   lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
            eth0.5:100 0 0 0 0 0 0 0 200 0 0 0 0 0 0 0\n";
        let proc = Tree::new(&[("net/dev", text)]);
        let sys = Tree::new(&[("class/net/lo/statistics/rx_nohandler", "7\n")]);
        let snapshot = collect(&mut NetDevices::new(proc.path(), sys.path()));
        let lo = |name| snapshot.value(name, &[("device", "lo")]);
        assert_eq!(lo("node_network_receive_multicast_total"), Some(8.0));
        assert_eq!(lo("node_network_transmit_bytes_total"), Some(9.0));
        assert_eq!(lo("node_network_transmit_compressed_total"), Some(16.0));
        assert_eq!(lo("node_network_receive_nohandler_total"), Some(7.0));
        let bytes = snapshot.value("node_network_transmit_bytes_total", &[("device", "eth0.5")]);
        assert_eq!(bytes, Some(200.0));
    }
}
