//! Interrupts by kind and processor: `/proc/interrupts`.
//!
//! Refuses a machine with more rows times processors than
//! [`MAX_INTERRUPT_SERIES`](crate::limits::MAX_INTERRUPT_SERIES).

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::limits::MAX_INTERRUPT_SERIES;
use crate::model::{Builder, Metric};
use crate::probe::{Collector, Pace};

const INTERRUPTS: Metric =
    Metric::counter("node_interrupts_total", "Interrupts serviced, by kind and processor.");

/// `/proc/interrupts`.
pub(super) struct Interrupts(KeptFile);

impl Interrupts {
    pub(super) fn new(proc: &Path) -> Self {
        Self(KeptFile::new(proc.join("interrupts")))
    }
}

impl Collector for Interrupts {
    fn name(&self) -> &'static str {
        "interrupts"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let text = self.0.read()?;
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let cpus: Vec<&str> =
            header.split_ascii_whitespace().filter_map(|name| name.strip_prefix("CPU")).collect();
        if cpus.is_empty() {
            return Err(ProbeError::malformed(self.0.path(), "a first line with CPU0"));
        }
        if lines.clone().count().saturating_mul(cpus.len()) > MAX_INTERRUPT_SERIES {
            let limit = MAX_INTERRUPT_SERIES;
            let what = self.0.path().display().to_string();
            return Err(ProbeError::TooLarge { what, limit, unit: "series" });
        }
        for line in lines {
            let mut fields = line.split_ascii_whitespace();
            let Some(kind) = fields.next().and_then(|first| first.strip_suffix(':')) else {
                continue;
            };
            let counts: Vec<&str> = fields.by_ref().take(cpus.len()).collect();
            if counts.len() < cpus.len() || counts.iter().any(|count| number(count).is_none()) {
                continue; // rows with one number for all processors, as ERR and MIS
            }
            let rest: Vec<&str> = fields.collect();
            // A numbered interrupt names its controller, then its devices; others say what they are.
            let is_numbered = kind.bytes().all(|byte| byte.is_ascii_digit());
            let split = if is_numbered { rest.len().min(1) } else { rest.len() };
            let (info, devices) = rest.split_at(split);
            let (info, devices) = (info.join(" "), devices.join(" "));
            for (cpu, count) in cpus.iter().zip(&counts) {
                let labels =
                    [("cpu", *cpu), ("devices", &devices), ("info", &info), ("type", kind)];
                out.with(&INTERRUPTS, &labels, number(count).unwrap_or(0.0));
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
    fn numbered_and_named_interrupts_are_told_apart() {
        let text = "           CPU0       CPU1\n\
             24:          1          5  IO-APIC   5-edge      ACPI:Ged\n\
            LOC:        100        200   Local timer interrupts\n\
            ERR:          0\n";
        let tree = Tree::new(&[("interrupts", text)]);
        let snapshot = collect(&mut Interrupts::new(tree.path()));
        let numbered =
            [("cpu", "1"), ("devices", "5-edge ACPI:Ged"), ("info", "IO-APIC"), ("type", "24")];
        assert_eq!(snapshot.value(INTERRUPTS.name, &numbered), Some(5.0));
        let named =
            [("cpu", "0"), ("devices", ""), ("info", "Local timer interrupts"), ("type", "LOC")];
        assert_eq!(snapshot.value(INTERRUPTS.name, &named), Some(100.0));
        assert_eq!(snapshot.sample_count(), 4);
    }

    #[test]
    fn more_series_than_the_limit_are_refused() {
        let mut text = String::from("CPU0\n");
        (0..=MAX_INTERRUPT_SERIES).for_each(|n| text.push_str(&format!("{n}: 1 X y\n")));
        let tree = Tree::new(&[("interrupts", &text)]);
        let mut builder = Builder::new();
        let error = Interrupts::new(tree.path()).collect(&mut builder).unwrap_err();
        assert!(matches!(error, ProbeError::TooLarge { .. }), "{error}");
    }
}
