//! NVIDIA's library, loaded at run time.
//!
//! A library is loaded at most once in a program and stays until its end: samples and handles of
//! it are kept between collections and must not outlive it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

/// Where it is looked for unless told. The driver brings the first, its development files the
/// second.
const USUAL_NAMES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

static LOADED: Mutex<BTreeMap<PathBuf, &'static Nvml>> = Mutex::new(BTreeMap::new());

/// Loads the library at a path, or where the system finds it.
pub(super) fn load(path: Option<&Path>) -> Result<&'static Nvml, NvmlError> {
    let Some(path) = path else {
        let [first, second] = USUAL_NAMES;
        return load_at(Path::new(first)).or_else(|error| {
            // The first error says more: the second name is rarely there.
            load_at(Path::new(second)).map_err(|_| error)
        });
    };
    load_at(path)
}

fn load_at(path: &Path) -> Result<&'static Nvml, NvmlError> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(nvml) = loaded.get(path) {
        return Ok(nvml);
    }
    let nvml: &'static Nvml =
        Box::leak(Box::new(Nvml::builder().lib_path(path.as_os_str()).init()?));
    loaded.insert(path.to_owned(), nvml);
    Ok(nvml)
}
