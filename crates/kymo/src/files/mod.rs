//! Recorded files: whatever holds OTLP, as a stream of requests in protobuf.
//!
//! ```text
//!  file ──> input ──> detect ──┬─> frames    protobuf: one request, or many with their lengths
//!                              ├─> text      JSON: an object per line, or over several lines
//!                              │     └ checkpoint    the first line of a session's file
//!                              └─> rhapsody  events, spans and metrics of RHAPSODY
//!                                     │
//!  import, replay, open, report <─────┴── Request { signal, body, place }
//! ```
//!
//! ```ignore
//! let mut requests = files::requests(path, &ReadOptions::default())?; // Err: the whole file
//! while let Some(request) = requests.next() {
//!     match request {
//!         Ok(request) => take(request.signal, &request.body), // OTLP protobuf
//!         Err(fault) => output::error(&format!("{}{fault}", files::name_of(path))),
//!     }
//! }
//! if let Some(note) = requests.note() { … } // a last line that was cut off: no fault
//! ```
//!
//! A file is read as a stream: memory does not depend on its size, only on that of its largest
//! request. What cannot be read is a [`Fault`] with its place, and reading goes on behind it where
//! the format leaves a way. Nothing is checked here beyond the format: that is what
//! `kymo_wire::inspect` is for, here or in the server that gets it.
//!
//! [`Walk`] reads many files for a command: bar, messages, Ctrl-C.

mod checkpoint;
mod detect;
mod fault;
mod frames;
mod input;
pub(crate) mod limits;
mod lines;
mod rhapsody;
mod text;
mod walk;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use kymo_wire::Signal;

pub(crate) use detect::InputFormat;
pub(crate) use fault::{Fault, Place};
pub(crate) use walk::{Shown, Walk};

use frames::{Frames, Groups};
use input::Input;
use rhapsody::Rhapsody;
use text::{Lines, Objects};

/// What is known of files beside what they say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    /// How they are written, if it shall not be told by their first bytes.
    pub(crate) format: Option<InputFormat>,
    /// What protobuf carries, if it shall not be found out.
    pub(crate) signal: Option<Signal>,
}

/// The same as flags of a command.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ReadArgs {
    /// What protobuf files carry
    #[arg(long, value_enum)]
    signal: Option<SignalArg>,
    /// How the files are written
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
}

impl ReadArgs {
    pub(crate) fn options(self) -> ReadOptions {
        ReadOptions { format: self.input_format, signal: self.signal.map(Signal::from) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SignalArg {
    Traces,
    Metrics,
    Logs,
}

impl From<SignalArg> for Signal {
    fn from(signal: SignalArg) -> Self {
        match signal {
            SignalArg::Traces => Signal::Traces,
            SignalArg::Metrics => Signal::Metrics,
            SignalArg::Logs => Signal::Logs,
        }
    }
}

/// Formats that all commands read, for their help.
pub(crate) const FORMATS_HELP: &str = "\
Input formats, told apart by their first bytes:
  protobuf         one OTLP request, as an exporter sends it; begins with byte 0x0a
  protobuf-frames  requests one after another, each after its length as a varint
                   (as protobuf's writeDelimitedTo writes them)
  json-lines       one OTLP/JSON object per line: checkpoints of sessions (*.kymo.jsonl), and what
                   the collector's file exporter writes
  json             OTLP/JSON objects over several lines each
  rhapsody         events, spans and metrics of RHAPSODY (*.telemetry.jsonl)

JSON says which signal it carries. Protobuf does not: without --signal, the first request of a file
is checked as each of the three, and the signal that keeps most records of it is taken.

The last line of a checkpoint or of a file of RHAPSODY may be cut off, as a crash leaves it: that is
noted, and no fault.";

/// A request as it was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) place: Place,
    pub(crate) signal: Signal,
    /// OTLP protobuf.
    pub(crate) body: Vec<u8>,
}

/// A request whose signal may not be known yet.
struct Found {
    place: Place,
    /// Where the format tells it.
    signal: Option<Signal>,
    body: Vec<u8>,
}

/// Requests of a stream in protobuf, each after its length; none after a fault.
pub(crate) fn framed(stream: impl BufRead) -> impl Iterator<Item = Result<Vec<u8>, Fault>> {
    let mut frames = Frames::new(stream);
    std::iter::from_fn(move || frames.next()).map(|found| Ok(found?.body))
}

/// Begins to read a file, or stdin for `-`. The fault is that of the whole file.
pub(crate) fn requests(path: &Path, options: &ReadOptions) -> Result<Requests, Fault> {
    let input = Input::open(path).map_err(Fault::whole_file)?;
    let format = options.format.map_or_else(|| detect::format(&input), Ok);
    let format = format.map_err(Fault::whole_file)?;
    let is_empty = input.is_empty();
    let stream = input.stream();
    let form = match format {
        InputFormat::Protobuf => Form::Groups(Groups::new(stream)),
        InputFormat::ProtobufFrames => Form::Frames(Frames::new(stream)),
        InputFormat::JsonLines => Form::Lines(Lines::new(stream)),
        InputFormat::Json => Form::Objects(Objects::new(stream)),
        InputFormat::Rhapsody => Form::Rhapsody(Box::new(Rhapsody::new(stream))),
    };
    Ok(Requests { form, signal: options.signal, is_empty })
}

/// The requests of a file. After a fault that leaves no way to find the next request there is none.
pub(crate) struct Requests {
    form: Form,
    /// What protobuf in it carries, once that is known.
    signal: Option<Signal>,
    is_empty: bool,
}

enum Form {
    Groups(Groups),
    Frames(Frames),
    Lines(Lines),
    Objects(Objects),
    Rhapsody(Box<Rhapsody>),
}

impl Requests {
    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        match &self.form {
            Form::Groups(groups) => groups.offset(),
            Form::Frames(frames) => frames.offset(),
            Form::Lines(lines) => lines.offset(),
            Form::Objects(objects) => objects.offset(),
            Form::Rhapsody(rhapsody) => rhapsody.offset(),
        }
    }

    /// Whether there is nothing in the file.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// What is worth to know and no fault, once everything is read: a last line that was cut off.
    pub(crate) fn note(&self) -> Option<&Fault> {
        match &self.form {
            Form::Lines(lines) => lines.note(),
            Form::Rhapsody(rhapsody) => rhapsody.note(),
            _ => None,
        }
    }

    fn told(&mut self, found: Found) -> Result<Request, Fault> {
        let Found { place, signal, body } = found;
        if signal.is_none() && self.signal.is_none() {
            self.signal = detect::signal(&body);
        }
        match signal.or(self.signal) {
            Some(signal) => Ok(Request { place, signal, body }),
            // A request of nothing is one of any signal.
            None if body.is_empty() => Ok(Request { place, signal: Signal::Traces, body }),
            None => Err(Fault::at(place, "cannot tell what it carries: say it with --signal")),
        }
    }
}

impl Iterator for Requests {
    type Item = Result<Request, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = match &mut self.form {
            Form::Groups(groups) => groups.next(),
            Form::Frames(frames) => frames.next(),
            Form::Lines(lines) => lines.next(),
            Form::Objects(objects) => objects.next(),
            Form::Rhapsody(rhapsody) => rhapsody.next(),
        }?;
        Some(found.and_then(|found| self.told(found)))
    }
}

/// What a file is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Whether stdin is meant.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Bytes of all files; unknown if one of them is a pipe.
pub(crate) fn total_bytes(files: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| {
        let metadata = path.metadata().ok().filter(|_| !is_stdin(path));
        metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
    };
    files.iter().map(size).sum()
}

#[cfg(test)]
mod tests;
