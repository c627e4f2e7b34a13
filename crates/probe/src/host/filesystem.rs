//! File systems: how full they are.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::mounts::{Answer, Mount, ask};
use super::slow_mounts::SlowMounts;
use crate::error::ProbeError;
use crate::files::KeptFile;
use crate::model::{Builder, Labels, Metric};
use crate::probe::{Collector, Pace};

const SIZE: Metric = Metric::gauge("node_filesystem_size_bytes", "Size of a file system.");
const FREE: Metric = Metric::gauge("node_filesystem_free_bytes", "Free space, also root's.");
const AVAILABLE: Metric =
    Metric::gauge("node_filesystem_avail_bytes", "Free space for users other than root.");
const FILES: Metric = Metric::gauge("node_filesystem_files", "Files a file system can hold.");
const FILES_FREE: Metric =
    Metric::gauge("node_filesystem_files_free", "Files a file system can still take.");
const PURGEABLE: Metric = Metric::gauge(
    "node_filesystem_purgeable_bytes",
    "Space the system could free by itself; always 0 on Linux.",
);
const READ_ONLY: Metric =
    Metric::gauge("node_filesystem_readonly", "1 if a file system cannot be written.");
const ERROR: Metric =
    Metric::gauge("node_filesystem_device_error", "1 if a file system did not answer.");
const INFO: Metric =
    Metric::gauge("node_filesystem_mount_info", "Where a device is mounted; always 1.");

/// Kinds that are not about space: what node-exporter leaves out unless told otherwise.
const TYPES_LEFT_OUT: [&str; 25] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "erofs",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nsfs",
    "overlay",
    "proc",
    "procfs",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tracefs",
];

/// Directories whose mounts are of the system or of containers.
fn is_point_left_out(point: &str) -> bool {
    let is_in = |directory: &str| {
        point.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_below = |directory: &str| {
        let rest = point.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|name| !name.is_empty())
    };
    ["/dev", "/proc", "/sys"].into_iter().any(is_in)
        || ["/run/credentials", "/var/lib/docker", "/var/lib/containers/storage"]
            .into_iter()
            .any(is_below)
}

/// `/proc/1/mountinfo`, or our own where that is hidden.
pub(super) struct FileSystems {
    of_first: KeptFile,
    of_self: KeptFile,
    root: PathBuf,
    slow: SlowMounts,
}

impl FileSystems {
    pub(super) fn new(proc: &Path, root: &Path) -> Self {
        Self {
            of_first: KeptFile::new(proc.join("1/mountinfo")),
            of_self: KeptFile::new(proc.join("self/mountinfo")),
            root: root.to_owned(),
            slow: SlowMounts::new(),
        }
    }

    fn mounts(&mut self) -> Result<Vec<Mount>, ProbeError> {
        let lines = match self.of_first.read_bytes() {
            Ok(lines) => lines,
            Err(_) => self.of_self.read_bytes()?,
        };
        let mut seen = HashSet::new();
        let is_wanted = |mount: &Mount| {
            !TYPES_LEFT_OUT.contains(&mount.fs_type.as_str()) && !is_point_left_out(&mount.point)
        };
        // Of several mounts on one point the last hides the others; of equal ones, one is enough.
        let lines = lines.split(|byte| *byte == b'\n').rev();
        let mut mounts: Vec<Mount> = lines.filter_map(Mount::parse).filter(is_wanted).collect();
        mounts.retain(|mount| seen.insert(mount.point.clone()));
        mounts.reverse();
        Ok(mounts)
    }

    /// A path of the host as seen from here.
    fn seen_from_here(&self, point: &Path) -> PathBuf {
        self.root.join(point.strip_prefix("/").unwrap_or(point))
    }
}

impl Collector for FileSystems {
    fn name(&self) -> &'static str {
        "filesystem"
    }

    fn pace(&self) -> Pace {
        Pace::Bounded
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mounts = self.mounts()?;
        let may_hang = mounts.iter().filter(|mount| mount.may_hang());
        let slow: Vec<PathBuf> = may_hang.map(|mount| self.seen_from_here(&mount.path)).collect();
        let mut slow_answers = self.slow.ask(&slow);
        for mount in &mounts {
            let point = self.seen_from_here(&mount.path);
            let answer =
                if mount.may_hang() { slow_answers.remove(&point) } else { Some(ask(&point)) };
            // One that still thinks, or whose turn has not come, has not failed.
            if let Some(answer) = answer {
                emit_answer(out, mount, &answer);
            }
            emit_info(out, mount);
        }
        Ok(())
    }
}

