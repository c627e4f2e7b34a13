//! Opening a store of many blocks: a thousand real ones, and a hundred thousand
//! that only the commit log knows.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kymo_bench::process::peak_mib;
use kymo_bench::requests;
use kymo_journal::{Compression, Format, OsDisk, Record};
use kymo_store::block::meta::BlockMeta;
use kymo_store::commit::log::Log;
use kymo_store::commit::state::{Delta, LogState};
use kymo_store::compact::Effort;
use kymo_store::{Options, Signal, Store, StoreError};

const REAL: u64 = 1_000;
const NAMED: u64 = 100_000;

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let named = tempfile::tempdir()?;
    name_blocks(&open(named.path())?)?;
    let began = Instant::now();
    let store = open(named.path())?;
    let blocks = store.snapshot("default", Signal::Spans)?.blocks().count();
    println!("{blocks} blocks in the log: open and snapshot {:.2?}", began.elapsed());
    println!("peak memory {:.0} MiB", peak_mib());
    drop(store);

    let real = tempfile::tempdir()?;
    write_blocks(&open(real.path())?)?;
    let began = Instant::now();
    let store = open(real.path())?;
    let snapshot = store.snapshot("default", Signal::Spans)?;
    println!("{} blocks: open and snapshot {:.2?}", snapshot.blocks().count(), began.elapsed());
    let sources = store.sources(&snapshot, None)?;
    println!("all {} of them opened {:.2?}", sources.len(), began.elapsed());
    Ok(())
}

fn open(data: &Path) -> Result<Store, StoreError> {
    // No block is too small to stay as it is.
    let options = Options { final_rows: 1, ..Options::default() };
    Store::open_dir(Arc::new(OsDisk), data, None, kymo_journal::Options::default(), options)
}

/// Commits blocks that have no files, in generations of a thousand.
fn name_blocks(store: &Store) -> Result<(), StoreError> {
    let log = Log { objects: &**store.objects(), tenant: "default", signal: Signal::Spans };
    let mut state = LogState::default();
    for generation in 0..NAMED / 1000 {
        let added = (0..1000).map(|nth| {
            let number = generation * 1000 + nth;
            BlockMeta {
                day: 20_000 + (number / 1000) as i64,
                min_time_nanos: number as i64 * 1_000_000_000,
                max_time_nanos: number as i64 * 1_000_000_000 + 1,
                level: 1,
                node: "local".to_owned(),
                sequence: number,
                rows: 500_000,
                size_bytes: 16 << 20,
                ..BlockMeta::default()
            }
        });
        let token = format!("bench-{generation}");
        let delta = Delta { added: added.collect(), token, ..Delta::default() };
        match log.commit(&state, delta)? {
            kymo_store::commit::log::Outcome::Committed(after) => state = after,
            kymo_store::commit::log::Outcome::Lost => {
                return Err(StoreError::State("somebody else commits to a bench's log".into()));
            }
        }
    }
    Ok(())
}

fn write_blocks(store: &Store) -> Result<(), StoreError> {
    for body in requests::traces(REAL) {
        let record = Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant: "default",
            body,
            received_nanos: 1,
        };
        store.journal().append(record)?;
        store.flush()?;
    }
    store.compact(Effort::Tiered)?;
    Ok(())
}
