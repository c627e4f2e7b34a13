//! OTLP to others: where to and how, one request at a time, again and again.
//!
//! ```text
//!  OTEL_EXPORTER_OTLP_…, flags ── resolve ──> settings ──┐
//!                                                        ▼
//!  (signal, OTLP protobuf) ── retry ──> Client: gRPC, HTTP ──> server
//! ```
//!
//! Requests are sent as they are, without being decoded: this is for whoever has OTLP already. For
//! programs with an OpenTelemetry SDK, `kymo-service` makes requests of what that has, queues them,
//! and sends them by this.
//!
//! ```no_run
//! # async fn example() -> Result<(), kymo_forward::ForwardError> {
//! use kymo_forward::{Asked, Client, OtlpSettings, Signal, until};
//! use std::time::{Duration, Instant};
//!
//! let variable = |name: &str| std::env::var(name).ok();
//! let warn = |warning| eprintln!("{warning}");
//! let settings = OtlpSettings::resolve_or_warn(Signal::Logs, &Asked::default(), variable, warn);
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
//! | [`destination`] | consumers of the journal that send what it has to others |
//! | [`settings`] | where to and how |
//! | [`resolve`] | the same of what was asked for and the variables `OTEL_EXPORTER_OTLP_…` |
//! | [`client`] | one request, one answer |
//! | [`answer`] | what became of it: taken, refused, another time |
//! | [`retry`] | again and again until the time is over |
//! | [`tls`] | whom clients of TLS trust, and what they show |
//! | [`network`] | addresses of this machine; what errors come from |
//! | [`signals`] | what a signal is called by people and in variables |
//! | [`pairs`] | `name=value,…`, as headers and resource attributes are written |
//! | [`limits`] | bounds, each with its reason |

pub mod answer;
pub mod client;
pub mod destination;
pub mod limits;
pub mod network;
pub mod pairs;
pub mod resolve;
pub mod retry;
pub mod settings;
pub mod signals;
pub mod tls;

pub use answer::{Answer, Partial};
pub use client::Client;
pub use destination::{DestinationSettings, DestinationStatus, Destinations};
pub use kymo_wire::Signal;
pub use resolve::Asked;
pub use retry::until;
pub use settings::{OtlpSettings, Protocol, WrongSetting};

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
