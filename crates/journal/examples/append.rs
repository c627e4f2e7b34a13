//! Measures appending: `cargo run --release -p kymo-journal --example append -- DIR [THREADS] [MEGABYTES]`.
//!
//! Appends records of 175 kB with disk durability and prints MB/s, syncs and CPU seconds (user and
//! system, so the kernel's part of writing is in).

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_journal::{Compression, Format, Journal, Options, OsDisk, Record, Signal};

const BODY_BYTES: usize = 175_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: append DIR [THREADS] [MEGABYTES]")?);
    let threads: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let megabytes: usize = arguments.next().map_or(Ok(350), |text| text.parse())?;
    let count = (megabytes * 1_000_000 / BODY_BYTES).max(1);
    let bodies: Vec<Bytes> = (0..count).map(body).collect();
    let (journal, _) = Journal::open(Arc::new(OsDisk), &dir, Options::default())?;

    let (start, cpu_start) = (Instant::now(), cpu_time());
    std::thread::scope(|scope| {
        for part in bodies.chunks(count.div_ceil(threads.max(1))) {
            let journal = &journal;
            scope.spawn(move || {
                for body in part {
                    if let Err(error) = journal.append(record(body.clone())) {
                        eprintln!("{error}");
                    }
                }
            });
        }
    });
    let (elapsed, cpu) = (start.elapsed(), cpu_time() - cpu_start);
    let stats = journal.stats();
    println!(
        "{} records, {:.0} MB in {:.2} s: {:.0} MB/s, {} syncs, {:.3} CPU-s",
        stats.records,
        stats.bytes as f64 / 1e6,
        elapsed.as_secs_f64(),
        stats.bytes as f64 / 1e6 / elapsed.as_secs_f64(),
        stats.syncs,
        cpu.as_secs_f64(),
    );
    Ok(())
}

fn record(body: Bytes) -> Record<'static> {
    Record {
        signal: Signal::Traces,
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant: "default",
        body,
        received_nanos: 1_700_000_000_000_000_000,
    }
}

/// Bytes that differ between records.
fn body(number: usize) -> Bytes {
    let mut state = number as u64 + 1;
    let words = (0..BODY_BYTES / 8).flat_map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_le_bytes()
    });
    words.collect::<Vec<u8>>().into()
}

fn cpu_time() -> Duration {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(clock.tv_sec.unsigned_abs(), clock.tv_nsec.unsigned_abs() as u32)
}
