//! Streams and entries, put together to one request.

use std::collections::HashMap;

use super::labels::{self, Pairs};
use super::{Bounds, Fault, Push, PushError, SCOPE, metadata_name};
use crate::common::AnyValueView;
use crate::encode::{LogFields, Writer};
use crate::limits::{SPAN_ID_BYTES, TRACE_ID_BYTES};

/// What a push becomes, stream by stream.
pub(super) struct Assembler {
    bounds: Bounds,
    streams: Vec<Stream>,
    /// Streams by their resource.
    places: HashMap<Vec<u8>, usize>,
    faults: Vec<Fault>,
    /// Bytes of all records so far.
    records_bytes: usize,
    /// Streams that came, whatever became of them.
    seen: usize,
}

/// The entries of one label set. A reader fills it while labels may still be unknown.
#[derive(Default)]
pub(super) struct Stream {
    resource: Vec<u8>,
    /// Records as fields of a scope group.
    records: Writer,
    entries: Vec<Entry>,
    faults: Vec<Fault>,
}

/// Where an entry is among the records of its stream.
#[derive(Clone, Copy)]
struct Entry {
    time_nanos: u64,
    start: usize,
    end: usize,
}

/// The metadata of an entry, taken as it is read.
#[derive(Default)]
pub(super) struct Metadata {
    /// `KeyValue` messages as fields of a record.
    attributes: Writer,
    trace_id: Option<[u8; TRACE_ID_BYTES]>,
    span_id: Option<[u8; SPAN_ID_BYTES]>,
    too_long: Option<usize>,
}

impl Metadata {
    pub(super) fn clear(&mut self) {
        self.attributes.clear();
        (self.trace_id, self.span_id, self.too_long) = (None, None, None);
    }

    pub(super) fn push(&mut self, name: &[u8], value: &[u8], bounds: &Bounds) {
        if value.len() > bounds.max_value_bytes {
            self.too_long = Some(bounds.max_value_bytes);
            return;
        }
        let name = metadata_name(name);
        match &*name {
            b"trace_id" if self.trace_id.is_none() => {
                self.trace_id = id(value);
                if self.trace_id.is_some() {
                    return;
                }
            }
            b"span_id" if self.span_id.is_none() => {
                self.span_id = id(value);
                if self.span_id.is_some() {
                    return;
                }
            }
            _ => {}
        }
        self.attributes.log_attribute(&name, &AnyValueView::String(value));
    }
}

/// An id in lower-case hexadecimal digits; none that is all zero, which stands for no id.
fn id<const BYTES: usize>(text: &[u8]) -> Option<[u8; BYTES]> {
    let mut id = [0; BYTES];
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != BYTES || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    for (byte, [high, low]) in id.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    (id != [0; BYTES]).then_some(id)
}

impl Stream {
    /// Adds an entry. A time of zero is one that was not given.
    pub(super) fn push(&mut self, time_nanos: i128, line: &[u8], metadata: &Metadata) {
        let time = u64::try_from(time_nanos).ok().filter(|nanos| *nanos > 0);
        let Some(time_nanos) = time.filter(|nanos| *nanos <= i64::MAX as u64) else {
            let message =
                format!("entry has the time {time_nanos}: expected nanoseconds since 1970");
            return fault(&mut self.faults, "invalid_time", 1, || message);
        };
        if let Some(limit) = metadata.too_long {
            let message = || format!("structured metadata has a value longer than {limit} bytes");
            return fault(&mut self.faults, "metadata_too_long", 1, message);
        }
        let start = self.records.as_slice().len();
        let fields = LogFields {
            time_unix_nano: time_nanos,
            trace_id: metadata.trace_id.as_ref().map_or(&[][..], |id| id),
            span_id: metadata.span_id.as_ref().map_or(&[][..], |id| id),
            ..LogFields::default()
        };
        self.records.log(&fields, |w| {
            w.log_body(&AnyValueView::String(line));
            w.raw(metadata.attributes.as_slice());
        });
        let end = self.records.as_slice().len();
        self.entries.push(Entry { time_nanos, start, end });
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.records.as_slice().len()
    }

