//! What the machine is: its kernel, its system, its hardware.

use std::path::{Path, PathBuf};

use crate::error::ProbeError;
use crate::files::{names_in, read_small};
use crate::model::{Builder, Labels, Metric};
use crate::probe::Collector;

const UNAME: Metric =
    Metric::gauge("node_uname_info", "The machine's name and kernel, in the labels; always 1.");

/// `uname`.
pub(super) struct Uname;

impl Collector for Uname {
    fn name(&self) -> &'static str {
        "uname"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let uname = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let labels: Labels = vec![
            ("domainname", text(uname.domainname())),
            ("machine", text(uname.machine())),
            ("nodename", text(uname.nodename())),
            ("release", text(uname.release())),
            ("sysname", text(uname.sysname())),
            ("version", text(uname.version())),
        ];
        out.push(&UNAME, labels, 1.0);
        Ok(())
    }
}

const OS_INFO: Metric =
    Metric::gauge("node_os_info", "The system's own description, in the labels; always 1.");
const OS_VERSION: Metric =
    Metric::gauge("node_os_version", "Major and minor version of the system as one number.");

/// Labels of [`OS_INFO`]; in the file in capitals.
const OS_LABELS: [&str; 12] = [
    "build_id",
    "id",
    "id_like",
    "image_id",
    "image_version",
    "name",
    "pretty_name",
    "variant",
    "variant_id",
    "version",
    "version_codename",
    "version_id",
];

/// `/etc/os-release`.
pub(super) struct Os {
    paths: [PathBuf; 2],
    /// Read once: a system is not replaced while it runs.
    known: Option<Labels>,
}

impl Os {
    pub(super) fn new(root: &Path) -> Self {
        let paths = ["etc/os-release", "usr/lib/os-release"].map(|path| root.join(path));
        Self { paths, known: None }
    }

    fn read(&self) -> Result<Labels, ProbeError> {
        let [first, second] = &self.paths;
        let text = read_small(first).or_else(|_| read_small(second))?;
        let value = |label: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(key, _)| key.trim().eq_ignore_ascii_case(label));
            found.map(|(_, value)| unquote(value)).unwrap_or_default()
        };
        Ok(OS_LABELS.iter().map(|label| (*label, value(label))).collect())
    }
}

/// A value as a shell would read it; no more than such files use.
fn unquote(value: &str) -> String {
    let value = value.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = quote.and_then(|q| value.strip_prefix(q)?.strip_suffix(q)).unwrap_or(value);
    inner.replace("\\\"", "\"").replace("\\\\", "\\")
}

impl Collector for Os {
    fn name(&self) -> &'static str {
        "os"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        if self.known.is_none() {
            self.known = Some(self.read()?);
        }
        let labels = self.known.clone().unwrap_or_default();
        let get = |wanted| labels.iter().find(|(label, _)| *label == wanted).cloned();
        let version = get("version_id").map(|(_, version)| version).unwrap_or_default();
        // 22.04.1 is 22.04: a number has one point.
        let number: String = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        if let Ok(number) = number.parse() {
            let labels = ["id", "id_like", "name"].into_iter().filter_map(get).collect();
            out.push(&OS_VERSION, labels, number);
        }
        out.push(&OS_INFO, labels, 1.0);
        Ok(())
    }
}

const DMI: Metric =
    Metric::gauge("node_dmi_info", "The hardware's own description, in the labels; always 1.");

/// Files of `/sys/class/dmi/id`, and their labels.
const DMI_LABELS: [&str; 16] = [
    "bios_date",
    "bios_release",
    "bios_vendor",
    "bios_version",
    "board_asset_tag",
    "board_name",
    "board_vendor",
    "board_version",
    "chassis_asset_tag",
    "chassis_vendor",
    "chassis_version",
    "product_family",
    "product_name",
    "product_sku",
    "product_version",
    "sys_vendor",
];

/// `/sys/class/dmi/id`.
pub(super) struct Dmi {
    directory: PathBuf,
    /// Read once: hardware is not replaced while it runs.
    known: Option<Labels>,
}

impl Dmi {
    pub(super) fn new(sys: &Path) -> Self {
        Self { directory: sys.join("class/dmi/id"), known: None }
    }

    fn read(&self) -> Result<Labels, ProbeError> {
        let files = names_in(&self.directory)?;
        let known = DMI_LABELS.iter().filter(|label| files.iter().any(|file| file == *label));
        // Serial numbers only root may read, and they are nobody's business here.
        let label_and_value = |label: &&'static str| {
            let value = read_small(&self.directory.join(label)).ok()?;
            let label = if *label == "sys_vendor" { "system_vendor" } else { *label };
            Some((label, value))
        };
        Ok(known.filter_map(label_and_value).collect())
    }
}

impl Collector for Dmi {
    fn name(&self) -> &'static str {
        "dmi"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        if self.known.is_none() {
            self.known = Some(self.read()?);
        }
        out.push(&DMI, self.known.clone().unwrap_or_default(), 1.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect, is_absent};

    #[test]
    fn the_name_that_dashboards_choose_by_is_there() {
        let snapshot = collect(&mut Uname);
        let labels = &snapshot.family(UNAME.name).unwrap().samples[0].labels;
        let names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let expected = ["domainname", "machine", "nodename", "release", "sysname", "version"];
        assert_eq!(names, expected);
        assert!(labels.contains(&("sysname", "Linux".to_owned())));
    }

    #[test]
    fn a_system_is_described_with_all_labels_and_a_number() {
        let text = "NAME=\"My Linux\"\nID=my\nVERSION_ID='22.04.1'\nPRETTY_NAME=\"My \\\"L\\\"\"\n";
        let tree = Tree::new(&[("usr/lib/os-release", text)]);
        let snapshot = collect(&mut Os::new(tree.path()));
        let labels = &snapshot.family(OS_INFO.name).unwrap().samples[0].labels;
        assert_eq!(labels.len(), OS_LABELS.len());
        let expected = [("name", "My Linux"), ("pretty_name", "My \"L\""), ("build_id", "")];
        assert_eq!(snapshot.value(OS_INFO.name, &expected), Some(1.0));
        let number = snapshot.value(OS_VERSION.name, &[("id", "my"), ("name", "My Linux")]);
        assert_eq!(number, Some(22.04));
        assert!(is_absent(&mut Os::new(Tree::new(&[]).path())));
    }

    #[test]
    fn hardware_has_the_labels_it_tells() {
        let tree = Tree::new(&[
            ("class/dmi/id/sys_vendor", "Maker\n"),
            ("class/dmi/id/product_name", "Box 9\n"),
            ("class/dmi/id/uevent", "MODALIAS=x\n"),
        ]);
        let snapshot = collect(&mut Dmi::new(tree.path()));
        let sample = &snapshot.family(DMI.name).unwrap().samples[0];
        let expected =
            [("product_name", "Box 9".to_owned()), ("system_vendor", "Maker".to_owned())];
        assert_eq!(sample.labels, expected);
    }
}
