//! Queries on log records, warm, on two threads: what is searched for is taken
//! from a record in the middle.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use kymo_store::scan::{
    ColumnRef, Order, Predicate, Prepared, Scalar, Scan, ScanContext, ScanStats, Scope,
};
use kymo_store::tables::logs::field;
use kymo_store::{Signal, Store, StoreError};

use super::queries::print;

const RUNS: usize = 9;
const THREADS: usize = 2;

/// Runs the queries and prints their times.
pub(crate) fn run(store: &Store) -> Result<(), Box<dyn std::error::Error>> {
    let body = || ColumnRef::Field(field::BODY);
    let Some((middle_body, trace_id)) = middle(store)? else { return Ok(()) };
    let number = middle_body.split("id=").nth(1).map_or("", |rest| rest.get(..8).unwrap_or(rest));
    let contains =
        |text: &str| Predicate::Contains { column: body(), text: text.to_owned(), negated: false };
    let matches =
        |regex: &str| Predicate::Match { column: body(), regex: regex.to_owned(), negated: false };
    let all = |predicate| Scan {
        columns: vec![ColumnRef::Field(field::TIME), body()],
        predicate: Some(predicate),
        ..Scan::default()
    };
    let newest = |predicate| Scan { order: Order::NewestFirst, limit: Some(100), ..all(predicate) };
    let user = ColumnRef::attribute(Scope::Own, "app.user_id");
    measure("a needle", store, &all(contains(number)))?;
    measure("a needle that is nowhere", store, &all(contains("no such needle")))?;
    measure("a word of six bytes", store, &all(contains("zebras")))?;
    measure("regex with a needle", store, &all(matches(&format!("id={number}.*ms$"))))?;
    measure("regex with a literal", store, &all(matches(r"duration=8[0-9]{2}\.07ms")))?;
    measure("regex without any", store, &all(matches("=[a-f]{8} ")))?;
    measure("regex in any case", store, &all(matches("(?i)ORIGIN ID=0F+0")))?;
    measure("contains five bytes", store, &all(contains("00000")))?;
    measure("newest 100 with a word", store, &newest(contains("cache miss")))?;
    measure("newest 100 of few", store, &newest(matches("=[a-f]{8} ")))?;
    let trace_id = Predicate::equal(ColumnRef::Field(field::TRACE_ID), Scalar::Bytes(trace_id));
    measure("records of a trace", store, &all(trace_id))?;
    let user = Predicate::equal(user, Scalar::String("user-123456".to_owned()));
    measure("records of a user", store, &all(user))?;
    Ok(())
}

/// Body and trace of a record in the middle of all.
fn middle(store: &Store) -> Result<Option<(String, Vec<u8>)>, StoreError> {
    let snapshot = store.snapshot("default", Signal::Logs)?;
    let sources = store.sources(&snapshot, None)?;
    let Some(source) = sources.get(sources.len() / 2) else { return Ok(None) };
    let (body, trace_id) = (ColumnRef::Field(field::BODY), ColumnRef::Field(field::TRACE_ID));
    let scan = Scan {
        columns: vec![body, trace_id.clone()],
        predicate: Some(Predicate::Exists(trace_id)),
        limit: Some(1),
        ..Scan::default()
    };
    let (batches, _) = scanned(store, std::slice::from_ref(source), &scan)?;
    let Some(batch) = batches.first() else { return Ok(None) };
    let body = batch.column(0);
    let body = body.as_any_dictionary_opt().map_or_else(
        || body.as_string_opt::<i32>().map(|texts| texts.value(0)),
        |codes| codes.values().as_string_opt::<i32>().map(|t| t.value(codes.normalized_keys()[0])),
    );
    let id = batch.column(1).as_fixed_size_binary().value(0).to_vec();
    Ok(body.map(|body| (body.to_owned(), id)))
}

fn scanned(
    store: &Store,
    sources: &[kymo_store::block::source::Source],
    scan: &Scan,
) -> Result<(Vec<RecordBatch>, ScanStats), StoreError> {
    let context = ScanContext {
        cache: store.column_cache().clone(),
        cancel: Arc::new(AtomicBool::new(false)),
        threads: THREADS,
    };
    let prepared = Prepared::new(sources, Signal::Logs, scan, context)?;
    let mut batches = Vec::new();
    let stats = prepared.run(&mut |batch| {
        batches.push(batch);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((batches, stats))
}

fn measure(name: &str, store: &Store, scan: &Scan) -> Result<(), StoreError> {
    let mut times = Vec::new();
    let mut what = String::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        let snapshot = store.snapshot("default", Signal::Logs)?;
        let sources = store.sources(&snapshot, None)?;
        let (batches, stats) = scanned(store, &sources, scan)?;
        times.push(began.elapsed());
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let granules = stats.granules_read + stats.granules_pruned;
        what = format!("{rows} rows, {} of {granules} granules read", stats.granules_read);
    }
    print(name, &mut times, &what);
    Ok(())
}
