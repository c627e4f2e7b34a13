//! One GPU: what it is, and what it says of itself.
//!
//! A call that fails leaves out its metric. Only a GPU that is lost ends the collection of it, or a
//! driver that is gone.
//!
//! Of a GPU that is divided, what its instances tell is not told of the whole as well: a sum over
//! all series would count it twice. dcgm-exporter does the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Instant;

use nvml_wrapper::enum_wrappers::device::{Clock, GpuVirtualizationMode, TemperatureSensor};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::{MemoryInfo, ProcessInfo};
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use nvml_wrapper::{Device, Nvml};

use super::instances;
use super::library::is_driver_gone;
use super::metrics::{self as m, PROCESS_MEMORY};
use super::profile::{Activity, Monitor};
use super::xid::XidWatch;
use crate::files::read_small;
use crate::model::{Builder, Labels, Metric};

const MIB: f64 = 1_048_576.0;
const MEGA: f64 = 1e6;

/// What is asked in one call, in this order.
const FIELDS: [FieldId; 6] = [
    FieldId(field_id::NVML_FI_DEV_MEMORY_TEMP),
    FieldId(field_id::NVML_FI_DEV_REMAPPED_COR),
    FieldId(field_id::NVML_FI_DEV_REMAPPED_UNC),
    FieldId(field_id::NVML_FI_DEV_REMAPPED_FAILURE),
    FieldId(field_id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES),
    FieldId(field_id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES),
];

/// Bytes over PCIe at one time.
#[derive(Clone, Copy)]
struct PcieCounts {
    at: Instant,
    sent_bytes: f64,
    received_bytes: f64,
}

/// Shares of time from 0 to 1, as NVML tells them.
#[derive(Clone, Copy)]
struct Shares {
    gpu: Option<f64>,
    memory: Option<f64>,
}

/// A GPU that said what it is.
pub(super) struct Gpu {
    nvml: &'static Nvml,
    device: Device<'static>,
    labels: Labels,
    monitor: Monitor,
    instance_monitors: HashMap<u32, Monitor>,
    pcie: Option<PcieCounts>,
    /// What of this collection says that the GPU or the driver is gone.
    loss: Option<NvmlError>,
}

/// The names of the metrics that the instances of a GPU have.
type OfInstances = BTreeSet<&'static str>;

impl Gpu {
    /// Asks a GPU what it is.
    pub(super) fn identify(
        nvml: &'static Nvml,
        index: u32,
        hostname: &str,
        driver_version: &str,
    ) -> Result<Self, NvmlError> {
        let device = nvml.device_by_index(index)?;
        let labels = vec![
            ("gpu", index.to_string()),
            ("UUID", device.uuid()?),
            ("pci_bus_id", device.pci_info()?.bus_id),
            ("device", format!("nvidia{index}")),
            ("modelName", device.name()?),
            ("hostname", hostname.to_owned()),
            ("DCGM_FI_DRIVER_VERSION", driver_version.to_owned()),
        ];
        Ok(Self {
            nvml,
            device,
            labels,
            monitor: Monitor::default(),
            instance_monitors: HashMap::new(),
            pcie: None,
            loss: None,
        })
    }

    /// Watches its errors; `before` is the watch of a GPU at the same place.
    pub(super) fn watch_xids(&self, before: Option<XidWatch>) -> XidWatch {
        XidWatch::new(self.nvml, &self.device, self.labels.clone(), before)
    }

    /// Adds what it says. Fails if it is lost, or the driver.
    pub(super) fn collect(&mut self, out: &mut Builder, proc: &Path) -> Result<(), NvmlError> {
        self.collect_clocks_and_power(out);
        let shares = self.collect_utilization(out);
        if let Some(loss) = self.loss.take() {
            return Err(loss);
        }
        let of_instances = self.collect_instances(out);
        self.collect_memory(out, &of_instances);
        let pcie = self.collect_fields(out);
        self.collect_activity(out, shares, pcie, &of_instances);
        self.collect_processes(out, proc);
        self.loss.take().map_or(Ok(()), Err)
    }

