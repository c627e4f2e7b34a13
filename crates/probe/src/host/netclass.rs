//! What network devices are: `/sys/class/net`.

use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{hex_number, names_in, read_small};
use crate::model::{Builder, Kind, Labels, Metric};
use crate::probe::{Collector, Pace};

/// How a file's number is read.
#[derive(Clone, Copy)]
enum Form {
    /// As it is.
    Plain,
    /// Hexadecimal.
    Hex,
    /// Megabits per second, as bytes per second.
    Megabits,
}

const fn file(
    file: &'static str,
    form: Form,
    name: &'static str,
    kind: Kind,
    help: &'static str,
) -> (&'static str, Form, Metric) {
    (file, form, Metric { name, help, kind })
}

use Form::{Hex, Megabits, Plain};
use Kind::{Counter, Gauge};

/// The files of a device, and what they are called.
const FILES: [(&str, Form, Metric); 17] = [
    file(
        "addr_assign_type",
        Plain,
        "node_network_address_assign_type",
        Gauge,
        "How the address was chosen, the kernel's number.",
    ),
    file("carrier", Plain, "node_network_carrier", Gauge, "1 if there is a link."),
    file(
        "carrier_changes",
        Plain,
        "node_network_carrier_changes_total",
        Counter,
        "How often the link came or went.",
    ),
    file(
        "carrier_up_count",
        Plain,
        "node_network_carrier_up_changes_total",
        Counter,
        "How often the link came.",
    ),
    file(
        "carrier_down_count",
        Plain,
        "node_network_carrier_down_changes_total",
        Counter,
        "How often the link went.",
    ),
    file(
        "dev_id",
        Hex,
        "node_network_device_id",
        Gauge,
        "Number of the device among those that share an address.",
    ),
    file(
        "dormant",
        Plain,
        "node_network_dormant",
        Gauge,
        "1 if the device waits for something outside.",
    ),
    file("flags", Hex, "node_network_flags", Gauge, "The kernel's flags of the device."),
    file("ifindex", Plain, "node_network_iface_id", Gauge, "The kernel's number of the device."),
    file(
        "iflink",
        Plain,
        "node_network_iface_link",
        Gauge,
        "The kernel's number of the device below it.",
    ),
    file(
        "link_mode",
        Plain,
        "node_network_iface_link_mode",
        Gauge,
        "The kernel's number for how the link is managed.",
    ),
    file("mtu", Plain, "node_network_mtu_bytes", Gauge, "The largest packet."),
    file(
        "name_assign_type",
        Plain,
        "node_network_name_assign_type",
        Gauge,
        "How the name was chosen, the kernel's number.",
    ),
    file("netdev_group", Plain, "node_network_net_dev_group", Gauge, "The group the device is in."),
    file(
        "speed",
        Megabits,
        "node_network_speed_bytes",
        Gauge,
        "Speed of the link in bytes per second.",
    ),
    file(
        "tx_queue_len",
        Plain,
        "node_network_transmit_queue_length",
        Gauge,
        "Packets that may wait to be sent.",
    ),
    file(
        "type",
        Plain,
        "node_network_protocol_type",
        Gauge,
        "The kernel's number for the kind of hardware.",
    ),
];

const UP: Metric = Metric::gauge("node_network_up", "1 if the device is up.");
const INFO: Metric =
    Metric::gauge("node_network_info", "What a device is, in its labels; always 1.");

/// `/sys/class/net`.
pub(super) struct NetClass(PathBuf);

impl NetClass {
    pub(super) fn new(sys: &Path) -> Self {
        Self(sys.join("class/net"))
    }
}

impl Collector for NetClass {
    fn name(&self) -> &'static str {
        "netclass"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for device in names_in(&self.0)? {
            let directory = self.0.join(&device);
            // `bonding_masters` is a file among the devices.
            if !directory.is_dir() {
                continue;
            }
            for (file, form, metric) in &FILES {
                // Files of a device that is down refuse to be read: they are left out.
                let Ok(text) = read_small(&directory.join(file)) else { continue };
                let value = match form {
                    Plain => text.parse::<f64>().ok(),
                    Hex => hex_number(&text).map(|value| value as f64),
                    Megabits => text.parse::<f64>().ok().map(|megabits| megabits * 1e6 / 8.0),
                };
                if let Some(value) = value {
                    out.with(metric, &[("device", &device)], value);
                }
            }
            let text = |file: &str| read_small(&directory.join(file)).unwrap_or_default();
            let state = text("operstate");
            out.with(&UP, &[("device", &device)], f64::from(u8::from(state == "up")));
            let flags = hex_number(&text("flags")).unwrap_or(0);
            let labels: Labels = vec![
                ("address", text("address")),
                ("adminstate", if flags & 1 == 1 { "up" } else { "down" }.to_owned()),
                ("broadcast", text("broadcast")),
                ("device", device.clone()),
                ("duplex", text("duplex")),
                ("ifalias", text("ifalias")),
                ("operstate", state),
            ];
            out.push(&INFO, labels, 1.0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn attributes_are_read_in_their_form() {
        let tree = Tree::new(&[
            ("class/net/eth0/flags", "0x1003\n"),
            ("class/net/eth0/mtu", "1400\n"),
            ("class/net/eth0/speed", "10000\n"),
            ("class/net/eth0/operstate", "up\n"),
            ("class/net/eth0/address", "02:fc:00:00:00:01\n"),
            ("class/net/eth1/speed", "-1\n"),
            ("class/net/eth1/operstate", "down\n"),
            ("class/net/bonding_masters", ""),
        ]);
        let snapshot = collect(&mut NetClass::new(tree.path()));
        let of = |name, device| snapshot.value(name, &[("device", device)]);
        assert_eq!(of("node_network_flags", "eth0"), Some(4099.0));
        assert_eq!(of("node_network_speed_bytes", "eth0"), Some(1.25e9));
        assert_eq!(of("node_network_speed_bytes", "eth1"), Some(-125_000.0));
        assert_eq!(of("node_network_up", "eth0"), Some(1.0));
        assert_eq!(of("node_network_up", "eth1"), Some(0.0));
        assert_eq!(of("node_network_up", "bonding_masters"), None);
        let labels = [("device", "eth0"), ("adminstate", "up"), ("duplex", "")];
        assert_eq!(snapshot.value(INFO.name, &labels), Some(1.0));
    }
}