fn emit_answer(out: &mut Builder, mount: &Mount, answer: &Answer) {
    let labels = |error: &str| -> Labels {
        vec![
            ("device", mount.device.clone()),
            ("device_error", error.to_owned()),
            ("fstype", mount.fs_type.clone()),
            ("mountpoint", mount.point.clone()),
        ]
    };
    match answer {
        Ok(fill) => {
            let labels = labels("");
            out.push(&ERROR, labels.clone(), 0.0);
            out.push(&SIZE, labels.clone(), fill.size_bytes);
            out.push(&FREE, labels.clone(), fill.free_bytes);
            out.push(&AVAILABLE, labels.clone(), fill.available_bytes);
            out.push(&FILES, labels.clone(), fill.files);
            out.push(&FILES_FREE, labels.clone(), fill.files_free);
            out.push(&PURGEABLE, labels.clone(), 0.0);
            out.push(&READ_ONLY, labels, f64::from(u8::from(mount.is_read_only)));
        }
        Err(error) => {
            out.push(&ERROR, labels(error), 1.0);
            out.push(&READ_ONLY, labels(error), f64::from(u8::from(mount.is_read_only)));
        }
    }
}

fn emit_info(out: &mut Builder, mount: &Mount) {
    let info = [
        ("device", mount.device.as_str()),
        ("major", mount.major.as_str()),
        ("minor", mount.minor.as_str()),
        ("mountpoint", mount.point.as_str()),
    ];
    out.with(&INFO, &info, 1.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn real_file_systems_are_measured_and_others_left_out() {
        let mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 0:5 / /proc rw - proc proc rw\n\
            3 1 0:6 / /dev/shm rw - tmpfs tmpfs rw\n\
            4 1 0:7 / /var/lib/docker/overlay2/x/merged rw - ext4 /dev/sdb rw\n\
            5 1 0:8 / /gone ro - xfs /dev/sdc ro\n\
            6 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let tree = Tree::new(&[("self/mountinfo", mountinfo)]);
        let snapshot = collect(&mut FileSystems::new(tree.path(), tree.path()));
        let root = [("mountpoint", "/"), ("fstype", "ext4"), ("device_error", "")];
        assert!(snapshot.value(SIZE.name, &root).unwrap() > 0.0);
        assert_eq!(snapshot.family(SIZE.name).unwrap().samples.len(), 1);
        assert_eq!(snapshot.value(ERROR.name, &[("mountpoint", "/gone")]), Some(1.0));
        assert_eq!(snapshot.value(READ_ONLY.name, &[("mountpoint", "/gone")]), Some(1.0));
        assert_eq!(snapshot.value(SIZE.name, &[("mountpoint", "/gone")]), None);
        assert_eq!(snapshot.family(INFO.name).unwrap().samples.len(), 2);
        let error = [("mountpoint", "/gone"), ("device_error", "no such file or directory")];
        assert_eq!(snapshot.value(ERROR.name, &error), Some(1.0));
    }

    #[test]
    fn a_point_that_is_no_text_is_asked_by_its_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let tree = Tree::new(&[]);
        let name = std::ffi::OsStr::from_bytes(b"b\xffd");
        std::fs::create_dir(tree.path().join(name)).unwrap();
        std::fs::create_dir(tree.path().join("self")).unwrap();
        let lines =
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /b\xffd rw - ext4 /dev/sdb rw\n";
        std::fs::write(tree.path().join("self/mountinfo"), lines).unwrap();
        let snapshot = collect(&mut FileSystems::new(tree.path(), tree.path()));
        assert_eq!(snapshot.family(SIZE.name).unwrap().samples.len(), 2);
        let odd = [("mountpoint", "/b\u{fffd}d"), ("device_error", "")];
        assert!(snapshot.value(SIZE.name, &odd).is_some());
    }

    #[test]
    fn points_of_the_system_are_left_out_and_their_namesakes_are_not() {
        for point in
            ["/dev", "/dev/shm", "/sys/fs/cgroup", "/var/lib/docker/x", "/run/credentials/a"]
        {
            assert!(is_point_left_out(point), "{point}");
        }
        for point in [
            "/",
            "/device",
            "/var/lib/docker",
            "/var/lib/docker-data",
            "/var/lib/docker-data/x",
            "/run/credentials2",
            "/system",
            "/run/user/0",
        ] {
            assert!(!is_point_left_out(point), "{point}");
        }
    }
}
