//! What a node does, in few numbers, cheap enough to be asked ten times a second.
//!
//! A [`NodeProbe`] tells what a session's `ResourceUpdate` needs: how busy processors, memory and
//! GPUs are, and what disks and network moved since it was asked last. For everything else there is
//! [`crate::Probe`].
//!
//! ```text
//!  /proc/{stat,meminfo,diskstats,net/dev} ──> host  ─┐
//!  NVML ──> a thread of its own ──> last answer ─────┴─> NodeUsage
//! ```
//!
//! A poll promises to return at once: it reads four files that are kept open (some 20 µs of
//! processor time) and takes the last answer of the GPUs, which are asked in a thread of their own,
//! since NVIDIA's library may hang with its driver. What cannot be read is `None`. Nothing is made
//! up: what is counted since the last poll is `None` in the first.
//!
//! | module | what is in it |
//! |---|---|
//! | `host` | the kernel's files |
//! | `devices` | disks and networks, and which of them count |
//! | `gpus` | the thread that asks GPUs, and how old an answer may be |

mod devices;
mod gpus;
mod host;

use std::path::PathBuf;

pub(crate) use self::devices::{Devices, network};
pub(crate) use self::gpus::GpuAnswer;
use self::gpus::GpuThread;
use self::host::Host;

/// Where a [`NodeProbe`] reads.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Where the kernel's process file system is; `/proc`.
    pub proc_root: PathBuf,
    /// Whether to ask GPUs.
    pub gpu: bool,
    /// Whether to ask GPUs which processes use them too. That takes three calls more for each.
    pub gpu_processes: bool,
    /// NVIDIA's library; unless given, `libnvidia-ml.so.1` as the system finds it.
    pub nvml_library: Option<PathBuf>,
}

impl Default for NodeOptions {
    fn default() -> Self {
        let proc_root = PathBuf::from("/proc");
        Self { proc_root, gpu: true, gpu_processes: false, nvml_library: None }
    }
}

/// What a node did since the last poll, and what it has in use now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeUsage {
    /// How busy all processors together were since the last poll, 0 to 100; none in the first.
    pub cpu_percent: Option<f64>,
    /// Memory in use, 0 to 100.
    pub memory_percent: Option<f64>,
    /// Memory that programs could not have: all but what is available.
    pub memory_used_bytes: Option<u64>,
    /// Memory of the machine.
    pub memory_total_bytes: Option<u64>,
    /// Bytes read from disks since the last poll. Whole disks only: what is made of others
    /// (partitions, volumes, RAID) would count twice.
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to disks since the last poll, likewise.
    pub disk_write_bytes: Option<u64>,
    /// Bytes sent since the last poll, by devices that are neither the loopback nor made of others
    /// (bonds, bridges, tunnels). In a container these are its own.
    pub net_sent_bytes: Option<u64>,
    /// Bytes received since the last poll, likewise.
    pub net_recv_bytes: Option<u64>,
    /// How busy the busiest GPU is, 0 to 100; none without one.
    pub gpu_percent: Option<f64>,
    /// Every GPU that answers, by its number.
    pub gpus: Vec<GpuUsage>,
    /// What processes use of GPUs, if [`NodeOptions::gpu_processes`] asks for it.
    pub gpu_processes: Vec<GpuProcess>,
}

/// What a GPU does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuUsage {
    /// Its number on this machine.
    pub id: u32,
    /// The name that it has everywhere.
    pub uuid: String,
    /// What it is, such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// The share of time in which it computed something, 0 to 100. None if it does not tell, as one
    /// that is divided (MIG) does not.
    pub percent: Option<f64>,
    /// Memory in use.
    pub memory_used_bytes: Option<u64>,
    /// Memory that it has.
    pub memory_total_bytes: Option<u64>,
}

/// What one process uses of one GPU.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuProcess {
    /// The number of the GPU.
    pub gpu_id: u32,
    /// The process, as the driver knows it: in a container that is not its number there.
    pub pid: u32,
    /// Memory that it holds; none if the driver does not tell.
    pub memory_used_bytes: Option<u64>,
    /// The share of time in which it computed something, 0 to 100; none if the driver does not tell
    /// it by process.
    pub percent: Option<f64>,
}

/// Tells what this node does, again and again.
///
/// ```
/// use kymo_probe::node::{NodeOptions, NodeProbe};
///
/// let mut probe = NodeProbe::new(&NodeOptions::default());
/// let first = probe.poll();
/// assert_eq!(first.cpu_percent, None);
/// assert!(first.memory_used_bytes <= first.memory_total_bytes);
/// ```
#[derive(Debug)]
pub struct NodeProbe {
    host: Host,
    gpus: Option<GpuThread>,
}

impl NodeProbe {
    /// A probe that has read nothing yet. GPUs, if wanted, are asked from now on: loading
    /// NVIDIA's library takes some time, so the first poll may be without them.
    #[must_use]
    pub fn new(options: &NodeOptions) -> Self {
        let gpus = options.gpu.then(|| GpuThread::start(options)).flatten();
        Self { host: Host::new(&options.proc_root), gpus }
    }

    /// What the node does now and did since the last call. Never waits.
    pub fn poll(&mut self) -> NodeUsage {
        let mut usage = self.host.poll();
        if let Some(answer) = self.gpus.as_ref().and_then(GpuThread::answer) {
            usage.gpu_percent = answer.gpus.iter().filter_map(|gpu| gpu.percent).reduce(f64::max);
            usage.gpus = answer.gpus;
            usage.gpu_processes = answer.processes;
        }
        usage
    }
}
