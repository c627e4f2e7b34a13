//! The parts, one by one: decode, append, flush, compact, scan, trace by id,
//! series decode. Over requests that `kymo_bench::requests` makes, so that the
//! numbers compare from one machine and day to the next only as ratios.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kymo_bench::requests;
use kymo_journal::{Compression, Format, OsDisk, Record};
use kymo_store::block::source::Source;
use kymo_store::block::write::{BlockInput, write};
use kymo_store::chunk::ChunkBuilder;
use kymo_store::compact::Effort;
use kymo_store::otlp::trace_by_id;
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar, Scan, Scope};
use kymo_store::series::codec;
use kymo_store::tables::{order, spans};
use kymo_store::{Options, Signal, Store};
use kymo_wire::Limits;

/// Spans of a made request.
const SPANS_PER_REQUEST: u64 = 500;
const REQUESTS: u64 = 100;

fn decode(c: &mut Criterion) {
    let bodies = requests::traces(REQUESTS);
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(REQUESTS * SPANS_PER_REQUEST));
    group.bench_function("inspect", |b| {
        b.iter(|| {
            for body in &bodies {
                let limits = Limits::default();
                black_box(kymo_wire::inspect::inspect_traces(body, &limits).map(|i| i.items).ok());
            }
        });
    });
    group.bench_function("into the head", |b| {
        b.iter_batched(
            || ChunkBuilder::new(&spans::TABLE),
            |mut builder| {
                for body in &bodies {
                    black_box(spans::append(body, &mut builder).ok());
                }
                builder
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn record(body: Bytes, received_nanos: u64) -> Record<'static> {
    Record {
        signal: kymo_journal::Signal::Traces,
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant: "default",
        body,
        received_nanos,
    }
}

fn append(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let disk = Arc::new(OsDisk);
    let (journal, _) = kymo_journal::Journal::open(disk, dir.path(), Default::default())
        .expect("a journal in an empty directory");
    let body = requests::traces(1).remove(0);
    let mut group = c.benchmark_group("append");
    group.throughput(Throughput::Bytes(body.len() as u64));
    // Requests that are alike must be an hour apart, or they are one and its retry.
    let mut received_nanos = 0;
    group.bench_function("one request, synced", |b| {
        b.iter(|| {
            received_nanos += 3_600_000_000_000;
            journal.append(record(body.clone(), received_nanos)).expect("room on the disk")
        });
    });
    group.finish();
}

fn head(count: u64) -> Vec<Source> {
    let mut builder = ChunkBuilder::new(&spans::TABLE);
    for body in requests::traces(count) {
        spans::append(&body, &mut builder).expect("a request that was made here");
    }
    vec![Source::Chunk(Arc::new(builder.finish()))]
}

fn flush(c: &mut Criterion) {
    let sources = head(REQUESTS);
    let mut group = c.benchmark_group("flush");
    group.throughput(Throughput::Elements(REQUESTS * SPANS_PER_REQUEST));
    group.sample_size(20);
    group.bench_function("order and write a block", |b| {
        b.iter(|| {
            let partitions = order::order(Signal::Spans, &sources, |_| true).expect("spans");
            let input = BlockInput {
                table: &spans::TABLE,
                sources: &sources,
                order: &partitions[0].rows,
                journal: 0..0,
                zstd_level: 1,
            };
            write(&input).expect("a block in memory").bytes.len()
        });
    });
    group.finish();
}

/// A store with so many blocks, not compacted.
fn store(dir: &std::path::Path, blocks: usize) -> Store {
    let store =
        Store::open_dir(Arc::new(OsDisk), dir, None, Default::default(), Options::default())
            .expect("a store in an empty directory");
    let bodies = requests::traces(REQUESTS);
    for part in bodies.chunks(bodies.len().div_ceil(blocks)) {
        let records: Vec<Record<'_>> = part.iter().map(|b| record(b.clone(), 1)).collect();
        store.journal().append_many(&records).expect("room on the disk");
        store.flush().expect("room on the disk");
    }
    store
}

fn compact(c: &mut Criterion) {
    let mut group = c.benchmark_group("compact");
    group.throughput(Throughput::Elements(REQUESTS * SPANS_PER_REQUEST));
    group.sample_size(10);
    group.bench_function("four blocks into one", |b| {
        b.iter_batched(
            || {
                let dir = tempfile::tempdir().expect("a temporary directory");
                (store(dir.path(), 4), dir)
            },
            |(store, dir)| {
                store.compact(Effort::Everything).expect("compaction");
                (store, dir)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn read(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = store(dir.path(), 2);
    let mut group = c.benchmark_group("read");
    let status = ColumnRef::attribute(Scope::Own, "http.status_code");
    let scan = Scan {
        columns: vec![ColumnRef::Field(spans::field::NAME)],
        predicate: Some(Predicate::Compare { column: status, op: Op::Ge, value: Scalar::Int(500) }),
        ..Scan::default()
    };
    group.bench_function("scan", |b| {
        b.iter(|| store.scan("default", Signal::Spans, &scan).expect("a scan").0.len());
    });
    let snapshot = store.snapshot("default", Signal::Spans).expect("a snapshot");
    let sources = store.sources(&snapshot, None).expect("blocks");
    let id = match sources[0].field(spans::field::TRACE_ID).expect("ids").map(|c| c.into_owned()) {
        Some(column) => match column.values {
            kymo_store::column::Values::Id16(ids) => ids[ids.len() / 2],
            _ => [0; 16],
        },
        None => [0; 16],
    };
    group.bench_function("trace by id", |b| {
        b.iter(|| trace_by_id(&sources, &id).expect("a trace").map(|t| t.spans));
    });
    group.finish();
}

fn series(c: &mut Criterion) {
    const SAMPLES: usize = 240;
    let mut random = requests::Random::new(3);
    let mut numbers = codec::Numbers::default();
    let mut points = Vec::new();
    let mut value = 0i64;
    for nth in 0..SAMPLES {
        value += random.below(40) as i64;
        points.push((nth as i64 * 10_000_000_000, value));
    }
    let mut times = Vec::new();
    for (time, value) in &points {
        times.push(*time);
        numbers.push(codec::Number::Double(*value as f64));
    }
    let mut chunk = codec::Points::new(codec::PointValues::Numbers(numbers));
    for time in &times {
        chunk.push(*time, 0, 0);
    }
    let (mut times_blob, mut values_blob) = (Vec::new(), Vec::new());
    codec::encode_times(&times, &mut times_blob).expect("times");
    codec::encode_values(&chunk, &mut values_blob).expect("values");
    let mut group = c.benchmark_group("series");
    group.throughput(Throughput::Elements(SAMPLES as u64));
    group.bench_function("decode a counter", |b| {
        let (mut times, mut values) = (Vec::new(), Vec::new());
        b.iter(|| {
            times.clear();
            values.clear();
            codec::decode_numbers_f64(&times_blob, &values_blob, &mut times, &mut values)
                .expect("what was encoded");
            values.len()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_secs(1));
    targets = decode, append, flush, compact, read, series
}
criterion_main!(benches);
