//! Sockets: how many, in which state, and what waits in them.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, hex_number, number};
use crate::model::{Builder, Kind, Metric};
use crate::probe::{Collector, Pace};

/// `/proc/net/sockstat` and `sockstat6`.
pub(super) struct SocketStatistics {
    files: [KeptFile; 2],
    page_bytes: f64,
}

impl SocketStatistics {
    pub(super) fn new(proc: &Path) -> Self {
        let file = |name| KeptFile::new(proc.join("net").join(name));
        let page_bytes = rustix::param::page_size() as f64;
        Self { files: [file("sockstat"), file("sockstat6")], page_bytes }
    }
}

impl Collector for SocketStatistics {
    fn name(&self) -> &'static str {
        "sockstat"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        collect_each(&mut self.files, |text| {
            for line in text.lines() {
                let Some((protocol, rest)) = line.split_once(':') else { continue };
                let mut fields = rest.split_ascii_whitespace();
                while let (Some(key), Some(value)) = (fields.next(), fields.next()) {
                    let Some(value) = number(value) else { continue };
                    let help = || format!("{key} of the kernel's counts of {protocol} sockets.");
                    let name = format!("node_sockstat_{protocol}_{key}");
                    out.named(&name, Kind::Gauge, help, Vec::new(), value);
                    if key == "mem" {
                        let help = || format!("Memory of {protocol} sockets.");
                        let bytes = value * self.page_bytes;
                        out.named(&(name + "_bytes"), Kind::Gauge, help, Vec::new(), bytes);
                    }
                }
            }
        })
    }
}

/// Reads files of which some may be missing, but not all.
fn collect_each(files: &mut [KeptFile], mut read: impl FnMut(&str)) -> Result<(), ProbeError> {
    let mut absent = None;
    let mut is_any = false;
    for file in files {
        match file.read() {
            Ok(text) => {
                is_any = true;
                read(text);
            }
            Err(error) if error.is_absent() => absent = Some(error),
            Err(error) => return Err(error),
        }
    }
    match absent {
        Some(error) if !is_any => Err(error),
        _ => Ok(()),
    }
}

/// A row of a socket table.
struct Socket {
    state: usize,
    sending_bytes: u64,
    receiving_bytes: u64,
}

/// The rows of `/proc/net/tcp` and its like.
fn sockets(text: &str) -> impl Iterator<Item = Socket> {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(3);
        let state = hex_number(fields.next()?)? as usize;
        let (sending, receiving) = fields.next()?.split_once(':')?;
        let (sending_bytes, receiving_bytes) = (hex_number(sending)?, hex_number(receiving)?);
        Some(Socket { state, sending_bytes, receiving_bytes })
    })
}

const TCP_STATES: Metric = Metric::gauge(
    "node_tcp_connection_states",
    "TCP sockets in each state, and the bytes that wait in all of them.",
);

/// The kernel's states, from 1.
const STATES: [&str; 11] = [
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
];

/// `/proc/net/tcp` and `tcp6`.
pub(super) struct TcpStates([KeptFile; 2]);

impl TcpStates {
    pub(super) fn new(proc: &Path) -> Self {
        Self(["tcp", "tcp6"].map(|name| KeptFile::new(proc.join("net").join(name))))
    }
}

impl Collector for TcpStates {
    fn name(&self) -> &'static str {
        "tcpstat"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut counts = [0_u64; STATES.len()];
        let (mut sending_bytes, mut receiving_bytes) = (0_u64, 0_u64);
        collect_each(&mut self.0, |text| {
            for socket in sockets(text) {
                sending_bytes = sending_bytes.saturating_add(socket.sending_bytes);
                receiving_bytes = receiving_bytes.saturating_add(socket.receiving_bytes);
                // 12 is a connection request that is not yet a socket: as 3.
                let state = if socket.state == 12 { 3 } else { socket.state };
                if let Some(count) = state.checked_sub(1).and_then(|nth| counts.get_mut(nth)) {
                    *count += 1;
                }
            }
        })?;
        for (state, count) in STATES.iter().zip(counts) {
            out.with(&TCP_STATES, &[("state", state)], count as f64);
        }
        out.with(&TCP_STATES, &[("state", "rx_queued_bytes")], receiving_bytes as f64);
        out.with(&TCP_STATES, &[("state", "tx_queued_bytes")], sending_bytes as f64);
        Ok(())
    }
}

