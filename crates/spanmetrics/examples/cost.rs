//! What it costs to make metrics of spans.
//!
//! ```text
//! loadgen traces --spans 2000000 --out FILE --dry-run
//! cargo run --release -p kymo-spanmetrics --example cost FILE
//! ```
//!
//! `FILE` has requests of OTLP, each after its length as a varint. They are read into memory first,
//! so that what is measured is the walk over them and the counting.

#![allow(clippy::print_stdout, reason = "what it is for")]

use kymo_spanmetrics::{Generator, GraphSettings, Settings};
use kymo_wire::{Limits, Reader, inspect_traces};

/// Seconds that this thread has had a processor: others may be busy beside it.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = text.split_whitespace().next().ok_or("the kernel tells no times")?;
    Ok(nanos.parse::<u64>()? as f64 / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a file of requests")?;
    let file = std::fs::read(path)?;
    let mut requests = Vec::new();
    let mut reader = Reader::new(&file);
    while !reader.is_empty() {
        requests.push(reader.bytes()?);
    }
    // What admission does with the same requests, to compare with on a machine that is not quiet.
    let began = cpu_seconds()?;
    let mut spans = 0;
    for request in &requests {
        spans += inspect_traces(request, &Limits::default())?.items;
    }
    let seconds = cpu_seconds()? - began;
    println!("admission's check: {:.3} CPU-s per million spans", seconds * 1e6 / spans as f64);
    let graph = GraphSettings { enabled: false, ..GraphSettings::default() };
    let dimensions = vec!["http.method".to_owned(), "http.status_code".to_owned()];
    for (what, settings) in [
        ("spans and graph", Settings::default()),
        ("spans only", Settings { graph, ..Settings::default() }),
        ("two dimensions more", Settings { dimensions, ..Settings::default() }),
    ] {
        let mut generator = Generator::new(&settings, 0);
        let began = cpu_seconds()?;
        for (nth, request) in requests.iter().enumerate() {
            // A thousand requests a second.
            let now_nanos = nth as u64 * 1_000_000;
            generator.add(request, now_nanos)?;
            generator.expire(now_nanos);
        }
        let seconds = cpu_seconds()? - began;
        let counts = generator.counts();
        let begun = cpu_seconds()?;
        let written: usize = generator.requests(u64::MAX / 2).iter().map(Vec::len).sum();
        let writing_millis = (cpu_seconds()? - begun) * 1e3;
        println!(
            "{what}: {:.3} CPU-s per million spans ({} spans, {} series, {} waiting, {} unpaired, {} \
             dropped, {} without labels); a write of {written} bytes in {writing_millis:.1} ms",
            seconds * 1e6 / counts.spans as f64,
            counts.spans,
            generator.series(),
            generator.waiting(),
            counts.unpaired,
            counts.dropped,
            counts.overflowed,
        );
    }
    Ok(())
}
