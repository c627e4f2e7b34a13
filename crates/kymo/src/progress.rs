//! A bar on a terminal; nothing where nobody looks.

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

const KNOWN_TOTAL: &str =
    "{msg:16!} {wide_bar} {binary_bytes} of {binary_total_bytes} {binary_bytes_per_sec} {eta} left";
const UNKNOWN_TOTAL: &str = "{msg:16!} {spinner} {binary_bytes:>11} {binary_bytes_per_sec:>13}";

/// How far a command has come, in bytes.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many bytes, or for an unknown number of them.
    pub(crate) fn new(total_bytes: Option<u64>) -> Self {
        let bar = total_bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if total_bytes.is_some() { KNOWN_TOTAL } else { UNKNOWN_TOTAL };
        let style = ProgressStyle::with_template(template);
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// Says what is being done.
    pub(crate) fn doing(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Moves on by some bytes.
    pub(crate) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Makes the total larger.
    pub(crate) fn expect(&self, bytes: u64) {
        self.0.inc_length(bytes);
    }

    /// Says on stderr what is wrong, above the bar.
    pub(crate) fn error(&self, message: &str) {
        self.0.suspend(|| output::error(message));
    }

    /// Says on stderr what is worth to know, above the bar.
    pub(crate) fn note(&self, message: &str) {
        self.0.suspend(|| output::note(message));
    }

    /// Writes lines to stderr, above the bar.
    pub(crate) fn say(&self, lines: &str) {
        self.0.suspend(|| output::say(lines));
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