const UDP_QUEUES: Metric =
    Metric::gauge("node_udp_queues", "Bytes of datagrams that wait to be sent or read.");

/// `/proc/net/udp` and `udp6`.
pub(super) struct UdpQueues([(KeptFile, &'static str); 2]);

impl UdpQueues {
    pub(super) fn new(proc: &Path) -> Self {
        let file = |(name, ip)| (KeptFile::new(proc.join("net").join(name)), ip);
        Self([("udp", "v4"), ("udp6", "v6")].map(file))
    }
}

impl Collector for UdpQueues {
    fn name(&self) -> &'static str {
        "udp_queues"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for (file, ip) in &mut self.0 {
            collect_each(std::slice::from_mut(file), |text| {
                let (mut sending_bytes, mut receiving_bytes) = (0_u64, 0_u64);
                for socket in sockets(text) {
                    sending_bytes = sending_bytes.saturating_add(socket.sending_bytes);
                    receiving_bytes = receiving_bytes.saturating_add(socket.receiving_bytes);
                }
                out.with(&UDP_QUEUES, &[("ip", ip), ("queue", "tx")], sending_bytes as f64);
                out.with(&UDP_QUEUES, &[("ip", ip), ("queue", "rx")], receiving_bytes as f64);
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr\n\
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 0 0\n\
        1: 0100007F:1F90 0100007F:C350 01 0000000A:00000010 00:00000000 0 0\n\
        garbage\n";

    #[test]
    fn sockets_are_counted_by_state_and_their_queues_added() {
        let tree = Tree::new(&[("net/tcp", TABLE), ("net/tcp6", TABLE)]);
        let snapshot = collect(&mut TcpStates::new(tree.path()));
        let state = |state| snapshot.value(TCP_STATES.name, &[("state", state)]);
        assert_eq!(state("listen"), Some(2.0));
        assert_eq!(state("established"), Some(2.0));
        assert_eq!(state("closing"), Some(0.0), "a state without sockets is 0, not missing");
        assert_eq!(state("tx_queued_bytes"), Some(20.0));
        assert_eq!(state("rx_queued_bytes"), Some(38.0));
        let udp = Tree::new(&[("net/udp", TABLE), ("net/udp6", TABLE)]);
        let snapshot = collect(&mut UdpQueues::new(udp.path()));
        assert_eq!(snapshot.value(UDP_QUEUES.name, &[("ip", "v6"), ("queue", "rx")]), Some(19.0));
        assert!(is_absent(&mut TcpStates::new(udp.path())));
    }

    #[test]
    fn memory_of_sockets_is_in_pages_and_in_bytes() {
        let text = "sockets: used 37\nTCP: inuse 10 orphan 0 tw 149 alloc 11 mem 469\n";
        let tree = Tree::new(&[("net/sockstat", text), ("net/sockstat6", "TCP6: inuse 1\n")]);
        let mut statistics = SocketStatistics::new(tree.path());
        statistics.page_bytes = 4096.0;
        let snapshot = collect(&mut statistics);
        assert_eq!(snapshot.value("node_sockstat_sockets_used", &[]), Some(37.0));
        assert_eq!(snapshot.value("node_sockstat_TCP_mem_bytes", &[]), Some(1_921_024.0));
        assert_eq!(snapshot.value("node_sockstat_TCP6_inuse", &[]), Some(1.0));
    }
}
