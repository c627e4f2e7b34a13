//! What a machine does: its host, its processes and its GPUs, as Prometheus metrics.
//!
//! The names and labels are those of node-exporter and dcgm-exporter, so that the dashboards made
//! for them work with neither installed.
//!
//! ```text
//!  /proc, /sys ──> host::*   ─┐
//!  /proc/<pid> ──> process   ─┼─> Builder ──> Snapshot ──> the caller (remote write, text)
//!  NVML        ──> gpu       ─┘
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`model`] | families and samples, how collectors build them, the text format |
//! | [`options`] | where to read and what to leave out |
//! | [`probe`] | the collectors together, how long each took and whether it worked |
//! | [`process`] | what one process or a tree of processes uses |
//! | [`node`] | what the node does in few numbers, ten times a second if need be |
//! | `live` | which series have ended |
//! | `host` | one collector for each subject of the kernel |
//! | `gpu` | NVIDIA's library, loaded at run time |
//!
//! A probe promises to answer: what cannot be read is missing from the snapshot, never an error
//! for the whole. It refuses to wait for file systems: one that may hang (a dead network mount) is
//! asked with a time limit. NVIDIA's library knows no such limit and may hang with its driver: who
//! wants the host all the same has two probes, each in a thread of its own.

pub mod error;
pub mod model;
pub mod node;
pub mod options;
pub mod probe;
pub mod process;

mod files;
mod gpu;
mod host;
mod limits;
mod live;

pub use error::ProbeError;
pub use model::{Builder, Family, Kind, Metric, Sample, Series, Snapshot};
pub use options::ProbeOptions;
pub use probe::{Collector, Pace, Probe};
