//! Requests in JSON: an object per line ([`Lines`]), or objects over several lines ([`Objects`]).

use std::io::BufRead;

use kymo_wire::{JsonError, lines};

use super::Found;
use super::checkpoint;
use super::fault::{Fault, Place};
use super::input::Stream;
use super::limits::MAX_TEXT_BYTES;
use super::lines::{LineReader, cut_off, too_long, unreadable};

/// One object per line. A line that is wrong does not disturb the others.
pub(super) struct Lines<R = Stream> {
    lines: LineReader<R>,
    /// A line said that this is a checkpoint, whose last line may be cut off.
    is_checkpoint: bool,
    note: Option<Fault>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { lines: LineReader::new(stream), is_checkpoint: false, note: None }
    }

    pub(super) fn offset(&self) -> u64 {
        self.lines.offset()
    }

    /// The last line, if it was cut off.
    pub(super) fn note(&self) -> Option<&Fault> {
        self.note.as_ref()
    }

    pub(super) fn next(&mut self) -> Option<Result<Found, Fault>> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(fault) => return Some(Err(fault)),
            };
            if checkpoint::begins_header(line.text) {
                self.is_checkpoint = true;
                match checkpoint::check_header(line.text) {
                    Ok(()) => continue,
                    Err(_) if line.is_cut() => {
                        self.note = Some(cut_off(&line));
                        return None;
                    }
                    Err(why) => {
                        let fault = Fault::at(Place::line(line.number), why);
                        self.lines.end();
                        return Some(Err(fault));
                    }
                }
            }
            if self.is_checkpoint && line.is_cut() {
                self.note = Some(cut_off(&line));
                return None;
            }
            // Its line break would be another line, where something cut off is found wrong.
            return Some(request(line.text.trim_ascii_end(), line.number));
        }
    }
}

/// Objects with any white space in and between them.
pub(super) struct Objects<R = Stream> {
    stream: R,
    /// Of the next byte.
    line: u64,
    offset: u64,
    is_over: bool,
}

/// Where in an object a byte is.
#[derive(Default)]
pub(super) struct Nesting {
    depth: u64,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Takes a byte; true if it ends the object.
    pub(super) fn ends_with(&mut self, byte: u8) -> bool {
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
    pub(super) fn new(stream: R) -> Self {
        Self { stream, line: 1, offset: 0, is_over: false }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn next(&mut self) -> Option<Result<Found, Fault>> {
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
fn request(text: &[u8], first_line: u64) -> Result<Found, Fault> {
    match lines::decode_line(text) {
        Ok((signal, body)) => {
            let place = Place::Line { line: first_line, column: 0 };
            Ok(Found { place, signal: Some(signal), body })
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

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::Signal;

    fn seen(mut next: impl FnMut() -> Option<Result<Found, Fault>>) -> Vec<String> {
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

    const HEADER: &str = "{\"kymo\":\"checkpoint\",\"version\":1,\"later\":[]}\n";

    #[test]
    fn the_first_line_of_a_checkpoint_is_known_and_its_last_may_be_cut_off() {
        let read = |text: &str| {
            let mut lines = Lines::new(text.as_bytes());
            let requests = seen(|| lines.next());
            (requests, lines.note().map(ToString::to_string))
        };
        let spans = "{\"resourceSpans\":[]}";
        assert_eq!(read(&format!("{HEADER}{spans}\n")), (vec!["traces".to_owned()], None));
        // What is whole is read, also if nobody ended its line.
        assert_eq!(read(&format!("{HEADER}{spans}")), (vec!["traces".to_owned()], None));
        // Two checkpoints in one file.
        assert_eq!(read(&format!("{HEADER}{spans}\n{HEADER}{spans}\n")).0.len(), 2);
        let (requests, note) = read(&format!("{HEADER}{spans}\n{}", &spans[..12]));
        assert_eq!(requests, ["traces"]);
        assert_eq!(note.as_deref(), Some(":3: the last line is cut off after 12 bytes"));
        assert_eq!(read("{\"kymo\":\"che").0, [] as [&str; 0]);
        // A line in the middle is whole, or it is wrong.
        let (requests, note) = read(&format!("{HEADER}{}\n{spans}\n", &spans[..12]));
        assert_eq!((requests.len(), note), (2, None));
        assert!(requests[0].starts_with(":2:"), "{requests:?}");
        // Nobody promised that for other files.
        assert_eq!(read(&format!("{spans}\n{}", &spans[..12])).0.len(), 2);
    }

    #[test]
    fn a_checkpoint_of_an_unknown_version_is_refused_as_a_whole() {
        let text = "{\"kymo\":\"checkpoint\",\"version\":2}\n{\"resourceSpans\":[]}\n";
        let mut lines = Lines::new(text.as_bytes());
        let seen = seen(|| lines.next());
        assert_eq!(seen.len(), 1);
        assert!(seen[0].contains("version 2") && seen[0].contains("newer kymo"), "{seen:?}");
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
