//! Disks and network devices: what each counted since the last poll, and which count.
//!
//! A device that was not there in the last poll adds nothing: what it had counted before may be of
//! long ago. Nor does one whose count stepped back, as it is another by the same name.

use crate::host::is_partition_or_loop;

/// Counts of devices as they were in the last poll.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    known: Vec<(String, [u64; 2])>,
    is_known: bool,
}

impl Devices {
    /// What was added since the last poll; none in the first, or while the file cannot be read.
    pub(crate) fn advance<'a>(
        &mut self,
        devices: Option<impl Iterator<Item = (&'a str, [u64; 2])>>,
    ) -> Option<[u64; 2]> {
        let Some(devices) = devices else {
            *self = Self::default();
            return None;
        };
        let mut sums = [0_u64; 2];
        let mut count = 0;
        for (nth, (name, now)) in devices.enumerate() {
            count = nth + 1;
            // Devices come in the same order each time, unless one came or went.
            let place = self.known.get(nth).filter(|(known, _)| known == name).map(|_| nth);
            let place = place.or_else(|| self.known.iter().position(|(known, _)| known == name));
            let last = place.and_then(|place| self.known.get_mut(place));
            if let Some((_, last)) = last {
                for ((sum, now), last) in sums.iter_mut().zip(now).zip(*last) {
                    *sum = sum.saturating_add(now.saturating_sub(last));
                }
                *last = now;
            }
            match place {
                Some(place) => self.known.swap(nth, place),
                None => self.known.insert(nth, (name.to_owned(), now)),
            }
        }
        self.known.truncate(count);
        std::mem::replace(&mut self.is_known, true).then_some(sums)
    }
}

/// A line of `/proc/diskstats`: sectors read and written of a whole disk.
pub(super) fn disk(line: &str) -> Option<(&str, [u64; 2])> {
    let mut fields = line.split_ascii_whitespace().skip(2);
    let name = fields.next()?;
    if !is_whole_disk(name) {
        return None;
    }
    let read = fields.nth(2)?.parse().ok()?;
    let written = fields.nth(3)?.parse().ok()?;
    Some((name, [read, written]))
}

/// Whether a disk is neither a part of another nor made of others.
fn is_whole_disk(name: &str) -> bool {
    const MADE_OF_OTHERS: [&str; 6] = ["dm-", "md", "bcache", "drbd", "zd", "sr"];
    if is_partition_or_loop(name) || MADE_OF_OTHERS.iter().any(|start| name.starts_with(start)) {
        return false;
    }
    // mmcblk0p1, nbd0p1, pmem0p2: parts of disks whose own names end with a digit.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_part = stem.len() < name.len()
        && stem.strip_suffix('p').is_some_and(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    // nvme0c1n1 is one way to nvme0n1.
    let is_way = name.strip_prefix("nvme").is_some_and(|rest| rest.contains('c'));
    !is_part && !is_way
}

/// A line of `/proc/net/dev`: bytes received and sent by a device of its own.
pub(crate) fn network(line: &str) -> Option<(&str, [u64; 2])> {
    let (name, columns) = line.rsplit_once(':')?;
    let name = name.trim();
    if !is_own_interface(name) {
        return None;
    }
    let mut columns = columns.split_ascii_whitespace();
    let received = columns.next()?.parse().ok()?;
    let sent = columns.nth(7)?.parse().ok()?;
    Some((name, [received, sent]))
}

/// Whether what passes an interface is not seen by another one as well.
fn is_own_interface(name: &str) -> bool {
    const MADE_OF_OTHERS: [&str; 20] = [
        "bond", "br-", "bridge", "cali", "cilium", "cni", "docker", "dummy", "flannel", "gre",
        "ifb", "lxc", "macvtap", "sit", "tap", "team", "tun", "veth", "virbr", "vxlan",
    ];
    // eth0.100 is a virtual network on eth0.
    name != "lo"
        && !name.contains('.')
        && !MADE_OF_OTHERS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::host::Host;
    use crate::host::fixture::Tree;

    const NET_HEAD: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n";

    fn net_line(name: &str, received: u64, sent: u64) -> String {
        format!("  {name}: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n")
    }

    #[test]
    fn disks_count_once_and_what_steps_back_counts_nothing() {
        let line = |name: &str, read: u64, written: u64| {
            format!("8 0 {name} 1 1 {read} 1 1 1 {written} 1 0 0 0\n")
        };
        let all = |read, written| {
            let parts = ["sda", "sda1", "dm-0", "md127", "loop0", "nvme0n1p1", "mmcblk0p1"];
            parts.map(|name| line(name, read, written)).concat()
        };
        let tree = Tree::new(&[("diskstats", &all(10, 20))]);
        let mut host = Host::new(tree.path());
        assert_eq!(host.poll().disk_read_bytes, None);
        tree.write("diskstats", &all(12, 23));
        let usage = host.poll();
        assert_eq!((usage.disk_read_bytes, usage.disk_write_bytes), (Some(1024), Some(1536)));
        tree.write("diskstats", &(line("nvme0n1", 1000, 1000) + &all(13, 3)));
        let usage = host.poll();
        assert_eq!((usage.disk_read_bytes, usage.disk_write_bytes), (Some(512), Some(0)));
        tree.write("diskstats", &line("nvme0n1", 1001, 1002));
        let usage = host.poll();
        assert_eq!((usage.disk_read_bytes, usage.disk_write_bytes), (Some(512), Some(1024)));
        tree.write("diskstats", &(line("sda", 500, 500) + &line("nvme0n1", 1001, 1003)));
        let usage = host.poll();
        assert_eq!((usage.disk_read_bytes, usage.disk_write_bytes), (Some(0), Some(512)));
    }

    #[test]
    fn networks_are_counted_where_they_leave_the_machine() {
        let all = |eth0: u64| {
            let lines = [("lo", 9), ("eth0", 1), ("bond0", 9), ("eth0.7", 9), ("ib0", 2)];
            let lines = lines.map(|(name, factor)| net_line(name, eth0 * factor, eth0));
            NET_HEAD.to_owned() + &lines.concat()
        };
        let tree = Tree::new(&[("net/dev", &all(1000))]);
        let mut host = Host::new(tree.path());
        assert_eq!(host.poll().net_sent_bytes, None);
        tree.write("net/dev", &all(1100));
        let usage = host.poll();
        assert_eq!((usage.net_recv_bytes, usage.net_sent_bytes), (Some(300), Some(200)));
        tree.write("net/dev", NET_HEAD);
        assert_eq!(host.poll().net_sent_bytes, Some(0), "all are gone");
    }
}
