//! This machine: GPU driver, disk, limits.

use std::path::Path;
use std::sync::mpsc;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use rustix::process::{Resource, getrlimit};

use super::PATIENCE;
use super::check::Checks;
use crate::units;

/// Below this, a session of an hour may fill the disk.
const FREE_FEW_BYTES: u64 = 1 << 30;
/// Below this, a session may not even begin.
const FREE_NONE_BYTES: u64 = 50 << 20;
/// What a program with many connections needs.
const FEW_FILES: u64 = 1024;

/// Looks at the machine.
pub(super) fn look(checks: &mut Checks, directory: &Path) {
    disk(checks, directory);
    gpu(checks);
    files(checks);
}

/// Whether a session could write its file here.
fn disk(checks: &mut Checks, directory: &Path) {
    let shown = directory.display();
    if let Err(error) = tempfile::Builder::new().prefix(".kymo-doctor").tempfile_in(directory) {
        checks.failed(
            "disk",
            format!("nothing can be written in {shown}: {error}"),
            "sessions go on without their file there: start them elsewhere, or name a directory",
        );
        return;
    }
    let Ok(space) = rustix::fs::statvfs(directory) else { return };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let found = format!("{} free in {shown}", units::bytes(free));
    let advice = "make room, or name a directory elsewhere";
    if free < FREE_NONE_BYTES {
        checks.failed("disk", found, advice);
    } else if free < FREE_FEW_BYTES {
        checks.warning("disk", found, advice);
    } else {
        checks.ok("disk", found);
    }
}

/// Whether GPUs can be asked.
fn gpu(checks: &mut Checks) {
    let has_device = Path::new("/dev/nvidiactl").exists() || Path::new("/dev/nvidia0").exists();
    let has_driver = Path::new("/proc/driver/nvidia/version").exists();
    let (reply, answer) = mpsc::sync_channel(1);
    // The library may hang with its driver.
    std::thread::spawn(move || {
        let found = Nvml::init().and_then(|nvml| {
            let version = nvml.sys_driver_version().unwrap_or_default();
            Ok((nvml.device_count()?, version))
        });
        let _ = reply.send(found);
    });
    match answer.recv_timeout(PATIENCE) {
        Ok(Ok((count, version))) => {
            checks.ok("gpu", format!("{count} NVIDIA GPUs, driver {version}"));
        }
        Ok(Err(error)) => no_gpu(checks, &error, has_device, has_driver),
        Err(_) => checks.failed(
            "gpu",
            format!("NVIDIA's driver does not answer within {} s", PATIENCE.as_secs()),
            "look at dmesg (NVRM, Xid); the machine may need a restart",
        ),
    }
}

/// Why GPUs cannot be asked. A machine without any is well.
fn no_gpu(checks: &mut Checks, error: &NvmlError, has_device: bool, has_driver: bool) {
    match error {
        NvmlError::LibRmVersionMismatch => checks.failed(
            "gpu",
            "driver/library version mismatch: the driver was updated while it was loaded",
            "restart the machine, or reload the kernel's modules (rmmod nvidia)",
        ),
        NvmlError::NoPermission => checks.failed(
            "gpu",
            "no permission to ask NVIDIA's driver",
            "look at who may read /dev/nvidia*",
        ),
        NvmlError::LibloadingError(_) if has_device || has_driver => checks.failed(
            "gpu",
            "a GPU is there, but NVIDIA's library (libnvidia-ml.so.1) cannot be loaded",
            "install it; in a container, start that with --gpus all or \
             NVIDIA_DRIVER_CAPABILITIES=utility",
        ),
        NvmlError::DriverNotLoaded | NvmlError::LibloadingError(_) if !has_device => {
            checks.ok("gpu", "none, or no driver: no GPU metrics");
        }
        other => checks.warning(
            "gpu",
            format!("NVIDIA's driver says: {other}"),
            "GPU metrics are left out until nvidia-smi works",
        ),
    }
}

fn files(checks: &mut Checks) {
    // None is no limit at all.
    let Some(most) = getrlimit(Resource::Nofile).current else { return };
    if most < FEW_FILES {
        checks.warning(
            "limits",
            format!("a process may open {most} files and connections"),
            "raise it with ulimit -n 4096",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_written_in_is_told() {
        let place = tempfile::tempdir().unwrap();
        let mut checks = Checks::default();
        disk(&mut checks, place.path());
        assert_ne!(checks.states()[0].1, State::Failed);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "it is left as it was");
        disk(&mut checks, &place.path().join("none"));
        assert_eq!(checks.states()[1], ("disk", State::Failed));
    }

    #[test]
    fn a_machine_without_gpus_is_well_and_a_broken_driver_is_not() {
        let of = |error: &NvmlError, has_device| {
            let mut checks = Checks::default();
            no_gpu(&mut checks, error, has_device, has_device);
            checks.states()[0].1
        };
        assert_eq!(of(&NvmlError::DriverNotLoaded, false), State::Ok);
        assert_eq!(of(&NvmlError::DriverNotLoaded, true), State::Warning);
        assert_eq!(of(&NvmlError::LibRmVersionMismatch, true), State::Failed);
        assert_eq!(of(&NvmlError::GpuLost, true), State::Warning);
    }
}
