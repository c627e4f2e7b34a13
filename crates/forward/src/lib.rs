//! OTLP to others: where to and how, one request at a time, again and again.
//!
//! ```text
//!  OTEL_EXPORTER_OTLP_…, flags ── settings ──┐
//!                                            ▼
//!  (signal, OTLP protobuf) ── retry ──> Client: gRPC, HTTP ──> server
//! ```
//!
//! Requests are sent as they are, without being decoded: this is for whoever has OTLP already.
//! Programs that make spans use the exporters of their OpenTelemetry SDK.
//!
//! ```no_run
//! # async fn example() -> Result<(), kymo_forward::ForwardError> {
//! use kymo_forward::{Asked, Client, Settings, until};
//! use kymo_wire::Signal;
//! use std::time::{Duration, Instant};
//!
//! let variable = |name: &str| std::env::var(name).ok();
//! let settings = Settings::resolve(Signal::Logs, &Asked::default(), variable, |warning| eprintln!("{warning}"));
//! let client = Client::new(&settings, Signal::Logs)?;
//! let deadline = Instant::now() + Duration::from_secs(30);
//! if let Some(partial) = until(&client, b"", deadline).await? {
//!     eprintln!("{}: {partial}", client.name());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | what is there |
//! |---|---|
//! | [`settings`] | where to and how: the variables `OTEL_EXPORTER_OTLP_…`, and flags |
//! | [`client`] | one request, one answer |
//! | [`answer`] | what became of it: taken, refused, another time |
//! | [`retry`] | again and again until the time is over |
//! | [`network`] | addresses of this machine; what errors come from |
//! | [`pairs`] | `name=value,…`, as headers and resource attributes are written |
//! | [`limits`] | bounds, each with its reason |

pub mod answer;
pub mod client;
pub mod limits;
pub mod network;
pub mod pairs;
pub mod retry;
pub mod settings;

pub use answer::{Answer, Partial};
pub use client::Client;
pub use retry::until;
pub use settings::{Asked, Protocol, Settings};

use thiserror::Error;

/// Why a request did not get to where it should.
#[derive(Debug, Error)]
pub enum ForwardError {
    /// The server could not be reached in time.
    #[error("{to} could not be reached: {why}")]
    Unreached {
        /// The server.
        to: String,
        /// What happened.
        why: String,
    },
    /// The server does not want it, and will not want it another time.
    #[error("{to} refused a request: {why}")]
    Refused {
        /// The server.
        to: String,
        /// What it said.
        why: String,
    },
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(String),
}
