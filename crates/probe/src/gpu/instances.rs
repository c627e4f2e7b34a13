//! The instances into which a GPU may be divided (MIG).

use nvml_wrapper::{Device, Nvml};

use crate::limits::MAX_MIG_INSTANCES;

/// One part of a GPU.
pub(super) struct Instance {
    pub(super) device: Device<'static>,
    /// Its number on the GPU.
    pub(super) id: u32,
    /// Its size, such as `1g.10gb`.
    pub(super) profile: String,
}

/// The instances of a GPU; none if it is whole.
pub(super) fn of(nvml: &'static Nvml, device: &Device<'static>) -> Vec<Instance> {
    let is_divided = device.mig_mode().is_ok_and(|mode| mode.current == 1);
    if !is_divided {
        return Vec::new();
    }
    let count = device.mig_device_count().unwrap_or(0).min(MAX_MIG_INSTANCES);
    let mut found: Vec<Instance> = Vec::new();
    // Numbers have gaps where an instance was removed.
    for device in (0..count).filter_map(|nth| device.mig_device_by_index(nth).ok()) {
        let Some(id) = instance_id(nvml, &device) else { continue };
        // Several compute instances may share one GPU instance and its memory.
        if found.iter().any(|instance| instance.id == id) {
            continue;
        }
        let name = device.name().unwrap_or_default();
        let profile = name.rsplit_once("MIG ").map_or("", |(_, profile)| profile).to_owned();
        found.push(Instance { device, id, profile });
    }
    found
}

/// The number of the GPU instance that a MIG device is of.
fn instance_id(nvml: &Nvml, device: &Device<'_>) -> Option<u32> {
    let call = nvml.lib().nvmlDeviceGetGpuInstanceId.as_ref().ok()?;
    let mut id = 0;
    // SAFETY: the handle is that of a living device of this library, and the call writes one
    // number to where it is told.
    #[allow(unsafe_code, reason = "nvml-wrapper does not offer nvmlDeviceGetGpuInstanceId")]
    let code = unsafe { call(device.handle(), &raw mut id) };
    (code == 0).then_some(id)
}
