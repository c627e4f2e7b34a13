//! Where a probe reads, and what it leaves out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::NVML_RETRY;

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
    /// Whether to watch this program, by itself and with its tree.
    pub own_process: bool,
    /// Names of processes that are watched like those above, such as `python3`: each by itself,
    /// and those that none of them started with their trees.
    pub watched_names: Vec<String>,
    /// NVIDIA's library; unless given, `libnvidia-ml.so.1` as the system finds it.
    pub nvml_library: Option<PathBuf>,
    /// How often NVIDIA's library is looked for while there is none; a minute.
    pub nvml_retry: Duration,
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
            own_process: false,
            watched_names: Vec::new(),
            nvml_library: None,
            nvml_retry: NVML_RETRY,
            hostname: None,
        }
    }
}
