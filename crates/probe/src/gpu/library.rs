//! NVIDIA's library, loaded at run time.

use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

/// What it is called, as the driver brings it.
pub(super) const USUAL_NAME: &str = "libnvidia-ml.so.1";
/// And as its development files do.
const OTHER_NAME: &str = "libnvidia-ml.so";

/// Loads the library at a path, or where the system finds it.
pub(super) fn load(path: Option<&Path>) -> Result<Nvml, NvmlError> {
    let Some(path) = path else {
        return load_at(Path::new(USUAL_NAME)).or_else(|error| {
            // The first error says more: the other name is rarely there.
            load_at(Path::new(OTHER_NAME)).map_err(|_| error)
        });
    };
    load_at(path)
}

fn load_at(path: &Path) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(path.as_os_str()).init()
}

/// Whether the library is of no use any more: the driver is gone, or another one was loaded, for
/// which the library must be loaded anew.
pub(super) fn is_driver_gone(error: &NvmlError) -> bool {
    use NvmlError::{DriverNotLoaded, LibRmVersionMismatch, Uninitialized};
    matches!(error, Uninitialized | DriverNotLoaded | LibRmVersionMismatch)
}
