//! Rebuilt messages, one after another in one buffer, each with its origin and
//! time; and the request they make, grouped by resource and scope.

use std::ops::Range;

use hashbrown::{HashMap, HashSet, HashTable};
use kymo_wire::encode::Writer;
use kymo_wire::{Reader, SpanView, TracesView, View};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{logs, spans};
use crate::block::source::Source;
use crate::column::Interner;
use crate::error::StoreError;
use crate::origin::Origin;

/// Spans or log records (not both) that were rebuilt from rows.
#[derive(Debug, Default)]
pub struct Records {
    /// The messages, each as the field of a scope group that it becomes.
    pub(super) writer: Writer,
    entries: Vec<Entry>,
    /// Encoded origins of all of them.
    origins: Interner,
}

#[derive(Debug)]
struct Entry {
    /// Where the field begins and ends in the buffer.
    field: Range<usize>,
    origin: u32,
    time_nanos: i64,
}

impl Records {
    /// Adds the spans of some rows, which must ascend. On an error nothing is
    /// added.
    pub fn add_spans(&mut self, source: &Source, rows: &[u32]) -> Result<(), StoreError> {
        let before = self.entries.len();
        spans::add(source, rows, self).inspect_err(|_| self.entries.truncate(before))
    }

    /// Adds the log records of some rows, which must ascend. On an error nothing
    /// is added.
    pub fn add_logs(&mut self, source: &Source, rows: &[u32]) -> Result<(), StoreError> {
        let before = self.entries.len();
        logs::add(source, rows, self).inspect_err(|_| self.entries.truncate(before))
    }

    /// Adds the spans of an encoded `TracesData`, byte for byte.
    pub(crate) fn add_request(&mut self, body: &[u8]) -> Result<(), StoreError> {
        let mut encoded = Vec::new();
        for group in TracesView::parse(body)?.resources {
            let group = group?;
            for scope in group.scopes {
                let scope = scope?;
                encoded.clear();
                Origin::of(&group, &scope).encode(&mut encoded);
                let origin = self.origins.intern(&encoded);
                for span in scope.items.raws() {
                    let span = span?;
                    let time_nanos = SpanView::parse(span)?.start_time_unix_nano as i64;
                    self.push(origin, time_nanos, |writer| writer.item_raw(span));
                }
            }
        }
        Ok(())
    }

    /// Adds a span of an encoded origin, which `write` appends as a field of a scope group.
    pub(super) fn add_span(
        &mut self,
        origin: &[u8],
        time_nanos: i64,
        write: impl FnOnce(&mut Writer),
    ) {
        let origin = self.origins.intern(origin);
        self.push(origin, time_nanos, write);
    }

    /// Adds what another has, without what was seen before in origin and content.
    pub(super) fn add_unseen(&mut self, from: &Records, seen: &mut Seen) {
        for (nth, entry) in from.entries.iter().enumerate() {
            let (origin, bytes) = (self.origins.intern(from.origin(nth)), from.field(nth));
            let hash = |origin: u32, bytes: &[u8]| xxh3_64_with_seed(bytes, u64::from(origin));
            let is_same = |known: &u32| {
                let known = *known as usize;
                self.entries[known].origin == origin && self.field(known) == bytes
            };
            let hash_of = |known: &u32| {
                hash(self.entries[*known as usize].origin, self.field(*known as usize))
            };
            let this = hash(origin, bytes);
            if seen.0.find(this, is_same).is_some() {
                continue;
            }
            seen.0.insert_unique(this, self.entries.len() as u32, hash_of);
            self.push(origin, entry.time_nanos, |writer| writer.raw(bytes));
        }
    }

