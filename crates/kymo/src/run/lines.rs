//! Output as log records: one for each line.
//!
//! Output itself passes untouched; this only listens. What a terminal would show is what is kept: of
//! a line that was written over (a progress bar), its last state. A line is cut at
//! [`MAX_LINE_BYTES`], and of a stream at most [`LINES_PER_SEC`] are kept in a second; what is left
//! out is counted, and said where it is missing.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kymo_ci::command::{Listen, Stream};
use kymo_session::{KeyValue, Session};

use super::limits::{LINES_PER_SEC, MAX_LINE_BYTES};

/// Severities of OpenTelemetry.
const INFO: u8 = 9;
const WARN: u8 = 13;

/// Makes records of what it hears.
#[derive(Debug)]
pub(super) struct Lines {
    session: Session,
    stdout: Mutex<Splitter>,
    stderr: Mutex<Splitter>,
}

impl Lines {
    pub(super) fn new(session: Session) -> Self {
        Self { session, stdout: Mutex::default(), stderr: Mutex::default() }
    }

    /// The last lines, which nothing has ended. What is heard later is of those that the command
    /// left behind, and no part of the session any more.
    pub(super) fn end(&self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut splitter = self.splitter(stream);
            splitter.end(&mut |line| self.record(stream, line));
        }
    }

    /// How many lines were left out.
    pub(super) fn left_out(&self) -> u64 {
        [Stream::Stdout, Stream::Stderr].iter().map(|stream| self.splitter(*stream).left_out).sum()
    }

    fn splitter(&self, stream: Stream) -> std::sync::MutexGuard<'_, Splitter> {
        let splitter = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        splitter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, stream: Stream, line: Line) {
        let (name, severity) = match stream {
            Stream::Stdout => ("stdout", INFO),
            Stream::Stderr => ("stderr", WARN),
        };
        let mut attributes = vec![KeyValue::new("log.iostream", name)];
        let text = match line {
            Line::Whole(text) => text,
            Line::Cut(text, bytes) => {
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                attributes.push(KeyValue::new("output.bytes_left_out", bytes));
                text
            }
            Line::Missing(count) => {
                let number = i64::try_from(count).unwrap_or(i64::MAX);
                attributes.push(KeyValue::new("output.lines_left_out", number));
                format!("({count} lines left out: more than {LINES_PER_SEC} in a second)")
            }
        };
        self.session.log(severity, text, attributes);
    }
}

impl Listen for Lines {
    fn heard(&self, stream: Stream, piece: &[u8]) {
        let mut splitter = self.splitter(stream);
        splitter.add(piece, Instant::now(), &mut |line| self.record(stream, line));
    }
}

/// A line of a stream.
#[derive(Debug, PartialEq)]
enum Line {
    Whole(String),
    /// Its beginning, and how many bytes are missing.
    Cut(String, usize),
    /// So many lines are missing here.
    Missing(u64),
}

/// Finds the lines of one stream.
#[derive(Debug, Default)]
struct Splitter {
    /// The line so far.
    open: Vec<u8>,
    /// How much of it did not fit.
    cut_bytes: usize,
    /// The second that is counted, and what was kept in it.
    second: Option<(Instant, u32)>,
    /// Lines left out that nobody was told of yet.
    missing: u64,
    left_out: u64,
    /// Whether nobody is told any more.
    is_over: bool,
}

impl Splitter {
    fn add(&mut self, piece: &[u8], now: Instant, tell: &mut impl FnMut(Line)) {
        if self.is_over {
            return;
        }
        let mut parts = piece.split(|byte| *byte == b'\n');
        // After the last line break comes what is not ended yet.
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.extend(part);
            self.close(now, tell);
        }
        self.extend(last);
    }

    fn extend(&mut self, part: &[u8]) {
        let room = MAX_LINE_BYTES.saturating_sub(self.open.len()).min(part.len());
        self.open.extend_from_slice(&part[..room]);
        self.cut_bytes += part.len() - room;
    }

    fn close(&mut self, now: Instant, tell: &mut impl FnMut(Line)) {
        if !self.has_room(now) {
            self.missing += 1;
            self.left_out += 1;
            self.open.clear();
            self.cut_bytes = 0;
            return;
        }
        if self.missing > 0 {
            tell(Line::Missing(mem::take(&mut self.missing)));
        }
        let cut_bytes = mem::take(&mut self.cut_bytes);
        let line = shown(&self.open);
        tell(if cut_bytes > 0 { Line::Cut(line, cut_bytes) } else { Line::Whole(line) });
        self.open.clear();
    }

    fn has_room(&mut self, now: Instant) -> bool {
        match &mut self.second {
            Some((began, count)) if now.duration_since(*began) < Duration::from_secs(1) => {
                *count += 1;
                *count <= LINES_PER_SEC
            }
            second => {
                *second = Some((now, 1));
                true
            }
        }
    }

    fn end(&mut self, tell: &mut impl FnMut(Line)) {
        self.is_over = true;
        if !self.open.is_empty() {
            self.close(Instant::now(), tell);
        }
        if self.missing > 0 {
            tell(Line::Missing(mem::take(&mut self.missing)));
        }
    }
}

/// What a terminal shows of a line in the end.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let last = line.rsplit(|byte| *byte == b'\r').next().unwrap_or(line);
    String::from_utf8_lossy(last).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Line> {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        for piece in pieces {
            splitter.add(piece, Instant::now(), &mut |line| found.push(line));
        }
        splitter.end(&mut |line| found.push(line));
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.to_owned())
    }

    #[test]
    fn lines_are_found_however_they_come() {
        assert_eq!(lines(&[b"a\nb\n"]), [whole("a"), whole("b")]);
        assert_eq!(lines(&[b"a", b"b\n", b"\nc"]), [whole("ab"), whole(""), whole("c")]);
        assert_eq!(lines(&[]), []);
        assert_eq!(lines(&[b"\xff\r\n"]), [whole("\u{fffd}")]);
    }

    #[test]
    fn after_the_end_nothing_is_heard() {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        splitter.add(b"a\nb", Instant::now(), &mut |line| found.push(line));
        splitter.end(&mut |line| found.push(line));
        splitter.add(b"c\n", Instant::now(), &mut |line| found.push(line));
        assert_eq!(found, [whole("a"), whole("b")]);
    }

    #[test]
    fn of_a_line_that_was_written_over_the_last_state_is_kept() {
        assert_eq!(lines(&[b" 10 %\r 20 %\r", b"100 %\n"]), [whole("100 %")]);
    }

    #[test]
    fn a_line_without_end_is_cut_and_says_so() {
        let long = vec![b'x'; MAX_LINE_BYTES + 7];
        let expected = Line::Cut("x".repeat(MAX_LINE_BYTES), 7);
        assert_eq!(lines(&[&long, b"\n", b"next\n"]), [expected, whole("next")]);
    }

    #[test]
    fn more_than_a_second_holds_is_left_out_and_counted() {
        let mut splitter = Splitter::default();
        let began = Instant::now();
        let flood = b"x\n".repeat(LINES_PER_SEC as usize + 10);
        let mut found = Vec::new();
        splitter.add(&flood, began, &mut |line| found.push(line));
        assert_eq!(found.len(), LINES_PER_SEC as usize);
        splitter.add(b"y\n", began + Duration::from_secs(1), &mut |line| found.push(line));
        assert_eq!(found[LINES_PER_SEC as usize..], [Line::Missing(10), whole("y")]);
        assert_eq!(splitter.left_out, 10);
    }
}
