//! Files of RHAPSODY (`*.telemetry.jsonl`), as requests of OTLP.
//!
//! A line has a member `section`; `docs/formats/checkpoint.md` says what becomes of each:
//!
//! | `section` | becomes |
//! |---|---|
//! | `event` | a log record |
//! | `span` | a span; only the first of an id, since a file repeats what is finished |
//! | `metric` | a gauge for each member |
//!
//! Lines that follow one another, are of one section and of one session, and happened within about
//! a second share a request. A line that cannot be read is a fault and does not disturb the others;
//! a last line that was cut off is noted.

mod line;
mod write;

use std::collections::HashSet;
use std::io::BufRead;

use kymo_wire::Signal;
use kymo_wire::encode::Writer;

use super::Found;
use super::fault::{Fault, Place};
use super::input::Stream;
use super::limits::{MAX_KNOWN_SPANS, RHAPSODY_REQUEST_BYTES, RHAPSODY_REQUEST_NANOS};
use super::lines::{LineReader, cut_off};

pub(super) use line::is_line;

/// Reads such a file.
pub(super) struct Rhapsody<R = Stream> {
    lines: LineReader<R>,
    known_spans: HashSet<u64>,
    /// The session of the last line that named one: metrics and spans of scopes name none.
    session_id: Option<String>,
    batch: Option<Batch>,
    note: Option<Fault>,
}

/// Records of one request, written one after another.
struct Batch {
    place: Place,
    signal: Signal,
    session_id: Option<String>,
    first_nanos: u64,
    records: Writer,
}

/// A record that is written, and where it belongs.
struct Record {
    signal: Signal,
    time_nanos: u64,
    session_id: Option<String>,
    /// The id of a span.
    span_id: Option<u64>,
    /// Fields of a scope group.
    bytes: Vec<u8>,
}

impl<R: BufRead> Rhapsody<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            lines: LineReader::new(stream),
            known_spans: HashSet::new(),
            session_id: None,
            batch: None,
            note: None,
        }
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
            let line = match self.lines.next() {
                Some(Ok(line)) => line,
                Some(Err(fault)) => return Some(Err(fault)),
                None => return self.batch.take().map(|batch| Ok(batch.request())),
            };
            if line.is_cut() {
                self.note = Some(cut_off(&line));
                continue;
            }
            let place = Place::line(line.number);
            let record = match line::parse(line.text).and_then(write::record) {
                Ok(record) => record,
                Err(why) => return Some(Err(Fault::at(place, why))),
            };
            if let Some(full) = self.add(record, place) {
                return Some(Ok(full.request()));
            }
        }
    }

    /// Takes a record; gives the request before it if that one ends here.
    fn add(&mut self, record: Record, place: Place) -> Option<Batch> {
        if record.span_id.is_some_and(|id| self.is_known(id)) {
            return None;
        }
        if record.session_id.is_some() {
            self.session_id.clone_from(&record.session_id);
        }
        let full = self.batch.take_if(|batch| {
            batch.signal != record.signal
                || batch.session_id != self.session_id
                || batch.records.as_slice().len() >= RHAPSODY_REQUEST_BYTES
                || record.time_nanos.abs_diff(batch.first_nanos) > RHAPSODY_REQUEST_NANOS
        });
        let batch = self.batch.get_or_insert_with(|| Batch {
            place,
            signal: record.signal,
            session_id: self.session_id.clone(),
            first_nanos: record.time_nanos,
            records: Writer::new(),
        });
        batch.records.raw(&record.bytes);
        full
    }

    /// Whether a span was there already. From now on it was.
    fn is_known(&mut self, id: u64) -> bool {
        if self.known_spans.len() >= MAX_KNOWN_SPANS {
            return self.known_spans.contains(&id);
        }
        !self.known_spans.insert(id)
    }
}

impl Batch {
    fn request(self) -> Found {
        let body = write::request(self.session_id.as_deref(), self.records.as_slice());
        Found { place: self.place, signal: Some(self.signal), body }
    }
}

#[cfg(test)]
mod tests;
