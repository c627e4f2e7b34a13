//! A file or stdin whose first bytes are known.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;

use super::is_stdin;
use super::limits::LOOK_AHEAD_BYTES;

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Where requests are read from.
pub(super) type Stream = BufReader<Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// A file whose first bytes are known.
pub(super) struct Input {
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl Input {
    /// Opens a file, or stdin for `-`, and looks at its first bytes.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot be read: {error}");
        let mut rest: Box<dyn Read + Send> = if is_stdin(path) {
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
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    pub(super) fn stream(self) -> Stream {
        BufReader::with_capacity(BUFFER_BYTES, Cursor::new(self.head).chain(self.rest))
    }
}
