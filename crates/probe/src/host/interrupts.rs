//! Interrupts by kind and processor: `/proc/interrupts`.
//!
//! A machine with more rows times processors than [`MAX_INTERRUPT_SERIES`] has one series for each
//! row, with all processors added up. If the rows alone are too many, the last of the numbered ones
//! are one series together.

use std::path::Path;

use crate::error::ProbeError;
use crate::files::{KeptFile, number};
use crate::limits::MAX_INTERRUPT_SERIES;
use crate::model::{Builder, Metric};
use crate::probe::{Collector, Pace};

const INTERRUPTS: Metric =
    Metric::counter("node_interrupts_total", "Interrupts serviced, by kind and processor.");

/// The label `cpu` of a series of all processors, and `type` of one of several rows.
const ALL_CPUS: &str = "all";
const OTHERS: &str = "other";

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
        let rows = lines.filter_map(|line| Row::parse(line, cpus.len()));
        let row_count = text.lines().count().saturating_sub(1);
        if row_count.saturating_mul(cpus.len()) > MAX_INTERRUPT_SERIES {
            emit_sums(out, rows, row_count.saturating_sub(MAX_INTERRUPT_SERIES));
            return Ok(());
        }
        for row in rows {
            for (cpu, count) in cpus.iter().zip(&row.counts) {
                row.emit(out, cpu, *count);
            }
        }
        Ok(())
    }
}

/// One kind of interrupt.
struct Row<'a> {
    kind: &'a str,
    /// For each processor.
    counts: Vec<f64>,
    info: String,
    devices: String,
}

impl<'a> Row<'a> {
    /// Reads one line; none if it is not one number for each processor, as ERR and MIS are not.
    fn parse(line: &'a str, cpu_count: usize) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let kind = fields.next()?.strip_suffix(':')?;
        let counts: Vec<f64> = fields.by_ref().take(cpu_count).map_while(number).collect();
        if counts.len() < cpu_count {
            return None;
        }
        let rest: Vec<&str> = fields.collect();
        // A numbered interrupt names its controller, then its devices; others say what they are.
        let split = if is_numbered(kind) { rest.len().min(1) } else { rest.len() };
        let (info, devices) = rest.split_at(split);
        Some(Self { kind, counts, info: info.join(" "), devices: devices.join(" ") })
    }

    fn emit(&self, out: &mut Builder, cpu: &str, count: f64) {
        let labels =
            [("cpu", cpu), ("devices", &self.devices), ("info", &self.info), ("type", self.kind)];
        out.with(&INTERRUPTS, &labels, count);
    }
}

fn is_numbered(kind: &str) -> bool {
    kind.bytes().all(|byte| byte.is_ascii_digit())
}

/// One series for each row, but one together for `excess` of the numbered ones, the last, and for
/// one more to make room for that series.
fn emit_sums<'a>(out: &mut Builder, rows: impl Iterator<Item = Row<'a>>, excess: usize) {
    let rows: Vec<Row> = rows.collect();
    let numbered = rows.iter().filter(|row| is_numbered(row.kind)).count();
    let joined = if excess == 0 { 0 } else { excess + 1 };
    let mut alone = numbered.saturating_sub(joined);
    let mut others = None;
    for row in &rows {
        let sum: f64 = row.counts.iter().sum();
        if !is_numbered(row.kind) {
            row.emit(out, ALL_CPUS, sum);
        } else if alone > 0 {
            alone -= 1;
            row.emit(out, ALL_CPUS, sum);
        } else {
            *others.get_or_insert(0.0) += sum;
        }
    }
    if let Some(sum) = others {
        let labels = [("cpu", ALL_CPUS), ("devices", ""), ("info", ""), ("type", OTHERS)];
        out.with(&INTERRUPTS, &labels, sum);
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
    fn more_series_than_the_limit_are_added_up_over_processors() {
        let cpus = 64;
        let mut text: String = (0..cpus).map(|cpu| format!(" CPU{cpu}")).collect();
        for row in 0..=MAX_INTERRUPT_SERIES / cpus {
            text.push_str(&format!("\n{row}:{} PCI-MSI nvme{row}", " 2".repeat(cpus)));
        }
        let tree = Tree::new(&[("interrupts", &text)]);
        let snapshot = collect(&mut Interrupts::new(tree.path()));
        assert_eq!(snapshot.sample_count(), 65);
        let labels = [("cpu", "all"), ("devices", "nvme64"), ("info", "PCI-MSI"), ("type", "64")];
        assert_eq!(snapshot.value(INTERRUPTS.name, &labels), Some(128.0));
    }

    #[test]
    fn more_rows_than_the_limit_are_added_up_and_named_ones_stay() {
        let mut text = String::from("CPU0\n");
        (0..MAX_INTERRUPT_SERIES + 5).for_each(|n| text.push_str(&format!("{n}: 1 X y\n")));
        text.push_str("LOC: 7 Local timer interrupts\n");
        let tree = Tree::new(&[("interrupts", &text)]);
        let snapshot = collect(&mut Interrupts::new(tree.path()));
        assert_eq!(snapshot.sample_count(), MAX_INTERRUPT_SERIES);
        assert_eq!(snapshot.value(INTERRUPTS.name, &[("type", "LOC")]), Some(7.0));
        assert_eq!(snapshot.value(INTERRUPTS.name, &[("type", "other")]), Some(7.0));
    }
}
