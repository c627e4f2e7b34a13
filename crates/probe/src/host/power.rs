//! Mains and batteries: `/sys/class/power_supply`.

use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{names_in, read_number, read_small};
use crate::model::{Builder, Labels, Metric};
use crate::probe::{Collector, Pace};

/// The files of a supply, what they are called, and how many of their units make one of ours.
const FILES: [(&str, Metric, f64); 11] = [
    ("online", Metric::gauge("node_power_supply_online", "1 if it gives power."), 1.0),
    ("present", Metric::gauge("node_power_supply_present", "1 if it is there."), 1.0),
    ("capacity", Metric::gauge("node_power_supply_capacity", "Charge in percent."), 1.0),
    ("cycle_count", Metric::gauge("node_power_supply_cyclecount", "Charges so far."), 1.0),
    ("current_now", Metric::gauge("node_power_supply_current_ampere", "Current."), 1e6),
    ("voltage_now", Metric::gauge("node_power_supply_voltage_volt", "Voltage."), 1e6),
    ("power_now", Metric::gauge("node_power_supply_power_watt", "Power."), 1e6),
    ("energy_now", Metric::gauge("node_power_supply_energy_watthour", "Energy left."), 1e6),
    (
        "energy_full",
        Metric::gauge("node_power_supply_energy_full_watthour", "Energy when full."),
        1e6,
    ),
    ("charge_now", Metric::gauge("node_power_supply_charge_ampere", "Charge left."), 1e6),
    ("temp", Metric::gauge("node_power_supply_temp_celsius", "Temperature."), 10.0),
];

const INFO: Metric =
    Metric::gauge("node_power_supply_info", "What a supply is, in its labels; always 1.");

/// Labels of [`INFO`] and their files; those that a supply lacks are left out.
const INFO_LABELS: [(&str, &str); 7] = [
    ("capacity_level", "capacity_level"),
    ("manufacturer", "manufacturer"),
    ("model_name", "model_name"),
    ("serial_number", "serial_number"),
    ("status", "status"),
    ("technology", "technology"),
    ("type", "type"),
];

/// `/sys/class/power_supply`.
pub(super) struct PowerSupplies(PathBuf);

impl PowerSupplies {
    pub(super) fn new(sys: &Path) -> Self {
        Self(sys.join("class/power_supply"))
    }
}

impl Collector for PowerSupplies {
    fn name(&self) -> &'static str {
        "powersupplyclass"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let names = names_in(&self.0)?;
        for name in &names {
            let directory = self.0.join(name);
            for (file, metric, per_unit) in &FILES {
                if let Some(value) = read_number(&directory.join(file)) {
                    out.with(metric, &[("power_supply", name)], value / per_unit);
                }
            }
            let mut labels: Labels = vec![("power_supply", name.clone())];
            for (label, file) in INFO_LABELS {
                let value = read_small(&directory.join(file)).unwrap_or_default();
                if !value.is_empty() {
                    labels.push((label, value));
                }
            }
            out.push(&INFO, labels, 1.0);
        }
        if names.is_empty() { Err(ProbeError::Absent(self.0.join("AC"))) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn a_supply_is_emitted_in_plain_units() {
        let tree = Tree::new(&[
            ("class/power_supply/AC/online", "1\n"),
            ("class/power_supply/AC/type", "Mains\n"),
            ("class/power_supply/BAT0/voltage_now", "12500000\n"),
            ("class/power_supply/BAT0/temp", "314\n"),
        ]);
        let snapshot = collect(&mut PowerSupplies::new(tree.path()));
        let of = |name, supply| snapshot.value(name, &[("power_supply", supply)]);
        assert_eq!(of("node_power_supply_online", "AC"), Some(1.0));
        assert_eq!(of("node_power_supply_voltage_volt", "BAT0"), Some(12.5));
        assert_eq!(of("node_power_supply_temp_celsius", "BAT0"), Some(31.4));
        let mains = [("power_supply", "AC"), ("type", "Mains")];
        assert_eq!(snapshot.value(INFO.name, &mains), Some(1.0));
    }
}
