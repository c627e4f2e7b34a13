//! The library from when it is loaded until its driver is gone, and the GPUs it has.

use std::path::Path;
use std::sync::Arc;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::device::Gpu;
use super::library::{is_driver_gone, load};
use super::metrics::ERRORS;
use super::xid::XidWatch;
use crate::model::Builder;

/// What GPUs need to know of where they are.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) proc: &'a Path,
    pub(super) hostname: &'a str,
}

/// A loaded library. Dropped, it is unloaded, so that the one of another driver can be loaded.
///
/// The order of the fields matters: what the library made is dropped before the library is.
pub(super) struct Session {
    slots: Vec<Slot>,
    nvml: &'static Nvml,
    pub(super) driver_version: String,
    /// Whether GPUs were collected with it.
    pub(super) is_proven: bool,
    _library: Arc<Nvml>,
}

impl Session {
    /// Loads the library at a path, or where the system finds it.
    pub(super) fn begin(path: Option<&Path>) -> Result<Self, NvmlError> {
        let library = Arc::new(load(path)?);
        // SAFETY: the library stays where it is until the last field of this session is dropped.
        // The reference goes into other fields of the session only, none of which is handed out,
        // and all of which are dropped before.
        #[allow(unsafe_code, reason = "handles of the library are kept beside it")]
        let nvml: &'static Nvml = unsafe { &*Arc::as_ptr(&library) };
        // One that cannot even count GPUs is as good as none.
        nvml.device_count()?;
        let driver_version = nvml.sys_driver_version().unwrap_or_default();
        Ok(Self { slots: Vec::new(), nvml, driver_version, is_proven: false, _library: library })
    }

    /// Adds what all GPUs say. Fails if the library is of no use any more.
    pub(super) fn collect(&mut self, out: &mut Builder, place: Place<'_>) -> Result<(), NvmlError> {
        let count = self.nvml.device_count()?;
        self.slots.resize_with(count as usize, Slot::default);
        for (index, slot) in (0_u32..).zip(&mut self.slots) {
            let identify = || Gpu::identify(self.nvml, index, place.hostname, &self.driver_version);
            slot.collect(out, index, place, identify)?;
        }
        self.is_proven = true;
        Ok(())
    }
}

/// A place for a GPU.
#[derive(Default)]
struct Slot {
    /// None until it says what it is.
    gpu: Option<Gpu>,
    /// Kept when the GPU is lost: that is when its errors matter.
    xids: Option<XidWatch>,
    errors: u64,
}

impl Slot {
    fn collect(
        &mut self,
        out: &mut Builder,
        index: u32,
        place: Place<'_>,
        identify: impl FnOnce() -> Result<Gpu, NvmlError>,
    ) -> Result<(), NvmlError> {
        // Before anything else, as a GPU that is found to be lost may tell its errors no more.
        self.drain_xids();
        if let Err(error) = self.ask(out, place, identify) {
            if is_driver_gone(&error) {
                return Err(error);
            }
            log_loss(self.errors, index, &error.to_string());
            self.gpu = None;
            self.errors += 1;
        }
        // And after, as it may have been lost just now.
        self.drain_xids();
        if let Some(xids) = &self.xids {
            xids.emit(out);
        }
        out.with(&ERRORS, &[("gpu", &index.to_string())], self.errors as f64);
        Ok(())
    }

    /// Adds what the GPU says, after it has said what it is.
    fn ask(
        &mut self,
        out: &mut Builder,
        place: Place<'_>,
        identify: impl FnOnce() -> Result<Gpu, NvmlError>,
    ) -> Result<(), NvmlError> {
        let gpu = match &mut self.gpu {
            Some(gpu) => gpu,
            none => {
                let gpu = identify()?;
                self.xids = Some(gpu.watch_xids(self.xids.take()));
                none.insert(gpu)
            }
        };
        gpu.collect(out, place.proc)
    }

    fn drain_xids(&mut self) {
        if let Some(xids) = &mut self.xids {
            xids.drain();
        }
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