    /// Appends the entries of another part of the same stream.
    fn join(&mut self, other: &Self) {
        let offset = self.size_bytes();
        self.records.raw(other.records.as_slice());
        let moved = |entry: &Entry| Entry {
            time_nanos: entry.time_nanos,
            start: entry.start + offset,
            end: entry.end + offset,
        };
        self.entries.extend(other.entries.iter().map(moved));
    }

    /// Which entries are there a second time, by their places, in order.
    fn repeated(&self) -> Vec<usize> {
        let is_rising = self.entries.is_sorted_by(|a, b| a.time_nanos < b.time_nanos);
        if is_rising || self.entries.is_sorted_by(|a, b| a.time_nanos > b.time_nanos) {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        let key = |place: usize| {
            let entry = &self.entries[place];
            (entry.time_nanos, &self.records.as_slice()[entry.start..entry.end])
        };
        // Equal ones stay in the order in which they came.
        order.sort_by(|a, b| key(*a).cmp(&key(*b)));
        let again = order.array_windows().filter(|[a, b]| key(*a) == key(*b)).map(|[_, b]| *b);
        let mut again: Vec<usize> = again.collect();
        again.sort_unstable();
        again
    }

    fn write(&self, writer: &mut Writer) {
        let records = self.records.as_slice();
        writer.resource_group(|w| {
            w.resource_raw(&self.resource);
            w.scope_group(|w| {
                w.scope(SCOPE, b"", |_| ());
                let mut written = 0;
                for place in self.repeated() {
                    let Entry { start, end, .. } = self.entries[place];
                    w.raw(&records[written..start]);
                    written = end;
                }
                w.raw(&records[written..]);
            });
        });
    }
}

impl Assembler {
    pub(super) fn new(bounds: &Bounds) -> Self {
        Self {
            bounds: *bounds,
            streams: Vec::new(),
            places: HashMap::new(),
            faults: Vec::new(),
            records_bytes: 0,
            seen: 0,
        }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Adds a stream that was read, with its labels or what is wrong with them.
    pub(super) fn add(
        &mut self,
        mut stream: Stream,
        labels: Result<Pairs<'_>, String>,
    ) -> Result<(), PushError> {
        self.seen += 1;
        for Fault { reason, message, count } in stream.faults.drain(..) {
            fault(&mut self.faults, reason, count, || message);
        }
        if stream.entries.is_empty() {
            return Ok(());
        }
        let resource =
            labels.and_then(|pairs| labels::resource(pairs, self.bounds.max_value_bytes));
        let resource = match resource {
            Ok(resource) => resource,
            Err(message) => {
                let count = stream.entries.len() as u64;
                fault(&mut self.faults, "invalid_labels", count, || message);
                return Ok(());
            }
        };
        self.records_bytes += stream.size_bytes() + resource.len();
        self.check_size(0)?;
        match self.places.get(&resource) {
            Some(place) => self.streams[*place].join(&stream),
            None => {
                self.places.insert(resource.clone(), self.streams.len());
                self.streams.push(Stream { resource, ..stream });
            }
        }
        Ok(())
    }

    /// Refuses a push that has become too large, with so many bytes of a stream that is being read.
    pub(super) fn check_size(&self, reading_bytes: usize) -> Result<(), PushError> {
        if self.records_bytes + reading_bytes > self.bounds.max_bytes {
            return Err(PushError::TooLarge(self.bounds.max_bytes));
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Push, PushError> {
        if self.seen == 0 {
            return Err(PushError::Empty);
        }
        let mut writer = Writer::with_capacity(self.records_bytes);
        for stream in &self.streams {
            stream.write(&mut writer);
        }
        if writer.as_slice().len() > self.bounds.max_bytes {
            return Err(PushError::TooLarge(self.bounds.max_bytes));
        }
        Ok(Push { body: writer.into_bytes(), faults: self.faults })
    }
}

/// Counts a fault among those of the same kind; the first of a kind tells what it is.
fn fault(
    faults: &mut Vec<Fault>,
    reason: &'static str,
    count: u64,
    message: impl FnOnce() -> String,
) {
    if let Some(known) = faults.iter_mut().find(|fault| fault.reason == reason) {
        known.count += count;
    } else {
        faults.push(Fault { reason, message: message(), count });
    }
}
