//! From the crate `log` to log records.

use std::fmt;

use log::{LevelFilter, Log, Metadata, Record};
use opentelemetry_appender_log::OpenTelemetryLogBridge;
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use tracing_subscriber::filter::Targets;

use super::{Way, is_second, note_log_bridge};

/// A logger of the crate `log` that sends, beside one that does what it did before.
pub struct LogBridge {
    /// Nothing if telemetry is off.
    bridge: Option<OpenTelemetryLogBridge<SdkLoggerProvider, SdkLogger>>,
    targets: Option<Targets>,
    beside: Option<Box<dyn Log>>,
}

impl LogBridge {
    pub(crate) fn new(provider: Option<&SdkLoggerProvider>) -> Self {
        Self { bridge: provider.map(OpenTelemetryLogBridge::new), targets: None, beside: None }
    }

    /// The program's own logger goes on as it is: everything is handed to it first. For
    /// `log::set_boxed_logger`.
    #[must_use]
    pub fn beside(mut self, logger: Box<dyn Log>) -> Self {
        if self.bridge.is_some() {
            note_log_bridge();
        }
        self.beside = Some(logger);
        self
    }

    pub(super) fn filtered(mut self, targets: Targets) -> Self {
        self.targets = Some(targets);
        self
    }

    /// The most talkative level that gets through.
    pub(super) fn most(&self) -> LevelFilter {
        let most = self.targets.as_ref().and_then(|targets| {
            let levels = targets.iter().map(|(_, level)| level);
            levels.chain(targets.default_level()).max()
        });
        match most.and_then(|level| level.into_level()) {
            Some(tracing::Level::ERROR) => LevelFilter::Error,
            Some(tracing::Level::WARN) => LevelFilter::Warn,
            Some(tracing::Level::DEBUG) => LevelFilter::Debug,
            Some(tracing::Level::TRACE) => LevelFilter::Trace,
            Some(_) => LevelFilter::Info,
            None if most.is_some() => LevelFilter::Off,
            None => LevelFilter::Info,
        }
    }

    fn is_wanted(&self, metadata: &Metadata<'_>) -> bool {
        let level = match metadata.level() {
            log::Level::Error => tracing::Level::ERROR,
            log::Level::Warn => tracing::Level::WARN,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Trace => tracing::Level::TRACE,
        };
        self.targets.as_ref().is_none_or(|targets| targets.would_enable(metadata.target(), &level))
    }
}

impl Log for LogBridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let sends = self.bridge.as_ref().is_some_and(|bridge| bridge.enabled(metadata));
        sends && self.is_wanted(metadata)
            || self.beside.as_ref().is_some_and(|beside| beside.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(beside) = &self.beside {
            beside.log(record);
        }
        let Some(bridge) = self.bridge.as_ref().filter(|_| self.is_wanted(record.metadata()))
        else {
            return;
        };
        // Spans of `tracing` become records under this target; they are spans already.
        let is_span = record.target().starts_with("tracing::span");
        if !is_span && !is_second(Way::Log, record.file(), record.line()) {
            bridge.log(record);
        }
    }

    fn flush(&self) {
        if let Some(beside) = &self.beside {
            beside.flush();
        }
    }
}

impl fmt::Debug for LogBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogBridge")
            .field("sends", &self.bridge.is_some())
            .field("has_other", &self.beside.is_some())
            .finish_non_exhaustive()
    }
}
