//! Requests in JSON: an object per line, or objects over several lines.

use std::io::{self, BufRead, Read};

use kymo_wire::{JsonError, lines};

use super::input::{Fault, Place, Request, Stream};
use super::limits::MAX_TEXT_BYTES;

/// One object per line. A line that is wrong does not disturb the others.
pub(crate) struct Lines<R = Stream> {
    stream: R,
    line: u64,
    offset: u64,
    is_over: bool,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, line: 0, offset: 0, is_over: false, buffer: Vec::new() }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn next(&mut self) -> Option<Result<Request, Fault>> {
        while !self.is_over {
            self.buffer.clear();
            let limit = MAX_TEXT_BYTES as u64 + 1;
            let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut self.buffer);
            self.line += 1;
            let place = Place::Line { line: self.line, column: 0 };
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
                    return Some(request(&self.buffer, self.line));
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(Fault::at(place, unreadable(&error))));
                }
            }
        }
        None
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

/// Objects with any white space in and between them.
pub(crate) struct Objects<R = Stream> {
    stream: R,
    /// Of the next byte.
    line: u64,
    offset: u64,
    is_over: bool,
}

/// Where in an object a byte is.
#[derive(Default)]
pub(crate) struct Nesting {
    depth: u64,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Takes a byte; true if it ends the object.
    pub(crate) fn ends_with(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' => self.depth += 1,
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte == b'}' && self.depth == 0
    }
}

impl<R: BufRead> Objects<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, line: 1, offset: 0, is_over: false }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn next(&mut self) -> Option<Result<Request, Fault>> {
        if self.is_over {
            return None;
        }
        let mut text = Vec::new();
        let object = self.object(&mut text);
        match object {
            Ok(Some(first_line)) => Some(request(&text, first_line)),
            Ok(None) => None,
            Err(why) => {
                self.is_over = true;
                Some(Err(Fault::at(Place::Line { line: self.line, column: 0 }, why)))
            }
        }
    }

    /// Reads an object; returns its first line, none at the end of the file.
    fn object(&mut self, text: &mut Vec<u8>) -> Result<Option<u64>, String> {
        let mut nesting = Nesting::default();
        let mut first_line = None;
        loop {
            let bytes = self.stream.fill_buf().map_err(|error| unreadable(&error))?;
            if bytes.is_empty() {
                return match first_line {
                    None => Ok(None),
                    Some(line) => Err(format!("ends within the object that begins in line {line}")),
                };
            }
            let mut used = 0;
            let mut is_done = false;
            for byte in bytes {
                used += 1;
                self.line += u64::from(*byte == b'\n');
                if first_line.is_none() {
                    match byte {
                        b'{' => first_line = Some(self.line),
                        // White space, and the bytes of a byte order mark.
                        b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => continue,
                        _ => return Err("expected an object".to_owned()),
                    }
                }
                text.push(*byte);
                is_done = nesting.ends_with(*byte);
                if is_done || text.len() > MAX_TEXT_BYTES {
                    break;
                }
            }
            self.stream.consume(used);
            self.offset += used as u64;
            if is_done {
                return Ok(first_line);
            }
            if text.len() > MAX_TEXT_BYTES {
                return Err(too_long());
            }
        }
    }
}

/// The request in a text that begins in a line of the file.
fn request(text: &[u8], first_line: u64) -> Result<Request, Fault> {
    match lines::decode_line(text) {
        Ok((signal, body)) => {
            let place = Place::Line { line: first_line, column: 0 };
            Ok(Request { place, signal: Some(signal), body })
        }
        Err(error) => Err(fault(error, first_line)),
    }
}

fn fault(error: JsonError, first_line: u64) -> Fault {
    let place = Place::Line {
        line: first_line + (error.line as u64).saturating_sub(1),
        column: if error.line == 0 { 0 } else { error.column as u64 },
    };
    let inside = if error.path.is_empty() { "" } else { " in " };
    Fault::at(place, format!("{}{inside}{}", error.message, error.path))
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

fn too_long() -> String {
    format!("an object of more than {MAX_TEXT_BYTES} bytes: write smaller requests")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::Signal;

    fn seen(mut next: impl FnMut() -> Option<Result<Request, Fault>>) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(request) = next() {
            seen.push(match request {
                Ok(request) => request.signal.map_or("-", Signal::name).to_owned(),
                Err(fault) => fault.to_string(),
            });
        }
        seen
    }

    #[test]
    fn a_wrong_line_is_named_and_the_others_are_read() {
        let text = b"{\"resourceSpans\":[]}\n\n{\"resourceSpans\":[}\n{\"resourceLogs\":[]}";
        let mut lines = Lines::new(&text[..]);
        let seen = seen(|| lines.next());
        assert_eq!(seen.len(), 3);
        assert_eq!((&seen[0][..], &seen[2][..]), ("traces", "logs"));
        assert!(seen[1].starts_with(":3:"), "{}", seen[1]);
        assert_eq!(lines.offset(), text.len() as u64);
    }

    #[test]
    fn objects_may_take_several_lines() {
        let text =
            b"{\n \"resourceMetrics\": [],\n \"a}\\\"{\": \"{\"\n}\n\n{\n\"resourceLogs\":[]} ";
        let mut objects = Objects::new(&text[..]);
        assert_eq!(seen(|| objects.next()), ["metrics", "logs"]);
        let mut wrong = Objects::new(&b"{\n\"resourceLogs\":[]}\n{\"resourceLogs\":\n7}"[..]);
        let reported = seen(|| wrong.next());
        assert!(reported[1].starts_with(":4:"), "{reported:?}");
        let mut cut = Objects::new(&b"{\n\"resourceLogs\":["[..]);
        assert_eq!(seen(|| cut.next()), [":2: ends within the object that begins in line 1"]);
    }
}
