//! From bytes of OTLP to final blocks, and queries on them.
//!
//! Reads a file of requests (see `requests`), checks each as admission does,
//! appends it to the journal with a sync for every batch, and lets the store
//! apply, flush and compact it. Prints CPU seconds, bytes and peak memory, the
//! bytes of each column, and for traces and logs the time of some queries.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use clap::Parser;
use kymo_bench::process::{cpu_secs, dir_bytes, peak_mib};
use kymo_bench::requests::{Requests, prometheus_samples};
use kymo_journal::{Compression, Format, OsDisk, Record, Signal};
use kymo_store::compact::Effort;
use kymo_store::{Options, Store, StoreError};

mod columns;
mod log_queries;
mod queries;

/// End-to-end benchmark of the store.
#[derive(Parser)]
struct Arguments {
    /// A file of requests, each after its length.
    file: PathBuf,
    /// What the requests hold: traces, metrics or logs.
    #[arg(long, default_value = "traces")]
    signal: String,
    /// Requests that are synced together, as concurrent senders would be.
    #[arg(long, default_value_t = 4)]
    batch: usize,
    /// Where to keep the data; a temporary directory otherwise.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Read the file this many times, with times and ids as they are.
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// A file of trace ids in hexadecimal, one a line, to look up.
    #[arg(long)]
    ids: Option<PathBuf>,
}

fn main() {
    if let Err(error) = run(&Arguments::parse()) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

type Failure = Box<dyn std::error::Error>;

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (signal, wire_signal, table) = match arguments.signal.as_str() {
        "traces" => (Signal::Traces, kymo_wire::Signal::Traces, kymo_store::Signal::Spans),
        "logs" => (Signal::Logs, kymo_wire::Signal::Logs, kymo_store::Signal::Logs),
        "metrics" => (Signal::Metrics, kymo_wire::Signal::Metrics, kymo_store::Signal::Series),
        other => return Err(format!("unknown signal {other}").into()),
    };
    let temporary = tempfile::tempdir()?;
    let data = arguments.data.clone().unwrap_or_else(|| temporary.path().to_owned());
    let store = open(&data)?;
    let began = Instant::now();
    let mut items = 0;
    let mut bytes = 0;
    for _ in 0..arguments.repeat {
        let mut batch: Vec<Bytes> = Vec::new();
        for request in Requests::open(&arguments.file)? {
            let request = request?;
            let inspected =
                kymo_wire::inspect::inspect(wire_signal, &request, &Default::default())?;
            items += match signal {
                Signal::Metrics => prometheus_samples(&request)?,
                _ => inspected.items,
            };
            bytes += request.len();
            drop(inspected);
            batch.push(request);
            if batch.len() == arguments.batch {
                append(&store, signal, &mut batch)?;
            }
        }
        append(&store, signal, &mut batch)?;
    }
    let acknowledged = (cpu_secs(), began.elapsed());
    store.flush()?;
    let compacted = store.compact(Effort::Everything)?;
    let (cpu, elapsed) = (cpu_secs(), began.elapsed());
    let millions = items as f64 / 1e6;
    let blocks = dir_bytes(&data.join("blocks"));
    println!("records or samples      {items}, {} bytes each", bytes as u64 / items.max(1));
    println!("to the acknowledgement  {:.2} CPU-s, {:.1?}", acknowledged.0, acknowledged.1);
    println!("to final blocks         {cpu:.2} CPU-s, {elapsed:.1?}, {compacted:?}");
    println!("CPU-s per million       {:.2}", cpu / millions);
    println!(
        "bytes per record        {:.2} (directory {:.2})",
        blocks as f64 / items as f64,
        dir_bytes(&data) as f64 / items as f64
    );
    println!("peak memory             {:.0} MiB", peak_mib());
    columns::print(&store, table)?;
    match table {
        kymo_store::Signal::Spans => queries::run(&store, arguments.ids.as_deref())?,
        kymo_store::Signal::Logs => log_queries::run(&store)?,
        kymo_store::Signal::Series => {}
    }
    store.close()?;
    let opening = Instant::now();
    let store = open(&data)?;
    store.snapshot("default", table)?;
    println!("opened again in         {:.1?}", opening.elapsed());
    Ok(())
}

fn open(data: &std::path::Path) -> Result<Store, StoreError> {
    let disk = Arc::new(OsDisk);
    Store::open_dir(disk, data, None, kymo_journal::Options::default(), Options::default())
}

/// One sync for the whole batch, then into the head.
fn append(store: &Store, signal: Signal, batch: &mut Vec<Bytes>) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() as u64;
    let records: Vec<Record<'_>> = batch
        .drain(..)
        .map(|body| Record {
            signal,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant: "default",
            body,
            received_nanos: now,
        })
        .collect();
    store.journal().append_many(&records)?;
    store.ingest()?;
    Ok(())
}
