//! Telemetry of services: configuration, exporters, bridges, what a process uses, share keys.
//!
//! ```text
//!  YAML, code, environment ──> Config ──> Service ──┬─ tracer, registry, share keys
//!                                                   ├─ bridges of `tracing` and `log`
//!                                                   ├─ resource gauges (kymo-probe)
//!                                                   └─ Outlet ──> OTLP over gRPC or HTTP, stdout
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | what a service is told: by a file, its code, the environment |
//! | [`service`] | telemetry from the start of a program to its end |
//! | [`export`] | where telemetry goes and how; exporters; queues that never make a program wait |
//! | [`registry`] | instruments by name |
//! | [`bridge`] | the crates `tracing` and `log` |
//! | [`share`] | ids that are on everything below |
//! | [`context`] | the context in a map, for actors and queues |
//! | `resources` | processor, memory and GPUs as gauges |
//! | `identity` | what a process says it is |
//! | [`limits`] | every bound, with its reason |
//!
//! It promises never to be in the way: off unless it is switched on, no waiting for a server that is
//! away, bounded memory, and a count of everything that was lost. It refuses to guess: a setting that
//! it does not understand is an error that names it.

pub mod bridge;
pub mod config;
pub mod context;
pub mod error;
pub mod export;
pub mod limits;
pub mod registry;
pub mod service;
pub mod share;

mod identity;
mod resources;

pub use config::Config;
pub use context::{extract, inject, inject_context};
pub use error::ServiceError;
pub use export::{Asked, ExportSettings, Outlet, OutletOptions};
pub use registry::{Detail, Registry};
pub use service::Service;
pub use share::{share, share_context};

/// The guide for service developers, so that its snippets are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/services.md")]
struct Guide;
