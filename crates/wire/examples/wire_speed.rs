//! Nanoseconds per span of the admission check and of a full walk.
//!
//! `cargo run --release -p kymo-wire --example wire_speed -- FILE`, where FILE holds trace requests in
//! protobuf, each behind its length as a varint.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use kymo_wire::inspect::inspect_traces;
use kymo_wire::{AnyValueView, Limits, Reader, TracesView, View, WireError};

/// Few enough to stay in cache, where a request is that was just received.
const MAX_BYTES: usize = 2 << 20;
const ROUNDS: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of a file of trace requests")?;
    let file = std::fs::read(path)?;
    let mut reader = Reader::new(&file);
    let mut requests = Vec::new();
    let mut size_bytes = 0;
    while !reader.is_empty() && size_bytes < MAX_BYTES {
        let request = reader.bytes()?;
        size_bytes += request.len();
        requests.push(request);
    }

    let limits = Limits::default();
    let mut spans = 0;
    for request in &requests {
        spans += inspect_traces(request, &limits)?.items;
    }
    println!("{} requests, {spans} spans, {} bytes", requests.len(), size_bytes);

    let inspect = best(|| {
        requests.iter().try_for_each(|request| {
            black_box(inspect_traces(request, &limits)?);
            Ok(())
        })
    })?;
    let walk = best(|| {
        requests.iter().try_for_each(|request| {
            black_box(walk(request)?);
            Ok(())
        })
    })?;
    for (name, time) in [("inspect", inspect), ("walk", walk)] {
        println!("{name}: {:.0} ns per span", time.as_nanos() as f64 / spans as f64);
    }
    Ok(())
}

/// The shortest of several runs, which is the one least disturbed.
fn best(mut run: impl FnMut() -> Result<(), WireError>) -> Result<Duration, WireError> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// Reads every span, attribute, event and link, and adds up sizes so that nothing is optimised
/// away.
fn walk(request: &[u8]) -> Result<usize, WireError> {
    let mut size = 0;
    for resource in TracesView::parse(request)?.resources {
        for scope in resource?.scopes {
            for span in scope?.items {
                let span = span?;
                size += span.name.len() + span.trace_id.len() + span.span_id.len();
                size += (span.end_time_unix_nano - span.start_time_unix_nano) as usize;
                for attribute in span.attributes {
                    let attribute = attribute?;
                    size += attribute.key.len() + value_size(&attribute.value);
                }
                for event in span.events {
                    for attribute in event?.attributes {
                        size += attribute?.key.len();
                    }
                }
                for link in span.links {
                    size += link?.trace_id.len();
                }
            }
        }
    }
    Ok(size)
}

fn value_size(value: &AnyValueView<'_>) -> usize {
    match value {
        AnyValueView::String(text) => text.len(),
        AnyValueView::Int(number) => *number as usize,
        _ => 8,
    }
}
