//! How long tasks waited for processors, memory and I/O: `/proc/pressure`.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

const CPU_WAITING: Metric = Metric::counter(
    "node_pressure_cpu_waiting_seconds_total",
    "Time in which some task waited for a processor.",
);
const IO_WAITING: Metric = Metric::counter(
    "node_pressure_io_waiting_seconds_total",
    "Time in which some task waited for I/O.",
);
const IO_STALLED: Metric = Metric::counter(
    "node_pressure_io_stalled_seconds_total",
    "Time in which all tasks waited for I/O.",
);
const MEMORY_WAITING: Metric = Metric::counter(
    "node_pressure_memory_waiting_seconds_total",
    "Time in which some task waited for memory.",
);
const MEMORY_STALLED: Metric = Metric::counter(
    "node_pressure_memory_stalled_seconds_total",
    "Time in which all tasks waited for memory.",
);
const IRQ_STALLED: Metric = Metric::counter(
    "node_pressure_irq_stalled_seconds_total",
    "Time in which interrupts kept all tasks waiting.",
);

/// The files, and what their lines `some` and `full` are called.
const FILES: [(&str, Option<Metric>, Option<Metric>); 4] = [
    // The whole machine cannot be kept from processors by itself: its line `full` is always 0.
    ("cpu", Some(CPU_WAITING), None),
    ("io", Some(IO_WAITING), Some(IO_STALLED)),
    ("memory", Some(MEMORY_WAITING), Some(MEMORY_STALLED)),
    ("irq", None, Some(IRQ_STALLED)),
];

/// `/proc/pressure`.
pub(super) struct Pressure {
    files: Vec<(KeptFile, Option<Metric>, Option<Metric>)>,
}

impl Pressure {
    pub(super) fn new(proc: &Path) -> Self {
        let directory = proc.join("pressure");
        let kept = |(name, some, full)| (KeptFile::new(directory.join(name)), some, full);
        Self { files: FILES.map(kept).into() }
    }
}

impl Collector for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut absent = None;
        let mut is_any = false;
        for (file, some, full) in &mut self.files {
            let text = match file.read() {
                Ok(text) => text,
                // Kernels know the four kinds since different versions.
                Err(error) if error.is_absent() => {
                    absent = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            is_any = true;
            for line in text.lines() {
                let metric = match line.split_once(' ') {
                    Some(("some", _)) => some.as_ref(),
                    Some(("full", _)) => full.as_ref(),
                    _ => None,
                };
                let micros = line.rsplit_once("total=").and_then(|(_, total)| number(total));
                if let (Some(metric), Some(micros)) = (metric, micros) {
                    out.value(metric, micros / 1e6);
                }
            }
        }
        match absent {
            Some(error) if !is_any => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn totals_are_in_seconds_and_missing_kinds_are_left_out() {
        let lines = "some avg10=1.00 avg60=2.00 avg300=3.00 total=1500000\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n";
        let tree = Tree::new(&[("pressure/io", lines), ("pressure/cpu", lines)]);
        let snapshot = collect(&mut Pressure::new(tree.path()));
        assert_eq!(snapshot.value(IO_WAITING.name, &[]), Some(1.5));
        assert_eq!(snapshot.value(IO_STALLED.name, &[]), Some(0.25));
        assert_eq!(snapshot.value(CPU_WAITING.name, &[]), Some(1.5));
        assert_eq!(snapshot.families.len(), 3);
        assert!(is_absent(&mut Pressure::new(Tree::new(&[]).path())));
    }
}
