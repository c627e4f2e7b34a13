//! GPUs in few numbers, for [`crate::node`]: how busy each is, its memory, and who uses it.
//!
//! The same library as the collector's, loaded at run time and looked for again now and then. A GPU
//! that is lost is left out and told of once; it is asked anew each time, so that one that comes
//! back is seen. Without a driver there is no answer, and no word of it: a node without GPUs is an
//! ordinary one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};

use super::library::{is_driver_gone, load};
use crate::limits::NVML_RETRY;
use crate::node::{GpuAnswer, GpuProcess, GpuUsage};

/// Asks the GPUs of a machine.
pub(crate) struct GpuUsages {
    path: Option<PathBuf>,
    /// None while there is no driver.
    library: Option<Nvml>,
    /// When it is looked for again.
    next_try: Option<Instant>,
    /// GPUs of whose loss was told.
    lost: BTreeSet<u32>,
    /// Of each GPU, up to when its processes' shares were told, in the driver's time.
    told_until: BTreeMap<u32, u64>,
}

impl GpuUsages {
    /// With the library at a path, or where the system finds it.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            library: None,
            next_try: None,
            lost: BTreeSet::new(),
            told_until: BTreeMap::new(),
        }
    }

    /// Whether there was no driver when it was asked last.
    pub(crate) fn is_absent(&self) -> bool {
        self.library.is_none()
    }

    /// What all GPUs say now; none without a driver.
    pub(crate) fn ask(&mut self, with_processes: bool) -> Option<GpuAnswer> {
        let library = self.library.take().or_else(|| self.load())?;
        let Ok(answer) = self.ask_all(&library, with_processes) else {
            // The driver is gone. Dropped, the library is unloaded, so that another version of it
            // can be loaded.
            self.next_try = Some(Instant::now() + NVML_RETRY);
            return None;
        };
        self.library = Some(library);
        Some(answer)
    }

    fn load(&mut self) -> Option<Nvml> {
        let now = Instant::now();
        if self.next_try.is_some_and(|at| now < at) {
            return None;
        }
        self.next_try = Some(now + NVML_RETRY);
        // One that cannot even count GPUs is as good as none.
        load(self.path.as_deref()).ok().filter(|library| library.device_count().is_ok())
    }

    /// Fails if the library is of no use any more.
    fn ask_all(&mut self, library: &Nvml, with_processes: bool) -> Result<GpuAnswer, NvmlError> {
        let mut answer = GpuAnswer::default();
        for id in 0..library.device_count()? {
            let asked = library.device_by_index(id).and_then(|device| {
                answer.gpus.push(usage(id, &device)?);
                Ok(device)
            });
            match asked {
                Ok(device) => {
                    self.lost.remove(&id);
                    if with_processes {
                        let told_until = self.told_until.entry(id).or_default();
                        answer.processes.extend(processes(id, &device, told_until));
                    }
                }
                Err(error) if is_driver_gone(&error) => return Err(error),
                Err(error) => {
                    if self.lost.insert(id) {
                        tracing::warn!(gpu = id, %error, "a GPU is lost; others are still watched");
                    }
                }
            }
        }
        Ok(answer)
    }
}

/// Fails if the GPU does not even say what it is, or is lost.
fn usage(id: u32, device: &Device<'_>) -> Result<GpuUsage, NvmlError> {
    let told = |result: Result<_, NvmlError>| match result {
        Err(error) if is_loss(&error) => Err(error),
        result => Ok(result.ok()),
    };
    let percent = told(device.utilization_rates().map(|rates| u64::from(rates.gpu)))?;
    let memory = match device.memory_info() {
        Err(error) if is_loss(&error) => return Err(error),
        memory => memory.ok(),
    };
    Ok(GpuUsage {
        id,
        uuid: device.uuid()?,
        name: device.name()?,
        percent: percent.map(|percent| percent as f64),
        memory_used_bytes: memory.as_ref().map(|memory| memory.used),
        memory_total_bytes: memory.as_ref().map(|memory| memory.total),
    })
}

fn is_loss(error: &NvmlError) -> bool {
    matches!(error, NvmlError::GpuLost | NvmlError::ResetRequired) || is_driver_gone(error)
}

/// Who uses a GPU.
fn processes(gpu_id: u32, device: &Device<'_>, told_until: &mut u64) -> Vec<GpuProcess> {
    let shares = shares(device, told_until);
    let mut memory = memory_by_process(device);
    for pid in shares.iter().flat_map(BTreeMap::keys) {
        memory.entry(*pid).or_insert(None);
    }
    let percent = |pid: &u32| shares.as_ref().map(|shares| shares.get(pid).copied().unwrap_or(0.0));
    let of_process = |(pid, memory_used_bytes)| GpuProcess {
        gpu_id,
        pid,
        memory_used_bytes,
        percent: percent(&pid),
    };
    memory.into_iter().map(of_process).collect()
}

/// A process may be in both lists with the same memory, and in one several times: once for each
/// instance of a divided GPU.
fn memory_by_process(device: &Device<'_>) -> BTreeMap<u32, Option<u64>> {
    let sum = |processes: Vec<ProcessInfo>| {
        let mut sums = BTreeMap::<u32, Option<u64>>::new();
        for process in processes {
            let sum = sums.entry(process.pid).or_default();
            if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
                *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
            }
        }
        sums
    };
    let mut all = sum(device.running_compute_processes().unwrap_or_default());
    for (pid, bytes) in sum(device.running_graphics_processes().unwrap_or_default()) {
        let known = all.entry(pid).or_default();
        *known = bytes.max(*known);
    }
    all
}

/// The share of each process since the last call; none if the driver does not tell them.
fn shares(device: &Device<'_>, told_until: &mut u64) -> Option<BTreeMap<u32, f64>> {
    let samples = match device.process_utilization_stats(*told_until) {
        Ok(samples) => samples,
        // Nothing happened since.
        Err(NvmlError::NotFound) => Vec::new(),
        Err(_) => return None,
    };
    let mut sums = BTreeMap::<u32, (f64, f64)>::new();
    for sample in samples {
        *told_until = sample.timestamp.max(*told_until);
        let (sum, count) = sums.entry(sample.pid).or_default();
        // More than the whole is what some drivers say of what they do not know.
        *sum += f64::from(sample.sm_util.min(100));
        *count += 1.0;
    }
    Some(sums.into_iter().map(|(pid, (sum, count))| (pid, sum / count)).collect())
}
