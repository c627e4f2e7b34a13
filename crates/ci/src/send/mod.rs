//! Sending spans: OTLP over gRPC or HTTP, with retries, inside a time that is given, and a spool for
//! what could not be sent.
//!
//! ```text
//!  Trace ── encode ──> requests ─┐
//!                                ├─> forward: try, wait, try again ──> server
//!  spool ── earlier requests ────┘        │
//!    ^                                    └── no server in time ──┐
//!    └────────────────────────────────────────────────────────────┘
//! ```
//!
//! A server that refuses a request for what it is gets it no second time; nothing is spooled then.
//!
//! | module | what is there |
//! |---|---|
//! | [`settings`] | where to and how: the variables `OTEL_…`, and flags |
//! | [`spool`] | requests in files |
//!
//! How a request gets to a server is what [`kymo_forward`] is for.

pub mod settings;
pub mod spool;

use std::io::Write;
use std::time::Instant;

use kymo_forward::{Client, ForwardError};
use kymo_wire::Signal;
use thiserror::Error;

use crate::encode;
use crate::span::Trace;
use crate::warnings::Warnings;
use settings::{Exporter, Settings};
use spool::Spool;

/// Why spans were not sent.
#[derive(Debug, Error)]
pub enum SendError {
    /// The server could not be reached in time.
    #[error("{to} could not be reached: {why}")]
    Unreached {
        /// The server.
        to: String,
        /// What happened.
        why: String,
    },
    /// The server does not want it.
    #[error("{to} refused the spans: {why}")]
    Refused {
        /// The server.
        to: String,
        /// What it said.
        why: String,
    },
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The console cannot be written to.
    #[error("cannot write spans to stdout: {0}")]
    Console(std::io::Error),
}

impl From<ForwardError> for SendError {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::Unreached { to, why } => Self::Unreached { to, why },
            ForwardError::Refused { to, why } => Self::Refused { to, why },
            ForwardError::Settings(why) => Self::Settings(why),
        }
    }
}

/// What became of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Requests that the server took.
    pub requests: usize,
    /// Bytes of them.
    pub bytes: usize,
    /// Requests of earlier calls that went with them.
    pub earlier: usize,
}

/// Sends a trace, and what earlier calls left in the spool. If the server cannot be reached, the
/// trace goes to the spool.
pub fn send(
    trace: &Trace,
    settings: &Settings,
    spool: &Spool,
    warnings: &mut Warnings,
) -> Result<Sent, SendError> {
    let requests = encode::requests(trace);
    let mut sent = Sent::default();
    for exporter in &settings.exporters {
        match exporter {
            Exporter::None => {}
            Exporter::Console => print(&requests).map_err(SendError::Console)?,
            Exporter::Otlp(protocol) => {
                sent = over_network(&requests, settings, *protocol, spool, warnings)?;
            }
        }
    }
    Ok(sent)
}

fn over_network(
    requests: &[Vec<u8>],
    settings: &Settings,
    protocol: settings::Protocol,
    spool: &Spool,
    warnings: &mut Warnings,
) -> Result<Sent, SendError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| SendError::Settings(format!("cannot begin to send: {error}")))?;
    let server = kymo_forward::OtlpSettings { protocol, ..settings.server.clone() };
    let client = Client::new(&server, Signal::Traces)?;
    let deadline = Instant::now() + settings.timeout;
    let sent = runtime.block_on(async {
        let mut sent = Sent::default();
        let mut refused = None;
        let mut waiting = requests.iter();
        while let Some(request) = waiting.next() {
            match until(&client, request, deadline, warnings).await {
                Ok(()) => {
                    sent.requests += 1;
                    sent.bytes += request.len();
                }
                Err(error @ SendError::Unreached { .. }) => {
                    for request in std::iter::once(request).chain(waiting) {
                        spool.keep(request, warnings);
                    }
                    spool.note_reached(false);
                    return Err(error);
                }
                // The others may be taken all the same.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        spool.note_reached(true);
        // Now that the server is known to answer. What does not go today goes another time.
        sent.earlier = earlier(&client, spool, deadline, warnings).await;
        refused.map_or(Ok(sent), Err)
    });
    // A name that nobody resolves is not waited for.
    runtime.shutdown_background();
    sent
}

/// Sends what is in the spool, as long as there is time; how many requests.
async fn earlier(
    client: &Client,
    spool: &Spool,
    deadline: Instant,
    warnings: &mut Warnings,
) -> usize {
    let mut count = 0;
    while let Some(kept) = spool.take(warnings) {
        if Instant::now() >= deadline {
            spool.put_back(kept);
            return count;
        }
        match until(client, &kept.request, deadline, warnings).await {
            Ok(()) => {
                count += 1;
                spool.done(kept);
            }
            Err(SendError::Unreached { .. }) => {
                spool.put_back(kept);
                return count;
            }
            Err(error) => {
                warnings.add(format!("spans of an earlier call are given up: {error}"));
                spool.done(kept);
            }
        }
    }
    count
}

/// Sends a request until it is taken, refused, or `deadline` is there.
async fn until(
    client: &Client,
    request: &[u8],
    deadline: Instant,
    warnings: &mut Warnings,
) -> Result<(), SendError> {
    if let Some(partial) = kymo_forward::until(client, request, deadline).await? {
        warnings.add(format!("{}: {partial}", client.name()));
    }
    Ok(())
}

/// Requests as lines of OTLP/JSON.
fn print(requests: &[Vec<u8>]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for request in requests {
        let mut line = Vec::new();
        kymo_wire::json::encode(Signal::Traces, request, &mut line)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()
}
