//! Where a probe reads, and what it leaves out.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a [`crate::Probe`] is made of.
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    /// Where the kernel's process file system is; `/proc`.
    pub proc_root: PathBuf,
    /// Where the kernel's device file system is; `/sys`.
    pub sys_root: PathBuf,
    /// Where the host's root is, in a container often `/host`; `/`.
    pub root_fs: PathBuf,
    /// Whether to collect what the host does.
    pub host: bool,
    /// Whether to collect what GPUs do.
    pub gpu: bool,
    /// Collectors to leave out, by name.
    pub without: BTreeSet<String>,
    /// Processes whose usage is emitted as `kymo_process_*`.
    pub processes: Vec<u32>,
    /// Processes whose usage, with that of all their descendants, is emitted as
    /// `kymo_process_tree_*`.
    pub process_trees: Vec<u32>,
    /// NVIDIA's library; unless given, `libnvidia-ml.so.1` as the system finds it.
    pub nvml_library: Option<PathBuf>,
    /// The label `hostname` of GPU metrics; unless given, the machine's node name.
    pub hostname: Option<String>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            proc_root: PathBuf::from("/proc"),
            sys_root: PathBuf::from("/sys"),
            root_fs: PathBuf::from("/"),
            host: true,
            gpu: true,
            without: BTreeSet::new(),
            processes: Vec::new(),
            process_trees: Vec::new(),
            nvml_library: None,
            hostname: None,
        }
    }
}
