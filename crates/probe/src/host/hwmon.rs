//! Sensors of temperature, fans, voltage and power: `/sys/class/hwmon`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{names_in, read_number, read_small};
use crate::model::{Builder, Kind, Metric};
use crate::probe::{Collector, Pace};

const CHIP_NAMES: Metric =
    Metric::gauge("node_hwmon_chip_names", "What a chip calls itself, in the labels; always 1.");
const SENSOR_LABEL: Metric =
    Metric::gauge("node_hwmon_sensor_label", "What a sensor is called, in the labels; always 1.");

/// Kinds of sensors; other files of a chip are of no interest.
const SENSORS: [&str; 14] = [
    "beep_enable",
    "cpu",
    "curr",
    "energy",
    "fan",
    "freq",
    "humidity",
    "in",
    "intrusion",
    "power",
    "pwm",
    "temp",
    "update_interval",
    "vrm",
];

/// A file name taken apart: `temp1_crit_alarm` is a `temp`, its number 1, its property
/// `crit_alarm`. None for files of no sensor.
fn parts(file: &str) -> Option<(&str, &str, &str)> {
    let digits_at = file.find(|c: char| c.is_ascii_digit()).unwrap_or(file.len());
    let (kind, rest) = file.split_at(digits_at);
    let digits_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits_end);
    let property = match rest.strip_prefix('_') {
        Some(property) => property,
        None if rest.is_empty() => "",
        None => return None,
    };
    let number = if number.is_empty() { "0" } else { number };
    SENSORS.contains(&kind).then_some((kind, number, property))
}

/// The rest of the name after `node_hwmon_`, and how many units of the file make one of it.
fn name_and_units(kind: &str, property: &str) -> (String, f64) {
    let base = match property {
        "input" | "" => kind.to_owned(),
        property => format!("{kind}_{}", clean(property)),
    };
    let with = |suffix: &str, units: f64| (format!("{base}_{suffix}"), units);
    match (kind, property) {
        ("beep_enable", _) => ("beep_enabled".to_owned(), 1.0),
        ("vrm", _) => ("voltage_regulator_version".to_owned(), 1.0),
        ("update_interval", _) => with("seconds", 1e3),
        (_, "fault" | "alarm") => (base, 1.0),
        (_, "beep") => with("enabled", 1.0),
        ("temp", "type") => (base, 1.0),
        ("temp", _) => with("celsius", 1e3),
        ("in" | "cpu", _) => with("volts", 1e3),
        ("curr", _) => with("amps", 1e3),
        ("energy", _) => with("joule_total", 1e6),
        ("power", "accuracy") => (base, 1e6),
        ("power", "average_interval" | "average_interval_min" | "average_interval_max") => {
            with("seconds", 1e3)
        }
        ("power", _) => with("watt", 1e6),
        ("humidity", _) => (base, 1e6),
        ("fan", "input" | "min" | "max" | "target") => with("rpm", 1.0),
        ("freq", "input") => with("freq_mhz", 1e6),
        _ => (base, 1.0),
    }
}

/// Lower-case letters, digits, colons; all else an underscore.
fn clean(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == ':' { c } else { '_' };
    let cleaned: String = text.chars().map(|c| keep(c.to_ascii_lowercase())).collect();
    cleaned.trim_matches('_').to_owned()
}

/// `/sys/class/hwmon`.
pub(super) struct Hwmon(PathBuf);

impl Hwmon {
    pub(super) fn new(sys: &Path) -> Self {
        Self(sys.join("class/hwmon"))
    }
}

/// A name that stays the same after a restart, which `hwmon3` does not: that of the device and of
/// the bus it is on, or else what the chip calls itself.
fn chip_label(directory: &Path, chip_name: &str) -> String {
    if let Ok(device) = std::fs::canonicalize(directory.join("device")) {
        let part = |path: Option<&std::ffi::OsStr>| {
            path.map(|name| clean(&name.to_string_lossy())).unwrap_or_default()
        };
        let name = part(device.file_name());
        let bus = part(device.parent().and_then(Path::file_name));
        match (bus.is_empty(), name.is_empty()) {
            (false, false) => return format!("{bus}_{name}"),
            (true, false) => return name,
            _ => {}
        }
    }
    match directory.file_name() {
        Some(file_name) if chip_name.is_empty() => file_name.to_string_lossy().into_owned(),
        _ => chip_name.to_owned(),
    }
}

