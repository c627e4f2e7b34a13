//! Counts of the network protocols: `/proc/net/netstat`, `snmp` and `snmp6`.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::model::{Builder, Kind};
use crate::probe::Collector;

/// The three files.
pub(super) struct NetStatistics {
    /// Pairs of lines: names, then values.
    paired: [KeptFile; 2],
    /// A name and a value in each line.
    listed: KeptFile,
    /// Kept for its memory.
    name: String,
}

impl NetStatistics {
    pub(super) fn new(proc: &Path) -> Self {
        let file = |name| KeptFile::new(proc.join("net").join(name));
        Self { paired: [file("netstat"), file("snmp")], listed: file("snmp6"), name: String::new() }
    }
}

/// Which of the hundreds of counts are emitted: those node-exporter emits unless told otherwise,
/// and `Tcp_MaxConn`, which the dashboard shows.
fn is_wanted(protocol: &str, count: &str) -> bool {
    if matches!(count, "InErrors" | "InErrs") {
        return true;
    }
    match protocol {
        "Ip" => count == "Forwarding",
        "Ip6" | "IpExt" => matches!(count, "InOctets" | "OutOctets"),
        "Icmp" | "Icmp6" => matches!(count, "InMsgs" | "OutMsgs"),
        "TcpExt" => {
            let one_of =
                matches!(count, "TCPSynRetrans" | "TCPTimeouts" | "TCPOFOQueue" | "TCPRcvQDrop");
            one_of || count.starts_with("Listen") || count.starts_with("Syncookies")
        }
        "Tcp" => matches!(
            count,
            "ActiveOpens"
                | "CurrEstab"
                | "InSegs"
                | "MaxConn"
                | "OutRsts"
                | "OutSegs"
                | "PassiveOpens"
                | "RetransSegs"
        ),
        "Udp" | "Udp6" => matches!(
            count,
            "InDatagrams" | "NoPorts" | "OutDatagrams" | "RcvbufErrors" | "SndbufErrors"
        ),
        _ => false,
    }
}

impl Collector for NetStatistics {
    fn name(&self) -> &'static str {
        "netstat"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let name = &mut self.name;
        let mut emit = |protocol: &str, count: &str, value: &str| {
            let Some(value) = number(value).filter(|_| is_wanted(protocol, count)) else { return };
            name.clear();
            name.extend(["node_netstat_", protocol, "_", count]);
            let help = || format!("{count} of the kernel's counts of {protocol}.");
            out.named(name, Kind::Untyped, help, Vec::new(), value);
        };
        for file in &mut self.paired {
            let mut lines = file.read()?.lines();
            while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
                let (Some((protocol, names)), Some((same, values))) =
                    (names.split_once(':'), values.split_once(':'))
                else {
                    break;
                };
                if protocol != same {
                    return Err(ProbeError::malformed(file.path(), "names, then their values"));
                }
                let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
                pairs.for_each(|(count, value)| emit(protocol, count, value));
            }
        }
        // A machine without IPv6 has no such file.
        let text = match self.listed.read() {
            Ok(text) => text,
            Err(error) if error.is_absent() => return Ok(()),
            Err(error) => return Err(error),
        };
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(key), Some(value)) = (fields.next(), fields.next()) else { continue };
            let Some(at) = key.find('6') else { continue };
            let (protocol, count) = key.split_at(at + 1);
            emit(protocol, count, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn names_and_values_of_pairs_and_lists_are_joined() {
        let tree = Tree::new(&[
            ("net/netstat", "TcpExt: SyncookiesSent TCPTimeouts Other\nTcpExt: 1 2 3\n"),
            ("net/snmp", "Tcp: MaxConn InSegs InErrs\nTcp: -1 5 6\nUdp: NoPorts\nUdp: 7\n"),
            ("net/snmp6", "Ip6InOctets    8\nUdp6InErrors   9\nIcmp6OutType134 3\n"),
        ]);
        let snapshot = collect(&mut NetStatistics::new(tree.path()));
        let value = |name| snapshot.value(name, &[]);
        assert_eq!(value("node_netstat_TcpExt_TCPTimeouts"), Some(2.0));
        assert_eq!(value("node_netstat_Tcp_MaxConn"), Some(-1.0));
        assert_eq!(value("node_netstat_Tcp_InErrs"), Some(6.0));
        assert_eq!(value("node_netstat_Ip6_InOctets"), Some(8.0));
        assert_eq!(value("node_netstat_Udp6_InErrors"), Some(9.0));
        assert_eq!(snapshot.families.len(), 8);
    }

    #[test]
    fn a_machine_without_ipv6_has_the_rest() {
        let tree = Tree::new(&[
            ("net/netstat", "IpExt: InOctets\nIpExt: 1\n"),
            ("net/snmp", "Ip: Forwarding\nIp: 2\n"),
        ]);
        assert_eq!(collect(&mut NetStatistics::new(tree.path())).families.len(), 2);
    }
}
