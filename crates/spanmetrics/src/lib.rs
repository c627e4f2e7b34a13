//! Metrics of spans, and of services that call each other.
//!
//! Requests with spans go in as they were admitted, requests with metrics come out, in the names
//! that dashboards of Tempo's metrics generator and of the collector's connectors know. There is no
//! clock, no thread and no file here: times are given.
//!
//! ```text
//!                    ┌─> spans: calls, latency, size by service, name, kind, status ──┐
//!  request ──> walk ─┤                                                                ├─> requests
//!                    └─> pairs: client and server ──> graph: who calls whom ──────────┘
//! ```
//!
//! Promised: a span that was added is counted once; numbers are exact, sums too; memory is bounded
//! by the settings ([`Settings::max_series`], [`GraphSettings::max_edges`]), and what is beyond a
//! bound is counted, never silently left out. A series that is new is written with its zero, and
//! one that ends with its end.
//!
//! ```
//! use kymo_spanmetrics::{Generator, Settings};
//!
//! let mut generator = Generator::new(&Settings::default(), 1_000_000_000);
//! generator.add(&[], 1_500_000_000)?;
//! for request in generator.requests(2_000_000_000) {
//!     // Stored as any sender's metrics.
//! #   let _ = request;
//! }
//! generator.written();
//! # Ok::<(), kymo_wire::WireError>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | what is computed, and how it is named |
//! | `generator` | all of it, for one tenant |
//! | `spans`, `origin` | metrics of spans; the resources they came from |
//! | `graph`, `pairs`, `peer` | requests between services; spans that wait; who is called |
//! | `dimensions`, `labels` | attributes that are labels; their names and texts |
//! | `table`, `distribution` | series by key; durations by bucket |
//! | `output` | metrics as OTLP |
//! | [`limits`] | every bound, with its reason |

mod dimensions;
mod distribution;
mod generator;
mod graph;
mod labels;
pub mod limits;
mod origin;
mod output;
mod pairs;
mod peer;
pub mod settings;
mod spans;
mod table;

pub use generator::{Counts, Generator};
pub use settings::{GraphSettings, Naming, Settings};
