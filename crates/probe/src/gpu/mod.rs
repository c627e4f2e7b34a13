//! NVIDIA's GPUs, with dcgm-exporter's names and labels.
//!
//! A machine without the driver has no such metrics: one line in the log, no error. A GPU that is
//! lost does not keep others from being collected; it counts in `kymo_gpu_errors_total` and is
//! asked anew each time, so that one that comes back is seen.

mod device;
mod instances;
mod library;
mod metrics;
mod profile;

use std::path::PathBuf;

use nvml_wrapper::Nvml;

use self::device::Gpu;
use self::metrics::ERRORS;
use crate::error::ProbeError;
use crate::model::Builder;
use crate::options::ProbeOptions;
use crate::probe::Collector;

/// The collector's name.
pub(crate) const NAME: &str = "gpu";

/// The collector of GPUs; none if there is no driver.
pub(crate) fn collector(options: &ProbeOptions) -> Option<Box<dyn Collector>> {
    match library::load(options.nvml_library.as_deref()) {
        Ok(nvml) => Some(Box::new(Gpus::new(nvml, options))),
        Err(error) => {
            tracing::info!(%error, "no GPU metrics, as there is no NVIDIA driver");
            None
        }
    }
}

/// A place for a GPU.
#[derive(Default)]
struct Slot {
    /// None until it says what it is.
    gpu: Option<Gpu>,
    errors: u64,
}

/// All GPUs of a machine.
struct Gpus {
    nvml: &'static Nvml,
    slots: Vec<Slot>,
    proc: PathBuf,
    hostname: String,
    driver_version: String,
}

impl Gpus {
    fn new(nvml: &'static Nvml, options: &ProbeOptions) -> Self {
        let node_name = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            nvml,
            slots: Vec::new(),
            proc: options.proc_root.clone(),
            hostname: options.hostname.clone().unwrap_or_else(node_name),
            driver_version: nvml.sys_driver_version().unwrap_or_default(),
        }
    }
}

impl Collector for Gpus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let count = self.nvml.device_count()?;
        self.slots.resize_with(count as usize, Slot::default);
        for (index, slot) in (0_u32..).zip(&mut self.slots) {
            if slot.gpu.is_none() {
                let (hostname, version) = (&self.hostname, &self.driver_version);
                slot.gpu = Gpu::identify(self.nvml, index, hostname, version)
                    .inspect_err(|error| log_loss(slot.errors, index, &error.to_string()))
                    .ok();
            }
            let is_there = slot.gpu.as_mut().is_some_and(|gpu| gpu.collect(out, &self.proc));
            if !is_there {
                if slot.gpu.take().is_some() {
                    log_loss(slot.errors, index, "it fell off the bus");
                }
                slot.errors += 1;
            }
            out.with(&ERRORS, &[("gpu", &index.to_string())], slot.errors as f64);
        }
        Ok(())
    }
}

/// The first loss of a GPU is worth a line; the same every second is not.
fn log_loss(errors: u64, gpu: u32, error: &str) {
    if errors == 0 {
        tracing::warn!(gpu, error, "a GPU is lost; others are still collected");
    } else {
        tracing::debug!(gpu, error, "a GPU is lost");
    }
}
