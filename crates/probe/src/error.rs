//! What can go wrong while collecting.
//!
//! None of these leaves [`crate::Probe::collect`]: a collector that fails is left out and counted.

use std::io;
use std::path::PathBuf;

/// Why a collector or a process has no numbers.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// This machine or kernel does not have it; not a failure.
    #[error("{} does not exist here", .0.display())]
    Absent(PathBuf),
    /// The kernel refused.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file is not as the kernel writes it.
    #[error("{} is not as expected: {expected}", path.display())]
    Malformed {
        /// What was read.
        path: PathBuf,
        /// What should be there.
        expected: String,
    },
    /// A table is larger than a probe may cost.
    #[error("{what} has more than {limit} {unit}; leave this collector out with `without`")]
    TooLarge {
        /// What is large.
        what: String,
        /// How much is read at most.
        limit: usize,
        /// Of what.
        unit: &'static str,
    },
    /// NVIDIA's library refused.
    #[error("the NVIDIA library failed: {0}")]
    Nvml(#[from] nvml_wrapper::error::NvmlError),
}

impl ProbeError {
    /// An error of reading: [`ProbeError::Absent`] if there is no such file, device or process.
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        let is_absent = source.kind() == io::ErrorKind::NotFound
            || source.kind() == io::ErrorKind::NotADirectory
            || source.raw_os_error() == Some(libc::ESRCH)
            || source.raw_os_error() == Some(libc::ENODEV)
            || source.raw_os_error() == Some(libc::EOPNOTSUPP);
        if is_absent { Self::Absent(path) } else { Self::Read { path, source } }
    }

    /// A file that is not as the kernel writes it.
    pub(crate) fn malformed(path: impl Into<PathBuf>, expected: impl Into<String>) -> Self {
        Self::Malformed { path: path.into(), expected: expected.into() }
    }

    /// Whether this machine merely does not have what was asked for.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent(_))
    }
}
