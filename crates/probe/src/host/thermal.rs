//! Temperatures and cooling of the machine as a whole: `/sys/class/thermal`.

use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{names_in, read_number, read_small};
use crate::model::{Builder, Metric};
use crate::probe::{Collector, Pace};

const ZONE_TEMPERATURE: Metric =
    Metric::gauge("node_thermal_zone_temp", "Temperature of a zone in degrees Celsius.");
const COOLING_CURRENT: Metric =
    Metric::gauge("node_cooling_device_cur_state", "How much a device cools, in its own steps.");
const COOLING_MAX: Metric =
    Metric::gauge("node_cooling_device_max_state", "The most a device can cool, in its own steps.");

/// `/sys/class/thermal`.
pub(super) struct Thermal(PathBuf);

impl Thermal {
    pub(super) fn new(sys: &Path) -> Self {
        Self(sys.join("class/thermal"))
    }
}

impl Collector for Thermal {
    fn name(&self) -> &'static str {
        "thermal_zone"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let names = names_in(&self.0)?;
        for entry in &names {
            let directory = self.0.join(entry);
            let kind = || read_small(&directory.join("type")).unwrap_or_default();
            if let Some(zone) = entry.strip_prefix("thermal_zone") {
                // A zone that is off refuses to be read.
                if let Some(millis) = read_number(&directory.join("temp")) {
                    let labels = [("type", &*kind()), ("zone", zone)];
                    out.with(&ZONE_TEMPERATURE, &labels, millis / 1000.0);
                }
            } else if let Some(name) = entry.strip_prefix("cooling_device") {
                let kind = kind();
                let labels = [("name", name), ("type", kind.as_str())];
                for (file, metric) in [("cur_state", &COOLING_CURRENT), ("max_state", &COOLING_MAX)]
                {
                    if let Some(state) = read_number(&directory.join(file)) {
                        out.with(metric, &labels, state);
                    }
                }
            }
        }
        if names.is_empty() {
            Err(ProbeError::Absent(self.0.join("thermal_zone0")))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn zones_and_cooling_devices_are_numbered() {
        let tree = Tree::new(&[
            ("class/thermal/thermal_zone2/temp", "41000\n"),
            ("class/thermal/thermal_zone2/type", "x86_pkg_temp\n"),
            ("class/thermal/cooling_device0/cur_state", "1\n"),
            ("class/thermal/cooling_device0/max_state", "10\n"),
            ("class/thermal/cooling_device0/type", "Processor\n"),
        ]);
        let snapshot = collect(&mut Thermal::new(tree.path()));
        let zone = [("zone", "2"), ("type", "x86_pkg_temp")];
        assert_eq!(snapshot.value(ZONE_TEMPERATURE.name, &zone), Some(41.0));
        let device = [("name", "0"), ("type", "Processor")];
        assert_eq!(snapshot.value(COOLING_CURRENT.name, &device), Some(1.0));
        assert_eq!(snapshot.value(COOLING_MAX.name, &device), Some(10.0));
        std::fs::remove_dir_all(tree.path().join("class/thermal")).unwrap();
        assert!(is_absent(&mut Thermal::new(tree.path())));
    }
}