/// A chip: where it is, what it calls itself, and its label.
struct Chip {
    directory: PathBuf,
    name: String,
    label: String,
}

impl Hwmon {
    /// All chips, each with a label of its own. Several may belong to one device; then what they
    /// call themselves tells them apart, or else their number.
    fn chips(&self) -> Result<Vec<Chip>, ProbeError> {
        let mut chips = Vec::new();
        for number in names_in(&self.0)? {
            let directory = self.0.join(number);
            let name = clean(&read_small(&directory.join("name")).unwrap_or_default());
            let label = chip_label(&directory, &name);
            chips.push(Chip { directory, name, label });
        }
        add_to_equal_labels(&mut chips, |chip| chip.name.clone());
        add_to_equal_labels(&mut chips, |chip| {
            let number = chip.directory.file_name().unwrap_or_default();
            number.to_string_lossy().into_owned()
        });
        Ok(chips)
    }
}

/// Adds something to each label that another chip has too.
fn add_to_equal_labels(chips: &mut [Chip], what: impl Fn(&Chip) -> String) {
    let mut counts = HashMap::<String, u32>::new();
    for chip in &*chips {
        *counts.entry(chip.label.clone()).or_default() += 1;
    }
    for chip in chips {
        let (is_shared, addition) = (counts.get(&chip.label) > Some(&1), what(chip));
        if is_shared && !addition.is_empty() {
            chip.label = format!("{}_{addition}", chip.label);
        }
    }
}

impl Collector for Hwmon {
    fn name(&self) -> &'static str {
        "hwmon"
    }

    fn pace(&self) -> Pace {
        // Some chips sit on slow buses.
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        for Chip { directory, name, label } in self.chips()? {
            if !name.is_empty() {
                out.with(&CHIP_NAMES, &[("chip", &label), ("chip_name", &name)], 1.0);
            }
            let files = names_in(&directory).unwrap_or_default();
            for file in &files {
                // Of a sensor with a file `fan1` and a file `fan1_input`, one is enough.
                let bare = file.strip_suffix("_input");
                if !bare.is_some_and(|bare| files.iter().any(|other| other == bare)) {
                    collect_file(out, &directory, &label, file);
                }
            }
        }
        Ok(())
    }
}

