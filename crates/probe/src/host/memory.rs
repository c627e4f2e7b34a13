//! Memory: `/proc/meminfo` whole, and what matters of `/proc/vmstat`.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::model::{Builder, Kind};
use crate::probe::Collector;

/// `/proc/meminfo`: every line, whatever the kernel calls it.
pub(super) struct MemoryInfo {
    file: KeptFile,
    /// Kept for its memory.
    name: String,
}

impl MemoryInfo {
    pub(super) fn new(proc: &Path) -> Self {
        Self { file: KeptFile::new(proc.join("meminfo")), name: String::new() }
    }
}

impl Collector for MemoryInfo {
    fn name(&self) -> &'static str {
        "meminfo"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let text = self.file.read()?;
        let mut is_any = false;
        for line in text.lines() {
            let Some((key, rest)) = line.split_once(':') else { continue };
            let mut fields = rest.split_ascii_whitespace();
            let Some(value) = fields.next().and_then(number) else { continue };
            // `Active(anon)` is `Active_anon`.
            self.name.clear();
            self.name.push_str("node_memory_");
            self.name.extend(key.chars().filter(|c| *c != ')').map(|c| match c {
                '(' => '_',
                other => other,
            }));
            let value = match fields.next() {
                Some("kB") => {
                    self.name.push_str("_bytes");
                    value * 1024.0
                }
                _ => value,
            };
            let help = || format!("{key} of the kernel's table of memory.");
            out.named(&self.name, Kind::Gauge, help, Vec::new(), value);
            is_any = true;
        }
        if is_any { Ok(()) } else { Err(ProbeError::malformed(self.file.path(), "key: number kB")) }
    }
}

/// `/proc/vmstat`: paging, faults and kills.
pub(super) struct VirtualMemory {
    file: KeptFile,
    /// Kept for its memory.
    name: String,
}

impl VirtualMemory {
    pub(super) fn new(proc: &Path) -> Self {
        Self { file: KeptFile::new(proc.join("vmstat")), name: String::new() }
    }
}

/// Which of the hundreds of lines are emitted: those node-exporter emits unless told otherwise.
fn is_wanted(key: &str) -> bool {
    key.starts_with("oom_kill")
        || key.starts_with("pgpg")
        || key.starts_with("pswp")
        || (key.starts_with("pg") && key.contains("fault"))
}

impl Collector for VirtualMemory {
    fn name(&self) -> &'static str {
        "vmstat"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for line in self.file.read()?.lines() {
            let Some((key, value)) = line.split_once(' ') else { continue };
            let Some(value) = number(value).filter(|_| is_wanted(key)) else { continue };
            self.name.clear();
            self.name.push_str("node_vmstat_");
            self.name.push_str(key);
            let help = || format!("{key} of the kernel's counts of virtual memory.");
            out.named(&self.name, Kind::Untyped, help, Vec::new(), value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn kilobytes_become_bytes_and_counts_stay() {
        let text = "MemTotal:       100 kB\nActive(anon):     2 kB\nHugePages_Total:   3\n\
            SomethingNew:    4 kB\nbroken\n";
        let tree = Tree::new(&[("meminfo", text)]);
        let snapshot = collect(&mut MemoryInfo::new(tree.path()));
        assert_eq!(snapshot.value("node_memory_MemTotal_bytes", &[]), Some(102_400.0));
        assert_eq!(snapshot.value("node_memory_Active_anon_bytes", &[]), Some(2048.0));
        assert_eq!(snapshot.value("node_memory_HugePages_Total", &[]), Some(3.0));
        assert_eq!(snapshot.value("node_memory_SomethingNew_bytes", &[]), Some(4096.0));
    }

    #[test]
    fn of_virtual_memory_only_paging_faults_and_kills_are_emitted() {
        let text = "nr_free_pages 1\npgpgin 2\npswpout 3\npgfault 4\npgmajfault 5\noom_kill 6\n\
            pgalloc_dma 7\n";
        let tree = Tree::new(&[("vmstat", text)]);
        let snapshot = collect(&mut VirtualMemory::new(tree.path()));
        assert_eq!(snapshot.families.len(), 5);
        assert_eq!(snapshot.value("node_vmstat_pgmajfault", &[]), Some(5.0));
        assert!(snapshot.families.iter().all(|family| family.kind == Kind::Untyped));
    }
}
