//! How many processes and threads there are, and in which state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::model::{Builder, Metric};
use crate::probe::{Collector, Pace};
use crate::process;

const PIDS: Metric = Metric::gauge("node_processes_pids", "Processes.");
const STATES: Metric = Metric::gauge("node_processes_state", "Processes in each state.");
const THREADS: Metric = Metric::gauge("node_processes_threads", "Threads of all processes.");
const MAX_PIDS: Metric = Metric::gauge("node_processes_max_processes", "The highest process id.");
const MAX_THREADS: Metric = Metric::gauge("node_processes_max_threads", "How many threads fit.");

/// States that are emitted even if no process is in them, so that a rate has a start.
const USUAL_STATES: [char; 6] = ['D', 'I', 'R', 'S', 'T', 'Z'];

/// `/proc/<pid>/stat` of all.
pub(super) struct Processes {
    proc: PathBuf,
    limits: [(KeptFile, Metric); 2],
}

impl Processes {
    pub(super) fn new(proc: &Path) -> Self {
        let kernel = proc.join("sys/kernel");
        let limits = [
            (KeptFile::new(kernel.join("pid_max")), MAX_PIDS),
            (KeptFile::new(kernel.join("threads-max")), MAX_THREADS),
        ];
        Self { proc: proc.to_owned(), limits }
    }
}

impl Collector for Processes {
    fn name(&self) -> &'static str {
        "processes"
    }

    fn pace(&self) -> Pace {
        // A machine with thousands of processes has thousands of files to read.
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut states: BTreeMap<char, u32> = USUAL_STATES.map(|state| (state, 0)).into();
        let (mut pids, mut threads) = (0_u32, 0_i64);
        for stat in process::all_stats(&self.proc)? {
            pids += 1;
            threads += stat.num_threads;
            *states.entry(stat.state).or_default() += 1;
        }
        out.value(&PIDS, f64::from(pids));
        out.value(&THREADS, threads as f64);
        for (state, count) in states {
            out.with(&STATES, &[("state", state.encode_utf8(&mut [0; 4]))], f64::from(count));
        }
        for (file, metric) in &mut self.limits {
            if let Some(value) = file.read().ok().and_then(|text| number(text.trim())) {
                out.value(metric, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};
    use crate::process::tests::stat_line;

    #[test]
    fn processes_are_counted_by_state_and_their_threads_added() {
        let tree = Tree::new(&[
            ("1/stat", &stat_line(1, "init", 'S', 0, 1)),
            ("20/stat", &stat_line(20, "a (b) c", 'R', 1, 3)),
            ("21/stat", "went away"),
            ("self/stat", &stat_line(20, "again", 'R', 1, 3)),
            ("sys/kernel/pid_max", "32768\n"),
        ]);
        let snapshot = collect(&mut Processes::new(tree.path()));
        assert_eq!(snapshot.value(PIDS.name, &[]), Some(2.0));
        assert_eq!(snapshot.value(THREADS.name, &[]), Some(4.0));
        assert_eq!(snapshot.value(STATES.name, &[("state", "R")]), Some(1.0));
        assert_eq!(snapshot.value(STATES.name, &[("state", "Z")]), Some(0.0));
        assert_eq!(snapshot.value(MAX_PIDS.name, &[]), Some(32_768.0));
        assert_eq!(snapshot.value(MAX_THREADS.name, &[]), None);
    }
}
