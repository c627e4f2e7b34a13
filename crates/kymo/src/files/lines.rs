//! Lines of a file, each of bounded length, and the last with what is there of it.

use std::io::{self, BufRead, Read};

use super::fault::{Fault, Place};
use super::limits::MAX_TEXT_BYTES;
use super::text::Nesting;

/// A line that is not empty.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    /// With its line break, if it has one.
    pub(super) text: &'a [u8],
}

impl Line<'_> {
    /// Whether it is the beginning of a line whose end was never written: what is there has no line
    /// break, and its object does not end.
    pub(super) fn is_cut(&self) -> bool {
        if self.text.ends_with(b"\n") {
            return false;
        }
        let mut nesting = Nesting::default();
        !self.text.iter().any(|byte| nesting.ends_with(*byte))
    }
}

/// Reads lines.
pub(super) struct LineReader<R> {
    stream: R,
    number: u64,
    offset: u64,
    is_over: bool,
    buffer: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, number: 0, offset: 0, is_over: false, buffer: Vec::new() }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads no more.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// The next line that is not empty.
    pub(super) fn next(&mut self) -> Option<Result<Line<'_>, Fault>> {
        loop {
            if self.is_over {
                return None;
            }
            self.buffer.clear();
            let limit = MAX_TEXT_BYTES as u64 + 1;
            let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut self.buffer);
            self.number += 1;
            let place = Place::line(self.number);
            match read {
                Ok(0) => self.is_over = true,
                Ok(read) => {
                    self.offset += read as u64;
                    if self.buffer.trim_ascii().is_empty() {
                        continue;
                    }
                    if read > MAX_TEXT_BYTES {
                        let rest = self.skip_line();
                        self.is_over = rest.is_err();
                        return Some(Err(Fault::at(place, too_long())));
                    }
                    return Some(Ok(Line { number: self.number, text: &self.buffer }));
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(Fault::at(place, unreadable(&error))));
                }
            }
        }
    }

    /// Leaves out the rest of a line.
    fn skip_line(&mut self) -> io::Result<()> {
        if self.buffer.ends_with(b"\n") {
            return Ok(());
        }
        self.offset += self.stream.skip_until(b'\n')? as u64;
        Ok(())
    }
}

/// What is said of a last line that was cut off.
pub(super) fn cut_off(line: &Line<'_>) -> Fault {
    let why = format!("the last line is cut off after {} bytes", line.text.len());
    Fault::at(Place::line(line.number), why)
}

pub(super) fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

pub(super) fn too_long() -> String {
    format!("an object of more than {MAX_TEXT_BYTES} bytes: write smaller requests")
}
