//! Requests of ten spans, and which spans a store shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use kymo_journal::{Compression, Format, Journal, OsDisk, Record};
use kymo_store::column::Values;
use kymo_store::objects::{LocalObjects, Objects};
use kymo_store::tables::spans::field;
use kymo_store::{Options, Signal, Store, StoreError};
use kymo_wire::encode::{SpanFields, Writer};

/// Spans of a request.
pub const SPANS: usize = 10;

const START_NANOS: u64 = 1_700_000_000_000_000_000;
const DAY_NANOS: u64 = 86_400_000_000_000;

/// A trace of ten spans, on the day before for odd numbers.
pub fn request(number: u64) -> Bytes {
    request_of(number * SPANS as u64, SPANS as u64)
}

/// A trace of some spans, from a number on.
pub fn request_of(first: u64, count: u64) -> Bytes {
    let day = first / count % 2;
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.scope_group(|w| {
            for number in first..first + count {
                let start = START_NANOS - day * DAY_NANOS + number * 100_000;
                let trace_id = u128::from(first + 1).to_be_bytes();
                let fields = SpanFields {
                    trace_id: &trace_id,
                    span_id: &(number + 1).to_be_bytes(),
                    name: b"work",
                    start_time_unix_nano: start,
                    end_time_unix_nano: start + 1000,
                    ..SpanFields::default()
                };
                w.span(&fields, |_| ());
            }
        });
    });
    Bytes::from(writer.into_bytes())
}

/// Has a request acknowledged.
pub fn append(store: &Store, number: u64) {
    append_body(store, request(number));
}

/// Has a body acknowledged.
pub fn append_body(store: &Store, body: Bytes) {
    let record = Record {
        signal: kymo_journal::Signal::Traces,
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant: "default",
        body,
        received_nanos: 1,
    };
    store.journal().append(record).unwrap();
}

/// The numbers of the spans that a store shows; each must be there once. Begins again if a block
/// is gone, as every reader does.
pub fn shown(store: &Store) -> Result<BTreeSet<u64>, StoreError> {
    loop {
        match try_shown(store) {
            Err(error) if error.is_block_missing() => {}
            other => return other,
        }
    }
}

fn try_shown(store: &Store) -> Result<BTreeSet<u64>, StoreError> {
    let snapshot = store.snapshot("default", Signal::Spans)?;
    let mut shown = BTreeSet::new();
    for source in store.sources(&snapshot, None)? {
        let ids = source.field(field::SPAN_ID)?.expect("every span has an id");
        let Values::Id8(ids) = &ids.values else { panic!("ids have eight bytes") };
        let is_hidden = |row: usize| source.hidden().is_some_and(|hidden| hidden[row]);
        for (_, id) in ids.iter().enumerate().filter(|(row, _)| !is_hidden(*row)) {
            let id = u64::from_be_bytes(*id);
            assert!(shown.insert(id), "span {id} is there twice");
        }
    }
    Ok(shown)
}

/// How many spans a store shows.
pub fn count(store: &Store) -> usize {
    shown(store).unwrap().len()
}

/// Options under which a few requests make a flush, and removed files go at once.
pub fn small() -> Options {
    Options {
        flush_rows: 20,
        final_rows: 1000,
        grace: std::time::Duration::ZERO,
        ..Options::default()
    }
}

/// Opens a store in a directory.
pub fn open(dir: &Path, options: Options) -> Store {
    let objects = LocalObjects::open(&dir.join("blocks"), Arc::new(OsDisk)).unwrap();
    open_with(dir, Arc::new(objects), options)
}

/// Opens a store in a directory, its blocks elsewhere.
pub fn open_with(dir: &Path, objects: Arc<dyn Objects>, options: Options) -> Store {
    let journal_options =
        kymo_journal::Options { segment_bytes: 64 << 10, ..kymo_journal::Options::default() };
    let (journal, _) =
        Journal::open(Arc::new(OsDisk), &dir.join("journal"), journal_options).unwrap();
    Store::open(Arc::new(OsDisk), journal, objects, options).unwrap()
}
