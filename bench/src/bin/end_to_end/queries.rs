//! Queries on the spans, warm: each runs some times, the median is printed.

use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use kymo_store::otlp::trace_by_id;
use kymo_store::scan::{ColumnRef, Op, Order, Predicate, Scalar, Scan, Scope};
use kymo_store::tables::spans::field;
use kymo_store::{Signal, Store, StoreError};

const RUNS: usize = 31;

/// Runs the queries and prints their times.
pub(crate) fn run(store: &Store, ids: Option<&Path>) -> Result<(), Box<dyn std::error::Error>> {
    let columns = vec![
        ColumnRef::Field(field::TRACE_ID),
        ColumnRef::Field(field::SPAN_ID),
        ColumnRef::Field(field::NAME),
        ColumnRef::Field(field::START_TIME),
        ColumnRef::Field(field::DURATION),
    ];
    let compare = |column, op, value| Predicate::Compare { column, op, value };
    let attribute = ColumnRef::attribute;
    let service = compare(
        attribute(Scope::Resource, "service.name"),
        Op::Eq,
        Scalar::String("frontend".into()),
    );
    let all = |predicate| Scan {
        columns: columns.clone(),
        predicate: Some(predicate),
        ..Scan::default()
    };
    let newest = Scan { order: Order::NewestFirst, limit: Some(20), ..all(service) };
    measure("newest 20 of a service", store, &newest)?;
    if let Some(user) = some_user(store)? {
        let rare = compare(attribute(Scope::Own, "app.user_id"), Op::Eq, Scalar::String(user));
        measure("a rare attribute value", store, &all(rare))?;
    }
    let failed = compare(attribute(Scope::Own, "http.status_code"), Op::Ge, Scalar::Int(500));
    let slow = compare(ColumnRef::Field(field::DURATION), Op::Gt, Scalar::Int(1_000_000_000));
    measure("status >= 500 over 1 s", store, &all(Predicate::And(vec![failed, slow])))?;
    if let Some(ids) = ids {
        measure_traces(store, &std::fs::read_to_string(ids)?)?;
    }
    Ok(())
}

/// The user of one of the newest spans that have one.
fn some_user(store: &Store) -> Result<Option<String>, StoreError> {
    let user = ColumnRef::attribute(Scope::Own, "app.user_id");
    let scan = Scan {
        columns: vec![user.clone()],
        predicate: Some(Predicate::Exists(user)),
        order: Order::NewestFirst,
        limit: Some(1),
        ..Scan::default()
    };
    let (batches, _) = store.scan("default", Signal::Spans, &scan)?;
    let Some(batch) = batches.first() else { return Ok(None) };
    let column = batch.column(0);
    let text = column.as_any_dictionary_opt().map_or_else(
        || column.as_string_opt::<i32>().map(|texts| texts.value(0)),
        |codes| codes.values().as_string_opt::<i32>().map(|t| t.value(codes.normalized_keys()[0])),
    );
    Ok(text.map(str::to_owned))
}

fn measure(name: &str, store: &Store, scan: &Scan) -> Result<(), StoreError> {
    let mut times = Vec::new();
    let mut rows = 0;
    for _ in 0..RUNS {
        let began = Instant::now();
        let (batches, _) = store.scan("default", Signal::Spans, scan)?;
        times.push(began.elapsed());
        rows = batches.iter().map(arrow_array::RecordBatch::num_rows).sum();
    }
    print(name, &mut times, &format!("{rows} rows"));
    Ok(())
}

fn measure_traces(store: &Store, ids: &str) -> Result<(), StoreError> {
    let mut times = Vec::new();
    let mut spans = 0;
    for id in ids.lines().filter_map(parse_id).take(200) {
        let began = Instant::now();
        let snapshot = store.snapshot("default", Signal::Spans)?;
        let (sources, _) = store.trace_sources(&snapshot, &id, &mut |_| Ok(()))?;
        let trace = trace_by_id(&sources, &id)?;
        times.push(began.elapsed());
        spans += trace.map_or(0, |t| t.spans);
    }
    let mean = spans / times.len().max(1);
    print("trace by id", &mut times, &format!("{mean} spans each"));
    Ok(())
}

fn parse_id(text: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    for (byte, digits) in id.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    (text.len() == 32).then_some(id)
}

pub(crate) fn print(name: &str, times: &mut [Duration], what: &str) {
    times.sort_unstable();
    let (Some(least), Some(median)) = (times.first(), times.get(times.len() / 2)) else { return };
    println!("{name:24}{median:>10.2?} median, {least:.2?} least ({what})");
}
