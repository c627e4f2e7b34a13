//! Results on stdout.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Writes text to stdout. A reader that has seen enough (`kymo block … | head`) is no failure.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Io { act: "write to", what: "stdout".into(), source: error })
        }
        _ => Ok(()),
    }
}

/// Writes one value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_string(value)
        .map_err(|error| Failure::Other(format!("cannot write the result as JSON: {error}")))?;
    line.push('\n');
    text(&line)
}
