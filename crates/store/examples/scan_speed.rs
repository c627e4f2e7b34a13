//! How fast scans are: over two million spans that are made here, or over the
//! spans of a store's directory.
//!
//! ```sh
//! cargo run --release -p kymo-store --example scan_speed [-- DIRECTORY]
//! ```
//!
//! Each scan runs some times in one, then in two partitions, each on a thread of
//! its own, and only takes the batches. The least and the median time are printed:
//! what an engine needs to do with the batches comes on top.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kymo_journal::{Compression, Format, OsDisk, Record};
use kymo_store::scan::{
    ColumnRef, Elements, Op, Predicate, Prepared, Scalar, Scan, ScanContext, Scope,
};
use kymo_store::tables::spans::{field, list};
use kymo_store::{Options, Signal, Store};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, SpanFields, Writer};

const TENANT: &str = "default";
const SPANS: u64 = 2_000_000;
const SPANS_PER_TRACE: u64 = 20;
const SPANS_PER_REQUEST: u64 = 2_000;
const START_NANOS: u64 = 1_700_000_000_000_000_000;
const RUNS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch;
    let directory = match std::env::args().nth(1) {
        Some(directory) => directory.into(),
        None => {
            scratch = tempfile::tempdir()?;
            make(scratch.path())?;
            scratch.path().to_path_buf()
        }
    };
    let store = open(&directory)?;
    let attribute = ColumnRef::attribute;
    let compare = |column, op, value| Some(Predicate::Compare { column, op, value });
    let columns = |columns: &[ColumnRef]| Scan { columns: columns.to_vec(), ..Scan::default() };
    let service = attribute(Scope::Resource, "service.name");
    let duration = ColumnRef::Field(field::DURATION);
    let failed = compare(attribute(Scope::Own, "http.status_code"), Op::Ge, Scalar::Int(500));
    let event = |member| ColumnRef::Element { elements: Elements::List(list::EVENTS), member };
    let scans = [
        ("count(*)", Scan::default()),
        ("service", columns(std::slice::from_ref(&service))),
        ("service, status", columns(&[service.clone(), ColumnRef::Field(field::STATUS)])),
        ("duration", columns(std::slice::from_ref(&duration))),
        ("service, duration", columns(&[service.clone(), duration])),
        ("user (no dictionary)", columns(&[attribute(Scope::Own, "app.user_id")])),
        ("service where failed", Scan { predicate: failed, ..columns(&[service]) }),
        ("root_service", columns(&[ColumnRef::Field(field::ROOT_SERVICE)])),
        ("attributes as JSON", columns(&[ColumnRef::Attributes(Scope::Own)])),
        ("resource as JSON", columns(&[ColumnRef::Attributes(Scope::Resource)])),
        (
            "events",
            Scan {
                elements: Some(Elements::List(list::EVENTS)),
                ..columns(&[event(list::EVENT_TIME), event(list::EVENT_NAME)])
            },
        ),
    ];
    println!("{:24}{:>12}{:>14}{:>14}{:>14}", "", "rows", "1 thread", "median", "2 threads");
    for (name, scan) in scans {
        let (rows, one) = measure(&store, &scan, 1)?;
        let (_, two) = measure(&store, &scan, 2)?;
        let [least, median, both] =
            [one[0], one[one.len() / 2], two[0]].map(|time| time.as_secs_f64() * 1e3);
        println!("{name:24}{rows:>12}{least:>11.2} ms{median:>11.2} ms{both:>11.2} ms");
    }
    Ok(())
}

fn open(directory: &Path) -> Result<Store, Box<dyn Error>> {
    let options = Options { column_cache_bytes: 256 << 20, ..Options::default() };
    Ok(Store::open_dir(Arc::new(OsDisk), directory, None, Default::default(), options)?)
}

