//! Results on stdout, messages on stderr.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;
use crate::units::printable;

/// Writes text to stdout. A reader that has seen enough (`kymo block … | head`) is no failure.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    text_until_closed(text).map(|_| ())
}

/// The same; whether the reader is still there.
pub(crate) fn text_until_closed(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    until_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whether the reader of stdout is still there.
pub(crate) fn until_closed(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Io { act: "write to", what: "stdout".into(), source: error }),
    }
}

/// Writes a line to stderr. If that is closed or full, there is nobody left to tell, and the status
/// must not suffer from it.
pub(crate) fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Says on stderr, on one line, what is wrong. It may quote data, which must not move the cursor.
pub(crate) fn error(message: &str) {
    say(&format!("error: {}", printable(message)));
}

/// Says on stderr what is odd.
pub(crate) fn warning(message: &str) {
    say(&format!("warning: {}", printable(message)));
}

/// Says on stderr what is worth to know.
pub(crate) fn note(message: &str) {
    say(&format!("note: {}", printable(message)));
}

/// Writes one value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    text(&json_line(value)?)
}

/// A value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let mut line = serde_json::to_string(value)
        .map_err(|error| Failure::Other(format!("cannot write the result as JSON: {error}")))?;
    line.push('\n');
    Ok(line)
}