    /// The value of a call, if it worked.
    fn got<T>(&mut self, result: Result<T, NvmlError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let is_lost = matches!(error, NvmlError::GpuLost | NvmlError::ResetRequired);
                if is_lost || is_driver_gone(&error) {
                    self.loss.get_or_insert(error);
                }
                None
            }
        }
    }

    fn emit(&self, out: &mut Builder, metric: &Metric, value: Option<f64>) {
        if let Some(value) = value {
            out.push(metric, self.labels.clone(), value);
        }
    }

    fn collect_clocks_and_power(&mut self, out: &mut Builder) {
        let clock = self.got(self.device.clock_info(Clock::SM));
        self.emit(out, &m::SM_CLOCK, clock.map(f64::from));
        let clock = self.got(self.device.clock_info(Clock::Memory));
        self.emit(out, &m::MEM_CLOCK, clock.map(f64::from));
        let celsius = self.got(self.device.temperature(TemperatureSensor::Gpu));
        self.emit(out, &m::GPU_TEMP, celsius.map(f64::from));
        let milliwatts = self.got(self.device.power_usage());
        self.emit(out, &m::POWER_USAGE, milliwatts.map(|power| f64::from(power) / 1000.0));
        let millijoules = self.got(self.device.total_energy_consumption());
        self.emit(out, &m::TOTAL_ENERGY, millijoules.map(|energy| energy as f64));
        let replays = self.got(self.device.pcie_replay_counter());
        self.emit(out, &m::PCIE_REPLAY, replays.map(f64::from));
        let mode = self.got(self.device.virtualization_mode());
        // What NVML says of a virtual GPU's licence is not offered; a real GPU needs none.
        let needs_none = |mode: &GpuVirtualizationMode| *mode != GpuVirtualizationMode::Vgpu;
        self.emit(out, &m::VGPU_LICENSE, mode.filter(needs_none).map(|_| 0.0));
    }

    /// The shares of time in which the GPU and its memory were busy.
    fn collect_utilization(&mut self, out: &mut Builder) -> Shares {
        let rates = self.got(self.device.utilization_rates());
        let gpu = rates.as_ref().map(|rates| f64::from(rates.gpu));
        let memory = rates.as_ref().map(|rates| f64::from(rates.memory));
        self.emit(out, &m::GPU_UTIL, gpu);
        self.emit(out, &m::MEM_COPY_UTIL, memory);
        let encoder = self.got(self.device.encoder_utilization());
        self.emit(out, &m::ENC_UTIL, encoder.map(|info| f64::from(info.utilization)));
        let decoder = self.got(self.device.decoder_utilization());
        self.emit(out, &m::DEC_UTIL, decoder.map(|info| f64::from(info.utilization)));
        let share = |percent: f64| percent / 100.0;
        Shares { gpu: gpu.map(share), memory: memory.map(share) }
    }

    fn collect_memory(&mut self, out: &mut Builder, of_instances: &OfInstances) {
        let Some(memory) = self.got(self.device.memory_info()) else { return };
        emit_memory(out, &self.labels, &memory, |metric| !of_instances.contains(metric));
    }

    /// Returns the counts of bytes over PCIe, if the GPU has them.
    fn collect_fields(&mut self, out: &mut Builder) -> Option<PcieCounts> {
        let samples = self.got(self.device.field_values_for(&FIELDS))?;
        let mut values = samples.into_iter().map(|sample| match sample.ok()?.value.ok()? {
            SampleValue::F64(value) => Some(value),
            SampleValue::U32(value) => Some(f64::from(value)),
            SampleValue::U64(value) => Some(value as f64),
            SampleValue::I64(value) => Some(value as f64),
        });
        let mut next = || values.next().flatten();
        for metric in
            [&m::MEMORY_TEMP, &m::CORRECTABLE_ROWS, &m::UNCORRECTABLE_ROWS, &m::ROW_REMAP_FAILURE]
        {
            let value = next();
            self.emit(out, metric, value);
        }
        let (sent_bytes, received_bytes) = (next()?, next()?);
        Some(PcieCounts { at: Instant::now(), sent_bytes, received_bytes })
    }

    /// From the performance monitor where there is one that works. Where there is none, the
    /// nearest that NVML has: the busy shares for engine and memory, counted bytes for PCIe;
    /// nothing is near tensor cores and NVLink.
    fn collect_activity(
        &mut self,
        out: &mut Builder,
        shares: Shares,
        pcie: Option<PcieCounts>,
        of_instances: &OfInstances,
    ) {
        let last_pcie = std::mem::replace(&mut self.pcie, pcie);
        let has_monitor = self.device.gpm_support().unwrap_or(false);
        let monitored = if has_monitor {
            let sample = self.device.gpm_sample();
            self.monitor.since_last(self.nvml, sample).ok()
        } else {
            None
        };
        let activity = match monitored {
            Some(activity) => activity.unwrap_or_default(),
            None => {
                let rates = pcie.zip(last_pcie).and_then(|(now, last)| pcie_rates(&now, &last));
                Activity {
                    graphics: shares.gpu,
                    dram: shares.memory,
                    pcie_sent: rates.map(|(sent, _)| sent),
                    pcie_received: rates.map(|(_, received)| received),
                    ..Activity::default()
                }
            }
        };
        self.emit(out, &m::NVLINK_BANDWIDTH, activity.nvlink.map(|bytes| (bytes / MEGA).round()));
        emit_activity(out, &self.labels, &activity, |metric| !of_instances.contains(metric));
    }

    /// Adds what instances say; the names of what they said.
    fn collect_instances(&mut self, out: &mut Builder) -> OfInstances {
        let mut names = OfInstances::new();
        let instances = instances::of(self.nvml, &self.device);
        self.instance_monitors.retain(|id, _| instances.iter().any(|found| found.id == *id));
        for instance in instances {
            let mut labels = self.labels.clone();
            let place = labels.iter().position(|(name, _)| *name == "hostname");
            let place = place.unwrap_or(labels.len());
            labels.insert(place, ("GPU_I_ID", instance.id.to_string()));
            labels.insert(place, ("GPU_I_PROFILE", instance.profile));
            let mut note = |name| {
                names.insert(name);
                true
            };
            if let Some(memory) = self.got(instance.device.memory_info()) {
                emit_memory(out, &labels, &memory, &mut note);
            }
            let sample = self.device.gpm_mig_sample(instance.id);
            let monitor = self.instance_monitors.entry(instance.id).or_default();
            if let Ok(Some(activity)) = monitor.since_last(self.nvml, sample) {
                emit_activity(out, &labels, &activity, &mut note);
            }
        }
        names
    }

    fn collect_processes(&mut self, out: &mut Builder, proc: &Path) {
        let compute = self.got(self.device.running_compute_processes()).unwrap_or_default();
        let graphics = self.got(self.device.running_graphics_processes()).unwrap_or_default();
        // A process may be in both lists with the same memory, and in one several times: once for
        // each instance of a divided GPU.
        let bytes_by_pid = |processes: Vec<_>| {
            let mut bytes_by_pid = BTreeMap::<u32, u64>::new();
            for process in processes {
                let process: ProcessInfo = process;
                if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
                    *bytes_by_pid.entry(process.pid).or_default() += bytes;
                }
            }
            bytes_by_pid
        };
        let mut all = bytes_by_pid(compute);
        for (pid, bytes) in bytes_by_pid(graphics) {
            let known = all.entry(pid).or_default();
            *known = bytes.max(*known);
        }
        for (pid, bytes) in all {
            let pid = pid.to_string();
            // A process of another container has no name here.
            let name = read_small(&proc.join(&pid).join("comm")).unwrap_or_default();
            let mut labels: Labels = self.labels.iter().take(2).cloned().collect();
            labels.push(("pid", pid));
            labels.push(("process", name));
            out.push(&PROCESS_MEMORY, labels, bytes as f64);
        }
    }
}