    /// Adds the field that `write` appends.
    fn push<R>(&mut self, origin: u32, time_nanos: i64, write: impl FnOnce(&mut Writer) -> R) -> R {
        let start = self.writer.as_slice().len();
        let written = write(&mut self.writer);
        let field = start..self.writer.as_slice().len();
        self.entries.push(Entry { field, origin, time_nanos });
        written
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The encoded `Span` or `LogRecord` at that place.
    pub fn message(&self, nth: usize) -> &[u8] {
        let mut reader = Reader::new(self.field(nth));
        // What is read here was written as a tag and a length.
        reader.tag().and_then(|_| reader.bytes()).unwrap_or_default()
    }

    /// The encoded [`Origin`] of the record at that place.
    pub fn origin(&self, nth: usize) -> &[u8] {
        self.origins.dict().get(self.entries[nth].origin)
    }

    /// Start of the span, or time of the log record.
    pub fn time_nanos(&self, nth: usize) -> i64 {
        self.entries[nth].time_nanos
    }

    fn field(&self, nth: usize) -> &[u8] {
        &self.writer.as_slice()[self.entries[nth].field.clone()]
    }

    /// Whether two records have the same origin and content.
    pub(super) fn same(&self, one: usize, other: usize) -> bool {
        self.entries[one].origin == self.entries[other].origin
            && self.field(one) == self.field(other)
    }

    /// Orders the records by time; those of equal time stay as they are.
    pub fn sort_by_time(&mut self) {
        self.sort_by_time_from(0);
    }

    /// The same for those from a place on.
    pub(super) fn sort_by_time_from(&mut self, place: usize) {
        if let Some(entries) = self.entries.get_mut(place..) {
            entries.sort_by_key(|entry| entry.time_nanos);
        }
    }

    /// Removes records that equal an earlier one in origin and content.
    pub fn remove_duplicates(&mut self) {
        let bytes = self.writer.as_slice();
        let mut seen = HashSet::with_capacity(self.entries.len());
        self.entries.retain(|entry| seen.insert((entry.origin, &bytes[entry.field.clone()])));
    }

    /// The request: `TracesData` or `LogsData`, which are also the bodies of
    /// export requests. Groups come in the order of their first record.
    pub fn request(&self) -> Vec<u8> {
        self.request_of(0..self.entries.len())
    }

    /// Requests of those from a place on, each with so many bytes of them, or a single larger one.
    pub(super) fn requests_from(
        &self,
        place: usize,
        most_bytes: usize,
    ) -> impl Iterator<Item = Vec<u8>> {
        let mut begin = place;
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let fits = |entry: &&Entry| {
                bytes += entry.field.len();
                bytes <= most_bytes
            };
            let rest = self.entries.get(begin..).filter(|rest| !rest.is_empty())?;
            let end = begin + rest.iter().take_while(fits).count().max(1);
            Some(self.request_of(std::mem::replace(&mut begin, end)..end))
        })
    }

    fn request_of(&self, records: Range<usize>) -> Vec<u8> {
        let bytes: usize = self.entries[records.clone()].iter().map(|e| e.field.len()).sum();
        let mut out = Writer::with_capacity(bytes * 5 / 4);
        for resource in self.groups(records) {
            out.resource_group(|out| self.write_resource(&resource, out));
        }
        out.into_bytes()
    }

    /// Bytes of the largest from a place on.
    pub(super) fn largest_from(&self, place: usize) -> usize {
        let rest = self.entries.get(place..).unwrap_or_default();
        rest.iter().map(|entry| entry.field.len()).max().unwrap_or(0)
    }

    fn write_resource(&self, scopes: &[Group], out: &mut Writer) {
        let Some(first) = scopes.first() else { return };
        let origin = Origin::decode(self.origins.dict().get(first.origin));
        if let Some(resource) = origin.resource {
            out.resource_raw(resource);
        }
        for scope in scopes {
            out.scope_group(|out| self.write_scope(scope, out));
        }
        out.resource_schema_url(origin.resource_schema_url);
    }

    fn write_scope(&self, group: &Group, out: &mut Writer) {
        let origin = Origin::decode(self.origins.dict().get(group.origin));
        if let Some(scope) = origin.scope {
            out.scope_raw(scope);
        }
        for nth in &group.records {
            out.raw(self.field(*nth));
        }
        out.scope_schema_url(origin.scope_schema_url);
    }

    /// For each resource, in the order of appearance, its scopes likewise.
    fn groups(&self, records: Range<usize>) -> Vec<Vec<Group>> {
        let mut resources = Interner::default();
        let mut groups: Vec<Vec<Group>> = Vec::new();
        let mut places: HashMap<u32, (usize, usize)> = HashMap::new();
        let mut encoded = Vec::new();
        for nth in records {
            let entry = &self.entries[nth];
            let (resource, scope) = *places.entry(entry.origin).or_insert_with(|| {
                let origin = Origin::decode(self.origins.dict().get(entry.origin));
                encoded.clear();
                Origin { scope: None, scope_schema_url: b"", ..origin }.encode(&mut encoded);
                let resource = resources.intern(&encoded) as usize;
                if resource == groups.len() {
                    groups.push(Vec::new());
                }
                groups[resource].push(Group { origin: entry.origin, records: Vec::new() });
                (resource, groups[resource].len() - 1)
            });
            groups[resource][scope].records.push(nth);
        }
        groups
    }
}

/// Places of records that were added, by origin and content.
#[derive(Debug, Default)]
pub(super) struct Seen(HashTable<u32>);

/// The records of one origin.
struct Group {
    origin: u32,
    records: Vec<usize>,
}

/// Adds the records of one source, whose origins have numbers of their own.
pub(super) struct Adding<'r> {
    pub(super) records: &'r mut Records,
    numbers: HashMap<u32, u32>,
}

impl<'r> Adding<'r> {
    pub(super) fn new(records: &'r mut Records) -> Self {
        Self { records, numbers: HashMap::new() }
    }

    /// Adds what `write` appends to the buffer: one field of a scope group.
    pub(super) fn add(
        &mut self,
        origin: (u32, &[u8]),
        time_nanos: i64,
        write: impl FnOnce(&mut Writer) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let records = &mut *self.records;
        let (number, encoded) = origin;
        let origin = *self.numbers.entry(number).or_insert_with(|| records.origins.intern(encoded));
        // If it fails, who adds drops all that it added.
        records.push(origin, time_nanos, write)
    }
}