/// Rows of a scan, and the times it took, ascending.
fn measure(
    store: &Store,
    scan: &Scan,
    partitions: usize,
) -> Result<(usize, Vec<Duration>), Box<dyn Error>> {
    let mut times = Vec::new();
    let mut rows = 0;
    for _ in 0..RUNS {
        let began = Instant::now();
        let snapshot = store.snapshot(TENANT, Signal::Spans)?;
        let sources = store.sources(&snapshot, None)?;
        let context =
            ScanContext { cache: store.column_cache().clone(), cancel: Arc::default(), threads: 1 };
        let work = Prepared::new(&sources, Signal::Spans, scan, context)?.start();
        std::thread::scope(|scope| {
            for _ in 0..partitions {
                let mut partition = work.partition();
                scope.spawn(move || while let Ok(Some(_)) = partition.next_batch() {});
            }
        });
        times.push(began.elapsed());
        rows = work.stats().rows_matched;
    }
    times.sort_unstable();
    Ok((rows, times))
}

fn make(directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = open(directory)?;
    let mut random = 1u64;
    for request in 0..SPANS / SPANS_PER_REQUEST {
        let body = request_of(request, &mut random);
        store.journal().append(Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant: TENANT,
            body: body.into(),
            received_nanos: START_NANOS + request,
        })?;
        if (request + 1).is_multiple_of(256) {
            store.flush()?;
        }
    }
    store.flush()?;
    Ok(())
}

fn below(random: &mut u64, end: u64) -> u64 {
    *random =
        random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*random >> 33) % end
}

/// A request in which the spans of a trace are divided among services.
fn request_of(request: u64, random: &mut u64) -> Vec<u8> {
    const SERVICES: u64 = 10;
    let mut writer = Writer::new();
    for service in 0..SERVICES {
        writer.resource_group(|w| {
            w.resource(|w| {
                let name = format!("service-{service}");
                w.resource_attribute(b"service.name", &AnyValueView::String(name.as_bytes()));
                let host = format!("node-{}", request % 7);
                w.resource_attribute(b"host.name", &AnyValueView::String(host.as_bytes()));
                w.resource_attribute(b"process.pid", &AnyValueView::Int(1000 + service as i64));
            });
            w.scope_group(|w| {
                w.scope(b"example", b"1.0", |_| {});
                for trace in 0..SPANS_PER_REQUEST / SPANS_PER_TRACE {
                    let number = request * SPANS_PER_REQUEST / SPANS_PER_TRACE + trace;
                    for nth in 0..SPANS_PER_TRACE / SERVICES {
                        write_span(w, number, nth * SERVICES + service, random);
                    }
                }
            });
        });
    }
    writer.into_bytes()
}

fn write_span(writer: &mut Writer, trace: u64, nth: u64, random: &mut u64) {
    let mut trace_id = [7; 16];
    trace_id[..8].copy_from_slice(&trace.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    let span_id = |nth: u64| (trace * SPANS_PER_TRACE + nth + 1).to_le_bytes();
    let parent = nth.checked_sub(1).map(|before| span_id(before / 2));
    let start = START_NANOS + trace * 1_000_000 + nth * 10_000 + below(random, 5_000);
    let name = format!("GET /api/{}", nth % 7);
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &span_id(nth),
        parent_span_id: parent.as_ref().map_or(&[], |id| &id[..]),
        name: name.as_bytes(),
        kind: 2 + (nth % 2) as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: start + below(random, 2_000_000_000),
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        let user = format!("user-{:06}", below(random, 250_000));
        w.span_attribute(b"http.method", &AnyValueView::String(b"GET"));
        w.span_attribute(b"http.status_code", &AnyValueView::Int(200 + (nth % 4) as i64 * 100));
        w.span_attribute(b"app.user_id", &AnyValueView::String(user.as_bytes()));
        w.span_attribute(
            b"app.value",
            &AnyValueView::Double(below(random, 100_000) as f64 / 100.0),
        );
        w.span_attribute(b"app.cache_hit", &AnyValueView::Bool(!nth.is_multiple_of(5)));
        if nth.is_multiple_of(3) {
            let event = EventFields { time_unix_nano: start, name: b"cache", ..Default::default() };
            w.event(&event, |_| {});
        }
        if nth.is_multiple_of(5) {
            w.status(2, b"failed");
        }
    });
}
