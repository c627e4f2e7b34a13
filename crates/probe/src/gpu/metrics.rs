//! The families of GPUs, with dcgm-exporter's names and types.

use crate::model::Metric;

pub(super) const SM_CLOCK: Metric =
    Metric::gauge("DCGM_FI_DEV_SM_CLOCK", "Clock of the multiprocessors in MHz.");
pub(super) const MEM_CLOCK: Metric =
    Metric::gauge("DCGM_FI_DEV_MEM_CLOCK", "Clock of the memory in MHz.");
pub(super) const MEMORY_TEMP: Metric =
    Metric::gauge("DCGM_FI_DEV_MEMORY_TEMP", "Temperature of the memory in degrees Celsius.");
pub(super) const GPU_TEMP: Metric =
    Metric::gauge("DCGM_FI_DEV_GPU_TEMP", "Temperature of the GPU in degrees Celsius.");
pub(super) const POWER_USAGE: Metric =
    Metric::gauge("DCGM_FI_DEV_POWER_USAGE", "Power the board draws in watts.");
pub(super) const TOTAL_ENERGY: Metric = Metric::counter(
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "Energy used since the driver was loaded in millijoules.",
);
pub(super) const PCIE_REPLAY: Metric =
    Metric::counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Transfers on PCIe that were repeated.");
pub(super) const GPU_UTIL: Metric =
    Metric::gauge("DCGM_FI_DEV_GPU_UTIL", "Share of time in which a kernel ran, in percent.");
pub(super) const MEM_COPY_UTIL: Metric = Metric::gauge(
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    "Share of time in which memory was read or written, in percent.",
);
pub(super) const ENC_UTIL: Metric =
    Metric::gauge("DCGM_FI_DEV_ENC_UTIL", "Use of the video encoder in percent.");
pub(super) const DEC_UTIL: Metric =
    Metric::gauge("DCGM_FI_DEV_DEC_UTIL", "Use of the video decoder in percent.");
pub(super) const XID_ERRORS: Metric =
    Metric::gauge("DCGM_FI_DEV_XID_ERRORS", "Number of the last error of the driver; 0 if none.");
pub(super) const FB_FREE: Metric =
    Metric::gauge("DCGM_FI_DEV_FB_FREE", "Memory that is free in MiB.");
pub(super) const FB_USED: Metric =
    Metric::gauge("DCGM_FI_DEV_FB_USED", "Memory that is in use in MiB.");
pub(super) const FB_RESERVED: Metric =
    Metric::gauge("DCGM_FI_DEV_FB_RESERVED", "Memory the driver keeps for itself in MiB.");
/// dcgm-exporter calls it a counter; its value is a rate.
pub(super) const NVLINK_BANDWIDTH: Metric = Metric::counter(
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "Traffic of all NVLinks in both directions in MB per second since the last collection.",
);
pub(super) const VGPU_LICENSE: Metric = Metric::gauge(
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
    "Whether a virtual GPU has a licence; 0 for a GPU that needs none.",
);
pub(super) const UNCORRECTABLE_ROWS: Metric = Metric::counter(
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    "Rows of memory replaced after errors that could not be corrected.",
);
pub(super) const CORRECTABLE_ROWS: Metric = Metric::counter(
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "Rows of memory replaced after errors that were corrected.",
);
pub(super) const ROW_REMAP_FAILURE: Metric =
    Metric::gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "1 if a row of memory could not be replaced.");
pub(super) const GR_ENGINE_ACTIVE: Metric = Metric::gauge(
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "Share of time in which the compute and graphics engine was busy, 0 to 1.",
);
pub(super) const TENSOR_ACTIVE: Metric = Metric::gauge(
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "Share of time in which tensor cores were busy, 0 to 1.",
);
pub(super) const DRAM_ACTIVE: Metric =
    Metric::gauge("DCGM_FI_PROF_DRAM_ACTIVE", "Share of time in which memory moved data, 0 to 1.");
pub(super) const PCIE_TX_BYTES: Metric =
    Metric::gauge("DCGM_FI_PROF_PCIE_TX_BYTES", "Bytes sent over PCIe per second.");
pub(super) const PCIE_RX_BYTES: Metric =
    Metric::gauge("DCGM_FI_PROF_PCIE_RX_BYTES", "Bytes received over PCIe per second.");

pub(super) const ERRORS: Metric = Metric::counter(
    "kymo_gpu_errors_total",
    "Collections in which a GPU was lost or would not say what it is.",
);
pub(super) const PROCESS_MEMORY: Metric =
    Metric::gauge("kymo_gpu_process_memory_bytes", "Memory of a GPU that a process holds.");
