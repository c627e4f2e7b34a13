//! Builds the stand-in for NVIDIA's library, and changes what it does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The stand-in, in a directory of its own.
pub(crate) struct StandIn {
    directory: tempfile::TempDir,
}

impl StandIn {
    /// Compiles it.
    pub(crate) fn build() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/nvml.rs");
        let status = Command::new(rustc())
            .args(["--edition=2024", "--crate-name=stand_in", "-o"])
            .arg(directory.path().join("libnvidia-ml.so"))
            .arg(source)
            .env("STAND_IN_DIR", directory.path())
            .status()
            .expect("the tests need rustc to build the stand-in");
        assert!(status.success(), "the stand-in does not compile");
        Self { directory }
    }

    /// The library.
    pub(crate) fn library(&self) -> PathBuf {
        self.directory.path().join("libnvidia-ml.so")
    }

    /// Lets a GPU fall off the bus, or none.
    pub(crate) fn lose(&self, gpu: &str) {
        self.tell("lost", gpu);
    }

    /// Writes one of the files that change what the stand-in does.
    pub(crate) fn tell(&self, file: &str, content: &str) {
        std::fs::write(self.directory.path().join(file), content).expect("a file");
    }

    /// Takes back what [`StandIn::tell`] told.
    pub(crate) fn tell_no_more(&self, file: &str) {
        std::fs::remove_file(self.directory.path().join(file)).expect("a file");
    }
}

/// The compiler that belongs to the cargo that runs this, or else the one in the path.
fn rustc() -> OsString {
    if let Some(rustc) = std::env::var_os("RUSTC") {
        return rustc;
    }
    let beside_cargo =
        std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
    let beside_cargo = beside_cargo.filter(|rustc| rustc.is_file());
    beside_cargo.map_or_else(|| "rustc".into(), PathBuf::into_os_string)
}
