//! Connections that the packet filter tracks.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, hex_number, number};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

const ENTRIES: Metric = Metric::gauge("node_nf_conntrack_entries", "Connections tracked now.");
const LIMIT: Metric =
    Metric::gauge("node_nf_conntrack_entries_limit", "Connections that can be tracked.");

/// Columns of `/proc/net/stat/nf_conntrack`, by their heading.
const COLUMNS: [(&str, Metric); 8] = [
    ("drop", Metric::gauge("node_nf_conntrack_stat_drop", "Packets dropped as tracking failed.")),
    (
        "early_drop",
        Metric::gauge(
            "node_nf_conntrack_stat_early_drop",
            "Connections forgotten to make room for others.",
        ),
    ),
    ("found", Metric::gauge("node_nf_conntrack_stat_found", "Connections looked up and found.")),
    (
        "ignore",
        Metric::gauge("node_nf_conntrack_stat_ignore", "Packets that were already tracked."),
    ),
    ("insert", Metric::gauge("node_nf_conntrack_stat_insert", "Connections added.")),
    (
        "insert_failed",
        Metric::gauge("node_nf_conntrack_stat_insert_failed", "Connections that were there."),
    ),
    ("invalid", Metric::gauge("node_nf_conntrack_stat_invalid", "Packets that cannot be tracked.")),
    (
        "search_restart",
        Metric::gauge("node_nf_conntrack_stat_search_restart", "Lookups that began anew."),
    ),
];

/// Both files of counts, and the statistics.
pub(super) struct Conntrack {
    count: KeptFile,
    max: KeptFile,
    statistics: KeptFile,
}

impl Conntrack {
    pub(super) fn new(proc: &Path) -> Self {
        let netfilter = proc.join("sys/net/netfilter");
        Self {
            count: KeptFile::new(netfilter.join("nf_conntrack_count")),
            max: KeptFile::new(netfilter.join("nf_conntrack_max")),
            statistics: KeptFile::new(proc.join("net/stat/nf_conntrack")),
        }
    }
}

impl Collector for Conntrack {
    fn name(&self) -> &'static str {
        "conntrack"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for (file, metric) in [(&mut self.count, &ENTRIES), (&mut self.max, &LIMIT)] {
            if let Some(value) = number(file.read()?.trim()) {
                out.value(metric, value);
            }
        }
        // Kernels may be built without the statistics.
        let text = match self.statistics.read() {
            Ok(text) => text,
            Err(error) if error.is_absent() => return Ok(()),
            Err(error) => return Err(error),
        };
        let headings = text.lines().next().unwrap_or_default();
        for (heading, metric) in &COLUMNS {
            let place = headings.split_ascii_whitespace().position(|name| name == *heading);
            let Some(place) = place else { continue };
            // A row for each processor.
            let rows = text.lines().skip(1);
            let values = rows.filter_map(|row| row.split_ascii_whitespace().nth(place));
            let sum: u64 = values.filter_map(hex_number).fold(0, u64::saturating_add);
            out.value(metric, sum as f64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn columns_are_found_by_heading_and_summed_over_processors() {
        let tree = Tree::new(&[
            ("sys/net/netfilter/nf_conntrack_count", "5\n"),
            ("sys/net/netfilter/nf_conntrack_max", "262144\n"),
            (
                "net/stat/nf_conntrack",
                "entries  drop found early_drop\n00000005 0000000a 00000001 00000000\n\
                 00000005 00000010 00000002 00000000\n",
            ),
        ]);
        let snapshot = collect(&mut Conntrack::new(tree.path()));
        assert_eq!(snapshot.value(ENTRIES.name, &[]), Some(5.0));
        assert_eq!(snapshot.value("node_nf_conntrack_stat_drop", &[]), Some(26.0));
        assert_eq!(snapshot.value("node_nf_conntrack_stat_found", &[]), Some(3.0));
        assert_eq!(snapshot.families.len(), 5);
        assert!(is_absent(&mut Conntrack::new(Tree::new(&[]).path())));
    }
}
