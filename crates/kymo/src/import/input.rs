//! Reading a file or stdin as a stream of requests.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;

use kymo_wire::Signal;

use super::detect::InputFormat;
use super::frames::{Frames, Groups};
use super::limits::LOOK_AHEAD_BYTES;
use super::text::{Lines, Objects};

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Where requests are read from.
pub(crate) type Stream = BufReader<Chain<Cursor<Vec<u8>>, Box<dyn Read>>>;

/// A file whose first bytes are known.
pub(crate) struct Input {
    head: Vec<u8>,
    rest: Box<dyn Read>,
}

impl Input {
    /// Opens a file, or stdin for `-`, and looks at its first bytes.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot be read: {error}");
        let mut rest: Box<dyn Read> = if is_stdin(path) {
            Box::new(io::stdin())
        } else if path.is_dir() {
            return Err("is a directory: name the files in it".to_owned());
        } else {
            Box::new(File::open(path).map_err(cannot)?)
        };
        let mut head = Vec::new();
        rest.by_ref().take(LOOK_AHEAD_BYTES as u64).read_to_end(&mut head).map_err(cannot)?;
        Ok(Self { head, rest })
    }

    /// The first bytes.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    fn stream(self) -> Stream {
        BufReader::with_capacity(BUFFER_BYTES, Cursor::new(self.head).chain(self.rest))
    }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A request as it was found.
pub(crate) struct Request {
    pub(crate) place: Place,
    /// Where the format tells it.
    pub(crate) signal: Option<Signal>,
    /// OTLP protobuf.
    pub(crate) body: Vec<u8>,
}

/// Where something is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    WholeFile,
    Byte(u64),
    Line { line: u64, column: u64 },
}

/// Something that could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) why: String,
}

impl Fault {
    pub(crate) fn at(place: Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into() }
    }

    pub(crate) fn whole_file(why: String) -> Self {
        Self { place: Place::WholeFile, why }
    }
}

/// What follows the name of the file in a message.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::WholeFile => write!(f, " {}", self.why),
            Place::Byte(offset) => write!(f, " at byte {offset}: {}", self.why),
            Place::Line { line, column: 0 } => write!(f, ":{line}: {}", self.why),
            Place::Line { line, column } => write!(f, ":{line}:{column}: {}", self.why),
        }
    }
}

/// The requests of a file. After a fault that leaves no way to find the next request there is none.
pub(crate) enum Requests {
    Groups(Groups),
    Frames(Frames),
    Lines(Lines),
    Objects(Objects),
}

impl Requests {
    pub(crate) fn new(format: InputFormat, input: Input) -> Self {
        let stream = input.stream();
        match format {
            InputFormat::Protobuf => Self::Groups(Groups::new(stream)),
            InputFormat::ProtobufFrames => Self::Frames(Frames::new(stream)),
            InputFormat::JsonLines => Self::Lines(Lines::new(stream)),
            InputFormat::Json => Self::Objects(Objects::new(stream)),
        }
    }

    /// The next request.
    pub(crate) fn next(&mut self) -> Option<Result<Request, Fault>> {
        match self {
            Self::Groups(groups) => groups.next(),
            Self::Frames(frames) => frames.next(),
            Self::Lines(lines) => lines.next(),
            Self::Objects(objects) => objects.next(),
        }
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Groups(groups) => groups.offset(),
            Self::Frames(frames) => frames.offset(),
            Self::Lines(lines) => lines.offset(),
            Self::Objects(objects) => objects.offset(),
        }
    }
}
