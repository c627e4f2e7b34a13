//! What could not be read, and where it is.

use std::fmt;

/// Where something is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    WholeFile,
    Byte(u64),
    Line { line: u64, column: u64 },
}

impl Place {
    /// The beginning of a line.
    pub(super) fn line(line: u64) -> Self {
        Self::Line { line, column: 0 }
    }

    /// A place in protobuf, some bytes on.
    pub(crate) fn moved(self, offset: usize) -> Self {
        match self {
            Self::Byte(first) => Self::Byte(first + offset as u64),
            place => place,
        }
    }
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) why: String,
}

impl Fault {
    pub(crate) fn at(place: Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into() }
    }

    pub(crate) fn whole_file(why: impl Into<String>) -> Self {
        Self { place: Place::WholeFile, why: why.into() }
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