fn collect_file(out: &mut Builder, directory: &Path, chip: &str, file: &str) {
    let Some((kind, number, property)) = parts(file) else { return };
    let sensor = format!("{kind}{number}");
    let label = || read_small(&directory.join(format!("{sensor}_label")));
    if property == "label" {
        let label = label().unwrap_or_default();
        let labels = [("chip", chip), ("label", label.as_str()), ("sensor", sensor.as_str())];
        return out.with(&SENSOR_LABEL, &labels, 1.0);
    }
    // A sensor that is not connected refuses to be read.
    let Some(value) = read_number(&directory.join(file)) else { return };
    let (name, units) = name_and_units(kind, property);
    let metric_kind = if kind == "energy" { Kind::Counter } else { Kind::Gauge };
    let what = if property.is_empty() { "input" } else { property };
    let help = || format!("Sensors of the kind {kind}: {what}.");
    let sensor = match (kind, property) {
        // Frequencies are known by what they are of; one without is of no use.
        ("freq", "input") => match label() {
            Ok(label) => clean(&label),
            Err(_) => return,
        },
        _ => sensor,
    };
    let labels = vec![("chip", chip.to_owned()), ("sensor", sensor)];
    out.named(&format!("node_hwmon_{name}"), metric_kind, help, labels, value / units);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn sensors_have_units_and_chips_lasting_names() {
        let tree = Tree::new(&[
            ("devices/platform/coretemp.0/uevent", ""),
            ("class/hwmon/hwmon0/name", "coretemp\n"),
            ("class/hwmon/hwmon0/temp1_input", "45500\n"),
            ("class/hwmon/hwmon0/temp1_crit", "100000\n"),
            ("class/hwmon/hwmon0/temp1_crit_alarm", "0\n"),
            ("class/hwmon/hwmon0/temp1_label", "Package id 0\n"),
            ("class/hwmon/hwmon0/fan2_input", "1200\n"),
            ("class/hwmon/hwmon0/fan2_min", "300\n"),
            ("class/hwmon/hwmon0/uevent", "X=1\n"),
            ("class/hwmon/hwmon1/pwm1", "128\n"),
            ("class/hwmon/hwmon1/freq1_input", "2100000000\n"),
            ("class/hwmon/hwmon1/freq1_label", "sclk\n"),
            ("class/hwmon/hwmon1/freq2_input", "1\n"),
            ("class/hwmon/hwmon1/update_interval", "1000\n"),
            ("class/hwmon/hwmon1/power1_average", "250000000\n"),
        ]);
        let device = tree.path().join("class/hwmon/hwmon0/device");
        std::os::unix::fs::symlink(tree.path().join("devices/platform/coretemp.0"), device)
            .unwrap();
        let snapshot = collect(&mut Hwmon::new(tree.path()));
        let of = |name, sensor| {
            snapshot.value(name, &[("chip", "platform_coretemp_0"), ("sensor", sensor)])
        };
        assert_eq!(of("node_hwmon_temp_celsius", "temp1"), Some(45.5));
        assert_eq!(of("node_hwmon_temp_crit_celsius", "temp1"), Some(100.0));
        assert_eq!(of("node_hwmon_temp_crit_alarm_celsius", "temp1"), Some(0.0));
        assert_eq!(of("node_hwmon_fan_rpm", "fan2"), Some(1200.0));
        assert_eq!(of("node_hwmon_fan_min_rpm", "fan2"), Some(300.0));
        let label = [("sensor", "temp1"), ("label", "Package id 0")];
        assert_eq!(snapshot.value(SENSOR_LABEL.name, &label), Some(1.0));
        let chip = [("chip", "platform_coretemp_0"), ("chip_name", "coretemp")];
        assert_eq!(snapshot.value(CHIP_NAMES.name, &chip), Some(1.0));
        let watts = snapshot.value("node_hwmon_power_average_watt", &[("chip", "hwmon1")]);
        assert_eq!(watts, Some(250.0));
        let labels = [("chip", "hwmon1"), ("sensor", "sclk")];
        assert_eq!(snapshot.value("node_hwmon_freq_freq_mhz", &labels), Some(2100.0));
        assert_eq!(snapshot.family("node_hwmon_freq_freq_mhz").unwrap().samples.len(), 1);
        assert_eq!(snapshot.value("node_hwmon_pwm", &[("sensor", "pwm1")]), Some(128.0));
        assert_eq!(snapshot.value("node_hwmon_update_interval_seconds", &[]), Some(1.0));
    }

    #[test]
    fn chips_of_one_device_have_labels_of_their_own() {
        let chips = [("hwmon0", "nic"), ("hwmon1", "phy"), ("hwmon2", "phy"), ("hwmon3", "alone")];
        let tree = Tree::new(&[("devices/pci0/0000:01/uevent", "")]);
        for (number, name) in chips {
            tree.write(&format!("class/hwmon/{number}/name"), name);
            tree.write(&format!("class/hwmon/{number}/temp1_input"), "45000");
            if name != "alone" {
                let link = tree.path().join("class/hwmon").join(number).join("device");
                let device = tree.path().join("devices/pci0/0000:01");
                std::os::unix::fs::symlink(device, link).unwrap();
            }
        }
        let snapshot = collect(&mut Hwmon::new(tree.path()));
        let samples = &snapshot.family("node_hwmon_temp_celsius").unwrap().samples;
        let labels: Vec<&str> = samples.iter().map(|sample| sample.labels[0].1.as_str()).collect();
        let device = "pci0_0000:01";
        let phy = |number| format!("{device}_phy_{number}");
        assert_eq!(labels, [&format!("{device}_nic"), &phy("hwmon1"), &phy("hwmon2"), "alone"]);
    }

    #[test]
    fn files_of_no_sensor_are_left_alone_and_a_machine_without_has_none() {
        assert_eq!(parts("temp1_crit_hyst"), Some(("temp", "1", "crit_hyst")));
        assert_eq!(parts("pwm1"), Some(("pwm", "1", "")));
        assert_eq!(parts("uevent"), None);
        assert_eq!(parts("temp1x"), None);
        assert!(is_absent(&mut Hwmon::new(Tree::new(&[]).path())));
    }
}
