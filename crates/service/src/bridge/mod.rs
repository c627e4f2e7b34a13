//! From the crates `tracing` and `log` to spans and log records.
//!
//! ```text
//!  tracing: spans  ──> layer ──> tracer
//!           events ──> layer ─────────┐
//!  log:     records ─> LogBridge ─────┴─> logger      (each once)
//! ```
//!
//! Nothing that a program has set up is replaced: a subscriber gets the layer added, a logger is
//! wrapped ([`LogBridge::beside`]).
//!
//! Three ways lead to the same record twice, and each is closed: `tracing` with its feature
//! `log-always` writes every event to `log`, too (the second of two in a row from the same line of a
//! file is left out); `tracing-log` makes events of log records (left out where a [`LogBridge`] takes
//! the record itself); and the span bridge would write events on spans as well as the logger (they
//! are log records only, which have the span's id; an error still marks its span).

mod install;
mod log_bridge;
mod tracing_layer;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use install::{install_log, install_tracing};
pub use log_bridge::LogBridge;
pub use tracing_layer::BoxedLayer;
pub(crate) use tracing_layer::layer;
use tracing_subscriber::filter::{LevelFilter, Targets};

/// Whether a [`LogBridge`] takes what is written to `log`.
static HAS_LOG_BRIDGE: AtomicBool = AtomicBool::new(false);

fn note_log_bridge() {
    HAS_LOG_BRIDGE.store(true, Ordering::Relaxed);
}

fn has_log_bridge() -> bool {
    HAS_LOG_BRIDGE.load(Ordering::Relaxed)
}

/// Which way a record came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Tracing,
    Log,
}

thread_local! {
    /// Where the last record of this thread was written, and which way it came.
    static LAST: RefCell<Option<(Way, String, u32)>> = const { RefCell::new(None) };
}

/// Whether the record before this one was the same, on the other way.
fn is_second(way: Way, file: Option<&str>, line: Option<u32>) -> bool {
    let (Some(file), Some(line)) = (file, line) else { return false };
    LAST.with(|last| {
        // A logger that logs while it logs is let through.
        let Ok(mut last) = last.try_borrow_mut() else { return false };
        let is_same = last.as_ref().is_some_and(|(other, last_file, last_line)| {
            *other != way && *last_line == line && last_file == file
        });
        *last = (!is_same).then(|| (way, file.to_owned(), line));
        is_same
    })
}

/// What `RUST_LOG` lets through (`info,my_crate=debug`), for what is installed here; `info` unless it
/// is set. What cannot be read is `info`.
fn targets(environment: &dyn Fn(&str) -> Option<String>) -> Targets {
    environment("RUST_LOG")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO))
}

#[cfg(test)]
mod tests;
