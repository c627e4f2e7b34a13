//! Where telemetry goes.

use kymo_forward::{OtlpSettings, Signal};

/// Where a signal goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To a server.
    Otlp(OtlpSettings),
    /// To stdout.
    Console,
    /// Nowhere.
    Nowhere,
}

impl Destination {
    /// The server, if there is one.
    #[must_use]
    pub fn otlp(&self) -> Option<&OtlpSettings> {
        match self {
            Self::Otlp(settings) => Some(settings),
            Self::Console | Self::Nowhere => None,
        }
    }
}

/// Where each signal goes. [`ExportSettings::resolve`] makes it of what was asked for and of the
/// environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSettings {
    /// Spans.
    pub traces: Destination,
    /// Metrics.
    pub metrics: Destination,
    /// Log records.
    pub logs: Destination,
}

impl ExportSettings {
    /// Everything to stdout.
    #[must_use]
    pub fn console() -> Self {
        Self {
            traces: Destination::Console,
            metrics: Destination::Console,
            logs: Destination::Console,
        }
    }

    /// Where a signal goes.
    #[must_use]
    pub fn of(&self, signal: Signal) -> &Destination {
        match signal {
            Signal::Traces => &self.traces,
            Signal::Metrics => &self.metrics,
            Signal::Logs => &self.logs,
        }
    }

    /// Whether nothing goes anywhere.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        Signal::ALL.iter().all(|signal| *self.of(*signal) == Destination::Nowhere)
    }
}
