//! What the tests share: small records, a simulated disk, and reading everything back.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test binaries"
)]

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use kymo_journal::sim::SimDisk;
use kymo_journal::{
    Appended, Compression, Disk, Entry, Format, Journal, Options, Position, Record, Recovery,
    Signal,
};

pub const SECOND: u64 = 1_000_000_000;
/// When records are received unless a test says otherwise.
pub const START_NANOS: u64 = 1_700_000_000 * SECOND;

pub fn dir() -> &'static Path {
    Path::new("/data/journal")
}

/// A record whose body begins with its number and has the given length.
pub fn record(number: u64, len: usize) -> Record<'static> {
    let signal = Signal::ALL[number as usize % 3];
    Record {
        signal,
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant: if number.is_multiple_of(2) { "default" } else { "another tenant" },
        body: body(number, len),
        received_nanos: START_NANOS,
    }
}

pub fn body(number: u64, len: usize) -> Bytes {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((8..len).map(|at| (at as u64 * 31 + number) as u8));
    Bytes::from(bytes)
}

/// The number in a body.
pub fn number(entry: &Entry) -> u64 {
    u64::from_le_bytes(entry.body[..8].try_into().unwrap())
}

pub fn small_options() -> Options {
    Options { segment_bytes: 4096, recent_bytes: 2000, ..Options::default() }
}

pub fn open(disk: &SimDisk) -> (Journal, Recovery) {
    open_with(disk, small_options())
}

pub fn open_with(disk: &SimDisk, options: Options) -> (Journal, Recovery) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Journal::open(disk, dir(), options).unwrap()
}

pub fn read_all(journal: &Journal, from: Position) -> Vec<Entry> {
    let mut reader = journal.reader(from);
    std::iter::from_fn(|| reader.try_next().unwrap()).collect()
}

pub fn numbers(journal: &Journal) -> Vec<u64> {
    read_all(journal, 0).iter().map(number).collect()
}

/// Appends records one by one.
pub fn append_all(
    journal: &Journal,
    numbers: std::ops::RangeInclusive<u64>,
    len: usize,
) -> Vec<Appended> {
    numbers.map(|number| journal.append(record(number, len)).unwrap()).collect()
}

/// Names of the segment files.
pub fn segments(disk: &SimDisk) -> Vec<String> {
    let entries = disk.list(dir()).unwrap().into_iter();
    entries.map(|entry| entry.name).filter(|name| name.ends_with(".kj")).collect()
}
