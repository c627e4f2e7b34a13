//! This program itself, with the names that every exporter has for it; and what an exporter says
//! about files of metrics.

use std::path::{Path, PathBuf};

use procfs::FromRead;
use procfs::process::{LimitValue, Limits, Stat};

use crate::error::ProbeError;
use crate::files::KeptFile;
use crate::model::{Builder, Metric};
use crate::probe::Collector;
use crate::process::boot_secs;

const CPU: Metric = Metric::counter("process_cpu_seconds_total", "Processor time of this program.");
const MAX_FDS: Metric =
    Metric::gauge("process_max_fds", "How many files this program may have open.");
const OPEN_FDS: Metric = Metric::gauge("process_open_fds", "Files this program has open.");
const RESIDENT: Metric =
    Metric::gauge("process_resident_memory_bytes", "Memory this program has in use.");
const START: Metric =
    Metric::gauge("process_start_time_seconds", "When this program started, Unix time.");
const VIRTUAL: Metric =
    Metric::gauge("process_virtual_memory_bytes", "Address space this program has taken.");
const VIRTUAL_MAX: Metric = Metric::gauge(
    "process_virtual_memory_max_bytes",
    "Address space this program may take; 2^64 if there is no limit.",
);

/// `/proc/self`.
pub(super) struct OwnProcess {
    directory: PathBuf,
    stat: KeptFile,
    proc: PathBuf,
    /// Limits do not change unless this program changes them, which it does at its start.
    limits: Option<(f64, f64)>,
    /// Unix time, once it is known.
    boot_secs: Option<f64>,
}

impl OwnProcess {
    pub(super) fn new(proc: &Path) -> Self {
        let directory = proc.join("self");
        Self {
            stat: KeptFile::new(directory.join("stat")),
            proc: proc.to_owned(),
            directory,
            limits: None,
            boot_secs: None,
        }
    }

    fn read_limits(&self) -> Result<(f64, f64), ProbeError> {
        let mut file = KeptFile::new(self.directory.join("limits"));
        let Ok(limits) = Limits::from_read(file.read()?.as_bytes()) else {
            return Err(ProbeError::malformed(file.path(), "a table of limits"));
        };
        let value = |limit| match limit {
            LimitValue::Unlimited => u64::MAX as f64,
            LimitValue::Value(value) => value as f64,
        };
        let space = limits.max_address_space.soft_limit;
        Ok((value(limits.max_open_files.soft_limit), value(space)))
    }
}

impl Collector for OwnProcess {
    fn name(&self) -> &'static str {
        "process"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let Ok(stat) = Stat::from_read(self.stat.read()?.as_bytes()) else {
            return Err(ProbeError::malformed(self.stat.path(), "the state of a process"));
        };
        let ticks_per_sec = rustix::param::clock_ticks_per_second().max(1) as f64;
        let cpu_ticks = stat.utime.saturating_add(stat.stime);
        out.value(&CPU, cpu_ticks as f64 / ticks_per_sec);
        out.value(&RESIDENT, stat.rss as f64 * rustix::param::page_size() as f64);
        out.value(&VIRTUAL, stat.vsize as f64);
        if self.boot_secs.is_none() {
            self.boot_secs = boot_secs(&self.proc);
        }
        if let Some(boot_secs) = self.boot_secs {
            out.value(&START, boot_secs + stat.starttime as f64 / ticks_per_sec);
        }
        if self.limits.is_none() {
            self.limits = self.read_limits().ok();
        }
        if let Some((open_files, address_space)) = self.limits {
            out.value(&MAX_FDS, open_files);
            out.value(&VIRTUAL_MAX, address_space);
        }
        if let Ok(entries) = std::fs::read_dir(self.directory.join("fd")) {
            // One of them is the directory that is being read.
            out.value(&OPEN_FDS, entries.count().saturating_sub(1) as f64);
        }
        Ok(())
    }
}

const TEXT_FILE_ERROR: Metric = Metric::gauge(
    "node_textfile_scrape_error",
    "1 if files of metrics could not be read; none are read here.",
);

/// Files of metrics are not read; a dashboard that asks whether that failed is told no.
pub(super) struct TextFiles;

impl Collector for TextFiles {
    fn name(&self) -> &'static str {
        "textfile"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        out.value(&TEXT_FILE_ERROR, 0.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn this_program_uses_memory_and_has_files_open() {
        let snapshot = collect(&mut OwnProcess::new(Path::new("/proc")));
        assert!(snapshot.value(RESIDENT.name, &[]).unwrap() > 100_000.0);
        assert!(snapshot.value(OPEN_FDS.name, &[]).unwrap() >= 3.0);
        assert!(snapshot.value(MAX_FDS.name, &[]).unwrap() > 3.0);
        assert!(snapshot.value(START.name, &[]).unwrap() > 1.7e9);
        assert_eq!(snapshot.families.len(), 7);
        assert!(is_absent(&mut OwnProcess::new(Tree::new(&[]).path())));
    }
}