/// Adds those of which `is_wanted` says so.
fn emit_memory(
    out: &mut Builder,
    labels: &Labels,
    memory: &MemoryInfo,
    mut is_wanted: impl FnMut(&'static str) -> bool,
) {
    let values = [
        (&m::FB_FREE, memory.free),
        (&m::FB_USED, memory.used),
        (&m::FB_RESERVED, memory.reserved),
    ];
    for (metric, bytes) in values {
        if is_wanted(metric.name) {
            out.push(metric, labels.clone(), whole_mib(bytes));
        }
    }
}

/// Likewise.
fn emit_activity(
    out: &mut Builder,
    labels: &Labels,
    activity: &Activity,
    mut is_wanted: impl FnMut(&'static str) -> bool,
) {
    let values = [
        (&m::GR_ENGINE_ACTIVE, activity.graphics),
        (&m::TENSOR_ACTIVE, activity.tensor),
        (&m::DRAM_ACTIVE, activity.dram),
        (&m::PCIE_TX_BYTES, activity.pcie_sent),
        (&m::PCIE_RX_BYTES, activity.pcie_received),
    ];
    for (metric, value) in values {
        if let Some(value) = value.filter(|_| is_wanted(metric.name)) {
            out.push(metric, labels.clone(), value);
        }
    }
}

/// Bytes sent and received per second; none if a count began anew.
fn pcie_rates(now: &PcieCounts, last: &PcieCounts) -> Option<(f64, f64)> {
    let secs = now.at.duration_since(last.at).as_secs_f64();
    let sent = (now.sent_bytes - last.sent_bytes) / secs;
    let received = (now.received_bytes - last.received_bytes) / secs;
    let are_rates = [sent, received].iter().all(|rate| rate.is_finite() && *rate >= 0.0);
    are_rates.then_some((sent, received))
}

/// dcgm-exporter gives whole MiB.
fn whole_mib(bytes: u64) -> f64 {
    (bytes as f64 / MIB).floor()
}
