//! Log lines on stderr: for people on a terminal, JSON for those who collect them.

use std::io::IsTerminal;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::log::{self, LogFormat};
use crate::terminal;

/// What commands other than `serve` log: `KYMO_LOG`, or warnings.
pub(crate) fn start_from_environment() -> Result<(), String> {
    let wanted = std::env::var("KYMO_LOG").unwrap_or_default();
    let wanted = if wanted.is_empty() { "warn" } else { &wanted };
    let filter = log::filter(wanted).map_err(|why| format!("KYMO_LOG: {why}"))?;
    // Lines without JSON also in a pipe: they belong to the messages of a command.
    start(filter, LogFormat::Human);
    Ok(())
}

/// Sends what is logged to stderr.
pub(crate) fn start(filter: Targets, format: LogFormat) {
    let is_json = match format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Human => false,
        LogFormat::Json => true,
    };
    // A closed stderr is no reason to panic, which saying so there would be.
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        let colours = std::io::stderr().is_terminal() && terminal::wants_colours();
        lines.with_ansi(colours).boxed()
    };
    tracing_subscriber::registry().with(lines).with(filter).init();
}
