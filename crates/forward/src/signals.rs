//! What a signal is called by people and in variables.

use kymo_wire::Signal;

/// What its records are called.
#[must_use]
pub const fn items(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "spans",
        Signal::Metrics => "metrics",
        Signal::Logs => "log records",
    }
}

/// Its name in variables: `TRACES`, `METRICS`, `LOGS`.
#[must_use]
pub const fn variable(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "TRACES",
        Signal::Metrics => "METRICS",
        Signal::Logs => "LOGS",
    }
}
